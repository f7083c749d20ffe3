# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Divides objects into data, metadata and uncertainty, by type."""
from __future__ import annotations

import dataclasses
import operator
import re
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Union

from . import _guard

MOST_BYTES = 1 << 48  # larger than an address space
UNKNOWN = "unknown"  # device of data whose bytes cannot be found
Part = Union[str, Callable[[Any], Any], None]
_mro = type.__dict__["__mro__"].__get__  # attributes of classes without running code of their metaclass
_module = type.__dict__["__module__"].__get__
_space = type.__dict__["__dict__"].__get__
basic_of: Callable[[type], int] = type.__dict__["__basicsize__"].__get__
flags_of: Callable[[type], int] = type.__dict__["__flags__"].__get__
itemsize_of: Callable[[type], int] = type.__dict__["__itemsize__"].__get__
name_of: Callable[[type], str] = type.__dict__["__name__"].__get__
_UNIT_PART = re.compile(r"(^|_)units?($|_)")


def module_of(cls: type) -> str:
    module = _module(cls)
    return module if type(module) is str else "?"


def bases(cls: type) -> Iterator[tuple[type, tuple[str, str]]]:
    """Returns the class and its bases, each with the names of its module and of itself."""
    for base in _mro(cls):
        yield base, (module_of(base), name_of(base))


def get(obj: Any, name: str) -> Any:
    """Returns the attribute; None if there is none or if it cannot be read."""
    try:
        return getattr(obj, name, None)
    except BaseException as e:
        _guard.pass_signals(e)
        return None


def str_of(obj: Any) -> str:
    """Returns str(obj); "" if that fails."""
    try:
        text = str(obj)
    except BaseException as e:
        _guard.pass_signals(e)
        return ""
    return text if type(text) is str else ""


@dataclasses.dataclass(frozen=True)
class Kind:
    """Each part is the name of an attribute or a function of the object. metadata may return a list of objects."""
    data: Part
    metadata: Part = None
    uncertainty: Part = None
    plain: bool = False  # the array itself, nothing wraps it


class Unreadable:
    """Data that cannot be read: its bytes are unknown."""


UNREADABLE = Unreadable()


def part_of(obj: Any, part: Part) -> Any:
    return None if part is None else getattr(obj, part) if isinstance(part, str) else part(obj)


def _itself(obj: Any) -> Any:
    return obj


def _astropy_metadata(obj: Any) -> list[Any]:
    return [obj.unit, *(v for k, v in vars(obj).items() if k != "_unit")]


def _masked(obj: Any) -> list[Any]:
    mask = obj.__dict__.get("_mask")
    return [obj, mask] if kind_of(type(mask)) is not None and mask.ndim else [obj]


def _frame_arrays(obj: Any) -> list[Any]:
    """Returns the columns without making a Series: pandas notes each Series in the frame (copy-on-write), so that each
    measurement would find more than the previous one."""
    if hasattr(obj, "_iter_column_arrays"):
        return list(obj._iter_column_arrays())
    return [obj.iloc[:, i].array for i in range(obj.shape[1])]


def _is_array(value: Any) -> bool:
    return issubclass(type(value), (bytes, bytearray, memoryview)) or (found := kind_of(type(value))) is not None and found.plain


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
    ("numpy", "generic"): Kind(_itself, plain=True),
    ("torch", "Tensor"): Kind(_itself, plain=True),
    ("array", "array"): Kind(_itself, plain=True),
    ("_ctypes", "_CData"): Kind(_itself, plain=True),
    ("numpy.ma", "MaskedArray"): Kind(_masked, plain=True),
    ("numpy.ma.core", "MaskedArray"): Kind(_masked, plain=True),  # before NumPy 2
    ("pandas", "DataFrame"): Kind(_frame_arrays, lambda o: [o.columns, o.index]),
    ("pandas", "Series"): Kind("array", lambda o: [o.name, o.index]),
    ("polars.dataframe.frame", "DataFrame"): Kind(_itself, "columns"),
    ("polars.series.series", "Series"): Kind(_itself, "name"),
}
_KNOWN[("pandas.core.frame", "DataFrame")] = _KNOWN[("pandas", "DataFrame")]  # before pandas 3
_KNOWN[("pandas.core.series", "Series")] = _KNOWN[("pandas", "Series")]
_REGISTERED: dict[int, tuple[type, Kind]] = {}  # by id of the class, which may not be hashable


