# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""MemoryProfiler: what a block allocates on the host (tracemalloc) and on devices."""
from __future__ import annotations

import gc
import resource
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterable
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


class _Traced:
    """Figures of tracemalloc, exact, with source lines. Tracing that others began goes on as it was; their peak counter is not reset."""

    def __init__(self) -> None:
        self.mine = not tracemalloc.is_tracing()
        self.before: tracemalloc.Snapshot | None = None
        if self.mine:
            tracemalloc.start()
        else:
            self.before = tracemalloc.take_snapshot()
        self.base, self.peak_before = tracemalloc.get_traced_memory()
        self.highest = self.base

    def read(self) -> tuple[int, int]:
        """Current and peak bytes since the beginning."""
        current, peak = tracemalloc.get_traced_memory()
        self.highest = max(self.highest, current)
        return current - self.base, (peak if self.mine or peak > self.peak_before else self.highest) - self.base

    def reset_peak(self) -> None:
        if self.mine:
            tracemalloc.reset_peak()
        self.highest, self.peak_before = tracemalloc.get_traced_memory()

    def top(self) -> list[Allocation]:
        ours = (tracemalloc.Filter(False, tracemalloc.__file__), tracemalloc.Filter(False, __file__))
        snapshot = tracemalloc.take_snapshot().filter_traces(ours)
        rows: list[Any] = list(snapshot.statistics("lineno"))
        if self.before is not None:
            rows = snapshot.compare_to(self.before.filter_traces(ours), "lineno")
        found = [Allocation(r.traceback[0].filename, r.traceback[0].lineno, getattr(r, "size_diff", r.size), getattr(r, "count_diff", r.count)) for r in rows]
        return sorted((a for a in found if a.bytes > 0), key=lambda a: -a.bytes)[:TOP]

    def alive(self) -> bool:
        return tracemalloc.is_tracing()

    def stop(self) -> None:
        if self.mine:
            tracemalloc.stop()


class _Sampled:
    """Resident bytes of the process, read at an interval by a thread. Nothing is traced: no source lines."""

    def __init__(self, interval: float) -> None:
        self.base = self.highest = self._resident()
        self.samples = 1
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(interval,), name="tidemark-objects", daemon=True)
        self._thread.start()

    @staticmethod
    def _resident() -> int:
        with open("/proc/self/statm", "rb") as f:
            return int(f.read().split()[1]) * resource.getpagesize()

    def _run(self, interval: float) -> None:
        while not self._end.wait(interval):
            self.read()

    def read(self) -> tuple[int, int]:
        now = self._resident()
        self.samples += 1
        self.highest = max(self.highest, now)
        return now - self.base, self.highest - self.base

    def reset_peak(self) -> None:
        self.highest = self._resident()

    def top(self) -> list[Allocation]:
        return []

    def alive(self) -> bool:
        return True

    def stop(self) -> None:
        self._end.set()
        self._thread.join()


class MemoryProfiler:
    """A context manager. Figures count from its beginning and stay readable after its end; tracing that others began goes on as it was.

    `sampled`: instead of tracing every allocation, reads the resident bytes of the process every `interval` seconds: below 1 % of the
    program's time, without source lines. Where others trace, a peak below theirs shows as the highest value read (at marks and at the end).
    """

    def __init__(self, *, sampled: bool = False, interval: float = 0.05) -> None:
        if not interval > 0:
            raise ValueError(f"interval must be above 0, not {interval}")
        self.sampled, self.interval = sampled, interval
        self._source: _Traced | _Sampled | None = None
        self._marked = 0
        self._devices_before: dict[str, int] = {}
        self._devices_marked: dict[str, int] = {}
        self._stats = ProfileStats(0, 0)
        self.device_bytes: dict[str, int] = {}  # change of allocated bytes, by device
        self.growth: list[tuple[str, int]] = []  # of each mark: its name, and the change since the one before
        self.device_growth: list[tuple[str, dict[str, int]]] = []  # the same for devices

    def __enter__(self) -> MemoryProfiler:
        if self._source is not None:
            raise RuntimeError("the profiler is running already")
        self._devices_before = self._devices_marked = _devices()
        self.growth, self.device_growth, self.device_bytes, self._marked = [], [], {}, 0
        self._stats = ProfileStats(0, 0)
        self._source = _Sampled(self.interval) if self.sampled else _Traced()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stats = self.get_stats()
        self.device_bytes = self._device_change(self._devices_before)
        source, self._source = self._source, None
        if source is not None:
            source.stop()

    @staticmethod
    def _device_change(before: dict[str, int]) -> dict[str, int]:
        return {d: n - before.get(d, 0) for d, n in _devices().items()}

    def mark(self, name: str) -> int:
        """Notes how many bytes were added since the mark before (or the beginning), and returns that."""
        if self._source is None:
            raise RuntimeError("mark: the profiler is not running")
        current, _ = self._source.read()
        grown, self._marked = current - self._marked, current
        self.growth.append((name, grown))
        self.device_growth.append((name, self._device_change(self._devices_marked)))
        self._devices_marked = _devices()
        return grown

    def get_stats(self) -> ProfileStats:
        if self._source is None or not self._source.alive():
            return self._stats
        current, peak = self._source.read()
        return ProfileStats(max(current, 0), max(peak, 0), self._source.top())

    def delta(self) -> dict[str, int]:
        """Bytes now (or at the end) minus bytes at the beginning: "host", and each device."""
        running = self._source is not None and self._source.alive()
        host = self._source.read()[0] if running and self._source else self._stats.current_bytes
        return {"host": host, **(self._device_change(self._devices_before) if running else self.device_bytes)}

    def reset_peak(self) -> None:
        """The peak counts from here on."""
        if self._source is not None:
            self._source.reset_peak()

    def report(self) -> str:
        s = self.get_stats()
        how = " (resident, sampled)" if self.sampled else ""
        lines = ["Memory Profiling Results", RULE, f"Current memory: {size(s.current_bytes)}{how}", f"Peak memory:    {size(s.peak_bytes)}{how}"]
        lines += [f"Device {d}: {n:+,} bytes" for d, n in self.delta().items() if d != "host"]
        devices = {i: "".join(f", {d} {n:+,} bytes" for d, n in change.items()) for i, (_, change) in enumerate(self.device_growth)}
        lines += [f"Growth {name}: {n:+,} bytes{devices[i]}" for i, (name, n) in enumerate(self.growth)]
        if s.top_allocations:
            lines += ["", "Top allocations:", *(f"  {i}. {a}" for i, a in enumerate(s.top_allocations[:TOP_IN_REPORT], 1))]
        elif self.sampled:
            lines += ["", "Top allocations: unknown, nothing was traced"]
        return "\n".join(lines)


@dataclass
class Growth:
    """Traced bytes that were alive after each call, above those before the first."""
    after: list[int]

    @property
    def per_call(self) -> float:
        """From the second call on: the first one fills caches."""
        return (self.after[-1] - self.after[0]) / (len(self.after) - 1) if len(self.after) > 1 else 0.0


def track_growth(operations: Iterable[Callable[[], Any]] | Callable[[], Any], repeat: int = 10) -> Growth:
    """Runs the operations in turn (one alone: `repeat` times) and tells how many bytes each leaves behind."""
    calls = [operations] * repeat if callable(operations) else list(operations)
    after = []
    with MemoryProfiler() as profiler:
        for call in calls:
            call()
            gc.collect()
            after.append(profiler.delta()["host"])
    return Growth(after)
