"""Debugging: gdb, compiler warnings, sanitizers, assertions and coverage name the lines of the .ae file.

The programs are in tests/debug/. A comment `//@ name` in one of them gives its line a name, which stands here for the number. Each test
runs with gcc and with clang as back end, without optimization unless it says otherwise.
"""
import argparse
import re
import shutil
import sys
from functools import partial

import golden
import suite

HERE = golden.HERE / "debug"
SANITIZE = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer")
tests = []


class Failed(Exception):
    """why: one line; details: what the program said."""

    def __init__(self, why, details=""):
        super().__init__(why)
        self.details = details


class Skipped(Exception):
    pass


def test(function):
    tests.append(function)
    return function


def need(program):
    if not shutil.which(program):
        raise Skipped(f"{program} is not installed")


def lines_of(source):
    """The named lines of a program in tests/debug."""
    names = {}
    for number, text in enumerate((HERE / source).read_text().splitlines(), 1):
        for name in text.partition("//@")[2].split():
            names[name] = number
    return names


def build(folder, cc, *words, status=0):
    done = suite.run([suite.AECC, f"--cc={cc}", "-g", *words], cwd=folder, env=suite.environment(), seconds=golden.BUILD_SECONDS)
    if done.status != status:
        raise Failed(f"aecc: {done.describe()}", suite.clip(done.err))
    return done.err


def copied(name, *sources):
    """A new folder with these programs of tests/debug in it; a folder is copied as a whole."""
    folder = suite.scratch.folder("debug-" + name)
    for source in sources or (name + ".ae",):
        if (HERE / source).is_dir():
            shutil.copytree(HERE / source, folder / source)
        else:
            shutil.copy(HERE / source, folder)
    return folder


# --- gdb ----------------------------------------------------------------------------------------------------------------------------


class Gdb:
    """A session: commands are collected, then run in one batch. After each, gdb says where it stands."""

    def __init__(self, folder, source, program="prog", arguments=(), tool=False):
        need("gdb")
        self.folder, self.source, self.program, self.arguments = folder, source, program, arguments
        self.lines = lines_of(source)
        self.tool = tool
        self.commands = []

    def do(self, command, at=None, **expect):
        """command: {name} is a line's number. at: the line's name where the program stands after it; "away": in no line of the source.
        Expectations: says, lacks: texts or lists of texts in gdb's answer. where: the function."""
        self.commands.append((re.sub(r"\{(\S+?)\}", lambda match: str(self.lines[match[1]]), command), at, expect))

    def run(self):
        words = ["gdb", "-nx", "-batch"]
        setup = ["set debuginfod enabled off", "set width 0", "set breakpoint pending off"]
        if self.tool:
            setup.append(f"source {suite.ROOT / 'tools/gdb/aesop.py'}")
        for command in setup:
            words += ["-ex", command]
        for number, (command, _, _) in enumerate(self.commands):
            words += ["-ex", f"echo \\n@@{number}\\n", "-ex", command, "-ex", f"echo \\n@@{number} where\\n", "-ex", "frame"]
        words += ["--args", f"./{self.program}", *self.arguments]
        done = suite.run(words, cwd=self.folder, env=suite.environment(DEBUGINFOD_URLS=None), seconds=60)
        text = done.out + done.err if done.status is None else done.out
        parts = dict(re.findall(r"^@@(\d+(?: where)?)\n(.*?)(?=^@@|\Z)", text, re.M | re.S))
        errors = done.err
        for number, (command, at, expect) in enumerate(self.commands):
            answer, where = parts.get(str(number), ""), parts.get(f"{number} where", "")
            found = re.search(r"^#\d+ +(?:0x\w+ in )?(\S+) .*? at (\S+):(\d+)$", where, re.M)
            function, file, line = (found[1], found[2], int(found[3])) if found else ("", "", 0)
            inside = file.split("/")[-1] == self.source.split("/")[-1]
            place = f"{file}:{line} in {function}" if found else where.strip() or "nowhere"
            session = "\n".join(text for text, _, _ in self.commands[:number + 1])
            details = f"it said:\n{suite.clip(answer + errors)}\nthe session so far:\n{session}"
            if at == "away":
                if inside:
                    raise Failed(f"({command}) stands at {place}, should have left {self.source}", details)
            elif at and (not inside or line != self.lines[at]):
                raise Failed(f"({command}) stands at {place}, not at {self.source}:{self.lines[at]} ({at})", details)
            if expect.get("where") and function != expect["where"]:
                raise Failed(f"({command}) stands at {place}, not in {expect['where']}", details)
            for kind in ("says", "lacks"):
                wanted = expect.get(kind, [])
                for word in [wanted] if isinstance(wanted, str) else wanted:
                    if (word in answer) != (kind == "says"):
                        raise Failed(f"({command}) {'lacks' if kind == 'says' else 'says'} {word!r}", details)


