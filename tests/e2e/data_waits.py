#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`waits` on recordings of real DataLoaders whose items sleep, read or compute by a known plan: at least 95 % of the waits name the
process, the function and what it did. With workers (fork), without, for a slow collate function and for an iterable dataset."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TIDE_SOURCE"], "tests", "support"))
import torch_python  # noqa: E402

TIDEMARK = os.environ["TIDEMARK"]
PYTHON = os.environ.get("TIDE_TORCH_PYTHON") or os.path.join(os.environ["TIDE_SOURCE"], ".venv", "bin", "python")
LEAST = 8_000_000  # ns: shorter waits say nothing about the plan
PROGRAM = """
import os, sys, time, torch
from torch.utils.data import DataLoader, Dataset, IterableDataset
torch.set_num_threads(1)
PLAN, FILE, SPAN = sys.argv[1].split(","), sys.argv[2], 0.04
buffer = bytearray(1 << 20)

def act(kind):
    end = time.thread_time() + SPAN
    if kind == "waited":
        time.sleep(SPAN)
    while kind == "computed" and time.thread_time() < end:
        sum(range(1000))
    with open(FILE, "rb", buffering=0) as f:
        while kind == "read" and time.thread_time() < end:
            f.seek(0)
            f.readinto(buffer)

class Items(Dataset):
    def __len__(self):
        return len(PLAN)
    def __getitem__(self, i):
        if not SLOW:
            act(PLAN[i])
        return torch.tensor([i])

class Stream(IterableDataset):
    def __iter__(self):
        for i, kind in enumerate(PLAN):
            act(kind)
            yield torch.tensor([i])

def slow_collate(items):
    if SLOW:
        act(PLAN[int(items[0])])
    return torch.stack(items)

SLOW = sys.argv[3] == "collate"
if __name__ == "__main__":
    workers = 0 if sys.argv[3] == "own" else 1 if sys.argv[3] == "stream" else 2
    data = Stream() if sys.argv[3] == "stream" else Items()
    for x in DataLoader(data, batch_size=1, num_workers=workers, collate_fn=slow_collate, prefetch_factor=1 if workers else None):
        x.sum()
"""
FUNCTIONS = {"workers": "Items.__getitem__ (", "own": "Items.__getitem__ (", "collate": "slow_collate (", "stream": "Stream.__iter__ ("}


def record(folder, plan, mode):
    script, data = os.path.join(folder, "loader.py"), os.path.join(folder, "data")
    with open(script, "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    with open(data, "wb") as f:
        f.write(os.urandom(1 << 20))
    out = os.path.join(folder, mode)
    os.mkdir(out)
    done = subprocess.run([TIDEMARK, "run", "-o", os.path.join(out, "run.tide"), "--", PYTHON, "-W", "ignore", script, ",".join(plan), data, mode],
                          capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return out


def ask(*files):
    done = subprocess.run([TIDEMARK, "waits", *files, "--json"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check_sums(d):
    """Both views of the same waits agree, and parts add up."""
    assert d["waits"] == len(d["longest"]) == sum(g["waits"] for g in d["functions"])
    assert d["wait_ns"] == sum(w["wait_ns"] for w in d["longest"]) == sum(g["wait_ns"] for g in d["functions"])
    for w in d["longest"]:
        parts = sum(w[k] for k in ("computed_ns", "starved_ns", "read_ns", "waited_ns", "handover_ns"))
        assert w["did"] == "unknown" and not parts or abs(parts - w["wait_ns"]) <= 4 or parts == w["wait_ns"], w


def right(d, plan, mode):
    """Counts waits of the plan, and those with the right line. A wait's batch: the k-th by time."""
    waits = sorted(d["longest"], key=lambda w: w["at_ns"])
    made = {w["pid"]: w["itself"] for w in d["workers"]}
    total = good = 0
    for kind, w in zip(plan, waits):
        if w["wait_ns"] < LEAST or w["handover_ns"] > w["wait_ns"] / 2:  # the start of a worker takes longer than its first batch
            continue
        total += 1
        ok = w["did"] == kind and (w["function"] or "").startswith(FUNCTIONS[mode]) and made.get(w["worker"]) == (mode == "own")
        good += ok
        if not ok:
            print(f"{mode}: planned {kind}, got {w}", file=sys.stderr)
    return total, good


def main():
    lacks = torch_python.lacks_torch(PYTHON)
    if lacks:
        print(f"skipped: {lacks}")
        return 77
    total = good = 0
    with tempfile.TemporaryDirectory() as folder:
        for mode in FUNCTIONS:
            plan = ["waited", "read", "computed", "waited", "computed", "read", "read"] * (6 if mode == "workers" else 2)
            out = record(folder, plan, mode)
            d = ask(out)
            check_sums(d)
            n, ok = right(d, plan, mode)
            assert n >= len(plan) / 3, (mode, n, d["functions"])
            print(f"{mode}: {ok} of {n} waits are right")
            total, good = total + n, good + ok
            if mode == "workers":
                alone = ask(os.path.join(out, "run.tide"))  # the workers' recordings are missing
                assert alone["explained"] == 0 and alone["waits"] == d["waits"], alone["functions"]
                assert all(w["worker"] for w in alone["longest"] if w["wait_ns"] > LEAST), "the worker is known without its recording"
    print(f"in all: {good} of {total}")
    return good < 0.95 * total


if __name__ == "__main__":
    sys.exit(main())
