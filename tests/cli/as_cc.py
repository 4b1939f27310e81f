"""What cc does, aecc does: options, outputs, dependencies, names; and aecc's own options.
"""
import os
import re
import shutil
from pathlib import Path

import harness
from harness import CLANG, HELLO, aecc, bad, check, equal, files, need, ours, rule, sh, sources, test, write

# --- what cc does, aecc does


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
    aecc("-I", "inc", "-isystem", "sys", "-iquote", "quote", "-include", "first.h",
         "-DD=16", "-D", "E=32", "-DGONE", "-UGONE", "o.ae", "-o", "o")
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
    write("f.ae", "#include <aesop.h>\naesop int f(void);\n"
          "int g(int x) { switch (x) { case 1: x++; /* fall through */\ncase 2: x++; } return x; }\n")
    equal(aecc("-Wextra", "-c", "f.ae").stderr, "", "messages")
    write("f.ae", "#include <aesop.h>\naesop int f(void);\n"
          "int g(int x) { switch (x) { case 1: x++;\ncase 2: x++; } return x; }\n")
    check("-Wimplicit-fallthrough" in aecc("-Wextra", "-c", "f.ae").stderr, "no warning")


@test
def predefined_macros_do_no_harm():
    write("l.ae", "#include <aesop.h>\n#undef linux\n#undef unix\n"
          "aesop int f(void);\nint main(void) { int linux = 3, unix = 4; return linux + unix; }\n")
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


# --- dependencies


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


# --- names, response files


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


# --- aecc's own options


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
    os.symlink(harness.fake, "bin/cc")
    path = {"PATH": f"{Path('bin').resolve()}:{os.environ['PATH']}"}
    write("p.c", "int main(void) { return 5; }\n")
    sh("bin/cc", "p.c", "-o", "p", env=path, status=0)
    equal(sh("./p").returncode, 5, "status")
    check("is aecc itself" in sh(harness.fake, "--cc=bin/cc", "p.c", status=1).stderr, "message")


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
            for compile, source in ((["gcc"], "hello.c"), ([harness.fake, "--cc=gcc"], "hello.ae")):
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
