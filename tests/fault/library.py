#!/usr/bin/python3
"""The standard library, function by function: results, errors, cancellation, on both engines, and with calls made to wait that need not.

The tests are Aesop programs in library/. They print a line each; this program compiles and starts them."""
import os
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import suite  # noqa: E402

VARIANTS = [("uring", {"AESOP_ENGINE": "uring"}), ("epoll", {"AESOP_ENGINE": "epoll"}),
            ("uring suspended", {"AESOP_ENGINE": "uring", "AESOP_SUSPEND": "50:3"}), ("epoll suspended", {"AESOP_ENGINE": "epoll", "AESOP_SUSPEND": "50:3"}),
            ("uring fifo", {"AESOP_ENGINE": "uring", "AESOP_QUEUE": "fifo"}), ("epoll one thread", {"AESOP_ENGINE": "epoll", "AESOP_POOL": "1"})]


def main():
    counts, only = {"ok": 0, "FAIL": 0, "skip": 0}, sys.argv[1:2]
    flags = os.environ.get("AESOP_TEST_FLAGS", "").split()
    folder = suite.scratch.folder("library")
    sources = sorted(str(path) for path in (HERE / "library").glob("*.ae"))
    built = suite.run([suite.AECC, "-O2", "-g", "-Wall", "-Wextra", *flags, *sources, "-o", folder / "tests"], seconds=300)
    if built.status != 0:
        suite.report("FAIL", "library-compiles", built.describe(), built.err)
        counts["FAIL"] += 1
    for name, variables in VARIANTS if built.status == 0 else ():
        if "thread" in name and not only:  # offload counts on several threads
            only_here = ["file"]
        else:
            only_here = only
        done = suite.run([folder / "tests", *only_here], cwd=folder, env=suite.environment(AESOP_LEAKS=1, **variables), seconds=120)
        failed = 0
        for kind, test, why in re.findall(r"^(ok|FAIL) (\S+?)(?:: (.*))?$", done.out, re.M):
            counts[kind] += 1
            failed += kind == "FAIL"
            suite.report(kind, f"{test} {name}", why)
        if done.status != 0 and not failed:
            counts["FAIL"] += 1
            suite.report("FAIL", f"library {name}", f"{done.describe()} after {done.out.splitlines()[-1:]}", suite.clip(done.err))
    suite.scratch.remove()
    print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['skip']} skipped")
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
