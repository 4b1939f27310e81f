"""Golden tests: an Aesop program beside the output it must have, or beside the errors it must be refused with.

    NAME.ae NAME.out      the program prints NAME.out and exits with 0, or with the number in NAME.status
    NAME.ae NAME.err      the program is refused with exactly the errors in NAME.err
    NAME/ expected.out    the same for several files; NAME/build.sh builds `prog` there, else all .ae and .c files are compiled into it

Comments in a test (in a folder: in any of its .ae, .c and .sh files) say more:

    // rule: 3.11 return in a branch ends ...   which sentence of the language it is about (tests/README.md lists them all)
    // not-with: tcc (no _Complex)              compilers that cannot compile the plain C that is in it
    // options: -lm                             more words for aecc
    // queue: fifo (ordered by timers)          run with that order of the ready queue alone; see below

A program must come out the same however it is compiled, whatever engine drives it, in whatever order ready branches are taken, and
whether the waits of the library suspend or not; so each test is built several times and each build runs several times. A test that
passes only sometimes is a bug in the test or in the runtime, never something to repeat.

Timers that are due together, after the machine was slow, become ready together, and the queue order `hot` then takes the last one first. A
test whose output shows the order of timers therefore asks for `fifo`, which keeps it however long the machine stalls.
"""
import argparse
import ctypes
import os
import re
import shutil
import sys
from pathlib import Path

import suite

HERE = Path(__file__).resolve().parent
SANITIZE = "-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
WARN = "-Wall -Wextra"
RUN_SECONDS, BUILD_SECONDS = 20, 120

# What a run varies: engine, coin for suspensions (percent:seed), order of the ready queue.
ALL_RUNS = [(engine, coin, queue) for engine, queue in (("uring", "hot"), ("epoll", "fifo")) for coin in ("0", "50:1", "100:1")]
TWO_RUNS = [("uring", "0", "hot"), ("epoll", "100:1", "fifo")]


def find_clang():
    return next((name for name in ("clang", *(f"clang-{version}" for version in range(21, 13, -1))) if shutil.which(name)), None)


def builds(mode):
    """Compiler, its options, and the runs of that build."""
    clang = find_clang()
    both = ALL_RUNS + [("uring", "0", "fifo"), ("epoll", "0", "hot")]
    if mode == "quick":
        return [("gcc", "-O2", TWO_RUNS)]
    table = [("gcc", "-O0 -g", TWO_RUNS), ("gcc", "-O2", ALL_RUNS), ("gcc", "-O1 -g " + SANITIZE, ALL_RUNS[::2] + ALL_RUNS[1::4])]
    if mode == "long":
        options = ("-O0 -g", "-O2", "-O3", "-O0 -g " + SANITIZE, "-O2 -g " + SANITIZE)
        table = [(cc, flags, both) for cc in ("gcc", clang) if cc for flags in options]
    elif clang:
        table += [(clang, "-O2 -g", TWO_RUNS), (clang, "-O0 -g " + SANITIZE, TWO_RUNS)]
    if shutil.which("tcc"):
        table.append(("tcc", "-g", both if mode == "long" else TWO_RUNS))
    return table


def uring_refused():
    """Why this machine has no io_uring for us, or None: io_uring_setup(1, params) on x86-64 and AArch64 is system call 425."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.syscall(425, 1, ctypes.create_string_buffer(256))
    if fd < 0:
        return os.strerror(ctypes.get_errno())
    os.close(fd)
    return None


def sources(test):
    if test.is_dir():
        return [path for path in sorted(test.iterdir()) if path.suffix in (".ae", ".c", ".h", ".hae", ".sh")]
    return [test]


def directive(test, word):
    """All values of `// word: value` in a test's sources."""
    pattern = re.compile(rf"^\s*(?://|#|/\*) {word}: (.*?)(?: \*/)?$", re.M)
    return [value for path in sources(test) for value in pattern.findall(path.read_text())]


def label(test, cc, flags):
    short = flags.replace(SANITIZE, "asan+ubsan")
    return f"{test.stem} [{cc} {short}]"


