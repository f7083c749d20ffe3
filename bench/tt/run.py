#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Measures time and memory of `tidemark info` on logs of the Tenstorrent runtime, compared with the original parser.

    bench/tt/run.py build/src/tidemark [--mb 64,256,1024] [--kinds same,ranks,distinct] [--original FOLDER] [--original-mb 4]

The log is that of tests/support/tt_emitter.py, many runs of one program, repeated up to the size that is wanted: of one rank, of
four ranks, or with operations whose texts are all different. FOLDER holds
the package memory_profiler of vkovinicTT/tt-swiss. Figures are CPU seconds, because the machine may be busy."""
import argparse
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ORIGINAL = """
import sys; sys.path.insert(0, sys.argv[1])
from memory_profiler.parser import parse_log_file
parse_log_file(sys.argv[2], '/dev/null', '/dev/null', '/dev/null', '/dev/null')
"""


def generate(path: pathlib.Path, mb: int, kind: str = "same") -> None:
    args = ["--layers", "40", "--runs", "8", "--colour", "--no-modules", "--ranks", "4" if kind == "ranks" else "1"]
    one = subprocess.run([sys.executable, str(ROOT / "tests/support/tt_emitter.py"), *args], capture_output=True, check=True).stdout
    with open(path, "wb") as f:
        n = k = 0
        while n < mb << 20:
            n += f.write(one if kind != "distinct" else one.replace(b'loc("', b'loc("%d.' % k))
            k += 1


def measure(args: list[str]) -> tuple[float, float, float]:
    """CPU seconds, wall seconds, MiB at most."""
    begun = time.monotonic()
    p = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = __import__("os").wait4(p.pid, 0)
    if status:
        sys.exit(f"{args}: status {status}")
    return used.ru_utime + used.ru_stime, time.monotonic() - begun, used.ru_maxrss / 1024


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("--mb", default="64,256")
    p.add_argument("--kinds", default="same,ranks,distinct")
    p.add_argument("--original")
    p.add_argument("--original-mb", type=int, default=4)
    a = p.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print("| log | CPU | MB/s of CPU | memory |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as tmp:
        log = pathlib.Path(tmp) / "run.log"
        for mb, kind in ((int(mb), kind) for kind in a.kinds.split(",") for mb in a.mb.split(",")):
            generate(log, mb, kind)
            cpu, _, rss = measure([a.program, "info", str(log)])
            print(f"| {mb} MB, {kind} | {cpu:.2f} s | {log.stat().st_size / 1e6 / cpu:.0f} | {rss:.0f} MiB |", flush=True)
        if a.original:
            generate(log, a.original_mb)
            cpu, _, rss = measure([sys.executable, "-c", ORIGINAL, a.original, str(log)])
            mine, _, own = measure([a.program, "tt", "--analyze", str(log), "--json"])
            print(f"| {a.original_mb} MB, original | {cpu:.2f} s | {log.stat().st_size / 1e6 / cpu:.1f} | {rss:.0f} MiB |")
            print(f"| {a.original_mb} MB, `tt --json` | {mine:.2f} s | {log.stat().st_size / 1e6 / mine:.0f} | {own:.0f} MiB |")


if __name__ == "__main__":
    main()
