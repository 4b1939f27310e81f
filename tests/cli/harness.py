"""What the tests of the command line share: running aecc, checking, and the driver with a translator that fails on command.
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
AECC = Path(os.environ.get("AECC", Path(os.environ.get("AESOP_BUILD", ROOT / "build")) / "bin/aecc")).resolve()
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
        said = done.stdout[-1000:] + done.stderr[-2000:]
        raise Failed(f"status {done.returncode}, wanted {status}: {' '.join(map(str, command))}\n{said}")
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


def rule(name):
    """A rule file as {target: set of sources}, system headers left out."""
    rules = {}
    for line in Path(name).read_text().replace("\\\n", " ").splitlines():
        if line.strip():
            target, _, rest = line.partition(":")
            rules[target] = {word for word in rest.split() if not word.startswith("/usr/")}
    return rules


def ours():
    """Our headers that every Aesop source with <aesop.h> depends on."""
    return {str(fake.parent.parent / "include" / name) for name in ("aesop.h", "aesop/abi.h")}


def build_fake(folder):
    """The driver with fake_translate.cpp, in a folder laid out as an installation."""
    for name in ("bin", "lib", "include"):
        (folder / name).mkdir(parents=True)
    shutil.copytree(ROOT / "runtime/include", folder / "include", dirs_exist_ok=True)
    flags = os.environ.get("CXXFLAGS", "").split() # -fsanitize=address,undefined, say
    objects, running = [], []
    for name in DRIVER + ["fake_translate"]:
        source = HERE / "fake_translate.cpp" if name == "fake_translate" else ROOT / "translator" / (name + ".cpp")
        objects.append(folder / (name + ".o"))
        command = ["c++", "-std=c++20", "-O1", "-fno-rtti", "-D_GNU_SOURCE", '-DAESOP_VERSION="0.0.0"', "-I", ROOT / "translator",
                   *flags, "-c", source, "-o", objects[-1]]
        running.append(subprocess.Popen(command))
        if len(running) == 2:
            check(running.pop(0).wait() == 0, "the driver does not compile")
    check(all(process.wait() == 0 for process in running), "the driver does not compile")
    subprocess.run(["c++", *flags, *objects, "-o", folder / "bin/aecc"], check=True)
    return folder / "bin/aecc"
