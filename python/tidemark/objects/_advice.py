# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Recommendations, each with its figures. The thresholds are the constants below."""
from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

from . import _duplicates, _kinds

if TYPE_CHECKING:
    from ._many import Group, Many
    from ._stats import GPUMemoryStats, MemoryStats, SharedMetadataReport

SMALL_BYTES = 1000  # an array with less data is small
SMALL_OVERHEAD = 0.5
LARGE_BYTES = 1_000_000
LARGE_OVERHEAD = 0.01
LONGEST_UNIT = 60  # characters of a unit's name
GOOD_REUSE = 0.1  # unique units / arrays
POOR_REUSE = 0.5
FEW_ELEMENTS = 100
GPU_FULL = 0.85
PEAK_BEYOND = 0.10  # relative to the allocated bytes


def size(n: float) -> str:
    if n < 1024:
        return f"{n:.0f} bytes"
    if n < 1024**2:
        return f"{n / 1024:.1f} KB"
    return f"{n / 1024**2:.1f} MB" if n < 1024**3 else f"{n / 1024**3:.2f} GB"


def of_one(s: MemoryStats) -> list[str]:
    found = []
    if s.data_bytes < SMALL_BYTES and s.overhead_ratio > SMALL_OVERHEAD and s.metadata_bytes:
        share = f"{s.overhead_ratio * 100:.0f}%" if s.data_bytes else "100% of the total"
        found += [f"  - Metadata overhead is high ({share}) for small arrays", "    Consider batching operations or using larger arrays"]
    if s.uncertainty_bytes:
        found += [f"  - Uncertainty arrays add {size(s.uncertainty_bytes)}", "    Consider uncertainty=None if not needed"]
    if s.shared_metadata:
        found.append("  - Good: Unit/Dimension objects are shared (low memory overhead)")
    if s.data_bytes > LARGE_BYTES and s.overhead_ratio < LARGE_OVERHEAD:
        found.append(f"  - Excellent: Metadata overhead is only {s.overhead_ratio * 100:.2f}% for large array")
    return found


def _reuse(r: SharedMetadataReport, units: list[Any], equal: bool) -> list[str]:
    """Advises on reuse of units and dimensions. `equal`: some dimensions are equal but separate objects."""
    found = []
    if r.unique_units and r.unique_units / r.num_arrays <= GOOD_REUSE:
        found.append(f"Excellent: {r.num_arrays} arrays share {r.unique_units} unique units (good reuse)")
    elif r.unique_units / r.num_arrays > POOR_REUSE:
        made = any(_kinds.module_of(type(u)).partition(".")[0] == "dimtensor" for u in units)
        found += [f"Many unique units ({r.unique_units} for {r.num_arrays} arrays)",
                  "Consider using predefined units from dimtensor.units module" if made else "Consider making each unit once and using it again"]
    if r.unique_dimensions and r.unique_dimensions <= r.unique_units and not equal:
        found.append(f"Good: Dimensions are well-shared ({r.unique_dimensions} unique)")
    return found


def _symbol(unit: Any) -> str | None:
    """Returns the name of a unit: its symbol, else its text (astropy, pint); None if that is not a name."""
    symbol = _kinds.get(unit, "symbol")
    if type(symbol) is str and symbol:
        return symbol
    text = _kinds.str_of(unit)
    return text if text and len(text) <= LONGEST_UNIT and not text.startswith("<") else None


def _same_unit(many: Many, units: list[Any]) -> list[str]:
    named = {id(u): s for u in units if (s := _symbol(u))}
    uses = Counter(map(id, many.metadata))
    return [f"{n} arrays share same unit '{named[i]}' - good!" for i, n in sorted(((i, uses[i]) for i in named), key=lambda x: -x[1])[:3] if n >= 2]


