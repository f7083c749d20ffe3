# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Runs Python programs in forks of one process that has imported PyTorch, which takes 2.5 s of CPU time each time it is imported.

For rows that need a process of their own but no new interpreter: the process has run no op, recorded nothing and started no
thread. The program ends as any other: exit handlers run and the interpreter is finalized.
"""
import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile

SERVER = """if True:
    import json, os, socket, sys
    import torch
    ask = socket.socket(fileno=int(sys.argv[1]))
    lines = ask.makefile("r", encoding="utf-8")
    for line in lines:
        want = json.loads(line)
        pid = os.fork()
        if not pid:
            break
        ask.sendall(f"{pid}\\n".encode())
        ask.sendall(f"{os.waitpid(pid, 0)[1]}\\n".encode())
    else:
        os._exit(0)
    lines.close()
    ask.close()
    os.chdir(want["cwd"])
    os.environ.clear()
    os.environ.update(want["env"])
    for fd, file in ((1, want["out"]), (2, want["err"])):
        made = os.open(file, os.O_WRONLY | os.O_CREAT)
        os.dup2(made, fd)
        os.close(made)
    if "tempfile" in sys.modules:
        sys.modules["tempfile"].tempdir = None  # TMPDIR may be another
    sys.argv = ["-c", *want["argv"]]
    code = compile(want["code"], "<string>", "exec")
    for name in "json", "ask", "lines", "line", "pid", "want", "fd", "file", "made", "name":
        del globals()[name]
    exec(code)
"""
_server: list = []  # the process and the socket to it


def _start() -> None:
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([sys.executable, "-W", "ignore", "-c", SERVER, str(theirs.fileno())], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    theirs.close()
    _server[:] = [process, ours, ours.makefile("r", encoding="utf-8")]
    atexit.register(_stop)


def _stop() -> None:
    process, ours, lines = _server
    lines.close()
    ours.close()
    process.wait()


def run(code: str, *argv: str, cwd: str | None = None, env: dict[str, str] | None = None, timeout: float = 600) -> subprocess.CompletedProcess:
    """Runs a program as `python -W ignore -c code argv` would, after `import torch`. Returns its exit status, output and errors."""
    if not _server:
        _start()
    _, ours, lines = _server
    with tempfile.TemporaryDirectory() as folder:
        out, err = os.path.join(folder, "out"), os.path.join(folder, "err")
        want = {"code": code, "argv": argv, "cwd": cwd or os.getcwd(), "env": env or dict(os.environ), "out": out, "err": err}
        ours.sendall((json.dumps(want) + "\n").encode())
        pid = int(lines.readline())
        ours.settimeout(timeout)
        try:
            status = int(lines.readline())
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise
        finally:
            ours.settimeout(None)
        texts = []
        for file in out, err:
            with open(file, encoding="utf-8", errors="replace") as f:
                texts.append(f.read())
    return subprocess.CompletedProcess(code, os.waitstatus_to_exitcode(status), *texts)