def session(cc, name, *words, **more):
    folder = copied(name)
    build(folder, cc, *(words or ("-O0",)), "-o", "prog", name + ".ae")
    return Gdb(folder, name + ".ae", **more)


def one_place(gdb, *names):
    """A breakpoint on a line has one place."""
    for name in names:
        gdb.do(f"break steps.ae:{{{name}}}", says=f"line {gdb.lines[name]}.", lacks="locations")


@test
def breakpoints(cc):
    """Each is hit where and as often as the program says, in front of a wait and behind it."""
    gdb = session(cc, "steps")
    places = ["quick-y", "plain", "slow-before", "slow-wait", "slow-after", "count-sum", "count-i", "count-do-sum", "count-for-sum",
              "count-end", "branch-own", "branch-wait", "branch-after", "main-inside", "main-after", "late-else", "late-else-wait",
              "late-else-after", "late-end", "main-print"]
    one_place(gdb, *places)
    one_slow = ["slow-before", "slow-wait", "slow-after"]
    expected = ["quick-y", "plain"] + one_slow                                      # main-quick, main-slow
    for _ in range(2):
        expected += one_slow + ["count-sum", "count-i"]                             # while
    expected += one_slow
    for _ in range(4):
        expected += ["count-do-sum"] + one_slow
    for _ in range(2):
        expected += one_slow + ["count-for-sum"] + one_slow                         # condition; step
    expected += one_slow + ["count-end"]
    expected += ["branch-own", "branch-wait", "slow-before", "slow-wait"] * 2 + ["main-inside"]
    expected += ["slow-after", "branch-after"] * 2 + ["main-after"]
    expected += one_slow + ["late-else", "late-else-wait"] + one_slow + ["late-else-after", "late-end", "main-print"]
    for number, name in enumerate(expected):
        gdb.do("continue" if number else "run", at=name)
    gdb.do("continue", says="exited normally")
    gdb.run()


@test
def breakpoints_optimized(cc):
    """With -O2 a breakpoint may have several places (a function is there twice: entered, and resumed), but each stop is in its line."""
    gdb = session(cc, "steps", "-O2")
    for name in ("branch-after", "main-print"):
        gdb.do(f"break steps.ae:{{{name}}}", says="Breakpoint")
    for number, name in enumerate(["branch-after", "branch-after", "main-print"]):
        gdb.do("continue" if number else "run", at=name)
    gdb.run()


@test
def stepping(cc):
    """next over calls that do not wait; step into an aesop function and a C function; finish out of them."""
    gdb = session(cc, "steps")
    gdb.do("skip -gfi */aesop/abi.h")
    gdb.do("break steps.ae:{main-first}")
    gdb.do("run", at="main-first")
    gdb.do("next", at="main-quick")
    gdb.do("step", at="quick-y", where="quick")
    gdb.do("next", at="quick-call")
    gdb.do("step", at="plain", where="plain")
    gdb.do("next", at="plain-end")
    gdb.do("finish", at="quick-call", says="Value returned is $1 = 8")
    gdb.do("next", at="quick-end")
    gdb.do("tbreak steps.ae:{main-slow}")
    gdb.do("continue", at="main-slow")
    gdb.do("print total", says="= 8")
    gdb.do("step", at="slow", where="slow") # a function that may wait is entered in two steps
    gdb.do("step", at="slow", where="slow__body")
    gdb.do("step", at="slow-before", where="slow__body")
    gdb.run()
    gdb = session(cc, "steps")
    gdb.do("break steps.ae:{main-quick}")
    gdb.do("run", at="main-quick")
    gdb.do("next", at="main-slow")
    gdb.run()
    gdb = session(cc, "steps")
    gdb.do("break quick")
    gdb.do("run", at="quick-y", where="quick")
    gdb.do("finish", at="main-quick", says="Value returned is $1 = 8")
    gdb.run()


