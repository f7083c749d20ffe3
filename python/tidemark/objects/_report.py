# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Reports to read, in the wording of dimtensor's."""
from __future__ import annotations

from typing import Any

from . import _advice, _kinds, _stats, _walk
from ._advice import size

RULE = "=" * 40


def memory_report(obj: Any, detailed: bool = True) -> str:
    """A report of one object, or of a list or tuple of them."""
    return "\n".join(_of_list(list(obj), detailed) if isinstance(obj, (list, tuple)) else _of_one(obj, detailed))


def _percent(part: int, data: int) -> str:
    return f"{part / data * 100:.1f}%" if data else "100.0% of the total" if part else "0.0%"


def _of_one(obj: Any, detailed: bool) -> list[str]:
    s = _stats.memory_stats(obj)
    lines = [f"Memory Report for {type(obj).__name__}", RULE, f"Data:        {size(s.data_bytes)}", f"Metadata:    {size(s.metadata_bytes)}"]
    if s.uncertainty_bytes:
        lines.append(f"Uncertainty: {size(s.uncertainty_bytes)}")
    shared = "unknown" if s.shared_metadata is None else "Yes" if s.shared_metadata else "No"
    lines += [f"Total:       {size(s.total_bytes)}", f"Overhead:    {_percent(s.metadata_bytes + s.uncertainty_bytes, s.data_bytes)}"]
    if s.uncertainty_bytes:
        lines.append(f"  without uncertainty: {_percent(s.metadata_bytes, s.data_bytes)}")
    lines += [f"Device:      {s.device}", f"Shared:      {shared}"]
    if detailed:
        lines += _breakdown(obj, s)
    advice = _advice.of_one(s)
    return [*lines, "", "Recommendations:", *advice] if advice else lines


def _breakdown(obj: Any, s: _stats.MemoryStats) -> list[str]:
    """Parts that add up to the metadata: the dimension without what the unit has besides."""
    p = _kinds.parts(obj)
    everything = _walk.total(p.metadata)
    dimensions = _walk.total(d for m in p.metadata if (d := getattr(m, "dimension", None)) is not None)
    return ["", "Breakdown:", f"  Object overhead:  {size(s.metadata_bytes - everything if not p.kind.plain else 0)}",
            f"  Unit object:      {size(everything - dimensions)}", f"  Dimension object: {size(dimensions)}"]


def _of_list(arrays: list[Any], detailed: bool) -> list[str]:
    stats = [_stats.memory_stats(a) for a in arrays]
    lines: list[str] = []
    for i, s in enumerate(stats if detailed else []):
        lines += [f"Array {i}:", f"  Data: {size(s.data_bytes)}", f"  Metadata: {size(s.metadata_bytes)}"]
        if s.uncertainty_bytes:
            lines.append(f"  Uncertainty: {size(s.uncertainty_bytes)}")
        lines.append("")
    return lines + _summary(arrays, stats)


def _summary(arrays: list[Any], stats: list[_stats.MemoryStats]) -> list[str]:
    parts = [_kinds.parts(a) for a in arrays]
    shared = _stats.analyze_shared_metadata(arrays)
    data, uncertainty = _buffers(d for p in parts for d in p.data), _buffers(u for p in parts for u in p.uncertainty)
    metadata = shared.total_metadata_bytes
    apart = sum(s.total_bytes for s in stats)
    lines = [f"Summary for {len(arrays)} arrays:", RULE, f"Total data:        {size(data)}", f"Total metadata:    {size(metadata)}"]
    if uncertainty:
        lines.append(f"Total uncertainty: {size(uncertainty)}")
    lines += [f"Total memory:      {size(data + metadata + uncertainty)}", f"  if duplicated:   {size(apart)}",
              f"Overhead:          {_percent(metadata + uncertainty, data)}"]
    problems = _walk.walk(arrays)["problems"]
    lines += ["", "Problems:", *(f"  - {p}" for p in problems)] if problems else []
    return [*lines, "", "Recommendations:", *(f"  - {r}" for r in shared.recommendations)] if shared.recommendations else lines


def _has(o: Any, name: str) -> bool:
    """As hasattr, where the attribute may raise anything: nbytes of a sparse tensor does."""
    try:
        getattr(o, name)
    except AttributeError:
        return False
    except Exception:
        return True
    return True


def _buffers(arrays: Any) -> int:
    """Bytes of the buffers behind the arrays, each once."""
    every = list(arrays)
    w = _walk.walk(every)
    found = sum(b for _, _, b in w["buffers"])
    loose = [a for a in every if not any(_has(a, name) for name in ("nbytes", "estimated_size", "untyped_storage"))]
    return int(found) + sum(_kinds.array_size(a)[0] for a in _stats.unique(loose))
