# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Memory over time, exact at every moment: samples are taken from the recording of every allocation.

The profiler records every allocation of PyTorch (as tidemark.record does), or joins the recording in progress. A sample is a moment
in that recording, so it does not query the allocator, and the peak between two samples is known.
"""
from __future__ import annotations

import array
import bisect
import contextlib
import dataclasses
import itertools
import json
import os
import pickle
import tempfile
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from .. import _native
from .._native import Error
from .._profile import PART, device_names
from .._signals import at_term
from .._trace import Trace
from .._unknown import UNKNOWN, data_of, figure
from ._recording import rescue, starting
from ._source import MB, finished, kept_as, remove, synchronize

_PARTS = ("activations_mb", "weights_mb", "gradients_mb", "optimizer_mb", "other_mb")
_ROLES = {1: "weights_mb", 2: "gradients_mb", 3: "optimizer_mb", 4: "activations_mb"}  # by TIDE_ROLE_*
_BUCKETS = (("< 1KB", 1024), ("1KB - 1MB", MB), ("1MB - 100MB", 100 * MB), ("> 100MB", 1 << 63))
_BEGIN, _END, _SAMPLE = (PART + what for what in ("begin ", "end ", "sample "))  # names of marks; their value is the number of the run of a profiler


@dataclasses.dataclass
class MemorySnapshot:
    timestamp_ms: float
    allocated_mb: float
    reserved_mb: float  # UNKNOWN on the host
    peak_allocated_mb: float  # highest since the previous sample, exact
    breakdown: dict[str, float] | None = None  # at this moment, by role; None: not requested


class _Analysis(dict[str, Any]):
    """A dict whose missing figures are UNKNOWN: that of a profiler that tracked nothing is empty."""

    def __missing__(self, key: str) -> Any:
        return UNKNOWN

    def get(self, key: str, default: Any = UNKNOWN) -> Any:
        return super().get(key, default)


class _Recording:
    """A recording that MemoryProfilers share while it runs: one of theirs, or one that was in progress."""

    def __init__(self, ops: bool, stacks: bool) -> None:
        """Begins a recording, or joins the one in progress; attaches torch if it is not."""
        from .. import _record
        from .. import torch as capture

        self.users = 0
        self.own = not _record.running()
        self._trace: Trace | None = None
        self._fd = -1
        self.attached = not capture.attached()  # before attach(), so that detach() also undoes a failed one
        if self.own:
            folder = tempfile.mkdtemp(prefix="tidemark-memory-")
            weakref.finalize(self, remove, folder, os.getpid())
            self.path = os.path.join(folder, "memory.tide")
        try:
            if self.attached:
                capture.attach(ops=ops, modules=ops, stacks=stacks)
            if self.own:
                _record.start(self.path, follow_fork=False)
        except BaseException:
            if self.attached:
                capture.detach()
            raise
        if not self.own:
            self.path = _record.path_now() or ""
            self._fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)  # its owner may remove it before it is read
            weakref.finalize(self, os.close, self._fd)

    def leave(self) -> None:
        from .. import _record
        from .. import torch as capture

        if self.own and self.runs():
            _record.stop()
        if self.attached:
            capture.detach()

    def runs(self) -> bool:
        return _native.recording() and _native.path() == self.path

    def read(self) -> Trace | None:
        if self._trace is None:
            if self.runs():
                return Trace(self.path)
            path = self.path if self._fd < 0 else f"/proc/self/fd/{self._fd}"
            self._trace = Trace(path) if os.path.exists(path) else None
        return self._trace


_running: _Recording | None = None  # the one that MemoryProfilers use at the moment
_numbers = itertools.count(1)


class _Curve:
    """Live bytes of a device after each memory event of a recording."""

    def __init__(self, trace: Trace, device: str) -> None:
        self.trace = trace
        self.native = t = trace.native
        names = device_names(t)
        self.row = names.index(device) if device in names else -1
        of_pool, self.pool, self.size = t.view("pools", "device"), t.view("allocs", "pool"), t.view("allocs", "size")
        self._mine = [d == self.row for d in of_pool]
        self.rows, self.kinds = t.view("memory_events", "row"), t.view("memory_events", "kind")
        born, died, self._flags = t.view("allocs", "born"), t.view("allocs", "died"), t.view("allocs", "flags")
        self._asked, asked = t.view("pendings", "alloc"), t.view("pendings", "t")
        now = live = 0
        self.times, self.live = array.array("q"), array.array("q", [0])
        for kind, row in zip(self.kinds, self.rows):
            if kind < 3:
                now = max(now, (born, died, asked)[kind][row])
                alloc, change = self._change(kind, row)
                live += change if self._mine[self.pool[alloc]] else 0
            self.times.append(now)
            self.live.append(live)
        from .._reports import reserved

        sources, samples = reserved(t.model())
        held = [(at, n) for at, d, n in samples if d == self.row]
        self.held_at, self.held = [at for at, _ in held], [n for _, n in held]

    def _change(self, kind: int, row: int) -> tuple[int, int]:
        """Returns the allocation of an event and the change of live bytes. A free that waits for a stream counts at its request: the
        program no longer counts the block."""
        if kind == 2:
            return self._asked[row], -self.size[self._asked[row]]
        return row, self.size[row] if not kind else 0 if self._flags[row] & 16 else -self.size[row]

    def alive(self, position: int) -> list[int]:
        """Returns the live allocations after so many events."""
        found: dict[int, None] = {}
        for kind, row in zip(self.kinds[:position], self.rows[:position]):
            if kind < 3:
                alloc, _ = self._change(kind, row)
                if kind:
                    found.pop(alloc, None)
                else:
                    found[alloc] = None
        return [a for a in found if self._mine[self.pool[a]]]

    def reserved(self, t: int) -> int | None:
        i = bisect.bisect_right(self.held_at, t)
        return self.held[i - 1] if i else None


@dataclasses.dataclass
class _Run:
    """The time from the begin of a profiler's first open part to the end of the last: a window of a recording."""

    recording: _Recording
    number: int

    def marks(self, trace: Trace) -> list[tuple[str, int, int]]:
        """Returns (name, ns, memory events before it) of the marks of this run, in order."""
        t = trace.native
        of_run = [i for i, n in enumerate(t.view("marks", "value")) if n == self.number]
        names, when, at = t.column("marks", "name"), t.view("marks", "t"), t.view("marks", "position")
        return [(names[i], when[i], at[i]) for i in of_run if names[i].startswith((_BEGIN, _END, _SAMPLE))]


