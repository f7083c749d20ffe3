#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Traces that are far away: a URL reads as the file does, without a copy; a transfer that fails or breaks off is named. A trace
that does not answer, and a process of an MPI job that is killed, are named and left out; the others' figures are those without
them."""
import functools
import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import waiting

TIDEMARK = os.environ["TIDEMARK"]
DATA = pathlib.Path(os.environ["TIDE_SOURCE"]) / "tests" / "data"
TRACE = DATA / "kineto_gpt_train.json.gz"
MPI = TIDEMARK + "-mpi"
faults = 0


def check(ok: bool, what: str) -> None:
    global faults
    if not ok:
        faults += 1
        print(f"FAILED: {what}")


def run(*args: str, env: dict | None = None) -> tuple[int, str, str]:
    done = subprocess.run(args, capture_output=True, text=True, timeout=400, env={**os.environ, **(env or {})}, check=False)
    return done.returncode, done.stdout, done.stderr


class Server(http.server.SimpleHTTPRequestHandler):
    """Serves a folder; /half/NAME breaks off in the middle, /moved/NAME redirects, /endless/NAME never ends, /local leads to a
    file, /silent does not answer."""

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        _, first, *rest = self.path.split("?")[0].split("/")
        if first == "moved":
            self.send_response(302)
            self.send_header("Location", "/" + rest[0])
            self.end_headers()
        elif first == "local":
            self.send_response(302)
            self.send_header("Location", "file:///etc/passwd")
            self.end_headers()
        elif first == "silent":
            self.rfile.read(1)  # until the client ends
        elif first == "endless":
            self.send_response(200)
            self.end_headers()
            self.wfile.write((pathlib.Path(self.directory) / rest[0]).read_bytes())
            while True:
                try:
                    self.wfile.write(bytes(1 << 16))
                except OSError:
                    break
        elif first == "half":
            whole = (pathlib.Path(self.directory) / rest[0]).read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(whole)))
            self.end_headers()
            self.wfile.write(whole[: len(whole) // 2])
        else:
            super().do_GET()


def network(folder: pathlib.Path) -> None:
    if not shutil.which("curl"):
        print("skipped: URLs: curl is not installed")
        return
    shutil.copy(TRACE, folder / "trace.json.gz")
    subprocess.run([TIDEMARK, "run", "--heap", "-o", folder / "heap.tide", "--", "true"], capture_output=True, check=True)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        for command, name in (["hta", "--json"], "trace.json.gz"), (["ops"], "trace.json.gz"), (["memory"], "heap.tide"):
            here, far = (run(TIDEMARK, *command, x) for x in (f"{folder}/{name}", f"{url}/{name}"))
            check(here[0] == far[0] == 0 and here[1].replace(str(folder), "") == far[1].replace(url, ""), f"{command} of {name}: {far[2]}")
        moved = run(TIDEMARK, "hta", f"{url}/moved/trace.json.gz?key=a%20b&x[]=1")
        check(moved[0] == 0 and "1,772 device rows" in moved[1], f"a redirect, a query: {moved}")
        two = run(TIDEMARK, "hta", f"{url}/trace.json.gz", f"{url}/missing.json")
        check("1 rank" in two[1] and "missing.json: curl: (22)" in two[2], f"one of two is missing: {two}")
        none = run(TIDEMARK, "hta", f"{url}/missing.json")
        check(none[0] == 1 and "curl: (22)" in none[2], f"a missing file: {none}")
        half = run(TIDEMARK, "hta", f"{url}/half/trace.json.gz")
        check(half[0] == 4 and "curl: (18)" in half[2] and "device rows" in half[1], f"a transfer that breaks off: {half}")
        one = run(TIDEMARK, f"{url}/heap.tide")
        check(one[0] == 0 and "heap.tide" in one[1], f"a URL without a command: {one}")
        local = run(TIDEMARK, "info", f"{url}/local")
        check(local[0] == 1 and "curl: (1)" in local[2] and "root" not in local[1], f"a server that names a file of this machine: {local}")
        endless(f"{url}/endless/heap.tide", folder)
        no_orphans(f"{url}/silent")
        server.shutdown()
    nobody = run(TIDEMARK, "hta", url + "/trace.json.gz")
    check(nobody[0] == 1 and "curl: (7)" in nobody[2], f"no server: {nobody}")
    bare = run(TIDEMARK, "hta", url + "/trace.json.gz", env={"PATH": "/nonexistent"})
    check(bare[0] == 1 and "needs the program curl" in bare[2], f"no curl: {bare}")


def no_orphans(url: str) -> None:
    """The program that fetches ends with us, however we end."""
    for how in signal.SIGTERM, signal.SIGKILL:
        job = subprocess.Popen([TIDEMARK, "info", url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "TIDEMARK_GIVE_UP": "0"})
        tasks = pathlib.Path(f"/proc/{job.pid}/task")
        curl = waiting.wait_for("curl", lambda: next((int(c) for t in tasks.iterdir() for c in (t / "children").read_text().split()), 0))
        waiting.wait_for("its start", lambda: b"--silent" in pathlib.Path(f"/proc/{curl}/cmdline").read_bytes())
        job.send_signal(how)
        job.wait(60)
        waiting.wait_for("the end of curl", lambda: is_gone(curl), 60)


def is_gone(pid: int) -> bool:
    """Also of a process that nobody has waited for."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def endless(url: str, folder: pathlib.Path) -> None:
    """Of a body without an end, at most half of the free space is filled; on a file system of our own, so that it is small."""
    small = folder / "small"
    small.mkdir()
    inside = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o size=8m none "$1" && shift && TMPDIR=$1 && export TMPDIR && shift && exec "$@"', "sh", str(small)]
    if run(*inside, str(small), "true")[0]:
        print("skipped: a server without an end: no file system may be mounted here")
        return
    rc, _, err = run(*inside, str(small), TIDEMARK, "info", url)
    check(rc == 1 and "longer than 4.00 MiB, half of the free space for temporary files" in err, f"a server without an end: {rc} {err}")


