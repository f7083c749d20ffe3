#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Measures the floor of recording ops without RecordFunction (entry.cpp), beside an empty RecordFunction callback.

    entry.py [--seconds N] [--batch N] [--context N] [--small]

Turns of a few training steps, each between two turns without anything; the median of their ratios. Needs torch and a C++ compiler.
"""
import argparse
import ctypes
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch.nn import functional as F

from gpt import GPT

HERE = pathlib.Path(__file__).resolve().parent
CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
TURNS = {"nothing": (0, False), "begins (1 slot an op)": (1, False), "begins and ends (2 slots an op)": (2, False), "empty RecordFunction callback": (0, True)}


def build(folder: str) -> str:
    lib = f"{folder}/libentry.so"
    root = pathlib.Path(torch.__file__).parent
    subprocess.run(["c++", "-O2", "-std=c++20", "-w", "-fPIC", "-shared", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}", f"-I{root}/include",
                    HERE / "entry.cpp", "-o", lib, f"-L{root}/lib", f"-Wl,-rpath,{root}/lib", "-ltorch_cpu", "-lc10"], check=True)
    return lib


def training(a):
    torch.manual_seed(0)
    layers, width, heads, vocab = (4, 128, 4, 1024) if a.small else (12, 768, 12, 50304)
    model = GPT(vocab, a.context, layers, width, heads).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    ids = torch.randint(vocab, (a.batch, a.context + 1), device=DEVICE)

    def step():
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if CUDA:
            torch.cuda.synchronize()

    return step


def measure(a, entry) -> None:
    step = training(a)

    def turn(slots: int, callback: bool) -> float:
        entry.entry_slots(slots)
        if callback:
            entry.entry_callback(True)
        times = []
        for _ in range(12):
            t0 = time.perf_counter_ns()
            step()
            times.append(time.perf_counter_ns() - t0)
        if callback:
            entry.entry_callback(False)
        return statistics.median(times)

    for _ in range(2):
        turn(0, False)
    entry.entry_slots(1)
    before = entry.entry_stored()
    step()
    ops = entry.entry_stored() - before  # of this thread: the backward pass runs in another on a GPU
    ratios: dict[str, list[float]] = {k: [] for k in TURNS}
    until, shuffle, bare = time.monotonic() + a.seconds, random.Random(1), turn(0, False)
    base = [bare]
    while time.monotonic() < until:
        order = list(TURNS)
        shuffle.shuffle(order)
        for k in order:
            took, after = turn(*TURNS[k]), turn(0, False)
            ratios[k].append(took / ((bare + after) / 2))
            base.append(bare := after)
    print(f"{DEVICE}, torch {torch.__version__}: a step takes {statistics.median(base) / 1e6:.3f} ms, {ops} ops in this thread, {len(base)} turns")
    for k, v in ratios.items():
        q = statistics.quantiles(v, n=4) if len(v) > 1 else v * 3
        print(f"{k:34} {100 * (statistics.median(v) - 1):+6.2f} %   quartiles {100 * (q[0] - 1):+6.2f} {100 * (q[2] - 1):+6.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, least in ("seconds", 60.0), ("batch", 2), ("context", 64):
        parser.add_argument(f"--{name}", type=type(least), default=least)
    parser.add_argument("--small", action="store_true")
    a = parser.parse_args()
    if "TIDE_ENTRY" not in os.environ:
        with tempfile.TemporaryDirectory() as folder:
            lib = build(folder)
            sys.exit(subprocess.run([sys.executable, *sys.argv], env={**os.environ, "LD_PRELOAD": lib, "TIDE_ENTRY": lib}, check=False).returncode)
    if not CUDA:
        torch.set_num_threads(1)
    entry = ctypes.CDLL(os.environ["TIDE_ENTRY"])
    entry.entry_stored.restype = ctypes.c_uint64
    measure(a, entry)


if __name__ == "__main__":
    main()
