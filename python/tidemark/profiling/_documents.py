# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Documents that the classes export, and reading them again: for compare_sessions() with yesterday's session, or a page of a stored report."""
from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from .._native import Error
from .._unknown import figure
from .hta import HTAReport
from .profiler import KernelInfo, ProfileSession
from .torch_compile import CompileBreak, CompileReport

_BY_MEMBER = (("temporal_breakdown", "hta"), ("compilation", "compile"), ("peak_analysis", "memory"), ("timing", "session"))  # of documents without `report`


def read_report(path: str | os.PathLike[str]) -> HTAReport | CompileReport | ProfileSession | dict[str, Any]:
    """Returns a report that one of the classes exported as JSON, also one of the suites whose members they have: an HTAReport, a CompileReport, a
    ProfileSession (export_summary), or the dict of MemoryProfiler.export. What the document lacks, and its nulls, are UNKNOWN. Raises tidemark.Error
    if it is none of these."""
    name = os.fspath(path)
    try:
        with open(name, encoding="utf-8") as file:
            document = json.load(file)
    except (OSError, ValueError) as why:
        raise Error(f"{name}: {why}") from why
    if not isinstance(document, dict):
        raise Error(f"{name}: a report is a JSON object, not {type(document).__name__}")
    kind = document.get("report") or next((kind for member, kind in _BY_MEMBER if member in document), None)
    if kind not in _READERS:
        raise Error(f"{name}: not a report of tidemark.profiling; traces and recordings are read by tidemark.open()")
    read: Callable[[dict[str, Any]], HTAReport | CompileReport | ProfileSession | dict[str, Any]] = _READERS[kind]
    try:
        return read(document)
    except (AttributeError, KeyError, TypeError, ValueError) as why:
        raise Error(f"{name}: a damaged {kind} report: {type(why).__name__}: {why}") from why


def figures_of(value: Any) -> Any:
    """Returns a document's value with UNKNOWN for each null."""
    if isinstance(value, dict):
        return {k: figures_of(v) for k, v in value.items()}
    if isinstance(value, list):
        return [figures_of(v) for v in value]
    return figure(value)


def _hta(d: dict[str, Any]) -> HTAReport:
    shares, kernels, comm, memory = (d.get(k, {}) for k in ("temporal_breakdown", "kernel_analysis", "communication", "memory"))
    return HTAReport(
        gpu_idle_time_pct=figure(shares.get("gpu_idle_pct")), compute_time_pct=figure(shares.get("compute_pct")),
        communication_time_pct=figure(shares.get("communication_pct")), memory_time_pct=figure(shares.get("memory_pct")),
        top_kernels=kernels.get("top_kernels", []), kernel_launch_stats=figures_of(kernels.get("launch_stats", {})),
        comm_breakdown=figures_of(comm.get("breakdown", {})), collective_ops=comm.get("collective_ops", []),
        memory_bandwidth_gbps=figure(memory.get("bandwidth_gbps")), memory_efficiency_pct=figure(memory.get("efficiency_pct")),
        recommendations=d.get("recommendations", []), bottlenecks=d.get("bottlenecks", []), why=d.get("why"))


def _compile(d: dict[str, Any]) -> CompileReport:
    breaks = [CompileBreak(b["reason"], b.get("location"), figure(b.get("line_number")), b.get("suggestion", ""), b.get("count", 1), b.get("retrace_ms", 0.0),
                           b.get("resume_ms", 0.0), b.get("hint")) for b in d.get("graph_breaks", {}).get("breaks", [])]
    how, fusion, speed, memory, graphs = (d.get(k, {}) for k in ("compilation", "fusion", "performance", "memory", "cudagraphs"))
    return CompileReport(
        compile_time_ms=figure(how.get("compile_time_ms")), backend=how.get("backend", ""), mode=how.get("mode", ""), graph_breaks=breaks,
        total_graph_breaks=figure(d.get("graph_breaks", {}).get("total")), fused_kernels=figure(fusion.get("kernels")),
        ops_before_fusion=figure(fusion.get("ops_before")), ops_after_fusion=figure(fusion.get("ops_after")), fusion_ratio=figure(fusion.get("ratio")),
        peak_memory_mb=figure(memory.get("peak_mb")), eager_peak_memory_mb=figure(memory.get("eager_peak_mb")), memory_savings_mb=figure(memory.get("savings_mb")),
        eager_time_ms=figure(speed.get("eager_time_ms")), compiled_time_ms=figure(speed.get("compiled_time_ms")), speedup=figure(speed.get("speedup")),
        recommendations=d.get("recommendations", []), recompiles=d.get("recompiles", []), stages=d.get("stages", []), caches=d.get("caches", {}),
        cudagraph_skips=figure(graphs.get("skips")), cudagraph_recordings=figure(graphs.get("recordings")), cudagraph_pool_mb=figure(graphs.get("pool_mb")),
        timing=speed.get("spread", {}), error=d.get("error"))


def _kernel(k: dict[str, Any]) -> KernelInfo:
    us = figure(k["duration_us"])
    return KernelInfo(k["name"], us, us, figure(k.get("cpu_time_us")), figure(k.get("device_index")), figure(k.get("stream")), tuple(k.get("grid") or ()) or None,
                      tuple(k.get("block") or ()) or None, figure(k.get("registers_per_thread")), figure(k.get("shared_memory_bytes")), k.get("call_count", 1))


def _session(d: dict[str, Any]) -> ProfileSession:
    timing, memory = d["timing"], d.get("memory", {})
    return ProfileSession(
        name=d.get("name", ""), iterations=d.get("iterations", 1), total_time_ms=figure(timing.get("total_ms")), cuda_time_ms=figure(timing.get("cuda_ms")),
        cpu_time_ms=figure(timing.get("cpu_ms")), peak_memory_mb=figure(memory.get("peak_mb")), allocated_memory_mb=figure(memory.get("allocated_mb")),
        reserved_memory_mb=figure(memory.get("reserved_mb")), kernels=[_kernel(k) for k in d.get("kernels", [])], kernel_summary=d.get("kernel_summary", {}),
        bottlenecks=d.get("bottlenecks", []), recommendations=d.get("recommendations", []), device_name=d.get("device", ""), timestamp=d.get("timestamp", ""),
        recorder=d.get("recorder", ""), has_gpu_time=timing.get("cuda_ms") is not None, has_cpu_time=timing.get("cpu_ms") is not None)


def _memory(d: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = figures_of({k: d[k] for k in ("timeline", "peak_analysis", "markers")})
    return found


_READERS: dict[str, Any] = {"hta": _hta, "compile": _compile, "session": _session, "memory": _memory}