def silent(folder: pathlib.Path) -> None:
    """A named pipe that nobody writes to stands for a file system that does not answer."""
    for i in range(3):
        shutil.copy(TRACE, folder / f"rank-{i}.json.gz")
    os.mkfifo(folder / "rank-3.json.gz")
    files = [str(folder / f"rank-{i}.json.gz") for i in range(4)]
    rc, out, err = run(TIDEMARK, "hta", "--json", *files, env={"TIDEMARK_GIVE_UP": "2"})
    found = json.loads(out)
    check(len(found["ranks"]) == 3 and "rank-3.json.gz: no answer for 2 s" in err and rc in (0, 1, 4), f"a file that does not answer: {rc} {err}")
    alone = json.loads(run(TIDEMARK, "hta", "--json", *files[:3])[1])
    check(found["ranks"] == alone["ranks"], "figures of the others")
    lost_process(files, alone)


def of_rank(rank: int, parent: int) -> int:
    """Returns the process that has this rank of the MPI job that `parent` started; 0 = none yet."""
    for p in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (p / "environ").read_bytes().split(b"\0")
            started = int((p / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
        if started == parent and b"OMPI_COMM_WORLD_RANK=%d" % rank in words:
            return int(p.name)
    return 0


def lost_process(files: list[str], alone: dict) -> None:
    if not pathlib.Path(MPI).exists() or not shutil.which("mpirun"):
        print("skipped: a lost process: no MPI here")
        return
    env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
           "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "TIDEMARK_GIVE_UP": "8"}
    # the named pipe, of unknown size, comes last, to the process with the least work: 1 of 4
    job = subprocess.Popen(["mpirun", "--enable-recovery", "-n", "4", MPI, "hta", "--json", *files], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env={**os.environ, **env})
    reader = waiting.wait_for("a process that reads the pipe", lambda: next((r for r in range(1, 4) if is_reading(of_rank(r, job.pid))), 0))
    os.kill(of_rank(reader, job.pid), signal.SIGKILL)
    out, err = job.communicate(timeout=400)
    check("rank-3.json.gz" in err and f"process {reader}, which read it, was lost" in err, f"a killed process: {err}")
    check(json.loads(out)["ranks"] == alone["ranks"], "figures of the others, beside a killed process")


def is_reading(pid: int) -> bool:
    """Returns true if a thread of the process waits in openat(2), as for a named pipe without a writer."""
    try:
        return bool(pid) and any((t / "syscall").read_text().startswith("257 ") for t in pathlib.Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return False


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        network(folder)
        silent(folder)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
