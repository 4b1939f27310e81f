"""What goes wrong: errors and where they are shown, failing outputs, signals.
"""
import fcntl
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import harness
from harness import CLANG, Skipped, aecc, bad, check, equal, files, sh, sources, test, write

# --- errors


@test
def missing_and_unreadable_inputs_fail_as_with_cc():
    write("plain.c", "")
    os.makedirs("folder.ae")
    os.makedirs("folder.c")
    write("closed.ae", "")
    write("closed.c", "")
    os.chmod("closed.ae", 0)
    os.chmod("closed.c", 0)
    for words in (["NAME"], ["-c", "NAME"], ["-c", "NAME", "-o", "x.o"], ["-E", "NAME"], ["-c", "NAME", "plain.c"]):
        for name in ("missing", "folder") + (() if os.geteuid() == 0 else ("closed",)):
            got = sh(harness.fake, *[name + ".ae" if word == "NAME" else word for word in words])
            wanted = sh("cc", *[name + ".c" if word == "NAME" else word for word in words])
            equal(got.returncode, wanted.returncode, f"status of {words} {name}")
            line = wanted.stderr.splitlines()[0].replace(".c:", ".ae:")
            check(line.split(": ", 1)[1] in got.stderr, f"{words} {name}: wanted {line!r} in {got.stderr!r}")


@test
def missing_header():
    write("h.ae", '#include <aesop.h>\n#include "nowhere.h"\n')
    done = aecc("-c", "h.ae", "-MD", status=1)
    check("h.ae:2:10: fatal error: nowhere.h" in done.stderr, done.stderr)
    equal(files(), ["h.ae"], "files")


@test
def errors_leave_an_older_output_alone():
    bad()
    for name in ("bad.o", "prog", "bad.c", "bad.d"):
        write(name, "old")
    for words in (["-c", "-MD"], ["-o", "prog"], ["--emit-c", "-o", "bad.c"]):
        aecc("bad.ae", *words, status=1)
    for name in ("bad.o", "prog", "bad.c", "bad.d"):
        equal(Path(name).read_text(), "old", name)


@test
def full_disk():
    sources()
    if not os.path.exists("/dev/full"):
        raise Skipped("no /dev/full")
    check("No space left" in aecc("--emit-c", "hello.ae", "-o", "/dev/full", status=1).stderr, "--emit-c")
    aecc("-c", "hello.ae", "-o", "/dev/full", status=1)
    check("No space left" in aecc("-c", "hello.ae", "-MD", "-MF", "/dev/full", status=1).stderr, "-MF")
    with open("/dev/full", "w") as full:
        done = subprocess.run([harness.fake, "--emit-c", "hello.ae"], stdout=full, stderr=subprocess.PIPE, text=True)
    equal(done.returncode, 1, "status")
    check("No space left" in done.stderr, done.stderr)
    check(os.path.exists("/dev/full"), "/dev/full was replaced")


@test
def outputs_that_cannot_be_written():
    sources()
    aecc("-c", "hello.ae", "-o", "no/such/folder/x.o", status=1)
    aecc("--emit-c", "hello.ae", "-o", "no/such/folder/x.c", status=1)
    aecc("hello.ae", "other.c", "-o", ".", status=1)
    check("temporary folder" in aecc("hello.ae", "other.c", env={"TMPDIR": "/no/such"}, status=1).stderr, "TMPDIR")


@test
def outputs_keep_link_and_mode():
    sources()
    write("real/x.c", "old")
    os.chmod("real/x.c", 0o640)
    os.symlink("real/x.c", "x.c")
    aecc("--emit-c", "hello.ae", "-o", "x.c")
    check(os.path.islink("x.c") and "return 2 * x" in Path("real/x.c").read_text(), "a link was replaced")
    equal(os.stat("real/x.c").st_mode & 0o777, 0o640, "mode")


