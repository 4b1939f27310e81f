"""Random trees of Aesop's statements, each beside a plain C program with the same meaning.

In the plain program a branch runs to its end where it is started; what a pwait, a deadline, a shield or a cancel does to it is written out:
a global `region` says whether the code that runs now is cancelled and by which deadline, and is put back wherever a scope is left. The
Aesop program runs its branches in any order, so its text keeps to rules under which the order cannot be seen (Var, in values.py): a branch
reads what nobody changes while it runs, changes only what was lent to it, and adds to sums that are read after the join.

What is known to be cancelled is known without a clock: deadlines are past from the start, are never due, or are waited for; and branches
are cancelled by the first branch of a pwait while the pwait's own statements wait for that.
"""
import random
from pathlib import Path

from values import REALS, RESULTS, SCALARS, STRUCTS, SUMS, Scope, Values, Var, spelling

PRELUDE = Path(__file__).with_name("prelude.h")


class Function(Values):
    """Writes one function, in both languages."""

    def block(self, count=None, open_text="{", close_text="}"):
        """Statements in braces."""
        known = len(self.vars)
        self.both(open_text)
        self.indent += 1
        self.statements(count)
        self.indent -= 1
        self.both(close_text)
        del self.vars[known:]

    def statements(self, count=None):
        for _ in range(count or self.rng.randrange(1, 5)):
            self.statement()

    def scoped(self, kind, emit, pwait=None):
        scope = Scope(kind, self.new(""), len(self.stack), pwait)
        self.stack.append(scope)
        emit(scope)
        self.stack.pop()
        return scope

    def loop(self):
        i, limit = self.new("i"), self.rng.randrange(1, 4)
        bound = self.rng.choice((f"{i} < {limit}", f"w0({i}) < {limit}", f"{i} < {limit} && (w({i}) | 1)"))
        step = self.rng.choice((f"{i}++", f"{i} += w(1)", f"{i} = w0({i}) + 1"))
        form = self.rng.randrange(4)

        def body(scope):
            self.vars.append(Var(i, "ulong", "mut", self.branch(), len(self.stack) - 1, pinned=True))
            if form == 0:
                self.block(None, f"for (unsigned long {i} = w0(0); {bound}; {step}) {{")
            elif form == 1:
                self.block(None, f"while ({i}++ < w0({limit})) {{")
            elif form == 2:
                self.block(None, "do {", f"}} while (({step.replace(f'{i}++', f'++{i}')}) < {limit});")
            else:
                self.both(f"again{scope.number}: ;")
                self.stack[-1].kind = "goto-loop"
                self.block(None)
                self.both(f"if (++{i} < w0({limit})) goto again{scope.number};")
            self.vars.pop()
        if form:
            self.both("{")
            self.both(f"unsigned long {i} = w0(0);")
        self.scoped("loop", body)
        if form:
            self.both("}")

    def switch(self):
        known = len(self.vars)

        def body(_scope):
            self.both(f"switch ({self.number()} % 4) {{")
            shared = self.new("v") if self.chance(0.4) else None
            if shared:
                self.both(f"int {shared};")
            for case in self.rng.sample(("case 0:", "case 1:", "case 2:", "default:"), self.rng.randrange(1, 5)):
                self.both(case)
                if shared:
                    self.both(f"{shared} = (int)({self.number()});")
                    self.vars.append(Var(shared, "int", "const", self.branch(), len(self.stack)))
                    self.vars[-1].depth = self.depth
                self.rng.choice((self.block, self.block, self.start, self.waited))()
                if shared:
                    self.vars.pop()
                if shared or self.chance(0.6):
                    self.jump_over(len(self.stack) - 1, "break;")
            self.both("}")
        self.scoped("switch", body)
        del self.vars[known:]

    def duff(self):
        i = self.new("i")
        self.both("{")
        self.both(f"unsigned long {i} = 0;")

        def inner(_scope):
            self.block()
            self.both("/* fall through */ case 1:")
            self.block()
            self.both("/* fall through */ case 2:")
            self.block()

        def body(_scope):
            self.both(f"switch ({self.number()} % 3) {{ case 0: do {{")
            self.scoped("loop", inner)
            self.both(f"}} while (w0(++{i}) < 2); }}")
        self.scoped("switch", body)
        self.both("}")

    # Plain C's way out of scopes: pending returns of the pwaits that are left come first; the region is put back.

    def pending(self, at):
        """What happens outside stack[at:] when a branch of a pwait there has returned."""
        for scope in reversed(self.stack[:at]):
            if scope.kind == "branch":
                return f"{{ returned{scope.pwait.number} = 1; goto ended{scope.number}; }}"
        return f"{{ region = region0; return{'' if self.result == 'void' else ' value'}; }}"

    def leave(self, at):
        """Text that leaves stack[at:], for plain C."""
        text = ""
        for scope in reversed(self.stack[at:]):
            if scope.kind == "pwait" and not self.in_lonely():
                text += f"if (returned{scope.number}) {self.pending(scope.at)} "
        outer = next((scope for scope in self.stack[at:] if scope.kind in ("pwait", "shield", "deadline")), None)
        return text + (f"region = saved{outer.number}; " if outer else "")

    def jump_over(self, at, text):
        self.two(text, f"{{ {self.leave(at)}{text} }}")

    def jump(self):
        """break, continue, pbreak, return, under a condition."""
        at = next((index for index in range(len(self.stack) - 1, -1, -1) if self.stack[index].kind in ("fn", "branch", "lonely")))
        inner = [scope for scope in self.stack[at + 1:] if scope.kind in ("loop", "switch")]
        loops = [scope for scope in inner if scope.kind == "loop"]
        words = ["break"] * bool(inner) + ["continue"] * bool(loops) + ["pbreak"] * (at > 0) + ["return"] * (not self.in_lonely())
        if not words:
            return self.add()
        word = self.rng.choice(words)
        self.both(f"if ({self.number()} % 3 == 0)")
        if word == "break":
            self.jump_over(inner[-1].at, "break;")
        elif word == "continue":
            self.jump_over(loops[-1].at, "continue;")
        elif word == "pbreak":
            self.two("pbreak;", f"{{ {self.leave(at + 1)}goto ended{self.stack[at].number}; }}")
        else:
            self.give_back()

    def give_back(self):
        """return. Inside a pwait all returns give the same, because any may be the first."""
        free = not any(scope.kind in ("pwait", "branch") for scope in self.stack)
        value = "" if self.result == "void" else self.value(self.result) if free else self.constant
        first = f"value = {value}; " if value else ""
        self.two(f"return {value};" if value else "return;", f"{{ {first}{self.pending(len(self.stack))} }}")

    def goto_out(self):
        """A block that is left by a goto from inside."""
        label, at = self.new("out"), len(self.stack)
        branch = self.branch()
        self.both("{")
        known = len(self.vars)
        self.indent += 1

        def leave():
            self.both(f"if ({self.number()} % 2)")
            self.jump_over(at, f"goto {label};")
        self.statements(1)
        form = self.rng.choice((None, "pwait", "shield", "deadline"))
        if form:
            def inside():
                self.statements(1)
                leave()
                self.statements(1)
            self.scope(form, inside)
        else:
            leave()
        self.statements(1)
        assert branch is self.branch()
        self.indent -= 1
        self.both("}")
        self.both(f"{label}: ;")
        del self.vars[known:]

    def goto_into(self):
        """A block that a goto may enter past its beginning."""
        label, name, known = self.new("in"), self.new("v"), len(self.vars)
        kind = self.rng.choice(("int", "s2", "ulong", "double"))
        self.both(f"if ({self.number()} % 2) goto {label};")
        self.both("{")
        self.indent += 1
        self.both(f"{spelling(kind)} {name};")
        self.both(f"G[{self.rng.randrange(SUMS)}] += {self.leaf(False)};")
        self.both(f"{label}: {name} = {self.value(kind)};")
        self.vars.append(Var(name, kind, self.rng.choice(("const", "mut")), self.branch(), len(self.stack)))
        self.vars[-1].depth = self.depth
        self.statements()
        self.indent -= 1
        self.both("}")
        del self.vars[known:]

    # --- the language's own statements ---

    def scope(self, form, inside):
        """pwait, pshield or pdeadline around what inside() writes."""
        known = len(self.vars)
        kind = self.rng.choice(("past", "past", "never", "never", "awaited")) if form == "deadline" else form
        past, never = self.rng.choice(("0", "-1", "(int)w0(0)", "0 * ae_is_cancelled()")), self.rng.choice(("1000000", "(int)w(2000000)"))
        head = {"pwait": "pwait", "shield": "pshield", "past": f"pdeadline ({past})", "never": f"pdeadline ({never})",
                "awaited": "pdeadline (1)"}[kind]

        def body(scope):
            n = scope.number
            self.two(f"{head} {{", f"{{ struct region saved{n} = region, inside{n} = region; int returned{n} = 0, seen{n} = 0;")
            self.indent += 1
            self.two("", f"(void)returned{n}; (void)seen{n}; (void)inside{n};")
            if kind == "shield":
                self.two("", "region = (struct region){0, 0};")
            if kind in ("past", "awaited"):
                self.two("", f"if (!region.cancelled) region = (struct region){{1, &seen{n}}};")
            if kind == "awaited":
                self.two(f"while ({self.rng.choice(('aesop_yield()', 'aesop_timer(60000)'))} == 0) continue;", "(void)aesop_yield();")
            self.two("", "{")
            inside()
            self.indent -= 1
            self.two("}", f"}} region = saved{n};")
            return scope
        scope = self.scoped("deadline" if form == "deadline" else form, body)
        if form == "pwait":
            if not self.in_lonely():
                self.two("", f"if (returned{scope.number}) {self.pending(len(self.stack))}")
            for var in self.vars:
                if var.lent is scope:
                    var.lent = None
        del self.vars[known:]
        if form == "deadline" and self.chance(0.7):
            self.two("else", f"if (seen{scope.number})")
            self.block(1)
        self.two("", "}")

    def start(self, inside=None):
        """pbranch, lonely or not."""
        pwait = self.joins()
        if pwait is None:
            return self.add()
        lonely, me, known = pwait == "lonely", self.branch(), len(self.vars)
        if self.chance(0.15) and not inside:
            def single(scope):
                n, region = scope.number, "(struct region){0, 0}" if lonely else f"inside{pwait.number}"
                self.two(self.rng.choice(("pbranch", "pbranch pwait")), f"{{ struct region outside{n} = region; region = {region};")
                sum_at = f"G[{self.rng.randrange(SUMS)}]"
                self.both(f"{sum_at} += {self.leaf(False)};" if self.chance(0.3) else f"tally({self.number(depth=1)});")
                self.two("", f"region = outside{n}; }}")
            self.scoped("lonely" if lonely else "branch", single, None if lonely else pwait)
            return None
        lent = []
        for var in self.vars:
            if var.mode == "mut" and self.readable(var) and not var.pinned and not self.open_since(var.at, "loop", "goto-loop") \
                    and self.chance(0.4) and not inside:
                lent.append((var, var.at))
        private = [var for var in self.vars if var.mode == "private" and self.visible(var)]

        def body(scope):
            n = scope.number
            region = "(struct region){0, 0}" if lonely else f"inside{pwait.number}"
            self.two("pbranch {", f"{{ struct region outside{n} = region; region = {region};")
            self.indent += 1
            for var in private:
                v = var.name
                self.two("", f"__typeof__({v}) copy{n}{v}; memcpy(&copy{n}{v}, &{v}, sizeof {v}); {{ "
                         f"__typeof__(copy{n}{v}) {v}; memcpy(&{v}, &copy{n}{v}, sizeof {v});")
            self.two("", "{")
            for var, _ in lent:
                var.owner, var.at = scope, len(self.stack)
            if inside:
                inside(pwait)
            self.statements()
            for var, at in lent:
                var.owner, var.at, var.lent = me, at, pwait
            self.indent -= 1
            self.two("}", "} " * len(private) + f"}} ended{n}: __attribute__((unused)); region = outside{n}; }}")
        self.scoped("lonely" if lonely else "branch", body, None if lonely else pwait)
        del self.vars[known:]

    def waited(self):
        """pwait over loops of branches and the like."""
        def inside():
            if self.chance(0.15):
                return self.cancelling()
            for _ in range(self.rng.randrange(1, 4)):
                self.rng.choice((self.start, self.start, self.start, self.loop, self.statement))()
        self.scope("pwait", inside)

    def cancelling(self):
        """The first branch cancels all others; the pwait's own statements wait for that."""
        pwait = self.stack[-1]

        def cancel(_):
            for _ in range(self.rng.randrange(3)):
                self.both(f"G[{self.rng.randrange(SUMS)}]++; (void)aesop_timer(0);")
            n = pwait.number
            self.both("G[0] += (unsigned long)(aesop_cancel_branches() == 0);")
            self.two("", f"if (!inside{n}.cancelled) inside{n} = (struct region){{1, 0}};")
        self.start(cancel)
        self.two("while (aesop_yield() == 0) continue;", f"region = inside{pwait.number}; (void)aesop_yield();")
        self.statements()
        for _ in range(self.rng.randrange(3)):
            self.start()

    def call_alone(self):
        a = lambda: self.number(depth=1)  # noqa: E731
        if not self.callees or self.open_since(0, "loop", "goto-loop") and self.chance(0.6):
            return self.add()
        callee = self.rng.choice(self.callees)
        self.both(f"{'' if callee.result == 'void' else '(void)'}{callee.name}({self.with_depth(callee, a)});")
        return None

    def expression_statement(self):
        """A GNU statement expression with branches in it."""
        self.declare("mut", "ulong")
        name = self.vars[-1].name
        self.hidden.append(name)
        self.both(f"{name} += ({{")
        self.indent += 1
        known = len(self.vars)
        self.waited()
        self.both(f"{self.number()};")
        del self.vars[known:]
        self.indent -= 1
        self.hidden.remove(name)
        self.both(f"}}){self.rng.choice(('', ' * 3', ' ^ w0(5)', ' ? w(1) : w0(2)'))};")

    def local_types(self):
        """A block with types of its own, whose names other blocks use for other types."""
        known, name = len(self.vars), self.new("v")
        self.both("{")
        self.indent += 1
        kind, text = self.rng.choice((
            ("ulong", f"typedef unsigned short T; T {name} = (T)({self.number()});"),
            ("ulong", f"typedef unsigned long T; const T {name} = {self.number()};"),
            ("ulong", f"enum T {{ K = 7, L = 1000 }} {name} = {self.number()} % 2 ? K : L;"),
            ("s1", f"struct T {{ long b; short x[2]; int a; }} {name} = {{.b = (long)({self.number()} & 77), .a = 5}};"),
            ("s1", f"union T {{ unsigned char a; unsigned b; }} {name} = {{.b = (unsigned)({self.number()})}};")))
        self.both(text)
        mode = "const" if "const" in text or self.chance(0.5) else "mut"
        self.vars.append(Var(name, "typed" + kind, mode, self.branch(), len(self.stack)))
        self.vars[-1].depth = self.depth
        self.statements()
        self.indent -= 1
        self.both("}")
        del self.vars[known:]

    def recurse(self):
        """One call of itself in a function: its parameter d is how deep it may."""
        if self.recursed or self.name == "f0" or self.open_since(0, "loop", "goto-loop"):
            return self.add()
        self.recursed = True
        a = lambda: self.number(depth=1)  # noqa: E731
        arguments = ["d - 1"] + ([self.arguments(self.parameters, a)] if self.parameters else [])
        self.both(f"if (d > 0) {'' if self.result == 'void' else '(void)'}{self.name}({', '.join(arguments)});")
        return None

    def choose(self):
        self.both(f"if ({self.number()} % 2) {{")
        known = len(self.vars)
        self.indent += 1
        self.statements()
        self.indent -= 1
        del self.vars[known:]
        if self.chance(0.5):
            self.block(None, "} else {")
        else:
            self.both("}")

    def statement(self):
        """One statement. In some of the simple ones a variable is changed inside an expression."""
        self.budget -= 1
        depth = len(self.stack) + self.indent // 3
        simple = [self.add] * 3 + [self.declare] * 3 + [self.rewrite] * 3 + [self.jump, self.call_alone]
        if self.budget <= 0 or depth > 7 or self.chance(0.3):
            var = self.pick(lambda var: var.kind in ("unsigned", "ulong", "byte", "short") and not var.pinned and self.writable(var))
            if var:
                self.hot = var
                self.hidden.append(var.name)
            self.rng.choice(simple)()
            if var:
                self.hot = None
                self.hidden.remove(var.name)
            return None
        compound = [self.choose] * 2 + [self.loop] * 2 + [self.switch, self.duff, self.goto_out, self.goto_into] + [self.start] * 3
        compound += [self.waited] * 4 + [self.declare_sum] * 2 + [self.local_types, self.recurse, self.recurse, self.expression_statement]
        compound += [lambda: self.scope("shield", self.statements)] + [lambda: self.scope("deadline", self.statements)] * 2
        return self.rng.choice(simple + compound)()

    def rewrite(self):
        var = self.pick(self.writable)
        self.write(var) if var and not (var.pinned and var.kind == "ulong") else self.declare()

    def write_function(self):
        names = [f"p{at}" for at in range(len(self.parameters))]
        head = ", ".join(["int d"] + [f"{spelling(kind)} {name}" for kind, name in zip(self.parameters, names)])
        self.constant = self.pure_constant(names)
        self.both(f"aesop {spelling(self.result)} {self.name}({head}) {{")
        self.indent += 1
        self.two("", "struct region region0 = region;")
        if self.result != "void":
            self.two("", f"{spelling(self.result)} value;")
        self.stack.append(Scope("fn", "0", 0))
        for kind, name in zip(self.parameters, names):
            mode = "const" if name in self.constant else self.rng.choice(("const", "mut"))
            self.vars.append(Var(name, kind, mode, self.stack[0], 1))
        for _ in range(self.rng.randrange(4, 9)):
            self.statement()
        self.both(f"G[{self.rng.randrange(SUMS)}] += {self.number(False)};")
        for var in [var for var in self.vars if self.readable(var)]:
            self.both(f"G[{self.rng.randrange(SUMS)}] += {self.read(var, False, 0)};")
        self.give_back() if self.result != "void" else self.two("", "region = region0;")
        self.stack.pop()
        self.indent -= 1
        self.both("}")

    def pure_constant(self, names):
        """What every return inside a pwait of this function gives."""
        if self.result == "void":
            return ""
        from_parameter = next((f"(unsigned long){name}" for name, kind in zip(names, self.parameters) if kind in SCALARS), "41ul")
        inner = self.rng.choice((from_parameter, f"w0({from_parameter})", f"(w({from_parameter}) ^ 5)"))
        if self.result in REALS:
            return f"({spelling(self.result)})({inner} & 255)"
        if self.result in STRUCTS:
            return {"s1": f"mk1({inner})", "s2": f"mk2({inner})", "bits": f"(struct Bits){{.a = {inner} & 31, .b = 0, .c = 0}}"}[self.result]
        return f"({spelling(self.result)})({inner})"


def make(seed, _folder):
    """Returns (Aesop source, plain C source, options for both compilers)."""
    rng = random.Random(f"tree {seed}")
    functions = []
    for number in range(rng.randrange(1, 5), -1, -1):
        parameters = [rng.choice(("int", "ulong", "byte", "s1", "s2", "double", "bits", "short")) for _ in range(rng.randrange(4))]
        functions.append(Function(rng, f"f{number}", rng.choice(RESULTS), [] if not number else parameters, functions[-2:]))
        functions[-1].write_function()
    calls = f"    for (int i = 0; i < 3; i++) {'' if functions[-1].result == 'void' else '(void)'}{functions[-1].name}(0);"
    tail = ["static void at_end(void) {", f"    for (int i = 0; i < {SUMS}; i++) printf(\"%lu\\n\", G[i]);", "}",
            "aesop int main(void) {", "    atexit(at_end);", calls, "    return 0;", "}", ""]
    prelude = PRELUDE.read_text(encoding="ascii")
    texts = [prelude + "\n".join(line for function in functions for line in getattr(function, language)) + "\n" + "\n".join(tail)
             for language in ("aesop", "plain")]
    return *texts, ["-w"]
