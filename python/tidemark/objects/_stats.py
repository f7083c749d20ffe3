# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Figures of single arrays and of sets of arrays."""
from __future__ import annotations

import gc
import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from . import _advice, _duplicates, _guard, _kinds, _walk
from ._many import Many, unique


@dataclass
class MemoryStats:
    data_bytes: int
    metadata_bytes: int
    uncertainty_bytes: int
    total_bytes: int
    overhead_ratio: float  # metadata / data, inf without data, nan if the bytes of the data are unknown
    shared_metadata: bool | None  # None: unknown, because the object was measured alone
    device: str  # "unknown": the bytes of the data cannot be found and count 0


@dataclass
class ComparisonStats:
    baseline_bytes: int
    dimtensor_bytes: int
    overhead_bytes: int
    overhead_percent: float  # of the data; inf without data


@dataclass
class SharedMetadataReport:
    num_arrays: int
    unique_units: int
    unique_dimensions: int
    total_metadata_bytes: int
    shared_savings_bytes: int  # bytes saved if equal objects were one
    recommendations: list[str] = field(default_factory=list)

    @property
    def sharing_potential(self) -> int:
        return self.shared_savings_bytes


@dataclass
class GPUMemoryStats:
    device: str
    allocated_bytes: int
    reserved_bytes: int
    peak_bytes: int
    dimtensor_estimate: int  # storages of the wrapped tensors alive on the device, each once


def _ratio(part: int, data: int, device: str) -> float:
    return math.nan if _kinds.UNKNOWN in device else part / data if data else math.inf


def _metadata_bytes(obj: Any, data: list[Any], metadata: list[Any], uncertainty: list[Any]) -> int:
    """Returns the bytes of the wrapper and of everything that its metadata reaches, without its data and its uncertainty."""
    n = 0
    if metadata:
        n, _, problems = _walk.engine.total(metadata, _walk.classify, [obj, *data, *uncertainty])
        for text in problems:
            warnings.warn(text, RuntimeWarning, stacklevel=3)
    for a in data:
        if a is obj:  # no wrapper
            return n
    return n + _kinds.shallow(obj)


def memory_stats(obj: Any, among: Iterable[Any] | str | None = None) -> MemoryStats:
    """Returns the bytes of one object. With `among` (the other arrays, or "live": all live wrappers) the result also shows
    whether its metadata is shared."""
    kind, arrays, more, sigma = _kinds.split(obj)
    data, device, metadata, uncertainty = 0, "", 0, 0
    for a in arrays:
        n, d = _kinds.array_size(a)
        data += n
        device = d if not device or d == device else ", ".join(sorted({*device.split(", "), d}))
    for a in sigma:
        uncertainty += _kinds.array_size(a)[0]
    if not kind.plain:
        metadata = _metadata_bytes(obj, arrays, more, sigma)
    shared = None if among is None else _is_shared(obj, more, live_wrappers() if isinstance(among, str) else among)
    device = device or "cpu"
    return MemoryStats(data, metadata, uncertainty, data + metadata + uncertainty, _ratio(metadata, data, device), shared, device)


def _is_shared(obj: Any, metadata: list[Any], among: Iterable[Any]) -> bool:
    mine = {id(m) for m in metadata}
    others = Many(o for o in among if o is not obj)
    return any(id(m) in mine for m in others.metadata)


def metadata_overhead(obj: Any) -> int:
    """Returns the bytes that are not data: the wrapper, its metadata and its uncertainty."""
    s = memory_stats(obj)
    return s.metadata_bytes + s.uncertainty_bytes


def get_overhead_ratio(obj: Any) -> float:
    return memory_stats(obj).overhead_ratio


def compare_to_baseline(obj: Any) -> ComparisonStats:
    """Compares an object with the plain array. `without_uncertainty` leaves out its uncertainty."""
    s = memory_stats(obj)
    more = s.metadata_bytes + s.uncertainty_bytes
    return ComparisonStats(s.data_bytes, s.total_bytes, more, _ratio(more, s.data_bytes, s.device) * 100)


def without_uncertainty(obj: Any) -> ComparisonStats:
    """Returns the comparison as it would be with uncertainty=None."""
    s = memory_stats(obj)
    return ComparisonStats(s.data_bytes, s.data_bytes + s.metadata_bytes, s.metadata_bytes, s.overhead_ratio * 100)