@test
def stepping_over_waits(cc):
    """next at a call that suspends leaves the function; behind the wait it goes on line by line."""
    gdb = session(cc, "steps")
    gdb.do("break steps.ae:{slow-wait}")
    gdb.do("run", at="slow-wait")
    gdb.do("print before", says="= 6")
    gdb.do("tbreak steps.ae:{slow-after}")
    gdb.do("continue", at="slow-after", where="slow__body")
    gdb.do("print before", says="= 6")
    gdb.do("print r", says="= 0")
    gdb.do("next", at="slow-end")
    gdb.do("print after", says="= 6")
    gdb.do("delete")
    gdb.do("tbreak steps.ae:{main-count}")
    gdb.do("continue", at="main-count")
    gdb.do("tbreak steps.ae:{branch-after}")
    gdb.do("continue", at="branch-after")
    gdb.do("tbreak steps.ae:{main-after}")
    gdb.do("continue", at="main-after")
    gdb.do("tbreak steps.ae:{late-else}")
    gdb.do("continue", at="late-else")
    gdb.do("next", at="late-else-wait")
    gdb.do("tbreak steps.ae:{late-else-after}")
    gdb.do("continue", at="late-else-after")
    gdb.do("next", at="late-end")
    gdb.do("print result", says="= 2")
    gdb.run()
    for command in ("next", "step"):  # where a call suspends, both leave the function by its first line
        gdb = session(cc, "steps")
        gdb.do("skip -gfi */aesop/abi.h")
        gdb.do("skip -gfi */runtime/*.[ch]")
        gdb.do("break steps.ae:{slow-wait}")
        gdb.do("run", at="slow-wait")
        gdb.do(command, at="slow")
        gdb.run()


@test
def tool_next(cc):
    """`aesop next` walks through main as next walks through C, waits or not, and into the caller at a function's end."""
    gdb = session(cc, "steps", tool=True)
    gdb.do("break steps.ae:{main-first}")
    gdb.do("run", at="main-first")
    for name in ("main-quick", "main-slow", "main-count", "main-sum"):
        gdb.do("aesop next", at=name)
    gdb.do("tbreak steps.ae:{main-after}")
    gdb.do("continue", at="main-after")
    for name in ("main-late", "main-print", "main-end"):
        gdb.do("aesop next", at=name)
    gdb.run()
    gdb = session(cc, "steps", tool=True)
    gdb.do("break steps.ae:{branch-own}")
    gdb.do("run", at="branch-own")
    gdb.do("delete")
    gdb.do("aesop next", at="branch-wait")
    gdb.do("aesop next", at="branch-after")
    gdb.do("print own", says="= 13")
    gdb.run()
    gdb = session(cc, "steps", tool=True)
    gdb.do("tbreak steps.ae:{slow-wait}")
    gdb.do("run", at="slow-wait")
    gdb.do("aesop next", at="slow-after")
    gdb.do("aesop next", at="slow-end")
    gdb.do("aesop next", at="main-count", where="main__body")
    gdb.run()
    gdb = session(cc, "steps", tool=True)
    gdb.do("tbreak steps.ae:{late-deadline}")
    gdb.do("run", at="late-deadline")
    gdb.do("aesop next", at="late-else")
    gdb.do("aesop next", at="late-else-wait")
    gdb.do("aesop next", at="late-else-after")
    gdb.do("aesop next", at="late-end")
    gdb.run()


@test
def tool_backtrace(cc):
    """`aesop backtrace` and `aesop branches` show who waits for whom."""
    gdb = session(cc, "steps", tool=True)
    line = gdb.lines
    gdb.do("aesop backtrace", says=[])  # before the program runs: an error, not a crash
    gdb.do("tbreak steps.ae:{slow-after}")
    gdb.do("run", at="slow-after")
    gdb.do("aesop backtrace", says=[f"slow at steps.ae:{line['slow-after']}\n", f"main at steps.ae:{line['main-slow']}\n"], lacks="#2")
    gdb.do("tbreak steps.ae:{branch-after}")
    gdb.do("continue", at="branch-after")
    gdb.do("aesop backtrace", says=f"#0  pbranch 1 in main at steps.ae:{line['branch-after']}\n#1  main at steps.ae:", lacks="#2")
    waits = line["slow" if "clang" in cc else "slow-wait"]  # clang leaves this label out
    gdb.do("aesop branches", says=["main at steps.ae:", "    (running)\n",
                                   f"    slow at steps.ae:{waits} < pbranch 1 in main at steps.ae:{line['branch-wait']}\n"])
    gdb.run()
    gdb = session(cc, "steps", tool=True)
    gdb.do("break slow if ms == 2")
    gdb.do("run", at="slow")
    chain = "".join(f"#{number}  {name} at steps.ae:{line[at]}\n" for number, (name, at) in
                    enumerate([("slow", "slow"), ("pbranch 1 in main", "branch-wait"), ("main", "main-branch")]))
    gdb.do("aesop backtrace", says=chain, lacks="#3")
    gdb.run()