def _same_exponents(dimensions: list[Any], problems: list[str]) -> list[str]:
    count: Counter[Any] = Counter()
    for d in dimensions:
        try:
            count[id(type(d)), d] += 1
        except BaseException as e:  # it equals only itself
            _duplicates.note(d, e, problems)
    return [f"{n} dimension objects created with same exponents - consider caching" for _, n in count.most_common(1) if n >= 2]


def _scales(units: list[Any]) -> list[str]:
    odd = sorted({s for u in units if (s := _symbol(u)) and issubclass(type(scale := _kinds.get(u, "scale")), (int, float)) and scale != 1})
    if not odd:
        return []
    return [f"Using non-SI scale factors ({', '.join(odd[:5])}) adds conversion overhead", "Consider standardizing to SI base units"]


def _small(many: Many, metadata: int) -> list[str]:
    n, data = len(many.arrays), sum(many.data_bytes)
    small = sum(b < SMALL_BYTES for b in many.data_bytes) - (sum(id(a) in many.unknown for a in many.arrays) if many.unknown else 0)
    found = []
    if small > n / 2:
        found += [f"{small}/{n} arrays are small (<1KB data)", "Consider consolidating small arrays to reduce metadata overhead"]
    if metadata > data and not many.unknown and all(map(_few, many.groups.values())):
        found += [f"Metadata is {metadata / (metadata + data) * 100:.0f}% of memory for arrays <{FEW_ELEMENTS} elements", "Consider batching small arrays"]
    return found


def _few(group: Group) -> bool:
    """Returns whether each object has data, with fewer than FEW_ELEMENTS elements."""
    ndarray = _kinds.ndarray()
    sizes = group.data.sums([a.size if type(a) is ndarray else _elements(a) for a in group.data.values])
    return max(sizes) < FEW_ELEMENTS and (group.data.counts is None or min(group.data.counts) > 0)


def _elements(array: Any) -> int:
    shape = _kinds.get(array, "shape")  # a nested tensor has none
    n = 1
    for extent in shape if issubclass(type(shape), tuple) else ():
        n *= extent if type(extent) is int else FEW_ELEMENTS  # a ragged axis of a nested tensor has no number
    return n


def of_set(r: SharedMetadataReport, many: Many, units: list[Any], dimensions: list[Any]) -> list[str]:
    """Returns the recommendations for a set of arrays. `units` and `dimensions` have each object once."""
    if not many.arrays:
        return []
    equal = _same_exponents(dimensions, many.problems)
    found = _reuse(r, units, bool(equal)) + _same_unit(many, units) + equal
    if r.shared_savings_bytes:
        found.append(f"Equal metadata objects: sharing one would save {size(r.shared_savings_bytes)}")
    uncertainty = sum(many.uncertainty_bytes)
    if uncertainty:
        found += [f"Uncertainty arrays add {size(uncertainty)} memory overhead", "Consider uncertainty=None if not needed"]
    return found + _scales(units) + _small(many, r.total_metadata_bytes)


def _capacity(device: str) -> int:
    """Returns the bytes of a CUDA device's memory; 0 if unknown."""
    torch = sys.modules.get("torch")
    if torch is None or not device.startswith("cuda") or not torch.cuda.is_available():
        return 0
    return int(torch.cuda.get_device_properties(device).total_memory)


def of_gpu(s: GPUMemoryStats, capacity: int | None = None) -> list[str]:
    """Returns advice for a device with `capacity` bytes; None asks PyTorch for the device's capacity."""
    found = []
    capacity = _capacity(s.device) if capacity is None else capacity
    if capacity and s.reserved_bytes / capacity >= GPU_FULL:
        found.append(f"GPU memory {s.reserved_bytes / capacity * 100:.0f}% full, consider cpu offloading")
    if s.peak_bytes - s.allocated_bytes > s.allocated_bytes * PEAK_BEYOND:
        found += [f"Peak memory exceeded allocation by {size(s.peak_bytes - s.allocated_bytes)}",
                  "torch.cuda.reset_peak_memory_stats() begins a new peak"]
    return found
