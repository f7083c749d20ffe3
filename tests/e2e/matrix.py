#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark run --heap` on difficult programs: threads by the thousand, code that is unloaded, a malloc of their own, dropped
privileges, set-uid, a server. Each behaves as without recording, and the recording is complete.

matrix.py SOURCE: matrix_prog.c, compiled here four ways."""
import contextlib
import ctypes
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import urllib.request

from checks import check, result, wait_for

TIDEMARK, SOURCE = os.environ["TIDEMARK"], os.path.abspath(sys.argv[1])


def build(folder: str, name: str, *options: str) -> str:
    subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", "-fno-optimize-sibling-calls", "-w", *options, "-o", f"{folder}/{name}", SOURCE, "-lpthread", "-ldl"], check=True)
    return f"{folder}/{name}"


def both(folder: str, name: str, *command: str, how: str = "--heap=full", **kw) -> tuple:
    """The same end and output as without us; the heap report of the recording and what `tidemark run` said."""
    file = f"{folder}/{name}.tide"
    bare = subprocess.run(command, capture_output=True, timeout=400, **kw)
    ours = subprocess.run([TIDEMARK, "run", "--no-torch", how, "-o", file, "--", *command], capture_output=True, timeout=600, **kw)
    check(f"{name}: ends and prints as without us", (bare.returncode, bare.stdout) == (ours.returncode, ours.stdout), (bare.returncode, ours.returncode, ours.stdout, ours.stderr))
    check(f"{name}: no ring file is left", not os.path.exists(file + "-rings"))
    return (report(file) if os.path.exists(file) else {}), ours.stderr.decode()


def report(file: str) -> dict:
    done = subprocess.run([TIDEMARK, "heap", file, "--json"], capture_output=True, text=True, timeout=400)
    check(f"heap {os.path.basename(file)}", done.returncode == 0, done.stderr)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def kept(r: dict) -> tuple:
    rows = [x for x in r.get("stacks", []) if "keep_some" in x["stack"]]
    return sum(x["left_count"] for x in rows), sum(x["left_bytes"] for x in rows), sum(x["count"] for x in rows)


def strange_programs(folder: str) -> None:
    prog = build(folder, "prog")
    r, _ = both(folder, "threads", prog, "threads")
    check("1,000 threads: every call", kept(r) == (1000, 64000, 51000), kept(r))
    plugin = build(folder, "plugin.so", "-DPLUGIN", "-shared", "-fPIC")
    r, _ = both(folder, "plugin", prog, "plugin", plugin)
    check("dlclose: blocks of unloaded code keep their stacks", kept(r) == (200, 200000, 400), kept(r))
    early = build(folder, "libearly.so", "-DPLUGIN", "-DEARLY", "-shared", "-fPIC")
    r, _ = both(folder, "early", build(folder, "linked", "-Wl,--no-as-needed", early))
    check("constructors of libraries: what they allocate is recorded", kept(r) == (2, 10777, 2), kept(r))
    own = build(folder, "own", "-DOWN")
    r, _ = both(folder, "own", own)
    said = json.dumps(r.get("losses", {}))
    check("a malloc of its own: the recording says so", "own_allocator" in said, (said, r))
    fixed = build(folder, "fixed", "-fno-pie", "-no-pie")
    r, _ = both(folder, "fixed", fixed, "address")
    check("malloc's address in a program at a fixed one: recorded, no loss", kept(r) == (1, 3000, 1) and "own_allocator" not in r["losses"], r)
    r, _ = both(folder, "asan", build(folder, "asan", "-fsanitize=address"))
    check("AddressSanitizer: every call", kept(r) == (1, 3000, 1), kept(r))
    r, said = both(folder, "tsan", build(folder, "tsan", "-fsanitize=thread"))
    check("ThreadSanitizer: left alone, and a line says so", not r and "ThreadSanitizer" in said, (r, said))
    if os.getuid() != 0:
        print("skipped: drops privileges, set-uid: not root")
        return
    os.chmod(folder, 0o777)
    r, _ = both(folder, "drops", prog, "drops")
    check("drops privileges: what came before and after", kept(r) == (2, 3333, 2), kept(r))
    suid = build(folder, "suid")
    os.chmod(suid, 0o755 | stat.S_ISUID)
    if os.statvfs(folder).f_flag & os.ST_NOSUID:
        print(f"skipped: set-uid: {folder} is mounted with nosuid")
        return
    as_nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    if subprocess.run([TIDEMARK, "--version"], capture_output=True, **as_nobody).returncode:
        print("skipped: set-uid: another user cannot reach the build")
        return
    bare = subprocess.run([suid, "set-uid"], capture_output=True, **as_nobody)
    ours = subprocess.run([TIDEMARK, "run", "--no-torch", "--heap=full", "-o", f"{folder}/suid.tide", "--", suid, "set-uid"], capture_output=True, cwd=folder, **as_nobody)
    check("set-uid: has its rights, is left alone", b"set-uid 65534 0" in bare.stdout and (ours.returncode, ours.stdout) == (0, bare.stdout), (bare, ours))
    check("set-uid: nothing was recorded, and a line says so", not os.path.exists(f"{folder}/suid.tide") and b"nothing was recorded" in ours.stderr, ours.stderr)


def orphans(folder: str) -> None:
    """The first process of a container may reap no orphans: a recording whose process is a zombie is closed all the same."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans are ours
    prog = build(folder, "parent")
    subprocess.run([TIDEMARK, "run", "--no-torch", "--heap=full", "-o", f"{folder}/orphan.tide", "--", prog, "orphan"], capture_output=True, timeout=400)
    ctypes.CDLL(None).prctl(36, 0, 0, 0, 0)
    files = sorted(f for f in os.listdir(folder) if f.startswith("orphan."))
    check("a zombie's recording is closed", len(files) == 2 and not any("rings" in f for f in files), files)
    check("a zombie's recording is whole", kept(report(f"{folder}/{files[0]}")) == (1, 4321, 1), files)
    os.wait()


