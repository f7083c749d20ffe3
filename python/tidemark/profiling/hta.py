# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Breaks down device time: compute, communication, memory, idle; over wall intervals, computed by the engine."""
from __future__ import annotations

import dataclasses
import html
import json
import os
import re
from collections.abc import Callable
from typing import Any

from .._kinds import WORK_COLORS
from .._trace import Trace, report_of
from .._unknown import UNKNOWN, data_of, known
from ._recording import record_block
from ._source import file_name, finished, kept_as, output_folder, report_page, synchronize, trace_of


@dataclasses.dataclass
class HTAReport:
    """Percentages are of the device's window (first start to last end of its work); UNKNOWN: the trace has no device work."""

    gpu_idle_time_pct: float = UNKNOWN
    compute_time_pct: float = UNKNOWN
    communication_time_pct: float = UNKNOWN
    memory_time_pct: float = UNKNOWN
    top_kernels: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    kernel_launch_stats: dict[str, Any] = dataclasses.field(default_factory=dict)
    comm_breakdown: dict[str, Any] = dataclasses.field(default_factory=dict)
    collective_ops: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    memory_bandwidth_gbps: float = UNKNOWN
    memory_efficiency_pct: float = UNKNOWN  # part of the copies' time in which the device also did other work; UNKNOWN: no copies
    recommendations: list[str] = dataclasses.field(default_factory=list)
    bottlenecks: list[str] = dataclasses.field(default_factory=list)
    raw_analysis: dict[str, Any] = dataclasses.field(default_factory=dict)
    why: str | None = None  # why figures of the device are UNKNOWN


def _sum(ranks: list[dict[str, Any]], key: str) -> int:
    return sum(r[key] for r in ranks)


def _copies(ranks: list[dict[str, Any]]) -> float:
    """Returns the mean bandwidth of all copies whose bytes are known."""
    rows = [c for r in ranks for c in r.get("copies", []) if c.get("bytes") and c.get("sum_ns")]
    return sum(c["bytes"] for c in rows) / sum(c["sum_ns"] for c in rows) if rows else UNKNOWN


def _hidden(ranks: list[dict[str, Any]]) -> float:
    """Returns the percentage of copy and fill time in which the device also computed or communicated; UNKNOWN without copies."""
    sets = [s for r in ranks for s in r.get("type_sets", []) if "memory" in s["types"]]
    whole = sum(s["time_ns"] for s in sets)
    return 100 * sum(s["time_ns"] for s in sets if len(s["types"]) > 1) / whole if whole else UNKNOWN


def plain(text: str) -> str:
    """Returns the text with runs of blanks merged."""
    return re.sub(r"\s+", " ", text).strip()


def hta_of(trace: Trace | str) -> HTAReport:
    """Returns the report of an open trace, or of a path, which may be a folder of ranks."""
    raw = trace.ask("hta") if isinstance(trace, Trace) else report_of("hta", trace)
    ranks = [r for r in raw["ranks"] if r.get("kernel_time_ns")]
    kernels = trace.ask("kernels") if isinstance(trace, Trace) else report_of("kernels", trace)
    rows = kernels["kernels"]
    report = HTAReport(raw_analysis=raw)
    window = _sum(ranks, "kernel_time_ns")
    if window:
        report.gpu_idle_time_pct = 100 * _sum(ranks, "idle_ns") / window
        report.compute_time_pct = 100 * _sum(ranks, "compute_ns") / window
        report.communication_time_pct = 100 * _sum(ranks, "communication_ns") / window
        report.memory_time_pct = 100 * _sum(ranks, "memory_ns") / window
    report.top_kernels = [{"name": k["name"], "time_us": k["sum_ns"] / 1000, "duration_us": k["sum_ns"] / 1000, "count": k["count"], "pct": k["pct"]}
                          for k in rows[:20]]
    compute = [k for k in rows if k["type"] != "memory"]
    launched = sum(k["count"] for k in compute)
    report.kernel_launch_stats = {"total_kernels": launched, "unique_kernels": len(compute),
                                  "avg_kernel_time_us": sum(k["sum_ns"] for k in compute) / launched / 1000 if launched else UNKNOWN}
    overlap = _sum(ranks, "comm_comp_overlap_ns")
    communication = _sum(ranks, "communication_ns")
    report.comm_breakdown = {"communication_us": communication / 1000, "overlapped_us": overlap / 1000, "exposed_us": (communication - overlap) / 1000,
                             "overlap_pct": 100 * overlap / communication if communication else UNKNOWN}
    if not ranks:
        report.comm_breakdown = dict.fromkeys(report.comm_breakdown, UNKNOWN)
    report.collective_ops = [c for r in ranks for c in r.get("collectives", [])]
    report.memory_bandwidth_gbps, report.memory_efficiency_pct = _copies(ranks), _hidden(ranks)
    report.recommendations = [plain(r["text"] if isinstance(r, dict) else r) for r in raw.get("recommendations", [])]
    report.bottlenecks = [plain(b["text"] if isinstance(b, dict) else b) for b in raw.get("bottlenecks", [])]
    if not ranks:
        report.why = "; ".join(raw.get("notes", [])) or "the trace has no device work: its figures are unknown"
        report.recommendations.append(f"{report.why[:1].upper()}{report.why[1:]}. `tidemark ops`, `flame` and `timeline` show the host's time.")
    return report


