# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Limits of the dashboard: --max-memory applies to the whole process, for any requests and unread answers; idle connections are
closed for new ones; a file that became a link to somewhere else is not read; many files cost little."""
import errno
import gzip
import json
import os
import pathlib
import pickle
import resource
import shutil
import signal
import socket
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import seccomp
from serving import POLLS, SOURCE, Server, skip_unless_built, wait_for

TRACE = SOURCE / "tests" / "data" / "kineto_gpt_train.json.gz"


def spans(path, n, name="span"):
    """A trace of n short spans."""
    with open(path, "w") as f:
        f.write('{"traceEvents":[')
        for i in range(n):
            f.write(f'{"," if i else ""}{{"ph":"X","cat":"cpu_op","name":"{name}{i % 5000}","pid":1,"tid":{i % 20},"ts":{i},"dur":5}}')
        f.write("]}")


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), 300)


def one_of(tries, row, what):
    """For a row in which the server races a clock, or us: on a loaded machine it may lose, but not every time."""
    if not any(row() for _ in range(tries)):
        raise AssertionError(f"{what}, {tries} times")


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
    """Clients request large, different answers and read nothing."""
    limit, own = 192 << 20, 96 << 20
    spans(folder / "large.json", 400000)
    with Server(folder, "--max-memory", f"{limit}B") as s:
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


def is_open(c):
    c.setblocking(False)
    try:
        return c.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def idle_crowd():
    """There are more idle connections than the server allows: a client with a request is answered at once."""
    with Server(TRACE) as s:
        socks = [connect(s) for _ in range(520)]
        begin = time.monotonic()
        for _ in range(5):
            assert s.json("/api/recordings")["recordings"]
        took = time.monotonic() - begin
        still = sum(map(is_open, socks))
        print(f"520 idle connections: 5 answers in {took:.2f} s, {still} connections are still open")
        for c in socks:
            c.close()
        return still > 100  # else the answers waited until idle connections were closed, after 15 s


def few_descriptors():
    """Idle connections never take the descriptors that the server itself needs, so that a client with a request is let in."""
    with Server(TRACE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))) as s:
        socks = [connect(s) for _ in range(60)]
        for _ in range(5):
            assert s.json("/api/recordings")["recordings"]
            assert s.fds() <= 20, "room for files beside the idle connections"
        assert s.json("/api/runs")["runs"]
        for c in socks:
            c.close()


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as f:
        v = f.read().rsplit(") ", 1)[1].split()
    return (int(v[11]) + int(v[12])) / os.sysconf("SC_CLK_TCK")


def is_idle(s):
    before, begin = cpu_seconds(s.process.pid), time.monotonic()
    time.sleep(8)
    used = (cpu_seconds(s.process.pid) - before) / (time.monotonic() - begin)
    print(f"{100 * used:.2f} % of a core while idle")
    return s.sanitized() or used < 0.01


def names(s):
    return {r["name"]: r["size_bytes"] for r in s.json("/api/recordings")["recordings"]}


def look(s, folder):
    """Files and folders come, change, move and go."""
    empty = '{"traceEvents":[]}'
    (folder / "a.json").write_text(empty)
    wait_for("a new file", lambda: set(names(s)) == {"a.json"})
    (folder / "a.json").write_text(empty + " " * 100)
    wait_for("a file that grew", lambda: names(s).get("a.json") == len(empty) + 100)
    (folder / "sub").mkdir()
    (folder / "sub" / "deep").mkdir()
    (folder / "sub" / "deep" / "b.json").write_text(empty)
    wait_for("a file in a new folder", lambda: set(names(s)) == {"a.json", "b.json"})
    (folder / "sub").rename(folder / "moved")
    wait_for("a folder that moved", lambda: any("/moved/" in r["path"] for r in s.json("/api/recordings")["recordings"]))
    (folder / "moved" / "deep" / "b.json").write_text(empty + "  ")
    wait_for("a file in it that grew", lambda: names(s).get("b.json") == len(empty) + 2)
    (folder / "a.json").rename(folder / "c.json")
    wait_for("another name", lambda: set(names(s)) == {"b.json", "c.json"})
    (folder / "part").write_text(empty + "   ")
    (folder / "part").rename(folder / "c.json")
    wait_for("a file put in its place", lambda: names(s).get("c.json") == len(empty) + 3)
    shutil.rmtree(folder / "moved")
    (folder / "c.json").unlink()
    wait_for("files that are gone", lambda: not names(s))


def watched(folder):
    with Server(folder) as s:
        look(s, folder)


def not_watched(folder):
    """The kernel watches no further folders for this user: that is reported once, and everything is still found."""
    if seccomp.number("inotify_add_watch") is None:
        print("not watched: the numbers of system calls are not known here")
        return
    with Server(folder, preexec_fn=seccomp.refuse(("inotify_add_watch", errno.ENOSPC))) as s:
        s.says = POLLS + ("the kernel has no inotify instance left for this user\n" if s.inotify() is None else "the limit fs.inotify.max_user_watches is reached\n")
        look(s, folder)


def ended(folder):
    """SIGTERM while a recording is read that takes long; meanwhile others answer."""
    one = b'{"ph":"X","cat":"cpu_op","name":"span","pid":1,"tid":1,"ts":1,"dur":5,"args":{"x":"' + b"y" * 900 + b'"}}'
    with gzip.open(folder / "slow.json.gz", "wb", compresslevel=1) as f:
        f.write(b'{"traceEvents":[' + one)
        for _ in range(900):
            f.write((b"," + one) * 1000)
        f.write(b"]}")
    spans(folder / "quick.json", 10)
    one_of(5, lambda: ended_once(folder), "it was read to its end first")


def ended_once(folder):
    with Server(folder) as s:
        ids = {r["name"]: r["id"] for r in s.json("/api/recordings")["recordings"]}
        c = connect(s)
        c.sendall(f"GET /api/recordings/{ids['slow.json.gz']}/spans?px=100 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        wait_for("its reading", lambda: s.json(f"/api/recordings/{ids['slow.json.gz']}")["state"] != "idle")
        begin = time.monotonic()
        assert s.ask(f"/api/recordings/{ids['quick.json']}/spans?px=100")[0] == 200
        print(f"another recording answers after {time.monotonic() - begin:.2f} s")
        state = s.json(f"/api/recordings/{ids['slow.json.gz']}")["state"]
        begin = time.monotonic()
        s.process.send_signal(signal.SIGTERM)
        s.process.wait(300)
        took = time.monotonic() - begin
        print(f"SIGTERM while a recording is {state}: ended after {took:.2f} s")
        with c:
            try:
                got = c.recv(4096)
            except ConnectionError:
                got = b""
        return state == "loading" and b" 200 " not in got[:16]


def holes(path, n):
    """A snapshot of an expandable segment: n requests, every other one freed, then n / 2 that fit into no hole."""
    event = lambda action, addr, size, i: {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": i, "frames": []}
    base = 2 << 20
    events = [event("segment_map", base, n * 1024 + base, 0)]
    events += [event("alloc", base + i * 1024, 512 if i % 2 else 1024, i + 1) for i in range(n)]
    events += [event("free_completed", base + i * 1024, 1024, n + i + 1) for i in range(0, n, 2)]
    events += [event("alloc", (64 << 30) + i * 4096, 2048, 3 * n + i) for i in range(n // 2)]
    with open(path, "wb") as f:
        pickle.dump({"segments": [], "device_traces": [events], "allocator_settings": {"expandable_segments": True}}, f, protocol=4)


def replay_ended(folder):
    """SIGTERM while the allocator is replayed for an answer; meanwhile another recording answers."""
    holes(folder / "holes.pickle", 400000)
    spans(folder / "quick.json", 10)
    one_of(5, lambda: replay_ended_once(folder), "the replay ended first")


def replay_ended_once(folder):
    with Server(folder) as s:
        ids = {r["name"]: r["id"] for r in s.json("/api/recordings")["recordings"]}
        assert s.ask(f"/api/recordings/{ids['holes.pickle']}/reports/oom")[0] == 200  # it is read
        with connect(s) as c:
            c.sendall(f"GET /api/recordings/{ids['holes.pickle']}/reports/advice HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert s.ask(f"/api/recordings/{ids['quick.json']}/spans?px=100")[0] == 200
            begin = time.monotonic()
            s.process.send_signal(signal.SIGTERM)
            s.process.wait(300)
            took = time.monotonic() - begin
            try:
                got = c.recv(4096)
            except ConnectionError:
                got = b""
        print(f"SIGTERM while an allocator is replayed: ended after {took:.2f} s")
        return b" 200 " not in got[:16]


def many_files(folder, n=4000):
    """Without requests, watching the files takes a small part of a core. The list is answered page by page."""
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
        whole = s.ask("/api/recordings")[2]
        print(f"{n} files: the list without a limit is {len(whole)} bytes")
        assert len(json.loads(whole)["recordings"]) == 1000 and json.loads(whole)["total"] == n
        wait_for("the index", lambda: not s.json("/api/runs?limit=1")["pending"], 600)
        if s.inotify():
            one_of(3, lambda: is_idle(s), "1 % of a core and more while idle")
        else:
            print("skipped: the processor time of an idle server: without inotify it looks at its files every 2 seconds")
        (folder / "new.json").write_text('{"traceEvents":[]}')
        wait_for("a new file", lambda: s.json("/api/recordings?limit=1")["total"] == n + 1)


def main():
    skip_unless_built()
    for test in swapped, slow_readers, watched, not_watched, ended, replay_ended, many_files:
        folder = pathlib.Path(tempfile.mkdtemp())
        try:
            test(folder)
        finally:
            shutil.rmtree(folder)
    few_descriptors()
    one_of(5, idle_crowd, "idle connections had to be closed before others were answered")


main()
