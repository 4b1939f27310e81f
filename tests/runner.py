"""./test: runs the suites one after the other, shows where it is, and sums up.

A suite is a program (see suite.py) that prints `ok NAME`, `FAIL NAME: why`, `skip NAME: reason`. What a suite does with a machine is its
own affair; this file knows only how to start each and how to read its lines. The last line printed is
`N passed, N failed, N skipped`, and the exit status is 0 only if nothing failed.
"""
import argparse
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = Path(os.environ.get("AESOP_BUILD", ROOT / "build")).resolve()
SUITES = ("golden", "run", "docs", "debug", "cli", "race", "fault", "fuzz")
ABOUT = {
    "golden": "each rule of the language: output of programs, text and place of diagnostics",
    "run": "whole programs: the paper's listing and what they measure about themselves",
    "docs": "every example in docs/ compiles, and runs if it has a main",
    "debug": "gdb, warnings, sanitizers and coverage name the lines of the .ae file",
    "cli": "aecc's command line",
    "race": "the runtime's own tests",
    "fault": "programs under failing calls, dying clients, signals",
    "fuzz": "random programs print the same in Aesop as in plain C",
}
LIMIT = {"golden": 3600, "run": 1200, "docs": 900, "debug": 900, "cli": 900, "race": 1200, "fault": 1200, "fuzz": 3600}  # seconds for one suite program

# A second build of runtime, library, servers and their tests: the other compiler, and the sanitizers inside the runtime itself.
# The client stays out of it: Open MPI leaks, and the sanitizer says so.
SANITIZED = "clang-19 asan+ubsan"
SANITIZERS = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"

results = {"ok": 0, "FAIL": 0, "skip": 0}
build_name = ""  # of the build under test, if it is not the usual one
failures = []
terminal = sys.stdout.isatty()
started = time.monotonic()
current = None


def progress(suite, name):
    if not terminal:
        return
    seconds = int(time.monotonic() - started)
    text = f"{sum(results.values())} done, {results['FAIL']} failed, {seconds // 60}:{seconds % 60:02} {suite} {name}"
    print("\r\033[K" + text[:100], end="", flush=True)


def count(suite, kind, name, why):
    results[kind] += 1
    if build_name:
        name = f"{name} [{build_name}]"
    if kind == "FAIL":
        failures.append((suite, name))
    if kind != "ok":
        print(("\r\033[K" if terminal else "") + f"{kind} {suite}/{name}" + (f": {why}" if why else ""), flush=True)
        if kind == "FAIL":
            print(f"    again: ./test --no-setup {suite}/{name.split(' ')[0]}", flush=True)
    progress(suite, name)


def read(suite, command, env=None, whole=True):
    """Runs a suite program and counts its lines. A program that ends badly without a FAIL line has failed itself; one that ends
    well without any line is one test, unless only some of its tests were asked for (whole is false).
    On a timeout, what it printed last is shown."""
    global current
    failed, seen, recent = results["FAIL"], sum(results.values()), []
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, errors="backslashreplace", start_new_session=True)
    current = process
    expired = []

    def on_alarm(_number, _frame):
        expired.append(True)
        stop(process)

    signal.signal(signal.SIGALRM, on_alarm)
    signal.alarm(LIMIT[suite])
    detail = False
    for line in process.stdout:
        line = line.rstrip("\n")
        recent = (recent + [line])[-20:]
        match = re.match(r"(ok|FAIL|skip) ([^:]+?)(?:: (.*))?$", line)
        if match:
            detail = match[1] == "FAIL"
            count(suite, match[1], match[2], match[3])
        elif detail:
            print(line, flush=True)
    process.wait()
    signal.alarm(0)
    stop(process)
    current = None
    name = Path(command[-1] if len(command) == 1 else command[1]).name
    if expired:
        count(suite, "FAIL", name, f"still running after {LIMIT[suite]} s; its last lines:")
        print("\n".join("    " + line for line in recent))
    elif process.returncode != 0 and results["FAIL"] == failed:
        count(suite, "FAIL", name, f"ended with status {process.returncode} and no FAIL line; its last lines:")
        print("\n".join("    " + line for line in recent))
    elif process.returncode == 0 and sum(results.values()) == seen and whole:
        count(suite, "ok", name, "")


