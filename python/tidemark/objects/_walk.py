# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Bytes of object graphs: each object and buffer once, with exclusive and shared bytes per owner."""
from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from . import _guard, _kinds

engine: Any
try:
    from .. import _objects

    engine = _objects
except ImportError as why:  # a Python that the extension was not built for
    from ._slow import Slow

    engine = Slow(why)

# Objects of these types belong to the program, not to the data: they lead to modules and so to everything.
CODE = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType, types.FrameType, types.GetSetDescriptorType,
         types.MemberDescriptorType, types.MethodDescriptorType, types.WrapperDescriptorType, types.TracebackType, staticmethod, classmethod, property)
_HEAP_TYPE, _HAS_GC = 1 << 9, 1 << 14  # of type.__flags__
Resolver = Callable[[Any], "list[Any]"]


def _grad(tensor: Any) -> Any:
    """Returns the gradient. PyTorch warns if that of a tensor without one is read."""
    return tensor.grad if tensor.is_leaf or tensor.retains_grad else None


def _storage(tensor: Any) -> list[Any]:
    if _kinds.without_memory(tensor):
        return []
    if parts := _kinds.inner_tensors(tensor):
        return [*parts, _grad(tensor)]
    return [*_untyped(tensor.untyped_storage()), _grad(tensor)]


def _untyped(storage: Any) -> list[Any]:
    return [(storage.data_ptr(), storage.nbytes(), str(storage.device))]


def _arrow(array: Any) -> list[Any]:
    """Returns the buffers of an array, a chunked array, a batch or a table."""
    columns = array.columns if hasattr(array, "columns") else [array]
    chunks = [c for column in columns for c in (column.chunks if hasattr(column, "chunks") else [column])]
    return [(b.address, b.size, "cpu") for chunk in chunks for b in chunk.buffers() if b is not None]


def _arrow_buffer(buffer: Any) -> list[Any]:
    return [(buffer.address, buffer.size, "cpu")]


def _c_data(o: Any) -> list[Any]:
    """Returns the memory of an object of ctypes. Up to 16 bytes are in the object itself; parts of another object have none."""
    ctypes = sys.modules["_ctypes"]
    n = ctypes.sizeof(o)
    return [(ctypes.addressof(o), n, "cpu")] if o._b_needsfree_ and n > 16 else []


def _base(o: Any) -> list[Any]:
    return [o.base]


def _nothing(o: Any) -> list[Any]:
    return []


def _polars(frame: Any) -> list[Any]:
    """Returns columns of numbers by address, which clones share. Other columns (text, nulls, chunks) are one buffer of this frame only."""
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
    return [] if area.closed else [(id(area), len(area), "cpu")]


_RESOLVERS: dict[tuple[str, str], Resolver | str] = {
    ("numpy", "ndarray"): "ndarray",
    ("torch", "Tensor"): _storage,
    ("torch.storage", "UntypedStorage"): _untyped,
    ("mmap", "mmap"): _mapped,
    ("_ctypes", "_CData"): _c_data,
    ("numpy.lib._stride_tricks_impl", "DummyArray"): _base,  # between an array of as_strided() and the one it shows
    ("numpy.lib.stride_tricks", "DummyArray"): _base,  # before NumPy 2
    ("builtins", "PyDataFrame"): _nothing,  # polars: its frame or series finds the memory
    ("builtins", "PySeries"): _nothing,
    ("pyarrow.lib", "Buffer"): _arrow_buffer,
    ("pyarrow.lib", "RecordBatch"): _arrow,
    ("pyarrow.lib", "Table"): _arrow,
    ("pyarrow.lib", "Array"): _arrow,
    ("pyarrow.lib", "ChunkedArray"): _arrow,
    ("polars.dataframe.frame", "DataFrame"): _polars,
    ("polars.series.series", "Series"): _polars,
}


def classify(cls: type) -> Any:
    """Returns None for a plain type, False for one that is left out, "ndarray", or a function that lists an object's references."""
    if issubclass(cls, CODE):
        return False
    for _, names in _kinds.bases(cls):
        found = _RESOLVERS.get(names)
        if found is not None:
            return found
    return None


def _tensor_memory(tensor: Any) -> list[Any]:
    """Returns the memory without the gradient; a tensor without memory has the bytes that it would take."""
    if _kinds.without_memory(tensor):
        return [(id(tensor), *_kinds.array_size(tensor))]
    return _kinds.inner_tensors(tensor) or _untyped(tensor.untyped_storage())


def _content(o: Any) -> list[Any]:
    return [(id(o), *_kinds.array_size(o))]


def _viewed(view: memoryview) -> list[Any]:
    return [view.obj if memory_only(type(view.obj)) else (id(view.obj), view.nbytes, "cpu")]


