"""What a call, a wait and a branch cost, beside plain C and a bare callback.

Every row is a loop over --items items; all rows are measured in each repeat, in an order that changes, and each ratio is taken between
two measurements of the same repeat. The cost of reading the clock, measured in the same repeat, is taken off every sample; the loop
around the calls (row "empty loop") is not, it is part of every row and of what the row is compared with.

Each process runs a program of its own: the same objects, linked in another order with other gaps between them. Rows of a few
cycles change by 20 % with the place of their code, and one program would show that as a difference between languages.
"""
import random
import statistics

import harness

# (row, as printed, plain C peer); the bare callback is every row's other peer. An empty title for a peer: it is shown in its row only.
ROWS = [
    ("empty", "empty loop", None),
    ("plain_call", "regular call", None),
    ("call", "aesop call", "plain_call"),
    ("plain_malloc", "regular call with malloc and free", "plain_call"),
    ("plain_mutex", "... and a mutex", "plain_call"),
    ("plain_atomic", "... and an atomic instead", "plain_call"),
    ("call_may_wait", "aesop call of a function that could wait", "plain_call"),
    ("chain", "chain of three, locals live", "plain_chain"),
    ("address", "a local's address taken", "plain_address"),
    ("callback", "bare callback", "plain_call"),
    ("callback_batch", "bare callback, 64 a turn", "plain_call"),
    ("wait0", "wait and resume in the loop itself", "plain_call"),
    ("yield", "aesop_yield in the loop itself", "plain_call"),
    ("wait1", "wait and resume at depth 1", "plain_call"),
    ("wait1_slot", "... through a slot", "plain_call"),
    ("wait3", "wait and resume at depth 3", "plain_ladder3"),
    ("wait10", "wait and resume at depth 10", "plain_ladder10"),
    ("join", "start and join a branch, does not wait", "plain_call"),
    ("join_waits", "start and join a branch, waits", "plain_call"),
    ("branches", "one of many branches, does not wait", "plain_call"),
    ("branches_wait", "one of many branches, waits", "plain_call"),
]
# What is aimed at today: row -> (compared with, limit). Printed, never asserted: a number depends on the machine it was measured on.
TARGETS = {"call": ("plain", 1.25), "chain": ("plain", 1.6), "wait1": ("callback", 3.5)}
MEMORY_TARGET = 192


def add_options(parser):
    parser.add_argument("--processes", type=int, help="how many processes (default: 16; quick: 6)")
    parser.add_argument("--repeats", type=int, help="repeats in each (default: 201; quick: 101)")
    parser.add_argument("--items", type=int, default=2000, help="items in each sample (default: 2000)")
    parser.add_argument("--branches", type=int, default=100000, help="waiting branches for the memory rows (default: 100000)")


def build(context):
    """Compiles everything with the one compiler and the same options; returns the objects and the gaps."""
    cc, aecc, source, folder = context.options.cc, context.build / "bin" / "aecc", context.source, context.folder
    flags = ["-O2", "-g", "-Wall", "-Wextra", f"-I{source}"]
    objects = []

    def compile_one(compiler, name, tag="", *defines):
        target = folder / f"{name}{tag}.o"
        context.command(*compiler, *flags, *defines, "-c", "-o", target, source / name)
        objects.append(target)

    for name in ("plain.c", "callee.c", "callback.c", "measure.c"):
        compile_one([cc], name)
    # The leaf is part of a runtime as any resource is, and sees what the runtime's own leaves see.
    compile_one([cc], "leaf.c", "", "-D_GNU_SOURCE", f"-I{harness.ROOT / 'runtime'}", f"-I{harness.ROOT / 'runtime' / 'include'}")
    for name in ("rows.ae", "callee.ae"):
        compile_one([aecc, f"--cc={cc}"], name)
    for compiler, name, end, prefix in (([cc], "link.c", "add_c", "_c"), ([aecc, f"--cc={cc}"], "link.ae", "add", "_")):
        compile_one(compiler, name, ".chain1", f"-DCHAIN=chain{prefix}1", f"-DNEXT=chain{prefix}2")
        compile_one(compiler, name, ".chain2", f"-DCHAIN=chain{prefix}2", f"-DNEXT={end}")
        compile_one(compiler, name, ".step1", f"-DSTEP=step{prefix}1", f"-DNEXT=step{prefix}2")
        compile_one(compiler, name, ".step2", f"-DSTEP=step{prefix}2", f"-DNEXT=step{prefix}1")
    gaps = []
    for size in (16, 32, 48):
        (folder / f"gap{size}.c").write_text(f'__asm__(".text\\n.balign 16\\n.skip {size}\\n");\n')
        context.command(cc, "-c", "-o", folder / f"gap{size}.o", folder / f"gap{size}.c")
        gaps.append(folder / f"gap{size}.o")
    return objects, gaps


