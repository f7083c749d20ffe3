# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Shared by the benchmarks: measuring a command, and making a trace of any size."""
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def timed(command: list, env: dict | None = None) -> tuple[float, float, int]:
    """Returns wall seconds, CPU seconds and peak resident bytes of one command, which must not fail; its output is discarded."""
    start = time.perf_counter()
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=env)
    _, status, used = os.wait4(p.pid, 0)
    wall = time.perf_counter() - start
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        raise subprocess.CalledProcessError(p.returncode, command)
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def grown(path: str | pathlib.Path, mb: int, *options: str) -> str:
    """Returns the trace at `path`; if there is none, grows one of `mb` MB from that of a real training run (kineto/grow.py)."""
    if not os.path.exists(path):
        data = ROOT / "tests/data/kineto_gpt_train.json.gz"
        subprocess.run([sys.executable, ROOT / "bench/kineto/grow.py", data, str(mb), path, *options], check=True)
    return str(path)
