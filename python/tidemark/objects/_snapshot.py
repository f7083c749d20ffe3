# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""What is alive in this process, by type, by variable and by module: the data of `tidemark objects`.

An owner is a variable of the program (of one of its modules, or of a function that is running at a mark), or a library's module with all its
variables. docs/analyses/objects.md defines the figures.
"""
from __future__ import annotations

import gc
import json
import os
import sys
import sysconfig
import time
import types
from typing import Any

from . import _duplicates, _kinds, _stats, _walk

FORMAT = "tidemark-objects"
VERSION = 1
MOST_ROWS = 1000  # of each table; the figures above the tables count everything
MOST_WRAPPERS = 100_000  # looked at for recommendations
_OURS = ("tidemark", "tidemark_", "sitecustomize")
_SKIPPED = (types.ModuleType, type)

Variable = tuple[str, str, Any]  # module, name of the owner, value


def _is_data(value: Any) -> bool:
    """By its type alone: __class__ of a stranger may be a property."""
    return not issubclass(type(value), (*_SKIPPED, *_walk.CODE)) and value is not None and value is not True and value is not False


def _modules() -> list[tuple[str, dict[str, Any]]]:
    """Modules by name, each once; our own are left out."""
    found: dict[int, tuple[str, dict[str, Any]]] = {}
    for name, module in list(sys.modules.items()):
        if issubclass(type(module), types.ModuleType) and name.partition(".")[0] not in _OURS and not name.startswith("tidemark_"):
            space = vars(module)
            found.setdefault(id(space), (name, space))
    return list(found.values())


def _locals(frame: types.FrameType | None) -> list[Variable]:
    """Local variables of the frame and of those that called it."""
    found = []
    while frame is not None:
        if frame.f_code.co_name != "<module>":  # whose variables are the module's
            module = str(frame.f_globals.get("__name__", "?"))
            found += [(module, f"{module}.{frame.f_code.co_name}().{k}", v) for k, v in frame.f_locals.items() if _is_data(v)]
        frame = frame.f_back
    return found


_LIBRARIES = tuple({os.path.join(os.path.realpath(p), "") for k, p in sysconfig.get_paths().items() if k in ("stdlib", "platstdlib", "purelib", "platlib")})


def _is_own(module: str) -> bool:
    """Of the program itself: neither of the standard library nor of an installed package."""
    if module == "__main__":
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    if not isinstance(file, str) or not os.path.isabs(file) or "site-packages" in file or "dist-packages" in file:
        return False
    return not os.path.realpath(file).startswith(_LIBRARIES)


def _owners(modules: list[tuple[str, dict[str, Any]]], frame: types.FrameType | None) -> tuple[list[Variable], int]:
    """Variables of the program, then modules of libraries; how many are the former."""
    own = [m for m in modules if _is_own(m[0])]
    found = [(module, f"{module}.{name}", v) for module, space in own for name, v in list(space.items())
             if isinstance(name, str) and not (name.startswith("__") and name.endswith("__")) and _is_data(v)]
    found += _locals(frame)
    others = {id(space) for _, space in own}
    return found + [(name, f"module {name}", space) for name, space in modules if id(space) not in others], len(found)


def _type_rows(w: dict[str, Any], without: tuple[type, int]) -> list[dict[str, Any]]:
    rows = []
    for t, n, b in w["types"]:
        if t is without[0]:  # the list that held everything
            n, b = n - 1, b - without[1]
        if n:
            rows.append({"type": _walk.type_name(t), "module": str(t.__module__), "objects": n, "bytes": b})
    return sorted(rows, key=lambda r: -r["bytes"])


def _owner_rows(variables: list[Variable], w: dict[str, Any]) -> list[dict[str, Any]]:
    owners = _walk.Owners(w["exclusive"], w["reachable"])
    rows = [{"name": n, "module": m, "type": "module" if n.startswith("module ") else _walk.type_name(type(v)), "exclusive_bytes": o.exclusive_bytes, "shared_bytes": o.shared_bytes}
            for (m, n, v), o in zip(variables, owners)]
    return sorted(rows, key=lambda r: (r["type"] == "module", -r["exclusive_bytes"] - r["shared_bytes"], r["name"]))  # the program's own first


def _module_rows(modules: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    w = _walk.walk([space for _, space in modules])
    owners = _walk.Owners(w["exclusive"], w["reachable"])
    rows = [{"module": name, "own": _is_own(name), "variables": len(space), "exclusive_bytes": o.exclusive_bytes, "shared_bytes": o.shared_bytes}
            for (name, space), o in zip(modules, owners)]
    return sorted(rows, key=lambda r: (not r["own"], -r["exclusive_bytes"], r["module"]))


def _shared_rows(variables: list[Variable], n_own: int, w: dict[str, Any]) -> list[dict[str, Any]]:
    """What a variable of the program shares comes first; owners are in the order of `variables`."""
    nodes = sorted(_walk.shared_nodes(w["shared"]), key=lambda s: (s.owners[0] >= n_own, -s.bytes))
    return [{"what": s.name, "bytes": s.bytes, "owners": [variables[i][1] for i in s.owners], "owner_count": s.owner_count} for s in nodes]


def _recommendations(values: list[Any], types_: frozenset[type]) -> list[str]:
    wrappers = [t for t in types_ if (k := _kinds.kind_of(t)) is not None and not k.plain and not _kinds.is_guess(k)]
    found = _walk.engine.reached(values, _walk.classify, frozenset(wrappers))[:MOST_WRAPPERS] if wrappers else []
    return _stats.analyze_shared_metadata(found).recommendations if found else []


def snapshot(at: str = "now", frame: types.FrameType | None = None) -> dict[str, Any]:
    """The live objects of this process. `frame`: its local variables, and those of its callers, are owners too."""
    began = time.perf_counter()
    everything = gc.get_objects()
    modules = _modules()
    variables, n_own = _owners(modules, frame)
    values = [v for _, _, v in variables]
    own = values[:n_own]
    everything += values
    whole, named = _walk.walk([everything]), _walk.walk(values)
    types_ = frozenset(t for t, _, _ in named["types"])
    saved, duplicates, skipped = _duplicates.find(own, types_)
    tables = {"types": _type_rows(whole, (list, sys.getsizeof(everything))), "modules": _module_rows(modules), "owners": _owner_rows(variables, named),
              "shared": _shared_rows(variables, n_own, named), "duplicates": duplicates}
    total = whole["total"] - sys.getsizeof(everything)
    return {"at": at, "objects": whole["nodes"] - 1, "total_bytes": total, "variable_bytes": named["total"], "other_bytes": max(total - named["total"], 0),
            "shared_bytes": named["shared_bytes"], "duplicate_bytes": saved, "duplicates_skipped": skipped,
            "buffers": [{"device": d, "buffers": n, "bytes": b} for d, n, b in sorted(whole["buffers"])],
            "rows": {k: len(rows) for k, rows in tables.items()}, **{k: rows[:MOST_ROWS] for k, rows in tables.items()},
            "recommendations": _recommendations(own, types_), "problems": whole["problems"], "walk_seconds": round(time.perf_counter() - began, 3)}


def owned() -> tuple[int, dict[str, int], dict[str, int]]:
    """Bytes of all live objects; the exclusive bytes of each owner by name; the bytes of each type and device."""
    gc.collect()
    everything = gc.get_objects()
    variables, _ = _owners(_modules(), None)
    values = [v for _, _, v in variables]
    everything += values
    whole, named = _walk.walk([everything]), _walk.walk(values)
    types_ = {_walk.type_name(t): b for t, _, b in whole["types"]} | {f"buffers on {d}": b for d, _, b in whole["buffers"]}
    types_["list"] -= sys.getsizeof(everything)
    owners = {name: o.exclusive_bytes for (_, name, _), o in zip(variables, _walk.Owners(named["exclusive"], named["reachable"]))}
    return whole["total"] - sys.getsizeof(everything), owners, types_


_snapshots: list[dict[str, Any]] = []


def mark(name: str) -> None:
    """Under `tidemark objects`: takes a snapshot here, with local variables. Elsewhere it does nothing."""
    if os.environ.get("TIDEMARK_OBJECTS_FILE"):
        _snapshots.append(snapshot(str(name), sys._getframe(1)))


def save(path: str, snapshots: list[dict[str, Any]] | None = None) -> None:
    """Writes snapshots as a file that `tidemark objects FILE` reads; left out: one of this moment."""
    taken = [snapshot()] if snapshots is None else snapshots
    found = {"format": FORMAT, "version": VERSION, "program": " ".join(sys.argv) if hasattr(sys, "argv") else "", "python": sys.version.split()[0], "snapshots": taken}
    with open(path, "w", encoding="utf-8", errors="backslashreplace") as out:
        json.dump(found, out, default=str)


def finish(path: str) -> None:
    """The end of a program under `tidemark objects`."""
    save(path, [*_snapshots, snapshot("end")])
