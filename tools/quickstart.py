"""The part of ./quickstart that comes after the build: translate the file server, run it, drive it, print a table.

For each engine and each of the four request types a fresh server is started, so that its peak memory (VmHWM) belongs to that row. The
clients check every byte they read back. A machine whose kernel refuses io_uring gets the reason in the row instead of numbers.
Nothing is left behind: the servers are stopped with SIGTERM and must end with status 0, the files they served are removed.
"""
import argparse
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("AESOP_BUILD", ROOT / "build")).resolve()
BIN = BUILD / "bin"
TYPES = [("write", "-w"), ("read", "-r"), ("write-null", "-wn"), ("read-null", "-rn")]
ENGINES = ["uring", "epoll"]


class Refused(Exception):
    """The engine cannot work on this machine: the reason belongs in the table."""


class Failed(Exception):
    """Something went wrong that must not: said to the user, status 1."""


class Server:
    """One running file server."""

    def __init__(self, program, engine, folder):
        self.engine = engine
        environment = {**os.environ, "AESOP_ENGINE": engine}
        self.process = subprocess.Popen([str(program), "--port", "0", "--dir", str(folder)], env=environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.said = b""
        try:
            self.ip, self.port = self.listening(10)
        except BaseException:
            self.kill()
            raise

    def listening(self, seconds):
        """Waits for `listening on IP:PORT`."""
        until = time.monotonic() + seconds
        while True:
            found = re.search(rb"listening on ([0-9a-fA-F.:\[\]]+):(\d+)", self.said)
            if found and b"\n" in self.said[found.end():]:
                refused = re.search(rf"engine {self.engine} is not available: (.*); using", self.text())
                if refused:
                    raise Refused(refused[1])
                return found[1].decode(), int(found[2])
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise Failed(f"the server said nothing about listening within {seconds} s; it said: {self.text()}")
            more = os.read(self.process.stdout.fileno(), 4096)
            if not more:
                self.process.wait()
                raise Failed(f"the server ended with status {self.process.returncode}: {self.text()}")
            self.said += more

    def text(self):
        return self.said.decode(errors="replace").strip()

    def peak(self):
        """Peak resident memory in KiB, as the kernel counts it."""
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
        raise Failed("no VmHWM in /proc: has the server ended?")

    def stop(self):
        """SIGTERM: it finishes what it serves and ends with status 0."""
        self.process.send_signal(signal.SIGTERM)
        try:
            out, _ = self.process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failed("the server did not end within 10 s after SIGTERM")
        self.said += out
        if self.process.returncode != 0:
            raise Failed(f"the server ended with status {self.process.returncode}: {self.text()}")

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def run(command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if done.returncode:
        raise Failed(f"status {done.returncode} from {' '.join(str(word) for word in command)}\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout


def drive(server, clients, kind, requests, size):
    """All clients, one request type; returns what the client measured."""
    # One machine: no remote shell (plm), shared memory only (btl), more processes than processors.
    mpirun = ["mpirun", "-np", clients, "--oversubscribe", "--bind-to", "none", "--mca", "plm", "isolated", "--mca", "pml", "ob1",
              "--mca", "btl", "self,vader", "--mca", "btl_vader_single_copy_mechanism", "none"]
    command = mpirun + [BIN / "file-client", "--ip", server.ip, "--port", server.port, "--path", "quickstart", "--num-requests", requests,
                        "--size", size, f"--type{kind}", "--verify", "--json"]
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    try:
        out = run(command, env=environment, timeout=300)
    except subprocess.TimeoutExpired:
        raise Failed("the clients did not end within 300 s")
    for line in out.splitlines():
        if line.startswith("{"):
            return json.loads(line)
    raise Failed(f"the client printed no result: {out}")


def row(engine, name, cells):
    return f"  {engine:6} {name:11}" + "".join(f"{cell:>12}" for cell in cells)


def microseconds(seconds):
    return f"{seconds * 1e6:.0f} us" if seconds < 0.01 else f"{seconds * 1e3:.0f} ms"


def table(options, program, folder):
    """Prints the table row by row; returns how many rows have numbers."""
    print(row("engine", "requests", ["operations/s", "latency min", "1st quart.", "median", "3rd quart.", "max", "server peak"]))
    measured = 0
    for engine in ENGINES:
        for name, kind in TYPES:
            try:
                server = Server(program, engine, folder)
            except Refused as why:
                print(f"  {engine:6} {'':11}not available here: {why}")
                break
            try:
                result = drive(server, options.clients, kind, options.requests if "null" in name else options.file_requests, options.size)
                peak = server.peak()
                server.stop()
            finally:
                server.kill()
            latency = result["latency"]
            times = [microseconds(latency[key]) for key in ("min", "q1", "median", "q3", "max")]
            print(row(engine, name, [f"{result['ops_per_second']:.0f}", *times, f"{peak / 1024:.1f} MiB"]), flush=True)
            measured += 1
    return measured


def own_lines(text, source):
    """How many lines of emitted C come from the source itself, going by the line markers."""
    count, own = 0, False
    for line in text.splitlines():
        marker = re.match(r'#(?:line)? \d+ "([^"]*)"', line)
        if marker:
            own = marker[1] == str(source)
        elif own and line.strip():
            count += 1
    return count


def main():
    parser = argparse.ArgumentParser(prog="./quickstart", description="Installs, builds, and serves files to clients on both engines.")
    parser.add_argument("--clients", type=int, default=16, help="client processes (default: 16)")
    parser.add_argument("--requests", type=int, default=1024, help="requests of each client that touch no file (default: 1024)")
    parser.add_argument("--file-requests", type=int, default=64, help="requests of each client that read or write a file (default: 64)")
    parser.add_argument("--size", type=int, default=4096, help="bytes in a request (default: 4096)")
    options = parser.parse_args()
    work = BUILD / "quickstart"
    work.mkdir(parents=True, exist_ok=True)
    source = (ROOT / "servers" / "file" / "aesop.ae").relative_to(ROOT)
    print("\n2. translation")
    readable = work / "aesop.c"
    command = [BIN / "aecc", "-O2", f"-I{ROOT / 'servers' / 'file'}", "--emit-c", source, "-o", readable]
    begin = time.monotonic()
    run(command, cwd=ROOT)
    spent = time.monotonic() - begin
    print(f"  {source} ({len((ROOT / source).read_text().splitlines())} lines of Aesop) -> {shown(readable)} "
          f"({own_lines(readable.read_text(), source)} lines of C11 and what it includes) in {spent * 1000:.0f} ms; have a look")
    print(f"  compiled by the build into {shown(BIN / 'aesop-file-server')}")
    print(f"\n3. {options.clients} clients, {options.size}-byte requests, every byte read is checked")
    # Not in /tmp, which may be a tmpfs: those refuse O_DIRECT on older kernels.
    folder = Path(tempfile.mkdtemp(prefix="served-", dir=work))
    try:
        measured = table(options, BIN / "aesop-file-server", folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not measured:
        raise Failed("no engine works here")
    print("""
4. what next
  docs/language.md               the language, an example for each rule
  servers/file/aesop.ae          the server that you just saw: one branch a client, straight-line code
  build/bin/aecc -O2 -g -o prog prog.ae && ./prog      your own program; aecc takes a C compiler's options
  AESOP_ENGINE=epoll ./prog      the same binary on the other engine
  gdb ./prog                     breakpoints, steps and locals are those of the .ae file
  bench/run calls                what a call and a wait cost, beside plain C
  ./test --quick                 the tests""")
    return 0


def shown(path):
    return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except Failed as failure:
        print(f"./quickstart: {failure}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
