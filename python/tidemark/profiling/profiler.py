# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""One call that shows what is slow, what is large and what to change."""
from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .. import _native
from .._native import Error
from .._trace import Trace
from .._unknown import UNKNOWN, data_of, figure, known
from ._recording import RECORDERS, Recording, models_of, record_block, starting
from ._source import MB, device, file_name, finished, kept_as, output_folder, write_page
from .flame_graph import FlameGraphGenerator, kernel_kind
from .hta import hta_of
from .memory import MemoryProfiler


@dataclasses.dataclass
class KernelInfo:
    """All launches of one kernel. Grid, block, registers and shared memory are those of its longest launch; UNKNOWN (None of
    several numbers): not recorded."""

    name: str
    duration_us: float  # of all launches, on the device
    cuda_time_us: float
    cpu_time_us: float  # host time of the calls that launched it; UNKNOWN: launches were not recorded
    device_index: float = UNKNOWN
    stream: float = UNKNOWN
    grid: tuple[int, ...] | None = None
    block: tuple[int, ...] | None = None
    registers_per_thread: float = UNKNOWN
    shared_memory_bytes: float = UNKNOWN
    call_count: float = 1
    kind: str = "Other"


@dataclasses.dataclass
class ProfileSession:
    """Times in milliseconds, sizes in MiB; an unknown figure is UNKNOWN. Figures of profile_function() are per iteration; `iterations` is
    their number."""

    name: str = ""
    total_time_ms: float = 0.0
    cuda_time_ms: float = UNKNOWN  # busy time of the device, a union of intervals; UNKNOWN without device work
    cpu_time_ms: float = UNKNOWN  # busy time of the host; UNKNOWN without its ops
    peak_memory_mb: float = UNKNOWN  # highest live bytes of the device (else of the host) in the session, with what was alive before
    allocated_memory_mb: float = UNKNOWN  # the same at its end
    reserved_memory_mb: float = UNKNOWN
    kernels: list[KernelInfo] = dataclasses.field(default_factory=list)
    kernel_summary: dict[str, dict[str, float]] = dataclasses.field(default_factory=dict)
    bottlenecks: list[str] = dataclasses.field(default_factory=list)
    recommendations: list[str] = dataclasses.field(default_factory=list)
    trace_path: Path | None = None
    flame_graph_path: Path | None = None
    memory_snapshot_path: Path | None = None
    timeline_data: dict[str, Any] | None = None
    flame_graph_data: dict[str, Any] | None = None
    memory_timeline: list[dict[str, Any]] | None = None
    device_name: str = "cpu"
    timestamp: str = ""
    iterations: int = 1
    overhead_pct: float = UNKNOWN  # device idle while the host worked, in percent of the device's window
    recording_path: Path | None = None  # .tide: every command of Tidemark reads it
    recorder: str = "tidemark"  # or "torch.profiler", and then why
    why: str | None = None
    has_gpu_time: bool = False  # False: no device work was recorded
    has_cpu_time: bool = False  # False: no op of the host was recorded
    flops: dict[str, int] | None = None  # by op, with recorder="torch" and with_flops


class _Peak:
    """CUDA's own peak of a session, in MiB. Its counter is one for the process, so a session that begins notes it for those around it."""

    open: list[_Peak] = []

    def __init__(self, cuda: Any) -> None:
        self.cuda = cuda
        self.high = 0
        self.figures: tuple[float, float, float] = (UNKNOWN, UNKNOWN, UNKNOWN)  # peak, allocated, reserved

    @classmethod
    def _note(cls, cuda: Any) -> None:
        for p in cls.open:
            p.high = max(p.high, cuda.max_memory_allocated())

    def __enter__(self) -> None:
        if self.cuda:
            with starting:
                self._note(self.cuda)
                self.cuda.reset_peak_memory_stats()
                self.open.append(self)

    def __exit__(self, *why: object) -> None:
        if self.cuda:
            with starting:
                self._note(self.cuda)
                self.open.remove(self)
                self.figures = self.high / MB, self.cuda.memory_allocated() / MB, self.cuda.memory_reserved() / MB


