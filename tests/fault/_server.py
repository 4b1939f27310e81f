"""A file server under test, and a client that may misbehave: what the programs beside this one share. Standard library only."""
import errno
import itertools
import os
import re
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import suite  # noqa: E402

PROGRAM = suite.BUILD / "bin" / "aesop-file-server"
CLIENT = suite.BUILD / "bin" / "file-client"
READ, WRITE, READ_NULL, WRITE_NULL = 1, 2, 3, 4
REQUEST, RESPONSE, HEADER, VERSION = b"AEFQ", b"AEFR", 24, 1


class Skip(Exception):
    """The test cannot run here; the message says why."""


def check(true, message):
    if not true:
        raise AssertionError(message)


def same(found, expected, what):
    if found != expected:
        def shown(x):
            return repr(x) if len(repr(x)) < 120 else repr(x)[:120] + "..."
        raise AssertionError(f"{what}: {shown(found)}, not {shown(expected)}")


def status_name(status):
    return "0" if status == 0 else "-EOPNOTSUPP" if status == -errno.EOPNOTSUPP else "-" + errno.errorcode.get(-status, str(-status))


def until(condition, what, seconds=5):
    """Waits for something that happens soon; returns its value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.01)


def instrumented():
    """Whether the server was built with a sanitizer: its memory then says nothing."""
    data = PROGRAM.read_bytes()
    return b"__asan_init" in data or b"__tsan_init" in data


class Server:
    """One running server; with `with`, it is stopped by SIGTERM and must end with status 0."""

    def __init__(self, folder, engine, *options, environment=(), limits=(), before=()):
        self.folder = Path(folder)
        variables = {"AESOP_ENGINE": engine, "AESOP_LEAKS": "1", **dict(environment)}

        def prepare():
            for which, value in limits:
                resource.setrlimit(which, (value, value))

        command = [*before, str(PROGRAM), "--port", "0", "--dir", str(folder), *[str(word) for word in options]]
        self.errors_file = open(self.folder / ".stderr" if self.folder.is_dir() else os.devnull, "w+b")
        os.unlink(self.errors_file.name) if self.folder.is_dir() else None
        self.process = subprocess.Popen(command, env=suite.environment(**variables), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=self.errors_file, preexec_fn=prepare, start_new_session=True)
        self.pid, self.peers, self.ended = self.process.pid, [], False
        try:
            self.port = self.listening()
        except BaseException:
            self.kill()
            raise

    def listening(self, seconds=20):
        said, end = b"", time.monotonic() + seconds
        while not said.endswith(b"\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))
            more = os.read(self.process.stdout.fileno(), 4096) if ready else b""
            if not more:
                self.process.poll() if ready else None
                raise AssertionError(f"the server does not say that it listens; stdout: {said!r}, stderr: {self.errors()!r}")
            said += more
        found = re.fullmatch(rb"listening on 127\.0\.0\.1:(\d+)\n", said)
        check(found, f"the server says {said!r}")
        return int(found[1])

    def errors(self):
        self.errors_file.seek(0)
        return self.errors_file.read().decode(errors="replace")

    def connect(self, seconds=10, small=False):
        peer = Peer(self.port, seconds, small)
        self.peers.append(peer)
        return peer

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def baseline(self):
        """Descriptors without clients other than those there are; what the server opens at its start is open."""
        peer = self.connect()
        peer.works()
        number = self.descriptors() - 1
        peer.close()
        until(lambda: self.descriptors() == number, "the descriptor of a client that has left is given back")
        return number

    def resident(self):
        """KiB that are the process's own: without files that are mapped, whose pages come and go."""
        for line in open(f"/proc/{self.pid}/status"):
            if line.startswith("RssAnon:"):
                return int(line.split()[1])
        raise AssertionError("the server is gone")

    def cpu(self):
        fields = open(f"/proc/{self.pid}/stat").read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def end(self, seconds=10):
        """Waits for the end; returns the exit status, negative for a signal."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the server still runs after {seconds} s; stderr: {self.errors()!r}")
        self.ended = True
        return self.process.returncode

    def kill(self):
        for peer in self.peers:
            peer.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind is None and not self.ended:
                check(self.process.poll() is None, f"the server has ended with status {self.process.returncode}; stderr: {self.errors()!r}")
                for peer in self.peers:
                    peer.close()
                self.signal()
                status = self.end()
                check(status == 0, f"the server's exit status is {status}; stderr: {self.errors()!r}")
            elif kind is not None:
                status = self.process.poll()
                if status is not None and isinstance(value, Exception):
                    value.args = (f"{value} (the server has ended with status {status}; stderr: {self.errors()!r})",)
        finally:
            self.kill()
            self.errors_file.close()


class Peer:
    """A connection, and as much of the protocol as a test wants."""

    def __init__(self, port, seconds=10, small=False):
        self.socket = socket.socket()
        if small:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(seconds)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, data):
        self.socket.sendall(data)

    def request(self, kind, size=0, path=b"", payload=b""):
        self.send(header(kind, size, len(path)) + path + payload)

    def receive(self, size):
        """size bytes, or fewer at the end of the stream."""
        parts, left = [], size
        while left:
            part = self.socket.recv(min(left, 1 << 20))
            if not part:
                break
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def answer(self):
        """(status, size, payload) of the next answer."""
        data = self.receive(HEADER)
        check(len(data) == HEADER, f"the connection ends after {len(data)} bytes of an answer")
        magic, version, kind, size, status, zero = struct.unpack("<4sHHQiI", data)
        same((magic, version, zero), (RESPONSE, VERSION, 0), "the answer's header")
        payload = self.receive(size) if status == 0 and kind in (READ, READ_NULL) else b""
        if status == 0 and kind in (READ, READ_NULL):
            same(len(payload), size, "length of the payload")
        return status, size, payload

    def ask(self, kind, size=0, path=b"", payload=b""):
        self.request(kind, size, path, payload)
        return self.answer()

    def expect(self, status, kind, size=0, path=b"", payload=b"", what=""):
        found = self.ask(kind, size, path, payload)
        same(status_name(found[0]), status_name(status), f"status of {what or (path or kind)}")
        return found[2]

    def write(self, path, data):
        self.expect(0, WRITE, len(data), path, data, f"write of {path!r}, {len(data)} bytes")

    def read(self, path, size):
        return self.expect(0, READ, size, path, what=f"read of {path!r}")

    def works(self):
        same(self.expect(0, READ_NULL, 10), bytes(10), "read-null")

    def ends(self):
        """The server closes the connection."""
        try:
            data = self.socket.recv(1)
        except ConnectionResetError:
            return
        except socket.timeout:
            raise AssertionError("the server does not close the connection")
        same(data, b"", "after the end")

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        """Vanishes: the server gets a reset, not an orderly end."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self):
        self.socket.close()


