# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""tidemark.objects: a physics simulation with units, before and after following the advice.

1000 particles fall for 20 steps. Before: every particle has its own arrays, an uncertainty and kilometres, and each step makes
new units, as unit algebra does. After: particles are rows of one array, units are made once, in metres, and no unused uncertainty
is kept. Both give the same heights.
"""
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from tidemark import objects

PARTICLES, STEPS, DT, G = 1000, 20, 0.01, 9.81


@dataclass(frozen=True)
class Dimension:
    exponents: tuple[Fraction, ...]


@dataclass(frozen=True)
class Unit:
    symbol: str
    dimension: Dimension
    scale: float = 1.0

    def __truediv__(self, other: "Unit") -> "Unit":
        exponents = tuple(a - b for a, b in zip(self.dimension.exponents, other.dimension.exponents))
        return Unit(f"{self.symbol}/{other.symbol}", Dimension(exponents), self.scale / other.scale)


def base(symbol: str, place: int, scale: float = 1.0) -> Unit:
    return Unit(symbol, Dimension(tuple(Fraction(int(i == place)) for i in range(7))), scale)


class Quantity(objects.MemoryStatsMixin):
    __slots__ = ("values", "unit", "sigma")

    def __init__(self, values, unit, sigma=None):
        self.values, self.unit, self.sigma = values, unit, sigma


objects.register(Quantity, data="values", metadata="unit", uncertainty="sigma")


def start() -> np.ndarray:
    return np.linspace(1.0, 100.0, PARTICLES)


def before():
    km, s = base("km", 0, 1000.0), base("s", 2)
    height = [Quantity(np.array([0.0, 0.0, h / 1000]), base("km", 0, 1000.0), np.zeros(3)) for h in start()]
    speed = [Quantity(np.zeros(3), km / s, np.zeros(3)) for _ in height]
    for _ in range(STEPS):
        for p, v in zip(height, speed):
            v.values = v.values - np.array([0.0, 0.0, G / 1000 * DT])
            v.unit = km / s  # unit algebra makes a new object each time
            p.values = p.values + v.values * DT
    return [*height, *speed], np.array([p.values[2] * p.unit.scale for p in height])


def after():
    m, s = base("m", 0), base("s", 2)
    metres, metres_per_second = m, m / s  # made once
    height, speed = np.zeros((PARTICLES, 3)), np.zeros((PARTICLES, 3))
    height[:, 2] = start()
    for _ in range(STEPS):
        speed[:, 2] -= G * DT
        height += speed * DT
    return [*(Quantity(row, metres) for row in height), *(Quantity(row, metres_per_second) for row in speed)], height[:, 2]


results = []
for simulate in (before, after):
    with objects.MemoryProfiler() as profiler:
        particles, heights = simulate()
    results.append((objects.footprint(particles), heights))
    print(f"-- {simulate.__name__}")
    print(objects.memory_report(particles, detailed=False))
    print(f"traced: {profiler.get_stats().current_bytes:,} bytes at the end, {profiler.get_stats().peak_bytes:,} at most\n")
(first, then), same = (r[0] for r in results), np.allclose(results[0][1], results[1][1])
print(f"{first.total_if_shared:,} -> {then.total_if_shared:,} bytes ({first.total_if_shared / then.total_if_shared:.1f} times less), same heights: {same}")
print(particles[0].memory_stats())