def build(test, cc, flags, folder):
    """Builds `prog` in folder; returns the Outcome."""
    extra = " ".join(directive(test, "options"))
    env = suite.environment(AECC=suite.AECC, CC=cc, FLAGS=f"--cc={cc} {flags} {WARN}", CFLAGS=f"{flags} {WARN}",
                            TMPDIR=folder / "tmp", BUILD=suite.BUILD)
    (folder / "tmp").mkdir()
    if not test.is_dir():
        command = [suite.AECC, f"--cc={cc}", *flags.split(), *WARN.split(), "-o", folder / "prog", test.name, *extra.split()]
        return suite.run(command, cwd=test.parent, env=env, seconds=BUILD_SECONDS)
    for path in test.iterdir():
        if path.is_file():
            shutil.copy2(path, folder)
    if (test / "build.sh").exists():
        return suite.run(["sh", "-e", "build.sh"], cwd=folder, env=env, seconds=BUILD_SECONDS)
    names = [path.name for path in sources(test) if path.suffix in (".ae", ".c")]
    command = [suite.AECC, f"--cc={cc}", *flags.split(), *WARN.split(), "-o", "prog", *names, *extra.split()]
    return suite.run(command, cwd=folder, env=env, seconds=BUILD_SECONDS)


def expectation(test):
    """Expected output and status of a run test."""
    if test.is_dir():
        out, status = test / "expected.out", test / "expected.status"
    else:
        out, status = test.with_suffix(".out"), test.with_suffix(".status")
    return out.read_text(), int(status.read_text()) if status.exists() else 0


def difference(expected, actual):
    """The first line that differs, in context."""
    want, have = expected.split("\n"), actual.split("\n")
    at = next((i for i in range(max(len(want), len(have))) if want[i:i + 1] != have[i:i + 1]), 0)
    rows = [f"line {at + 1}"]
    rows += [word + (text[at] if at < len(text) else "(end)") for word, text in (("expected: ", want), ("printed:  ", have))]
    return "\n".join(rows + ["all that was printed:", suite.clip(actual)])


def run_test(test, cc, flags, runs, no_uring):
    """Builds a program once and runs it in every way. The first run that is wrong is the result."""
    name = label(test, cc, flags)
    for value in directive(test, "not-with"):
        words, _, reason = value.partition(" (")
        if any(word in (f"{cc} {flags}" + (" sanitizers" if "sanitize" in flags else "")) for word in words.split()):
            return [("skip", name, reason.rstrip(")"), "")]
    folder = suite.scratch.folder(test.stem)
    done = build(test, cc, flags, folder)
    again = f"AECC: {suite.AECC} --cc={cc} {flags} {WARN} in {test.parent if not test.is_dir() else test}"
    if done.status != 0:
        return [("FAIL", name, "not compiled: " + done.describe(), suite.clip(done.err + done.out) + "\n" + again)]
    if done.err.strip():
        return [("FAIL", name, "compiled, but with warnings", suite.clip(done.err) + "\n" + again)]
    left = sorted(path.name for path in (folder / "tmp").iterdir())
    if left:
        return [("FAIL", name, "aecc left files behind in TMPDIR: " + " ".join(left), "")]
    expected, status = expectation(test)
    order = (directive(test, "queue") or [""])[0].split(" ")[0]
    for engine, coin, queue in dict.fromkeys((engine, coin, order or queue) for engine, coin, queue in runs):
        if engine == "uring" and no_uring:
            continue
        way = {"AESOP_ENGINE": engine, "AESOP_SUSPEND": coin, "AESOP_QUEUE": queue, "AESOP_LEAKS": "1"}
        env = suite.environment(**way, ASAN_OPTIONS="detect_leaks=1:abort_on_error=0", UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1",
                                LD_LIBRARY_PATH=folder)
        ended = suite.run([folder / "prog"], cwd=folder, env=env, seconds=RUN_SECONDS)
        how = "with " + " ".join(f"{key}={value}" for key, value in way.items())
        errors = ("\nstderr:\n" + suite.clip(ended.err) if ended.err.strip() else "") + "\n" + again
        if ended.status is None:
            return [("FAIL", name, f"{ended.describe()} {how}", "it printed:\n" + suite.clip(ended.out) + errors)]
        if "runtime error:" in ended.err or "Sanitizer" in ended.err:
            return [("FAIL", name, f"sanitizer report {how}", suite.clip(ended.err) + "\n" + again)]
        if ended.status != status:
            return [("FAIL", name, f"{ended.describe()}, expected {status}, {how}", "it printed:\n" + suite.clip(ended.out) + errors)]
        if ended.out != expected:
            return [("FAIL", name, f"wrong output {how}", difference(expected, ended.out) + errors)]
    shutil.rmtree(folder)
    return [("ok", name, "", "")]


