# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""CPU and GPU side by side: events, active times, overlap."""
from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from typing import Any

from .._trace import Trace
from .._unknown import UNKNOWN, data_of, figure, known
from ._source import trace_of, write_page

# category of a span in the engine -> type of an event here
_TYPES = {"op": "cpu_op", "user_annotation": "cpu_op", "python_function": "python", "runtime": "cuda_runtime", "driver": "cuda_runtime",
          "kernel": "cuda_kernel", "memcpy": "cuda_memcpy", "memset": "cuda_memcpy", "sync": "cuda_sync"}
_GPU = {"cuda_kernel", "cuda_memcpy"}


@dataclasses.dataclass
class TimelineEvent:
    name: str
    event_type: str  # cpu_op, cuda_kernel, cuda_memcpy, cuda_sync, cuda_runtime, python
    start_us: float
    duration_us: float
    thread_id: int | None = None
    stream_id: int | None = None
    device_id: int | None = None
    args: dict[str, Any] = dataclasses.field(default_factory=dict)
    category: str = ""  # of the span in the trace: "user_annotation" for a range that the program named, though its type is cpu_op

    @property
    def end_us(self) -> float:
        return self.start_us + self.duration_us


@dataclasses.dataclass
class TimelineData:
    events: list[TimelineEvent] = dataclasses.field(default_factory=list)
    cpu_events: list[TimelineEvent] = dataclasses.field(default_factory=list)
    gpu_events: list[TimelineEvent] = dataclasses.field(default_factory=list)
    streams: dict[int, list[TimelineEvent]] = dataclasses.field(default_factory=dict)
    total_time_us: float = 0.0
    cpu_active_time_us: float = UNKNOWN  # UNKNOWN: the trace has no rows of the host
    gpu_active_time_us: float = UNKNOWN  # the same for rows of the device
    overlap_time_us: float = UNKNOWN
    trace_path: str | None = None

    @property
    def has_gpu_time(self) -> bool:
        return known(self.gpu_active_time_us)

    @property
    def has_cpu_time(self) -> bool:
        return known(self.cpu_active_time_us)

    @property
    def cpu_utilization(self) -> float:
        return self.cpu_active_time_us / self.total_time_us if self.total_time_us else UNKNOWN

    @property
    def gpu_utilization(self) -> float:
        return self.gpu_active_time_us / self.total_time_us if self.total_time_us else UNKNOWN

    def summary(self) -> dict[str, float]:
        return {"total_time_ms": self.total_time_us / 1000, "cpu_time_ms": self.cpu_active_time_us / 1000, "gpu_time_ms": self.gpu_active_time_us / 1000,
                "overlap_ms": self.overlap_time_us / 1000, "cpu_utilization": self.cpu_utilization, "gpu_utilization": self.gpu_utilization}


def union_us(intervals: list[tuple[float, float]]) -> float:
    """Returns the length of the union of intervals (start, end)."""
    total, reach = 0.0, float("-inf")
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, reach))
        reach = max(reach, end)
    return total


