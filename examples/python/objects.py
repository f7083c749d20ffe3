# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""tidemark.objects: a small physics simulation, before and after following the advice."""
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from tidemark import objects


@dataclass(frozen=True)
class Unit:
    symbol: str
    exponents: tuple[Fraction, ...]
    scale: float = 1.0


class Quantity(objects.MemoryStatsMixin):
    __slots__ = ("values", "unit", "sigma")

    def __init__(self, values, unit, sigma=None):
        self.values, self.unit, self.sigma = values, unit, sigma


objects.register(Quantity, data="values", metadata="unit", uncertainty="sigma")


def metre() -> Unit:
    return Unit("m", tuple(Fraction(n, 1) for n in (1, 0, 0, 0, 0, 0, 0)))


def before() -> list[Quantity]:
    """Each particle has an array, a unit and an uncertainty of its own."""
    return [Quantity(np.zeros(3), metre(), np.zeros(3)) for _ in range(1000)]


def after() -> list[Quantity]:
    """All particles are rows of one array; the views share a unit."""
    unit, rows = metre(), np.zeros((1000, 3))
    return [Quantity(row, unit) for row in rows]


for simulate in (before, after):
    with objects.MemoryProfiler() as profiler:
        particles = simulate()
    print(f"-- {simulate.__name__}")
    print(objects.memory_report(particles, detailed=False))
    print(f"traced: {profiler.get_stats().current_bytes:,} bytes\n")
print(particles[0].memory_stats())