@test
def variables(cc):
    """docs/debugging.md says where each is found."""
    gdb = session(cc, "locals")
    gdb.do("tbreak locals.ae:{branch-wait}")
    gdb.do("run", at="branch-wait")
    gdb.do("print own", says="= 41")
    gdb.do("tbreak locals.ae:{branch-end}")
    gdb.do("continue", at="branch-end")
    gdb.do("print own", says="= 41")
    gdb.do("info locals", says="own = 41")
    gdb.do("print __ae_m->buffer", says='"mine')
    gdb.do("print __ae_m->__ae_x1->round", says="= 40")
    gdb.do("print __ae_m->__ae_up->shared", says="= 88")
    for name in ("wait", "end"):
        gdb.do(f"tbreak locals.ae:{{{name}}}")
        gdb.do("continue", at=name)
        gdb.do("print number", says="= 89")
        gdb.do("info locals", says="number = 89")
        gdb.do("print __ae_fr->name" if name == "end" else "print name", says='"name"')
        gdb.do("print __ae_fr->text", says='"in a frame')
        gdb.do("print __ae_fr->p", says="{x = 3, y = 4}")
        gdb.do("print *__ae_fr->address" if name == "end" else "print *address", says="= 3")
    gdb.run()


@test
def backtraces(cc):
    """Only .ae files and the runtime's own functions, each at its line, before a wait; behind it the chain ends at the loop."""
    gdb = session(cc, "steps")
    gdb.do("break plain")
    gdb.do("run", at="plain")
    chain = ["plain", "quick-call", "main-quick", "main"]
    gdb.do("backtrace", says=[f"at steps.ae:{gdb.lines[name]}\n" for name in chain], lacks=["/tmp/aecc", "<stdin>", ".c.c", "??"])
    gdb.do("tbreak steps.ae:{slow-after}")
    gdb.do("continue", at="slow-after")
    gdb.do("backtrace", says=["slow__body", f"at steps.ae:{gdb.lines['slow-after']}\n", "ae_loop"], lacks=["/tmp/aecc", "<stdin>", "??"])
    gdb.run()


@test
def source(cc):
    gdb = session(cc, "steps")
    gdb.do("break steps.ae:{branch-after}")
    gdb.do("run", at="branch-after")
    gdb.do("info source", says=["Current source file is steps.ae", f"Located in {gdb.folder}/steps.ae"])
    gdb.do("list", says=["pbranch {", "int own = mine * 10;", "sum += own + mine;"])
    gdb.run()


# --- two files, other folders ----------------------------------------------------------------------------------------------------------


def debug_files(folder, program):
    """The debug information, as text."""
    done = suite.run(["objdump", "--dwarf=info,decodedline", program], cwd=folder, seconds=60)
    return done.out


