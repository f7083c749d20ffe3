# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Flame graphs of profiler objects, traces, recordings and lists of kernels."""
from __future__ import annotations

import json
import os
import tempfile
from typing import Any

from .._native import Error
from .._trace import report_of
from ._source import trace_of, write_page

_KINDS = (  # first match
    (("gemm", "matmul"), "Matrix Multiply"), (("conv",), "Convolution"), (("softmax",), "Softmax"), (("relu", "gelu", "silu"), "Activation"),
    (("norm",), "Normalization"), (("attention",), "Attention"), (("elementwise", "pointwise"), "Elementwise"), (("reduce", "sum"), "Reduction"),
    (("copy", "memcpy"), "Memory Copy"), (("fill", "zero"), "Memory Fill"),
)
_ROOT = "GPU Execution"


def kernel_kind(name: str) -> str:
    """Returns the class of a kernel by its name."""
    low = name.lower()
    return next((kind for words, kind in _KINDS if any(w in low for w in words)), "Other")


def short_kernel(name: str) -> str:
    """Returns the part after the last ::, at most 60 characters; "unknown" if it is empty."""
    name = name.rsplit("::", 1)[-1] or "unknown"
    return name if len(name) <= 60 else name[:57] + "..."


def short_frame(name: str) -> str:
    """Returns the part after the last /, at most 50 characters."""
    name = name.rsplit("/", 1)[-1]
    return name if len(name) <= 50 else name[:47] + "..."


class FlameGraphGenerator:
    """Trees of {name, value (µs), children}. A node's value is its own part plus its children's."""

    def __init__(self, min_duration_us: float = 10.0, max_depth: int = 50, group_small_kernels: bool = True, small_kernel_threshold_pct: float = 1.0) -> None:
        self.min_duration_us = min_duration_us
        self.max_depth = max_depth
        self.group_small_kernels = group_small_kernels
        self.small_kernel_threshold_pct = small_kernel_threshold_pct

    def _options(self, kind: str | None) -> dict[str, Any]:
        return {"kind": kind, "max_depth": self.max_depth, "min_duration_us": self.min_duration_us,
                "group_small": self.small_kernel_threshold_pct if self.group_small_kernels else None}

    def _from(self, path: str, kind: str | None, root: str | None) -> dict[str, Any]:
        tree = report_of("flame", path, **self._options(kind))
        flame = _node(tree)
        if root:
            flame["name"] = root
        flame["kind"], flame["trace_path"] = tree.get("kind"), path
        warnings = [f"Ignored {value} malformed chrome trace event(s) in {path}" if key == "events_not_objects" else f"{key}: {value}"
                    for key, value in tree.get("losses", {}).items()]
        if warnings:
            flame["warnings"] = warnings
        return flame

    def from_profiler(self, prof: Any, root_name: str = _ROOT, kind: str | None = None) -> dict[str, Any]:
        """Returns the tree of a torch.profiler object: device work under the ops that launched it, or host time without device work, whose root is
        "CPU Execution" unless it is named."""
        with trace_of(prof) as path:
            flame = self._from(path, kind, root_name)
        if flame["kind"] == "cpu" and root_name == _ROOT:
            flame["name"] = "CPU Execution"
        return flame

    def from_chrome_trace(self, path: str | os.PathLike[str], kind: str | None = None) -> dict[str, Any]:
        """Returns the tree of a trace, plain or gzip, or of a recording. If it cannot be read, `error` has the reason, and there are no children."""
        try:
            return self._from(os.fspath(path), kind, None)
        except Error as why:
            return {"name": _ROOT, "value": 0, "children": [], "trace_path": os.fspath(path), "error": str(why)}

    def from_kernel_list(self, kernels: list[dict[str, Any]], root_name: str = "GPU Kernels") -> dict[str, Any]:
        """Returns the tree of [{name, time_us}] by class, then by name."""
        total = sum(float(k["time_us"]) for k in kernels)
        small = total * self.small_kernel_threshold_pct / 100 if self.group_small_kernels else 0.0
        kinds: dict[str, dict[str, float]] = {}
        for k in kernels:
            names = kinds.setdefault(kernel_kind(k["name"]), {})
            name = short_kernel(k["name"])
            names[name] = names.get(name, 0.0) + float(k["time_us"])
        children = []
        for kind, names in kinds.items():
            leaves = [{"name": n, "value": v, "children": []} for n, v in names.items() if v >= small and v >= self.min_duration_us]
            rest = sum(names.values()) - sum(float(str(leaf["value"])) for leaf in leaves)
            if rest > 1e-9:
                leaves.append({"name": "[small kernels]", "value": rest, "children": []})
            children.append({"name": kind, "value": sum(names.values()), "children": sorted(leaves, key=lambda n: -float(str(n["value"])))})
        return {"name": root_name, "value": total, "children": sorted(children, key=lambda n: -float(str(n["value"])))}

    def export(self, data: dict[str, Any], path: str | os.PathLike[str], format: str = "json") -> str:
        """Writes the tree as json, or as html: the program's page of this tree, as it is now (edited, cut, or of a trace that has gone)."""
        out = os.fspath(path)
        if format == "json":
            with open(out, "w", encoding="utf-8") as file:
                json.dump(data, file, indent=2)
        elif format == "html":
            kind = data.get("kind") or "gpu"
            with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
                trace = os.path.join(folder, "flame.json")
                with open(trace, "w", encoding="utf-8") as file:
                    json.dump({"traceEvents": _events(data, kind)}, file)
                write_page("flame", trace, out, "--kind", kind, "--max-depth", "1000", "--merge", "--by", "op")
        else:
            raise ValueError(f"format is 'json' or 'html', not {format!r}")
        return out


