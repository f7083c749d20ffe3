# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Wrappers, random graphs and the slow, obvious walk that tests of tidemark.objects share."""
import dataclasses
import gc
import importlib.util
import os
import pathlib
import sys
import unittest
from fractions import Fraction

from tidemark import objects
from tidemark.objects import _walk

SOURCE = pathlib.Path(os.environ.get("TIDE_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
SINGLES = (None, True, False, Ellipsis, NotImplemented)


def needs(name):
    return unittest.skipUnless(importlib.util.find_spec(name), f"{name} is not there")


@dataclasses.dataclass(frozen=True)
class Unit:
    symbol: str
    dimension: "Dimension"
    scale: float = 1.0


@dataclasses.dataclass(frozen=True)
class Dimension:
    exponents: tuple


class Wrapped(objects.MemoryStatsMixin):
    __slots__ = ("values", "unit", "sigma")

    def __init__(self, values, unit, sigma=None):
        self.values, self.unit, self.sigma = values, unit, sigma


objects.register(Wrapped, data="values", metadata="unit", uncertainty="sigma")


def unit(symbol="m", first=1, scale=1.0):
    return Unit(symbol, Dimension(tuple(Fraction(n, 1) for n in (first, 0, 0, 0, 0, 0, 0))), scale)


def reach(root):
    """The slow, obvious walk: ids of all that gc.get_referents leads to."""
    seen, todo = {}, [root]
    while todo:
        o = todo.pop()
        if id(o) in seen or isinstance(o, type) or any(o is s for s in SINGLES) or _walk.classify(type(o)) is False:
            continue
        seen[id(o)] = o
        todo += gc.get_referents(o)
        todo += o if isinstance(o, dict) else ()  # which keeps quiet about keys that are strings
    return seen


def size_of(nodes):
    return sum(sys.getsizeof(o) for o in nodes.values())


class Slotted:
    __slots__ = ("a", "b")


def random_graph(rng, n):
    made = [rng.choice([lambda: [], lambda: {}, lambda: Slotted(), lambda: rng.random(), lambda: "x" * rng.randrange(99), lambda: rng.randrange(10**30)])()
            for _ in range(n)]
    for o in made:
        for _ in range(rng.randrange(4)):
            other = rng.choice(made)
            if isinstance(o, list):
                o.append((other, rng.choice(made)) if rng.random() < 0.3 else other)
            elif isinstance(o, dict):
                o[rng.randrange(1000)] = other
            elif isinstance(o, Slotted):
                setattr(o, rng.choice("ab"), other)
    return made
