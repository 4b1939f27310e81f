"""Every example in README.md and docs/*.md is compiled; one that has a main is also run.

A fenced block marked `aesop` is a whole file. It compiles without a warning; if it defines main (or uses aesop_main_set) it is linked and
run, and must end with status 0 within 20 s. If the next fenced block is marked `output`, that is what it prints.
A block marked `aesop error` is refused, and a following `output` block holds words that the message contains, a line each.
A block marked `aesop fragment` is an extract for reading and is not compiled.
"""
import argparse
import re
import shutil
import sys

import golden
import suite

BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```[ \t]*$", re.M | re.S)


def examples():
    for page in [suite.ROOT / "README.md"] + sorted((suite.ROOT / "docs").glob("*.md")):
        if not page.exists():
            continue
        text = page.read_text()
        blocks = [(match[1].split(), match[2], text.count("\n", 0, match.start()) + 1) for match in BLOCK.finditer(text)]
        for index, (words, body, line) in enumerate(blocks):
            if not words or words[0] != "aesop" or "fragment" in words:
                continue
            after = blocks[index + 1] if index + 1 < len(blocks) else ([], "", 0)
            yield page, line, words[1:], body, after[1] if after[0] == ["output"] else None


def check(page, line, words, body, output, cc, engine):
    name = f"{page.stem} line {line} [{cc} {engine}]"
    folder = suite.scratch.folder(page.stem)
    (folder / "example.ae").write_text(body)
    runs = re.search(r"\bmain\s*\(|\baesop_main_set", body) and "error" not in words
    command = [suite.AECC, f"--cc={cc}", "-O1", "-g", "-Wall", "-Wextra", *([] if runs else ["-c"]), "-o", "prog", "example.ae"]
    done = suite.run(command, cwd=folder, env=suite.environment(), seconds=golden.BUILD_SECONDS)
    where = f"{page}:{line}"
    if "error" in words:
        missing = [word for word in (output or "").splitlines() if word.strip() and word.strip() not in done.err]
        if done.status != 1 or missing:
            why = f"{where}: not refused as the page says: {done.describe()}; missing: {missing}"
            return [("FAIL", name, why, suite.clip(done.err))]
    elif done.status != 0 or done.err.strip():
        return [("FAIL", name, f"{where}: compiling: {done.describe()}", suite.clip(done.err))]
    elif runs:
        ended = suite.run(["./prog"], cwd=folder, env=suite.environment(AESOP_ENGINE=engine, AESOP_LEAKS=1), seconds=golden.RUN_SECONDS)
        if ended.status != 0 or (output is not None and ended.out != output):
            details = "it printed:\n" + suite.clip(ended.out) + "\nstderr:\n" + suite.clip(ended.err)
            return [("FAIL", name, f"{where}: running: {ended.describe()}", details)]
    shutil.rmtree(folder)
    return [("ok", name, "", "")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    clang = golden.find_clang()
    ways = [("gcc", "epoll" if golden.uring_refused() else "uring")]
    if not options.quick:
        ways.append((clang or "gcc", "epoll"))
    found = [example for example in examples() if not options.names or any(word in example[0].stem for word in options.names)]
    if found and not suite.AECC.exists():
        suite.report("FAIL", "docs", f"{suite.AECC} does not exist; build it first (tools/setup)")
        return 1
    tasks = [lambda example=example, way=way: check(*example, *way) for example in found for way in ways]
    return 0 if suite.run_all(tasks, options.jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
