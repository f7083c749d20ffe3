# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Measures the memory of arrays with metadata, and the objects that they share.

    >>> from tidemark import objects
    >>> print(objects.memory_report([x, y]))

Works on NumPy arrays, torch tensors, dimtensor, pint and astropy quantities, pandas and polars frames, dataclasses and every class that
is registered. None of these packages is needed. docs/guide/objects.md defines the figures.
"""
from __future__ import annotations

import sys

_before = set(sys.modules)

from . import _snapshot
from ._advice import of_gpu as gpu_recommendations
from ._kinds import register
from ._profiler import Allocation, Growth, MemoryProfiler, ProfileStats, track_growth
from ._report import memory_report
from ._sizes import SizeRow, SizeTable, overhead_by_size
from ._snapshot import mark, save, snapshot
from ._stats import (ComparisonStats, GPUMemoryStats, MemoryStats, SharedMetadataReport, analyze_shared_metadata, compare_to_baseline,
                     get_overhead_ratio, gpu_memory_stats, memory_stats, metadata_overhead, without_uncertainty)
from ._walk import Footprint, Owner, SharedNode, footprint

_snapshot.imported |= set(sys.modules) - _before  # imported for Tidemark, not by the program
del _before

calculate_metadata_size = metadata_overhead
memory_overhead = compare_to_baseline


class MemoryStatsMixin:
    """Gives a class .memory_stats(); the class is registered or a dataclass."""
    __slots__ = ()

    def memory_stats(self) -> MemoryStats:
        return memory_stats(self)


def add_memory_stats(*classes: type) -> None:
    """Gives classes of other packages .memory_stats(): add_memory_stats(DimArray, DimTensor). The classes are known or registered; an own
    method of that name stays. Raises TypeError for a class that cannot be changed."""
    for cls in classes:
        if not hasattr(cls, "memory_stats"):
            cls.memory_stats = MemoryStatsMixin.memory_stats  # type: ignore[attr-defined]


__all__ = ["Allocation", "ComparisonStats", "Footprint", "GPUMemoryStats", "Growth", "MemoryProfiler", "MemoryStats", "MemoryStatsMixin", "Owner", "ProfileStats",
           "SharedMetadataReport", "SharedNode", "SizeRow", "SizeTable", "add_memory_stats", "analyze_shared_metadata", "calculate_metadata_size", "compare_to_baseline", "footprint", "get_overhead_ratio",
           "gpu_memory_stats", "gpu_recommendations", "mark", "memory_overhead", "memory_report", "memory_stats", "metadata_overhead", "overhead_by_size", "register", "save", "snapshot",
           "track_growth", "without_uncertainty"]
