#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Counts, with callgrind, the instructions that recording adds to a training step: the result is the same on a busy machine.

    instructions.py PYTHON OUT      (needs valgrind and a C compiler; the tidemark package on PYTHONPATH; some minutes)

Counts everything the process executes, the recorder's writer thread included, for one step and for 200 calls of one small op.
"""
import argparse
import ctypes
import gc
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SWITCH = """
#include <valgrind/callgrind.h>
void counting_on(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void counting_off(const char *what) { CALLGRIND_DUMP_STATS_AT(what); CALLGRIND_STOP_INSTRUMENTATION; }
"""


def inside(out: str) -> None:
    """Runs under valgrind."""
    import live
    import torch

    import tidemark
    import tidemark.torch as capture

    switch = ctypes.CDLL(os.path.join(out, "switch.so"))
    tidemark.start(os.path.join(out, "instructions.tide"))
    step = live.training(argparse.Namespace(small=True, batch=2, context=16, bf16=False, autocast=False))
    capture.attach(stacks=True)
    step()
    capture.detach()
    x = torch.ones(4)
    gc.disable()
    for _ in range(2):  # the first finds the allocator's and Python's caches cold
        for name, tool in live.TOOLS.items():
            with tool():
                step()
                for _ in range(20):
                    x.view(4)
                gc.collect()
                switch.counting_on()
                step()
                switch.counting_off(f"{name}|step".encode())
                switch.counting_on()
                for _ in range(200):
                    x.view(4)
                switch.counting_off(f"{name}|view".encode())
    tidemark.stop()


def totals(out: str) -> dict:
    found: dict = {}
    files = [f for f in os.listdir(out) if f.startswith("callgrind.out.")]
    for file in sorted(files, key=lambda f: int(f.rpartition(".")[2])):
        with open(os.path.join(out, file), encoding="utf-8", errors="replace") as f:
            text = f.read()
        what = re.search(r"Trigger: Client Request: (.*)", text)
        n = re.search(r"^totals: (\d+)", text, re.M)
        if what and n:
            name, _, kind = what.group(1).partition("|")
            found.setdefault(kind, {})[name] = int(n.group(1))  # the second turn's stays
    return found


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    if sys.argv[1] == "--inside":
        inside(sys.argv[2])
        return
    python, out = sys.argv[1], os.path.abspath(sys.argv[2])
    os.makedirs(out, exist_ok=True)
    for file in os.listdir(out):
        if file.startswith("callgrind.out"):
            os.unlink(os.path.join(out, file))
    source = os.path.join(out, "switch.c")
    with open(source, "w", encoding="utf-8") as f:
        f.write(SWITCH)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", source, "-o", os.path.join(out, "switch.so")], check=True)
    env = {**os.environ, "ATEN_CPU_CAPABILITY": "default", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
           "PYTHONPATH": HERE + os.pathsep + os.environ.get("PYTHONPATH", "")}
    done = subprocess.run(["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}/callgrind.out",
                           python, "-W", "ignore", os.path.abspath(__file__), "--inside", out], env=env, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    for kind, rows in totals(out).items():
        bare = rows["bare"]
        print(f"\n{kind}: {bare:,} instructions bare")
        for name, n in rows.items():
            print(f"  {name:32} {n:14,} {100 * (n / bare - 1):+8.2f} %")


if __name__ == "__main__":
    main()