@dataclasses.dataclass
class _Window:
    """A run on the curve of a device; offset: ns from the zero of the profiler's clock to that of the recording."""

    curve: _Curve
    marks: list[tuple[str, int, int]]
    offset: int
    closed: bool  # its last part has ended

    @property
    def first(self) -> int:
        return self.marks[0][2]

    @property
    def last(self) -> int:
        return self.marks[-1][2] if self.closed else len(self.curve.times)

    @property
    def end(self) -> int:
        return self.marks[-1][1] if self.closed else self.curve.native.end

    def top(self) -> tuple[int, int]:
        """Returns the highest live bytes and the number of events before that moment."""
        live = self.curve.live[self.first:self.last + 1]
        high = max(live)
        return high, self.first + live.index(high)

    def moments(self, every: int) -> list[tuple[int, int]]:
        """Returns (ns, events before) of each sample: at the begin, every so many ns, where the program asked, at the end."""
        begin = self.marks[0][1]
        found = [(t, at) for _, t, at in self.marks]
        for t in range(begin + every, self.end, every):
            found.append((t, min(max(bisect.bisect_right(self.curve.times, t), self.first), self.last)))
        if not self.closed:
            found.append((self.end, self.last))
        return sorted(found)


class MemoryProfiler:
    """Call track() once or several times, then read the results: those of every part, on one clock. reset() forgets them;
    record_history keeps the recordings then. track_allocations=False samples without recording ops.

    While another recording is in progress (a session, the tracker, another profiler), this one joins it: its figures are those of its
    own parts. It counts the whole process: parts of several threads at once see the memory of all of them."""

    def __init__(self, sample_interval_ms: float = 1.0, record_history: bool = True, track_allocations: bool = True, device: str | None = None,
                 stacks: bool = False) -> None:
        if not 1.0 <= sample_interval_ms < float("inf"):
            raise ValueError("sample_interval_ms is at least 1 and finite")
        self.sample_interval_ms = sample_interval_ms
        self.record_history = record_history
        self.track_allocations = track_allocations
        self.device = device  # "cuda:0", "cpu"; None: the one with the highest peak, an accelerator before the host
        self.stacks = stacks  # records the Python stack of every op: slower, but shows the line that allocated
        self._runs: list[_Run] = []
        self._kept: list[_Run] = []  # of before reset()
        self._open: list[str] = []
        self._found: tuple[str, list[_Window]] | None = None
        self._calm: Callable[[], None] | None = None

    # ---- recording ----

    @property
    def path(self) -> str:
        """The path of the last recording, which any command of Tidemark reads; "" before the first. It is removed with this object."""
        return self._runs[-1].recording.path if self._runs else ""

    @property
    def paths(self) -> list[str]:
        """The paths of all recordings since the last reset()."""
        return list(dict.fromkeys(r.recording.path for r in self._runs))

    def start_tracking(self, name: str = "track") -> None:
        """Begins a part; any thread may. The first one begins the recording, or joins the one in progress."""
        global _running
        with starting:
            if not self._open:
                if self._calm is None:
                    self._calm = at_term(_rescue_of(weakref.ref(self)))
                    weakref.finalize(self, self._calm)
                if _running is None or not _running.runs():
                    _running = _Recording(self.track_allocations, self.stacks)
                _running.users += 1
                self._runs.append(_Run(_running, next(_numbers)))
                self._found = None
            self._open.append(name)
            self._mark(_BEGIN + name)

    def _mark(self, text: str) -> None:
        _native.mark(_native.CHECKPOINT, text, self._runs[-1].number)

    def stop_tracking(self, name: str | None = None) -> None:
        """Ends the part of that name that began last, or the last one. The recording ends with its last part."""
        global _running
        if not self._open:
            return
        import torch

        synchronize(torch)
        with starting:
            if not self._open:  # another thread has ended it
                return
            last = self._open.pop() if name is None or name not in self._open else self._open.pop(len(self._open) - 1 - self._open[::-1].index(name))
            self._mark(_END + last)
            recording = self._runs[-1].recording
            if not self._open:
                recording.users -= 1
                if not recording.users:
                    _running = None if _running is recording else _running
                    recording.leave()

    @contextlib.contextmanager
    def track(self, name: str = "track") -> Iterator[MemoryProfiler]:
        self.start_tracking(name)
        try:
            yield self
        finally:
            self.stop_tracking(name)

    def sample(self) -> None:
        """Takes a sample now."""
        if self._open:
            self._mark(_SAMPLE)

    def reset(self) -> None:
        """Discards everything, also the files unless record_history is set."""
        while self._open:
            self.stop_tracking()
        if self.record_history:
            self._kept += self._runs
        self._runs, self._found = [], None

    # ---- results ----

    def _windows(self) -> tuple[str, list[_Window]]:
        """Returns the name of the selected device and all runs on it; no runs if nothing was tracked."""
        if self._found is not None:
            return self._found
        traces: dict[int, Trace] = {}
        for run in self._runs:
            if id(run.recording) not in traces:
                trace = run.recording.read()
                if trace is not None:
                    traces[id(run.recording)] = trace
        device = self._device(list(traces.values()))
        curves = {key: _Curve(trace, device) for key, trace in traces.items()}
        walls = {key: trace.native.wall or 0 for key, trace in traces.items()}
        windows: list[_Window] = []
        for run in self._runs:
            key = id(run.recording)
            marks = run.marks(traces[key]) if key in traces else []
            if marks:
                zero = walls[id(self._runs[0].recording)] if id(self._runs[0].recording) in walls else walls[key]
                open_parts = sum(n.startswith(_BEGIN) for n, _, _ in marks) - sum(n.startswith(_END) for n, _, _ in marks)
                windows.append(_Window(curves[key], marks, walls[key] - zero, not open_parts))
        found = device, windows
        if not self._open:
            self._found = found
        return found

    def _device(self, traces: list[Trace]) -> str:
        if self.device is not None:
            return self.device
        peaks: dict[str, int] = {}
        for trace in traces:
            for d in trace.memory()["devices"]:
                if d["totals"] and d["totals"]["allocs"]:
                    peaks[d["device"]] = max(peaks.get(d["device"], 0), d["totals"]["peak_bytes"] or 0)
        return min(peaks, key=lambda d: (d == "cpu", -peaks[d]), default="cpu")

    def get_timeline(self) -> list[dict[str, Any]]:
        """Returns rows of {time_ms, allocated_mb, reserved_mb, peak_mb}: peak_mb is the highest since the previous point, in a part. reserved_mb is
        UNKNOWN on the host."""
        points = []
        for w in self._windows()[1]:
            before = w.first
            for t, at in w.moments(int(self.sample_interval_ms * 1e6)):
                high = max(w.curve.live[before:at + 1])
                points.append({"time_ms": (w.offset + t) / 1e6, "allocated_mb": w.curve.live[at] / MB, "reserved_mb": _mb(w.curve.reserved(t)), "peak_mb": high / MB})
                before = at
        return points

    def _highest(self) -> tuple[_Window, int, int] | None:
        """Returns the window with the peak, its bytes and the number of events before it; None if nothing was tracked."""
        windows = self._windows()[1]
        best = max(windows, key=lambda w: w.top()[0], default=None)
        return None if best is None else (best, *best.top())

    def _breakdown(self) -> dict[str, float]:
        """Returns the live bytes at the peak by role."""
        from .._reports import roles

        highest = self._highest()
        parts: dict[str, float] = dict.fromkeys(_PARTS, 0.0)
        if highest is not None:
            window, _, position = highest
            role, _ = roles(window.curve.native.model())
            for a in window.curve.alive(position):
                parts[_ROLES.get(role[a], "other_mb")] += window.curve.size[a] / MB
        return parts

    def get_snapshots(self) -> list[MemorySnapshot]:
        """Returns the timeline, with live bytes by role at the highest point."""
        shots = [MemorySnapshot(p["time_ms"], p["allocated_mb"], p["reserved_mb"], p["peak_mb"]) for p in self.get_timeline()]
        if shots:
            max(shots, key=lambda s: s.peak_allocated_mb).breakdown = self._breakdown()
        return shots

    def get_peak_analysis(self) -> dict[str, Any]:
        """Returns the exact peak of all parts, computed from every allocation. If nothing was tracked it is empty, and every figure in it is
        UNKNOWN."""
        highest = self._highest()
        device, windows = self._windows()
        if highest is None:
            return _Analysis()
        window, peak, position = highest
        first, last = windows[0], windows[-1]
        held = [n for w in windows for t, n in zip(w.curve.held_at, w.curve.held) if w.marks[0][1] <= t <= w.end]
        held += [n for w in windows if (n := w.curve.reserved(w.marks[0][1])) is not None]
        t = max(window.curve.times[position - 1], window.marks[0][1]) if position else window.marks[0][1]
        now = last.curve.live[last.last]
        return _Analysis({"peak_allocated_mb": peak / MB, "peak_reserved_mb": _mb(max(held, default=None)), "peak_time_ms": (window.offset + t) / 1e6,
                          "current_allocated_mb": now / MB, "potential_leak": now > 1.1 * first.curve.live[first.first], "device": device,
                          "breakdown": self._breakdown()})

    def markers(self) -> dict[str, dict[str, Any]]:
        """Returns {name: {start_ms, end_ms, peak_mb, parts}} on the clock of the timeline. If a name was used again, start, end and peak are those of
        its last part, and `parts` has those of each."""
        found: dict[str, list[dict[str, float]]] = {}
        for w in self._windows()[1]:
            running: dict[str, list[tuple[dict[str, float], int]]] = {}  # parts of one name may be nested: an end belongs to the last begin
            for text, t, at in w.marks:
                name = text.removeprefix(_BEGIN).removeprefix(_END)
                if text.startswith(_BEGIN):
                    part = {"start_ms": (w.offset + t) / 1e6, "end_ms": (w.offset + w.end) / 1e6, "peak_mb": max(w.curve.live[at:]) / MB}
                    found.setdefault(name, []).append(part)
                    running.setdefault(name, []).append((part, at))
                elif text.startswith(_END):
                    part, begin = running[name].pop()
                    part["end_ms"], part["peak_mb"] = (w.offset + t) / 1e6, max(w.curve.live[begin:at + 1]) / MB
        return {name: {**parts[-1], "parts": parts} for name, parts in found.items()}

    def get_memory_snapshot(self) -> dict[str, Any]:
        """Returns the live allocations at the end of the last part (UNKNOWN: nothing was tracked), and the current segments of CUDA's allocator,
        if there is one."""
        import torch

        windows = self._windows()[1]
        sizes: dict[str, Any] = dict.fromkeys((name for name, _ in _BUCKETS), 0 if windows else UNKNOWN)
        total = 0
        for w in windows[-1:]:
            for a in w.curve.alive(w.last):
                total += w.curve.size[a]
                sizes[next(name for name, most in _BUCKETS if w.curve.size[a] < most)] += 1
        segments = []
        if torch.cuda.is_available():
            segments = [{"address": s["address"], "size_mb": s["total_size"] / MB, "allocated_size_mb": s["allocated_size"] / MB, "device": s["device"]}
                        for s in torch.cuda.memory_snapshot()]
        return {"segments": segments, "total_allocated_mb": total / MB if windows else UNKNOWN,
                "total_reserved_mb": sum(s["size_mb"] for s in segments) if segments else UNKNOWN, "allocations_by_size": sizes}

    def export(self, path: str | os.PathLike[str], format: str = "json") -> str:
        """Writes timeline, peak and markers; unknown figures are null (None)."""
        document = data_of({**kept_as("memory"), "timeline": self.get_timeline(), "peak_analysis": self.get_peak_analysis(), "markers": self.markers()})
        if format == "json":
            with open(path, "w", encoding="utf-8") as text:
                json.dump(document, text, indent=2)
        elif format == "pickle":
            with open(path, "wb") as file:
                pickle.dump(document, file)
        else:
            raise ValueError(f"format is 'json' or 'pickle', not {format!r}")
        return os.fspath(path)


def _rescue_of(profiler: weakref.ref[MemoryProfiler]) -> Callable[[], None]:
    """Returns the function that SIGTERM calls: it keeps the recordings of a profiler."""
    def keep() -> None:
        it = profiler()
        rescue([r for r in dict.fromkeys(run.recording.path for run in it._runs if run.recording.own)] if it else [], "memory")

    return keep


def _mb(n: int | None) -> float:
    return figure(None if n is None else n / MB)


def profile_memory(fn: Callable[..., Any], *args: Any, warmup: int = 3, iterations: int = 10, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """Returns the last result of fn, and {timeline, peak} of `iterations` calls after `warmup` ones."""
    for _ in range(warmup):
        finished(fn(*args, **kwargs))
    profiler = MemoryProfiler()
    result = None
    with profiler.track("profile_memory"):
        for _ in range(iterations):
            result = finished(fn(*args, **kwargs))
    return result, {"timeline": profiler.get_timeline(), "peak": profiler.get_peak_analysis()}


def compare_memory(before: str, after: str) -> dict[str, Any] | None:
    """Returns the differences of two recordings as in `tidemark diff`; None if they cannot be compared."""
    try:
        return dict(Trace(before).diff(after))
    except Error:
        return None
