#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Measures the cost of the memory tracker: events, snapshots, a save; compared with a scan of the garbage collector.

    PYTHONPATH=<where the package is> python bench/python/tracker.py
"""
import contextlib
import gc
import io
import statistics
import tempfile
import time

import torch

from tidemark import tracker


def ns(f, n: int, rounds: int = 5) -> float:
    """Best of `rounds` means over n calls."""
    best = []
    for _ in range(rounds):
        t = time.perf_counter_ns()
        for _ in range(n):
            f()
        best.append((time.perf_counter_ns() - t) / n)
    return min(best)


def scan() -> int:
    """Does the work of a tracker without hooks for one snapshot."""
    seen = {}
    for o in gc.get_objects():
        if isinstance(o, torch.Tensor):
            seen[o.untyped_storage().data_ptr()] = o.untyped_storage().nbytes()
    return sum(seen.values())


def main() -> None:
    torch.set_num_threads(1)
    keep = [torch.empty(16) for _ in range(10_000)]
    tiny = ns(lambda: torch.empty(4), 50_000)
    with contextlib.redirect_stdout(io.StringIO()):
        t = tracker.initialize_memory_tracker(tempfile.mkdtemp(), enabled=True, interval=5.0)
    rows = [("torch.empty(4), bare", tiny), ("torch.empty(4), tracked (memory, ops, shapes)", ns(lambda: torch.empty(4), 50_000))]
    rows.append(("a snapshot, 10,000 tensors alive", ns(lambda: t.checkpoint("x"), 10)))
    rows.append(("the same by a garbage collector scan", ns(scan, 3, 3)))

    def op() -> None:
        with t.track_operation("x"):
            pass

    rows.append(("track_operation", ns(op, 20)))
    times = []
    for _ in range(1):
        begun = time.perf_counter_ns()
        with contextlib.redirect_stdout(io.StringIO()):
            t.save_snapshot("x.json")
        times.append(time.perf_counter_ns() - begun)
    rows.append(("save_memory_profile", statistics.median(times)))
    with contextlib.redirect_stdout(io.StringIO()):
        t.stop()
    del keep
    for name, cost in rows:
        print(f"{cost / 1000:14,.2f} µs  {name}")


if __name__ == "__main__":
    main()
