# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Finds objects that are equal but separate, and the bytes that one object per group would save.

Values are compared by their own == and hash; a value that raises an exception equals only itself. Arrays are compared by their bytes. A
group counts only the objects themselves: referenced objects are in groups of their own, so that nothing is counted twice.
"""
from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from . import _guard, _kinds, _walk

LEAST_ARRAY = 64  # bytes of an array that is compared
MOST_HASHED = 1 << 30  # bytes of arrays that are read
MOST_OBJECTS = 2_000_000
MOST_LEVELS = 1000
MOST_PROBLEMS = 100
_VALUES = (str, bytes, int, float, complex, tuple, frozenset, Fraction)


def _is_value(t: type) -> bool:
    """Returns whether objects of a type are compared by value, not by identity."""
    if any(t is v for v in _VALUES):
        return True
    own_hash, own_eq = _kinds.get(t, "__hash__"), _kinds.get(t, "__eq__")
    by_value = own_hash is not None and own_hash is not object.__hash__ and own_eq is not object.__eq__
    return by_value and _kinds.module_of(t) not in ("builtins", "numpy") and not issubclass(t, type) and _walk.classify(t) is None


def _nests(o: Any) -> bool:
    t = type(o)
    return t is tuple or t is frozenset  # `in` would ask the metaclass


def _deep(objects: list[Any]) -> set[int]:
    """Returns the ids of tuples and frozensets nested more than MOST_LEVELS deep: their hash recurses on the C stack."""
    levels: dict[int, int] = {}
    for root in objects:
        todo = [(root, False)] if _nests(root) else []
        while todo:
            o, seen = todo.pop()
            inner = [x for x in o if _nests(x)]
            if seen:
                levels[id(o)] = 1 + max((levels.get(id(x), 0) for x in inner), default=0)
            elif id(o) not in levels:
                levels[id(o)] = 0
                todo.append((o, True))
                todo += [(x, False) for x in inner if id(x) not in levels]
    return {i for i, n in levels.items() if n > MOST_LEVELS}


def shallow(o: Any) -> bool:
    """Returns whether the object's hash can be computed safely."""
    return not _deep([o])


def note(o: Any, e: BaseException, problems: list[str]) -> None:
    """Adds an exception of __hash__ or __eq__ to the problems. A missing hash, as of lists and indexes, is not a problem."""
    _guard.pass_signals(e)
    if type(e) is TypeError and str(e).startswith("unhashable type"):
        return
    text = f"{_kinds.name_of(type(o))}: it cannot be compared: {_kinds.text_of(e)}"
    if text not in problems and len(problems) < MOST_PROBLEMS:
        problems.append(text)


def _groups(objects: list[Any], problems: list[str]) -> list[list[Any]]:
    found: dict[Any, list[Any]] = {}
    deep = _deep(objects)
    for o in objects:
        try:
            if id(o) not in deep:
                found.setdefault((id(type(o)), o), []).append(o)
        except BaseException as e:
            note(o, e, problems)
    return [g for g in found.values() if len(g) > 1]


def _array_groups(arrays: list[Any]) -> tuple[list[list[Any]], int]:
    """Returns groups of arrays with equal bytes, and the bytes beyond the limit, which were not read."""
    alike: dict[Any, list[Any]] = defaultdict(list)
    for a in arrays:
        if a.base is None and a.nbytes >= LEAST_ARRAY and not a.dtype.hasobject and a.flags.c_contiguous:
            alike[a.dtype.str, a.shape].append(a)
    same: dict[Any, list[Any]] = defaultdict(list)
    read = skipped = 0
    for key, group in alike.items():
        for a in group if len(group) > 1 else ():
            if read + a.nbytes > MOST_HASHED:
                skipped += a.nbytes
                continue
            read += a.nbytes
            same[key, hashlib.blake2b(a.data if a.ndim else a.tobytes(), digest_size=16).digest()].append(a)
    return [g for g in same.values() if len(g) > 1], skipped


def _text(o: Any) -> str:
    try:
        text = repr(o) if not hasattr(o, "dtype") else f"{o.dtype} {o.shape}"
    except BaseException as e:
        _guard.pass_signals(e)
        text = f"(repr failed: {_kinds.name_of(type(e))})"
    return text if len(text) <= 80 else text[:77] + "..."


def ignore(text: str) -> None:
    """Drops a problem, which the walk has reported already."""


def _size(o: Any) -> int:
    return _kinds.shallow(o, ignore)


def find(owners: list[Any], types: Iterable[type]) -> tuple[int, list[dict[str, Any]], int, list[str]]:
    """Returns the total savings in bytes, rows with most bytes first, bytes of arrays that were not compared, and problems."""
    problems: list[str] = []
    values = [t for t in types if _is_value(t)]
    ndarray = _kinds.ndarray()
    reached = _walk.engine.reached(owners, _walk.classify, [*values, ndarray])
    groups = _groups([o for o in reached[:MOST_OBJECTS] if type(o) is not ndarray], problems)
    more, skipped = _array_groups([o for o in reached if type(o) is ndarray])
    rows: list[dict[str, Any]] = [{"type": _walk.type_name(type(g[0])), "value": _text(g[0]), "count": len(g), "bytes": sum(map(_size, g[1:]))} for g in groups + more]
    return sum(r["bytes"] for r in rows), sorted(rows, key=lambda r: -int(r["bytes"])), skipped, problems