def link(context, objects, gaps, number):
    """The program of one process; the same number gives the same layout."""
    chance = random.Random(number)
    inputs = []
    for item in chance.sample(objects, len(objects)):
        inputs += [item] + chance.choices(gaps, k=chance.randrange(4))
    program = context.folder / f"calls{number}"
    context.command(context.build / "bin" / "aecc", f"--cc={context.options.cc}", "-o", program, *inputs)
    return program


def measure(context, objects, gaps):
    """Returns (samples, memory): samples[process][row] = list over repeats; memory[(depth, kind)] = list of bytes."""
    options = context.options
    processes = options.processes or (6 if options.quick else 16)
    repeats = options.repeats or (101 if options.quick else 201)
    samples, memory = [], {}
    raw = open(context.folder / "raw.csv", "w")
    raw.write("process,row,repeat,ns\n")
    for number in range(processes):
        program = link(context, objects, gaps, number)
        rows = {}
        for line in context.pinned(program, repeats, options.items, number + 1, 0).splitlines():
            kind, row, repeat, value = line.split(",")
            rows.setdefault(row, []).append(float(value))
            raw.write(f"{number},{row},{repeat},{value}\n")
        samples.append(rows)
        context.progress(number + 1, processes, "processes")
    rounds = 4 * (1 if options.quick else 3)
    for number in range(rounds):
        _, depth, kind, value = context.pinned(program, 1, 1, number, options.branches).strip().split(",")
        memory.setdefault((int(depth), kind), []).append(int(value))
        raw.write(f"{number},memory_{kind}_{depth},0,{value}\n")
        context.progress(number + 1, rounds, "memory")
    raw.close()
    return samples, memory


def evaluate(samples):
    """row -> its ns (minimum, median) and its ratios to the peers: (minimum, median, low, high) over the processes."""
    net = [{row: [max(v - n, 1e-3) for v, n in zip(values, rows["nothing"])] for row, values in rows.items() if row != "nothing"}
           for rows in samples]

    def ratio(row, peer):
        medians = [statistics.median(a / b for a, b in zip(rows[row], rows[peer])) for rows in net]
        return (min(medians), statistics.median(medians), *harness.interval(medians))

    result = {}
    for row, _, peer in ROWS:
        result[row] = {
            "ns": (min(min(rows[row]) for rows in net), statistics.median(statistics.median(rows[row]) for rows in net)),
            "plain_ns": statistics.median(statistics.median(rows[peer]) for rows in net) if peer else None,
            "plain": ratio(row, peer) if peer else None,
            "callback": ratio(row, "callback") if row not in ("empty", "callback") else None,
        }
    return result


def shown_ratio(value):
    return "" if value is None else f"{value[0]:.2f} {value[1]:.2f} [{value[2]:.2f}, {value[3]:.2f}]"


