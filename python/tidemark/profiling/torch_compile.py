# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Analyses torch.compile of a model: graph breaks, recompiles, fusion, time and memory compared with eager.

The compiler's own structured log (TORCH_TRACE) is written for the time of the analysis and read by the engine.
"""
from __future__ import annotations

import contextlib
import dataclasses
import gc
import glob
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from .._native import Error
from .._trace import report_of
from .._unknown import UNKNOWN, data_of, figure, known
from ._source import MB, device, kept_as, report_page, spread, synchronize, timed
from .memory import MemoryProfiler, compare_memory

MODES = ("default", "reduce-overhead", "max-autotune")


@dataclasses.dataclass
class CompileBreak:
    reason: str
    location: str | None
    line_number: float
    suggestion: str
    count: int = 1
    retrace_ms: float = 0.0  # discarded tracing
    resume_ms: float = 0.0  # compiling the code after it
    hint: str | None = None  # torch's own hint


@dataclasses.dataclass
class CompileReport:
    """UNKNOWN means unknown. Times are medians per call; timing has their spread."""

    compile_time_ms: float = UNKNOWN
    backend: str = "inductor"
    mode: str = "default"
    graph_breaks: list[CompileBreak] = dataclasses.field(default_factory=list)
    total_graph_breaks: float = 0  # UNKNOWN: the mode failed
    fused_kernels: float = UNKNOWN  # kernels generated
    ops_before_fusion: float = UNKNOWN
    ops_after_fusion: float = UNKNOWN
    fusion_ratio: float = UNKNOWN
    peak_memory_mb: float = UNKNOWN
    eager_peak_memory_mb: float = UNKNOWN
    memory_savings_mb: float = UNKNOWN
    eager_time_ms: float = UNKNOWN
    compiled_time_ms: float = UNKNOWN
    speedup: float = UNKNOWN
    recommendations: list[str] = dataclasses.field(default_factory=list)
    recompiles: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    stages: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    caches: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    cudagraph_skips: float = UNKNOWN
    cudagraph_recordings: float = UNKNOWN  # recorded graphs, including re-recordings
    cudagraph_pool_mb: float = UNKNOWN  # device memory in the pools of CUDA graphs; peak_memory_mb includes their free bytes
    timing: dict[str, dict[str, float]] = dataclasses.field(default_factory=dict)
    memory_diff: dict[str, Any] | None = None  # compiled compared with eager, as in `tidemark diff`
    error: str | None = None  # reason if the mode failed


def _call(model: Callable[..., Any], inputs: Any) -> Callable[[], Any]:
    if isinstance(inputs, dict):
        return lambda: model(**inputs)
    if isinstance(inputs, (tuple, list)):
        return lambda: model(*inputs)
    return lambda: model(inputs)


@contextlib.contextmanager
def _log(folder: str) -> Iterator[None]:
    """Writes torch's structured log into a folder, in addition to other active logs."""
    from torch._logging import _internal as log

    handler = log.LazyTraceHandler(folder)
    handler.setFormatter(log.TorchLogsFormatter(trace=True))
    log.trace_log.addHandler(handler)
    try:
        yield
    finally:
        log.trace_log.removeHandler(handler)
        handler.close()


@contextlib.contextmanager
def _fresh(torch: Any) -> Iterator[None]:
    """Starts without traces of an earlier compile: no code, no counters, no caches on disk."""
    from torch._inductor import utils

    fresh = getattr(utils, "fresh_cache", None) or getattr(utils, "fresh_inductor_cache")  # noqa: B009 (an older torch)
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    gc.collect()
    if device(torch):
        torch.cuda.empty_cache()
    failed = None
    with fresh():  # an exception is raised after it: torch keeps its cache folder if one passes through
        try:
            yield
        except BaseException as why:
            failed = why
    torch._dynamo.reset()
    if failed is not None:
        raise failed


def _pools(cuda: Any) -> tuple[float, float]:
    """Returns the MiB of the allocator's private pools, and the free part, which a graph keeps for itself."""
    private = [s for s in cuda.memory_snapshot() if tuple(s.get("segment_pool_id", (0, 0))) != (0, 0)]
    total = sum(s["total_size"] for s in private)
    return total / MB, (total - sum(s["allocated_size"] for s in private)) / MB


def _peak(torch: Any, fn: Callable[[], Any]) -> tuple[float, MemoryProfiler | None]:
    """Returns the peak of one call in MiB, and its source; uses CUDA's own counter if there is a device."""
    cuda = device(torch)
    recording = None
    host: float = UNKNOWN
    with contextlib.suppress(Error, OSError, RuntimeError, ImportError):
        memory = MemoryProfiler(stacks=True)
        with memory.track("call"):
            fn()
        host, recording = memory.get_peak_analysis()["peak_allocated_mb"], memory
    if cuda:
        synchronize(torch)
        cuda.reset_peak_memory_stats()
        fn()
        synchronize(torch)
        return cuda.max_memory_allocated() / MB + _pools(cuda)[1], recording
    return host, recording


