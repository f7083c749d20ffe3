#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Measures the overhead of a profiling session: Tidemark's recorder and torch.profiler, alternating in one run.

    PYTHONPATH=build/python-site python3 bench/python/sessions.py [ROUNDS]

Two models on the CPU, one thread: one of 200 tiny layers (all of it is PyTorch's own cost per op) and one of a few large ones. CPU seconds
of the process count, our writer thread included, so that other work on the machine does not. Devices: tests/gpu.
"""
import os
import statistics
import sys
import tempfile
import time

import torch
from tidemark.profiling._recording import record_block

torch.set_num_threads(1)
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 9
small = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(200)])
large = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(4)])
MODELS = {"200 layers of 16": (small, torch.randn(4, 16), 40), "4 layers of 1024": (large, torch.randn(256, 1024), 8)}
VARIANTS = {
    "bare": None,
    "tidemark": {"recorder": "tidemark"},
    "tidemark, modules off": {"recorder": "tidemark", "with_modules": False},
    "tidemark, stacks and shapes": {"recorder": "tidemark", "with_stack": True, "record_shapes": True},
    "torch.profiler": {"recorder": "torch", "memory": False, "with_modules": False},
    "torch.profiler, memory": {"recorder": "torch", "memory": True, "with_modules": False},
    "torch.profiler, stacks and shapes": {"recorder": "torch", "memory": True, "with_stack": True, "record_shapes": True},
}


def spent(model, x, calls, how, path):
    """CPU milliseconds per call."""
    def work():
        begin = time.process_time()
        for _ in range(calls):
            model(x)
        return (time.process_time() - begin) * 1000 / calls

    if how is None:
        return work()
    with record_block(path, **how) as recording:
        took = work()
    os.unlink(recording.path)
    return took


def main():
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        for name, (model, x, calls) in MODELS.items():
            got = {v: [] for v in VARIANTS}
            for k in range(ROUNDS + 1):  # the first round is not counted
                for v, how in VARIANTS.items():
                    took = spent(model, x, calls, how, os.path.join(folder, f"{k}.tide"))
                    if k:
                        got[v].append(took)
            bare = statistics.median(got["bare"])
            print(f"{name}: torch {torch.__version__}, {ROUNDS} rounds of {calls} calls, CPU ms a call: median (min to max), added")
            for v, rows in got.items():
                m = statistics.median(rows)
                print(f"  {v:34} {m:8.3f} ({min(rows):.3f} to {max(rows):.3f})  {100 * (m / bare - 1):+7.1f} %")


main()
