# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""MemoryProfiler: measures allocations of a block on the host (tracemalloc) and on devices."""
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
    current_bytes: int | None  # None: unknown, other code stopped tracing inside the block
    peak_bytes: int | None
    top_allocations: list[Allocation] = field(default_factory=list)


def _devices() -> dict[str, int]:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return {}
    return {f"cuda:{i}": int(torch.cuda.memory_allocated(i)) for i in range(torch.cuda.device_count())}


class _Traced:
    """Exact figures of tracemalloc, with source lines. Tracing that others began continues, and its peak is not reset."""

    def __init__(self) -> None:
        self.mine = not tracemalloc.is_tracing()
        if self.mine:
            tracemalloc.start()
        self.before = None if self.mine else tracemalloc.take_snapshot()
        self.witness = bytes(100)  # traced from here on, unless other code stops tracing
        self.own = 0  # bytes that marks keep
        self.highest = self.base = self.peak_before = 0
        self.base, self.peak_before = tracemalloc.get_traced_memory()
        self.base, self.peak_before = tracemalloc.get_traced_memory()  # includes the numbers of the previous line
        if self.mine:
            tracemalloc.reset_peak()

    def alive(self) -> bool:
        """Returns whether tracing has not been stopped, restarted or cleared since."""
        return tracemalloc.is_tracing() and tracemalloc.get_object_traceback(self.witness) is not None

    def read(self) -> tuple[int, int]:
        """Returns current and peak bytes since the beginning, without our own."""
        current, peak = tracemalloc.get_traced_memory()
        none = self.base + self.own
        self.highest = max(self.highest, (peak if self.mine or peak > self.peak_before else current) - none)
        return current - none, self.highest

    def leave_out(self, before: int) -> None:
        """Excludes our own allocations since `before` bytes were traced, and their peak. The caller frees the number itself."""
        self.own += tracemalloc.get_traced_memory()[0] - before - sys.getsizeof(before)
        self.new_peak()

    def new_peak(self) -> None:
        if self.mine:
            tracemalloc.reset_peak()
        self.peak_before = tracemalloc.get_traced_memory()[1]

    def reset_peak(self) -> None:
        self.new_peak()
        self.highest = self.read()[0]

    def top(self) -> list[Allocation]:
        ours = (tracemalloc.Filter(False, tracemalloc.__file__), tracemalloc.Filter(False, __file__))
        snapshot = tracemalloc.take_snapshot().filter_traces(ours)
        rows: list[Any] = list(snapshot.statistics("lineno"))
        if self.before is not None:
            rows = snapshot.compare_to(self.before.filter_traces(ours), "lineno")
        found = [Allocation(r.traceback[0].filename, r.traceback[0].lineno, getattr(r, "size_diff", r.size), getattr(r, "count_diff", r.count)) for r in rows]
        del snapshot, rows
        self.new_peak()
        return sorted((a for a in found if a.bytes > 0), key=lambda a: -a.bytes)[:TOP]

    def stop(self) -> None:
        if self.mine and self.alive():
            tracemalloc.stop()


