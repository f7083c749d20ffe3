# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Text reports, in the wording of dimtensor's."""
from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any

from . import _advice, _duplicates, _guard, _kinds, _stats, _walk
from ._advice import size
from ._many import Many, unique

RULE = "=" * 40


def memory_report(obj: Any, detailed: bool = True, among: Iterable[Any] | str | None = None) -> str:
    """Returns a report of one object, or of a list or tuple of them. `among`: as in memory_stats."""
    with _guard.signals_told_apart():
        return "\n".join(_of_list(list(obj), detailed) if issubclass(type(obj), (list, tuple)) else _of_one(obj, detailed, among))


def _percent(part: int, data: int, unknown: bool = False) -> str:
    return "unknown" if unknown else f"{part / data * 100:.1f}%" if data else "100.0% of the total" if part else "0.0%"


def _problems(found: list[str]) -> list[str]:
    return ["", "Problems:", *(f"  - {p}" for p in found)] if found else []


def _of_one(obj: Any, detailed: bool, among: Iterable[Any] | str | None) -> list[str]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        s = _stats.memory_stats(obj, among)
    unknown = math.isnan(s.overhead_ratio)
    least = "at least " if unknown else ""
    lines = [f"Memory Report for {_kinds.name_of(type(obj))}", RULE, f"Data:        {'unknown' if unknown else size(s.data_bytes)}", f"Metadata:    {size(s.metadata_bytes)}"]
    if s.uncertainty_bytes:
        lines.append(f"Uncertainty: {size(s.uncertainty_bytes)}")
    shared = "unknown" if s.shared_metadata is None else "Yes" if s.shared_metadata else "No"
    lines += [f"Total:       {least}{size(s.total_bytes)}", f"Overhead:    {_percent(s.metadata_bytes + s.uncertainty_bytes, s.data_bytes, unknown)}"]
    if s.uncertainty_bytes:
        lines.append(f"  without uncertainty: {_percent(s.metadata_bytes, s.data_bytes, unknown)}")
    lines += [f"Device:      {s.device}", f"Shared:      {shared}"]
    if detailed:
        lines += _breakdown(obj, s)
    advice = _advice.of_one(s)
    lines += _problems(list(dict.fromkeys(str(w.message) for w in told)))
    return [*lines, "", "Recommendations:", *advice] if advice else lines


def _breakdown(obj: Any, s: _stats.MemoryStats) -> list[str]:
    """Returns the parts of the metadata, which add up to it: the dimension, and the unit without it."""
    p = _kinds.parts(obj, _duplicates.ignore)
    own = 0 if p.kind.plain or any(d is obj for d in p.data) else min(_kinds.shallow(obj, _duplicates.ignore), s.metadata_bytes)
    dimensions, _, _ = _walk.total([d for m in p.metadata if (d := _kinds.get(m, "dimension")) is not None], [obj, *p.data, *p.uncertainty])
    dimensions = min(dimensions, s.metadata_bytes - own)
    lines = ["", "Breakdown:", f"  Object overhead:  {size(own)}"]
    if p.metadata and not any(_kinds.is_unit(p.kind.metadata, m) for m in p.metadata):
        return [*lines, f"  Metadata objects: {size(s.metadata_bytes - own)}"]
    return [*lines, f"  Unit object:      {size(s.metadata_bytes - own - dimensions)}", f"  Dimension object: {size(dimensions)}"]


class _Sizes(dict[int, str]):
    """Caches texts of sizes, because many arrays have the same."""

    def __missing__(self, n: int) -> str:
        self[n] = text = size(n)
        return text


def _each(many: Many, metadata: list[int]) -> list[str]:
    lines: list[str] = []
    text, unknown = _Sizes(), many.unknown
    for i, (a, data, more, sigma) in enumerate(zip(many.arrays, many.data_bytes, metadata, many.uncertainty_bytes)):
        lines += (f"Array {i}:", f"  Data: {text[data] if not unknown or id(a) not in unknown else 'unknown'}", f"  Metadata: {text[more]}")
        if sigma:
            lines.append(f"  Uncertainty: {text[sigma]}")
        lines.append("")
    return lines


def _of_list(arrays: list[Any], detailed: bool) -> list[str]:
    many = Many(arrays)
    metadata = many.metadata_bytes()
    return (_each(many, metadata) if detailed else []) + _summary(many, sum(many.data_bytes) + sum(metadata) + sum(many.uncertainty_bytes))


def _summary(many: Many, apart: int) -> list[str]:
    shared = _stats.analyze(many)
    data, uncertainty = _buffers(many.data, many.problems), _buffers(many.uncertainty, many.problems)
    metadata, unknown = shared.total_metadata_bytes, sum(id(a) in many.unknown for a in many.arrays)
    least = "at least " if unknown else ""
    some = f", and unknown bytes of {unknown} arrays" if unknown else ""
    lines = [f"Summary for {len(many.arrays)} arrays:", RULE, f"Total data:        {size(data)}{some}", f"Total metadata:    {size(metadata)}"]
    if uncertainty:
        lines.append(f"Total uncertainty: {size(uncertainty)}")
    lines += [f"Total memory:      {least}{size(data + metadata + uncertainty)}", f"  if duplicated:   {least}{size(apart)}",
              f"Overhead:          {_percent(metadata + uncertainty, data, bool(unknown))}"]
    if uncertainty:
        lines.append(f"  without uncertainty: {_percent(metadata, data, bool(unknown))}")
    lines += _problems(many.problems)
    return [*lines, "", "Recommendations:", *(f"  - {r}" for r in shared.recommendations)] if shared.recommendations else lines


def _has_memory(cls: type) -> bool:
    """Returns whether the walk finds the memory of such an array; for others their own figure is used."""
    return _walk.memory_only(cls) is not None or _kinds.module_of(cls).partition(".")[0] == "pandas"


def _buffers(arrays: list[Any], problems: list[str]) -> int:
    """Returns the bytes of the arrays' buffers, each once."""
    types = {id(type(a)): type(a) for a in arrays}
    strange = {i for i, t in types.items() if not _has_memory(t)}
    found = [a for a in arrays if id(type(a)) not in strange] if strange else arrays
    w = _walk.engine.walk([found], _walk.memory_only, True)
    problems.extend(p for p in w["problems"] if p not in problems)
    n: int = sum(b for _, _, b in w["buffers"])
    return n + sum(_kinds.array_size(a, problems.append)[0] for a in unique(arrays) if id(type(a)) in strange)
