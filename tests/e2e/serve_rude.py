# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Clients that disconnect, stall, or send invalid data do not harm the dashboard: it answers others, and uses no more memory and
descriptors afterwards."""
import concurrent.futures
import random
import socket
import threading
import time

from serving import SOURCE, Events, Server, skip_unless_built, wait_for

DATA = SOURCE / "tests" / "data" / "kineto_gpt_train.json.gz"
HEAD = "GET {} HTTP/1.1\r\nHost: localhost\r\n"


def connect(server, timeout=200):
    return socket.create_connection(("127.0.0.1", server.port), timeout)


def exchange(server, data, timeout=200):
    """Returns the bytes received until the other side closes or stalls."""
    out = b""
    with connect(server, timeout) as s:
        try:
            s.sendall(data)
            s.settimeout(timeout)
            while part := s.recv(65536):
                out += part
        except OSError:
            pass
    return out


def still_there(server):
    assert server.json("/api/recordings")["has_real_data"] is True


def opened_and_dropped(server, n=1000):
    for i in range(n):
        s = connect(server)
        if i % 3 == 0:
            s.sendall(b"GET /api/recor")
        elif i % 3 == 1:
            s.sendall(HEAD.format("/api/recordings").encode() + b"\r\n")
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")  # reset, not closed
        s.close()
    still_there(server)


def gone_while_waiting(server, rid, n=100):
    """Requests whose client leaves before the answer, and large answers that are not read."""
    for i in range(n):
        s = connect(server)
        target = f"/data/{rid}/spans?g={i}" if i % 2 else f"/api/recordings/{rid}/spans?px=8192&from={i}"
        s.sendall(HEAD.format(target).encode() + b"\r\n")
        s.close()
    still_there(server)


def rubbish(server):
    random.seed(7)
    line = HEAD.format("/api/recordings").encode()
    cases = [
        b"\0" * 100, b"\r\n" * 5000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"A" * 100000,
        b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
        line + b"X: " + b"y" * 100000 + b"\r\n\r\n",
        line + b"".join(b"H%d: v\r\n" % i for i in range(5000)) + b"\r\n",
        line + b"Content-Length: -1\r\n\r\n", line + b"Content-Length: 99999999999999999999\r\n\r\n",
        line + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        line + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
        line + b"\r\n" + b"GET /%ff%00 HTTP/1.1\r\n\r\n" + b"\xff" * 1000,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"z" * 500,
        b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        b"GET /api/recordings HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        b"GET /api/recordings HTTP/1.1\r\n\r\n",
    ] + [random.randbytes(random.randrange(1, 3000)) for _ in range(40)]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for c, out in zip(cases, pool.map(lambda c: exchange(server, c + b"\r\n\r\n", 2), cases)):
            assert not out or out.startswith(b"HTTP/1.1 "), (c[:80], out[:80])
            assert b"evil.example" not in c or b'"has_real_data":true' not in out, c
    still_there(server)


def refused(server):
    """Requests that two readers could take for different ones are not answered."""
    line = HEAD.format("/api/recordings").encode()
    for head in (b"Content-Length: 0\r\nContent-Length: 0\r\n", b"Content-Length: 0\r\nContent-Length: 5\r\n", b"Content-Length: 00\r\n",
                 b"Content-Length: +0\r\n", b"Content-Length: 0, 0\r\n", b"Content-Length: 0x0\r\n", b"Transfer-Encoding: identity\r\n", b"X: a\0b\r\n"):
        out = exchange(server, line + head + b"\r\n", 3)
        assert b" 200 " not in out.split(b"\r\n")[0], (head, out[:80])
    for host in b"localhost\0.evil.example", b"\0", b"localhost\0":
        out = exchange(server, b"GET /api/recordings HTTP/1.1\r\nHost: " + host + b"\r\n\r\n", 3)
        assert b" 200 " not in out.split(b"\r\n")[0], (host, out[:80])
    for lines in line.replace(b"\r\n", b"\n") + b"\n", line + b"X: y\n\r\n", line + b"\n":
        out = exchange(server, lines, 3)
        assert b" 200 " not in out.split(b"\r\n")[0], (lines, out[:80])
    still_there(server)


def pipelined(server, n=200):
    """Many requests at once on one connection, the last one rubbish: answered in order, then closed."""
    one = HEAD.format("/api/recordings").encode() + b"\r\n"
    out = exchange(server, one * n + b"rubbish\r\n\r\n")
    assert out.count(b"HTTP/1.1 200") == n, out.count(b"HTTP/1.1 200")


def slow_loris(server, n=60):
    """Clients that never finish their request: closed after a while, others are answered meanwhile."""
    socks = [connect(server) for _ in range(n)]
    ended = threading.Event()

    def drip():
        while not ended.is_set():
            for s in socks:
                try:
                    s.sendall(b"X-A: b\r\n")
                except OSError:
                    pass
            ended.wait(1)

    for s in socks:
        s.sendall(HEAD.format("/api/recordings").encode())
    t = threading.Thread(target=drip)
    t.start()
    begin = time.monotonic()
    for _ in range(10):
        still_there(server)
    closed = 0
    for s in socks:
        s.settimeout(400)
        try:
            while s.recv(4096):
                pass
            closed += 1
        except ConnectionError:
            closed += 1
        except OSError:
            pass
        s.close()
    ended.set()
    t.join()
    assert closed == n, f"{n - closed} of {n} that never ask are still connected after {time.monotonic() - begin:.0f} s"


def too_many(server):
    """More connections than there is room for: those that are let in are answered, and room comes back."""
    socks = []
    for _ in range(700):
        try:
            socks.append(connect(server, 2))
        except OSError:
            break
    for s in socks:
        s.close()
    wait_for("room after a crowd", lambda: server.ask("/api/recordings")[0] == 200, 400)


def listeners(server, n=40):
    """Listeners that leave without a word are forgotten."""
    events = [Events(server) for _ in range(n)]
    for e in events:
        e.close()


def main():
    skip_unless_built()
    with Server(DATA) as s:
        rid = s.json("/api/recordings")["recordings"][0]["id"]
        for _ in range(2):  # what is made once is made
            s.ask(f"/data/{rid}/spans")
            gone_while_waiting(s, rid, 200)
            opened_and_dropped(s, 100)
            pipelined(s)
        wait_for("quiet", lambda: s.fds() < 40, 400)
        rss, fds = s.rss(), s.fds()
        rubbish(s)
        refused(s)
        pipelined(s)
        gone_while_waiting(s, rid)
        opened_and_dropped(s)
        too_many(s)
        listeners(s)
        slow_loris(s)
        wait_for("descriptors to come back", lambda: s.fds() <= fds + 3, 400)
        grown = s.rss() - rss
        assert s.sanitized() or grown < 24 << 20, f"{grown >> 20} MiB more than before"
        still_there(s)


main()
