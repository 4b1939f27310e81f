"""What the statements of tree.py are made of: variables of many types, expressions that wait, and who may touch which variable when."""

SUMS = 8  # global sums, printed at the end

SCALARS = {"int": "int", "unsigned": "unsigned", "short": "short", "byte": "unsigned char", "long": "long", "ulong": "unsigned long",
           "bool": "_Bool", "vint": "volatile int", "aint": "_Atomic int", "enum": "enum E", "wide": "_Alignas(32) long"}
REALS = {"double": "double", "float": "float", "ldouble": "long double"}
STRUCTS = {"s1": "struct S1", "s2": "struct S2", "bits": "struct Bits", "union": "union U"}
LOCALS = [*SCALARS] * 2 + [*REALS] + [*STRUCTS] * 3 + ["array", "structs"] * 3 + ["vla", "pointer"] * 3 + ["fp"] * 2
RESULTS = ["ulong", "int", "byte", "double", "s1", "s2", "void", "bool", "ldouble", "bits"]


def spelling(kind):
    return {**SCALARS, **REALS, **STRUCTS, "void": "void"}[kind].replace("_Alignas(32) ", "")


class Var:
    """A variable in scope. mode says who may do what with it:
    const    written once; everybody reads it
    mut      one branch, its owner, reads and writes it; may be lent to a branch until that is joined
    private  pprivate: everybody reads and writes a copy
    sum      everybody adds to it; its owner reads it when no pwait is open whose branches may add
    """

    def __init__(self, name, kind, mode, owner, at, pinned=False, size="3"):
        self.name, self.kind, self.mode, self.owner, self.at, self.pinned, self.size = name, kind, mode, owner, at, pinned, size
        self.lent, self.depth = None, 1


class Scope:
    """An open statement. kind: fn, loop, switch, pwait, shield, deadline, branch, lonely."""

    def __init__(self, kind, number, at, pwait=None):
        self.kind, self.number, self.at, self.pwait = kind, number, at, pwait