class UnifiedProfiler:
    """output_dir: where the files of sessions go; None: a temporary folder, removed when the process ends.
    recorder: "tidemark" records with Tidemark's own recorder and CUPTI, "torch" with torch.profiler, "auto" with ours if possible.
    with_stack and record_shapes cost most; with_flops needs "torch"."""

    def __init__(self, output_dir: str | os.PathLike[str] | None = None, enable_trace: bool = True, enable_memory: bool = True, enable_flame_graph: bool = True,
                 warmup_iterations: int = 3, profile_iterations: int = 10, record_shapes: bool = True, with_stack: bool = True, with_flops: bool = True,
                 with_modules: bool = True, recorder: str = "auto") -> None:
        if recorder not in RECORDERS:
            raise ValueError(f"recorder is one of {', '.join(RECORDERS)}, not {recorder!r}")
        self.output_dir = Path(output_folder(output_dir, "profile"))
        self.enable_trace = enable_trace
        self.enable_memory = enable_memory
        self.enable_flame_graph = enable_flame_graph
        self.warmup_iterations = warmup_iterations
        self.profile_iterations = profile_iterations
        self.recorder = recorder
        self._how: dict[str, Any] = {"record_shapes": record_shapes, "with_stack": with_stack, "with_flops": with_flops, "with_modules": with_modules}

    # ---- recording ----

    @contextlib.contextmanager
    def profile(self, name: str = "profile") -> Iterator[ProfileSession]:
        """Profiles the context. The session is filled at its end, also after an exception."""
        with self._profile(name, []) as session:
            yield session

    @contextlib.contextmanager
    def _profile(self, name: str, models: list[Any]) -> Iterator[ProfileSession]:
        import torch

        session = ProfileSession(name=name, timestamp=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"))
        cuda = device(torch)
        if cuda:
            session.device_name = cuda.get_device_name()
        block = record_block(str(self._path(session, "{name}_{stamp}.tide")), name=name, recorder=self.recorder, memory=self.enable_memory, models=models, **self._how)
        recording, peak = None, _Peak(cuda)
        try:
            with block as recording, self._memory_of(recording, cuda) as memory, peak:
                yield session
        except BaseException:
            if recording is not None:
                with contextlib.suppress(Error, OSError, RuntimeError):  # the program's own exception is more informative
                    self._fill(session, recording, peak, memory)
            raise
        self._fill(session, recording, peak, memory)

    @contextlib.contextmanager
    def _memory_of(self, recording: Recording, cuda: Any) -> Iterator[MemoryProfiler | None]:
        """Reads the host's memory from the recording in progress while torch.profiler records the session: torch.profiler does not know what
        was alive before."""
        if recording.recorder == "tidemark" or cuda or not self.enable_memory or not _native.recording():
            yield None
            return
        with MemoryProfiler(device="cpu").track() as memory:
            yield memory

    def profile_function(self, fn: Callable[..., Any], *args: Any, name: str = "function", warmup: int | None = None, iterations: int | None = None,
                         **kwargs: Any) -> ProfileSession:
        """Profiles calls of fn after some unmeasured ones; every figure of the session is per call. A generator is run to its end (also an asynchronous
        one), a coroutine until it is done."""
        warmup = self.warmup_iterations if warmup is None else warmup
        n = self.profile_iterations if iterations is None else iterations
        if n < 1 or warmup < 0:
            raise ValueError("iterations is at least 1, warmup at least 0")
        for _ in range(warmup):
            finished(fn(*args, **kwargs))
        import torch

        with self._profile(name, models_of(torch, fn, [*args, *kwargs.values()])) as session:
            for _ in range(n):
                finished(fn(*args, **kwargs))
        _per_call(session, n)
        return session

    # ---- results ----

    def _path(self, session: ProfileSession, suffix: str) -> Path:
        """Returns the path of a new file of the session: two sessions of one name may begin in the same second. It is absolute: the program may
        change its folder before the file is read. It is not hidden, and no longer than file systems allow."""
        self.output_dir.mkdir(parents=True, exist_ok=True)
        folder = self.output_dir.absolute()
        safe = file_name(session.name)
        stamp = datetime.datetime.fromisoformat(session.timestamp).strftime("%Y%m%d_%H%M%S")
        path, n = folder / suffix.format(name=safe, stamp=stamp), 1
        while path.exists() and "{stamp}" in suffix:
            n += 1
            path = folder / suffix.format(name=safe, stamp=f"{stamp}_{n}")
        return path

    def _fill(self, session: ProfileSession, recording: Recording, peak: _Peak, memory: MemoryProfiler | None) -> None:
        path = Path(recording.path)
        session.total_time_ms, session.recorder, session.why, session.flops = recording.wall_ms, recording.recorder, recording.why, recording.flops
        trace = Trace(path)
        session.timeline_data = {**trace.timeline()["summary"]}
        session.cuda_time_ms, session.cpu_time_ms = figure(session.timeline_data["gpu_time_ms"]), figure(session.timeline_data["cpu_time_ms"])
        session.has_gpu_time, session.has_cpu_time = known(session.cuda_time_ms), known(session.cpu_time_ms)
        session.peak_memory_mb, session.allocated_memory_mb, session.reserved_memory_mb = peak.figures
        if self.enable_memory:
            self._memory(session, trace, recording, peak, memory)
        self._kernels(session, trace)
        if self.enable_flame_graph:
            self._flame(session, path)
        self._advise(session, trace, peak.cuda)
        self._files(session, path)

    def _files(self, session: ProfileSession, path: Path) -> None:
        """Writes a Chrome trace and a memory snapshot for other tools; enable_trace keeps the recording itself."""
        own = path.suffix == ".tide"
        if self.enable_memory and own and session.memory_timeline:
            snapshot = path.with_name(path.stem + "_memory.pickle")
            with contextlib.suppress(RuntimeError):  # the recording has no data for such a file
                write_page("export", str(path), str(snapshot), "--to=snapshot")
                session.memory_snapshot_path = snapshot
        if not self.enable_trace:
            path.unlink()
        elif own:
            session.recording_path, session.trace_path = path, path.with_suffix(".json")
            write_page("export", str(path), str(session.trace_path), "--to=chrome")
        else:
            session.trace_path = path

    def _memory(self, session: ProfileSession, trace: Trace, recording: Recording, peak: _Peak, joined: MemoryProfiler | None) -> None:
        if joined is not None:
            found = joined.get_peak_analysis()
            session.memory_timeline = [{k: p[k] for k in ("time_ms", "allocated_mb")} for p in joined.get_timeline()]
            session.peak_memory_mb, session.allocated_memory_mb = found["peak_allocated_mb"], found["current_allocated_mb"]
            return
        memory = trace.memory()
        devices = [(d["device"], d["totals"], d["live_series_bytes"]) for d in memory["devices"] if d["totals"] and d["totals"]["allocs"]]
        devices.sort(key=lambda d: d[0] == "cpu")
        if not devices or (recording.recorder != "tidemark" and devices[0][0] == "cpu"):  # torch.profiler counts the host from 0
            return
        _, totals, series = devices[0]
        step = trace.native.end / 1e6 / max(len(series), 1)
        # Before the block began, the recorder was still learning which tensors are alive.
        began = (recording.began_ns - memory["start_wall_ns"]) / 1e6 if recording.began_ns and memory["start_wall_ns"] else 0.0
        session.memory_timeline = [{"time_ms": (i + 1) * step, "allocated_mb": None if b is None else b / MB} for i, b in enumerate(series) if i * step >= began or i + 1 == len(series)]
        if not peak.cuda:
            session.peak_memory_mb, session.allocated_memory_mb = (totals["peak_bytes"] or 0) / MB, (totals["live_bytes"] or 0) / MB

    def _kernels(self, session: ProfileSession, trace: Trace) -> None:
        host = _launch_us(trace)
        for k in trace.kernels()["kernels"]:
            us, name = (k["sum_ns"] or 0) / 1000, k["name"] or "unknown"
            session.kernels.append(KernelInfo(name, us, us, host.get(name, 0.0) if host else UNKNOWN, figure(k.get("device")), figure(k.get("stream")), tuple(k.get("grid") or ()) or None,
                                              tuple(k.get("block") or ()) or None, figure(k.get("registers_per_thread")), figure(k.get("shared_memory_bytes")), k["count"],
                                              kernel_kind(name)))
        session.kernel_summary = {k.name: {"total_us": k.cuda_time_us, "count": k.call_count, "avg_us": k.cuda_time_us / k.call_count}
                                  for k in session.kernels[:20]}

    def _flame(self, session: ProfileSession, path: Path) -> None:
        session.flame_graph_data = FlameGraphGenerator().from_chrome_trace(path)
        if session.flame_graph_data.get("kind") == "memory":  # nothing took time: no bytes in a tree of microseconds
            session.flame_graph_data = FlameGraphGenerator().from_chrome_trace(path, kind="cpu")
        page = path.with_name(path.stem + "_flame.html")
        with contextlib.suppress(RuntimeError):  # built without pages
            write_page("flame", str(path), str(page))
            session.flame_graph_path = page

    def _advise(self, session: ProfileSession, trace: Trace, cuda: Any) -> None:
        say, do = session.bottlenecks.append, session.recommendations.append
        busy = sum(k.cuda_time_us for k in session.kernels)
        if session.kernels and busy and session.kernels[0].cuda_time_us > 0.5 * busy:
            top = session.kernels[0]
            say(f"Single kernel dominates: {top.name} ({100 * top.cuda_time_us / busy:.1f}%)")
            if top.kind in ("Matrix Multiply", "Convolution"):
                do("Consider using torch.compile or Tensor Cores")
            elif top.kind == "Elementwise":
                do("Multiple elementwise ops - consider kernel fusion")
        if cuda and known(session.peak_memory_mb):
            share = session.peak_memory_mb * MB / cuda.get_device_properties(cuda.current_device()).total_memory
            if share > 0.8:
                say(f"High memory usage: {100 * share:.1f}% of GPU memory")
                do("Consider gradient checkpointing or mixed precision")
        if not session.kernels:
            if not cuda:
                _advise_host(session, trace)
            return
        report = hta_of(trace)
        ranks = [r for r in report.raw_analysis["ranks"] if r.get("kernel_time_ns")]
        window = sum(r["kernel_time_ns"] for r in ranks)
        session.overhead_pct = 100 * sum(r["idle_host_active_ns"] for r in ranks) / window
        if session.overhead_pct > 30:
            say(f"CPU overhead: {session.overhead_pct:.1f}% of total time")
            do("Consider CUDA Graphs or reducing Python overhead")
        launches = sum(k.call_count for k in session.kernels)
        rate = launches / (window / 1e6)
        if launches > 1000 and rate > 100:
            say(f"High kernel launch rate: {rate:.1f} launches/ms")
            do("Consider CUDA Graphs or torch.compile for kernel fusion")
        session.recommendations += [r for r in report.recommendations if r not in session.recommendations]

    # ---- documents ----

    def compare_sessions(self, baseline: ProfileSession, optimized: ProfileSession) -> dict[str, Any]:
        """Compares two sessions. Positive differences mean that `optimized` takes less; UNKNOWN: unknown in one of them."""
        a, b = ({k.name: k.cuda_time_us for k in s.kernels} for s in (baseline, optimized))
        changes: list[dict[str, Any]] = []
        for name in {**a, **b}:
            if name not in b:
                changes.append({"name": name, "status": "removed", "baseline_us": a[name]})
            elif name not in a:
                changes.append({"name": name, "status": "added", "optimized_us": b[name]})
            elif abs(a[name] - b[name]) > 100:
                changes.append({"name": name, "baseline_us": a[name], "optimized_us": b[name], "diff_us": a[name] - b[name]})
        changes.sort(key=lambda c: -abs(c.get("baseline_us", 0) - c.get("optimized_us", 0)))
        return {"speedup": baseline.total_time_ms / optimized.total_time_ms if optimized.total_time_ms else 0,
                "timing_diff": {"total_ms": baseline.total_time_ms - optimized.total_time_ms, "cuda_ms": baseline.cuda_time_ms - optimized.cuda_time_ms,
                                "cpu_ms": baseline.cpu_time_ms - optimized.cpu_time_ms},
                "memory_diff": {"peak_mb": baseline.peak_memory_mb - optimized.peak_memory_mb}, "kernel_changes": changes[:20]}

    def export_summary(self, session: ProfileSession, path: str | os.PathLike[str]) -> str:
        document = {
            **kept_as("session"), "name": session.name, "iterations": session.iterations,
            "timing": {"total_ms": session.total_time_ms, "cuda_ms": session.cuda_time_ms, "cpu_ms": session.cpu_time_ms},
            "memory": {"peak_mb": session.peak_memory_mb, "allocated_mb": session.allocated_memory_mb, "reserved_mb": session.reserved_memory_mb},
            "kernels": [{"name": k.name, "duration_us": k.duration_us, "call_count": k.call_count, "grid": k.grid, "block": k.block,
                         "registers_per_thread": k.registers_per_thread, "shared_memory_bytes": k.shared_memory_bytes, "stream": k.stream}
                        for k in session.kernels[:50]],
            "kernel_summary": session.kernel_summary, "bottlenecks": session.bottlenecks, "recommendations": session.recommendations,
            "device": session.device_name, "timestamp": session.timestamp, "recorder": session.recorder,
        }
        with open(path, "w", encoding="utf-8") as file:
            json.dump(data_of(document), file, indent=2)
        return os.fspath(path)


def _advise_host(session: ProfileSession, trace: Trace) -> None:
    """Bottlenecks and recommendations of a session without device work, from the self times of its ops."""
    ops = sorted(((o["self_ns"], o["count"], o["op"]) for o in trace.ops(flat=True)["ops"] if o["self_ns"]), key=lambda o: -o[0])
    whole, count = sum(o[0] for o in ops), sum(o[1] for o in ops)
    if not whole:
        return
    say, do = session.bottlenecks.append, session.recommendations.append
    (top_ns, top_count, top), share = ops[0], 100 * ops[0][0] / whole
    if share > 50:
        say(f"Single op dominates: {top} ({share:.1f}%)")
    idle = 100 * (1 - session.cpu_time_ms / session.total_time_ms) if known(session.cpu_time_ms) and session.total_time_ms else UNKNOWN
    if idle > 30:
        say(f"Outside ops: {idle:.1f}% of total time")
        do("No op of PyTorch ran in that time: look at Python code, data loading and waiting (`tidemark flame`, with_stack=True)")
    if count > 1000 and whole / count < 10_000:
        say(f"Many small ops: {count} ops, {whole / count / 1000:.1f} us each")
        do("Consider torch.compile for fusion, or larger batches")
    do(f"{top} took most of the ops' own time: {share:.1f}%, {top_ns / 1e6 / session.iterations:.3f} ms in {top_count} calls")


def _launch_us(trace: Trace) -> dict[str, float]:
    """Returns the host time of launch calls by the kernel that they started."""
    t = trace.native
    t0, t1, cat, cause = (t.view("spans", c) for c in ("t0", "t1", "cat", "cause"))
    names: list[str] | None = None
    found: dict[str, float] = {}
    for i in range(1, len(t0)):
        if 6 <= cat[i] <= 9 and cause[i]:
            names = names or t.column("spans", "name")
            found[names[i]] = found.get(names[i], 0.0) + (t1[cause[i]] - t0[cause[i]]) / 1000
    return found


def _per_call(s: ProfileSession, n: int) -> None:
    s.iterations = n
    s.total_time_ms /= n
    s.cuda_time_ms /= n
    s.cpu_time_ms /= n
    for k in s.kernels:
        k.duration_us, k.cuda_time_us = k.duration_us / n, k.cuda_time_us / n
        k.cpu_time_us /= n
        k.call_count = int(k.call_count) // n if k.call_count % n == 0 else k.call_count / n
    for row in s.kernel_summary.values():
        row["total_us"] /= n
        row["count"] = row["count"] // n if row["count"] % n == 0 else row["count"] / n