@test
def two_files(cc):
    """A function in a header, one in a file of another folder; assert and abort name them; no temporary name anywhere."""
    folder = copied("two", "two")
    build(folder, cc, "-O0", "-Wall", "-o", "prog", "two/main.ae", "two/sub/lib.ae")
    text = debug_files(folder, "prog")
    for bad in (r"<stdin>", r"/tmp/aecc", r"\.aei\b", r"\.ae\.c\b", r": -$"):
        found = re.search(rf"^.*{bad}.*$", text, re.M)
        if found:
            raise Failed(f"debug information has {found[0].strip()!r}")
    for name in ("two/main.ae", "two/sub/lib.ae"):
        if not re.search(rf"DW_AT_name .*: {name}$", text, re.M):
            raise Failed(f"debug information has no unit named {name}")
    gdb = Gdb(folder, "two/sub/lib.ae", arguments=["14"])
    gdb.do("break lib.ae:{half}")
    gdb.do("run", at="half")
    gdb.do("list", says="return x / 2 + r;")
    gdb.do("delete")
    gdb.do("continue", says="SIGABRT")
    header = lines_of("two/sub/lib.hae")
    gdb.do("backtrace", says=f"two/sub/lib.hae:{header['abort']}\n")
    gdb.run()
    line = gdb.lines["assert"]
    done = suite.run(["./prog", "3"], cwd=folder, seconds=20)
    if f"two/sub/lib.ae:{line}: half: Assertion `x % 2 == 0' failed" not in done.err:
        raise Failed("assert does not name its file, line and function", done.err)
    gdb = Gdb(folder, "two/sub/lib.ae", arguments=["3"])
    gdb.do("run", says="SIGABRT")
    gdb.do("backtrace", says=f"two/sub/lib.ae:{line}\n")
    gdb.run()


@test
def prefix_map(cc):
    folder = copied("two", "two")
    away = folder / "objects"
    away.mkdir()
    for source in ("main.ae", "sub/lib.ae"):
        build(away, cc, "-O0", f"-fdebug-prefix-map={folder}=/src", "-c", f"{folder}/two/{source}", "-o", source.replace("/", "-") + ".o")
    for name in ("main.ae", "sub-lib.ae"):
        text = debug_files(away, name + ".o")
        if not re.search(rf"DW_AT_name .*: /src/two/{name.replace('-', '/')}$", text, re.M):
            raise Failed(f"{name}: the unit's name is not mapped", "\n".join(re.findall(r".*DW_AT_(?:name|comp_dir).*", text)[:5]))
        if str(folder) in text:
            rows = [row for row in text.splitlines() if str(folder) in row]
            raise Failed(f"{name}: {folder} is left in the debug information", "\n".join(rows[:5]))


# --- what compilers and sanitizers say ------------------------------------------------------------------------------------------------

# gcc does not look at indentation in what is preprocessed already (nor under ccache).
WARN = ("-O0", "-Wall", "-Wextra", "-Wshadow", "-Wno-misleading-indentation", "-Wno-error=int-conversion")
WARNING = re.compile(r"^(\S+?):(\d+):(\d+): (?:warning|error): .*?(\[-W[^]]*\])?$", re.M)


def warned(cc, columns):
    """The warnings of the same file as Aesop and as C; both are preprocessed first, which costs gcc places inside of format strings."""
    folder = copied("warnings", "warnings.ae", "plain")
    suite.run([cc, "-E", "-Iplain", "-x", "c", "warnings.ae", "-o", "warnings.i"], cwd=folder, seconds=60)
    done = suite.run([cc, *WARN, "-c", "-o", "/dev/null", "warnings.i"], cwd=folder, env=suite.environment(), seconds=60)
    found = []
    for text in (done.err, build(folder, cc, *WARN, "-c", "-o", "/dev/null", "warnings.ae")):
        found.append(sorted((match[1], int(match[2]), int(match[3]) if columns else 0, match[4]) for match in WARNING.finditer(text)))
    plain, aesop = found
    if len(plain) < 20:
        raise Failed(f"only {len(plain)} warnings as C: not the test that was meant", done.err)
    if plain != aesop:
        row = "  {0[0]}:{0[1]}:{0[2]} {0[3]}".format
        raise Failed("not the warnings of the same file as C",
                     "missing:\n" + "\n".join(row(one) for one in plain if one not in aesop) +
                     "\nnew:\n" + "\n".join(row(one) for one in aesop if one not in plain))


@test
def warnings_lines(cc):
    warned(cc, columns=False)


@test
def warnings_columns(cc):
    warned(cc, columns=True)


@test
def warnings_show_source(cc):
    """The line that is shown under a warning is the user's, not the translation."""
    folder = copied("warnings")
    text = build(folder, cc, *WARN, "-c", "-o", "/dev/null", "warnings.ae")
    rows = (folder / "warnings.ae").read_text().splitlines()
    shown = re.findall(r"^ +(\d+) \| (.*)$", text, re.M)
    wrong = [f"{number}: {row}" for number, row in shown if row.rstrip() != rows[int(number) - 1].rstrip()]
    if not shown or wrong:
        raise Failed(f"{len(wrong)} of {len(shown)} lines shown are not in warnings.ae", "\n".join(wrong))