def is_guess(kind: Kind) -> bool:
    """Returns whether a kind is that of an unregistered dataclass, whose fields may be anything."""
    return kind is _DATACLASS


def register(cls: type, *, data: Part, metadata: Part = None, uncertainty: Part = None) -> None:
    """Defines the parts of objects of `cls` and of derived classes."""
    if not isinstance(cls, type):
        raise TypeError(f"register expects a class, got {name_of(type(cls))}")
    _REGISTERED[id(cls)] = cls, Kind(data, metadata, uncertainty)
    _SEEN.clear()


def _find_kind(cls: type) -> Kind | None:
    for base, names in bases(cls):
        if id(base) in _REGISTERED:
            return _REGISTERED[id(base)][1]
        if names in _KNOWN:
            return _KNOWN[names]
    if any("__dataclass_fields__" in _space(base) for base in _mro(cls)):
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
    return [] if value is None else value if issubclass(type(value), list) else [value]


def ndarray() -> Any:
    """Returns numpy.ndarray once NumPy has been imported."""
    numpy = sys.modules.get("numpy")
    return getattr(numpy, "ndarray", Parts)


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=4)


def _ctypes() -> Any:
    return sys.modules["_ctypes"]


def array_size(array: Any, tell: Callable[[str], object] = _warn) -> tuple[int, str]:
    """Returns the bytes of an array's elements, at most those of its buffer, and its device. (0, UNKNOWN) if they cannot be found; `tell` gets the reason."""
    try:
        if type(array) is ndarray():
            return (array.nbytes if array.base is None else span(array)[1]), "cpu"
        if array is UNREADABLE:
            return 0, UNKNOWN
        if hasattr(array, "untyped_storage"):
            return _tensor_size(array)
        if hasattr(array, "estimated_size"):
            return _plausible(array.estimated_size()), "cpu"
        if hasattr(array, "nbytes"):
            n = _plausible(array.nbytes)
            return (min(n, span(array)[1]) if getattr(array, "strides", None) and hasattr(array, "itemsize") else n), "cpu"
        if isinstance(array, (bytes, bytearray)):
            return len(array), "cpu"
        if hasattr(array, "_b_needsfree_"):
            return _ctypes().sizeof(array), "cpu"
        if hasattr(array, "itemsize"):
            return _plausible(len(array) * array.itemsize), "cpu"
        return _plausible(sys.getsizeof(array)), "cpu"  # a plain number, as in pint
    except BaseException as e:
        _guard.pass_signals(e)
        tell(f"{name_of(type(array))}: its bytes are unknown: {text_of(e)}")
        return 0, UNKNOWN


def inner_tensors(tensor: Any) -> list[Any]:
    """Returns the parts of a sparse tensor, or of a subclass that wraps tensors; none for any other tensor."""
    if hasattr(type(tensor), "__tensor_flatten__") and not _is_fake(tensor):
        return [getattr(tensor, name) for name in tensor.__tensor_flatten__()[0]]
    names = {"torch.sparse_coo": ("_indices", "_values"), "torch.sparse_csr": ("crow_indices", "col_indices", "values"), "torch.sparse_bsr": ("crow_indices", "col_indices", "values"),
             "torch.sparse_csc": ("ccol_indices", "row_indices", "values"), "torch.sparse_bsc": ("ccol_indices", "row_indices", "values")}
    return [getattr(tensor, name)() for name in names.get(str(tensor.layout), ())]


def _is_fake(tensor: Any) -> bool:
    return name_of(type(tensor)) == "FakeTensor"


def without_memory(tensor: Any) -> bool:
    """Returns whether the tensor has a size but no memory: on the meta device, or a fake tensor of another device."""
    return tensor.device.type == "meta" or _is_fake(tensor)


def _tensor_size(tensor: Any) -> tuple[int, str]:
    device = str(tensor.device)
    if parts := inner_tensors(tensor):
        return sum(_tensor_size(t)[0] for t in parts), device
    n = tensor.element_size() * tensor.nelement()
    return (n if without_memory(tensor) else min(n, tensor.untyped_storage().nbytes())), device


