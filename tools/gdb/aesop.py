"""gdb commands for Aesop programs: `source tools/gdb/aesop.py`, in gdb or in ~/.gdbinit.

    aesop next         next, but over a call that waits: stops in the line behind it, when the branch goes on
    aesop backtrace    who called whom in this branch, also behind a wait, where the callers are no longer on the C stack
    aesop branches     every branch that waits, and where

What stands here about frames, branches and labels is the contract in <aesop/abi.h>: a frame's `resume` names its function, and call
number N of a function is followed by the label __ae_N, at which it goes on. Compilers leave some labels out, with optimization most; then
the function's first line is shown.
"""
import gdb

gdb.execute("skip -gfi */aesop/abi.h", to_string=True)
gdb.execute("skip -gfi */runtime/*.[ch]", to_string=True)
gdb.execute("skip -gfi */io/*.[ch]", to_string=True)

PWAIT = 0  # __ae_scope.kind


def name_of(frame):
    return frame.function().name if frame and frame.function() else ""


def variable(frame, name):
    try:
        return frame.read_var(name)
    except (ValueError, gdb.error):
        return None


def branch_of(frame):
    """The branch that a function of the program runs in, as a pointer, or None."""
    branch = variable(frame, "__ae_b")
    if branch is None:
        own = variable(frame, "__ae_m")
        branch = own["__ae_branch"].address if own is not None else None
    return branch if branch is not None and not branch.is_optimized_out else None


def newest():
    if gdb.selected_thread() is None:
        raise gdb.GdbError("The program is not being run.")
    return gdb.newest_frame()


def current():
    """The branch of the innermost aesop function on the C stack."""
    frame = newest()
    while frame:
        branch = branch_of(frame)
        if branch is not None:
            return branch
        frame = frame.older()
    raise gdb.GdbError("No aesop function is on the stack.")


def function_of(frame):
    """(name in the program, name of the function with its statements, file) of a frame of abi.h."""
    resume = int(frame["resume"])
    block = gdb.block_for_pc(resume)
    symbol = block.function.name if block and block.function else ""
    if not symbol.endswith("__resume"):  # a frame of the runtime, or of a leaf written in C
        return symbol, "", ""
    base = symbol[:-len("__resume")]
    body = base if "__branch" in base else base + "__body"
    return base, body, block.function.symtab.filename if block and block.function else ""


def shown(name):
    """`work__branch2` is the program's second pbranch in work."""
    base = name[:-len("__body")] if name.endswith("__body") else name
    function, found, number = base.partition("__branch")
    return f"pbranch {number} in {function}" if found and number.isdigit() else base


def place(frame):
    """Where a suspended frame goes on."""
    base, body, file = function_of(frame)
    for spec in (f"'{file}':{body}:__ae_{int(frame['state'])}", f"'{file}':{body}"):
        try:
            found = gdb.decode_line(spec)[1]
        except gdb.error:
            continue
        if found and found[0].symtab:
            return f"{shown(base)} at {found[0].symtab.filename}:{found[0].line}"
    return shown(base)


def suspended(frame):
    """The functions of the program in a chain of suspended frames."""
    while frame != 0:
        if function_of(frame)[1]:
            yield place(frame)
        frame = frame["parent"]


def running():
    """The branches that are on the C stack: their chain of frames is not up to date."""
    found, frame = set(), gdb.newest_frame()
    while frame:
        branch = branch_of(frame)
        if branch is not None:
            found.add(int(branch))
        frame = frame.older()
    return found


def is_root(branch):
    return int(branch["home"]) == int(branch["w"]["root"].address)


class Aesop(gdb.Command):
    """Commands for Aesop programs: aesop next, aesop backtrace, aesop branches."""

    def __init__(self):
        super().__init__("aesop", gdb.COMMAND_RUNNING, gdb.COMPLETE_NONE, True)


class Backtrace(gdb.Command):
    """Who called whom in the current branch, and who started it, down to main; also behind a wait."""

    def __init__(self):
        super().__init__("aesop backtrace", gdb.COMMAND_STACK)

    def invoke(self, _argument, _tty):
        branch = current()
        rows, frame, last = [], gdb.newest_frame(), ""
        while frame:
            name = name_of(frame)
            if name.endswith("__resume"):
                rows += suspended(variable(frame, "__ae_f")["parent"])
                break
            if name == "__ae_user_main" or name == "__ae_entry":
                break
            sal = frame.find_sal()
            if name + "__body" != last and name:  # the function that only enters another one's statements is no news
                rows.append(f"{shown(name)} at {sal.symtab.filename}:{sal.line}" if sal.symtab else name)
            last, frame = name, frame.older()
            if "__branch" in name and branch_of(frame) is not None and not name_of(frame).endswith("__resume"):
                branch = branch_of(frame)  # a branch that runs for the first time runs on its starter's stack
        while not is_root(branch):
            branch = branch["home"]["owner"]
            rows += suspended(branch["leaf"]) if branch["waits"] or int(branch["leaf"]) else []
        for number, row in enumerate(rows):
            print(f"#{number:<3}{row}")