@test
def sanitizers(cc):
    folder = copied("sanitizers")
    build(folder, cc, *SANITIZE, "-w", "-o", "prog", "sanitizers.ae")
    wrong = []
    lines = lines_of("sanitizers.ae")
    options = "detect_stack_use_after_return=1:abort_on_error=0:symbolize=1"
    for name, line in lines.items():
        done = suite.run(["./prog", name], cwd=folder, env=suite.environment(ASAN_OPTIONS=options), seconds=60)
        first = re.search(rf"sanitizers\.ae:(\d+)(?::\d+)?(?:: runtime error|$)", done.err, re.M)
        if done.status == 0 or not first or int(first[1]) != line:
            said = (re.search(r"runtime error: .*|ERROR: .*", done.err) or [done.describe()])[0]
            wrong.append(f"{name}: wanted line {line}, got {first[1] if first else 'none'}: {said}")
    if wrong:
        raise Failed(f"{len(wrong)} of {len(lines)} reports are missing or name another line", "\n".join(wrong))


@test
def clean(cc):
    """Correct programs are clean under the sanitizers, leaks included, and with valgrind."""
    for name, arguments in (("steps", ()), ("locals", ())):
        folder = copied(name)
        build(folder, cc, *SANITIZE, "-o", "prog", name + ".ae")
        build(folder, cc, "-O1", "-o", "valgrinded", name + ".ae")
        commands = [["./prog", *arguments]]
        if shutil.which("valgrind"):
            commands.append(["valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "./valgrinded"])
        for command in commands:
            done = suite.run(command, cwd=folder, env=suite.environment(AESOP_LEAKS=1), seconds=60)
            if done.status != 0:
                raise Failed(f"{' '.join(command)}: {done.describe()}", suite.clip(done.err))


@test
def coverage(cc):
    """--coverage counts the lines of the .ae file."""
    folder = copied("steps")
    tool = ["gcov"] if "gcc" in cc else [cc.replace("clang", "llvm-cov"), "gcov"]
    need(tool[0])
    build(folder, cc, "-O0", "--coverage", "-c", "-o", "steps.o", "steps.ae")
    build(folder, cc, "-O0", "--coverage", "-o", "prog", "steps.o")
    done = suite.run(["./prog"], cwd=folder, seconds=20)
    if done.status != 0 or not (folder / "steps.gcda").exists():
        raise Failed(f"no counts: {done.describe()}", done.err)
    done = suite.run([*tool, "steps.gcda"], cwd=folder, seconds=60)
    if not (folder / "steps.ae.gcov").exists():
        raise Failed("no steps.ae.gcov", done.out + done.err)
    counts = {int(match[2]): match[1] for match in re.finditer(r"^ *([-#\d*]+): *(\d+):", (folder / "steps.ae.gcov").read_text(), re.M)}
    lines = lines_of("steps.ae")
    # Lines without a call that waits: one with such a call is entered once more when it goes on.
    expected = {"plain": 1, "quick-y": 1, "count-sum": 2, "count-i": 2, "count-do-sum": 4, "count-for-sum": 2, "branch-own": 2,
                "branch-after": 2, "late-else": 1, "late-else-after": 1, "main-print": 1}
    wrong = [f"line {lines[name]} ({name}): {counts.get(lines[name])}, not {count}" for name, count in expected.items()
             if counts.get(lines[name], "").rstrip("*") != str(count)]
    if wrong:
        raise Failed(f"{len(wrong)} counts are wrong", "\n".join(wrong))


def one(function, cc):
    name = f"{function.__name__.replace('_', '-')} [{cc}]"
    try:
        function(cc)
    except Failed as failed:
        return [("FAIL", name, str(failed), failed.details)]
    except Skipped as skipped:
        return [("skip", name, str(skipped), "")]
    return [("ok", name, "", "")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="gcc alone")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    if not suite.AECC.exists():
        suite.report("FAIL", "debug", f"{suite.AECC} is not built")
        return 1
    compilers = ["gcc"] + ([golden.find_clang()] if not options.quick and golden.find_clang() else [])
    tasks = [partial(one, function, cc) for cc in compilers for function in tests
             if not options.names or any(name in function.__name__.replace("_", "-") for name in options.names)]
    return 0 if suite.run_all(tasks, options.jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
