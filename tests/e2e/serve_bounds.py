# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""What the dashboard is bounded by: --max-memory holds for the whole process, whatever clients ask and do not take; connections that
say nothing make room for others; a file that became a link to somewhere else is not read; many files cost little."""
import json
import os
import pathlib
import shutil
import socket
import tempfile
import time

from serving import SOURCE, Server, skip_unless_built, wait_for

TRACE = SOURCE / "tests" / "data" / "kineto_gpt_train.json.gz"


def spans(path, n, name="span"):
    """A trace of n short spans."""
    with open(path, "w") as f:
        f.write('{"traceEvents":[')
        for i in range(n):
            f.write(f'{"," if i else ""}{{"ph":"X","cat":"cpu_op","name":"{name}{i % 5000}","pid":1,"tid":{i % 20},"ts":{i},"dur":5}}')
        f.write("]}")


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), 20)


def swapped(folder):
    """Between the list and the reading, a file becomes a link to a trace elsewhere."""
    here, there = folder / "here", folder / "there"
    here.mkdir(), there.mkdir()
    spans(here / "a.json", 10, "mine")
    spans(there / "secret.json", 10, "secret")
    with Server(here) as s:
        rid = wait_for("the list", lambda: s.json("/api/recordings")["recordings"])[0]["id"]
        (here / "a.json").unlink()
        (here / "a.json").symlink_to(there / "secret.json")
        status, _, data = s.ask(f"/api/recordings/{rid}/search?q=s")
        assert status != 200 and b"secret" not in data, (status, data[:200])


def slow_readers(folder):
    """Clients that ask for large answers, each for another, and take nothing."""
    limit, own = 192 << 20, 96 << 20
    spans(folder / "large.json", 400000)
    with Server(folder, "--max-memory", str(limit)) as s:
        rid = s.json("/api/recordings")["recordings"][0]["id"]
        assert s.ask(f"/api/recordings/{rid}/spans?px=100")[0] == 200
        socks = [connect(s) for _ in range(150)]
        for i, c in enumerate(socks):
            c.sendall(f"GET /api/recordings/{rid}/search?q=span&limit=100000&from={i} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
                      if i % 2 else f"GET /api/recordings/{rid}/spans?px=8192&from={i} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        most, end = 0, time.monotonic() + 6
        while time.monotonic() < end:
            most = max(most, s.rss())
            time.sleep(0.1)
        print(f"150 slow readers: {most >> 20} MiB with --max-memory {limit >> 20} MiB")
        assert s.sanitized() or most < limit + own, most >> 20
        for c in socks:
            c.close()
        wait_for("answers again", lambda: s.ask(f"/api/recordings/{rid}/spans?px=200")[0] == 200)


def idle_crowd():
    """More connections than the server has room for, none of which asks: a client that does is answered at once."""
    with Server(TRACE) as s:
        socks = [connect(s) for _ in range(520)]
        begin = time.monotonic()
        for _ in range(5):
            assert s.json("/api/recordings")["recordings"]
        took = time.monotonic() - begin
        print(f"520 idle connections: 5 answers in {took:.2f} s")
        assert took < 10, took
        for c in socks:
            c.close()


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as f:
        v = f.read().rsplit(") ", 1)[1].split()
    return (int(v[11]) + int(v[12])) / os.sysconf("SC_CLK_TCK")


def many_files(folder, n=4000):
    """Nobody asks anything: looking after the files takes a small part of a core. A page of the list is a page."""
    for i in range(n):
        (folder / f"r{i:05}.json").write_text('{"traceEvents":[]}')
    with Server(folder) as s:
        status, _, data = s.ask("/api/recordings?limit=50")
        page = json.loads(data)
        assert status == 200 and len(page["recordings"]) == 50 and page["total"] == n, (status, page.get("total"))
        rest = s.json("/api/recordings?limit=50&offset=50")["recordings"]
        assert not {r["id"] for r in rest} & {r["id"] for r in page["recordings"]}
        some = [r["id"] for r in rest[:2]]
        assert {r["id"] for r in s.json("/api/recordings?ids=" + ",".join(some))["recordings"]} == set(some)
        print(f"{n} files: a page of 50 is {len(data)} bytes")
        time.sleep(1)
        before = cpu_seconds(s.process.pid)
        time.sleep(8)
        used = (cpu_seconds(s.process.pid) - before) / 8
        print(f"{n} files: {100 * used:.1f} % of a core while idle")
        assert s.sanitized() or used < 0.05, used
        (folder / "new.json").write_text('{"traceEvents":[]}')
        wait_for("a new file", lambda: s.json("/api/recordings?limit=1")["total"] == n + 1, 30)


def main():
    skip_unless_built()
    for test in swapped, slow_readers, many_files:
        folder = pathlib.Path(tempfile.mkdtemp())
        try:
            test(folder)
        finally:
            shutil.rmtree(folder)
    idle_crowd()


main()
