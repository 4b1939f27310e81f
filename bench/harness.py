"""bench/run: what all benchmarks share: options, several processes on one core, ratios with their spread, tables, plots, raw data.

A benchmark is a folder bench/NAME with a bench.py that has a docstring (its first line is shown by --list), `add_options(parser)` and
`run(context)`. Everything it writes goes to build/bench/NAME/: raw.csv with one line a sample, the tables and the plot made from it,
and machine.txt, so that a number can be traced to the command, the commit and the machine that made it.

Why several processes: the layout of code and memory shifts single rows by tens of percent, which more repeats in one process only
measure more precisely. Memory is laid out anew in each process, code in each link (calls/bench.py does that). The process is therefore
the unit of the statistics: a row's value is the median over the processes of each process's median, and its interval comes from
resampling processes.
"""
import argparse
import datetime
import importlib.util
import os
import platform
import random
import shlex
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def output_of(*command):
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def first_line(path, key=None):
    try:
        for line in open(path):
            if key is None or line.startswith(key):
                return line.split(":", 1)[-1].strip()
    except OSError:
        pass
    return "unknown"


class Context:
    """One run of one benchmark."""

    def __init__(self, name, options):
        self.name, self.options = name, options
        self.source = ROOT / "bench" / name
        self.build = Path(os.environ.get("AESOP_BUILD", ROOT / "build")).resolve()
        self.folder = self.build / "bench" / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.cpu = max(os.sched_getaffinity(0)) if options.cpu is None else options.cpu
        self.started = datetime.datetime.now().astimezone().isoformat(timespec="seconds")

    def say(self, text):
        print(text, flush=True)

    def progress(self, done, total, text):
        """One line that is overwritten on a terminal; elsewhere a line each quarter."""
        if sys.stdout.isatty():
            print(f"\r  {text} {done}/{total} ", end="" if done < total else "\n", flush=True)
        elif done == total or done * 4 // total != (done - 1) * 4 // total:
            print(f"  {text} {done}/{total}", flush=True)

    def command(self, *words, cwd=None):
        """Runs a step of the build; stops the benchmark with what it said if it fails."""
        words = [str(word) for word in words]
        done = subprocess.run(words, cwd=cwd or self.folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"bench/run: failed: {shlex.join(words)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def pinned(self, *words, env=None):
        """Runs a measuring program on one core and returns what it printed."""
        words = [str(word) for word in words]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, env={**os.environ, **(env or {})},
                              preexec_fn=lambda: os.sched_setaffinity(0, {self.cpu}))
        if done.returncode:
            sys.exit(f"bench/run: status {done.returncode} from {shlex.join(words)}\n{done.stderr[-2000:]}")
        return done.stdout

    def provenance(self):
        """What produced the numbers: (name, value) pairs, printed with every table."""
        dirty = "" if not output_of("git", "status", "--porcelain", "--untracked-files=no") else " with uncommitted changes"
        return [
            ("command", shlex.join(["bench/run"] + sys.argv[1:])),
            ("when", self.started),
            ("commit", (output_of("git", "rev-parse", "--short=12", "HEAD") or "unknown") + dirty),
            ("processor", f"{first_line('/proc/cpuinfo', 'model name')}, {os.cpu_count()} processors, run on number {self.cpu}"),
            ("memory", first_line("/proc/meminfo", "MemTotal")),
            ("kernel", platform.release()),
            ("governor", first_line(f"/sys/devices/system/cpu/cpu{self.cpu}/cpufreq/scaling_governor")),
            ("load", first_line("/proc/loadavg")),
            ("compiler", (output_of(self.options.cc, "--version") or "unknown").splitlines()[0] + ", -O2"),
        ]

    def write(self, name, text):
        (self.folder / name).write_text(text)
        shown = self.folder / name
        return shown.relative_to(ROOT) if shown.is_relative_to(ROOT) else shown


def interval(values, seed=1, rounds=2000):
    """95 % bootstrap interval of the median of values; the same each time it is computed from the same values."""
    if len(values) < 2:
        return values[0], values[0]
    chance = random.Random(seed)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(rounds))
    return medians[int(rounds * 0.025)], medians[int(rounds * 0.975)]


def table(header, rows):
    """A markdown table that is also readable as it is: first column left, the others right."""
    cells = [header] + rows
    width = [max(len(row[i]) for row in cells) for i in range(len(header))]

    def line(row):
        return "| " + " | ".join(row[i].ljust(width[i]) if i == 0 else row[i].rjust(width[i]) for i in range(len(row))) + " |"

    rule = "|" + "|".join("-" * (w + 2) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(width)) + "|"
    return "\n".join([line(header), rule] + [line(row) for row in rows])


def csv(header, rows):
    return "\n".join(",".join(str(cell) for cell in row) for row in [header] + rows) + "\n"


def load(name):
    spec = importlib.util.spec_from_file_location(f"bench_{name}", ROOT / "bench" / name / "bench.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    names = sorted(path.parent.name for path in (ROOT / "bench").glob("*/bench.py"))
    parser = argparse.ArgumentParser(prog="bench/run", description="Measures and prints; results stay in build/bench/NAME/.",
                                     epilog="bench/run NAME --help shows a benchmark's own options.")
    parser.add_argument("--list", action="store_true", help="the benchmarks there are")
    parser.add_argument("name", nargs="?", metavar="NAME", help=", ".join(names))
    words = sys.argv[1:]
    known, rest = (parser.parse_args([words[0]]), words[1:]) if words and words[0] in names else (parser.parse_args(words), [])
    if known.list:
        for name in names:
            print(f"{name:10} {load(name).__doc__.strip().splitlines()[0]}")
        return 0
    if known.name is None:
        parser.print_help()
        return 2
    if known.name not in names:
        parser.error(f"there is no benchmark `{known.name}'; see bench/run --list")
    module = load(known.name)
    own = argparse.ArgumentParser(prog=f"bench/run {known.name}", description=module.__doc__,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    own.add_argument("--quick", action="store_true", help="under a minute: fewer processes and repeats")
    own.add_argument("--cc", default="gcc", help="the C compiler, for plain C and behind aecc (default: gcc)")
    own.add_argument("--cpu", type=int, help="the processor to run on (default: the last one)")
    module.add_options(own)
    context = Context(known.name, own.parse_args(rest))
    if not shutil.which(context.options.cc):
        sys.exit(f"bench/run: no compiler `{context.options.cc}' here")
    return module.run(context)


if __name__ == "__main__":
    sys.modules["harness"] = sys.modules["__main__"]
    sys.exit(main())
