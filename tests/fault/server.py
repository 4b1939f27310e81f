#!/usr/bin/python3
"""The file server against clients, disks and limits that misbehave, on both engines. See _server.py for the means.

Whatever happens: the server goes on, says what is wrong on the wire where somebody can hear it, gives back what it took, and ends with status 0.
"""
import errno
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

from _server import (PROGRAM, READ, READ_NULL, WRITE, WRITE_NULL, Server, Skip, check, header, instrumented, pattern, run, same, start,
                     status_name, suite, until)

SIZES = [0, 1, 511, 512, 4095, 4096, 4097, 65536, 65537, 262143, 262144, 262145, 300001, 1048577]


def exchange(server, sizes):
    """All four requests in all sizes over one connection, every byte checked on the disk and over the wire."""
    peer = server.connect()
    for size in sizes:
        data = pattern(size, size)
        peer.write(b"file", data)
        same((server.folder / "file").read_bytes(), data, f"the file on the disk, {size} bytes")
        same(peer.read(b"file", size), data, f"read of {size} bytes")
        same(peer.read(b"file", size + 100), data, f"read of 100 bytes more than {size}")
        same(peer.read(b"file", size // 2), data[:size // 2], f"read of half of {size} bytes")
        same(peer.read(b"file", size + 300000), data, f"read of 300000 bytes more than {size}")
        same(peer.expect(0, READ_NULL, size), bytes(size), f"read-null of {size} bytes")
        peer.expect(0, WRITE_NULL, size, payload=data)
    peer.close()


def all_requests(folder, engine):
    with Server(folder, engine) as server:
        exchange(server, SIZES)
        same(server.errors(), "", "stderr")


def all_requests_suspended(folder, engine):
    """Calls that need not wait are made to wait, by a seeded coin; and the other order of the queue."""
    for environment in ({"AESOP_SUSPEND": "100"}, {"AESOP_SUSPEND": "30:7"}, {"AESOP_QUEUE": "fifo"}, {"AESOP_POOL": "1"}):
        with Server(folder, engine, environment=environment) as server:
            exchange(server, [0, 4097, 300001])


def byte_by_byte(folder, engine):
    """A request that comes in pieces is one request; two that come at once are two."""
    with Server(folder, engine) as server:
        peer = server.connect()
        for byte in header(WRITE, 3, 1) + b"f" + b"abc":
            peer.send(bytes([byte]))
            time.sleep(0.002)
        same(peer.answer()[:2], (0, 3), "answer")
        peer.send((header(READ, 9, 1) + b"f") * 2 + header(READ_NULL, 1)[:5])
        same([peer.answer()[2], peer.answer()[2]], [b"abc", b"abc"], "answers")
        peer.send(header(READ_NULL, 1)[5:])
        same(peer.answer()[2], b"\0", "answer")


def missing_file(folder, engine):
    with Server(folder, engine) as server:
        peer = server.connect()
        peer.expect(-errno.ENOENT, READ, 10, b"nothing")
        peer.expect(-errno.ENOENT, READ, 10, b"no/folder")
        peer.expect(-errno.ENOENT, WRITE, 3, b"no/folder", b"abc")
        peer.expect(-errno.ENOENT, READ, 10, b"")
        peer.expect(-errno.ENOENT, WRITE, 300000, b"no/folder", bytes(300000), "a write whose payload is thrown away")
        peer.works()


def special_files(folder, engine):
    (folder / "folder").mkdir()
    os.mkfifo(folder / "fifo")
    with Server(folder, engine) as server:
        peer = server.connect()
        for size in (10, 300000):
            peer.expect(-errno.EISDIR, READ, size, b"folder")
            peer.expect(-errno.EISDIR, READ, size, b".")
            check(peer.ask(READ, size, b"fifo")[0] < 0, "a pipe is read")
            check(peer.ask(WRITE, size, b"fifo", bytes(size))[0] < 0, "a pipe is written")
        peer.expect(-errno.EISDIR, WRITE, 3, b"folder", b"abc")
        peer.expect(-errno.EINVAL, READ, 3, b"a\0b")
        check((folder / "fifo").is_fifo() and (folder / "folder").is_dir(), "a special file was removed")
        peer.works()


def climbing_out(folder, engine):
    served, outside = folder / "served", folder / "outside"
    for new in (served, served / "inside", outside):
        new.mkdir()
    (outside / "secret").write_bytes(b"secret")
    (served / "inside" / "file").write_bytes(b"public")
    (served / "file-out").symlink_to("../outside/secret")
    (served / "file-out-absolute").symlink_to(outside / "secret")
    (served / "new-out").symlink_to("../outside/new")
    (served / "folder-out").symlink_to("../outside")
    (served / "file-in").symlink_to("inside/file")
    (served / "folder-in").symlink_to("inside")
    with Server(served, engine) as server:
        peer = server.connect()
        ways = [b"../outside/secret", b"inside/../../outside/secret", os.fsencode(outside / "secret"), b"file-out", b"file-out-absolute",
                b"folder-out/secret", b"/etc/passwd", b"./../outside/secret", b"folder-in/../../outside/secret", b".."]
        for way in ways:
            peer.expect(-errno.EACCES, READ, 6, way)
            peer.expect(-errno.EACCES, WRITE, 3, way, b"abc")
        for way in (b"../outside/new", b"folder-out/new", b"new-out", b"../new", os.fsencode(outside / "new")):
            peer.expect(-errno.EACCES, WRITE, 3, way, b"abc")
        for way in (b"inside/file", b"./inside/file", b"inside/../inside/file", b"file-in", b"folder-in/file"):
            same(peer.read(way, 100), b"public", way)
        peer.write(b"folder-in/new", b"new")
        same(sorted(os.listdir(outside)), ["secret"], "files outside")
        same((outside / "secret").read_bytes(), b"secret", "the file outside")
        same((served / "inside" / "new").read_bytes(), b"new", "the new file")


def beyond_the_limit(folder, engine):
    (folder / "file").write_bytes(b"old")
    with Server(folder, engine, "--max-size", 100000) as server:
        peer = server.connect()
        for kind in (READ, READ_NULL):
            for size in (100001, 1 << 63, (1 << 64) - 1):
                peer.expect(-errno.EFBIG, kind, size, b"file")
        same(peer.read(b"file", 100000), b"old", "a read at the limit")
        peer.write(b"new", pattern(100000))
        for kind in (WRITE, WRITE_NULL):
            for size in (100001, 1 << 40, (1 << 64) - 1):
                peer = server.connect()
                peer.request(kind, size, b"file")
                same(status_name(peer.answer()[0]), "-EFBIG", "status")
                peer.ends()
        peer = server.connect()
        peer.request(WRITE, 3000000, b"file", bytes(3000000))
        same(status_name(peer.answer()[0]), "-EFBIG", "status, with the payload underway")
        peer = server.connect()
        peer.send(header(READ, 1, 1025) + b"a" * 1025)
        same(status_name(peer.answer()[0]), "-ENAMETOOLONG", "status of a path that is too long")
        peer.ends()
        peer = server.connect()
        peer.send(header(READ, 1, (1 << 32) - 1))
        same(status_name(peer.answer()[0]), "-ENAMETOOLONG", "status of a path that is much too long")
        peer = server.connect()
        peer.expect(-errno.ENAMETOOLONG, READ, 1, b"a" * 1024, what="a name that the file system refuses")
        peer.works()
        same((folder / "file").read_bytes(), b"old", "the file")


def not_a_request(folder, engine):
    with Server(folder, engine) as server:
        for data, status in ((header(1, magic=b"HTTP"), "-EPROTO"), (header(1, version=2), "-EPROTONOSUPPORT"), (header(0), "-EOPNOTSUPP"),
                             (header(5), "-EOPNOTSUPP"), (header(1, zero=1), "-EPROTO"), (b"GET / HTTP/1.0\r\n\r\n" * 500, "-EPROTO")):
            peer = server.connect()
            peer.send(data)
            same(status_name(peer.answer()[0]), status, f"status of {data[:24]!r}")
            peer.ends()
        server.connect().works()


def cut_short(folder, engine):
    """The client says that it is done in the middle of a request: told so. Nothing half-written stays."""
    whole = header(WRITE, 300000, 4) + b"file" + bytes(300000)
    with Server(folder, engine) as server:
        before = server.baseline()
        for length in (1, 10, 23, 24, 26, 28, 29, 5000, 262172, 262173, len(whole) - 1):
            peer = server.connect()
            peer.send(whole[:length])
            peer.half_close()
            same(status_name(peer.answer()[0]), "-EPROTO", f"status after {length} bytes")
            peer.ends()
            peer.close()
        same(os.listdir(folder), [], "files")
        peer = server.connect()
        peer.half_close()
        peer.ends()
        peer.close()
        until(lambda: server.descriptors() == before, "descriptors are given back")
        server.connect().works()


def vanishing(folder, engine):
    """The client is gone in the middle of a request, with a reset."""
    whole = header(WRITE, 300000, 4) + b"file" + bytes(300000)
    with Server(folder, engine) as server:
        before = server.baseline()
        for length in (1, 24, 28, 262173, len(whole) - 1, len(whole)):
            peer = server.connect()
            peer.send(whole[:length])
            peer.reset()
        for _ in range(10):
            peer = server.connect()
            peer.request(READ_NULL, 50000000)
            peer.receive(100)
            peer.reset()
        until(lambda: server.descriptors() == before, "descriptors are given back")
        check(set(os.listdir(folder)) <= {"file"}, "there are other files")
        server.connect().works()


def stalling(folder, engine):
    """The client stops sending in the middle of a request: told so after the time limit. An idle one may stay."""
    whole = header(WRITE, 300000, 4) + b"file" + bytes(300000)
    with Server(folder, engine, "--timeout", 1) as server:
        idle = server.connect()
        idle.works()
        before, peers = server.baseline(), []
        for length in (10, 24, 1000, 270000):
            peers.append(server.connect())
            peers[-1].send(whole[:length])
        begin = time.monotonic()
        for peer in peers:
            same(status_name(peer.answer()[0]), "-ETIMEDOUT", "status")
            peer.ends()
            peer.close()
        check(0.8 < time.monotonic() - begin < 4, "the time limit was not kept")
        until(lambda: server.descriptors() == before, "descriptors are given back")
        same(os.listdir(folder), [], "files")
        idle.works()


def not_reading(folder, engine):
    """The client does not read its answer: closed after the time limit; others do not notice."""
    (folder / "large").write_bytes(bytes(20000000))
    with Server(folder, engine, "--timeout", 1) as server:
        other = server.connect()
        other.works()
        before = server.baseline()
        for size, path in ((50000000, b""), (20000000, b"large")):
            for _ in range(5):
                peer = server.connect(small=True)
                peer.request(READ if path else READ_NULL, size, path)
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            other.works()
        until(lambda: server.descriptors() == before, "descriptors are given back")
        other.works()


def in_private_mount(folder, kind, options):
    """Words in front of the server's command: a file system of its own at the folder, which is gone when the server has ended."""
    if not shutil.which("unshare") or not shutil.which("mount"):
        raise Skip("no unshare or mount (Debian: util-linux, mount)")
    command = f'mount -t {kind} {"-o " + options if options else ""} test "$0" && exec "$@"'
    words = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c", command, str(folder)]
    probe = subprocess.run([*words, "true"], capture_output=True, text=True)
    if probe.returncode:
        raise Skip(f"mounting a {kind} is not permitted here: {probe.stderr.strip()}")
    return words


def full_disk(folder, engine):
    before = in_private_mount(folder, "tmpfs", "size=1m")
    with Server(folder, engine, before=before) as server:
        peer = server.connect()
        peer.write(b"one", pattern(600000))
        for size in (900000, 500000, 460000):
            peer.expect(-errno.ENOSPC, WRITE, size, b"two", pattern(size))
            peer.expect(-errno.ENOENT, READ, 10, b"two", what="what was written of it")
        same(peer.read(b"one", 600000), pattern(600000), "the first file")
        peer.write(b"two", pattern(100000))
        same(peer.read(b"two", 100000), pattern(100000), "a file that fits")
        peer.expect(-errno.ENOSPC, WRITE, 900000, b"./three", pattern(900000))
        peer.expect(-errno.ENOENT, READ, 10, b"three", what="what was written of it")


def without_direct(folder, engine):
    """A file system that refuses O_DIRECT is said once, and served."""
    before = in_private_mount(folder, "ramfs", "")
    with Server(folder, engine, before=before) as server:
        peer = server.connect()
        for size in (10, 4096, 300001):
            peer.write(b"file", pattern(size))
            same(peer.read(b"file", size + 5), pattern(size), "the file")
        if not server.errors():
            raise Skip("this kernel's ramfs takes O_DIRECT")
        same(server.errors().count("O_DIRECT"), 1, "lines about O_DIRECT")


def file_size_limit(folder, engine):
    """RLIMIT_FSIZE: an error of the write, not a signal."""
    with Server(folder, engine, limits=[(resource.RLIMIT_FSIZE, 100 * 4096)]) as server:
        peer = server.connect()
        peer.write(b"fits", pattern(100 * 4096))
        peer.expect(-errno.EFBIG, WRITE, 500000, b"large", pattern(500000))
        peer.expect(-errno.EFBIG, WRITE, 100 * 4096 + 1, b"large", pattern(100 * 4096 + 1))
        same(os.listdir(folder), ["fits"], "files")


def read_only_folder(folder, engine):
    (folder / "file").write_bytes(b"data")
    before = in_private_mount(folder, "tmpfs", "size=1m,ro")
    with Server(folder, engine, before=before) as server:
        peer = server.connect()
        peer.expect(-errno.EROFS, WRITE, 3, b"file", b"abc")
        peer.works()


def descriptors_exhausted(folder, engine):
    """Those who come too late are told; the others are served; nothing spins; later ones get in again."""
    with Server(folder, engine, limits=[(resource.RLIMIT_NOFILE, 64)]) as server:
        first = server.connect()
        first.write(b"file", b"abc")
        before = server.baseline()
        peers = []
        for _ in range(80):
            peers.append(server.connect(seconds=20))
        told = None
        for peer in peers:  # exactly those that were accepted normally do not speak
            peer.socket.settimeout(0)
        def anybody_told():
            for peer in peers:
                try:
                    if peer.socket.recv(1, socket.MSG_PEEK):
                        return peer
                except BlockingIOError:
                    pass
            return None
        told = until(anybody_told, "somebody is told that there are no descriptors")
        told.socket.settimeout(10)
        same(status_name(told.answer()[0]), "-EMFILE", "status")
        spent, begin = server.cpu(), time.monotonic()
        time.sleep(1)
        spent, took = server.cpu() - spent, time.monotonic() - begin
        check(spent < 0.3 * took, f"the server used {spent:.2f} s of processor time in {took:.2f} s of having no descriptors")
        first.works()
        first.expect(-errno.EMFILE, READ, 3, b"file", what="a read without a descriptor for the file")
        for peer in peers:
            peer.close()
        until(lambda: server.descriptors() == before, "descriptors are given back", 20)
        same(first.read(b"file", 3), b"abc", "the file")
        server.connect().works()


def load(server, clients, vanish):
    """Many clients at once; every second one vanishes in the middle of something if `vanish`."""
    peers = [server.connect(30) for _ in range(clients)]
    for number, peer in enumerate(peers):
        peer.request(WRITE, 40000, b"%d" % number, pattern(40000, number))
    for peer in peers:
        same(peer.answer()[:2], (0, 40000), "answer")
    cuts = [header(WRITE, 5000, 3)[:11], header(WRITE, 5000, 3) + b"x", header(WRITE, 300000, 3) + b"gon" + bytes(2000),
            header(READ_NULL, 30000000), header(WRITE_NULL, 30000000) + bytes(9999)]
    for number, peer in enumerate(peers):
        if vanish and number % 2:
            peer.send(cuts[number // 2 % len(cuts)])
        else:
            peer.request(READ, 40000, b"%d" % number)
    for number, peer in enumerate(peers):
        if vanish and number % 2:
            peer.reset() if number % 4 == 1 else peer.close()
    for number, peer in enumerate(peers):
        if not (vanish and number % 2):
            same(peer.answer()[2], pattern(40000, number), "the file")
            peer.close()
    server.peers.clear()


def thousand_clients(folder, engine):
    """Half of 1,000 clients vanish in the middle of a request; descriptors and memory return to where they were."""
    with Server(folder, engine) as server:
        descriptors, begin = server.baseline(), server.resident()
        load(server, 1000, False)
        until(lambda: server.descriptors() == descriptors, "descriptors after 1,000 clients")
        once = server.resident()
        for _ in range(3):
            load(server, 1000, True)
            until(lambda: server.descriptors() == descriptors, "descriptors after 500 clients have vanished", 10)
        last = server.resident()
        server.connect().works()
        if instrumented():
            return
        check(last <= once + 512, f"memory grows: {begin} KiB at first, {once} KiB after 1,000 clients, {last} KiB after 3,000 more")
        check(last <= begin + 2048, f"memory does not return: {begin} KiB at first, {last} KiB at the end")


def memory_of_idle_clients(folder, engine):
    with Server(folder, engine) as server:
        server.connect().works()
        before = server.resident()
        peers = [server.connect() for _ in range(2000)]
        for peer in peers:
            peer.works()
        each = (server.resident() - before) * 1024 / len(peers)
        if not instrumented():
            check(each < 1024, f"an idle client takes {each:.0f} bytes")


def terminate_idle(folder, engine):
    for number in (signal.SIGTERM, signal.SIGINT):
        with Server(folder, engine) as server:
            peers = [server.connect() for _ in range(20)]
            for peer in peers[:10]:
                peer.works()
            time.sleep(0.05)
            server.signal(number)
            for peer in peers:
                peer.ends()
            same(server.end(3), 0, f"exit status after {signal.Signals(number).name}")
    with Server(folder, engine) as server:
        server.signal()
        same(server.end(3), 0, "exit status of a server without clients")


def terminate_busy(folder, engine):
    """What is being served is finished, nobody new gets in."""
    data = pattern(400000)
    whole = header(WRITE, len(data), 4) + b"file" + data
    (folder / "large").write_bytes(pattern(8000000))
    with Server(folder, engine) as server:
        cut = [20, 26, 1000, 300000]
        writers = [server.connect() for _ in cut]
        for length, peer in zip(cut, writers):
            peer.send(whole[:length])
        reader = server.connect(small=True)
        reader.request(READ, 8000000, b"large")
        idle = server.connect()
        idle.works()
        time.sleep(0.1)
        server.signal()
        idle.ends()
        try:
            server.connect(3)
            raise AssertionError("somebody new gets in")
        except ConnectionError:
            pass
        server.signal()
        time.sleep(0.1)
        check(server.process.poll() is None, "the server did not finish what it served")
        same(reader.answer()[2], pattern(8000000), "the file read")
        reader.ends()
        for length, peer in zip(cut, writers):
            peer.send(whole[length:])
            same(peer.answer()[:2], (0, len(data)), "answer")
            peer.ends()
        same(server.end(3), 0, "exit status")
    same((folder / "file").read_bytes(), data, "the file written")


def terminate_stalled(folder, engine):
    """A client that never finishes its request does not keep the server for ever."""
    with Server(folder, engine, "--timeout", 1) as server:
        peer = server.connect()
        peer.send(header(WRITE, 100, 1) + b"f")
        reader = server.connect(small=True)
        reader.request(READ_NULL, 100000000)
        time.sleep(0.1)
        server.signal()
        same(server.end(6), 0, "exit status")


def terminate_exhausted(folder, engine):
    with Server(folder, engine, limits=[(resource.RLIMIT_NOFILE, 40)]) as server:
        for _ in range(60):
            server.connect()
        time.sleep(0.2)
        server.signal()
        same(server.end(5), 0, "exit status")


def memory_exhausted(folder, engine):
    """The runtime's N-th request for memory fails, and some after it: answered or refused, never a crash, never a leak."""
    last = 30 if os.environ.get("AESOP_TEST_MODE") == "quick" else 120
    for first in range(1, last, 3):
        try:
            server = Server(folder, engine, "--timeout", 2, environment={"AESOP_FAIL_ALLOC": f"{first}:5"})
        except AssertionError as problem:
            check("no memory" in str(problem) or "Cannot allocate" in str(problem) or "no engine works" in str(problem), f"FIRST={first}: {problem}")
            continue
        with server:
            for _ in range(12):
                try:
                    peer = server.connect(5)
                    peer.ask(WRITE, 5000, b"file", bytes(5000))
                    peer.ask(READ, 5000, b"file")
                    peer.close()
                except (AssertionError, ConnectionError) as problem:
                    check("timed out" not in str(problem), str(problem))
            check(server.process.poll() is None, f"FIRST={first}: the server ended with status {server.process.returncode}; {server.errors()!r}")
            server.connect().works()


def mixed_at_random(folder, engine):
    """Several clients at once do everything above in a seeded order for a second."""
    import random
    with Server(folder, engine, "--max-size", 1000000, "--timeout", 5) as server:
        before, problems = server.baseline(), []

        def one(seed):
            dice = random.Random(seed)
            end = time.monotonic() + 1
            try:
                while time.monotonic() < end:
                    peer, name, size = server.connect(), b"%d" % seed, dice.choice(SIZES[:-1])
                    for _ in range(dice.randrange(5)):
                        peer.write(name, pattern(size, seed))
                        same(peer.read(name, size), pattern(size, seed), "the file")
                        peer.expect(-errno.ENOENT, READ, 1, b"none")
                        peer.expect(-errno.EACCES, READ, 1, b"../none")
                    if dice.random() < 0.5:
                        whole = header(WRITE, size, 4) + b"gone" + bytes(size)
                        peer.send(whole[:dice.randrange(len(whole))])
                    dice.choice([peer.reset, peer.close])()
            except (AssertionError, OSError) as problem:
                problems.append(f"seed {seed}: {problem}")

        threads = [threading.Thread(target=one, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check(not problems, "; ".join(problems[:3]))
        until(lambda: server.descriptors() == before, "descriptors are given back")


def hogging(folder, engine):
    """A client whose next request is always there already does not keep others from being served."""
    with Server(folder, engine) as server:
        hogs, stop, waits = [server.connect() for _ in range(2)], threading.Event(), []

        def send(hog):
            many = header(READ_NULL) * 5000
            try:
                while not stop.is_set():
                    hog.send(many)
            except OSError:
                pass

        def receive(hog):
            try:
                while hog.socket.recv(1 << 20):
                    pass
            except OSError:
                pass

        threads = [threading.Thread(target=work, args=(hog,)) for hog in hogs for work in (send, receive)]
        for thread in threads:
            thread.start()
        try:
            time.sleep(0.2)
            other = server.connect(5)
            end = time.monotonic() + 1
            while time.monotonic() < end:
                begin = time.monotonic()
                other.works()
                waits.append(time.monotonic() - begin)
        finally:
            stop.set()
            for hog in hogs:
                hog.socket.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()
        check(max(waits) < 0.5, f"a client waited {max(waits):.2f} s for another one")


def options(folder, engine):
    def ends(status, *words, says=""):
        done = suite.run([PROGRAM, *words], env=suite.environment(AESOP_ENGINE=engine), seconds=10)
        same(done.status, status, f"exit status with {words}; {done.out}{done.err}")
        check(says in done.out + done.err, f"with {words} it says {done.out}{done.err}")
    ends(0, "--help", says="--max-size")
    ends(2, "--port", "70000", says="70000")
    ends(2, "--port", "x")
    ends(2, "--max-size", "-1")
    ends(2, "--nothing")
    ends(2, "word")
    ends(1, "--port", "0", "--dir", folder / "nothing", says="nothing")
    ends(1, "--port", "0", "--ip", "example", "--dir", folder, says="example")
    with Server(folder, engine) as server:
        ends(1, "--port", server.port, "--dir", folder, says="in use")
        server.connect().works()


if __name__ == "__main__":
    found = start()
    sys.exit(run(([all_requests, all_requests_suspended, byte_by_byte, missing_file, special_files, climbing_out, beyond_the_limit, not_a_request,
                   cut_short, vanishing, stalling, not_reading, full_disk, without_direct, file_size_limit, read_only_folder,
                   descriptors_exhausted, thousand_clients, memory_of_idle_clients, terminate_idle, terminate_busy, terminate_stalled,
                   terminate_exhausted, memory_exhausted, mixed_at_random, hogging, options], found)))