class TorchCompileAnalyzer:
    def __init__(self, backend: str = "inductor", mode: str = "default", output_dir: str | os.PathLike[str] | None = None,
                 capture_logs: bool = True) -> None:
        """output_dir: where logs of the compiler stay; None: they are not kept."""
        self.backend = backend
        self.mode = mode
        self.output_dir = None if output_dir is None else os.fspath(output_dir)
        self.capture_logs = capture_logs  # the log stays in output_dir/MODE

    def analyze(self, model: Callable[..., Any], inputs: Any, warmup: int = 3, iterations: int = 10) -> CompileReport:
        """Analyses a model. `inputs`: a value, a tuple or list of them, or a dict of keyword arguments."""
        return self._analyze(model, inputs, self.mode, warmup, iterations)

    def compare_modes(self, model: Callable[..., Any], inputs: Any, modes: list[str] | tuple[str, ...] = MODES, warmup: int = 3,
                      iterations: int = 10) -> dict[str, CompileReport]:
        """Returns one report per mode, each from a clean state. If a mode fails, `error` has the reason."""
        reports = {}
        for mode in modes:
            try:
                reports[mode] = self._analyze(model, inputs, mode, warmup, iterations)
            except Exception as why:
                reports[mode] = CompileReport(backend=self.backend, mode=mode, total_graph_breaks=UNKNOWN, error=str(why).split("\n")[0], recommendations=[f"Mode failed: {why}"])
        return reports

    def _analyze(self, model: Callable[..., Any], inputs: Any, mode: str, warmup: int, iterations: int) -> CompileReport:
        import torch
        import torch._dynamo  # noqa: F401 (torch imports it late)

        if iterations < 1 or warmup < 0:
            raise ValueError("iterations is at least 1, warmup at least 0")
        report = CompileReport(backend=self.backend, mode=mode)
        eager = _call(model, inputs)
        for _ in range(warmup):
            eager()
        report.timing["eager_ms"] = spread(timed(torch, eager, iterations))
        report.eager_peak_memory_mb, eager_recording = _peak(torch, eager)
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tidemark-compile-"))
            if self.capture_logs and self.output_dir is not None:
                folder = os.path.join(self.output_dir, mode)
                os.makedirs(folder, exist_ok=True)
                for old in glob.glob(os.path.join(glob.escape(folder), "dedicated_log_torch_trace_*.log")):
                    os.unlink(old)
            stack.enter_context(_fresh(torch))
            with _log(folder):
                how: dict[str, Any] = {"mode": mode} if self.backend == "inductor" else {}
                compiled = _call(torch.compile(model, backend=self.backend, **how), inputs)
                first = timed(torch, compiled, 1)[0]
                for _ in range(warmup):
                    compiled()
                report.timing["compiled_ms"] = spread(timed(torch, compiled, iterations))
                report.peak_memory_mb, recording = _peak(torch, compiled)
                report.cudagraph_pool_mb = _pools(torch.cuda)[0] if device(torch) else UNKNOWN
            report.timing["first_call_ms"] = spread([first])
            self._counted(torch, report)
            self._logged(report, folder)
        if eager_recording and recording and eager_recording.path != recording.path:  # the same: both joined the recording in progress
            report.memory_diff = compare_memory(eager_recording.path, recording.path)
        _finish(report)
        return report

    def _counted(self, torch: Any, report: CompileReport) -> None:
        counters = torch._dynamo.utils.counters["inductor"]
        if device(torch):
            report.cudagraph_skips = int(counters["cudagraph_skips"])
            with contextlib.suppress(Exception):
                from torch._inductor import cudagraph_trees

                manager = cudagraph_trees.get_container(torch.cuda.current_device()).tree_manager
                report.cudagraph_recordings = int(manager.new_graph_id().id) if manager else 0

    def _logged(self, report: CompileReport, folder: str) -> None:
        if not os.listdir(folder):
            return  # nothing was compiled, or the backend has no log
        got = report_of("compile", folder)
        report.compile_time_ms = got["compile_ns"] / 1e6
        report.total_graph_breaks = got["graph_breaks"]
        report.graph_breaks = [CompileBreak(b["reason"] or "", b["location"], figure(b["line_number"]), b["suggestion"], b["count"], b["retrace_ns"] / 1e6,
                                            b["resume_ns"] / 1e6, b["hint"]) for b in got["graph_breaks_list"]]
        report.fused_kernels, report.ops_before_fusion, report.ops_after_fusion = (figure(got[k]) for k in ("kernels", "ops_before_fusion", "ops_after_fusion"))
        report.fusion_ratio = figure(got["fusion_ratio"])
        report.recompiles, report.stages, report.caches = got["recompiles_list"], got["stages"], got["caches"]
        report.recommendations = [r["text"] for r in got["recommendations"]]

    def export_report(self, report: CompileReport, path: str | os.PathLike[str], format: str = "json") -> str:
        if format not in ("json", "html"):
            raise ValueError(f"format is 'json' or 'html', not {format!r}")
        text = json.dumps(data_of(_document(report)), indent=2) if format == "json" else _page(report)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return os.fspath(path)


