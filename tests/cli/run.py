#!/usr/bin/env python3
"""Tests of the command line of aecc: everything around the translation.

Most tests run the driver with a translator that fails on command (fake_translate.cpp, compiled here in a few seconds), so that they say
something about the driver alone. The last ones need the real aecc with its runtime: $AECC, or build/bin/aecc.

Usage: run.py [part of a test's name]...   Prints ok, FAIL or skip for each test and a last line with the numbers.
"""
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
AECC = Path(os.environ.get("AECC", ROOT / "build/bin/aecc")).resolve()
CLANG = next((name for name in ("clang", "clang-19") if shutil.which(name)), None)
DRIVER = ["driver", "driver_options", "driver_host", "driver_process", "driver_compile", "preprocess", "diagnostics"]

tests = []
fake = None  # path of the driver with the fake translator


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def test(function):
    tests.append(function)
    return function


def check(condition, why):
    if not condition:
        raise Failed(why)


def equal(got, wanted, what):
    if got != wanted:
        raise Failed(f"{what}: wanted {wanted!r}, got {got!r}")


def need(program):
    if not program or not shutil.which(program):
        raise Skipped(f"{program or 'clang'} is not installed")
    return program


def sh(*command, stdin="", env=None, status=None, cwd=None, seconds=60):
    """Runs a command; with a status, that must be its exit status."""
    full = {**os.environ, "TMPDIR": str(Path("tmp").resolve()), "LC_ALL": "C", **(env or {})}
    for name in ("AESOP_CC", "GCC_COLORS"):
        if not (env and name in env):
            full.pop(name, None)
    done = subprocess.run([str(word) for word in command], input=stdin, capture_output=True, text=True, errors="replace", env=full,
                          cwd=cwd, timeout=seconds)
    if status is not None and done.returncode != status:
        raise Failed(f"status {done.returncode}, wanted {status}: {' '.join(map(str, command))}\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
    return done


def aecc(*words, **more):
    more.setdefault("status", 0)
    return sh(fake, *words, **more)


def write(name, text):
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return name


def files():
    return sorted(str(path) for path in Path(".").rglob("*") if path.is_file())


HELLO = """#include <aesop.h>
#include <stdio.h>
#include "my.h"
aesop int twice(int x) { return MINE * x; }
int other(void);
int main(void) {
    printf("hello %d\\n", other());
    return 0;
}
"""


def sources():
    write("hello.ae", HELLO)
    write("my.h", "#define MINE 2\n")
    write("other.c", "int other(void) { return 7; }\n")


def bad(word="FAKE_ERROR"):
    return write("bad.ae", f"#include <aesop.h>\naesop int f(void) {{ return {word}; }}\n")


# --- what cc does, aecc does ----------------------------------------------------------------------------------------------------


@test
def compile_and_link_mixed_inputs():
    sources()
    aecc("-O2", "-g", "-Wall", "-o", "prog", "hello.ae", "other.c", "-lm")
    equal(sh("./prog").stdout, "hello 7\n", "output")
    equal(files(), ["hello.ae", "my.h", "other.c", "prog"], "files")


@test
def default_output_names():
    sources()
    aecc("-c", "hello.ae", "other.c")
    aecc("-S", "hello.ae")
    aecc("hello.o", "other.o")
    equal(files(), ["a.out", "hello.ae", "hello.o", "hello.s", "my.h", "other.c", "other.o"], "files")
    check("hello.ae" in Path("hello.s").read_text(), "the assembly does not name the source")


@test
def output_joined_and_separate():
    sources()
    aecc("-c", "-oone.o", "hello.ae")
    aecc("-c", "hello.ae", "-o", "two.o")
    check(Path("one.o").exists() and Path("two.o").exists(), f"no output: {files()}")


@test
def preprocess_only():
    sources()
    out = aecc("-E", "hello.ae").stdout
    check("__aesop" in out and "return 2 * x" in out, "not preprocessed, or translated")
    equal(aecc("-E", "hello.ae", "-o", "x.aei").stdout, "", "output")
    aecc("-c", "x.aei")
    check(Path("x.o").exists(), "*.aei was not compiled")
    macros = aecc("-E", "-dM", "hello.ae").stdout
    check("#define __AESOP__ 1\n" in macros and "#define MINE 2\n" in macros, "-dM")


@test
def syntax_only():
    sources()
    aecc("-fsyntax-only", "hello.ae")
    equal(files(), ["hello.ae", "my.h", "other.c"], "files")
    bad()
    aecc("-fsyntax-only", "bad.ae", status=1)


@test
def preprocessor_options():
    write("inc/a.h", "#define A 1\n")
    write("sys/b.h", "#define B 2\n")
    write("quote/c.h", "#define C 4\n")
    write("first.h", "#define F 8\n")
    write("o.ae", '#include <aesop.h>\n#include <a.h>\n#include <b.h>\n#include "c.h"\naesop int f(void);\n'
          "#ifdef GONE\n#error not undefined\n#endif\nint main(void) { return A + B + C + F + D + E; }\n")
    aecc("-I", "inc", "-isystem", "sys", "-iquote", "quote", "-include", "first.h", "-DD=16", "-D", "E=32", "-DGONE", "-UGONE", "o.ae", "-o", "o")
    equal(sh("./o").returncode, 63, "status")


@test
def standards_reach_the_compiler():
    write("s.ae", "#include <aesop.h>\naesop int f(void);\nint main(void) { return __STDC_VERSION__ == 201112L ? 5 : 6; }\n")
    aecc("-std=c11", "s.ae", "-o", "s")
    equal(sh("./s").returncode, 5, "status")
    write("typeof.ae", "#include <aesop.h>\naesop int f(void);\nint x; typeof(x) y;\n")
    aecc("-std=gnu11", "-c", "typeof.ae")
    aecc("-std=c11", "-c", "typeof.ae", status=1)


@test
def translator_is_told():
    write("r.ae", "__aesop int FAKE_REQUEST;\n")
    def said(*words):
        return aecc("--cc=gcc", "-fsyntax-only", "r.ae", *words).stderr.strip()
    start = "request name=r.ae target=x86_64-linux-gnu "
    equal(said(), start + "standard=gnu17 optimize=0 native=1 frame=0 disabled=", "request")
    equal(said("-O2", "-std=c11"), start + "standard=c11 optimize=1 native=1 frame=0 disabled=", "request")
    equal(said("-O2", "-O0"), start + "standard=gnu17 optimize=0 native=1 frame=0 disabled=", "request")
    equal(said("-Wno-aesop-one", "-Wno-aesop-two", "-Waesop-frame-size=99"),
          start + "standard=gnu17 optimize=0 native=1 frame=99 disabled=aesop-one,aesop-two,", "request")
    equal(said("-Wno-aesop-one", "-Waesop-one"), start + "standard=gnu17 optimize=0 native=1 frame=0 disabled=", "request")


@test
def language_option():
    sources()
    write("text.txt", HELLO)
    write("more.txt", "int other(void) { return 9; }\n")
    aecc("-x", "aesop", "text.txt", "-x", "c", "more.txt", "-x", "none", "-o", "prog")
    equal(sh("./prog").stdout, "hello 9\n", "output")
    aecc("-xaesop", "text.txt", "-xnone", "other.c", "-o", "prog")
    equal(sh("./prog").stdout, "hello 7\n", "output")
    aecc("-x", "c", "hello.ae", "-x", "none", "other.c", "-o", "prog") # what ccache needs
    equal(sh("./prog").stdout, "hello 7\n", "output")


@test
def c_source_that_mentions_the_language():
    write("m.c", HELLO)
    sources()
    aecc("m.c", "other.c", "-o", "prog")
    equal(sh("./prog").stdout, "hello 7\n", "output")


@test
def standard_input():
    sources()
    aecc("-x", "aesop", "-", "other.c", "-o", "prog", stdin=HELLO)
    equal(sh("./prog").stdout, "hello 7\n", "output")
    aecc("-x", "c", "-", "-o", "three", stdin="int main(void) { return 3; }")
    equal(sh("./three").returncode, 3, "status")
    check("#define __GNUC__" in aecc("-E", "-dM", "-x", "c", "-").stdout, "-dM of nothing")


@test
def libraries_keep_their_place():
    write("use.ae", "#include <aesop.h>\naesop int f(void);\nint part(void);\nint main(void) { return part(); }\n")
    write("part.c", "int part(void) { return 4; }\n")
    sh("gcc", "-c", "part.c", status=0)
    sh("ar", "rcs", "libpart.a", "part.o", status=0)
    aecc("use.ae", "-L.", "-lpart", "-o", "prog")
    equal(sh("./prog").returncode, 4, "status")
    aecc("-Wl,--as-needed", "-L", ".", "-l", "part", "use.ae", "-o", "none", status=1) # as with cc: an archive before its user


@test
def plain_c_goes_straight_to_the_compiler():
    write("cc", '#!/bin/sh\nfor word; do printf "[%s]" "$word"; done\n')
    os.chmod("cc", 0o755)
    write("p.c", "int main(void) { return 0; }\n")
    words = ["-O2", "-D", "X=a b", "-MD", "-weird-option", "p.c", "-o", "p", "-Wl,-z,now", "-x", "none", "-lm"]
    def passed(*given):
        return aecc(*given, env={"AESOP_CC": "./cc"}).stdout
    equal(passed(*words), "".join(f"[{word}]" for word in words), "words")
    equal(passed("--cc=./cc", "-Wno-aesop-x", *words), "".join(f"[{word}]" for word in words), "words without aecc's own")
    write("args", "p.c -o 'a b'\n")
    equal(passed("@args"), "[@args]", "response file")
    for question in ("-dumpmachine", "-dumpversion", "-print-search-dirs", "-print-file-name=libc.a", "-v", "-###", "--help=warnings"):
        got, wanted = aecc(question), sh("cc", question)
        equal((got.stdout, got.stderr), (wanted.stdout, wanted.stderr), question)


@test
def unknown_options_reach_the_compiler():
    sources()
    done = aecc("-c", "hello.ae", "-fno-such-option", status=1)
    check(done.stderr.count("fno-such-option") == 1, "said " + done.stderr)
    aecc("-c", "hello.ae", "-fno-strict-aliasing", "-march=x86-64", "--param", "max-inline-insns-single=50")
    done = aecc("-v", "-c", "hello.ae")
    check("cc1" in done.stderr and "aecc: running: cc -E" in done.stderr, "-v")
    check("cc1" in aecc("-###", "-c", "hello.ae").stderr, "-###")


@test
def warnings_of_the_compiler_name_the_source():
    write("w.ae", "#include <aesop.h>\naesop int f(void);\nint g(void)\n{\n\tint unused; return 0;\n}\n")
    for compiler in ("gcc", CLANG):
        need(compiler)
        done = aecc("--cc=" + compiler, "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-c", "w.ae")
        column = 13 if compiler == "gcc" else 6 # gcc counts a tab as what it looks like
        check(f"w.ae:5:{column}: warning: unused variable" in done.stderr, "elsewhere\n" + done.stderr)
        equal(done.stderr.count("warning:"), 1, f"number of warnings of {compiler}")
        check("int unused; return 0;" in done.stderr, "the source line is not shown")
    aecc("-Wall", "-Werror", "-c", "w.ae", status=1)


@test
def strange_warning_options_are_reported_once():
    sources()
    done = aecc("--cc=" + need(CLANG), "-Wno-such-thing", "-c", "hello.ae")
    equal(done.stderr.count("no-such-thing"), 1, "times")
    done = aecc("--cc=" + CLANG, "-Wall", "-lm", "-L.", "-DX", "-Iinc", "hello.ae", "other.c", "-o", "prog")
    equal(done.stderr, "", "messages")


@test
def fall_through_comments_count():
    write("f.ae", "#include <aesop.h>\naesop int f(void);\nint g(int x) { switch (x) { case 1: x++; /* fall through */\ncase 2: x++; } return x; }\n")
    equal(aecc("-Wextra", "-c", "f.ae").stderr, "", "messages")
    write("f.ae", "#include <aesop.h>\naesop int f(void);\nint g(int x) { switch (x) { case 1: x++;\ncase 2: x++; } return x; }\n")
    check("-Wimplicit-fallthrough" in aecc("-Wextra", "-c", "f.ae").stderr, "no warning")


@test
def predefined_macros_do_no_harm():
    write("l.ae", "#include <aesop.h>\n#undef linux\n#undef unix\naesop int f(void);\nint main(void) { int linux = 3, unix = 4; return linux + unix; }\n")
    for compiler in ("gcc", CLANG, "tcc"):
        if compiler and shutil.which(compiler):
            aecc("--cc=" + compiler, "l.ae", "-o", "l")
            equal(sh("./l").returncode, 7, "status with " + compiler)


@test
def several_outputs_for_one_name():
    sources()
    for mode in ("-c", "-S", "--emit-c"):
        check("multiple files" in aecc(mode, "hello.ae", "other.c", "-o", "x", status=1).stderr, mode)


@test
def the_other_sources_are_still_compiled():
    sources()
    bad()
    done = aecc("-c", "bad.ae", "hello.ae", "other.c", status=1)
    check("bad.ae:2:" in done.stderr and Path("hello.o").exists() and Path("other.o").exists(), done.stderr)
    aecc("bad.ae", "hello.ae", "other.c", "-o", "prog", status=1)
    check(not Path("prog").exists(), "linked after an error")


# --- dependencies -----------------------------------------------------------------------------------------------------------------


def rule(name):
    """A rule file as {target: set of sources}, system headers left out."""
    rules = {}
    for line in Path(name).read_text().replace("\\\n", " ").splitlines():
        if line.strip():
            target, _, rest = line.partition(":")
            rules[target] = {word for word in rest.split() if not word.startswith("/usr/")}
    return rules


def ours():
    return {word for name in ("aesop.h", "aesop/abi.h") for word in [str(fake.parent.parent / "include" / name)]}


@test
def dependencies_name_source_and_headers():
    sources()
    for compiler in ("gcc", CLANG, "tcc"):
        if not compiler or not shutil.which(compiler):
            continue
        for words, file, target in ((["-c", "hello.ae", "-MD"], "hello.d", "hello.o"),
                                    (["-c", "hello.ae", "-MD", "-o", "out/x.o"], "out/x.d", "out/x.o"),
                                    (["-S", "hello.ae", "-MD", "-o", "x.s"], "x.d", "x.s"),
                                    (["-c", "hello.ae", "-MD", "-MF", "some.dep"], "some.dep", "hello.o"),
                                    (["-c", "hello.ae", "-MD", "-MFsome.dep", "-o", "y.o"], "some.dep", "y.o"),
                                    (["-c", "hello.ae", "-MD", "-MT", "a b"], "hello.d", "a b"),
                                    (["-c", "hello.ae", "-MD", "-MQ", "a b$"], "hello.d", "a\\ b$$"),
                                    (["hello.ae", "other.o", "-MD", "-o", "prog"], "prog.d", "prog")):
            if compiler == "tcc" and "-S" in words:
                continue # it has no assembly output
            os.makedirs("out", exist_ok=True)
            sh("gcc", "-c", "other.c", status=0)
            aecc("--cc=" + compiler, *words)
            equal(rule(file), {target: {"hello.ae", "my.h"} | ours()}, f"{compiler} {' '.join(words)}")
            os.unlink(file)


@test
def dependencies_without_system_headers_and_with_phonies():
    sources()
    write("sys/s.h", "")
    write("d.ae", '#include <aesop.h>\n#include <s.h>\n#include "my.h"\naesop int f(void);\n')
    aecc("-c", "d.ae", "-MMD", "-MP", "-isystem", "sys")
    got = rule("d.d")
    equal(got.pop("d.o") - ours(), {"d.ae", "my.h"}, "sources")
    check("my.h" in got and "d.ae" not in got, f"phony targets {got}")


@test
def dependencies_alone():
    sources()
    for compiler in ("gcc", CLANG, "tcc"):
        if compiler and shutil.which(compiler):
            aecc("--cc=" + compiler, "-M", "hello.ae", "-MF", "m.dep")
            equal(rule("m.dep"), {"hello.o": {"hello.ae", "my.h"} | ours()}, compiler)
            aecc("--cc=" + compiler, "-MM", "hello.ae", "-o", "m.dep")
            equal(rule("m.dep")["hello.o"] - ours(), {"hello.ae", "my.h"}, compiler)


@test
def dependencies_are_not_written_after_an_error():
    bad()
    aecc("-c", "-MD", "bad.ae", status=1)
    equal(files(), ["bad.ae"], "files")


# --- names, response files -----------------------------------------------------------------------------------------------------------


@test
def spaces_and_quotes_in_names():
    for name in ("a b", "it's", 'quo"te', "back\\slash", "dollar$x", "ümlaut"):
        write(f"{name}/{name}.h", "#define MINE 2\n")
        header = "my" if '"' in name else name # C cannot include such a file
        write(f"{name}/my.h", "#define MINE 2\n")
        write(f"{name}/{name}.ae", f'#include <aesop.h>\n#include "{header}.h"\naesop int f(void);\nint main(void) {{ return MINE; }}\n')
        aecc(f"{name}/{name}.ae", "-MD", "-g", "-o", f"{name}/prog")
        equal(sh(f"./{name}/prog").returncode, 2, "status of " + name)
        write(f"{name}/bad.ae", "#include <aesop.h>\naesop int f(void) { return FAKE_ERROR; }\n")
        done = aecc("-c", f"{name}/bad.ae", status=1)
        check(done.stderr.startswith(f"{name}/bad.ae:2:28: error:"), done.stderr)


@test
def response_files():
    write("a b.ae", "#include <aesop.h>\naesop int f(void);\nint main(void) { return V + sizeof S - 4; }\n")
    write("args", "-DV=1 '-DS=\"xyz\"'\n\"a b.ae\"\t-o pro\\ g @more\n")
    write("more", "-O2 -W\"all\"\n")
    aecc("@args")
    equal(sh("./pro g").returncode, 1, "status")
    aecc("@missing", status=1)
    write("self", "@self\n")
    check("response files" in aecc("@self", status=1).stderr, "endless response file")


@test
def very_long_command_lines():
    write("v.ae", "#include <aesop.h>\naesop int f(void);\nint main(void) { return 0; }\n")
    os.makedirs("o")
    sh("gcc", "-xc", "-c", "-", "-o", "o/0.o", stdin="int x0;", status=0)
    names = ["o/0.o"]
    for i in range(1, 4000):
        name = f"o/{'long' * 40}{i}.o"
        os.symlink("0.o", name)
        names.append(name)
    write("args", "\n".join(["v.ae", "-o", "v", "-Wl,--allow-multiple-definition"] + names))
    aecc("@args")
    equal(sh("./v").returncode, 0, "status")


# --- aecc's own options ----------------------------------------------------------------------------------------------------------------


@test
def emit_c():
    sources()
    out = aecc("--emit-c", "hello.ae").stdout
    check(out.splitlines()[0].endswith('"hello.ae"') and "__aesop " not in out and "return 2 * x" in out, out[:300])
    aecc("--emit-c", "hello.ae", "-o", "hello.c")
    equal(Path("hello.c").read_text(), out, "the file")
    equal(files(), ["hello.ae", "hello.c", "my.h", "other.c"], "files")
    check("return 7" in aecc("--emit-c", "other.c").stdout, "plain C")
    aecc("--emit-c", status=1)
    sh("gcc", "-x", "cpp-output", "-c", "hello.c", status=0)


@test
def host_compilers():
    sources()
    for compiler in ("gcc", "clang", "tcc", shutil.which("gcc"), "gcc -m64", "/usr/bin/env gcc"):
        if compiler == "clang" and not CLANG or compiler == "tcc" and not shutil.which("tcc"):
            continue
        for how in ({"words": ["--cc=" + compiler]}, {"words": [], "env": {"AESOP_CC": compiler}}):
            aecc(*how["words"], "-g", "hello.ae", "other.c", "-o", "prog", env=how.get("env"))
            equal(sh("./prog").stdout, "hello 7\n", "output with " + compiler)
            os.unlink("prog")
    check("cannot find the host compiler 'nowhere'" in aecc("--cc=nowhere", "hello.ae", status=1).stderr, "missing compiler")
    check("cannot find" in aecc("-c", "other.c", env={"AESOP_CC": "nowhere"}, status=1).stderr, "missing compiler, plain C")


@test
def does_not_call_itself():
    os.makedirs("bin")
    os.symlink(fake, "bin/cc")
    path = {"PATH": f"{Path('bin').resolve()}:{os.environ['PATH']}"}
    write("p.c", "int main(void) { return 5; }\n")
    sh("bin/cc", "p.c", "-o", "p", env=path, status=0)
    equal(sh("./p").returncode, 5, "status")
    check("is aecc itself" in sh(fake, "--cc=bin/cc", "p.c", status=1).stderr, "message")


@test
def version_and_help():
    out = aecc("--version").stdout
    check(re.match(r"aecc \(Aesop\) \d+\.\d+", out) and "Free Software Foundation" in out, out)
    for compiler in (CLANG, "tcc"):
        if compiler and shutil.which(compiler):
            check(compiler[:3] in aecc("--version", "--cc=" + compiler).stdout, compiler)
    out = aecc("--help").stdout
    for word in ("--emit-c", "--cc=", "-Wno-aesop", "-x aesop"):
        check(word in out, word)
    check("no input files" in aecc(status=1).stderr, "no input")


@test
def save_temps():
    sources()
    aecc("-save-temps", "hello.ae", "other.c", "-o", "prog")
    for name in ("hello.aei", "hello.ae.c"):
        check(Path(name).exists(), f"no {name}: {files()}")
    check("__aesop " in Path("hello.aei").read_text() and "__aesop " not in Path("hello.ae.c").read_text(), "contents")
    os.makedirs("out")
    aecc("--save-temps=obj", "-c", "hello.ae", "-o", "out/h.o")
    check(Path("out/hello.ae.c").exists() and Path("out/h.s").exists(), f"beside the object: {files()}")


@test
def auxiliary_outputs_have_cc_s_names():
    sources()
    write("hello.c", "int other(void);\nint main(void) { return other() - 7; }\n")
    for option in ("--coverage", "-gsplit-dwarf", "-fstack-usage"):
        for words in (["-o", "prog"], ["-c", "-o", "out/x.o"]):
            names = []
            for compile, source in ((["gcc"], "hello.c"), ([fake, "--cc=gcc"], "hello.ae")):
                os.makedirs("out")
                inputs = [source] if "-c" in words else [source, "other.c"]
                before = files()
                sh(*compile, option, *inputs, *words, status=0)
                made = sorted(set(files()) - set(before))
                names.append(made)
                for name in made:
                    os.unlink(name)
                shutil.rmtree("out")
            equal(names[1], names[0], f"{option} {' '.join(words)}")


# --- errors -----------------------------------------------------------------------------------------------------------------------------


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
            got = sh(fake, *[name + ".ae" if word == "NAME" else word for word in words])
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
        done = subprocess.run([fake, "--emit-c", "hello.ae"], stdout=full, stderr=subprocess.PIPE, text=True)
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


# --- diagnostics ------------------------------------------------------------------------------------------------------------------------


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
    head = "#include <aesop.h>\n#define SAME(x) x\n#define TWO(x) FAKE_OK(x, x)\n#define INSIDE FAKE_ERROR\n#define IN(x) (FAKE_ERROR + (x))\n"
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
    err = shown("#include <aesop.h>\n#define BAD(x) do { x; } while (0)\naesop int f(void) {\n    BAD(\n        FAKE_ERROR\n    );\n    return 0;\n}\n")
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
        subprocess.run([fake, "-fsyntax-only", "d.ae", *words], stderr=slave, env=dict(os.environ, TERM="xterm"))
        fcntl.fcntl(master, fcntl.F_SETFL, os.O_NONBLOCK)
        return os.read(master, 10000).decode()
    check("\33[01;31m" in on_terminal(), "no colour on a terminal")
    check("\33[" not in on_terminal("-fdiagnostics-color=never"), "colour though forbidden")
    os.close(master)
    os.close(slave)


# --- signals ----------------------------------------------------------------------------------------------------------------------------


def interrupted(words, when, number, source="hello.ae"):
    """Starts aecc with a slow step, sends the signal, and looks what is left."""
    Path("tmp").mkdir(exist_ok=True)
    before = files()
    env = dict(os.environ, TMPDIR=str(Path("tmp").resolve()), SLOW=when, AESOP_CC=str(Path("slow/gcc").resolve()))
    process = subprocess.Popen([fake, *words, source], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    end = time.monotonic() + 10
    while not Path("tmp/slow").exists() and time.monotonic() < end and process.poll() is None:
        time.sleep(0.01)
    if when == "translate":
        time.sleep(0.3)
    process.send_signal(number)
    status = process.wait(timeout=20)
    time.sleep(0.05)
    Path("tmp/slow").unlink(missing_ok=True)
    check(subprocess.run(["pgrep", "-r", "DRST", "-g", str(process.pid)], capture_output=True).returncode != 0, f"{words} {when} {number}: a process is left")
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
    : > "$TMPDIR/slow"
    sleep 30 & sleeper=$!
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
            process = subprocess.Popen([fake, *words, "sleep.ae"], env=dict(os.environ, TMPDIR=str(Path("tmp").resolve())), start_new_session=True)
            time.sleep(0.25)
            process.send_signal(number)
            equal(process.wait(timeout=20), -number, "status")
            check(subprocess.run(["pgrep", "-r", "DRST", "-g", str(process.pid)], capture_output=True).returncode != 0, "a process is left")
            equal(files(), ["sleep.ae"], "files")


@test
def signals_at_any_moment():
    sources()
    for step in range(24):
        process = subprocess.Popen([fake, "-MD", "hello.ae", "other.c", "-o", "prog"], env=dict(os.environ, TMPDIR=str(Path("tmp").resolve())),
                                   start_new_session=True, stderr=subprocess.DEVNULL)
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
    process = subprocess.Popen([fake, "--emit-c", "big.ae"], stdout=writer, preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
    os.close(writer)
    os.read(reader, 100)
    os.close(reader)
    equal(process.wait(timeout=20), -signal.SIGPIPE, "status")


@test
def ignored_signals_stay_ignored():
    write("sleep.ae", "#include <aesop.h>\naesop int f(void);\nint main(void) { return 0; }\n")
    process = subprocess.Popen([fake, "sleep.ae", "-o", "prog"], preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    process.send_signal(signal.SIGHUP)
    equal(process.wait(timeout=20), 0, "status")


# --- other programs' use of it -------------------------------------------------------------------------------------------------------------


@test
def make_with_cc():
    need("make")
    sources()
    write("Makefile", ".SUFFIXES: .ae\nCFLAGS = -O2 -MMD\nprog: hello.o other.o\n\t$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)\n"
                      ".ae.o:\n\t$(CC) $(CFLAGS) -c -o $@ $<\n-include hello.d\n")
    sh("make", f"CC={fake}", status=0)
    equal(sh("./prog").stdout, "hello 7\n", "output")
    check("up to date" in sh("make", f"CC={fake}", status=0).stdout, "built twice")
    later = time.time() + 5
    os.utime("my.h", (later, later))
    check("hello.ae" in sh("make", f"CC={fake}", status=0).stdout, "a changed header was not seen")


@test
def cmake_with_c_compiler():
    need("cmake")
    sources()
    write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(p C)\nset_source_files_properties(hello.ae PROPERTIES LANGUAGE C)\n"
                            "add_executable(prog hello.ae other.c)\ntarget_compile_options(prog PRIVATE -Wall)\n"
                            'file(WRITE "${CMAKE_BINARY_DIR}/id" "${CMAKE_C_COMPILER_ID} ${CMAKE_C_STANDARD_COMPUTED_DEFAULT}")\n')
    for compiler, name in (("gcc", "GNU"), (CLANG, "Clang")):
        if not compiler:
            continue
        build = "build-" + name
        env = {"AESOP_CC": compiler}
        sh("cmake", "-B", build, f"-DCMAKE_C_COMPILER={fake}", env=env, status=0)
        equal(Path(build, "id").read_text().split()[0], name, "compiler identification")
        sh("cmake", "--build", build, env=env, status=0)
        equal(sh(f"{build}/prog").stdout, "hello 7\n", "output")
        again = sh("cmake", "--build", build, env=env, status=0).stdout
        check("Building" not in again, "built twice")
        later = time.time() + 5
        os.utime("my.h", (later, later))
        check("hello.ae" in sh("cmake", "--build", build, env=env, status=0).stdout, "a changed header was not seen")


@test
def ccache_caches():
    need("ccache")
    sources()
    env = {"CCACHE_DIR": str(Path("cache").resolve()), "CCACHE_COMPILERTYPE": "gcc"}
    def hits():
        out = sh("ccache", "--print-stats", env=env, status=0).stdout
        count = dict(line.split() for line in out.splitlines())
        return int(count["direct_cache_hit"]) + int(count["preprocessed_cache_hit"])
    for turn in range(3):
        sh("ccache", fake, "-O2", "-g", "-MD", "-x", "c", "-c", "hello.ae", "-o", "hello.o", env=env, status=0)
        equal(hits(), turn, "cache hits")
        equal(rule("hello.d"), {"hello.o": {"hello.ae", "my.h"} | ours()}, "dependencies")
    write("my.h", "#define MINE 3\n")
    sh("ccache", fake, "-O2", "-g", "-MD", "-x", "c", "-c", "hello.ae", "-o", "hello.o", env=env, status=0)
    equal(hits(), 2, "cache hits after a change")
    sh("ccache", fake, "-c", "hello.ae", "-o", "plain.o", env=env, status=0) # without -x c: compiled, not cached
    check(Path("plain.o").exists(), "no object")
    bad()
    done = sh("ccache", fake, "-x", "c", "-c", "bad.ae", env=env, status=1)
    check("bad.ae:2:28: error:" in done.stderr, done.stderr)


# --- debug information ----------------------------------------------------------------------------------------------------------------------


@test
def debug_information_names_the_source():
    need("readelf")
    write("sub/hello.ae", HELLO)
    write("sub/my.h", "#define MINE 2\n")
    for compiler in ("gcc", CLANG):
        need(compiler)
        aecc("--cc=" + compiler, "-g", "-c", "sub/hello.ae", "-o", "h.o")
        info = sh("readelf", "--debug-dump=info", "h.o").stdout
        name = re.search(r"DW_AT_name.*: (\S+)$", info, re.M).group(1)
        folder = re.search(r"DW_AT_comp_dir.*: (\S+)$", info, re.M).group(1)
        equal((name, folder), ("sub/hello.ae", os.getcwd()), compiler)
        check(re.search(r"FILE .* hello\.ae$", sh("readelf", "-sW", "h.o").stdout, re.M), "the symbol table names another file")


# --- with the real translator ------------------------------------------------------------------------------------------------------------------


WAITS = """#include <aesop.h>
#include <stdio.h>
aesop int later(int x)
{
    int y = x + 1;
    aesop_timer(1);
    return y;
}
#ifndef LIBRARY
aesop int main(int argc, char **argv)
{
    (void)argv;
    int r = later(argc);
    printf("later %d\\n", r);
    return 0;
}
#endif
"""


def real(*words, **more):
    if not AECC.exists():
        raise Skipped(f"no {AECC}")
    if not (AECC.parent.parent / "lib/libaesop.a").exists():
        raise Skipped("libaesop.a is not built")
    more.setdefault("status", 0)
    return sh(AECC, *words, **more)


@test
def real_program_waits():
    write("w.ae", WAITS)
    for compiler in ("gcc", CLANG, "tcc"):
        if compiler and shutil.which(compiler):
            for words in ([], ["-O2"], ["-g"]):
                done = real("--cc=" + compiler, *words, "-Wall", "-Wextra", "w.ae", "-o", "w")
                equal(done.stderr, "", f"messages of {compiler}")
                equal(sh("./w", status=0).stdout, "later 2\n", "output with " + compiler)


@test
def real_program_from_objects_and_archives():
    write("w.ae", WAITS)
    write("l.ae", "#define LIBRARY\n" + WAITS)
    write("m.ae", "#include <aesop.h>\n__aesop int later(int);\naesop int main(int argc, char **argv) { (void)argv; return later(argc); }\n")
    real("-c", "w.ae", "l.ae", "m.ae")
    real("w.o", "-o", "w")
    sh("./w", status=0)
    sh("ar", "rcs", "liblater.a", "l.o", status=0)
    real("m.o", "-L.", "-llater", "-o", "m")
    sh("./m", status=2)


@test
def real_plain_programs_get_no_runtime():
    write("p.c", "int main(void) { return 0; }\n")
    real("-c", "p.c")
    check("aesop" not in real("-###", "p.o", "-o", "p").stderr, "a plain link got the runtime")


@test
def real_shared_library():
    write("l.ae", "#define LIBRARY\n" + WAITS)
    write("m.ae", "#include <aesop.h>\n__aesop int later(int);\naesop int main(int argc, char **argv) { (void)argv; return later(argc); }\n")
    real("-shared", "-fPIC", "l.ae", "-o", "liblater.so")
    check("__ae_alloc" in sh("nm", "-D", "--undefined-only", "liblater.so").stdout, "the library has a runtime of its own")
    for compiler in ("gcc", CLANG):
        need(compiler)
        real("--cc=" + compiler, "m.ae", "-L.", "-llater", "-Wl,-rpath,.", "-o", "m")
        sh("./m", status=2)


@test
def real_loaded_library():
    write("l.ae", "#define LIBRARY\n" + WAITS)
    write("m.ae", "#include <aesop.h>\n#include <dlfcn.h>\naesop int main(void)\n{\n    void *library = dlopen(\"./liblater.so\", RTLD_NOW);\n"
                  "    if (!library) return 9;\n    aesop int (*later)(int) = dlsym(library, \"later\");\n    return later(4);\n}\n")
    real("-shared", "-fPIC", "l.ae", "-o", "liblater.so")
    real("-rdynamic", "m.ae", "-o", "m")
    sh("./m", status=5)


@test
def real_debugger_shows_the_source():
    need("gdb")
    write("w.ae", WAITS)
    for compiler in ("gcc", CLANG):
        need(compiler)
        real("--cc=" + compiler, "-g", "w.ae", "-o", "w")
        out = sh("gdb", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "break w.ae:5", "-ex", "run", "-ex", "bt", "-ex", "info locals",
                 "-ex", "next", "-ex", "print y", "./w").stdout
        check(re.search(r"#0 .*later.* at .*w\.ae:5", out) and "$1 = 2" in out, out[-1500:])


@test
def real_errors_have_place_and_caret():
    write("e.ae", "#include <aesop.h>\naesop int f(int x);\nint g(void)\n{\n    return 1 +   f(2);\n}\n")
    err = real("-c", "e.ae", status=1).stderr
    check(err.startswith("e.ae:5:18: error:") and "    5 |     return 1 +   f(2);\n" in err, err)
    equal(files(), ["e.ae"], "files")


@test
def real_cmake_module():
    need("cmake")
    module = ROOT / "tools/cmake/Aesop.cmake"
    if not module.exists():
        raise Skipped("no tools/cmake/Aesop.cmake")
    real("--version")
    write("w.ae", WAITS)
    lib, include = AECC.parent.parent / "lib", AECC.parent.parent / "include"
    write("CMakeLists.txt", f"""cmake_minimum_required(VERSION 3.25)
project(p C)
add_executable(Aesop::aecc IMPORTED)
set_target_properties(Aesop::aecc PROPERTIES IMPORTED_LOCATION "{AECC}")
add_library(Aesop::aesop STATIC IMPORTED)
set_target_properties(Aesop::aesop PROPERTIES IMPORTED_LOCATION "{lib}/libaesop.a" INTERFACE_INCLUDE_DIRECTORIES "{include}"
                      INTERFACE_LINK_LIBRARIES "uring;pthread")
include("{module}")
aesop_add_executable(w w.ae)
""")
    sh("cmake", "-B", "build", status=0)
    sh("cmake", "--build", "build", status=0)
    equal(sh("build/w").stdout, "later 2\n", "output")


# --- the frame around it ---------------------------------------------------------------------------------------------------------------------------


def build_fake(folder):
    """The driver with fake_translate.cpp, in a folder laid out as an installation."""
    for name in ("bin", "lib", "include"):
        (folder / name).mkdir(parents=True)
    shutil.copytree(ROOT / "runtime/include", folder / "include", dirs_exist_ok=True)
    objects, running = [], []
    for name in DRIVER + ["fake_translate"]:
        source = HERE / "fake_translate.cpp" if name == "fake_translate" else ROOT / "translator" / (name + ".cpp")
        objects.append(folder / (name + ".o"))
        command = ["c++", "-std=c++20", "-O1", "-fno-rtti", "-D_GNU_SOURCE", '-DAESOP_VERSION="0.0.0"', "-I", ROOT / "translator", "-c", source, "-o",
                   objects[-1]]
        running.append(subprocess.Popen(command))
        if len(running) == 2:
            check(running.pop(0).wait() == 0, "the driver does not compile")
    check(all(process.wait() == 0 for process in running), "the driver does not compile")
    subprocess.run(["c++", *objects, "-o", folder / "bin/aecc"], check=True)
    return folder / "bin/aecc"


def one(function, folder):
    name = function.__name__
    folder.mkdir()
    (folder / "tmp").mkdir()
    os.chdir(folder)
    try:
        function()
        left = os.listdir("tmp")
        check(not left, f"left in TMPDIR: {left}")
    except Skipped as why:
        print(f"skip {name}: {why}", flush=True)
        return "skipped"
    except (Failed, OSError, subprocess.SubprocessError, AttributeError, KeyError, ValueError) as why:
        first, _, rest = (str(why) or type(why).__name__).partition("\n")
        print(f"FAIL {name}: {first}", flush=True)
        for line in rest.splitlines():
            print("    " + line)
        return "failed"
    finally:
        os.chdir("/")
    print(f"ok {name}", flush=True)
    return "passed"


def main():
    global fake
    wanted = sys.argv[1:]
    result = {"passed": 0, "failed": 0, "skipped": 0}
    with tempfile.TemporaryDirectory(prefix="aecc-cli-") as scratch:
        scratch = Path(scratch).resolve()
        fake = build_fake(scratch / "fake")
        for function in tests:
            if not wanted or any(part in function.__name__ for part in wanted):
                result[one(function, scratch / function.__name__)] += 1
    print(", ".join(f"{number} {what}" for what, number in result.items()))
    return 1 if result["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
