# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Bytes of object graphs: each object and buffer once, with exclusive and shared bytes per owner."""
from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from .. import _objects

# Objects of these types belong to the program, not to the data: they lead to modules and so to everything.
_CODE = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType, types.FrameType, types.GetSetDescriptorType,
         types.MemberDescriptorType, types.MethodDescriptorType, types.WrapperDescriptorType, types.TracebackType, staticmethod, classmethod, property)
Resolver = Callable[[Any], "list[Any]"]


def _storage(tensor: Any) -> list[Any]:
    device = str(tensor.device)
    if device == "meta":
        return []
    storage = tensor.untyped_storage()
    return [(storage.data_ptr(), storage.nbytes(), device), tensor.grad]


def _arrow(array: Any) -> list[Any]:
    chunks = array.chunks if hasattr(array, "chunks") else [array]
    return [(b.address, b.size, "cpu") for chunk in chunks for b in chunk.buffers() if b is not None]


def _polars(frame: Any) -> list[Any]:
    """Columns of numbers by address, which clones share. Other columns (text, nulls, chunks) are one buffer of this frame alone."""
    columns = frame.get_columns() if hasattr(frame, "get_columns") else [frame]
    found, others = [], 0
    for column in columns:
        try:
            address = column.to_numpy(allow_copy=False).__array_interface__["data"][0]
            found.append((address, column.estimated_size(), "cpu"))
        except Exception:  # it would have to be copied
            others += column.estimated_size()
    return [*found, (id(frame), others, "cpu")]


def _mapped(area: Any) -> list[Any]:
    return [(id(area), len(area), "cpu")]


_RESOLVERS: dict[tuple[str, str], Resolver | str] = {
    ("numpy", "ndarray"): "ndarray",
    ("torch", "Tensor"): _storage,
    ("mmap", "mmap"): _mapped,
    ("pyarrow.lib", "Array"): _arrow,
    ("pyarrow.lib", "ChunkedArray"): _arrow,
    ("polars.dataframe.frame", "DataFrame"): _polars,
    ("polars.series.series", "Series"): _polars,
}


def classify(cls: type) -> Any:
    """None: plain; False: left out; "ndarray"; or a function that lists what an object refers to."""
    if issubclass(cls, _CODE):
        return False
    for base in cls.__mro__:
        found = _RESOLVERS.get((base.__module__, base.__name__))
        if found is not None:
            return found
    return None


@dataclass
class Owner:
    """One of the objects given: bytes that only it reaches, and bytes that another one reaches too."""
    exclusive_bytes: int
    shared_bytes: int

    @property
    def total_bytes(self) -> int:
        return self.exclusive_bytes + self.shared_bytes


@dataclass
class Footprint:
    """What some objects cost together."""
    total_if_shared: int  # each object and buffer once: what they take now
    total_if_duplicated: int  # as if each owner had a copy of all it reaches
    shared_bytes: int  # reached by two owners or more
    owners: list[Owner]
    by_type: list[tuple[str, int, int]]  # name, objects, bytes; most bytes first
    by_device: dict[str, int]  # bytes of buffers
    objects: int
    left_out: int  # references to code (functions, modules) that were not followed
    problems: list[str] = field(default_factory=list)


def walk(owners: Iterable[Any]) -> dict[str, Any]:
    return _objects.walk(list(owners), classify)


def total(owners: Iterable[Any]) -> int:
    """Bytes of all that the owners reach, each object and buffer once."""
    return int(_objects.walk(list(owners), classify)["total"])


def footprint(owners: Iterable[Any]) -> Footprint:
    """Walks from every owner. The owners are the items: a list that is itself one owner goes in as [list]."""
    w = walk(owners)
    rows = [(f"{t.__module__}.{t.__qualname__}".removeprefix("builtins."), n, b) for t, n, b in w["types"]]
    return Footprint(w["total"], w["duplicated"], w["shared_bytes"], [Owner(e, r - e) for e, r in zip(w["exclusive"], w["reachable"])],
                     sorted(rows, key=lambda r: -r[2]), {d: b for d, _, b in w["buffers"]}, w["nodes"], w["left_out"], w["problems"])