def status_line(folder: str) -> None:
    """The status is at the terminal's right margin: the program's own output is not glued to it, and the cursor stays."""
    leader, follower = os.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    p = subprocess.Popen([TIDEMARK, "run", "--no-torch", "--heap=full", "-o", f"{folder}/status.tide", "--", "cat"], stdin=subprocess.PIPE, stdout=follower, stderr=follower)
    os.close(follower)
    shown = b""
    while b"recording" not in shown or not shown.endswith(b"\x1b8"):
        shown += os.read(leader, 4096)
    check("status line: at the margin", re.fullmatch(rb"(\x1b7\x1b\[53G\x1b\[K\x1b\[2mrecording \d+ s, status.tide [^\x1b]*\x1b\[0m\x1b8)+", shown) is not None, shown)
    p.stdin.close()
    with contextlib.suppress(OSError):  # EIO: the last writer has gone
        while os.read(leader, 4096):
            pass
    check("status line: the program ends", p.wait(400) == 0)
    os.close(leader)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def served(run: subprocess.Popen, port: int, path: str) -> bytes:
    """Returns b"" if the server has ended: another process may have taken the port."""
    def answer() -> tuple:
        if run.poll() is not None:
            return (b"",)
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=300) as a:
                return (a.read(),)
        except OSError:
            return ()

    return wait_for("an answer", answer)[0]


def http_server(folder: str, port: int) -> list:
    return [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "-d", folder]


def nginx(folder: str, port: int) -> list:
    os.makedirs(f"{folder}/logs", exist_ok=True)
    with open(f"{folder}/nginx.conf", "w") as f:
        f.write(f"daemon off; pid {folder}/nginx.pid; error_log {folder}/logs/error.log; events {{}}\n"
                f"http {{ access_log off; server {{ listen 127.0.0.1:{port}; root {folder}; }} }}\n")
    return [shutil.which("nginx") or "", "-p", folder, "-c", f"{folder}/nginx.conf"]


def servers(folder: str) -> None:
    """Answers under us as without, and the recording is whole after SIGTERM; nginx has a master and workers that drop privileges."""
    with open(f"{folder}/page.txt", "w") as f:
        f.write("tide" * 1000)
    rows = {"http.server": http_server, "nginx": nginx}
    if not shutil.which("nginx"):
        print("skipped: nginx is not installed")
        del rows["nginx"]
    for name, command in rows.items():
        file = f"{folder}/{name}.tide"
        for _ in range(5):  # a port that was free may be taken before the server has it
            port = free_port()
            run = subprocess.Popen([TIDEMARK, "run", "--no-torch", "--heap=full", "-o", file, "--", *command(folder, port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if first := served(run, port, "page.txt"):
                break
        answers = [first, *(served(run, port, "page.txt") for _ in range(19))]
        run.send_signal(signal.SIGTERM)
        run.wait(300)
        check(f"{name}: 20 answers", all(a == b"tide" * 1000 for a in answers), answers[:1])
        check(f"{name}: recorded", report(file).get("count", 0) > 100, file)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        strange_programs(folder)
        orphans(folder)
        status_line(folder)
        servers(folder)
    return result("as without us")


sys.exit(main())
