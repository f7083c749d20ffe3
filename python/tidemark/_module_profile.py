# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Makes the profile of a program that does not call the tracker itself: `tidemark run` with one setting is enough.

Its modules become the operations, calls of innermost modules become the log, and ops come from the recording. Values that only a
hook or torch's profiler sees (tensors in and out, input shapes, device time) are null.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from ._trace import Trace

PREFIX = "nn.Module: "  # names of ops that are module calls begin with this
MB = 1024 * 1024


def modules(t: Any, text: Callable[[int], str]) -> tuple[list[int], list[int]]:
    """Returns two lists of spans: calls of outermost modules and of modules with submodules, and calls of leaf modules."""
    names, parent = t.view("spans", "name"), t.view("spans", "parent")
    paths = {n: text(n)[len(PREFIX) :] for n in set(names) if text(n).startswith(PREFIX)}
    outer = {path[:i] for path in paths.values() for i, c in enumerate(path) if c == "."}
    inside = bytearray(len(names))  # 1: the span is a module call or inside one; parents come first
    operations, leaves = [], []
    for s, n in enumerate(names) if paths else ():
        within = s and inside[parent[s]]
        inside[s] = within or n in paths
        if n in paths:
            leaf = paths[n] not in outer
            if leaf:
                leaves.append(s)
            if not leaf or not within:
                operations.append(s)
    return operations, leaves


def entry(name: str, types: dict[str, str]) -> tuple[str, str | None, str]:
    """Returns a module call's name in the log, its type (None if unknown) and its path in the model."""
    root, _, path = name[len(PREFIX) :].partition(".")
    kind = types.get(name) or (None if path else root)
    return f"{kind or 'unknown'}.{path}", kind, path


def ops(trace: Trace, devices: list[str], own: Container[str]) -> list[dict[str, Any]]:
    """Returns the ops of the recording as torch's profiler would list them, without those of the tracker (`own`)."""
    def change(device: str) -> dict[str | None, int]:
        return {o["op"]: o["change_bytes"] or 0 for o in trace.ops(flat=True, device=device)["ops"]} if device in devices else {}

    accelerators = [d for d in devices if d.startswith(("cuda", "hip"))]
    cpu, others = change("cpu"), [change(d) for d in accelerators]
    return [
        {"op_name": o["op"], "count": o["count"], "cpu_time_us": None if o["wall_ns"] is None else o["wall_ns"] / 1000, "cuda_time_us": None,
         "cpu_memory_mb": cpu.get(o["op"], 0) / MB, "cuda_memory_mb": sum(d.get(o["op"], 0) for d in others) / MB if others else None,
         "input_shapes": None}
        for o in trace.ops(flat=True)["ops"] if o["op"] and not o["op"].startswith(PREFIX) and o["op"] not in own
    ]
