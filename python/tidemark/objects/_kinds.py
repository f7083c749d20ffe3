# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Which part of an object is data, which is metadata and which is uncertainty, by type."""
from __future__ import annotations

import dataclasses
import sys
import warnings
import weakref
from collections.abc import Callable
from typing import Any, Union

MOST_BYTES = 1 << 48  # more than an address space holds
Part = Union[str, Callable[[Any], Any], None]


@dataclasses.dataclass(frozen=True)
class Kind:
    """Each part is the name of an attribute or a function of the object. metadata may give a list of objects."""
    data: Part
    metadata: Part = None
    uncertainty: Part = None
    plain: bool = False  # the array itself, nothing wraps it


def _part(obj: Any, part: Part) -> Any:
    return None if part is None else getattr(obj, part) if isinstance(part, str) else part(obj)


def _itself(obj: Any) -> Any:
    return obj


def _astropy_metadata(obj: Any) -> list[Any]:
    return [obj.unit, *(v for k, v in vars(obj).items() if k != "_unit")]


def _frame_arrays(obj: Any) -> list[Any]:
    return [obj[c].array for c in obj.columns] if obj.columns.is_unique else [obj.iloc[:, i].array for i in range(obj.shape[1])]


def _is_array(value: Any) -> bool:
    return isinstance(value, (bytes, bytearray, memoryview)) or (found := kind_of(type(value))) is not None and found.plain


def _fields(obj: Any) -> list[tuple[str, Any]]:
    return [(f.name, getattr(obj, f.name, None)) for f in dataclasses.fields(obj)]


_DATACLASS = Kind(lambda o: [v for n, v in _fields(o) if n != "uncertainty" and _is_array(v)],
                  lambda o: [v for n, v in _fields(o) if not _is_array(v)],
                  lambda o: next((v for n, v in _fields(o) if n == "uncertainty" and _is_array(v)), None))
_KNOWN: dict[tuple[str, str], Kind] = {
    ("dimtensor.core.dimarray", "DimArray"): Kind("_data", "_unit", "_uncertainty"),
    ("dimtensor.torch.dimtensor", "DimTensor"): Kind("_data", "_unit"),
    ("astropy.units.quantity", "Quantity"): Kind(_itself, _astropy_metadata),
    ("pint.facets.plain.quantity", "PlainQuantity"): Kind("_magnitude", "_units"),
    ("numpy", "ndarray"): Kind(_itself, plain=True),
    ("torch", "Tensor"): Kind(_itself, plain=True),
    ("array", "array"): Kind(_itself, plain=True),
    ("pandas", "DataFrame"): Kind(_frame_arrays, lambda o: [o.columns, o.index]),
    ("pandas", "Series"): Kind("array", lambda o: [o.name, o.index]),
    ("polars.dataframe.frame", "DataFrame"): Kind(_itself, "columns"),
    ("polars.series.series", "Series"): Kind(_itself, "name"),
}
_KNOWN[("pandas.core.frame", "DataFrame")] = _KNOWN[("pandas", "DataFrame")]  # before pandas 3
_KNOWN[("pandas.core.series", "Series")] = _KNOWN[("pandas", "Series")]
_REGISTERED: dict[type, Kind] = {}


def is_guess(kind: Kind) -> bool:
    """A dataclass that nobody registered: its fields may be anything."""
    return kind is _DATACLASS


def register(cls: type, *, data: Part, metadata: Part = None, uncertainty: Part = None) -> None:
    """Says how objects of `cls` (and of classes derived from it) are made up."""
    if not isinstance(cls, type):
        raise TypeError(f"register expects a class, got {type(cls).__name__}")
    _REGISTERED[cls] = Kind(data, metadata, uncertainty)
    _SEEN.clear()


def _find_kind(cls: type) -> Kind | None:
    for base in cls.__mro__:
        found = _REGISTERED.get(base) or _KNOWN.get((base.__module__, base.__name__))
        if found is not None:
            return found
    if dataclasses.is_dataclass(cls):
        return _DATACLASS
    return Kind(_itself, plain=True) if issubclass(cls, (bytes, bytearray, memoryview)) else None


_SEEN: dict[int, tuple[weakref.ref[type], Kind | None]] = {}  # by id of the class


def kind_of(cls: type) -> Kind | None:
    seen = _SEEN.get(id(cls))
    if seen is not None and seen[0]() is cls:
        return seen[1]
    if len(_SEEN) > 4096:
        _SEEN.clear()
    found = _find_kind(cls)
    _SEEN[id(cls)] = weakref.ref(cls), found
    return found


def _several(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def ndarray() -> Any:
    """numpy.ndarray once somebody has imported it."""
    numpy = sys.modules.get("numpy")
    return getattr(numpy, "ndarray", Parts)


def array_size(array: Any) -> tuple[int, str]:
    """Bytes of its elements, never more than the buffer behind them, and its device."""
    try:
        if type(array) is ndarray():
            return (_behind(array, array.nbytes) if 0 in array.strides else array.nbytes), "cpu"
        if hasattr(array, "untyped_storage"):
            bytes_, device = array.element_size() * array.nelement(), str(array.device)
            return (bytes_ if device == "meta" else min(bytes_, array.untyped_storage().nbytes())), device
        if hasattr(array, "estimated_size"):
            return int(array.estimated_size()), "cpu"
        if hasattr(array, "nbytes"):
            return _behind(array, int(array.nbytes)), "cpu"
        if isinstance(array, (bytes, bytearray)):
            return len(array), "cpu"
        if hasattr(array, "itemsize"):
            return len(array) * int(array.itemsize), "cpu"
        return sys.getsizeof(array), "cpu"  # a number, as pint has it
    except Exception as e:
        warnings.warn(f"bytes of {type(array).__name__} cannot be found, 0 taken: {e!r}", RuntimeWarning, stacklevel=3)
        return 0, "unknown"


def _behind(array: Any, nbytes: int) -> int:
    if not 0 <= nbytes <= MOST_BYTES:
        raise ValueError(f"nbytes is {nbytes}")
    strides = getattr(array, "strides", None)
    if not strides or 0 not in strides:
        return nbytes
    used = array.itemsize  # broadcast: an axis of stride 0 repeats what is there
    for n, stride in zip(array.shape, strides):
        used *= n if stride else 1
    return min(nbytes, int(used))


@dataclasses.dataclass(slots=True)
class Parts:
    kind: Kind
    data: list[Any]
    metadata: list[Any]
    uncertainty: list[Any]


def parts(obj: Any) -> Parts:
    kind = kind_of(type(obj))
    if kind is None:
        name = type(obj).__name__
        raise TypeError(f"Expected DimArray or DimTensor, got {name} (tidemark.objects.register({name}, data=...) adds a class)")
    return Parts(kind, _several(_part(obj, kind.data)), _several(_part(obj, kind.metadata)), _several(_part(obj, kind.uncertainty)))
