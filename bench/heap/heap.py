#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Compares `tidemark run --heap` with heaptrack and memray: seconds of a program, and bytes of the file.

    bench/heap/heap.py BUILD [--python PYTHON] [ROUNDS]

Each program prints its own CPU seconds (all threads of the process, so our writer thread counts) and wall seconds; the CPU
seconds of all processes, with what a tool does before and after the program, are a second figure. Rounds alternate, and the
lowest of each counts. memray runs with native stacks, without tracing Python's own allocators, which no other
tool here sees. Instructions (callgrind) of the sampled mode: last rows."""
import argparse
import glob
import os
import resource
import shutil
import subprocess
import sys
import tempfile

IMPORTS = r"""
import time
c, w = time.process_time(), time.perf_counter()
import asyncio, email.mime.multipart, http.client, json, logging.config, multiprocessing.pool, sqlite3, unittest.mock, urllib.request, xml.etree.ElementTree
import numpy
print(f"{time.process_time() - c:.4f} {time.perf_counter() - w:.4f}")
"""
TRAIN = r"""
import time
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
net = torch.nn.Sequential(*[m for _ in range(4) for m in (torch.nn.Linear(64, 64), torch.nn.GELU())])
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
x = torch.randn(32, 64)
def step():
    loss = net(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
step()
c, w = time.process_time(), time.perf_counter()
for _ in range(150):
    step()
print(f"{time.process_time() - c:.4f} {time.perf_counter() - w:.4f}")
"""

# Under PYTHONMALLOC=malloc, so that every tool sees every object.
JSON = r"""
import json, time
c, w = time.process_time(), time.perf_counter()
rows = [{"id": i, "name": f"row {i}", "values": [i / 7, i / 3, None], "tags": {"even": i % 2 == 0, "deep": [[i], [str(i)]]}} for i in range(2000)]
for _ in range(6):
    rows = json.loads(json.dumps(rows, indent=1))
print(f"{time.process_time() - c:.4f} {time.perf_counter() - w:.4f}")
"""


def instructions(command: list) -> int:
    """Returns the figure of the last process that callgrind follows."""
    done = subprocess.run(["valgrind", "--tool=callgrind", "--trace-children=yes", "--callgrind-out-file=/dev/null", *command], capture_output=True, text=True)
    counts = [int(line.rsplit(":", 1)[1]) for line in done.stderr.splitlines() if "Collected" in line]
    return counts[0] if counts else 0


def last_pair(text: str) -> tuple:
    for line in reversed(text.splitlines()):
        parts = line.split()
        if len(parts) == 2:
            try:
                return float(parts[0]), float(parts[1])
            except ValueError:
                pass
    return float("nan"), float("nan")


def size(pattern: str) -> int:
    return sum(os.path.getsize(f) for f in glob.glob(pattern))


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("build")
    p.add_argument("rounds", nargs="?", type=int, default=3)
    p.add_argument("--python", default=os.path.realpath(sys.executable))
    a = p.parse_args()
    tidemark = os.path.join(a.build, "src", "tidemark")
    with tempfile.TemporaryDirectory() as d:
        pairs = f"{d}/pairs"
        subprocess.run(["gcc", "-O1", "-g", "-fno-builtin", "-o", pairs, os.path.join(os.path.dirname(__file__), "pairs.c")], check=True)
        for name, text in ("train.py", TRAIN), ("imports.py", IMPORTS), ("json.py", JSON):
            with open(f"{d}/x{name}", "w") as f:
                f.write(text)
        programs = {"pairs (2 M, random sizes)": [pairs, "2000000", "4"], "Python imports": [a.python, f"{d}/ximports.py"],
                    "JSON in Python": [a.python, f"{d}/xjson.py"],
                    "CPU training (torch, 150 steps)": [a.python, f"{d}/xtrain.py"]}
        tools = {"bare": [], "tidemark --heap": [tidemark, "run", "--heap", "--no-torch", "-o", f"{d}/s.tide", "--"],
                 "tidemark --heap=full": [tidemark, "run", "--heap=full", "--no-torch", "-o", f"{d}/f.tide", "--"]}
        if shutil.which("heaptrack"):
            tools["heaptrack"] = ["heaptrack", "-r", "-o", f"{d}/ht"]
        files = {"tidemark --heap": f"{d}/s.tide", "tidemark --heap=full": f"{d}/f.tide", "tidemark --heap=full, Python stacks": f"{d}/p.tide", "heaptrack": f"{d}/ht*", "memray, native": f"{d}/m.bin"}
        for program, command in programs.items():
            here = dict(tools)
            if command[0] == a.python:
                here["tidemark --heap=full, Python stacks"] = [tidemark, "run", "--heap=full", "-o", f"{d}/p.tide", "--"]
                here["memray, native"] = [a.python, "-m", "memray", "run", "-q", "-f", "--native", "-o", f"{d}/m.bin"]
            cpu, wall, whole, bytes_ = {}, {}, {}, {}
            for _ in range(a.rounds):
                for tool, before in here.items():
                    for f in glob.glob(files.get(tool, "/nowhere")):
                        os.unlink(f)
                    rest = command[1:] if tool.startswith("memray") else command
                    env = dict(os.environ, PYTHONMALLOC="malloc") if "JSON" in program else None
                    start = resource.getrusage(resource.RUSAGE_CHILDREN)
                    done = subprocess.run([*before, *rest], capture_output=True, text=True, check=False, env=env)
                    end = resource.getrusage(resource.RUSAGE_CHILDREN)
                    all_ = end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime
                    whole[tool] = min(all_, whole.get(tool, all_))
                    c, w = last_pair(done.stdout)
                    cpu[tool], wall[tool] = min(c, cpu.get(tool, c)), min(w, wall.get(tool, w))
                    bytes_[tool] = size(files[tool]) if tool in files else 0
            print(f"\n| {program} | CPU s | wall s | slowdown (CPU) | start, tool and report included | file |\n|---|---|---|---|---|---|")
            for tool in here:
                print(f"| {tool} | {cpu[tool]:.3f} | {wall[tool]:.3f} | +{cpu[tool] - cpu['bare']:.3f} s | +{whole[tool] - whole['bare']:.3f} s | {bytes_[tool] / 1e6:.3f} MB |", flush=True)
            ours = cpu["tidemark --heap=full"] - cpu["bare"]
            for tool in "heaptrack", "memray, native":
                if tool in here and ours > 0:
                    print(f"{tool}: {(cpu[tool] - cpu['bare']) / ours:.1f} times the slowdown of --heap=full, {bytes_[tool] / max(bytes_['tidemark --heap=full'], 1):.1f} times the file")
        if shutil.which("valgrind"):
            few = [pairs, "400000", "4"]
            bare, ours = instructions(few), instructions([*tools["tidemark --heap"], *few])
            print(f"\nsampled, pairs: {bare / 4e5:.1f} instructions a pair bare, {(ours - bare) / 4e5:+.1f} under --heap ({(ours / bare - 1) * 100:+.1f} %, start included)")
    return 0


sys.exit(main())