# --- errors ----------------------------------------------------------------------------------------------------------------

HEAD = re.compile(r"^(?P<file>[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+): (?P<kind>error|warning|note|fatal error): (?P<message>.*)$")
GENERATED = ("__ae_", "preserve_most", "clang::suppress", "aesop/abi.h")


def expected_errors(path):
    """Lines `[HEADER:]LINE:COL[,COL]: error: words & words`; the columns are alternatives, gcc's and clang's habits where they differ."""
    found = []
    for row in path.read_text().splitlines():
        if not row.strip() or row.startswith("#"):
            continue
        match = re.match(r"(?:([^\s:]+):)?(\d+):([\d,]+): error: (.*)$", row)
        assert match, f"{path.name}: cannot read: {row}"
        columns, words = [int(c) for c in match[3].split(",")], [word.strip().lower() for word in match[4].split(" & ")]
        found.append((match[1] or path.with_suffix(".ae").name, int(match[2]), columns, words))
    return found


def check_caret(rows, at, source, line, column):
    """The source line in its gutter, `  LINE | text`, and a caret under the column. Returns what is wrong, or ''."""
    if at + 2 >= len(rows):
        return "no source line and caret under the message"
    shown, below = re.match(r"( *\d+ \| ?)(.*)$", rows[at + 1]), re.match(r"( +\| ?)(.*)$", rows[at + 2])
    if not shown or not below:
        return f"no source line and caret under the message, but: {rows[at + 1]!r} {rows[at + 2]!r}"
    if int(re.search(r"\d+", shown[1])[0]) != line:
        return f"the line shown is numbered {shown[1].strip(' |')}, not {line}"
    if shown[2].rstrip() != source[line - 1].rstrip():
        return f"the line shown is not the source's: {shown[2]!r}"
    if shown[1].index("|") != below[1].index("|"):
        return "the gutters of source line and caret line do not stand under each other"
    caret = below[2].find("^")
    if caret != column - 1:
        return f"the caret stands under column {caret + 1}, not {column}"
    return ""


def match_errors(test, text):
    """Compares aecc's messages with NAME.err; returns a list of complaints."""
    rows, expected = text.splitlines(), expected_errors(test.with_suffix(".err"))
    source = {name: (test.parent / name).read_text().splitlines() for name in {test.name} | {entry[0] for entry in expected}}
    wrong, seen = [], []
    for at, row in enumerate(rows):
        match = HEAD.match(row)
        if not match or match["kind"] not in ("error", "fatal error"):
            continue
        file, line, column = Path(match["file"]).name, int(match["line"]), int(match["column"])
        if file not in source:
            wrong.append(f"an error in another file: {row}")
            continue
        trouble = check_caret(rows, at, source[file], line, column)
        if trouble:
            wrong.append(f"{row}: {trouble}")
        seen.append((file, line, column, match["message"], row))
    for file, line, columns, words in expected:
        near = [entry for entry in seen if entry[:2] == (file, line)]
        fits = [entry for entry in near if entry[2] in columns and all(word in entry[3].lower() for word in words)]
        if fits:
            seen.remove(fits[0])
            continue
        wrong.append(f"missing: {file}:{line}:{columns[0]}: error: {' & '.join(words)}" + (f"   (there is: {near[0][4]})" if near else ""))
    wrong += [f"not expected: {entry[4]}" for entry in seen if not any(entry[4] in text for text in wrong)]
    wrong += [f"names generated code: {row}" for row in rows for word in GENERATED if word in row][:3]
    return wrong


