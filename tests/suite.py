"""What every suite program shares: where things are, running a program with a time limit, and the three lines of a result.

A suite is a program that prints one line a test, `ok NAME`, `FAIL NAME: why` or `skip NAME: reason`, and indented lines with
details after a FAIL. tests/runner.py reads them. Nothing else is agreed between the two, so a suite can be run by itself.

Programs under test run in a process group of their own. The group is killed when the program ends, when its time is up, and when the
suite itself is interrupted: no test leaves a process behind.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("AESOP_BUILD", ROOT / "build")).resolve()
AECC = BUILD / "bin" / "aecc"
SCRATCH = BUILD / "tests-tmp"

_groups = set()
_lock = threading.Lock()
_print = threading.Lock()


class Outcome:
    """How a program ended. status: exit status, negative for a signal, None when its time was up."""

    def __init__(self, status, out, err, seconds):
        self.status, self.out, self.err, self.seconds = status, out, err, seconds

    def describe(self):
        if self.status is None:
            return f"still running after {self.seconds} s"
        if self.status < 0:
            return f"killed by {signal.Signals(-self.status).name}"
        return f"exit status {self.status}"


def _kill(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def run(command, cwd=None, env=None, seconds=60, stdin=""):
    """Runs a program to its end or its time limit and returns an Outcome. Output that is not UTF-8 is kept readable."""
    try:
        process = subprocess.Popen([str(word) for word in command], cwd=cwd, env=env, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="backslashreplace",
                                   start_new_session=True)
    except OSError as error:
        return Outcome(127, "", f"cannot start {command[0]}: {error.strerror}\n", seconds)
    with _lock:
        _groups.add(process.pid)
    try:
        try:
            out, err = process.communicate(stdin, timeout=seconds)
            status = process.returncode
        except subprocess.TimeoutExpired:
            _kill(process.pid)
            out, err = process.communicate()
            status = None
    finally:
        _kill(process.pid)
        with _lock:
            _groups.discard(process.pid)
    return Outcome(status, out, err, seconds)


def _interrupted(number, _frame):
    for group in list(_groups):
        _kill(group)
    shutil.rmtree(scratch.root, ignore_errors=True) if scratch.root else None
    os._exit(128 + number)


def environment(**changes):
    """The environment for a tool or a test: the user's, without what would change results. None removes a variable."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("AESOP_", "AECC_", "ASAN_", "UBSAN_", "LSAN_"))}
    env["LC_ALL"] = "C.UTF-8"
    for name, value in changes.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = str(value)
    return env


class _Scratch:
    """Temporary folders of this run, below build/tests-tmp, removed at its end unless a test failed there with --keep."""

    root = None
    keep = False

    def folder(self, name):
        with _lock:
            if self.root is None:
                SCRATCH.mkdir(parents=True, exist_ok=True)
                self.root = tempfile.mkdtemp(prefix="run.", dir=SCRATCH)
        return Path(tempfile.mkdtemp(prefix=name.replace("/", "-") + ".", dir=self.root))

    def remove(self):
        if self.root and not self.keep:
            shutil.rmtree(self.root, ignore_errors=True)


scratch = _Scratch()


def report(kind, name, why="", details=""):
    """Prints one result. why: one line. details: anything, printed indented."""
    with _print:
        line = f"{kind} {name}" + (": " + " ".join(why.split()) if why else "")
        print(line)
        for text in details.rstrip("\n").split("\n") if details else ():
            print("    " + text)
        sys.stdout.flush()


def clip(text, lines=40):
    """The last lines of a long output."""
    rows = text.rstrip("\n").split("\n")
    return "\n".join((["..."] if len(rows) > lines else []) + rows[-lines:])


def run_all(tasks, jobs):
    """Calls every task, `jobs` at a time. A task returns a list of (kind, name, why, details), printed as it ends.
    Returns whether no task failed."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    good = True
    try:
        with ThreadPoolExecutor(max(1, jobs)) as pool:
            for future in as_completed([pool.submit(task) for task in tasks]):
                try:
                    results = future.result()
                except Exception:  # a defect of the test itself, or of this code: one failure, and the others go on
                    results = [("FAIL", "suite", "the test program itself failed", traceback.format_exc())]
                for result in results:
                    report(*result)
                    good = good and result[0] != "FAIL"
    finally:
        scratch.remove()
    return good