class HTAAnalyzer:
    def __init__(self, output_dir: str | os.PathLike[str] | None = None) -> None:
        """output_dir: where traces go; None: a temporary folder, removed when the process ends."""
        self.output_dir = output_folder(output_dir, "hta")

    def analyze_trace(self, trace: Any) -> HTAReport:
        """Analyses a path (file, folder of ranks, recording), a Trace, or a torch.profiler object."""
        with trace_of(trace) as path:
            return hta_of(trace if isinstance(trace, Trace) else path)

    def profile_and_analyze(self, fn: Callable[..., Any], *args: Any, name: str = "profile", warmup: int = 3, iterations: int = 10, **kwargs: Any) -> HTAReport:
        """Profile `iterations` calls after `warmup` ones; the trace stays in output_dir as NAME.tide."""
        import torch

        for _ in range(warmup):
            finished(fn(*args, **kwargs))
        os.makedirs(self.output_dir, exist_ok=True)
        with record_block(os.path.join(os.path.abspath(self.output_dir), f"{file_name(name)}.tide"), name=name) as recording:
            for _ in range(iterations):
                finished(fn(*args, **kwargs))
            synchronize(torch)
        return self.analyze_trace(recording.path)

    def export_report(self, report: HTAReport, path: str | os.PathLike[str], format: str = "json") -> str:
        document = {
            **kept_as("hta"),
            "temporal_breakdown": {"gpu_idle_pct": report.gpu_idle_time_pct, "compute_pct": report.compute_time_pct,
                                   "communication_pct": report.communication_time_pct, "memory_pct": report.memory_time_pct},
            "kernel_analysis": {"top_kernels": report.top_kernels[:10], "launch_stats": report.kernel_launch_stats},
            "communication": {"breakdown": report.comm_breakdown, "collective_ops": report.collective_ops[:10]},
            "memory": {"bandwidth_gbps": report.memory_bandwidth_gbps, "efficiency_pct": report.memory_efficiency_pct},
            "recommendations": report.recommendations, "bottlenecks": report.bottlenecks, "why": report.why,
        }
        if format not in ("json", "html"):
            raise ValueError(f"format is 'json' or 'html', not {format!r}")
        text = json.dumps(data_of(document), indent=2) if format == "json" else _page(report)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return os.fspath(path)


def _doughnut(parts: list[tuple[str, float, str]]) -> str:
    """Returns arcs of a circle as SVG, drawn without a script."""
    at, arcs = 0.0, []
    for name, pct, colour in parts:
        arcs.append(f"<circle r=60 cx=80 cy=80 fill=none stroke='{colour}' stroke-width=30 pathLength=100 stroke-dasharray='{pct:.3f} {100 - pct:.3f}' "
                    f"stroke-dashoffset='{-at:.3f}'><title>{html.escape(name)} {pct:.1f} %</title></circle>")
        at += pct
    legend = "".join(f"<br><span style='color:{c}'>■</span> {html.escape(n)} {p:.1f} %" for n, p, c in parts)
    return f"<svg width=160 height=160 viewBox='0 0 160 160' role=img aria-label='device time'>{''.join(arcs)}</svg>{legend}"


def _page(r: HTAReport) -> str:
    rows: list[tuple[str, str]] = [("Device time", "unknown: the trace has no device work")]
    if known(r.gpu_idle_time_pct):
        hidden = (r.comm_breakdown.get("overlap_pct") or 0.0) / 100 * r.communication_time_pct  # the circle has 100 %
        exposed = r.communication_time_pct - hidden
        other = max(0.0, 100 - r.gpu_idle_time_pct - r.compute_time_pct - exposed)
        name = f"Communication ({r.communication_time_pct:.1f} %) not hidden by compute" if hidden else "Communication"
        rows = [("Device time", _doughnut([("Compute", r.compute_time_pct, WORK_COLORS["compute"]), ("Idle", r.gpu_idle_time_pct, "#9aa7b8"),
                                           (name, exposed, WORK_COLORS["communication"]), ("Other", other, WORK_COLORS["other"])]))]
    top = [[k["name"], k["time_us"], k["count"]] for k in r.top_kernels[:10]]
    return report_page("Device time", rows, [("Longest kernels", ["Kernel", "Time (us)", "Count"], top)], r.recommendations)