_MEMORY: dict[tuple[str, str], Resolver] = {
    ("torch", "Tensor"): _tensor_memory,
    ("builtins", "bytes"): _content,
    ("builtins", "bytearray"): _content,
    ("builtins", "memoryview"): _viewed,
    ("array", "array"): _content,
    ("numpy", "generic"): _content,
    ("_ctypes", "_CData"): _content,
}


def memory_only(cls: type) -> Any:
    """Like classify(), for the memory of arrays only, without gradients. Returns None for an unknown type."""
    for _, names in _kinds.bases(cls):
        found = _MEMORY.get(names) or _RESOLVERS.get(names)
        if found is not None:
            return found
    return None


@dataclass(slots=True)
class Owner:
    """One of the objects given: bytes that only it reaches, and bytes that another one reaches too."""
    exclusive_bytes: int
    shared_bytes: int

    @property
    def total_bytes(self) -> int:
        return self.exclusive_bytes + self.shared_bytes


class Owners(Sequence[Owner]):
    """The owners in their order. Each Owner is made on access: a million of them take 16 MB, not 100."""
    __slots__ = ("_exclusive", "_reachable")

    def __init__(self, exclusive: bytes, reachable: bytes) -> None:
        self._exclusive, self._reachable = memoryview(exclusive).cast("q"), memoryview(reachable).cast("q")

    def __len__(self) -> int:
        return len(self._exclusive)

    @overload
    def __getitem__(self, i: int) -> Owner: ...
    @overload
    def __getitem__(self, i: slice) -> list[Owner]: ...
    def __getitem__(self, i: int | slice) -> Owner | list[Owner]:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        return Owner(self._exclusive[i], self._reachable[i] - self._exclusive[i])

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (Owners, list)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self[:10]))}{', ...' if len(self) > 10 else ''}]"


@dataclass
class SharedNode:
    """An object or buffer that two owners or more reach."""
    name: str  # its type, or "buffer on cpu"
    bytes: int
    owners: list[int]  # the first 16 of them, as positions
    owner_count: int


@dataclass
class Footprint:
    """The memory of some objects together."""
    total_if_shared: int  # each object and buffer once: the current memory
    total_if_duplicated: int  # as if each owner had its own copy of everything it reaches
    shared_bytes: int  # reached by two owners or more
    owners: Sequence[Owner]
    by_type: list[tuple[str, int, int]]  # name, objects, bytes; most bytes first
    by_device: dict[str, int]  # bytes of buffers
    objects: int
    left_out: int  # references to code (functions, modules) that were not followed
    problems: list[str] = field(default_factory=list)
    largest_shared: list[SharedNode] = field(default_factory=list)  # at most 64, most bytes first
    sizeof_only: list[str] = field(default_factory=list)  # types written in C whose content cannot be walked: only __sizeof__ counts


def walk(owners: Iterable[Any]) -> dict[str, Any]:
    every = list(owners)
    with _guard.signals_told_apart():
        found: dict[str, Any] = engine.walk(every, classify)
    return found


def total(owners: list[Any], outside: list[Any]) -> tuple[int, bool, list[str]]:
    """Returns the bytes that the owners reach, each object and buffer once, without `outside` (objects, and the memory of arrays); whether
    they reach any of `outside`; and problems."""
    found: tuple[int, bool, list[str]] = engine.total(owners, classify, outside)
    return found


def type_name(t: Any) -> str:
    if type(t) is str:
        return t
    return f"{_kinds.module_of(t)}.{type.__dict__['__qualname__'].__get__(t)}".removeprefix("builtins.")


def shared_nodes(rows: list[tuple[Any, int, list[int], int]]) -> list[SharedNode]:
    return [SharedNode(f"buffer on {t}" if type(t) is str else type_name(t), b, o, n) for t, b, o, n in rows]


def _insides_unknown(t: type) -> bool:
    """Returns whether a type is written in C, without tp_traverse and without a resolver: its references cannot be found."""
    flags, module = _kinds.flags_of(t), _kinds.module_of(t)
    simple = module.partition(".")[0] == "numpy" or module == "builtins" and not flags & _HEAP_TYPE  # extensions name builtins, too
    return not flags & _HAS_GC and not simple and classify(t) is None


def footprint(owners: Iterable[Any]) -> Footprint:
    """Walks from every owner. The owners are the items: a list that is itself one owner goes in as [list]."""
    w = walk(owners)
    rows = [(type_name(t), n, b) for t, n, b in w["types"]]
    return Footprint(w["total"], w["duplicated"], w["shared_bytes"], Owners(w["exclusive"], w["reachable"]),
                     sorted(rows, key=lambda r: -r[2]), {d: b for d, _, b in w["buffers"]}, w["nodes"], w["left_out"], w["problems"],
                     shared_nodes(w["shared"]), [type_name(t) for t, _, _ in w["types"] if _insides_unknown(t)])
