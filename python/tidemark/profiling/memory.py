# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Memory over time: sampled by a native thread, with exact peaks between samples from the allocators' events.

The profiler records every allocation of PyTorch (as tidemark.record does); a sample is a moment in that recording, so it does not
query the allocator, and the peak between two samples is known.
"""
from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pickle
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from .. import _native
from .._native import Error
from .._trace import Trace
from ._recording import starting
from ._source import MB, finished, synchronize

_ROLES = {"activation": "activations_mb", "parameter": "weights_mb", "gradient": "gradients_mb", "optimizer": "optimizer_mb"}
_BUCKETS = (("< 1KB", 1024), ("1KB - 1MB", MB), ("1MB - 100MB", 100 * MB), ("> 100MB", 1 << 63))
_BEGIN, _END = "track> ", "track< "
_NEVER = 2**63 - 1


@dataclasses.dataclass
class MemorySnapshot:
    timestamp_ms: float
    allocated_mb: float
    reserved_mb: float | None
    peak_allocated_mb: float  # highest since the previous sample, exact
    breakdown: dict[str, float] | None = None  # at this moment, by role; None: not requested


def _breakdown(groups: list[dict[str, Any]]) -> dict[str, float]:
    parts: dict[str, float] = dict.fromkeys(("activations_mb", "weights_mb", "gradients_mb", "optimizer_mb", "other_mb"), 0.0)
    for g in groups:
        parts[_ROLES.get(g["key"], "other_mb")] += g["bytes"] / MB
    return parts


class MemoryProfiler:
    """Call track() once or several times, then read the results. record_history keeps the recording after reset();
    track_allocations=False samples without recording ops."""

    def __init__(self, sample_interval_ms: float = 1.0, record_history: bool = True, track_allocations: bool = True, device: str | None = None,
                 stacks: bool = False) -> None:
        if not 1.0 <= sample_interval_ms < float("inf"):
            raise ValueError("sample_interval_ms is at least 1 and finite")
        self.sample_interval_ms = sample_interval_ms
        self.record_history = record_history
        self.track_allocations = track_allocations
        self.device = device  # "cuda:0", "cpu"; None: the one with the highest peak, an accelerator before the host
        self.stacks = stacks  # records the Python stack of every op: slower, but shows the line that allocated
        self._folder = self._new_folder()
        self._count = 0
        self._open: list[str] = []
        self._attached = False  # torch was attached for this object
        self._trace: Trace | None = None

    # ---- recording ----

    def _new_folder(self) -> str:
        """Returns a folder that is removed with this object."""
        folder = tempfile.mkdtemp(prefix="tidemark-memory-")
        weakref.finalize(self, _remove, folder, os.getpid())
        return folder

    @property
    def path(self) -> str:
        """The path of the recording, which any command of Tidemark reads. It is removed with this object."""
        return os.path.join(self._folder, f"memory{self._count}.tide")

    def start_tracking(self, name: str = "track") -> None:
        """Begins a part; any thread may. The first one begins the recording."""
        with starting:
            if not self._open:
                self._begin()
            self._open.append(name)
            _native.mark(_native.CHECKPOINT, _BEGIN + name)

    def _begin(self) -> None:
        from .. import _record
        from .. import torch as capture

        if _native.recording():
            raise Error("a recording is in progress: end it first, or ask that one")
        self._count += 1
        self._trace = None
        self._attached = not capture.attached()
        capture.attach(ops=self.track_allocations, modules=self.track_allocations, stacks=self.stacks)
        try:
            _record.start(self.path, follow_fork=False)
        except BaseException:
            if self._attached:
                capture.detach()
            raise
        _native.snapshots_every(self.sample_interval_ms / 1000)

    def stop_tracking(self, name: str | None = None) -> None:
        """Ends the part of that name that began last, or the last one. The recording ends with its last part."""
        if not self._open:
            return
        import torch

        synchronize(torch)
        with starting:
            if not self._open:  # another thread has ended it
                return
            last = self._open.pop() if name is None or name not in self._open else self._open.pop(len(self._open) - 1 - self._open[::-1].index(name))
            _native.mark(_native.CHECKPOINT, _END + last)
            if not self._open:
                self._end()

    def _end(self) -> None:
        from .. import _record

        _native.snapshots_every(0.0)
        _record.stop()
        if self._attached:
            from .. import torch as capture

            capture.detach()

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
            _native.mark(_native.CHECKPOINT, "sample")

    def reset(self) -> None:
        """Discards everything, also the files unless record_history is set."""
        while self._open:
            self.stop_tracking()
        self._trace = None
        if not self.record_history:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = self._new_folder()
        self._count += 1

    # ---- results ----

    def _read(self) -> Trace | None:
        if self._trace is not None:
            return self._trace
        if not os.path.exists(self.path):
            return None
        trace = Trace(self.path)
        if not self._open:  # the recording is complete
            self._trace = trace
        return trace

    def _device(self, trace: Trace) -> tuple[str, int] | None:
        """Returns name and row of the selected device."""
        found = [d for d in trace.memory()["devices"] if d["totals"]["allocs"]]
        if self.device is not None:
            found = [d for d in found if d["device"] == self.device]
        found.sort(key=lambda d: (d["device"] == "cpu", -d["totals"]["peak_bytes"]))
        if not found:
            return None
        from .._profile import device_names

        return found[0]["device"], device_names(trace.native).index(found[0]["device"])

    def _curve(self, trace: Trace, device: int) -> list[tuple[int, int, int]]:
        """Returns exact (t ns, live bytes, highest since the previous row) at every mark, in order."""
        t = trace.native
        of_pool, pool, size = t.view("pools", "device"), t.view("allocs", "pool"), t.view("allocs", "size")
        row, kind = t.view("memory_events", "row"), t.view("memory_events", "kind")
        at, when = t.view("marks", "position"), t.view("marks", "t")
        flags = t.view("allocs", "flags")
        pending = t.view("pendings", "alloc")
        live = high = 0
        rows: list[tuple[int, int, int]] = []
        position = 0
        for m in range(1, len(when)):
            while position < at[m]:
                k, r = kind[position], row[position]
                position += 1
                if k == 2:  # a free that waits for a stream: the program no longer counts the block
                    r = pending[r]
                elif k > 2 or (k == 1 and flags[r] & 16):
                    continue
                if of_pool[pool[r]] == device:
                    live += size[r] if k == 0 else -size[r]
                    high = max(high, live)
            rows.append((when[m], live, max(high, live)))
            high = live
        return rows

    def _reserved(self, trace: Trace, name: str) -> list[tuple[int, int]]:
        from .._reports import reserved

        names, samples = reserved(trace.native.model())
        return [(t, b) for t, d, b in samples if names[d] == name]

    def get_timeline(self) -> list[dict[str, Any]]:
        """Returns rows of {time_ms, allocated_mb, reserved_mb, peak_mb}: peak_mb is the highest since the previous point. reserved_mb is None on the host."""
        trace = self._read()
        which = self._device(trace) if trace else None
        if trace is None or which is None:
            return []
        held = self._reserved(trace, which[0])
        points, at = [], 0
        for t, live, high in self._curve(trace, which[1]):
            while at < len(held) and held[at][0] <= t:
                at += 1
            points.append({"time_ms": t / 1e6, "allocated_mb": live / MB, "reserved_mb": held[at - 1][1] / MB if at else None, "peak_mb": high / MB})
        return points

    def get_snapshots(self) -> list[MemorySnapshot]:
        """Returns the timeline, with live bytes by role at the highest point."""
        points = self.get_timeline()
        trace = self._read()
        shots = [MemorySnapshot(p["time_ms"], p["allocated_mb"], p["reserved_mb"], p["peak_mb"]) for p in points]
        which = self._device(trace) if trace else None
        if shots and trace and which:
            top = max(shots, key=lambda s: s.peak_allocated_mb)
            top.breakdown = _breakdown(trace.peak(group_by="role", device=which[0])["groups"])
        return shots

    def get_peak_analysis(self) -> dict[str, Any]:
        """Returns the exact peak, computed from every allocation; {} if nothing was tracked."""
        trace = self._read()
        which = self._device(trace) if trace else None
        if trace is None or which is None:
            return {}
        totals = next(d["totals"] for d in trace.memory()["devices"] if d["device"] == which[0])
        peak = trace.peak(group_by="role", device=which[0])
        points = self.get_timeline()
        return {"peak_allocated_mb": totals["peak_bytes"] / MB, "peak_reserved_mb": _mb(totals.get("reserved_peak_bytes")), "peak_time_ms": totals["peak_time_ns"] / 1e6,
                "current_allocated_mb": totals["live_bytes"] / MB, "potential_leak": bool(points) and points[-1]["allocated_mb"] > 1.1 * points[0]["allocated_mb"],
                "device": which[0], "breakdown": _breakdown(peak["groups"])}

    def markers(self) -> dict[str, dict[str, float]]:
        """Returns {name: {start_ms, end_ms}} on the clock of the timeline; if a name was used again, the last one."""
        trace = self._read()
        found: dict[str, dict[str, float]] = {}
        running: dict[str, list[dict[str, float]]] = {}  # parts of one name may be nested: an end belongs to the last begin
        if trace is not None:
            names, when = trace.native.column("marks", "name"), trace.native.view("marks", "t")
            for i in range(1, len(when)):
                if names[i].startswith(_BEGIN):
                    name = names[i][len(_BEGIN):]
                    found[name] = {"start_ms": when[i] / 1e6, "end_ms": trace.native.end / 1e6}
                    running.setdefault(name, []).append(found[name])
                elif names[i].startswith(_END):
                    running[names[i][len(_END):]].pop()["end_ms"] = when[i] / 1e6
        return found

    def get_memory_snapshot(self) -> dict[str, Any]:
        """Returns the live allocations at the end of the recording (None: nothing was tracked), and the current segments of CUDA's allocator, if there
        is one."""
        import torch

        trace = self._read()
        sizes = dict.fromkeys((name for name, _ in _BUCKETS), 0)
        total = 0
        which = self._device(trace) if trace else None
        if trace and which:
            t = trace.native
            of_pool, pool, size, died = t.view("pools", "device"), t.view("allocs", "pool"), t.view("allocs", "size"), t.view("allocs", "died")
            for i in range(1, len(size)):
                if died[i] == _NEVER and of_pool[pool[i]] == which[1]:
                    total += size[i]
                    sizes[next(name for name, most in _BUCKETS if size[i] < most)] += 1
        segments = []
        if torch.cuda.is_available():
            segments = [{"address": s["address"], "size_mb": s["total_size"] / MB, "allocated_size_mb": s["allocated_size"] / MB, "device": s["device"]}
                        for s in torch.cuda.memory_snapshot()]
        return {"segments": segments, "total_allocated_mb": total / MB if trace else None, "total_reserved_mb": sum(s["size_mb"] for s in segments) if segments else None,
                "allocations_by_size": sizes if trace else dict.fromkeys(sizes)}

    def export(self, path: str | os.PathLike[str], format: str = "json") -> str:
        document = {"timeline": self.get_timeline(), "peak_analysis": self.get_peak_analysis(), "markers": self.markers()}
        if format == "json":
            with open(path, "w", encoding="utf-8") as text:
                json.dump(document, text, indent=2)
        elif format == "pickle":
            with open(path, "wb") as file:
                pickle.dump(document, file)
        else:
            raise ValueError(f"format is 'json' or 'pickle', not {format!r}")
        return os.fspath(path)


def _remove(folder: str, process: int) -> None:
    """Removes a folder of this process; a forked child leaves its parent's alone."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _mb(n: int | None) -> float | None:
    return None if n is None else n / MB


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
        return Trace(before).diff(after)
    except Error:
        return None
