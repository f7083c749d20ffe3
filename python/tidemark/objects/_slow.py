# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Walks objects in Python if the extension cannot be loaded, with gc.get_referents and __sizeof__: about 50 times slower.

It returns the same as the extension (python/native/graph.h has the rules), and `problems` notes that it was used.
"""
from __future__ import annotations

import gc
import sys
from array import array
from collections.abc import Callable, Iterable
from typing import Any

from . import _guard, _kinds

_SINGLES = {id(t) for t in (type(None), bool, type(...), type(NotImplemented))}
_HAVE_BYTES = (bytes, bytearray, memoryview, array)  # their __sizeof__ includes their content, or they refer to its owner
MOST_BYTES = 1 << 48
HEAP_TYPE, HAS_GC = 1 << 9, 1 << 14  # of type.__flags__
GC_HEAD = 16

Classify = Callable[[type], Any]
Key = Any  # id of an object, or (device, address) of a buffer


class _Graph:
    """Nodes by key: type or device, bytes, the object (kept alive)."""

    def __init__(self, classify: Classify, problems: list[str], memory_only: bool = False) -> None:
        self.classify, self.problems, self.memory_only = classify, problems, memory_only
        self.nodes: dict[Key, tuple[Any, int, Any]] = {}
        self.outside: set[Key] = set()
        self.left_out = 0
        self.met = False

    def problem(self, o: Any, what: str, e: BaseException | None = None) -> None:
        if e is not None:
            _guard.pass_signals(e)
        try:
            text = f"{_kinds.name_of(type(o))}: {what}" + (f": {e!r}" if e is not None else "")
        except BaseException as second:  # __repr__ of the exception fails too
            _guard.pass_signals(second)
            text = what
        if text not in self.problems:
            self.problems.append(text)

    def size(self, o: Any) -> int:
        t = type(o)
        basic, flags = _kinds.basic_of(t), _kinds.flags_of(t)
        try:
            if self.counts_contents(t):
                return basic + (GC_HEAD if flags & HAS_GC else 0)
            n = sys.getsizeof(o)
            if n <= MOST_BYTES and not (n < basic and flags & HEAP_TYPE):
                return n
            self.problem(o, "__sizeof__ is not plausible, basic size taken")
        except BaseException as e:
            self.problem(o, "__sizeof__ failed, basic size taken", e)
        return basic

    def counts_contents(self, t: type) -> bool:
        """Returns whether __sizeof__ includes memory that is found otherwise, as those of pandas and pyarrow do."""
        found_otherwise = callable(self.classify(t)) or _kinds.module_of(t).partition(".")[0] == "pandas"
        return found_otherwise and _kinds.get(t, "__sizeof__") is not object.__sizeof__

    def array_memory(self, a: Any) -> list[Any]:
        """Returns the base that owns the bytes, or the buffer and the objects in it."""
        try:
            base, data, (before, n) = a.base, a.__array_interface__["data"][0], _kinds.span(a)
            if base is not None and (isinstance(base, _HAVE_BYTES) or self.classify(type(base))):
                return [base]
            items = _kinds.items_of(a) if a.dtype.hasobject and not self.memory_only else []
            return [(data - before, n, "cpu"), *items, *([] if base is None else [base])]
        except BaseException as e:
            self.problem(a, "its memory cannot be read", e)
            return []

    def memory(self, o: Any) -> list[Any]:
        """Returns the references of an array, or those that a resolver finds."""
        kind = self.classify(type(o))
        if kind == "ndarray":
            return self.array_memory(o)
        try:
            found = kind(o) if kind else []
        except BaseException as e:
            self.problem(o, "its buffers cannot be found", e)
            return []
        return found if isinstance(found, list) else []

    def buffer(self, told: Any, o: Any) -> Key | None:
        """Returns the key of an (address, bytes, device), None if it has no bytes. A part of a buffer may have been found first."""
        address, n, device = told
        if not (isinstance(address, int) and isinstance(n, int) and 0 <= n <= MOST_BYTES and isinstance(device, str)):
            self.problem(o, "bytes of its buffer are not plausible")
            return None
        if not n:
            return None
        key = device, address
        self.nodes[key] = device, max(n, self.nodes[key][1] if key in self.nodes else 0), None
        return key

    def own_size(self, o: Any) -> int:
        """Returns the size without the elements of an array that owns them, which count in the buffer."""
        n = self.size(o)
        try:
            return n - o.nbytes if self.classify(type(o)) == "ndarray" and o.base is None and o.nbytes <= n else n
        except BaseException as e:
            _guard.pass_signals(e)
            return n

    def is_node(self, o: Any) -> bool:
        if issubclass(type(o), type) or id(type(o)) in _SINGLES:
            return False
        left_out = self.classify(type(o)) is False
        self.left_out += left_out
        return not left_out

    def leave_outside(self, objects: Iterable[Any]) -> None:
        todo = list(objects)
        while todo:
            o = todo.pop()
            if id(o) in self.outside or not self.is_node(o):
                continue
            self.outside.add(id(o))
            self.nodes[id(o)] = type(o), 0, o
            for m in self.memory(o):
                if type(m) is tuple and len(m) == 3:
                    self.outside.add(self.buffer(m, o))
                else:
                    todo.append(m)

    def reach(self, root: Any) -> set[Key]:
        """Returns the keys of everything that the owner reaches."""
        seen: set[Key] = set()
        todo = [root]
        while todo:
            o = todo.pop()
            self.met |= id(o) in self.outside
            if id(o) in seen or id(o) in self.outside or not self.is_node(o):
                continue
            seen.add(id(o))
            if id(o) not in self.nodes:
                self.nodes[id(o)] = type(o), self.own_size(o), o
            todo += gc.get_referents(o) if not self.memory_only or self.classify(type(o)) is None else ()
            todo += o if issubclass(type(o), dict) else ()
            for m in self.memory(o):
                if not (type(m) is tuple and len(m) == 3):
                    todo.append(m)
                elif (key := self.buffer(m, o)) is not None and key not in self.outside:
                    seen.add(key)
        return seen

    def bytes_of(self, keys: Iterable[Key]) -> int:
        return sum(self.nodes[k][1] for k in keys)


def _by(graph: _Graph, buffers: bool) -> list[tuple[Any, int, int]]:
    rows: dict[Any, list[Any]] = {}  # by device, or by id of the type
    for what, n, _ in graph.nodes.values():
        if (type(what) is str) == buffers:
            row = rows.setdefault(what if buffers else id(what), [what, 0, 0])
            row[1] += 1
            row[2] += n
    return [(what, count, n) for what, count, n in rows.values()]


class Slow:
    """Replaces the extension: has the same functions."""

    def __init__(self, why: object) -> None:
        self.why = f"the extension cannot be loaded ({why}): the walk runs in Python, about 50 times slower"

    def walk(self, owners: list[Any], classify: Classify, memory_only: bool = False) -> dict[str, Any]:
        graph = _Graph(classify, [self.why], memory_only)
        sets = [graph.reach(o) for o in owners]
        reached: dict[Key, int] = {}
        for s in sets:
            for k in s:
                reached[k] = reached.get(k, 0) + 1
        exclusive = array("q", (graph.bytes_of(k for k in s if reached[k] == 1) for s in sets))
        reachable = array("q", (graph.bytes_of(s) for s in sets))
        shared = sorted((k for k, n in reached.items() if n > 1), key=lambda k: -graph.nodes[k][1])
        rows = [(*graph.nodes[k][:2], [i for i, s in enumerate(sets) if k in s][:16], reached[k]) for k in shared[:64]]
        return {"nodes": len(graph.nodes), "shared_nodes": len(shared), "shared_bytes": graph.bytes_of(shared), "total": graph.bytes_of(graph.nodes),
                "duplicated": sum(reachable), "exclusive": exclusive.tobytes(), "reachable": reachable.tobytes(), "types": _by(graph, False),
                "buffers": _by(graph, True), "shared": rows, "problems": graph.problems, "left_out": graph.left_out}

    def total(self, owners: list[Any], classify: Classify, outside: list[Any]) -> tuple[int, int, list[str]]:
        graph = _Graph(classify, [])
        graph.leave_outside(outside)
        found: set[Key] = set()
        for o in owners:
            found |= graph.reach(o)
        return graph.bytes_of(found), int(graph.met), graph.problems

    def reached(self, owners: list[Any], classify: Classify, types: list[type]) -> list[Any]:
        graph = _Graph(classify, [])
        for o in owners:
            graph.reach(o)
        wanted = set(map(id, types))
        return [o for what, _, o in graph.nodes.values() if id(what) in wanted]
