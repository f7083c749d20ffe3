# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Logs peaks, phases and findings of a recording to Weights & Biases, MLflow or TensorBoard.

    tidemark.loggers.wandb("run.tide")                  # into the run that wandb.init() began
    tidemark.loggers.mlflow("run.tide")                 # into the active run
    tidemark.loggers.tensorboard("run.tide", writer)    # a SummaryWriter

Each uses the public functions of its package alone, which it imports when it is called; where data go is that package's setting.
Names are the same everywhere. A figure that is not known is not logged.
"""
from __future__ import annotations

import importlib
import os
import re
from typing import Any

from ._native import Error
from ._trace import Trace
from ._trace import open as _open

_DEVICE = ("peak_bytes", "reserved_peak_bytes", "live_bytes", "capacity_bytes", "allocs")  # members of `memory`, per device
_PHASE = ("highest_bytes", "segment_peak_bytes", "segment_change_bytes", "cumulative_current_bytes")  # members of `phases`, per scope
_FINDING = ("severity", "area", "id", "figure", "value", "threshold", "text")


def _plain(name: str) -> str:
    """Returns the name with only those characters that every tracker takes."""
    return re.sub(r"[^A-Za-z0-9_\-. :]", "_", name) or "_"


def _phases(trace: Trace) -> list[dict[str, Any]]:
    """Returns a row per phase and device."""
    rows = []
    for i, phase in enumerate(trace.phases()["phases"]):
        for memory in phase["memory"]:
            m: dict[str, Any] = dict(memory)
            if m["scope"] == "device":
                name = phase["name"] if phase["name"] is not None else "(after the last phase)"
                rows.append({"phase": i + 1, "name": name, "device": m["device"], "duration_ns": phase["end_ns"] - phase["start_ns"], **{k: m[k] for k in _PHASE}})
    return rows


def _findings(trace: Trace) -> list[dict[str, Any]]:
    rows = []
    for finding in trace.advice()["findings"]:
        f: dict[str, Any] = dict(finding)
        rows.append({k: f[k] for k in _FINDING})
    return rows


def _numbers(trace: Trace, phases: list[dict[str, Any]], findings: list[dict[str, Any]]) -> dict[str, float]:
    out: dict[str, float] = {}

    def put(name: str, value: Any) -> None:
        if value is None:
            return
        at, n = name, 1
        while at in out:  # phases that repeat, or names that differ only in characters that are not allowed
            n += 1
            at = f"{name} {n}"
        out[at] = value

    for d in trace.memory()["devices"]:
        totals: dict[str, Any] = dict(d["totals"]) if d["totals"] else {}
        for k in _DEVICE:
            put(f"{k}/{_plain(d['device'])}", totals.get(k))
    for p in phases:
        for k in _PHASE:
            put(f"phase/{_plain(p['name'])}/{k}/{_plain(p['device'])}", p[k])
    for severity in ("high", "medium", "low", "info"):
        put(f"findings/{severity}", sum(f["severity"] == severity for f in findings))
    return out


class _Log:
    """Everything that is logged, with names below `prefix`."""

    def __init__(self, trace: Trace | str | os.PathLike[str], prefix: str) -> None:
        t = trace if isinstance(trace, Trace) else _open(trace)
        self.prefix = prefix.strip("/")
        self.tables = {"phases": _phases(t), "findings": _findings(t)}
        self.numbers = {f"{self.prefix}/{k}": v for k, v in _numbers(t, self.tables["phases"], self.tables["findings"]).items()}

    def columns(self, table: str) -> list[str]:
        return ["phase", "name", "device", "duration_ns", *_PHASE] if table == "phases" else list(_FINDING)


def figures(trace: Trace | str | os.PathLike[str], prefix: str = "tidemark") -> dict[str, float]:
    """Returns the numbers that are logged, by name: tidemark/peak_bytes/cuda:0, tidemark/phase/FORWARD/highest_bytes/cuda:0 ..."""
    return _Log(trace, prefix).numbers


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as e:
        raise Error(f"tidemark.loggers: {name} is not installed") from e


def wandb(trace: Trace | str | os.PathLike[str], run: Any = None, prefix: str = "tidemark") -> None:
    """Logs to a run of Weights & Biases: numbers, and tables of phases and findings. `run`: by default that of wandb.init()."""
    package = _package("wandb")
    to = run if run is not None else package.run
    if to is None:
        raise Error("tidemark.loggers.wandb: no run is active: call wandb.init() first")
    log = _Log(trace, prefix)
    tables = {f"{log.prefix}/{name}": package.Table(columns=log.columns(name), data=[[str(r[c]) if c in ("value", "threshold") else r[c] for c in log.columns(name)] for r in rows])
              for name, rows in log.tables.items() if rows}
    to.log({**log.numbers, **tables})


def mlflow(trace: Trace | str | os.PathLike[str], run_id: str | None = None, prefix: str = "tidemark", step: int | None = None) -> None:
    """Logs to a run of MLflow: metrics, and phases and findings as artifacts PREFIX/phases.json, PREFIX/findings.json. `run_id`: by default the active run."""
    package = _package("mlflow")
    log = _Log(trace, prefix)
    package.log_metrics(log.numbers, step=step, run_id=run_id)
    for name, rows in log.tables.items():
        package.log_dict({name: rows}, f"{log.prefix}/{name}.json", run_id=run_id)


def _markdown(columns: list[str], rows: list[dict[str, Any]]) -> str:
    def cell(v: Any) -> str:
        return "" if v is None else re.sub(r"([\\|<>*_`\[\]])", r"\\\1", str(v)).replace("\n", " ")

    return "\n".join(["|".join(columns), "|".join("---" for _ in columns), *("|".join(cell(r[c]) for c in columns) for r in rows)])


def tensorboard(trace: Trace | str | os.PathLike[str], writer: Any, prefix: str = "tidemark", step: int = 0) -> None:
    """Logs to a SummaryWriter of torch.utils.tensorboard, or one with the same methods: scalars, and tables of phases and findings as text."""
    log = _Log(trace, prefix)
    for name, value in log.numbers.items():
        try:
            writer.add_scalar(name, value, step, double_precision=True)  # 32 bits do not hold the bytes of a GPU exactly
        except TypeError:
            writer.add_scalar(name, value, step)
    for name, rows in log.tables.items():
        if rows:
            writer.add_text(f"{log.prefix}/{name}", _markdown(log.columns(name), rows), step)
    writer.flush()