class Branches(gdb.Command):
    """Every branch that waits, with its chain of calls; below it, indented, the branches that it waits for."""

    def __init__(self):
        super().__init__("aesop branches", gdb.COMMAND_STACK)

    def list(self, pwait, depth, done):
        branch = pwait["first"]
        while branch != 0:
            done.add(int(branch))
            print("    " * depth + ("(running)" if int(branch) in self.running else " < ".join(suspended(branch["leaf"]))))
            self.below(branch, depth + 1, done)
            branch = branch["next"]

    def below(self, branch, depth, done):
        scope = branch["cur"]
        while int(scope) != int(branch["home"]):
            if int(scope["kind"]) == PWAIT:
                self.list(scope.cast(gdb.lookup_type("struct __ae_pwait").pointer()), depth, done)
            scope = scope["outer"]

    def invoke(self, _argument, _tty):
        branch = current()
        done, self.running = set(), running()
        self.list(branch["w"]["root"], 0, done)
        while int(branch) not in done and not is_root(branch):
            branch = branch["home"]["owner"]
        if int(branch) not in done:
            print("(running)" if int(branch) in self.running else " < ".join(suspended(branch["leaf"])))
            self.below(branch, 1, done)


class Next(gdb.Command):
    """Like next, but where the line waits, the stop is behind it, when this branch goes on; at a function's end, behind its call."""

    def __init__(self):
        super().__init__("aesop next", gdb.COMMAND_RUNNING)

    def resumed(self, body, branch):
        """Runs until this branch goes on in this function, just behind the call that waited."""
        own = "__ae_m" if "__branch" in body else "__ae_b"
        stop = gdb.Breakpoint(f"-function {body}", internal=True)
        stop.silent = True
        stop.condition = f"__ae_resumed && (unsigned long){own} == {int(branch)}"
        try:
            gdb.execute("continue", to_string=True)
        finally:
            hits = stop.hit_count
            stop.delete()
        return hits > 0 and gdb.selected_inferior().pid != 0 and name_of(gdb.newest_frame()) == body

    def invoke(self, _argument, _tty):
        newest()
        before = gdb.parameter("suppress-cli-notifications")
        gdb.execute("set suppress-cli-notifications on")  # the stops on the way
        try:
            self.go_on()
        finally:
            gdb.execute(f"set suppress-cli-notifications {'on' if before else 'off'}")

    def go_on(self):
        gdb.newest_frame().select()
        frame, branch = gdb.newest_frame(), branch_of(gdb.newest_frame())
        if branch is None:
            gdb.execute("next")
            return
        function, line, parent = name_of(frame), frame.find_sal().line, None
        depth = int(frame.older().read_register("sp")) if frame.older() else 0
        older = frame.older()
        if name_of(older).endswith("__resume") and int(variable(older, "__ae_f")["parent"]):
            parent = function_of(variable(older, "__ae_f")["parent"])[1]
        lives = gdb.parse_and_eval(f"(struct __ae_branch *){int(branch)}")
        for _ in range(100):
            gdb.execute("next", to_string=True)
            if gdb.selected_inferior().pid == 0:
                return
            frame = gdb.newest_frame()
            name = name_of(frame)
            if frame.is_valid() and int(lives["waits"]):
                if not self.resumed(function, branch):
                    break
                continue
            if name == function and frame.find_sal().line == line and depth:
                depth = 0  # back in the line, behind its call
                continue
            if name + "__body" == function:  # out of the statements, into the function around them
                continue
            if parent and (name.endswith("__resume") or branch_of(frame) is None):  # the caller is no longer on the C stack
                if self.resumed(parent, branch):
                    gdb.execute("next", to_string=True)
            break
        if branch_of(gdb.newest_frame()) is None and not parent:
            print("the branch has ended")
        gdb.execute("frame")


Aesop()
Backtrace()
Branches()
Next()