def header(kind, size=0, path_length=0, magic=REQUEST, version=VERSION, zero=0):
    return struct.pack("<4sHHQII", magic, version, kind, size, path_length, zero)


def pattern(size, seed=1):
    word = b"".join(struct.pack("<I", (i * 2654435761 + seed * 40503) & 0xFFFFFFFF) for i in range(1024))
    return (word * (size // len(word) + 1))[:size]


def engines():
    """uring and epoll; where the kernel refuses io_uring, it is left out, with the reason."""
    probe = suite.scratch.folder("probe")
    with Server(probe, "uring") as server:
        reason = server.errors().strip()
    if reason:
        suite.report("skip", "uring", reason)
        return ["epoll"]
    return ["uring", "epoll"]


def run(*groups):
    """Groups of (tests, engines): each test on each engine. Prints the results and returns the exit status."""
    counts = {"ok": 0, "FAIL": 0, "skip": 0}
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    for tests, names in groups:
        for test, engine in itertools.product(tests, names):
            name = f"{test.__name__.replace('_', '-')} {engine}".strip()
            if words and not any(word in name for word in words):
                continue
            folder = suite.scratch.folder(test.__name__)
            kind, why = "ok", ""
            try:
                test(folder, engine)
            except Skip as reason:
                kind, why = "skip", str(reason)
            except (AssertionError, OSError, subprocess.SubprocessError) as problem:
                kind, why = "FAIL", str(problem) or repr(problem)
                place = problem.__traceback__
                while place.tb_next and Path(place.tb_next.tb_frame.f_code.co_filename).name == Path(sys.argv[0]).name:
                    place = place.tb_next
                why += f" (line {place.tb_lineno})"
            counts[kind] += 1
            suite.report(kind, name, why)
    suite.scratch.remove()
    print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['skip']} skipped")
    return 1 if counts["FAIL"] else 0


def start():
    """Checks that there is something to test. Returns the engines."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda n, _frame: sys.exit(128 + n))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192) if hard > 0 else 8192, hard))
    if not PROGRAM.exists():
        suite.report("FAIL", "server", f"{PROGRAM} is not built")
        print("0 passed, 1 failed, 0 skipped")
        sys.exit(1)
    return engines()