def report(context, result, memory):
    header = ["ns for one", "min", "median", "plain C", "ratio: min median [95 %]", "to a callback: min median [95 %]", "target"]
    rows, values = [], []
    for row, title, _ in ROWS:
        one, target = result[row], ""
        if row in TARGETS:
            peer, limit = TARGETS[row]
            target = f"<= {limit}x {'plain C' if peer == 'plain' else 'a callback'}: {'met' if one[peer][1] <= limit else 'missed'}"
        rows.append([title, f"{one['ns'][0]:.2f}", f"{one['ns'][1]:.2f}", f"{one['plain_ns']:.2f}" if one["plain_ns"] else "",
                     shown_ratio(one["plain"]), shown_ratio(one["callback"]), target])
        values.append([row, *(f"{v:.4f}" for v in one["ns"]), f"{one['plain_ns'] or float('nan'):.4f}",
                       *(f"{v:.4f}" for v in one["plain"] or [float("nan")] * 4),
                       *(f"{v:.4f}" for v in one["callback"] or [float("nan")] * 4)])
    spent = []
    for (depth, kind), found in sorted(memory.items(), key=lambda item: (item[0][1], item[0][0])):
        where = "ready, in the queue" if kind == "ready" else "on a timer"
        middle = statistics.median(found)
        target = f"<= {MEMORY_TARGET}: {'met' if middle <= MEMORY_TARGET else 'missed'}" if (depth, kind) == (1, "ready") else ""
        spent.append([f"waiting at depth {depth}, {where}", str(min(found)), f"{middle:.0f}", target])
        values.append([f"memory_{kind}_{depth}", min(found), middle] + ["nan"] * 9)
    facts = context.provenance()
    text = (f"# bench/run calls\n\n{harness.table(header, rows)}\n\n"
            f"{harness.table(['bytes of resident memory for one branch', 'min', 'median', 'target'], spent)}\n\n"
            + "\n".join(f"- {name}: {value}" for name, value in facts) + "\n")
    names = ["row", "min", "median", "plain_median"]
    names += [f"to_{peer}_{what}" for peer in ("plain", "callback") for what in ("min", "median", "low", "high")]
    comment = "".join(f"# {name}: {value}\n" for name, value in facts)
    context.write("machine.txt", "".join(f"{name}: {value}\n" for name, value in facts))
    print("\n" + text)
    print("raw.csv (one line a sample), table.csv, table.md and plot.png are in", context.write("table.md", text).parent)
    context.write("table.csv", comment + harness.csv(names, values))


def plot(context, result):
    try:
        import matplotlib
    except ImportError:
        print("no plot: python3-matplotlib is not installed (tools/setup bench)")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as pyplot
    shown = [(title, result[row], row) for row, title, _ in reversed(ROWS) if row != "empty"]
    figure, axes = pyplot.subplots(figsize=(10, 7), constrained_layout=True)
    colours = ["#999999" if row.startswith(("plain", "callback")) else "#4878a8" for _, _, row in shown]
    axes.barh([title for title, _, _ in shown], [one["ns"][1] for _, one, _ in shown], color=colours)
    for index, (_, one, _) in enumerate(shown):
        note = f" {one['ns'][1]:.2f} ns" + (f", {one['plain'][1]:.2f}x plain C" if one["plain"] else "")
        axes.text(one["ns"][1], index, note, va="center", fontsize=8)
    axes.set_xscale("log")
    axes.set_xlim(right=axes.get_xlim()[1] * 4)
    axes.set_xlabel("ns for one, median over processes (grey: C, blue: Aesop)")
    facts = dict(context.provenance())
    axes.set_title(f"{facts['command']} at {facts['commit']}\n{facts['processor']}, {facts['compiler']}", fontsize=9)
    figure.savefig(context.folder / "plot.png", dpi=120)


def run(context):
    context.say("compiling")
    objects, gaps = build(context)
    context.say("measuring (nothing else should run on this machine meanwhile)")
    samples, memory = measure(context, objects, gaps)
    result = evaluate(samples)
    plot(context, result)
    report(context, result, memory)
    return 0