@test
def translator_that_fails():
    for word, message in (("SEGV", "signal 11"), ("ABORT", "signal 6"), ("EXIT", "ended with status"), ("THROW", "ended with status"),
                          ("SILENT", "ended with status")):
        bad("FAKE_" + word)
        for words in (["-c"], ["-c", "-MD"], ["-o", "prog"], ["--emit-c"]):
            done = aecc("bad.ae", *words, status=4)
            check("aecc: internal error: " in done.stderr and message in done.stderr and "'bad.ae'" in done.stderr, done.stderr)
            check("attach" in done.stderr and "--version" in done.stderr, "what to attach is not said")
        equal(files(), ["bad.ae"], "files")


# --- diagnostics


def shown(text, *words, name="d.ae", status=1):
    write(name, text)
    return aecc("-fsyntax-only", name, *words, status=status).stderr


@test
def diagnostic_shows_the_source_line():
    equal(shown("#include <aesop.h>\naesop int f(void)\n{\n    return   /* why */ FAKE_ERROR;\n}\n"),
          "d.ae:4:24: error: an error of the fake; mend it\n"
          "    4 |     return   /* why */ FAKE_ERROR;\n"
          "      |                        ^~~~~~~~~~\n", "message")


@test
def diagnostic_keeps_tabs():
    equal(shown("__aesop int w(void);\n\tint\tä = FAKE_ERROR;\n"),
          "d.ae:2:11: error: an error of the fake; mend it\n    2 | \tint\tä = FAKE_ERROR;\n      | \t   \t    ^~~~~~~~~~\n", "message")


@test
def diagnostic_columns():
    head = "#include <aesop.h>\n#define SAME(x) x\n#define TWO(x) FAKE_OK(x, x)\n" \
           "#define INSIDE FAKE_ERROR\n#define IN(x) (FAKE_ERROR + (x))\n"
    for line, column, macro in (
            ('x = "FAKE_ERROR" /* FAKE_ERROR */ + FAKE_ERROR;', 37, None),   # strings and comments do not count
            ("FAKE_ERR\\\nOR; FAKE_ERROR ;", None, None),                     # a spliced name is found somewhere on the line
            ("SAME(FAKE_ERROR);", 6, None),                                 # an argument has its own place
            ("SAME( SAME( FAKE_ERROR ) );", 13, None),
            ("y = INSIDE;", 5, "INSIDE"),
            ("aesop int g(int a); y = IN(3);", 25, "IN"),
            ("aesop int g(aesop int (*p)(void), int z) { return INSIDE + z; }", 51, "INSIDE"),
            ("SAME(1) + SAME(2) + FAKE_ERROR", 21, None)):
        err = shown(head + line + "\n")
        if column:
            check(f"d.ae:6:{column}: error:" in err, f"{line}: {err}")
        else:
            check("d.ae:6:" in err, f"{line}: {err}")
        equal("in expansion of macro" in err, macro is not None, f"note for {line}: {err}")
        if macro:
            check(f"note: in expansion of macro '{macro}'" in err, err)


@test
def diagnostic_in_a_macro_call_over_lines():
    err = shown("#include <aesop.h>\n#define BAD(x) do { x; } while (0)\naesop int f(void) {\n"
                "    BAD(\n        FAKE_ERROR\n    );\n    return 0;\n}\n")
    check("d.ae:5:9: error:" in err, err)


@test
def diagnostic_in_a_header():
    write("inner.h", "int a;\nint b = FAKE_ERROR;\n")
    write("outer.h", '\n#include "inner.h"\n')
    err = shown('#include <aesop.h>\n\n#include "outer.h"\naesop int f(void) { return FAKE_ERROR; }\n')
    equal(err, "In file included from outer.h:2,\n                 from d.ae:3:\n"
               "inner.h:2:9: error: an error of the fake; mend it\n    2 | int b = FAKE_ERROR;\n      |         ^~~~~~~~~~\n"
               "d.ae:4:28: error: an error of the fake; mend it\n    4 | aesop int f(void) { return FAKE_ERROR; }\n"
               "      |                            ^~~~~~~~~~\n", "message")


