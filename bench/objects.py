#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Compares tidemark.objects with pympler's asizeof, on the same objects in the same process: bench/objects.py [ARRAYS]

Each object holds an array of 3 numbers; all share a unit. Times are CPU seconds of this process, the shortest of a few runs, so a
busy machine has little effect.
"""
import math
import resource
import sys
import time
from fractions import Fraction

import numpy as np
from tidemark import objects


class Unit:
    __slots__ = ("dimension", "symbol")

    def __init__(self) -> None:
        self.symbol, self.dimension = "m", tuple(Fraction(n, 1) for n in range(7))


class Array:
    __slots__ = ("data", "unit")

    def __init__(self, unit: Unit) -> None:
        self.data, self.unit = np.zeros(3), unit


objects.register(Array, data="data", metadata="unit")


def timed(what, arrays, call, runs=7):
    took, high = math.inf, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(runs):
        before = time.process_time()
        found = call(arrays)
        took = min(took, time.process_time() - before)
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - high
    print(f"{what:34} {len(arrays):>9,} arrays {took:8.3f} s  +{more / 1024:.0f} MiB  {found:,} bytes")
    return took


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    unit = Unit()
    many = [Array(unit) for _ in range(n)]
    timed("footprint, one owner per array", many, lambda a: objects.footprint(a).total_if_shared, runs=3)
    few = many[:100_000]
    mine = timed("footprint, one owner per array", few, lambda a: objects.footprint(a).total_if_shared)
    one = timed("footprint, one owner", few, lambda a: objects.footprint([a]).total_if_shared)
    timed("analyze_shared_metadata", few, lambda a: objects.analyze_shared_metadata(a).total_metadata_bytes, runs=5)
    timed("memory_report, detailed", few, lambda a: len(objects.memory_report(a)), runs=5)
    timed("memory_report, short", few, lambda a: len(objects.memory_report(a, detailed=False)), runs=5)
    try:
        from pympler import asizeof
    except ImportError:
        print("pympler is not there")
    else:
        theirs = timed("pympler asizeof", few, asizeof.asizeof)
        print(f"pympler takes {theirs / mine:.1f} times as long as footprint with owners, {theirs / one:.1f} times as long as with one")
    for what, obj in (("ndarray", many[0].data), ("Array", many[0])):
        best = math.inf
        for _ in range(10):
            before = time.process_time()
            for _ in range(2_000):
                objects.memory_stats(obj)
            best = min(best, (time.process_time() - before) / 2_000)
        print(f"memory_stats({what}): {best * 1e6:.1f} us")


if __name__ == "__main__":
    main()
