#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Holds our answers on the snapshots that snapshots.py took to PyTorch's own counters; needs no device.

    python3 tests/gpu/check_snapshots.py PROGRAM FOLDER
"""
import glob
import json
import os
import subprocess
import sys


def ask(program: str, *args: str):
    done = subprocess.run([program, *args, "--json"], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode:
        raise AssertionError(f"{args[0]}: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def totals(doc: dict) -> dict:
    return next(d["totals"] for d in doc["devices"] if d["device"].startswith("cuda"))


def rows(program: str, file: str, stats: dict, case: dict):
    """(what, ours, PyTorch's); None as PyTorch's: only shown."""
    whole = not case.get("late") and "max_entries" not in case.get("history", {})
    memory = totals(ask(program, "memory", file))
    peak = ask(program, "peak", file, "--device", "cuda:0")
    state = ask(program, "allocator", file, "--at", "100%")
    yield "live bytes", memory["live_bytes"], stats["allocated_bytes.all.current"]
    yield "asked for, live", memory["live_requested_bytes"], stats["requested_bytes.all.current"]
    yield "live allocations", memory["live_count"], stats["allocation.all.current"]
    yield "reserved bytes", memory["reserved_bytes"], stats["reserved_bytes.all.current"]
    if whole:
        yield "peak bytes", peak["peak_bytes"], stats["allocated_bytes.all.peak"]
        yield "reserved peak", memory["reserved_peak_bytes"], stats["reserved_bytes.all.peak"]
        yield "allocations made", memory["allocs"], stats["allocation.all.allocated"]
    yield "state", json.dumps(state)[:0], ""
    told = subprocess.run([program, "whatif", file], capture_output=True, text=True, check=False, timeout=60)
    check = [x for x in told.stdout.splitlines() if x.startswith("check:")] or [told.stderr.strip()[:200]]
    yield "replay", check[0], None


def main() -> int:
    program, folder = sys.argv[1:3]
    bad = 0
    for file in sorted(glob.glob(os.path.join(folder, "*.pickle.gz"))):
        name = os.path.basename(file)[:-len(".pickle.gz")]
        with open(os.path.join(folder, name + ".json"), encoding="utf-8") as f:
            told = json.load(f)
        try:
            for what, ours, torch in rows(program, file, told["stats"], told["case"]):
                if torch is None:
                    print(f"{name}: {what}: {ours}")
                elif ours != torch:
                    bad += 1
                    print(f"{name}: {what}: {ours}, PyTorch says {torch}")
        except (AssertionError, KeyError, StopIteration) as why:
            bad += 1
            print(f"{name}: {why!r}")
    print(f"{bad} differ")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
