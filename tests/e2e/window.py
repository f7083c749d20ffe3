#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark run --max-size`: the last part is kept, live blocks are carried over, a kill loses nothing; and the same by settings, switched
by a signal.

window.py PROGRAM: window_prog.c, which keeps 1,000 blocks of 1,000 to 1,999 bytes and passes others from one thread to another."""
import json
import os
import signal
import subprocess
import sys
import tempfile

from checks import check, result, wait_for

TIDEMARK, PROG = os.environ["TIDEMARK"], os.path.abspath(sys.argv[1])
KEPT = sum(range(1000, 2000))


def ask(*args: str) -> dict:
    done = subprocess.run([TIDEMARK, *args, "--json"], capture_output=True, text=True)
    check(" ".join(args), done.returncode == 0, done.stderr)
    return json.loads(done.stdout) if done.returncode == 0 else {}


def blocks(report: dict) -> tuple:
    """Bytes and blocks of keep_block that are live at the end."""
    rows = [r for r in report.get("stacks", report.get("rows", [])) if "keep_block" in json.dumps(r)]
    return sum(r["left_bytes"] for r in rows), sum(r["left_count"] for r in rows)


def one(folder: str, name: str, env: dict, *more: str, options: tuple = ("--max-size", "1MiB")) -> str:
    file = f"{folder}/{name}.tide"
    done = subprocess.run([TIDEMARK, "run", "--no-torch", *options, "-o", file, "--", PROG, "200000", *more], capture_output=True, text=True,
                          env={**os.environ, **env})
    want = -signal.SIGKILL if "kill" in more else 0
    check(f"{name} runs", done.returncode == want, (done.returncode, done.stderr))
    check(f"{name}: no rings are left", not os.path.exists(file + "-rings"))
    return file


def limited(folder: str, name: str, file: str) -> None:
    old = file[:-5] + ".old.tide"
    sizes = [os.path.getsize(f) for f in (file, old) if os.path.exists(f)]
    check(f"{name}: two parts within the limit", len(sizes) == 2 and sum(sizes) <= 1 << 20, sizes)
    for part in (file, old):
        report = ask("heap", part)
        check(f"{name}: all blocks that stay are known in {os.path.basename(part)}", blocks(report) == (KEPT, 1000), report)
        losses = ask("info", part).get("losses", {})
        check(f"{name}: no event is missing", not {"missing_slots", "missing_events", "undefined_ids", "window_blocks"} & set(losses), losses)
    check(f"{name}: what is left out is stated", ask("info", file).get("losses", {}).get("window_events", 0) > 30000, ask("info", file).get("losses"))


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        limited(folder, "plain", one(folder, "plain", {}, options=("--heap=full", "--max-size", "1MiB")))
        limited(folder, "killed", one(folder, "killed", {}, "kill", options=("--heap=full", "--max-size", "1MiB")))
        limited(folder, "set", one(folder, "set", {"TIDEMARK_RUN_HEAP": "full", "TIDEMARK_RUN_MAX_SIZE": "1MiB"}, options=()))
        with open(f"{folder}/tidemark.toml", "w") as f:
            f.write('[[backend]]\nrun_heap = "full"\nrun_max_size = "1MiB"\n')
        limited(folder, "file", one(folder, "file", {"TIDEMARK_CONFIG": f"{folder}/tidemark.toml"}, options=()))
        for value, says in ("twice", "off, sampled or full"), ("full", None):
            done = subprocess.run([TIDEMARK, "run", "--no-torch", "-o", f"{folder}/x.tide", "--", "true"], capture_output=True, text=True,
                                  env={**os.environ, "TIDEMARK_RUN_HEAP": value})
            check(f"run_heap = {value}", (done.returncode == 2 and says in done.stderr) if says else done.returncode == 0, done.stderr)
        by_signal(folder)
        mapped(folder)
    return result("kept")


def mapped(folder: str) -> None:
    """--mmap: holes, moves and mappings over others; nothing of malloc's own, nothing that is only reserved."""
    file = f"{folder}/maps.tide"
    done = subprocess.run([TIDEMARK, "run", "--no-torch", "--heap=full", "--mmap", "-o", file, "--", PROG, "maps"], capture_output=True, text=True)
    check("maps run", done.returncode == 0, done.stderr)
    pools = {p["pool"]: p for d in ask("memory", file).get("devices", []) for p in d.get("pools", [])}
    mib = 1 << 20
    check("6 MiB mapped, 10 at most", pools.get("mmap", {}).get("live_bytes") == 6 * mib and pools.get("mmap", {}).get("peak_bytes") == 10 * mib, pools)
    check("malloc's mapping counts once", 8 * mib <= pools.get("malloc", {}).get("peak_bytes", 0) < 8 * mib + 65536, pools)


LOOP = "import signal, sys, time\nprint('ready', flush=True)\nwhile True:\n    x = bytearray(3 << 20); time.sleep(0.005)\n"


def by_signal(folder: str) -> None:
    """USR2 switches recording off, and on again; the program runs on. Without --signal it would end the program."""
    file = f"{folder}/signal.tide"
    run = subprocess.Popen([TIDEMARK, "run", "--no-torch", "--heap", "--signal", "USR2", "-o", file, "--", sys.executable, "-c", LOOP],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert run.stdout is not None
    run.stdout.readline()
    for said in "recording off", "recording on":
        run.send_signal(signal.SIGUSR2)
        wait_for(said, lambda: said in subprocess.run([TIDEMARK, "dump", file], capture_output=True, text=True).stdout)
    alive = run.poll() is None
    run.send_signal(signal.SIGTERM)
    run.wait(200)
    check("the program lives through the signals", alive)
    info = ask("info", file)
    check("the recording says that it was switched off once", info.get("losses", {}).get("paused") == 1, info.get("losses"))
    early = "import os, signal, sys; sys.stdin.readline(); os.kill(os.getpid(), signal.SIGUSR2); print('alive')"
    done = subprocess.run([TIDEMARK, "run", "--signal", "USR2", "-o", file, "--", sys.executable, "-c", early], input="\n", capture_output=True, text=True, timeout=300)
    check("a program that has recorded nothing yet lives through it, too", (done.returncode, done.stdout) == (0, "alive\n"), (done.returncode, done.stderr))


sys.exit(main())