@test
def diagnostic_follows_line_directives_and_missing_files():
    err = shown('__aesop int w(void);\n#line 70 "grammar.y"\nint x = FAKE_ERROR;\n')
    check(err.startswith("grammar.y:70:") and "error:" in err, err)
    err = aecc("-fsyntax-only", "-x", "aesop", "-", stdin="__aesop int w(void);\nint x = FAKE_ERROR;\n", status=1).stderr
    check(err.startswith("<stdin>:2:") and "error:" in err, err)


@test
def diagnostics_with_every_compiler():
    text = "#include <aesop.h>\n#include <stdio.h>\n\naesop int f(void)\n{\n    return FAKE_ERROR;\n}\n"
    for compiler in ("gcc", CLANG, "tcc"):
        if compiler and shutil.which(compiler):
            err = shown(text, "--cc=" + compiler)
            check("d.ae:6:12: error:" in err, f"{compiler}: {err}")


@test
def warning_options():
    text = "#include <aesop.h>\naesop int f(void);\nint FAKE_WARNING;\n"
    check("d.ae:3:5: warning: a warning of the fake [-Waesop-fake]\n" in shown(text, status=0), "warning")
    for off in ("-Wno-aesop-fake", "-Wno-aesop", "-w"):
        equal(shown(text, off, status=0), "", off)
    check("warning:" in shown(text, "-Wno-aesop-other", status=0), "another option")
    for error in ("-Werror", "-Werror=aesop-fake", "-Werror=aesop"):
        check("error: a warning of the fake [-Werror=aesop-fake]" in shown(text, error), error)
    check("warning:" in shown(text, "-Werror", "-Wno-error=aesop-fake", status=0), "-Wno-error=")
    equal(aecc("-c", "d.ae", "-Wno-aesop-fake", "--cc=" + CLANG).stderr if CLANG else "", "", "clang must not see aecc's options")
    noted = "__aesop int FAKE_WARNING, FAKE_NOTE;\n"
    check("note: a note" in shown(noted, status=0), "note")


@test
def error_limit():
    text = "__aesop int w(void);\n" + "int x = FAKE_ERROR;\n" * 9
    equal(shown(text).count("error:"), 9, "errors")
    equal(shown(text, "-fmax-errors=3").count("error:"), 3, "errors")
    equal(shown(text, "-Wfatal-errors").count("error:"), 1, "errors")


@test
def colour():
    text = "__aesop int FAKE_ERROR;\n"
    check("\33[" not in shown(text), "colour without a terminal")
    check("\33[01;31m" in shown(text, "-fdiagnostics-color"), "no colour on demand")
    master, slave = os.openpty()
    def on_terminal(*words):
        subprocess.run([harness.fake, "-fsyntax-only", "d.ae", *words], stderr=slave, env=dict(os.environ, TERM="xterm"))
        fcntl.fcntl(master, fcntl.F_SETFL, os.O_NONBLOCK)
        return os.read(master, 10000).decode()
    check("\33[01;31m" in on_terminal(), "no colour on a terminal")
    check("\33[" not in on_terminal("-fdiagnostics-color=never"), "colour though forbidden")
    os.close(master)
    os.close(slave)


# --- signals


def start(*words, environment=None, **more):
    """Starts aecc in a process group of its own, in which nothing may be left when it has ended."""
    env = dict(os.environ, TMPDIR=str(Path("tmp").resolve()), **(environment or {}))
    return subprocess.Popen([harness.fake, *words], env=env, stderr=subprocess.DEVNULL, start_new_session=True, **more)


def nothing_runs(process, what):
    left = subprocess.run(["pgrep", "-r", "DRST", "-g", str(process.pid)], capture_output=True, text=True)
    check(left.returncode != 0, f"{what}: a process is left: {left.stdout}")