class Values:
    """Writes a function's declarations, expressions and assignments, in both languages."""

    def __init__(self, rng, name, result, parameters, callees):
        self.rng, self.name, self.result, self.parameters, self.callees = rng, name, result, parameters, callees
        self.aesop, self.plain, self.indent, self.depth, self.numbers = [], [], 0, 0, 0
        self.vars, self.stack, self.budget = [], [], rng.randrange(8, 28)
        self.hidden, self.hot, self.recursed = [], None, False
        self.locals = [kind for kind in LOCALS if kind != "aint" or name in ("f0", "f3")]

    # --- text ---

    def two(self, aesop, plain):
        for lines, text in ((self.aesop, aesop), (self.plain, plain)):
            if text:
                lines.append("    " * self.indent + text)
        self.depth += aesop.count("{") - aesop.count("}")

    def both(self, text):
        self.two(text, text)

    def new(self, prefix):
        self.numbers += 1
        return f"{prefix}{self.numbers}"

    def chance(self, share):
        return self.rng.random() < share

    # --- who is where ---

    def branch(self):
        return next(scope for scope in reversed(self.stack) if scope.kind in ("fn", "branch", "lonely"))

    def joins(self):
        """What a pbranch here joins: a pwait's scope, "lonely", or None where it is not allowed."""
        blocked = False
        for scope in reversed(self.stack):
            if scope.kind in ("shield", "deadline"):
                blocked = True
            elif scope.kind in ("fn", "lonely"):
                return "lonely"
            elif scope.kind in ("pwait", "branch"):
                return None if blocked else scope.pwait or scope
        return None

    def in_lonely(self):
        return any(scope.kind == "lonely" for scope in self.stack)

    def open_since(self, at, *kinds):
        return any(scope.kind in kinds for scope in self.stack[at:])

    def visible(self, var):
        """Not behind a variable of the same name, and not left alone for this statement."""
        return var.name not in self.hidden and next(other for other in reversed(self.vars) if other.name == var.name) is var

    def readable(self, var):
        if not self.visible(var):
            return False
        if var.mode in ("const", "private"):
            return True
        if var.owner is not self.branch() or var.lent:
            return False
        return var.mode == "mut" or not self.open_since(var.at, "pwait")

    def writable(self, var):
        return self.readable(var) and (var.mode == "mut" or var.mode == "private" and not var.pinned)

    def addable(self, var):
        if var.mode != "sum" or not self.visible(var):
            return False
        for scope in reversed(self.stack):
            if scope is var.owner:
                return True
            if scope.kind == "lonely" or scope.kind == "branch" and scope.pwait.at < var.at:
                return False
        return False

    def pick(self, test):
        found = [var for var in self.vars if test(var)]
        return self.rng.choice(found) if found else None

    # --- expressions, all of type unsigned long ---

    def read(self, var, waits, depth):
        name, kind = var.name, var.kind
        if kind.startswith("typed"):
            return f"(unsigned long){name}" + {"typeds1": f".{self.rng.choice('ab')}"}.get(kind, "")
        if kind in SCALARS:
            return f"(unsigned long){name}"
        if kind in REALS:
            return f"(unsigned long)({name} * 4)"
        if kind == "pointer":
            return f"(unsigned long)*{name}"
        if kind == "fp":
            return f"{name}({self.leaf(False)})" if waits else f"(unsigned long)({name} == w)"
        if kind == "s1":
            waiting = [f"h1({name})", f"(unsigned long)ws1({name}).a"]
            return self.rng.choice([f"(unsigned long){name}.a", f"(unsigned long){name}.b"] + waiting * waits)
        if kind == "s2":
            element = f"(unsigned long){name}.c[{self.number(waits, depth)} % 5]"
            return self.rng.choice([f"(unsigned long){name}.a", element] + [f"h2({name})"] * waits)
        if kind == "bits":
            return f"(unsigned long){name}.{self.rng.choice('abc')}"
        if kind == "union":
            return f"(unsigned long){name}.a"
        index = f"{self.number(waits, depth)} % {var.size}"
        if kind == "structs":
            return f"(unsigned long){name}[{index}].{self.rng.choice('ab')}"
        if kind == "vla" and self.chance(0.2):
            return f"(unsigned long)(sizeof {name} / sizeof *{name})"
        return f"(unsigned long){name}[{index}]"

    def leaf(self, waits):
        if self.chance(0.7):
            var = self.pick(self.readable)
            if var:
                return self.read(var, waits, 0)
        if self.chance(0.1):
            return "(unsigned long)ae_is_cancelled()"
        return f"{self.rng.choice((0, 1, 2, 3, 5, 77, 255, 1000, 4294967295, 123456789012))}ul"

    def number(self, waits=True, depth=2):
        if depth <= 0 or self.chance(0.15):
            return self.leaf(waits and depth >= 0)
        a = lambda: self.number(waits, depth - 1)  # noqa: E731
        if self.hot and self.chance(0.3):
            return self.sequenced(a)
        if waits and self.chance(0.5):
            kind = self.rng.randrange(15)
            if kind == 0 and self.chance(0.2) and not self.open_since(0, "loop", "goto-loop"):
                return f"wt({a()})"
            if kind < 7:
                return f"{self.rng.choice(('w', 'w', 'w0', 'w0', 'wc', 'ww'))}({a()})"
            if kind == 7:
                return f"(unsigned long)wb((unsigned char)({a()}))"
            if kind == 8:
                return f"(unsigned long)wd((double)({a()} & 1023))"
            if kind == 9:
                return f"h1((struct S1){{(int)({a()} & 65535), (signed char)({a()} & 127)}})"
            if kind == 10:
                return f"(unsigned long)mk2({a()}).{self.rng.choice(('a', 'c[2]'))}"
            if kind == 11:
                return f"sum_of(3, {a()}, {a()}, {a()})"
            if kind == 12:
                return f"deep({self.rng.randrange(4)}, {a()})"
            if kind == 13:
                return f"({a()} & 1 ? w : w0)({a()})"
            return self.call(a) or f"w({a()})"
        kind = self.rng.randrange(14)
        if kind < 5:
            return f"({a()} {self.rng.choice('+-*^&|')} {a()})"
        if kind == 5:
            return f"({a()} / ({a()} | 1))"
        if kind == 6:
            return f"({a()} {self.rng.choice(('<<', '>>'))} ({a()} & 7))"
        if kind == 7:
            return f"(unsigned long)({a()} {self.rng.choice(('<', '>', '==', '!=', '<='))} {a()})"
        if kind == 8:
            return f"(unsigned long)({a()} % 3 {self.rng.choice(('&&', '||'))} {a()} % 2)"
        if kind == 9:
            return f"({a()} % {self.rng.choice('23')} ? {a()} : {a()})"
        if kind == 10:
            return f"((void)({a()}), {a()})"
        if kind == 11:
            return f"(unsigned long)({self.rng.choice(('unsigned char', 'short', 'int', '_Bool'))})({a()})"
        if kind == 12 and waits:
            name = self.new("x")
            return f"({{ const unsigned long {name} = {a()}; w0({name}) + {a()}; }})"
        return f"(unsigned long)!({a()})"

    def sequenced(self, a):
        """An expression that changes a variable which nothing else in this statement touches, and reads it behind a sequence point."""
        var, self.hot = self.hot, None
        v, kind = var.name, spelling(var.kind)
        inner = [a(), a()]
        self.hidden.remove(v)
        after = a()
        self.hidden.append(v)
        return self.rng.choice((
            f"({v} = ({kind})({inner[0]}), {after})", f"(({v} ^= ({kind})({inner[0]})) + {inner[1]})",
            f"(unsigned long)({v}++ % 3 && {after} % 2)", f"(w0({v}++) % 2 ? {after} : {inner[0]})",
            f"({inner[0]} % 2 ? {v} = ({kind})({inner[1]}), {after} : (unsigned long){v}--)",
            f"({{ {v} = ({kind})({inner[0]}); if ({inner[1]} % 2) {v} += 3; {after}; }})"))

    def arguments(self, parameters, a):
        texts = []
        for kind in parameters:
            texts.append({"s1": f"mk1({a()})", "s2": f"mk2({a()})", "bits": f"(struct Bits){{.a = {a()} & 31, .b = 0, .c = {a()} & 1023}}",
                          "double": f"(double)({a()} & 1023)"}.get(kind) or f"({spelling(kind)})({a()})")
        return ", ".join(texts)

    def with_depth(self, callee, a):
        depth = self.rng.choice(("0", "0", "1", "w0(2)"))
        return ", ".join([depth] + ([self.arguments(callee.parameters, a)] if callee.parameters else []))

    def call(self, a):
        """A call of a function below this one, for its value."""
        found = [callee for callee in self.callees if callee.result != "void"]
        if not found or self.open_since(0, "loop") and self.chance(0.7):
            return None
        callee = self.rng.choice(found)
        text = f"{callee.name}({self.with_depth(callee, a)})"
        if callee.result in ("s1", "s2", "bits"):
            return f"(unsigned long){text}.a"
        return f"(unsigned long)({text} * 4)" if callee.result in REALS else f"(unsigned long){text}"

    # --- values of all types ---

    def value(self, kind, waits=True):
        """An expression of this type."""
        n = self.number(waits)
        if kind in REALS:
            return f"({spelling(kind)})({n} & 1023) * 0.25" + {"float": "f", "ldouble": "L"}.get(kind, "")
        if kind == "enum":
            return f"(enum E)({n} & 3)"
        if kind in SCALARS:
            return f"({spelling(kind).replace('volatile ', '').replace('_Atomic ', '')})({n})"
        if kind == "s1":
            literal = f"(struct S1){{.b = (signed char)({n} & 127), .a = (int)({self.number(waits)} & 65535)}}"
            return self.rng.choice([literal, *[f"mk1({n})", f"ws1({literal})"] * waits])
        if kind == "s2":
            return f"mk2({n})" if waits else f"(struct S2){{(long)({n} & 65535), 0.5, {{1, 2, 3, 4, 5}}}}"
        if kind == "bits":
            return f"(struct Bits){{.a = {n} & 31, .b = (int)({self.number(waits)} & 63), .c = {self.number(waits)} & 1023}}"
        return f"(union U){{.a = {n}}}"

    def name_variable(self):
        """A new name, or that of a variable of an outer block."""
        outer = [var.name for var in self.vars if var.name[0] == "v" and var.name not in self.hidden and not any(
            other.name == var.name and other.depth >= self.depth for other in self.vars)]
        return self.rng.choice(outer) if outer and self.chance(0.25) else self.new("v")

    def declare(self, mode=None, kind=None):
        hidden = list(self.hidden)
        var = self.declare_variable(mode, kind or self.rng.choice(self.locals))
        var.depth = self.depth
        self.hidden = hidden
        return var

    def declare_variable(self, mode, kind):
        mode = mode or self.rng.choice(("const", "const", "mut", "mut", "mut", "private"))
        name, owner, at, size = self.name_variable(), self.branch(), len(self.stack), "3"
        self.hidden.append(name)
        word = ("", "")
        if mode == "private":
            if kind in ("vla", "pointer", "aint", "fp"):
                kind = "s2"
            word = ("pprivate ", "")
        elif mode == "const" and self.chance(0.3) and kind not in ("vla", "array", "structs", "pointer"):
            word = ("const ", "const ")
        if kind == "fp":
            self.both(f"aesop unsigned long (*{name})(unsigned long) = {self.number()} & 1 ? w : w0;")
            var = Var(name, kind, "const", owner, at)
        elif kind == "pointer":
            target = self.pick(lambda var: var.kind == "int" and (var.mode == "const" or self.writable(var) and var.mode == "mut"))
            if not target:
                target = self.declare("mut", "int")
            target.pinned = True
            self.both(f"const int *{name} = &{target.name};" if target.mode == "const" else f"int *{name} = &{target.name};")
            var = Var(name, kind, target.mode, owner, at, pinned=True)
        elif kind in ("array", "structs"):
            form = "{(int)(%s & 65535), 1}" if kind == "structs" else "(int)(%s)"
            items = ", ".join(form % self.number() for _ in range(3))
            text = f"{'struct S1' if kind == 'structs' else 'int'} {name}[3] = {{{items}}};"
            self.two(word[0] + text, word[1] + text)
            var = Var(name, kind, mode, owner, at)
        elif kind == "vla":
            size = self.new("n")
            self.both(f"const unsigned long {size} = 1 + {self.number()} % 4;")
            self.both(f"int {name}[{size}];")
            self.both(f"for (unsigned long i = 0; i < {size}; i++) {name}[i] = (int)({self.number()});")
            self.vars.append(Var(size, "ulong", "const", owner, at))
            var = Var(name, kind, mode, owner, at, size=size)
        else:
            spelled = {**SCALARS, **REALS, **STRUCTS}[kind]
            text = f"{spelled} {name} = {self.value(kind)};"
            self.two(word[0] + text, word[1] + text)
            var = Var(name, kind, mode, owner, at)
        self.vars.append(var)
        return var

    def declare_sum(self):
        kind = self.rng.choice(("unsigned", "ulong", "byte", "int", "double", "bits", "s2", "array", "vla", "aint", "structs"))
        name, size = self.new("sum"), "3"
        if kind == "vla":
            size = self.new("n")
            self.both(f"const unsigned long {size} = 2 + {self.number()} % 3;")
            self.both(f"int {name}[{size}];")
            self.both(f"memset({name}, 0, sizeof {name});")
        elif kind in ("array", "structs"):
            self.both(f"{'int' if kind == 'array' else 'struct S1'} {name}[3] = {{0}};")
        else:
            spelled = {**SCALARS, **REALS, **STRUCTS}[kind]
            zero = "{0, 0, 0}" if kind == "bits" else "{0}" if kind in STRUCTS else "0"  # tcc leaves the bit-fields it is not told of
            self.both(f"{spelled} {name} = {zero};")
        self.vars.append(Var(name, kind, "sum", self.branch(), len(self.stack), size=size))

    # --- assignments ---

    def write(self, var):
        name, kind = var.name, var.kind
        if kind.startswith("typed"):
            member = f".{self.rng.choice('ab')}" if kind == "typeds1" else ""
            return self.both(f"{name}{member} = {self.number()} % 2 ? 7 : 0;")
        if kind in ("array", "vla"):
            self.both(f"{name}[{self.number()} % {var.size}] {self.rng.choice(('=', '^=', '|=', '&='))} (int)({self.number()});")
        elif kind == "structs":
            self.both(f"{name}[{self.number()} % 3] = {self.value('s1')};")
        elif kind == "pointer":
            self.both(f"*{name} = (int)({self.number()});")
        elif kind in ("int", "s2") and self.chance(0.4):
            self.both(f"put_int(&{name}, {self.number()});" if kind == "int" else f"put_s2(&{name}, {self.value('s2')});")
        elif kind == "s1" and self.chance(0.5):
            self.both(f"{name}.a = (int)({self.number()} & 65535);")
        elif kind == "s2" and self.chance(0.5):
            self.both(f"{name}.c[{self.number()} % 5] = (unsigned char)({self.number()});")
        elif kind == "bits" and self.chance(0.6):
            self.both(f"{name}.{self.rng.choice('ac')} {self.rng.choice(('=', '^=', '|='))} {self.number()} & 31;")
        elif kind in ("unsigned", "ulong", "byte") and self.chance(0.5):
            self.both(f"{name} {self.rng.choice(('+=', '-=', '*=', '^=', '>>='))} ({spelling(kind)})({self.number()} & 7);")
        else:
            self.both(f"{name} = {self.value(kind)};")

    def add(self):
        """Adds to a sum; waits come before the sum is read."""
        var = self.pick(self.addable) if self.chance(0.7) else None
        amount = self.number(waits=False)
        opened = self.chance(0.5)
        if opened:
            self.both("{")
            name = self.new("t")
            self.both(f"const unsigned long {name} = {self.number()};")
            amount = name
        if not var:
            self.both(f"G[{self.rng.randrange(SUMS)}] += {amount};")
        elif var.kind in ("array", "vla"):
            at = f"{var.name}[{self.number(waits=False, depth=1)} % {var.size}]"
            self.both(f"{at} += (int)(({amount}) & 255);")
        elif var.kind == "structs":
            self.both(f"{var.name}[{self.number(waits=False, depth=1)} % 3].a += (int)(({amount}) & 255);")
        elif var.kind in ("bits", "s2"):
            self.both(f"{var.name}.{'c' if var.kind == 'bits' else 'a'} += ({amount}) & 255;")
        elif var.kind == "double":
            self.both(f"{var.name} += (double)(({amount}) & 255);")
        else:
            self.both(f"{var.name} += ({spelling(var.kind).replace('_Atomic ', '')})(({amount}) & 255);")
        if opened:
            self.both("}")