def error_test(test, cc):
    name = f"{test.stem} [{cc}]"
    folder = suite.scratch.folder(test.stem)
    (folder / "tmp").mkdir()
    command = [suite.AECC, f"--cc={cc}", *WARN.split(), "-c", "-o", folder / "prog.o", test.name]
    done = suite.run(command, cwd=test.parent, env=suite.environment(TMPDIR=folder / "tmp"), seconds=BUILD_SECONDS)
    wrong = match_errors(test, done.err) if done.status is not None else []
    if done.status != 1:
        wrong.insert(0, f"{done.describe()}, expected 1")
    left = sorted(path.name for path in list(folder.iterdir()) + list((folder / "tmp").iterdir()) if path.name != "tmp")
    if left:
        wrong.append("left behind after the error: " + " ".join(left))
    if done.out.strip():
        wrong.append("something on standard output")
    if not wrong:
        shutil.rmtree(folder)
        return [("ok", name, "", "")]
    again = f"(cd {test.parent} && {' '.join(map(str, command[:-3]))} -o /dev/null {test.name})"
    details = "\n".join(wrong) + "\naecc printed:\n" + suite.clip(done.err) + "\n" + again
    return [("FAIL", name, wrong[0], details)]


# --- all of them -------------------------------------------------------------------------------------------------------------

def rules_covered(folder, tests):
    """Every rule in the table of tests/README.md is named by a test, and every rule a test names is in the table."""
    table = dict(re.findall(r"^\| (\d\.\d+) \| (.*) \|$", (HERE / "README.md").read_text(), re.M))
    used = {rule for test in tests for value in directive(test, "rule") for rule in re.findall(r"\b\d\.\d+\b", value)}
    used |= {rule for test in (HERE / "run").iterdir() if test.suffix == ".ae" or test.is_dir() for value in directive(test, "rule")
             for rule in re.findall(r"\b\d\.\d+\b", value)}
    missing = sorted(rule for rule, text in table.items() if rule not in used and "no test:" not in text)
    unknown = sorted(used - set(table))
    silent = sorted(test.name for test in tests if not directive(test, "rule"))
    lists = (("no test for", missing), ("no such rule:", unknown), ("no rule named in", silent))
    why = "; ".join(text + " " + " ".join(names) for text, names in lists if names)
    return [("FAIL", "rules", why, "") if why else ("ok", "rules", "", "")]


def collect(folder):
    """All tests of a folder: (path, kind)."""
    found = []
    for path in sorted(folder.iterdir()):
        if path.is_dir() and (path / "expected.out").exists():
            found.append((path, "run"))
        elif path.suffix == ".ae":
            kinds = [kind for kind, suffix in (("run", ".out"), ("error", ".err")) if path.with_suffix(suffix).exists()]
            found.append((path, kinds[0] if len(kinds) == 1 else "broken"))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default="golden")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", action="store_true", help="keep the folders of failed tests, build/tests-tmp")
    parser.add_argument("--only", default="", help="only builds whose `compiler options` contain this")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    folder = HERE / options.folder
    everything = collect(folder)
    tests = [(path, kind) for path, kind in everything if not options.names or any(word in path.stem for word in options.names)]
    if options.list:
        for path, _ in tests:
            print(f"  {path.stem}: " + "; ".join(directive(path, "rule")))
        return 0
    tasks = []
    if options.folder == "golden" and (not options.names or "rules" in options.names):
        tasks.append(lambda: rules_covered(folder, [path for path, _ in everything]))
    if not suite.AECC.exists() and tests:
        suite.report("FAIL", options.folder, f"{suite.AECC} does not exist; build it first (tools/setup)")
        return 1
    no_uring = uring_refused()
    if no_uring and tests:
        suite.report("skip", "engine uring", f"the kernel refuses it here ({no_uring}); everything ran on epoll alone")
    mode = "quick" if options.quick else "long" if options.long else ""
    table = [row for row in builds(mode) if options.only in f"{row[0]} {row[1]}"]
    compilers = sorted({cc for cc, _, _ in table if cc != "tcc"})
    for path, kind in tests:
        if kind == "run":
            tasks += [lambda path=path, row=row: run_test(path, *row, no_uring) for row in table]
        elif kind == "error":
            tasks += [lambda path=path, cc=cc: error_test(path, cc) for cc in compilers]
        else:
            tasks.append(lambda path=path: [("FAIL", path.stem, "needs exactly one of .out and .err beside it", "")])
    suite.scratch.keep = options.keep
    return 0 if suite.run_all(tasks, options.jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
