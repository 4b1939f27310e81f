#!/usr/bin/python3
"""file-client: what it verifies, and what it says when something is wrong. Needs mpirun."""
import json
import os
import re
import shutil
import socket
import sys
import threading

from _server import CLIENT, HEADER, RESPONSE, Server, check, run, same, start, suite

# One machine: no remote shell (plm), shared memory only (btl), more processes than processors.
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "plm", "isolated", "--mca", "pml", "ob1", "--mca", "btl", "self,vader",
          "--mca", "btl_vader_single_copy_mechanism", "none"]


def client(port, *words, processes=2, seconds=120):
    environment = suite.environment(OMPI_ALLOW_RUN_AS_ROOT=1, OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, OMPI_MCA_rmaps_base_oversubscribe=1)
    starter = [*MPIRUN, "-np", processes] if processes > 1 else []  # one process needs no mpirun, and starts faster without
    return suite.run([*starter, CLIENT, "--port", port, *words], env=environment, seconds=seconds)


def good(done):
    check(done.status == 0, f"{done.describe()}: {done.out}{done.err}")
    return done.out


def bad(done, status, *says):
    text = done.out + done.err
    same(done.status, status, f"exit status; it says: {text}")
    for words in says:
        check(re.search(words, text), f"it does not say {words!r} but: {text}")


def all_types(folder, engine):
    with Server(folder, engine) as server:
        for each in (1, 3):
            for size in (0, 300001) if each == 1 else (5, 4096):
                for kind in ("w", "r", "rn", "wn"):
                    out = good(client(server.port, f"--type-{kind}", "--path", "data", "--num-requests", 4, "--size", size, "--clients-per-process", each,
                                      "--verify", "--json"))
                    result = json.loads(out)
                    same([result[key] for key in ("processes", "clients", "requests", "size", "verified")], [2, 2 * each, 4, size, True], "result")
                    latency = [result["latency"][key] for key in ("min", "q1", "median", "q3", "max")]
                    same(latency, sorted(latency), "latencies")
                    check(0 < latency[0] and latency[-1] <= result["seconds"] and result["fastest_client_seconds"] <= result["seconds"], f"times: {result}")
                    check(abs(result["ops_per_second"] * result["seconds"] / (8 * each) - 1) < 0.01, f"rate: {result}")
        names = sorted(os.listdir(folder))
        same(names, sorted(f"data.{c}.{r}" for c in range(6) for r in range(4)), "files")
        contents = {(folder / name).read_bytes() for name in names}
        same(len(contents), len(names), "files that differ")
        text = good(client(server.port, "--type-r", "--num-requests", 4))
        for words in ("read: 2 clients in 2 processes, 4 requests each, 4096 bytes", "time ", "operations/s", "quartiles"):
            check(words in text, f"{words!r} is missing in {text}")


def folder_as_path(folder, engine):
    (folder / "inside").mkdir()
    with Server(folder, engine) as server:
        good(client(server.port, "--type-w", "--path", "inside/", "--num-requests", 1, "--verify"))
    same(sorted(os.listdir(folder / "inside")), ["0.0", "1.0"], "files")


def many_clients(folder, engine):
    with Server(folder, engine) as server:
        result = json.loads(good(client(server.port, "--type-w", "--clients-per-process", 200, "--num-requests", 3, "--verify", "--json")))
        same(result["clients"], 400, "clients")
    same(len(os.listdir(folder)), 1200, "files")


def data_that_differ(folder, engine):
    with Server(folder, engine) as server:
        good(client(server.port, "--type-w", "--size", 9000, "--num-requests", 3))
        file = folder / "data.1.2"
        data = bytearray(file.read_bytes())
        for at in (0, 4097, 8999):
            data[at] ^= 1
            file.write_bytes(data)
            bad(client(server.port, "--type-r", "--size", 9000, "--num-requests", 3, "--verify"), 1, rf"client 1, request 2: .*differ.* byte {at}\b")
            data[at] ^= 1
        file.write_bytes(data[:8999])
        bad(client(server.port, "--type-r", "--size", 9000, "--num-requests", 3), 1, "client 1, request 2: the server has 8999 bytes, not 9000")
        file.write_bytes((folder / "data.0.2").read_bytes())
        bad(client(server.port, "--type-r", "--size", 9000, "--num-requests", 3, "--verify"), 1, "client 1, request 2: .*differ.* byte [0-7]\\b")


def server_errors(folder, engine):
    with Server(folder, engine, "--max-size", 10000) as server:
        bad(client(server.port, "--type-r"), 1, r"client \d, request 0: the server answers -2 \(No such file or directory\)", "2 of 2 clients failed")
        for each in (1, 2):
            def one(*words):
                return client(server.port, *words, "--clients-per-process", each, processes=1)
            bad(one("--type-r"), 1, r"client 0, request 0: the server answers -2 \(No such file or directory\)", f"{each} of {each} clients failed")
            bad(one("--type-w", "--path", "../data"), 1, r"answers -13 \(Permission denied\)")
            bad(one("--type-w", "--size", 3000000), 1, r"answers -27 \(File too large\)")
            bad(one("--type-rn", "--size", 10001), 1, r"answers -27 \(File too large\)")
            bad(one("--type-w", "--path", "x" * 1100), 1, "longer than 1024")


def nobody_there(folder, engine):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        for each in (1, 2):
            bad(client(unused.getsockname()[1], "--type-rn", "--clients-per-process", each, processes=1), 1, "client 0.*: connecting.*refused")


class Impostor:
    """Accepts connections and answers each first request with the same bytes."""

    def __init__(self, data, keep):
        self.data, self.keep, self.open = data, keep, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            connection.recv(HEADER)
            connection.sendall(self.data)
            if self.keep:
                self.open.append(connection)
            else:
                connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in self.open:
            connection.close()


def wrong_servers(folder, engine):
    whole = RESPONSE + b"\1\0" + b"\3\0" + (16).to_bytes(8, "little") + bytes(8)
    ways = [(b"", False, "closed the connection in the middle of a request"), (whole[:10], False, "closed.* in the middle of an answer"),
            (whole + b"short", False, "closed.* in the middle of an answer"), (b"HTTP/1.0 400 Bad Request\r\n\r\n", False, "not of this protocol"),
            (whole.replace(b"\3", b"\1"), False, "does not belong to the request"), (whole[:8] + b"\xff" * 8 + bytes(8), False, "does not belong"),
            (b"", True, "no answer within 1 s"), (whole[:10], True, "no answer within 1 s"), (whole + b"short", True, "no answer within 1 s")]
    for data, keep, says in ways:
        for each in (1, 2):
            with Impostor(data, keep) as server:
                bad(client(server.port, "--type-rn", "--size", 16, "--timeout", 1, "--clients-per-process", each, processes=1), 1, says)


def options(folder, engine):
    good(client(1, "--help", processes=1))
    for words in (["--type-x"], ["--size", "-1", "--type-r"], ["--type-r", "--num-requests", "0"], ["--port", "0", "--type-r"], [], ["--type-r", "word"],
                  ["--type-r", "--ip", "localhost"]):
        bad(client(1, *words, processes=1), 2, "Try file-client --help")


if __name__ == "__main__":
    engines = start()
    if not CLIENT.exists() or not shutil.which("mpirun"):
        suite.report("skip", "client", "no MPI (Debian: libopenmpi-dev openmpi-bin)")
        print("0 passed, 0 failed, 1 skipped")
        sys.exit(0)
    sys.exit(run(([all_types], engines), ([folder_as_path, many_clients, data_that_differ, server_errors], engines[:1]),
                 ([nobody_there, wrong_servers, options], [""])))
