# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Recommendations, each with its figures. The thresholds are the constants below."""
from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from . import _kinds

if TYPE_CHECKING:
    from ._stats import GPUMemoryStats, MemoryStats, SharedMetadataReport

SMALL_BYTES = 1000  # an array with less data is small
SMALL_OVERHEAD = 0.5
LARGE_BYTES = 1_000_000
LARGE_OVERHEAD = 0.01
GOOD_REUSE = 0.1  # unique units / arrays
POOR_REUSE = 0.5
FEW_ELEMENTS = 100
GPU_FULL = 0.85
PEAK_BEYOND = 0.10  # of what is allocated at the end


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


def _reuse(r: SharedMetadataReport, equal: bool) -> list[str]:
    """`equal`: some dimensions are equal but separate objects."""
    found = []
    if r.unique_units and r.unique_units / r.num_arrays <= GOOD_REUSE:
        found.append(f"Excellent: {r.num_arrays} arrays share {r.unique_units} unique units (good reuse)")
    elif r.unique_units / r.num_arrays > POOR_REUSE:
        found += [f"Many unique units ({r.unique_units} for {r.num_arrays} arrays)", "Consider using predefined units from dimtensor.units module"]
    if r.unique_dimensions and r.unique_dimensions <= r.unique_units and not equal:
        found.append(f"Good: Dimensions are well-shared ({r.unique_dimensions} unique)")
    return found


def _same_unit(parts: list[_kinds.Parts]) -> list[str]:
    uses = Counter(id(m) for p in parts for m in p.metadata)
    names = {id(m): getattr(m, "symbol", None) for p in parts for m in p.metadata}
    return [f"{n} arrays share same unit '{names[i]}' - good!" for i, n in uses.most_common(3) if n >= 2 and names[i]]


def _same_exponents(dimensions: list[Any]) -> list[str]:
    try:
        most = Counter(dimensions).most_common(1)
    except Exception:  # __hash__ or __eq__ fails: they cannot be compared
        return []
    return [f"{n} dimension objects created with same exponents - consider caching" for _, n in most if n >= 2]


def _scales(parts: list[_kinds.Parts]) -> list[str]:
    odd = sorted({str(m.symbol) for p in parts for m in p.metadata if getattr(m, "scale", 1) != 1 and hasattr(m, "symbol")})
    if not odd:
        return []
    return [f"Using non-SI scale factors ({', '.join(odd[:5])}) adds conversion overhead", "Consider standardizing to SI base units"]


def _small(arrays: list[Any], parts: list[_kinds.Parts], metadata: int) -> list[str]:
    sizes = [sum(_kinds.array_size(d)[0] for d in p.data) for p in parts]
    small = sum(1 for n in sizes if n < SMALL_BYTES)
    found = []
    if small > len(arrays) / 2:
        found += [f"{small}/{len(arrays)} arrays are small (<1KB data)", "Consider consolidating small arrays to reduce metadata overhead"]
    few = [n for n, p in zip(sizes, parts) if p.data and sum(_elements(d) for d in p.data) < FEW_ELEMENTS]
    if few and len(few) == len(arrays) and metadata > sum(few):
        share = metadata / (metadata + sum(few)) * 100
        found += [f"Metadata is {share:.0f}% of memory for arrays <{FEW_ELEMENTS} elements", "Consider batching small arrays"]
    return found


def _elements(array: Any) -> int:
    try:
        shape = getattr(array, "shape", None)
    except Exception:  # a nested tensor has none
        shape = None
    n = 1
    for extent in shape if isinstance(shape, tuple) else ():
        n *= extent
    return n


def of_set(r: SharedMetadataReport, arrays: list[Any], parts: list[_kinds.Parts], dimensions: list[Any]) -> list[str]:
    if not arrays:
        return []
    equal = _same_exponents(dimensions)
    found = _reuse(r, bool(equal)) + _same_unit(parts) + equal
    if r.shared_savings_bytes:
        found.append(f"Equal metadata objects: {size(r.shared_savings_bytes)} would vanish if they were one")
    uncertainty = sum(_kinds.array_size(u)[0] for p in parts for u in p.uncertainty)
    if uncertainty:
        found += [f"Uncertainty arrays add {size(uncertainty)} memory overhead", "Consider uncertainty=None if not needed"]
    return found + _scales(parts) + _small(arrays, parts, r.total_metadata_bytes)


def of_gpu(s: GPUMemoryStats, capacity: int) -> list[str]:
    """`capacity`: bytes of the device's memory."""
    found = []
    if capacity and s.reserved_bytes / capacity >= GPU_FULL:
        found.append(f"GPU memory {s.reserved_bytes / capacity * 100:.0f}% full, consider cpu offloading")
    if s.peak_bytes - s.allocated_bytes > s.allocated_bytes * PEAK_BEYOND:
        found += [f"Peak memory exceeded allocation by {size(s.peak_bytes - s.allocated_bytes)}",
                  "torch.cuda.reset_peak_memory_stats() begins a new peak"]
    return found
