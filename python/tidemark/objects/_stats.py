# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Figures of single arrays and of sets of arrays."""
from __future__ import annotations

import gc
import math
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from . import _advice, _duplicates, _kinds, _walk


@dataclass
class MemoryStats:
    data_bytes: int
    metadata_bytes: int
    uncertainty_bytes: int
    total_bytes: int
    overhead_ratio: float  # metadata / data, inf without data
    shared_metadata: bool | None  # None: not known, the object was looked at alone
    device: str


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
    shared_savings_bytes: int  # what would vanish if equal objects were one
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


def shallow(obj: Any) -> int:
    if type(obj).__module__.partition(".")[0] == "pandas":  # its __sizeof__ counts the data
        return object.__sizeof__(obj) + 16
    try:
        return sys.getsizeof(obj)
    except Exception as e:
        warnings.warn(f"__sizeof__ of {type(obj).__name__} failed, basic size taken: {e!r}", RuntimeWarning, stacklevel=3)
        return int(type(obj).__basicsize__)


array_bytes = _kinds.array_size


def _metadata_bytes(obj: Any, p: _kinds.Parts) -> int:
    own = 0 if in_(p.data, obj) else shallow(obj)
    return own + (_walk.total(p.metadata) if p.metadata else 0)


def memory_stats(obj: Any, among: Iterable[Any] | None = None) -> MemoryStats:
    """Bytes of one object. With `among` (the arrays it lives with) it is known whether its metadata is shared."""
    p = _kinds.parts(obj)
    data, device, metadata, uncertainty = 0, "", 0, 0
    for a in p.data:
        n, d = _kinds.array_size(a)
        data += n
        device = d if not device or d == device else ", ".join(sorted({*device.split(", "), d}))
    for a in p.uncertainty:
        uncertainty += _kinds.array_size(a)[0]
    if not p.kind.plain:
        metadata = _metadata_bytes(obj, p)
    shared = None if among is None else _is_shared(obj, p, among)
    return MemoryStats(data, metadata, uncertainty, data + metadata + uncertainty, metadata / data if data else math.inf, shared, device or "cpu")


def _is_shared(obj: Any, p: _kinds.Parts, among: Iterable[Any]) -> bool:
    mine = {id(m) for m in p.metadata}
    return any(id(m) in mine for other in among if other is not obj for m in _kinds.parts(other).metadata)


def metadata_overhead(obj: Any) -> int:
    """Bytes that are no data: the wrapper, its metadata and its uncertainty."""
    s = memory_stats(obj)
    return s.metadata_bytes + s.uncertainty_bytes


def get_overhead_ratio(obj: Any) -> float:
    return memory_stats(obj).overhead_ratio


def compare_to_baseline(obj: Any) -> ComparisonStats:
    """Against the plain array. With uncertainty, `without_uncertainty` gives the other side."""
    s = memory_stats(obj)
    more = s.metadata_bytes + s.uncertainty_bytes
    return ComparisonStats(s.data_bytes, s.total_bytes, more, more / s.data_bytes * 100 if s.data_bytes else math.inf)


def without_uncertainty(obj: Any) -> ComparisonStats:
    """The comparison as it would be with uncertainty=None."""
    s = memory_stats(obj)
    return ComparisonStats(s.data_bytes, s.data_bytes + s.metadata_bytes, s.metadata_bytes, s.metadata_bytes / s.data_bytes * 100 if s.data_bytes else math.inf)


def first_of_equals(objects: list[Any]) -> list[Any]:
    """Of objects that are equal the first. One that cannot be hashed or compared equals itself only."""
    seen: dict[Any, Any] = {}
    alone = []
    for o in objects:
        try:
            if _duplicates.shallow(o):
                seen.setdefault((type(o), o), o)
            else:
                alone.append(o)
        except (Exception, SystemExit):
            alone.append(o)
    return [*seen.values(), *alone]


def unique(objects: Iterable[Any]) -> list[Any]:
    return list({id(o): o for o in objects}.values())


def analyze_shared_metadata(arrays: Iterable[Any]) -> SharedMetadataReport:
    """Which metadata objects the arrays share by identity, and what making equal ones one would save."""
    every = list(arrays)
    found = [_kinds.parts(a) for a in every]
    units = unique(m for p in found for m in p.metadata)
    kept = first_of_equals(units)
    dimensions = unique(d for u in units if (d := getattr(u, "dimension", None)) is not None)
    kept_dimensions = unique(d for u in kept if (d := getattr(u, "dimension", None)) is not None)
    now = _walk.total(units)
    saved = now - _walk.total(kept) + _walk.total(kept_dimensions) - _walk.total(first_of_equals(kept_dimensions))
    wrappers = sum(shallow(a) for a in unique(a for a, p in zip(every, found) if not p.kind.plain and not in_(p.data, a)))
    report = SharedMetadataReport(len(every), len(units), len(dimensions), now + wrappers, saved)
    report.recommendations = _advice.of_set(report, every, found, dimensions)
    return report


def in_(objects: list[Any], obj: Any) -> bool:
    for o in objects:
        if o is obj:
            return True
    return False


def _live_wrappers() -> list[Any]:
    known = {}
    found = []
    for o in gc.get_objects():
        t = type(o)
        if t not in known:
            kind = _kinds.kind_of(t)
            known[t] = kind is not None and not kind.plain and not _kinds.is_guess(kind)
        if known[t]:
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
    """Allocated, reserved and peak bytes of a device as the recording in progress has them (tidemark.live())."""
    from .. import _native
    from .._live import live

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
    """Memory of a device: PyTorch's own counters for CUDA, else those of the recording in progress (`tidemark.live()`). The estimate is the
    storages of `arrays` there, each once; left out: of every wrapped tensor that is alive."""
    try:
        import torch
    except ImportError:
        torch = None
    name = _device_name(device, torch)
    found = _counted(name, torch) or _recorded(name)
    if found is None:
        raise RuntimeError("PyTorch not available. Install with: pip install torch" if torch is None
                           else "CUDA not available" if name.startswith("cuda") else f"{name}: no recording in progress has this device")
    held = _walk.footprint(_live_wrappers() if arrays is None else arrays).by_device.get(name, 0)
    return GPUMemoryStats(name, *found, held)