def _finish(r: CompileReport) -> None:
    r.eager_time_ms, r.compiled_time_ms = r.timing["eager_ms"]["median"], r.timing["compiled_ms"]["median"]
    r.speedup = r.eager_time_ms / r.compiled_time_ms if r.compiled_time_ms else UNKNOWN
    r.memory_savings_mb = r.eager_peak_memory_mb - r.peak_memory_mb
    say = []
    if r.backend == "inductor" and not r.fused_kernels and not r.ops_after_fusion:
        say.append("No code was generated: both times are those of eager code.")
    elif known(r.speedup) and r.speedup < 1.0:
        other = "" if r.mode == "reduce-overhead" or r.backend != "inductor" else " Consider using mode='reduce-overhead' for inference."
        say.append(f"Compiled code is slower ({r.speedup:.2f}x). This can happen with small inputs or high compilation overhead.{other}")
    elif known(r.speedup) and r.speedup < 1.2:
        other = "" if r.mode == "max-autotune" or r.backend != "inductor" else " Try mode='max-autotune' for potentially better optimization."
        say.append(f"Modest speedup ({r.speedup:.2f}x).{other}")
    elif known(r.speedup) and r.speedup >= 2.0:
        say.append(f"Excellent speedup ({r.speedup:.2f}x)! torch.compile is working well for this workload.")
    if known(r.memory_savings_mb) and r.memory_savings_mb < min(-0.1, -0.05 * r.eager_peak_memory_mb):
        say.append(f"Compiled code needs {-r.memory_savings_mb:.1f} MB more at its peak than eager ({r.peak_memory_mb:.1f} against "
                   f"{r.eager_peak_memory_mb:.1f} MB); memory_diff lists the allocations.")
    r.recommendations = [*say, *r.recommendations] or ["No significant issues detected."]


def _document(r: CompileReport) -> dict[str, Any]:
    breaks = [{"reason": b.reason, "location": b.location, "line_number": b.line_number, "suggestion": b.suggestion, "count": b.count,
               "retrace_ms": b.retrace_ms, "resume_ms": b.resume_ms, "hint": b.hint} for b in r.graph_breaks[:10]]
    return {**kept_as("compile"), "compilation": {"compile_time_ms": r.compile_time_ms, "backend": r.backend, "mode": r.mode},
            "graph_breaks": {"total": r.total_graph_breaks, "breaks": breaks},
            "fusion": {"ops_before": r.ops_before_fusion, "ops_after": r.ops_after_fusion, "ratio": r.fusion_ratio, "kernels": r.fused_kernels},
            "performance": {"eager_time_ms": r.eager_time_ms, "compiled_time_ms": r.compiled_time_ms, "speedup": r.speedup, "spread": r.timing},
            "memory": {"peak_mb": r.peak_memory_mb, "eager_peak_mb": r.eager_peak_memory_mb, "savings_mb": r.memory_savings_mb},
            "recompiles": r.recompiles, "caches": r.caches, "stages": r.stages[:20], "cudagraphs": {"skips": r.cudagraph_skips, "recordings": r.cudagraph_recordings, "pool_mb": r.cudagraph_pool_mb},
            "recommendations": r.recommendations, "error": r.error}


def _page(r: CompileReport) -> str:
    colour = "" if not known(r.speedup) else "green" if r.speedup >= 1.2 else "amber" if r.speedup >= 1.0 else "red"

    def ms(v: float) -> str:
        return "unknown" if not known(v) else f"{v:.3f} ms" if v < 1000 else f"{v / 1000:.1f} s"

    rows = [("Speedup", "unknown" if not known(r.speedup) else f"<b class={colour}>{r.speedup:.2f}x</b>"), ("Eager", ms(r.eager_time_ms)),
            ("Compiled", ms(r.compiled_time_ms)), ("Compile time", ms(r.compile_time_ms)), ("Graph breaks", str(r.total_graph_breaks)),
            ("Fusion", "unknown" if not known(r.fusion_ratio) else f"{r.ops_before_fusion} ops, {r.ops_after_fusion} calls: {r.fusion_ratio:.1f}x")]
    breaks = [[b.count, f"{b.location}:{b.line_number}", b.reason, b.suggestion] for b in r.graph_breaks]
    stages = [[s["stage"], s["count"], s["self_ns"] / 1e6] for s in r.stages[:15]]
    return report_page(f"torch.compile, mode {r.mode}", rows, [("Graph breaks", ["Count", "Place", "Reason", "Suggestion"], breaks),
                                                              ("Stages", ["Stage", "Count", "Self (ms)"], stages)], r.recommendations)
