"""Programs of csmith (Regehr's group, University of Utah), turned into Aesop.

csmith writes C programs that use no undefined behaviour and print a checksum of their global variables. Here every function of such a
program becomes an aesop function, calls that may wait are put between its statements and around its expressions, and some of its blocks
become pwaits, branches of their own, shields and deadlines that are never due. None of this may change the checksum. The same text is a
plain C program: what is not C is a macro that plain C defines away.
"""
import functools
import os
import random
import re
import shutil
import subprocess

FLAGS = "--max-funcs 4 --max-block-depth 3 --max-expr-complexity 6 --max-array-dim 2 --quiet".split()

HEAD = """#ifdef __AESOP__
#include <aesop.h>
#define WAIT() (void)aesop_timer(0)
#define YIELD() (void)aesop_yield()
#else
#define aesop
#define pwait
#define pbranch
#define pshield
#define pdeadline(ms)
#define WAIT() (void)0
#define YIELD() (void)0
#endif
"""


def include_folder():
    """Where csmith.h is, or None."""
    folders = ("/usr/include/csmith", "/usr/local/include/csmith")
    return next((folder for folder in folders if os.path.exists(folder + "/csmith.h")), None)


def missing():
    """What keeps these programs from being made here, or ''."""
    if not shutil.which("csmith"):
        return "csmith is not installed"
    return "" if include_folder() else "csmith.h is not installed (Debian: libcsmith-dev)"


@functools.cache
def safe_functions():
    """csmith's arithmetic without overflow: name -> (result, [parameter types])."""
    text = open(include_folder() + "/safe_math.h", encoding="ascii").read()
    found = re.findall(r"STATIC (\w+)\s+FUNC_NAME\((\w+)\)\(([^)]*?) LOG_INDEX\)", text)
    return {"safe_" + name: (result, [parameter.split()[0] if parameter.split()[0] != "unsigned" else "unsigned int"
                                      for parameter in parameters.split(",")]) for result, name, parameters in found}


def wrapper(name, result, types):
    """An aesop function around one of csmith's."""
    parameters = ", ".join(f"{kind} a{at}" for at, kind in enumerate(types))
    arguments = ", ".join(f"a{at}" for at in range(len(types)))
    return f"static aesop {result} waits_{name}({parameters}) {{ WAIT(); return {name}({arguments}); }}\n"


def closing(text, at):
    """Index of the parenthesis that closes the one at text[at]."""
    depth = 0
    for index in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if not depth:
            return index
    return None


def wrap_conditions(line, rng, share):
    """if (C) -> if (waits_int((C) != 0)), and the like for `for (...; C; ...)`, which csmith writes without a `;` in C."""
    match = re.match(r"\s*if \(", line)
    if match and rng.random() < share:
        at = match.end() - 1
        end = closing(line, at)
        if end is not None:
            return line[:at] + "(waits_int(" + line[at:end + 1] + " != 0))" + line[end + 1:]
    match = re.match(r"(\s*for \([^;]*; )([^;]*)(; .*)", line)
    if match and rng.random() < share:
        return f"{match[1]}waits_int(({match[2]}) != 0){match[3]}"
    return line


def block_ends(lines):
    """Index of a block's first line -> index of its last; csmith indents by block."""
    ends, open_at = {}, []
    for at, line in enumerate(lines):
        if re.match(r"\s*\{", line) and "}" not in line:
            open_at.append(at)
        elif re.match(r"\s*\}", line) and open_at:
            ends[open_at.pop()] = at
    return ends


def structure(lines, rng, share):
    """Makes some blocks into statements of Aesop, where that changes nothing."""
    for first, last in block_ends(lines).items():
        match = re.match(r"(\s+)\{ /\* block", lines[first])
        if not match or rng.random() >= share:
            continue
        body = "\n".join(lines[first:last])
        words = ["pwait", "pshield", "pwait pshield", "pshield pwait"]
        if "else" not in lines[last + 1]:
            words += ["pdeadline (1000000)", "pwait pdeadline (1000000)"]
        if not re.search(r"\b(goto|break|continue)\b", body):
            words += ["pwait pbranch"] * 5
        if not re.search(r"^\s*lbl_\d+:", body, re.M):
            lines[first] = f"{match[1]}{rng.choice(words)} {lines[first].strip()}"


def insert_waits(lines, rng, share):
    """A wait before some statements: where the line above ends a statement or begins a block, so that no else, label or loop is parted."""
    out, inside = [], False
    for line in lines:
        above = next((text.strip() for text in reversed(out) if text.strip()), "")
        indented = line.startswith("    ") and line.strip() and not line.strip().startswith(("else", "}", "{", "/*"))
        if inside and indented and rng.random() < share and (above.endswith((";", "}")) or re.search(r"\{ /\* block", above)):
            out.append(re.match(r"\s*", line)[0] + rng.choice(("WAIT();", "YIELD();")))
        out.append(line)
        if line.startswith(("{",)):
            inside = True
        elif line.startswith("}"):
            inside = False
    return out


def make(seed, folder):
    """Returns (Aesop source, plain C source, options for both compilers)."""
    rng = random.Random(f"csmith {seed}")
    flags = FLAGS + (["--no-packed-struct"] if rng.random() < 0.7 else []) + (["--float"] if rng.random() < 0.2 else []) \
        + (["--no-volatiles"] if rng.random() < 0.5 else [])
    text = subprocess.run(["csmith", "--seed", str(seed), *flags], capture_output=True, text=True, check=True, cwd=folder).stdout
    head, mark, functions = text.partition("/* --- FORWARD DECLARATIONS --- */")
    functions = functions.partition("/************************ statistics")[0]
    lines = functions.split("\n")
    waits, wraps, blocks = rng.choice((0.05, 0.3)), rng.choice((0.05, 0.3, 0.9)), rng.choice((0, 0.2, 0.5))
    structure(lines, rng, blocks)
    lines = insert_waits(lines, rng, waits)
    lines = [wrap_conditions(line, rng, wraps) for line in lines]
    lines = [re.sub(r"^(static .*\bfunc_\d+\(|int main \()", lambda match: "aesop " + match[0], line) for line in lines]
    known, used = safe_functions(), {}

    def wrapped(match):
        if match[0] not in known or rng.random() >= wraps:
            return match[0]
        used[match[0]] = known[match[0]]
        return "waits_" + match[0]
    body = re.sub(r"\bsafe_\w+", wrapped, "\n".join(lines))
    helpers = "static aesop int waits_int(int value) { YIELD(); return value; }\n"
    helpers += "".join(wrapper(name, *types) for name, types in sorted(used.items()))
    text = HEAD + head + helpers + mark + body
    return text, text, ["-I", include_folder(), "-w", "-lm"]
