# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The walk in Python, for a Python that the extension cannot be loaded in: gc.get_referents and __sizeof__, about 50 times slower.

It gives what the extension gives, and `problems` says that it was used. Arrays and tensors are sized by __sizeof__: their views are
not resolved to one buffer unless gc.get_referents leads there.
"""
from __future__ import annotations

import gc
import sys
from array import array
from collections.abc import Callable
from typing import Any

_SINGLES = (type(None), bool, type(...), type(NotImplemented))
MOST_BYTES = 1 << 48


class Slow:
    """Has the functions of the extension."""

    def __init__(self, why: object) -> None:
        self.why = f"the extension cannot be loaded ({why}): sizes are those of __sizeof__, buffers are not resolved"

    def walk(self, owners: list[Any], classify: Callable[[type], Any]) -> dict[str, Any]:
        problems = [self.why]
        sizes: dict[int, int] = {}
        kept: dict[int, Any] = {}
        sets = [self._reach(o, classify, kept) for o in owners]
        for i, o in kept.items():
            sizes[i] = self._size(o, problems)
        reached: dict[int, int] = {}
        for s in sets:
            for i in s:
                reached[i] = reached.get(i, 0) + 1
        types: dict[type, list[int]] = {}
        for i, o in kept.items():
            row = types.setdefault(type(o), [0, 0])
            row[0] += 1
            row[1] += sizes[i]
        exclusive = array("q", (sum(sizes[i] for i in s if reached[i] == 1) for s in sets))
        reachable = array("q", (sum(sizes[i] for i in s) for s in sets))
        shared = sorted((i for i, n in reached.items() if n > 1), key=lambda i: -sizes[i])
        rows = [(type(kept[i]), sizes[i], [k for k, s in enumerate(sets) if i in s][:16], reached[i]) for i in shared[:64]]
        return {"nodes": len(kept), "shared_nodes": len(shared), "shared_bytes": sum(sizes[i] for i in shared), "total": sum(sizes.values()),
                "duplicated": sum(reachable), "exclusive": exclusive.tobytes(), "reachable": reachable.tobytes(), "types": [(t, n, b) for t, (n, b) in types.items()],
                "buffers": [], "shared": rows, "problems": problems, "left_out": 0}

    def total(self, owners: list[Any], classify: Callable[[type], Any]) -> int:
        kept: dict[int, Any] = {}
        for o in owners:
            self._reach(o, classify, kept)
        return sum(self._size(o, []) for o in kept.values())

    def reached(self, owners: list[Any], classify: Callable[[type], Any], types: frozenset[type]) -> list[Any]:
        kept: dict[int, Any] = {}
        for o in owners:
            self._reach(o, classify, kept)
        return [o for o in kept.values() if type(o) in types]

    @staticmethod
    def _reach(root: Any, classify: Callable[[type], Any], kept: dict[int, Any]) -> set[int]:
        seen: set[int] = set()
        todo = [root]
        while todo:
            o = todo.pop()
            if id(o) in seen or isinstance(o, type) or isinstance(o, _SINGLES) or classify(type(o)) is False:
                continue
            seen.add(id(o))
            kept[id(o)] = o
            todo += gc.get_referents(o)
            todo += o if isinstance(o, dict) else ()
        return seen

    @staticmethod
    def _size(o: Any, problems: list[str]) -> int:
        try:
            n = sys.getsizeof(o) if type(o).__module__.partition(".")[0] != "pandas" else object.__sizeof__(o) + 16
            if 0 <= n <= MOST_BYTES:
                return n
            problems.append(f"{type(o).__name__}: __sizeof__ is not plausible, basic size taken")
        except Exception as e:
            problems.append(f"{type(o).__name__}: __sizeof__ failed, basic size taken: {e!r}")
        return int(type(o).__basicsize__)
