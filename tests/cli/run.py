#!/usr/bin/env python3
"""Tests of the command line of aecc: everything around the translation.

Most tests run the driver with a translator that fails on command (fake_translate.cpp, compiled here in a few seconds), so that they say
something about the driver alone. The last ones need the real aecc with its runtime: $AECC, or build/bin/aecc.

Usage: run.py [part of a test's name]...   Prints ok, FAIL or skip for each test and a last line with the numbers.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
import harness
import as_cc      # noqa: F401  each module adds its tests
import failures   # noqa: F401
import programs   # noqa: F401
from harness import Failed, Skipped, check


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
    wanted = sys.argv[1:]
    result = {"passed": 0, "failed": 0, "skipped": 0}
    with tempfile.TemporaryDirectory(prefix="aecc-cli-") as scratch:
        scratch = Path(scratch).resolve()
        harness.fake = harness.build_fake(scratch / "fake")
        for function in harness.tests:
            if not wanted or any(part in function.__name__ for part in wanted):
                result[one(function, scratch / function.__name__)] += 1
    print(", ".join(f"{number} {what}" for what, number in result.items()))
    return 1 if result["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
