# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""MemoryProfiler: what a block allocates on the host (tracemalloc) and on devices."""
from __future__ import annotations

import sys
import tracemalloc
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ._advice import size
from ._report import RULE

TOP = 10
TOP_IN_REPORT = 5


class Allocation(NamedTuple):
    file: str
    line: int
    bytes: int
    blocks: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {size(self.bytes)}"


@dataclass
class ProfileStats:
    current_bytes: int
    peak_bytes: int
    top_allocations: list[Allocation] = field(default_factory=list)


def _devices() -> dict[str, int]:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return {}
    return {f"cuda:{i}": int(torch.cuda.memory_allocated(i)) for i in range(torch.cuda.device_count())}


class MemoryProfiler:
    """A context manager. Figures count from its beginning, stay readable after its end, and tracing that others began goes on as it was.

    Where others trace, their peak counter is not reset: a peak below theirs shows as the highest value read (at marks and at the end).
    """

    def __init__(self) -> None:
        self._mine = False
        self._active = False
        self._base = 0
        self._peak_before = 0
        self._highest = 0
        self._marked = 0
        self._before: tracemalloc.Snapshot | None = None
        self._devices_before: dict[str, int] = {}
        self._stats = ProfileStats(0, 0)
        self.device_bytes: dict[str, int] = {}  # change of allocated bytes, by device
        self.growth: list[tuple[str, int]] = []  # of each mark: its name, and the change since the one before

    def __enter__(self) -> MemoryProfiler:
        self._mine = not tracemalloc.is_tracing()
        if self._mine:
            tracemalloc.start()
        else:
            self._before = tracemalloc.take_snapshot()
        self._devices_before = _devices()
        self.growth, self._active = [], True
        self._base, self._peak_before = tracemalloc.get_traced_memory()
        self._highest, self._marked = self._base, self._base
        return self

    def __exit__(self, *exc: object) -> None:
        self._stats = self.get_stats()
        now = _devices()
        self.device_bytes = {d: n - self._devices_before.get(d, 0) for d, n in now.items()}
        self._active = False
        self._before = None
        if self._mine:
            tracemalloc.stop()

    def _read(self) -> tuple[int, int]:
        """Current and peak, as traced."""
        current, peak = tracemalloc.get_traced_memory()
        self._highest = max(self._highest, current)
        return current, peak if self._mine or peak > self._peak_before else self._highest

    def mark(self, name: str) -> int:
        """Notes how many bytes were added since the mark before (or the beginning), and returns that."""
        if not self._active:
            raise RuntimeError("mark: the profiler is not running")
        current, _ = self._read()
        grown = current - self._marked
        self.growth.append((name, grown))
        self._marked = tracemalloc.get_traced_memory()[0]
        return grown

    def get_stats(self) -> ProfileStats:
        if not self._active or not tracemalloc.is_tracing():
            return self._stats
        current, peak = self._read()
        return ProfileStats(max(current - self._base, 0), max(peak - self._base, 0), self._top())

    def _top(self) -> list[Allocation]:
        ours = (tracemalloc.Filter(False, tracemalloc.__file__), tracemalloc.Filter(False, __file__))
        snapshot = tracemalloc.take_snapshot().filter_traces(ours)
        rows: list[Any] = list(snapshot.statistics("lineno"))
        if self._before is not None:
            rows = snapshot.compare_to(self._before.filter_traces(ours), "lineno")
        found = [Allocation(r.traceback[0].filename, r.traceback[0].lineno, getattr(r, "size_diff", r.size), getattr(r, "count_diff", r.count)) for r in rows]
        return sorted((a for a in found if a.bytes > 0), key=lambda a: -a.bytes)[:TOP]

    def reset_peak(self) -> None:
        """The peak counts from here on."""
        if not self._active:
            return
        if self._mine:
            tracemalloc.reset_peak()
        current, self._peak_before = tracemalloc.get_traced_memory()
        self._highest = current

    def report(self) -> str:
        s = self.get_stats()
        lines = ["Memory Profiling Results", RULE, f"Current memory: {size(s.current_bytes)}", f"Peak memory:    {size(s.peak_bytes)}"]
        lines += [f"Device {d}: {n:+,} bytes" for d, n in self.device_bytes.items()]
        lines += [f"Growth {name}: {n:+,} bytes" for name, n in self.growth]
        if s.top_allocations:
            lines += ["", "Top allocations:", *(f"  {i}. {a}" for i, a in enumerate(s.top_allocations[:TOP_IN_REPORT], 1))]
        return "\n".join(lines)
