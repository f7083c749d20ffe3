# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Measures the live objects of this process by type, by variable and by module: the data of `tidemark objects`.

An owner is a variable of the program (of one of its modules, or of a function that is running at a mark), or a library's module with all its
variables. docs/analyses/objects.md defines the figures.
"""
from __future__ import annotations

import gc
import json
import os
import sys
import time
import types
from typing import Any

from . import _duplicates, _guard, _kinds, _stats, _walk
from ._many import Many

FORMAT = "tidemark-objects"
VERSION = 1
MOST_ROWS = 1000  # of each table; the figures above the tables count everything
MOST_WRAPPERS = 100_000  # limit of wrappers examined for recommendations
_SKIPPED = (types.ModuleType, type)
imported: set[str] = set()  # modules that were imported for Tidemark, not by the program

Variable = tuple[str, str, Any]  # module, name of the owner, value
Space = tuple[str, dict[str, Any]]  # name of a module, its variables
Tally = dict[int, tuple[Any, int, int]]  # by id: a type or a device, objects or buffers, bytes


def _is_data(value: Any) -> bool:
    """Returns whether a value is data, by its type only: __class__ of an unknown object may be a property."""
    return not issubclass(type(value), (*_SKIPPED, *_walk.CODE)) and value is not None and value is not True and value is not False


def _is_ours(name: str, space: dict[str, Any]) -> bool:
    top = name.partition(".")[0]
    return top == "tidemark" or top.startswith("tidemark_") or name in imported or name == "sitecustomize" and "_next_sitecustomize" in space


def _modules() -> tuple[list[Space], list[Space]]:
    """Returns the modules by name, each once: those of the program and of libraries, and our own."""
    found: dict[int, Space] = {}
    for name, module in list(sys.modules.items()):
        if type(name) is str and issubclass(type(module), types.ModuleType):
            space = object.__getattribute__(module, "__dict__")
            found.setdefault(id(space), (name, space))
    return [m for m in found.values() if not _is_ours(*m)], [m for m in found.values() if _is_ours(*m)]


def _locals(frame: types.FrameType | None) -> list[Variable]:
    """Returns the local variables of the frame and of its callers."""
    found = []
    while frame is not None:
        if frame.f_code.co_name != "<module>":  # its variables are those of the module
            module = str(frame.f_globals.get("__name__", "?"))
            found += [(module, f"{module}.{frame.f_code.co_name}().{k}", v) for k, v in frame.f_locals.items() if _is_data(v)]
        frame = frame.f_back
    return found


def _is_own(module: str) -> bool:
    """Returns whether a module belongs to the program: neither to the standard library nor to an installed package."""
    if module == "__main__":
        return True
    found = sys.modules.get(module)
    file = object.__getattribute__(found, "__dict__").get("__file__") if issubclass(type(found), types.ModuleType) else None
    if type(file) is not str or not os.path.isabs(file) or "site-packages" in file or "dist-packages" in file:
        return False
    return module.partition(".")[0] not in sys.stdlib_module_names


def _owners(modules: list[Space], frame: types.FrameType | None) -> tuple[list[Variable], int]:
    """Returns the variables of the program, then modules of libraries; and the number of the former."""
    own = [m for m in modules if _is_own(m[0])]
    found = [(module, f"{module}.{name}", v) for module, space in own for name, v in list(space.items())
             if isinstance(name, str) and not (name.startswith("__") and name.endswith("__")) and _is_data(v)]
    found += _locals(frame)
    others = {id(space) for _, space in own}
    return found + [(name, f"module {name}", space) for name, space in modules if id(space) not in others], len(found)


def _tally(w: dict[str, Any]) -> Tally:
    return {id(what): (what, n, b) for what, n, b in w["types"]}


def _less(a: Tally, b: Tally) -> Tally:
    found = {k: (what, n - b[k][1], m - b[k][2]) if k in b else (what, n, m) for k, (what, n, m) in a.items()}
    return {k: row for k, row in found.items() if row[1] > 0}


def _held_list(held: list[Any]) -> Tally:
    """Returns the tally of the list that a walk began with."""
    return {id(list): (list, 1, sys.getsizeof(held))}


class Whole:
    """All live objects without our own: those that only Tidemark's modules reach, and not the program's variables."""

    def __init__(self, everything: list[Any], values: list[Any], ours: list[Any]) -> None:
        """`everything`: objects that the garbage collector tracked before this measurement made any."""
        everything += values
        everything += ours
        self.named = _walk.walk(values)
        both, whole = [*values, *ours], _walk.walk([everything])
        with_ours = _walk.walk([both])
        mine = _less(_less(_tally(with_ours), _held_list(both)), _tally(self.named))
        self.types = _less(_less(_tally(whole), _held_list(everything)), mine)
        buffers = {d: (n, b) for d, n, b in self.named["buffers"]}
        more = {d: (n - buffers.get(d, (0, 0))[0], b - buffers.get(d, (0, 0))[1]) for d, n, b in with_ours["buffers"]}
        self.buffers = [(d, n - more.get(d, (0, 0))[0], b - more.get(d, (0, 0))[1]) for d, n, b in whole["buffers"]]
        self.buffers = sorted(row for row in self.buffers if row[1] > 0)
        self.objects = sum(n for _, n, _ in self.types.values()) + sum(n for _, n, _ in self.buffers)
        self.total: int = sum(b for _, _, b in self.types.values()) + sum(b for _, _, b in self.buffers)
        self.problems: list[str] = whole["problems"]


def _type_rows(tally: Tally) -> list[dict[str, Any]]:
    rows = [{"type": _walk.type_name(t), "module": _kinds.module_of(t), "objects": n, "bytes": b} for t, n, b in tally.values()]
    return sorted(rows, key=lambda r: (-r["bytes"], r["type"]))


def _owner_rows(variables: list[Variable], w: dict[str, Any]) -> list[dict[str, Any]]:
    owners = _walk.Owners(w["exclusive"], w["reachable"])
    rows = [{"name": n, "module": m, "type": "module" if n.startswith("module ") else _walk.type_name(type(v)), "exclusive_bytes": o.exclusive_bytes, "shared_bytes": o.shared_bytes}
            for (m, n, v), o in zip(variables, owners)]
    return sorted(rows, key=lambda r: (r["type"] == "module", -r["exclusive_bytes"] - r["shared_bytes"], r["name"]))  # the program's own first


def _module_rows(modules: list[Space]) -> list[dict[str, Any]]:
    w = _walk.walk([space for _, space in modules])
    owners = _walk.Owners(w["exclusive"], w["reachable"])
    rows = [{"module": name, "own": _is_own(name), "variables": len(space), "exclusive_bytes": o.exclusive_bytes, "shared_bytes": o.shared_bytes}
            for (name, space), o in zip(modules, owners)]
    return sorted(rows, key=lambda r: (not r["own"], -r["exclusive_bytes"], r["module"]))


def _shared_rows(variables: list[Variable], n_own: int, w: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns shared nodes, those of the program's variables first; owners are in the order of `variables`."""
    nodes = sorted(_walk.shared_nodes(w["shared"]), key=lambda s: (s.owners[0] >= n_own, -s.bytes))
    return [{"what": s.name, "bytes": s.bytes, "owners": [variables[i][1] for i in s.owners], "owner_count": s.owner_count} for s in nodes]