def text_of(e: BaseException) -> str:
    try:
        return repr(e)
    except BaseException as second:  # its __repr__ fails too
        _guard.pass_signals(second)
        return name_of(type(e))


def _plausible(n: Any) -> int:
    if not 0 <= operator.index(n) <= MOST_BYTES:
        raise ValueError(f"{n} bytes")
    return operator.index(n)


def span(array: Any) -> tuple[int, int]:
    """Returns the bytes of an array's elements before its address, and the bytes of memory that all of them take: elements of a
    broadcast array, or of windows that overlap, share some."""
    before = after = 0
    n: int = array.itemsize
    for extent, stride in zip(array.shape, array.strides):
        n *= extent
        before -= min(0, (extent - 1) * stride)
        after += max(0, (extent - 1) * stride)
    return (before, min(n, before + after + array.itemsize)) if n else (0, 0)


def items_of(array: Any) -> list[Any]:
    """Returns the objects in an array of objects, or of records with fields of objects. Texts of NumPy's StringDType are one buffer."""
    own, dtype = ndarray(), array.dtype
    if dtype.names:
        return [o for name in dtype.names if dtype[name].hasobject for o in items_of(own.__getitem__(array, name))]
    found: list[Any] = own.tolist(own.ravel(array))
    if dtype.kind != "T":
        return found
    sizes = (len(text.encode("utf-8", "surrogatepass")) for text in found if type(text) is str)
    return [(array.ctypes.data + 1, sum(n + (8 if n > 255 else 1) for n in sizes if n > 15), "cpu")]  # shorter ones are in the elements


def shallow(obj: Any, tell: Callable[[str], object] = _warn) -> int:
    """Returns the bytes of the object without referenced objects."""
    if module_of(type(obj)).partition(".")[0] == "pandas":  # its __sizeof__ counts the data
        return object.__sizeof__(obj) + 16
    try:
        return _plausible(sys.getsizeof(obj))
    except BaseException as e:
        _guard.pass_signals(e)
        tell(f"{name_of(type(obj))}: __sizeof__ failed, basic size taken: {text_of(e)}")
        return basic_of(type(obj))


@dataclasses.dataclass(slots=True)
class Parts:
    kind: Kind
    data: list[Any]
    metadata: list[Any]
    uncertainty: list[Any]


def known(obj: Any) -> Kind:
    kind = kind_of(type(obj))
    if kind is None:
        name = name_of(type(obj))
        raise TypeError(f"Expected DimArray or DimTensor, got {name} (tidemark.objects.register({name}, data=...) adds a class)")
    return kind


def read(obj: Any, part: Part, tell: Callable[[str], object] = _warn) -> Any:
    """Returns a part of an object; UNREADABLE if it raises an exception, and `tell` gets the reason."""
    try:
        return part_of(obj, part)
    except BaseException as e:
        _guard.pass_signals(e)
        tell(f"{name_of(type(obj))}: {part if isinstance(part, str) else 'a part'} cannot be read: {text_of(e)}")
        return UNREADABLE


def split(obj: Any, tell: Callable[[str], object] = _warn) -> tuple[Kind, list[Any], list[Any], list[Any]]:
    """Returns kind, data, metadata and uncertainty. Parts that cannot be read are left out, but data is then UNREADABLE."""
    kind = known(obj)
    try:
        return kind, _several(part_of(obj, kind.data)), _several(part_of(obj, kind.metadata)), _several(part_of(obj, kind.uncertainty))
    except BaseException as e:
        _guard.pass_signals(e)
    told: list[str] = []
    data, metadata, uncertainty = (read(obj, part, told.append) for part in (kind.data, kind.metadata, kind.uncertainty))
    for text in told:
        tell(text)
    return kind, _several(data), _several(readable(metadata)), _several(readable(uncertainty))


def readable(value: Any) -> Any:
    return None if value is UNREADABLE else value


def parts(obj: Any, tell: Callable[[str], object] = _warn) -> Parts:
    return Parts(*split(obj, tell))


def is_unit(part: Part, metadata: Any) -> bool:
    """Returns whether metadata is a unit: the attribute or its class is called a unit, or it has a dimension or a symbol."""
    if isinstance(part, str) and _UNIT_PART.search(part):
        return True
    return "unit" in name_of(type(metadata)).lower() or get(metadata, "dimension") is not None or get(metadata, "symbol") is not None
