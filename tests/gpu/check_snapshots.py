#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Compares our reports on the snapshots of snapshots.py with PyTorch's own counters; needs no device.

    python3 tests/gpu/check_snapshots.py PROGRAM FOLDER
"""
import glob
import json
import os
import re
import subprocess
import sys


def ask(program: str, *args: str):
    done = subprocess.run([program, *args, "--json"], capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        raise AssertionError(f"{args[0]}: exit {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def totals(doc: dict) -> dict:
    return next(d["totals"] for d in doc["devices"] if d["device"].startswith("cuda"))


FOLLOWS = ("check: replay reproduces all", "check: the recording has no segment events, and neither has the replay")
UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def said(message: str, pattern: str) -> float:
    number, unit = re.search(pattern.replace("#", r"([0-9.]+) ([A-Za-z]+)"), message).groups()
    return float(number) * UNITS[unit]


def near(ours: int, told: float) -> bool:
    """Equal to the two digits after the point that the message has."""
    unit = max(u for u in UNITS.values() if u <= max(told, 1))
    return round(ours / unit, 2) == round(told / unit, 2)


def oom_rows(program: str, file: str, message: str):
    """The last out-of-memory event against PyTorch's message."""
    o = ask(program, "oom", file)["ooms"][-1]
    for what, ours, pattern in (("asked for", o["requested_bytes"], "Tried to allocate #"),
                                ("free on the device", o["device_free_bytes"], "of which # is free"),
                                ("allocated", o["allocated_bytes"], "memory # is allocated by PyTorch"),
                                ("unallocated", o["reserved_unallocated_bytes"], "and # is reserved by PyTorch")):
        yield f"oom: {what} {ours}", near(ours, said(message, pattern)), True
    allowed = said(message, "# allowed;")
    yield "oom: cause", o["cause"], "limited"
    yield f"oom: limit {allowed}", o["reserved_bytes"] <= allowed < o["limit_below_bytes"], True


def rows(program: str, file: str, stats: dict, case: dict):
    """(what, ours, PyTorch's)."""
    whole = not case.get("late") and "max_entries" not in case.get("history", {})
    memory = totals(ask(program, "memory", file))
    peak = ask(program, "peak", file, "--device", "cuda:0")
    state = ask(program, "allocator", file, "--at", "100%")
    yield "live bytes", memory["live_bytes"], stats["allocated_bytes.all.current"]
    yield "live allocations", memory["live_count"], stats["allocation.all.current"]
    yield "reserved bytes", memory["reserved_bytes"], stats["reserved_bytes.all.current"]
    if whole:
        yield "peak bytes", peak["peak_bytes"], stats["allocated_bytes.all.peak"]
        yield "reserved peak", memory["reserved_peak_bytes"], stats["reserved_bytes.all.peak"]
        yield "allocations made", memory["allocs"], stats["allocation.all.allocated"]
    yield "active bytes", state["active_bytes"], stats["active_bytes.all.current"]
    yield "asked for, active", state["requested_bytes"], stats["requested_bytes.all.current"]
    yield "inactive split bytes", state["inactive_split_bytes"], stats["inactive_split_bytes.all.current"]
    told = subprocess.run([program, "whatif", file], capture_output=True, text=True, check=False, timeout=300)
    check = [x for x in told.stdout.splitlines() if x.startswith("check:")] or [told.stderr.strip()[:200]]
    yield "replay", check[0].startswith(FOLLOWS), True


def main() -> int:
    program, folder = sys.argv[1:3]
    bad = seen = 0
    for file in sorted(glob.glob(os.path.join(folder, "*.pickle.gz"))):
        name = os.path.basename(file)[:-len(".pickle.gz")]
        with open(os.path.join(folder, name + ".json"), encoding="utf-8") as f:
            told = json.load(f)
        try:
            pairs = list(rows(program, file, told["stats"], told["case"]))
            for what, ours, torch in pairs + (list(oom_rows(program, file, told["oom"])) if told["oom"] else []):
                seen += 1
                if ours != torch:
                    bad += 1
                    print(f"{name}: {what}: {ours}, PyTorch says {torch}")
        except (AssertionError, KeyError, StopIteration) as why:
            bad += 1
            print(f"{name}: {why!r}")
    print(f"{seen} figures, {bad} differ")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
