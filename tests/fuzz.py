"""Random programs: the same program must print the same in Aesop as in plain C.

    tests/fuzz.py                                60 programs from seed 1
    tests/fuzz.py --programs 1000 --seed 777     other programs
    tests/fuzz.py --keep tree-17 csmith-4        these again; their sources and binaries stay in build/tests-tmp

Two generators in fuzz/: `csmith` takes the C programs of csmith and puts waits into them; `tree` writes random trees of the language's own
statements, each beside a plain C program that says what it means. A program is compiled as C once, and as Aesop in one way of many
(compiler, optimization, sanitizers), and that runs several times (engine, queue order, suspensions). All of it follows from the
program's seed. A program that differs is only a failure if its plain C prints the same when compiled in that way: compilers have bugs too.
"""
import argparse
import random
import shutil
import sys
from pathlib import Path

import golden
import suite

sys.path.insert(0, str(Path(__file__).resolve().parent / "fuzz"))
import csmith  # noqa: E402
import tree  # noqa: E402

PLAIN_SECONDS, RUN_SECONDS = 0.5, 20
GENERATORS = {"csmith": csmith, "tree": tree}


def one_way(rng, clang):
    """One of the ways to compile: (compiler, options)."""
    table = [("gcc", "-O0"), ("gcc", "-O1"), ("gcc", "-O2"), ("gcc", "-O2"), ("gcc", "-O1 " + golden.SANITIZE)]
    if clang:
        table += [(clang, "-O0"), (clang, "-O2"), (clang, "-O1 " + golden.SANITIZE)]
    if shutil.which("tcc"):
        table += [("tcc", "-g")]
    return rng.choice(table)


def runs(rng, no_uring):
    """Three ways to run."""
    for coin in ("0", f"50:{rng.randrange(1, 1000)}", f"100:{rng.randrange(1, 1000)}"):
        yield {"AESOP_ENGINE": "epoll" if no_uring else rng.choice(("uring", "epoll")), "AESOP_QUEUE": rng.choice(("hot", "fifo")),
               "AESOP_SUSPEND": coin, "AESOP_LEAKS": "1"}


def clean(outcome):
    return outcome.status == 0 and "runtime error:" not in outcome.err and "Sanitizer" not in outcome.err


def plain(folder, name, cc, flags, options):
    """Compiles and runs the plain C program; returns the Outcome of what went wrong, or of its run."""
    done = suite.run([cc, *flags.split(), "-o", folder / name, "plain.c", *options], cwd=folder, env=suite.environment(), seconds=120)
    if done.status != 0:
        return done
    return suite.run([folder / name], cwd=folder, env=suite.environment(), seconds=PLAIN_SECONDS * (10 if "sanitize" in flags else 1))


def wrong(folder, cc, flags, options, expected, rng, no_uring):
    """What is wrong with the program compiled in one way: (why, details), or None."""
    command = [suite.AECC, f"--cc={cc}", *flags.split(), "-o", folder / "prog", "prog.ae", *options]
    again = "again: " + " ".join(str(word) for word in command)
    done = suite.run(command, cwd=folder, env=suite.environment(), seconds=120)
    if done.status != 0:
        return "not compiled: " + done.describe(), suite.clip(done.err + done.out, 20) + "\n" + again
    if done.err.strip():
        return "compiled, but with warnings", suite.clip(done.err, 20) + "\n" + again
    for way in runs(rng, no_uring):
        ended = suite.run([folder / "prog"], cwd=folder, env=suite.environment(**way), seconds=RUN_SECONDS)
        how = " ".join(f"{key}={value}" for key, value in way.items())
        errors = "\nstderr:\n" + suite.clip(ended.err, 30) if ended.err.strip() else ""
        if not clean(ended) or ended.out != expected:
            why = ("wrong output" if ended.status == 0 and ended.out != expected else ended.describe()) + " with " + how
            return why, golden.difference(expected, suite.clip(ended.out, 10)) + errors + "\n" + again
    return None


def program(kind, seed, clang, no_uring, keep):
    name, folder = f"{kind}-{seed}", suite.scratch.folder(f"{kind}-{seed}")
    rng = random.Random(f"ways {name}")
    for attempt in range(20):  # one program in eight of csmith's runs for ever
        aesop, c, options = GENERATORS[kind].make(f"{seed}{attempt:02}", folder)
        (folder / "prog.ae").write_text(aesop)
        (folder / "plain.c").write_text(c)
        reference = plain(folder, "plain", "gcc", "-O1", options)
        if reference.status is not None:
            break
    if reference.status != 0:
        return [("FAIL", name, f"its plain C: {reference.describe()}", suite.clip(reference.err))]
    cc, flags = one_way(rng, clang)
    if cc == "tcc" and plain(folder, "plain-tcc", cc, flags, options).out != reference.out:
        cc, flags = "gcc", "-O0"  # tcc knows no _Atomic, among other things
    bad = wrong(folder, cc, flags, options, reference.out, rng, no_uring)
    if bad:
        way = f"{cc} {flags.replace(golden.SANITIZE, 'asan+ubsan')}"
        same = plain(folder, "plain-again", cc, flags, options)
        if not clean(same) or same.out != reference.out:
            return [("skip", name, f"plain C does not come out the same with {way}", "")]
        return [("FAIL", name, f"[{way}] {bad[0]}", bad[1] + f"\nits sources: python3 tests/fuzz.py --keep {name}")]
    if not keep:
        shutil.rmtree(folder)
    return [("ok", name, str(folder) if keep else "", "")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, metavar="N", help="how many (default 60, with --quick 16, with --long 600)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="number of the first (default 1)")
    parser.add_argument("--kind", choices=sorted(GENERATORS), help="only of this generator")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", action="store_true", help="keep the folders of programs that fail, and those of programs named")
    parser.add_argument("names", nargs="*", metavar="KIND-SEED")
    options = parser.parse_args()
    count = options.programs or (16 if options.quick else 600 if options.long else 60)
    kinds = [options.kind] if options.kind else sorted(GENERATORS)
    wanted = [(kinds[at % len(kinds)], options.seed + at // len(kinds)) for at in range(count)]
    if options.names:
        words = [name.rpartition("-") for name in options.names]
        wanted = [(kind, int(seed)) for kind, _, seed in words if kind in GENERATORS and seed.isdigit()]
    if not wanted:
        return 0
    if not suite.AECC.exists():
        suite.report("FAIL", "fuzz", f"{suite.AECC} does not exist; build it first (tools/setup)")
        return 1
    clang, no_uring, reason = golden.find_clang(), golden.uring_refused(), csmith.missing()
    if reason:
        suite.report("skip", "csmith", reason)
        wanted = [(kind, seed) for kind, seed in wanted if kind != "csmith"]
    suite.scratch.keep = options.keep
    tasks = [lambda kind=kind, seed=seed: program(kind, seed, clang, no_uring, options.keep and options.names) for kind, seed in wanted]
    return 0 if suite.run_all(tasks, options.jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
