#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Measures the dashboard with many recordings: seconds to index them, to answer lists, and to draw the first page in a browser.

    many.py BUILD [--count 10000] [--node NODE]
"""
import argparse
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = 20


def make(folder, count):
    """Two steps each; every 50th run of a program needs 10 % more."""
    for i in range(count):
        program, run = i % PROGRAMS, i // PROGRAMS
        start, peak, step = 1.7e15 + i * 60e6, (100 + program + (10 if run % 50 == 49 else 0)) << 20, 1000 + program
        memory = {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 7, "tid": 7, "s": "t"}
        args = {"Device Type": 1, "Device Id": 0, "Addr": 4096, "Total Reserved": peak}
        events = [{"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": f"python3 train_{program:02}.py"}}]
        events += [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{k}", "pid": 7, "tid": 7, "ts": start + k * step, "dur": step} for k in (0, 1)]
        events += [memory | {"ts": start + 5, "args": args | {"Bytes": peak, "Total Allocated": peak}}, memory | {"ts": start + 50, "args": args | {"Bytes": -peak, "Total Allocated": 0}}]
        (folder / f"run_{i:05}.json").write_text(json.dumps({"traceEvents": events, "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150 << 30}]}))


def get(url):
    with urllib.request.urlopen(url) as r:
        return json.load(r)


def curl(url, times=5):
    out = []
    for _ in range(times):
        done = subprocess.run(["curl", "-s", "--compressed", "-o", "/dev/null", "-w", "%{time_total} %{size_download}", url], capture_output=True, text=True, check=True)
        out.append(done.stdout.split())
    return f"{' '.join(f'{float(t):.3f}' for t, _ in out)} s, {int(out[0][1]):,} bytes"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build", type=pathlib.Path)
    p.add_argument("--count", type=int, default=10000)
    p.add_argument("--node", default=str(HERE.parent.parent / ".venv/bin/node"))
    a = p.parse_args()
    with tempfile.TemporaryDirectory(prefix="tidemark-many-") as folder:
        make(pathlib.Path(folder), a.count)
        server = subprocess.Popen([a.build / "src/tidemark", "serve", folder, "--no-token", "--port", "0"], stdout=subprocess.PIPE, text=True)
        try:
            url = server.stdout.readline().split()[-1]
            begun = time.monotonic()
            while get(f"{url}api/runs?limit=1")["pending"] or get(f"{url}api/runs?limit=1")["count"] < a.count:
                time.sleep(0.2)
            print(f"load {os.getloadavg()[0]:.1f}; {a.count:,} recordings indexed after {time.monotonic() - begun:.1f} s")
            for what in ("api/runs?limit=500", "api/runs?limit=10000", "api/runs?program=train_03.py&limit=500", "api/recordings"):
                print(f"curl {what}: {curl(url + what)}", flush=True)
            subprocess.run([a.node, HERE / "many.mjs", url, str(a.count)], check=False)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(timeout=30)


main()