def first_of_equals(objects: list[Any], problems: list[str]) -> list[Any]:
    """Returns the first of each group of equal objects. An object that cannot be hashed or compared equals only itself."""
    seen: dict[Any, Any] = {}
    alone = []
    for o in objects:
        try:
            if _duplicates.shallow(o):
                seen.setdefault((id(type(o)), o), o)
            else:
                alone.append(o)
        except BaseException as e:
            _duplicates.note(o, e, problems)
            alone.append(o)
    return [*seen.values(), *alone]


def _dimensions(units: list[Any]) -> list[Any]:
    return unique(d for u in units if (d := _kinds.get(u, "dimension")) is not None)


def analyze(many: Many) -> SharedMetadataReport:
    """Analyses shared metadata. Problems are added to those of `many`."""
    outside, every, problems = many.outside(), unique(many.metadata), many.problems

    def total(objects: list[Any]) -> int:
        n, _, found = _walk.total(objects, outside)
        problems.extend(p for p in found if p not in problems)
        return n

    now = total(every)  # before hashes are computed: pint's units keep them
    kept = first_of_equals(every, problems)
    kept_dimensions = _dimensions(kept)
    first_dimensions = first_of_equals(kept_dimensions, problems)
    saved = (total(every) - total(kept) if len(kept) < len(every) else 0) + (total(kept_dimensions) - total(first_dimensions) if len(first_dimensions) < len(kept_dimensions) else 0)
    units = many.units()
    dimensions = _dimensions(units)
    report = SharedMetadataReport(len(many.arrays), len(units), len(dimensions), now + many.own_bytes(), saved)
    report.recommendations = _advice.of_set(report, many, units, dimensions)
    return report


def analyze_shared_metadata(arrays: Iterable[Any]) -> SharedMetadataReport:
    """Returns the metadata objects that the arrays share by identity, and the bytes that merging equal ones would save."""
    with _guard.signals_told_apart():
        many = Many(arrays)
        report = analyze(many)
    for text in many.problems:
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    return report


def live_wrappers() -> list[Any]:
    """Returns the objects of known and registered classes that the garbage collector tracks."""
    known: dict[int, bool] = {}
    found = []
    for o in gc.get_objects():
        t = type(o)
        yes = known.get(id(t))
        if yes is None:
            kind = _kinds.kind_of(t)
            yes = known[id(t)] = kind is not None and not kind.plain and not _kinds.is_guess(kind)
        if yes:
            found.append(o)
    return found


def _device_name(device: int | str, torch: Any) -> str:
    if not isinstance(device, (int, str)):
        raise TypeError(f"device must be a number or a name such as 'cuda:0', not {type(device).__name__}")
    if isinstance(device, int):
        return f"cuda:{device}"
    if device in ("cuda", "xpu"):
        there = torch is not None and getattr(torch, device).is_available()
        return f"{device}:{getattr(torch, device).current_device() if there else 0}"
    return device


def _recorded(name: str) -> tuple[int, int, int] | None:
    """Returns allocated, reserved and peak bytes of a device from the recording in progress (tidemark.live())."""
    try:
        from .. import _native
        from .._live import live
    except ImportError:  # the extension cannot be loaded: nothing is recorded
        return None

    for d in live().devices if _native.recording() else ():
        if d["device"] == name:
            t = d["totals"]
            return int(t["live_bytes"]), int(t["reserved_bytes"] or t["live_bytes"]), int(t["peak_bytes"])
    return None


def _counted(name: str, torch: Any) -> tuple[int, int, int] | None:
    if torch is None or not name.startswith("cuda") or not torch.cuda.is_available():
        return None
    return int(torch.cuda.memory_allocated(name)), int(torch.cuda.memory_reserved(name)), int(torch.cuda.max_memory_allocated(name))


def gpu_memory_stats(device: int | str = 0, arrays: Iterable[Any] | None = None) -> GPUMemoryStats:
    """Returns the memory of a device: PyTorch's own counters for CUDA, else those of the recording in progress (`tidemark.live()`). The
    estimate is the storages of `arrays` there, each once; by default of every live wrapped tensor."""
    try:
        import torch
    except ImportError:
        torch = None
    name = _device_name(device, torch)
    found = _counted(name, torch) or _recorded(name)
    if found is None:
        raise RuntimeError("PyTorch not available. Install with: pip install torch" if torch is None
                           else "CUDA not available" if name.startswith("cuda") else f"{name}: no recording in progress has this device")
    held = _walk.footprint(live_wrappers() if arrays is None else arrays).by_device.get(name, 0)
    return GPUMemoryStats(name, *found, held)