def interrupted(words, when, number, source="hello.ae"):
    """Starts aecc with a slow step, sends the signal, and looks what is left."""
    Path("tmp").mkdir(exist_ok=True)
    before = files()
    slow = Path("slow").resolve()
    environment = {"SLOW": when, "SLOW_FLAG": str(slow / "flag"), "AESOP_CC": str(slow / "gcc")}
    process = start(*words, source, environment=environment, stdout=subprocess.DEVNULL)
    end = time.monotonic() + 10
    while not Path("slow/flag").exists() and time.monotonic() < end and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(number)
    status = process.wait(timeout=20)
    time.sleep(0.05)
    check(Path("slow/flag").exists(), f"{words}: the step {when} was not reached")
    Path("slow/flag").unlink()
    nothing_runs(process, f"{words} {when} {number}")
    equal(status, -number, f"status of {words}, {when}, {number!r}")
    equal(files(), before, f"files after {words}, {when}, {number!r}")


SLOW = """#!/bin/bash
# A compiler that stops at the step named by SLOW until it is ended; its temporary files are its own matter.
trap 'kill $sleeper 2>/dev/null; rm -f "$made"; exit 1' TERM INT HUP
step=link
for word; do case $word in -E) step=preprocess ;; -c|-S) step=compile; [ "$SLOW" = compile ] || break ;; esac; done
for word; do [ "$previous" = -o ] && made=$word; previous=$word; done
if [ "$step" = "$SLOW" ]; then
    [ "$step" = preprocess ] || : > "$made"
    sleep 30 & sleeper=$!
    : > "$SLOW_FLAG"
    wait $sleeper
fi
exec gcc "$@"
"""


@test
def signals_leave_nothing_behind():
    sources()
    write("slow/gcc", SLOW)
    os.chmod("slow/gcc", 0o755)
    write("sleep.ae", "__aesop int FAKE_SLEEP;\nint main(void) { return 0; }\n")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for when in ("preprocess", "compile", "link"):
            interrupted(["-MD", "-o", "prog", "other.c"], when, number)
        for when in ("preprocess", "compile"):
            interrupted(["-MD", "-c"], when, number)


@test
def signals_during_the_translation():
    write("sleep.ae", "__aesop int FAKE_SLEEP;\nint main(void) { return 0; }\n")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for words in (["-c"], ["-o", "prog"], ["--emit-c", "-o", "x.c"]):
            process = start(*words, "sleep.ae")
            time.sleep(0.25)
            process.send_signal(number)
            equal(process.wait(timeout=20), -number, "status")
            nothing_runs(process, f"{words} {number}")
            equal(files(), ["sleep.ae"], "files")


@test
def signals_at_any_moment():
    sources()
    for step in range(24):
        process = start("-MD", "hello.ae", "other.c", "-o", "prog")
        time.sleep(step * 0.003)
        os.killpg(process.pid, signal.SIGINT)
        status = process.wait(timeout=20)
        check(status in (0, -signal.SIGINT), f"status {status} after {step * 3} ms")
        left = [name for name in files() if name not in ("hello.ae", "my.h", "other.c", "prog", "prog.d")]
        equal(left, [], f"left after {step * 3} ms")


@test
def closed_pipe():
    write("big.ae", "#include <aesop.h>\naesop int f(void);\n" + "int x[] = {" + "1, " * 200000 + "};\n")
    reader, writer = os.pipe()
    process = start("--emit-c", "big.ae", stdout=writer, preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
    os.close(writer)
    os.read(reader, 100)
    os.close(reader)
    equal(process.wait(timeout=20), -signal.SIGPIPE, "status")


@test
def ignored_signals_stay_ignored():
    write("sleep.ae", "#include <aesop.h>\naesop int f(void);\nint main(void) { return 0; }\n")
    process = start("sleep.ae", "-o", "prog", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.send_signal(signal.SIGHUP)
    equal(process.wait(timeout=20), 0, "status")