class _Sampled:
    """Resident bytes of the process, read at an interval by a thread. Nothing is traced: no source lines."""

    def __init__(self, interval: float) -> None:
        self.samples = 1
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(interval,), name="tidemark-objects", daemon=True)
        self.base = self.highest = 0
        self._thread.start()
        self.base = self.highest = self._resident()  # with the thread, which is ours

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
    """A context manager. Figures count from its beginning and stay readable after its end; tracing that others began continues. They are those of
    the whole process, with all its threads, because Python traces allocations without their thread.

    `sampled`: instead of tracing every allocation, reads the resident bytes of the process every `interval` seconds: below 1 % of the
    program's time, without source lines. If other code also traces, a peak below its peak is shown as the highest value read (at
    marks and at the end). If other code stops tracing inside the block, later figures are None (unknown).
    """

    def __init__(self, *, sampled: bool = False, interval: float = 0.05) -> None:
        if not 0 < interval < float("inf"):
            raise ValueError(f"interval must be above 0, not {interval}")
        self.sampled, self.interval = sampled, interval
        self._source: _Traced | _Sampled | None = None
        self._marked = 0
        self._devices_before: dict[str, int] = {}
        self._devices_marked: dict[str, int] = {}
        self._stats = ProfileStats(0, 0)
        self._host: int | None = 0
        self._threads = 1  # at the begin or the end, the larger number
        self.device_bytes: dict[str, int] = {}  # change of allocated bytes, by device
        self.growth: list[tuple[str, int | None]] = []  # name of each mark, and the change since the previous one
        self.device_growth: list[tuple[str, dict[str, int]]] = []  # the same for devices

    def __enter__(self) -> MemoryProfiler:
        if self._source is not None:
            raise RuntimeError("the profiler is running already")
        self._devices_before = self._devices_marked = _devices()
        self.growth, self.device_growth, self.device_bytes, self._marked = [], [], {}, 0
        self._stats, self._host = ProfileStats(0, 0), 0
        self._threads = threading.active_count()
        self._source = _Sampled(self.interval) if self.sampled else _Traced()
        return self

    def __exit__(self, *exc: object) -> None:
        source = self._source
        if source is None:
            return
        self._stats = self.get_stats(at_end=True)
        self._threads = max(self._threads, threading.active_count() - self.sampled)  # without our own
        self.device_bytes = self._device_change(self._devices_before)
        self._source = None
        source.stop()

    @staticmethod
    def _device_change(before: dict[str, int]) -> dict[str, int]:
        return {d: n - before.get(d, 0) for d, n in _devices().items()}

    def mark(self, name: str) -> int | None:
        """Records the bytes added since the previous mark (or the beginning), and returns them."""
        source = self._source
        if source is None:
            raise RuntimeError("mark: the profiler is not running")
        before = tracemalloc.get_traced_memory()[0]
        grown = self._note(name, source)
        if isinstance(source, _Traced) and grown is not None:
            source.leave_out(before)
        return grown

    def _note(self, name: str, source: _Traced | _Sampled) -> int | None:
        grown = None
        if source.alive():
            current, _ = source.read()
            grown, self._marked = current - self._marked, current
        self.growth.append((name, grown))
        self.device_growth.append((name, self._device_change(self._devices_marked)))
        self._devices_marked = _devices()
        return grown

    def get_stats(self, *, at_end: bool = False) -> ProfileStats:
        source = self._source
        if source is None:
            return self._stats
        if not source.alive():
            self._host = None
            return ProfileStats(None, None)
        current, peak = source.read()
        if at_end:
            self._host = current
        return ProfileStats(max(current, 0), max(peak, 0), source.top())

    def delta(self) -> dict[str, int | None]:
        """Returns the bytes now (or at the end) minus those at the beginning, for "host" and each device."""
        source = self._source
        if source is None:
            return {"host": self._host, **self.device_bytes}
        return {"host": source.read()[0] if source.alive() else None, **self._device_change(self._devices_before)}

    def reset_peak(self) -> None:
        """Starts a new peak."""
        if self._source is not None and self._source.alive():
            self._source.reset_peak()

    def report(self) -> str:
        s = self.get_stats()
        how = " (resident, sampled)" if self.sampled else ""
        lines = ["Memory Profiling Results", RULE, f"Current memory: {_text(s.current_bytes)}{how}", f"Peak memory:    {_text(s.peak_bytes)}{how}"]
        if self._threads > 1:
            lines.append(f"All {self._threads} threads of the process are counted")
        if s.current_bytes is None:
            lines.append("Other code stopped tracing inside the block: what came after is unknown")
        lines += [f"Device {d}: {n:+,} bytes" for d, n in self.delta().items() if d != "host" and n is not None]
        devices = {i: "".join(f", {d} {n:+,} bytes" for d, n in change.items()) for i, (_, change) in enumerate(self.device_growth)}
        lines += [f"Growth {name}: {f'{n:+,} bytes' if n is not None else 'unknown'}{devices[i]}" for i, (name, n) in enumerate(self.growth)]
        if s.top_allocations:
            lines += ["", "Top allocations:", *(f"  {i}. {a}" for i, a in enumerate(s.top_allocations[:TOP_IN_REPORT], 1))]
        elif self.sampled:
            lines += ["", "Top allocations: unknown, nothing was traced"]
        return "\n".join(lines)


def _text(n: int | None) -> str:
    return "unknown" if n is None else size(n)


@dataclass
class Growth:
    """Live traced bytes after each call, minus those before the first."""
    after: list[int]

    @property
    def per_call(self) -> float:
        """Returns the growth per call from the second call on, because the first one fills caches."""
        return (self.after[-1] - self.after[0]) / (len(self.after) - 1) if len(self.after) > 1 else 0.0


def track_growth(operations: Iterable[Callable[[], Any]] | Callable[[], Any], repeat: int = 10) -> Growth:
    """Runs the operations in order (a single one `repeat` times) and returns the live bytes after each."""
    calls = [operations] * repeat if callable(operations) else list(operations)
    after, own = [0] * len(calls), 0  # own: bytes of the numbers in `after`
    with MemoryProfiler() as profiler:
        for i, call in enumerate(calls):
            call()
            gc.collect()  # empties the free lists of types, too
            host = profiler.delta()["host"]
            if host is None:
                raise RuntimeError("track_growth: an operation stopped tracemalloc: its bytes are unknown")
            after[i] = host - own
            own += sys.getsizeof(after[i])
    return Growth(after)