class TimelineGenerator:
    """Active times are unions of intervals, overlap is the intersection of the two unions: the engine computes them over all events."""

    def __init__(self, min_duration_us: float = 1.0, include_python_events: bool = True, include_cuda_runtime: bool = True) -> None:
        self.min_duration_us = min_duration_us
        self.include_python_events = include_python_events
        self.include_cuda_runtime = include_cuda_runtime

    def from_profiler(self, prof: Any) -> TimelineData:
        with trace_of(prof) as path:
            return self._from(path)

    def from_chrome_trace(self, path: str | os.PathLike[str] | Trace) -> TimelineData:
        """Returns the timeline of a trace, plain or gzip, or of a recording. Raises tidemark.Error with one line if it cannot be read."""
        with trace_of(path) as name:
            return self._from(name)

    def _from(self, path: str) -> TimelineData:
        trace = Trace(path)
        summary = trace.timeline()["summary"]
        data = TimelineData(events=self._events(trace), total_time_us=summary["total_time_us"] or 0.0, cpu_active_time_us=figure(summary["cpu_active_time_us"]),
                            gpu_active_time_us=figure(summary["gpu_active_time_us"]), overlap_time_us=figure(summary["overlap_time_us"]), trace_path=path)
        for e in data.events:
            if e.event_type in _GPU:
                data.gpu_events.append(e)
                data.streams.setdefault(e.stream_id or 0, []).append(e)
            else:
                data.cpu_events.append(e)
        return data

    def _events(self, trace: Trace) -> list[TimelineEvent]:
        t = trace.native
        t0, t1, lane, cat = (t.view("spans", c) for c in ("t0", "t1", "lane", "cat"))
        names = t.column("spans", "name")
        number, kind, of_device = (t.view("lanes", c) for c in ("number", "kind", "device"))
        index = t.view("devices", "index")
        cats = _categories()
        found = []
        for i in range(1, len(t0)):  # row 0 is none
            type_ = _TYPES.get(cats.get(cat[i], ""))
            if type_ is None or not self._wanted(type_) or (t1[i] - t0[i]) / 1000 < self.min_duration_us:
                continue
            at = lane[i]
            stream = kind[at] == 2
            dev = of_device[at] or None
            found.append(TimelineEvent(names[i], type_, t0[i] / 1000, (t1[i] - t0[i]) / 1000, None if stream else number[at],
                                       number[at] if stream else None, index[dev] if dev is not None else None, category=cats[cat[i]]))
        return found

    def _wanted(self, type_: str) -> bool:
        return (self.include_python_events or type_ != "python") and (self.include_cuda_runtime or type_ != "cuda_runtime")

    def export_chrome_trace(self, timeline: TimelineData, path: str | os.PathLike[str]) -> str:
        """Writes the timeline's events for chrome://tracing and Perfetto; read back, they give the same figures. Events that the generator left out
        (`min_duration_us`, `include_python_events`, `include_cuda_runtime`) are not in it."""
        rows = [{"ph": "X", "cat": _KINETO.get(e.category) or _CHROME[e.event_type], "name": e.name, "ts": e.start_us, "dur": e.duration_us, "pid": 1,
                 "tid": e.thread_id if e.stream_id is None else f"stream {e.stream_id}",
                 "args": dict(e.args, **({} if e.stream_id is None else {"stream": e.stream_id, "device": e.device_id or 0}))} for e in timeline.events]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": rows}, file)
        return os.fspath(path)

    def export_visualization_data(self, timeline: TimelineData, path: str | os.PathLike[str] | None = None, limit: int = 500) -> dict[str, Any]:
        """Returns the summary and at most `limit` events of each side, the longest; writes them to `path` if it is given."""
        def rows(events: list[TimelineEvent], stream: bool) -> list[dict[str, Any]]:
            kept = sorted(sorted(events, key=lambda e: -e.duration_us)[:limit], key=lambda e: e.start_us)
            return [{"name": e.name, "start_ms": e.start_us / 1000, "duration_ms": e.duration_us / 1000, **({"stream": e.stream_id} if stream else {})}
                    for e in kept]

        data = {"summary": {k: timeline.summary()[k] for k in ("total_time_ms", "cpu_time_ms", "gpu_time_ms", "overlap_ms")},
                "cpu_timeline": rows(timeline.cpu_events, False), "gpu_timeline": rows(timeline.gpu_events, True),
                "streams": {str(s): len(v) for s, v in timeline.streams.items()},
                "left_out": {"cpu": max(0, len(timeline.cpu_events) - limit), "gpu": max(0, len(timeline.gpu_events) - limit)}}
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                json.dump(data_of(data), file, indent=2)
        return data

    def generate_html_viewer(self, timeline: TimelineData, path: str | os.PathLike[str]) -> str:
        """Writes the program's offline page of the timeline's events, as they are now, with a row per thread and stream."""
        with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
            trace = os.path.join(folder, "timeline.json")
            self.export_chrome_trace(timeline, trace)
            write_page("timeline", trace, os.fspath(path))
        return os.fspath(path)


_KINETO = {"op": "cpu_op", "user_annotation": "user_annotation", "python_function": "python_function", "runtime": "cuda_runtime", "driver": "cuda_driver",
           "kernel": "kernel", "memcpy": "gpu_memcpy", "memset": "gpu_memset", "sync": "cuda_sync"}
_CHROME = {"cpu_op": "cpu_op", "python": "python_function", "cuda_runtime": "cuda_runtime", "cuda_kernel": "kernel", "cuda_memcpy": "gpu_memcpy",
           "cuda_sync": "cuda_sync"}


def _categories() -> dict[int, str]:
    return dict(enumerate(("unknown", "op", "user_annotation", "python_function", "runtime", "driver", "kernel", "memcpy", "memset", "mtia",
                           "gpu_user_annotation", "sync", "overhead", "profiler_range", "other")))