def _node(tree: dict[str, Any]) -> dict[str, Any]:
    return {"name": tree["name"], "value": tree["value"], "self": tree.get("self", 0), "children": [_node(c) for c in tree.get("children", [])]}


def _events(data: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Returns the tree as a trace whose flame graph of that kind it is. Spans of one thread nest as the nodes do; a node's own part is time in which no
    child runs (cpu), a kernel that its span launched (gpu), or an allocation in it (memory). A kernel without children needs no span of its own."""
    found: list[dict[str, Any]] = []
    at = device = 0  # the next free ns of the host and of the device
    steps: list[tuple[dict[str, Any], dict[str, Any], bool]] = [(data, {}, True)]
    while steps:
        node, around, begins = steps.pop()
        if not begins:
            around["dur"] = (at - round(1000 * around["ts"])) / 1000
            continue
        children = node.get("children") or []
        own = max(0.0, float(node["value"]) - sum(float(c["value"]) for c in children))
        ns, span = round(1000 * own), around
        if kind != "gpu" or children or not around:
            span = {"ph": "X", "cat": "cuda_runtime" if kind == "gpu" else "cpu_op", "name": node["name"], "ts": at / 1000, "pid": 1, "tid": 1,
                    "args": {"correlation": len(found) + 1}}
            found.append(span)
            steps.append((node, span, False))
            steps += [(c, span, True) for c in reversed(children)]
        if kind == "memory" and round(own):
            found.append({"ph": "i", "s": "t", "name": "[memory]", "ts": at / 1000, "pid": 1, "tid": 1,
                          "args": {"Bytes": round(own), "Addr": (len(found) + 1) << 40, "Device Type": 1, "Device Id": 0}})
        elif kind == "gpu" and ns:
            found.append({"ph": "X", "cat": "kernel", "name": node["name"], "ts": device / 1000, "dur": ns / 1000, "pid": 0, "tid": 7,
                          "args": {"device": 0, "stream": 7, "correlation": span["args"]["correlation"]}})
            device += ns
        at += ns if kind == "cpu" else 2
    return found