def _recommendations(values: list[Any], types_: list[type], problems: list[str]) -> list[str]:
    wrappers = [t for t in types_ if (k := _kinds.kind_of(t)) is not None and not k.plain and not _kinds.is_guess(k)]
    found = _walk.engine.reached(values, _walk.classify, wrappers)[:MOST_WRAPPERS] if wrappers else []
    if not found:
        return []
    many = Many(found)
    advice = _stats.analyze(many).recommendations
    problems.extend(p for p in many.problems if p not in problems)
    return advice


def snapshot(at: str = "now", frame: types.FrameType | None = None) -> dict[str, Any]:
    """Returns the live objects of this process. `frame`: its local variables, and those of its callers, are owners too."""
    with _guard.signals_told_apart():
        return _snapshot(at, frame)


def _snapshot(at: str, frame: types.FrameType | None) -> dict[str, Any]:
    began, everything = time.perf_counter(), gc.get_objects()
    modules, ours = _modules()
    variables, n_own = _owners(modules, frame)
    values = [v for _, _, v in variables]
    own = values[:n_own]
    whole = Whole(everything, values, [space for _, space in ours])
    named = whole.named
    types_ = [t for t, _, _ in named["types"]]
    saved, duplicates, skipped, problems = _duplicates.find(own, types_)
    problems = [*whole.problems, *problems]
    tables = {"types": _type_rows(whole.types), "modules": _module_rows(modules), "owners": _owner_rows(variables, named),
              "shared": _shared_rows(variables, n_own, named), "duplicates": duplicates}
    return {"at": at, "objects": whole.objects, "total_bytes": whole.total, "variable_bytes": named["total"], "other_bytes": max(whole.total - named["total"], 0),
            "shared_bytes": named["shared_bytes"], "duplicate_bytes": saved, "duplicates_skipped": skipped,
            "buffers": [{"device": d, "buffers": n, "bytes": b} for d, n, b in whole.buffers],
            "rows": {k: len(rows) for k, rows in tables.items()}, **{k: rows[:MOST_ROWS] for k, rows in tables.items()},
            "recommendations": _recommendations(own, types_, problems), "problems": problems, "walk_seconds": round(time.perf_counter() - began, 3)}


