"""aecc under other programs, and the real aecc with its runtime.
"""
import os
import re
import shutil
import time
from pathlib import Path

import harness
from harness import AECC, CLANG, HELLO, ROOT, Skipped, aecc, bad, check, equal, files, need, ours, rule, sh, sources, test, write

# --- other programs' use of it


@test
def make_with_cc():
    need("make")
    sources()
    write("Makefile", ".SUFFIXES: .ae\nCFLAGS = -O2 -MMD\nprog: hello.o other.o\n\t$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)\n"
                      ".ae.o:\n\t$(CC) $(CFLAGS) -c -o $@ $<\n-include hello.d\n")
    sh("make", f"CC={harness.fake}", status=0)
    equal(sh("./prog").stdout, "hello 7\n", "output")
    check("up to date" in sh("make", f"CC={harness.fake}", status=0).stdout, "built twice")
    later = time.time() + 5
    os.utime("my.h", (later, later))
    check("hello.ae" in sh("make", f"CC={harness.fake}", status=0).stdout, "a changed header was not seen")


@test
def cmake_with_c_compiler():
    need("cmake")
    sources()
    write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(p C)\n"
                            "set_source_files_properties(hello.ae PROPERTIES LANGUAGE C)\n"
                            "add_executable(prog hello.ae other.c)\ntarget_compile_options(prog PRIVATE -Wall)\n"
                            'file(WRITE "${CMAKE_BINARY_DIR}/id" "${CMAKE_C_COMPILER_ID} ${CMAKE_C_STANDARD_COMPUTED_DEFAULT}")\n')
    for compiler, name in (("gcc", "GNU"), (CLANG, "Clang")):
        if not compiler:
            continue
        build = "build-" + name
        env = {"AESOP_CC": compiler}
        sh("cmake", "-B", build, f"-DCMAKE_C_COMPILER={harness.fake}", env=env, status=0)
        equal(Path(build, "id").read_text().split()[0], name, "compiler identification")
        sh("cmake", "--build", build, env=env, status=0)
        equal(sh(f"{build}/prog").stdout, "hello 7\n", "output")
        again = sh("cmake", "--build", build, env=env, status=0).stdout
        check("Building" not in again, "built twice")
        later = time.time() + 5
        os.utime("my.h", (later, later))
        check("hello.ae" in sh("cmake", "--build", build, env=env, status=0).stdout, "a changed header was not seen")
        os.utime("my.h", (later - 10, later - 10))


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
        sh("ccache", harness.fake, "-O2", "-g", "-MD", "-x", "c", "-c", "hello.ae", "-o", "hello.o", env=env, status=0)
        equal(hits(), turn, "cache hits")
        equal(rule("hello.d"), {"hello.o": {"hello.ae", "my.h"} | ours()}, "dependencies")
    write("my.h", "#define MINE 3\n")
    sh("ccache", harness.fake, "-O2", "-g", "-MD", "-x", "c", "-c", "hello.ae", "-o", "hello.o", env=env, status=0)
    equal(hits(), 2, "cache hits after a change")
    sh("ccache", harness.fake, "-c", "hello.ae", "-o", "plain.o", env=env, status=0) # without -x c: compiled, not cached
    check(Path("plain.o").exists(), "no object")
    bad()
    done = sh("ccache", harness.fake, "-x", "c", "-c", "bad.ae", env=env, status=1)
    check("bad.ae:2:28: error:" in done.stderr, done.stderr)


# --- debug information


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


# --- with the real translator


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


CALLS = """#include <aesop.h>
__aesop int later(int);
aesop int main(int argc, char **argv) { (void)argv; return later(argc); }
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
    write("m.ae", CALLS)
    real("-c", "w.ae", "l.ae", "m.ae")
    real("w.o", "-o", "w")
    sh("./w", status=0)
    sh("ar", "rcs", "liblater.a", "l.o", status=0)
    for compiler in ("gcc", CLANG, "tcc"):
        if compiler and shutil.which(compiler):
            write("plain.c", f"int plain_{compiler[0]};\n")
            real("--cc=" + compiler, "m.o", "plain.c", "-L.", "-llater", "-o", "m")
            sh("./m", status=2)
            real("--cc=" + compiler, "m.ae", "-DUNUSED", "plain.c", "-L.", "-llater", "-o", "m")
            sh("./m", status=2)


@test
def real_plain_programs_get_no_runtime():
    write("p.c", "int main(void) { return 0; }\n")
    real("-c", "p.c")
    check("aesop" not in real("-###", "p.o", "-o", "p").stderr, "a plain link got the runtime")


@test
def real_shared_library():
    write("l.ae", "#define LIBRARY\n" + WAITS)
    write("m.ae", CALLS)
    real("-shared", "-fPIC", "l.ae", "-o", "liblater.so")
    check("__ae_alloc" in sh("nm", "-D", "--undefined-only", "liblater.so").stdout, "the library has a runtime of its own")
    for compiler in ("gcc", CLANG):
        need(compiler)
        real("--cc=" + compiler, "m.ae", "-L.", "-llater", "-Wl,-rpath,.", "-o", "m")
        sh("./m", status=2)


@test
def real_loaded_library():
    write("l.ae", "#define LIBRARY\n" + WAITS)
    write("m.ae", "#include <aesop.h>\n#include <dlfcn.h>\naesop int main(void)\n{\n"
                  "    void *library = dlopen(\"./liblater.so\", RTLD_NOW);\n"
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
        script = ["set debuginfod enabled off", "break w.ae:5", "run", "bt", "next", "print y"]
        out = sh("gdb", "-batch", "-nx", *[word for line in script for word in ("-ex", line)], "./w").stdout
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