def stop(process):
    """Ends a suite's process group; the suite kills the groups of its programs."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except (ProcessLookupError, PermissionError):
            return
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            pass


def ctest(folder, names):
    """The runtime's tests, as CMake registered them."""
    listing = subprocess.run(["ctest", "--test-dir", folder, "-N"], capture_output=True, text=True).stdout
    for name in re.findall(r"Test +#\d+: (\S+)", listing):
        if names and not any(word in name for word in names):
            continue
        progress("race", name)
        done = subprocess.run(["ctest", "--test-dir", folder, "-R", f"^{re.escape(name)}$", "--timeout", "300", "--output-on-failure"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="backslashreplace")
        if "***Skipped" in done.stdout:
            count("race", "skip", name, "the test says it cannot run here")
        elif done.returncode == 0:
            count("race", "ok", name, "")
        else:
            count("race", "FAIL", name, "")
            print("\n".join("    " + line for line in done.stdout.splitlines()[-40:]))


def suite_programs(suite, options, names):
    """The command lines of a suite."""
    flags = (["--quick"] if options.quick else []) + (["--long"] if options.long else []) + ["--jobs", str(options.jobs)]
    if suite in ("golden", "run"):
        return [[sys.executable, str(HERE / "golden.py"), "--folder", suite] + flags + names]
    if suite in ("docs", "debug", "fuzz"):
        return [[sys.executable, str(HERE / f"{suite}.py")] + flags + names]
    folder = HERE / suite
    found = [[str(folder / "run")]] if os.access(folder / "run", os.X_OK) else \
        [[sys.executable, str(path)] for path in sorted(folder.glob("*.py")) if not path.name.startswith("_")]
    return [command for command in found if not names or any(word in Path(command[-1]).name for word in names)]


def sanitized_build():
    """Makes the second build and returns its folder, or None after counting a failure."""
    folder = BUILD / "clang-sanitizers"
    progress("build", SANITIZED)
    for command in (["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                     f"-DCMAKE_C_FLAGS={SANITIZERS}", f"-DAESOP_AECC={BUILD / 'bin' / 'aecc'}"], ["ninja", "-C", folder, "-j2"]):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="backslashreplace")
        if done.returncode != 0:
            count("build", "FAIL", SANITIZED, "does not build; its last lines:")
            print("\n".join("    " + line for line in (done.stdout + done.stderr).splitlines()[-30:]))
            return None
    translator = folder / "bin" / "aecc"  # beside this build's library, where it looks for one
    translator.unlink(missing_ok=True)
    os.link(BUILD / "bin" / "aecc", translator)
    return folder


def run_sanitized(suite, options, names):
    global build_name
    folder = sanitized_build()
    if not folder:
        return
    build_name = SANITIZED
    if suite == "race":
        ctest(str(folder / "tests" / "race"), names)
    else:
        env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", AESOP_BUILD=str(folder), AESOP_TEST_FLAGS=f"--cc=clang-19 {SANITIZERS}")
        for command in suite_programs(suite, options, names):
            if Path(command[-1]).name != "client.py":
                read(suite, command, env)
    build_name = ""


def run_suite(suite, options, names):
    mode = "quick" if options.quick else "long" if options.long else ""
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", AESOP_BUILD=str(BUILD), AESOP_TEST_MODE=mode)
    if suite == "race":
        folder = BUILD / "tests" / "race"
        if (folder / "CTestTestfile.cmake").exists():
            ctest(str(folder), names)
            if not options.quick:
                run_sanitized(suite, options, names)
            return
        programs = [[str(path)] for path in sorted(folder.glob("*")) if path.is_file() and os.access(path, os.X_OK)]
        programs = [command for command in programs if not names or any(word in Path(command[0]).name for word in names)]
    else:
        programs = suite_programs(suite, options, names)
    for command in programs:
        read(suite, command, env, whole=not (names and suite in ("golden", "run", "docs", "debug", "fuzz")))
    if suite == "fault" and not options.quick:
        run_sanitized(suite, options, names)


def interrupted(number, _frame):
    if current:
        stop(current)
    sys.exit(128 + number)


def main():
    parser = argparse.ArgumentParser(prog="./test", description="Runs the tests. First brings packages and build up to date (tools/setup).",
                                     epilog="suites:\n" + "\n".join(f"  {name:7} {ABOUT[name]}" for name in SUITES),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one compiler and one set of options; about a minute")
    parser.add_argument("--long", action="store_true", help="every combination of compiler, options, engine and suspensions")
    parser.add_argument("--list", action="store_true", help="print the names of suites and tests, run nothing")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="tests at a time (default 2)")
    parser.add_argument("--no-setup", action="store_true", help="do not run tools/setup first")
    parser.add_argument("names", nargs="*", metavar="SUITE|NAME",
                        help="run only these suites, or the tests whose names contain NAME; SUITE/NAME for both")
    options = parser.parse_args()
    wanted = {}
    for word in options.names:
        suite, slash, name = word.partition("/")
        if suite in SUITES:
            wanted.setdefault(suite, [])
            if slash:
                wanted[suite].append(name)
        else:
            for suite in SUITES:
                wanted.setdefault(suite, []).append(word)
    if not options.names:
        wanted = {suite: [] for suite in SUITES}
    if options.list:
        for suite in wanted:
            print(f"{suite}: {ABOUT[suite]}")
            if suite in ("golden", "run"):
                sys.stdout.flush()
                subprocess.run([sys.executable, str(HERE / "golden.py"), "--folder", suite, "--list"] + wanted[suite])
        return 0
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupted)
    for suite in [name for name in SUITES if name in wanted]:
        before, begin = dict(results), time.monotonic()
        if not terminal:
            print(f"== {suite}", flush=True)
        run_suite(suite, options, wanted[suite])
        done = {kind: results[kind] - before[kind] for kind in results}
        if sum(done.values()):
            print(("\r\033[K" if terminal else "") + f"{suite}: {done['ok']} passed, {done['FAIL']} failed, {done['skip']} skipped "
                  f"({time.monotonic() - begin:.0f} s)", flush=True)
    if not sum(results.values()):
        print("no test has that name; ./test --list shows them all")
        results["FAIL"] = 1
    if len(failures) > 3:
        print("failed: " + ", ".join(sorted({f"{suite}/{name.split(' ')[0]}" for suite, name in failures})))
    print(f"{results['ok']} passed, {results['FAIL']} failed, {results['skip']} skipped")
    return 1 if results["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