def owned() -> tuple[int, dict[str, int], dict[str, int]]:
    """Returns the bytes of all live objects, the exclusive bytes of each owner by name, and the bytes of each type and device."""
    gc.collect()
    everything = gc.get_objects()
    modules, ours = _modules()
    variables, _ = _owners(modules, None)
    whole = Whole(everything, [v for _, _, v in variables], [space for _, space in ours])
    types_ = {_walk.type_name(t): b for t, _, b in whole.types.values()} | {f"buffers on {d}": b for d, _, b in whole.buffers}
    owners = {name: o.exclusive_bytes for (_, name, _), o in zip(variables, _walk.Owners(whole.named["exclusive"], whole.named["reachable"]))}
    return whole.total, owners, types_


# ---- files ----


def _head() -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION, "program": " ".join(map(str, sys.argv)) if hasattr(sys, "argv") else "", "python": sys.version.split()[0]}


def save(path: str, snapshots: list[dict[str, Any]] | None = None) -> None:
    """Writes snapshots (by default a new one) as a file that `tidemark objects FILE` reads."""
    taken = [snapshot()] if snapshots is None else snapshots
    with open(path, "w", encoding="utf-8", errors="backslashreplace") as out:
        json.dump({**_head(), "snapshots": taken}, out, default=str)


def append(path: str, taken: dict[str, Any]) -> None:
    """Adds a line to the file: nothing is kept in memory, and written lines survive if the process is killed."""
    out = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        lines = [] if os.fstat(out).st_size else [{**_head(), "snapshots": []}]
        text = "".join(json.dumps(line, default=str) + "\n" for line in [*lines, taken]).encode("utf-8", "backslashreplace")
        while text:
            text = text[os.write(out, text):]
    finally:
        os.close(out)


def measure(path: str, at: str, frame: types.FrameType | None = None) -> None:
    """Appends a snapshot. Errors are reported in it and never fail the program."""
    with _guard.signals_told_apart():
        try:
            taken = _snapshot(at, frame)
        except BaseException as e:
            if _guard.is_signals(e):
                raise
            taken = {"at": at, "problems": [f"the objects could not be measured: {_kinds.text_of(e)}"]}
        append(path, taken)


def _file_of_this_process() -> str:
    """Returns the file for snapshots under `tidemark objects`, else "". Child processes have the variable, but not the process number."""
    number, _, path = os.environ.get("TIDEMARK_OBJECTS_FILE", "").partition(" ")
    return path if number == str(os.getpid()) else ""


def mark(name: str) -> None:
    """Takes a snapshot here, with local variables, under `tidemark objects`. Elsewhere it does nothing."""
    path = _file_of_this_process()
    if path:
        at = name if type(name) is str else repr(name)
        measure(path, at if at != "end" else "end (mark)", sys._getframe(1))
