# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The memory profile of a recording: snapshots, operations, tensors' lives, as one JSON document.

Everything is worked out from the recording, when it is asked for; nothing is kept while the program runs. So one source
gives every total, ids are rows of the recording (never used twice), memory is counted once by storage, an allocation
belongs to the operation that was open on its thread, and a killed process has a profile too.
"""
from __future__ import annotations

import bisect
import datetime
import heapq
import json
from typing import Any

from ._trace import Trace

OPERATION = 0x7469_6465_0000_0001  # number beside ops of track_operation
MODULE = 0x7469_6465_0000_0002  # and of module hooks
RESET = "tidemark.reset"  # checkpoint: earlier ones no longer count
MB = 1024 * 1024
NEVER = 2**63 - 1
LIVES = 10_000  # lifecycles in a profile: the largest tensors; how many are left out is said
TENSORS = 1_000  # tensors listed for a device in a snapshot: the largest; how many are left out is said
RECORDS = 200_000  # and in all snapshots of a device together
HUGE = 100 * MB

_DEVICES = {1: "cpu", 2: "cuda", 3: "hip", 4: "mps", 5: "xpu", 6: "mtia", 7: "tt"}
_ROLES = {1: "weight", 2: "gradient", 3: "optimizer", 4: "activation", 5: "input", 6: "temporary", 7: "buffer", 8: "kv_cache",
          9: "workspace"}
_DTYPES = {1: "float32", 2: "float16", 3: "bfloat16", 4: "float64", 5: "int8", 6: "int16", 7: "int32", 8: "int64", 9: "uint8",
           10: "uint16", 11: "uint32", 12: "uint64", 13: "bool", 14: "float8_e4m3fn", 15: "float8_e5m2", 16: "complex64",
           17: "complex128"}


def mb(n: int) -> float:
    return n / MB


def purpose(shape: list[int] | None, requires_grad: bool | None, role: int) -> str:
    """The role that was recorded; else guessed from the shape, first match."""
    if role in _ROLES:
        return _ROLES[role]
    if shape is None:
        return "unknown"
    numel = 1
    for d in shape:
        numel *= d
    if len(shape) == 5 and shape[0] > 4096:
        return "kv_cache"
    if requires_grad:
        return "weight" if numel > 1_000_000 else "gradient"
    if len(shape) == 2 and shape[0] > 10_000:
        return "embedding"
    return "buffer" if len(shape) >= 2 else "unknown"


class Profile:
    """A recording, indexed for the questions of the document."""

    def __init__(self, path: str) -> None:
        t = Trace(path).native
        self.wall = t.wall
        self.end = t.end
        self.size, self.born, self.died = (t.column("allocs", c) for c in ("size", "born", "died"))
        self.addr, self.span, self.freed_in = (t.column("allocs", c) for c in ("addr", "span", "free_span"))
        self._devices(t)
        self._tensors(t)
        self._spans(t)
        self._moves(t)
        self._checkpoints(t)

    # ---- indexing ----

    def _devices(self, t: Any) -> None:
        kinds, index = t.column("devices", "kind"), t.column("devices", "index")
        names = [_DEVICES.get(k, "other") + ("" if k == 1 else f":{i}") for k, i in zip(kinds, index)]
        pools = t.column("pools", "device")
        self.device = [names[pools[p]] if p else "unknown" for p in t.column("allocs", "pool")]

    def _tensors(self, t: Any) -> None:
        """What is known of each allocation: shape, dtype, requires_grad, role, name. The last description counts."""
        self.shape: dict[int, list[int]] = {}
        self.dtype: dict[int, str] = {}
        self.grad: dict[int, bool] = {}
        self.role: dict[int, int] = {}
        columns = [t.column("tensors", c) for c in ("alloc", "dims", "ndim", "dtype", "requires_grad", "role")]
        for alloc, dims, ndim, dtype, grad, role in list(zip(*columns))[1:]:
            self.shape[alloc] = t.dims(dims, ndim)
            if dtype in _DTYPES:
                self.dtype[alloc] = "torch." + _DTYPES[dtype]
            if grad < 2:
                self.grad[alloc] = grad == 1
            if role:
                self.role[alloc] = role

    def _spans(self, t: Any) -> None:
        self.t0, self.t1 = t.column("spans", "t0"), t.column("spans", "t1")
        self.name, self.parent = t.column("spans", "name"), t.column("spans", "parent")
        kinds = {s: n for s, n in zip(t.column("attrs", "span"), t.column("attrs", "number")) if n in (OPERATION, MODULE)}
        self.operations = [s for s, n in kinds.items() if n == OPERATION]
        self.modules = [s for s, n in kinds.items() if n == MODULE]
        chosen = set(self.operations)
        self.within = [0] * len(self.name)  # innermost operation around (or at) each span; parents come first
        for s in range(1, len(self.name)):
            self.within[s] = s if s in chosen else self.within[self.parent[s]]

    def _moves(self, t: Any) -> None:
        """Bytes and tensors alive after each move."""
        self.rows, self.kinds = t.column("moves", "row"), t.column("moves", "kind")
        self.times: list[int] = []
        self.bytes: list[int] = [0]
        self.counts: list[int] = [0]
        for row, kind in zip(self.rows, self.kinds):
            sign = (kind == 0) - (kind == 1)
            self.times.append(self.born[row] if kind == 0 else self.died[row] if kind == 1 else self.times[-1] if self.times else 0)
            self.bytes.append(self.bytes[-1] + sign * (self.size[row] if sign else 0))
            self.counts.append(self.counts[-1] + sign)

    def _checkpoints(self, t: Any) -> None:
        marks = list(zip(*(t.column("marks", c) for c in ("kind", "name", "t", "move"))))[1:]
        self.checkpoints = [(name, at, move) for kind, name, at, move in marks if kind == 2]
        cleared = [i for i, c in enumerate(self.checkpoints) if c[0] == RESET]
        if cleared:
            self.checkpoints = self.checkpoints[cleared[-1] + 1 :]

    # ---- parts of the document ----

    def iso(self, t: int) -> str | None:
        if self.wall is None:
            return None
        return datetime.datetime.fromtimestamp((self.wall + min(t, self.end)) / 1e9).isoformat()

    def operation_of(self, alloc: int) -> str:
        return self._operation(self.span[alloc])

    def _operation(self, span: int) -> str:
        s = self.within[span]
        return self.name[s] if s else "unknown"

    def tensor(self, alloc: int, persistent: bool) -> dict[str, Any]:
        shape, grad = self.shape.get(alloc), self.grad.get(alloc)
        what = purpose(shape, grad, self.role.get(alloc, 0))
        operation = self.operation_of(alloc)
        return {
            "tensor_id": alloc, "size_mb": mb(self.size[alloc]), "size_bytes": self.size[alloc], "shape": shape,
            "dtype": self.dtype.get(alloc), "device": self.device[alloc], "requires_grad": grad, "operation": operation,
            "allocated_by": operation, "purpose": what, "is_persistent": persistent,
            "is_reusable": what == "gradient" or (what == "buffer" and not grad),
        }

    def snapshots(self) -> list[dict[str, Any]]:
        out: list[dict[str, Any]] = []
        alive: dict[int, None] = {}
        seen: set[int] = set()
        done = 0
        for name, at, move in self.checkpoints:
            for i in range(done, move):
                if self.kinds[i] == 0:
                    alive[self.rows[i]] = None
                elif self.kinds[i] == 1:
                    alive.pop(self.rows[i], None)
            done = max(done, move)
            out.append(self._snapshot(name, at, alive, seen))
            seen.update(alive)
        return out

    def _snapshot(self, name: str, at: int, alive: dict[int, None], seen: set[int]) -> dict[str, Any]:
        """Totals of everything alive; records of the largest tensors of each device."""
        rows: dict[str, list[int]] = {}
        for a in alive:
            rows.setdefault(self.device[a], []).append(a)
        most = min(TENSORS, max(10, RECORDS // max(1, len(self.checkpoints))))
        devices: dict[str, dict[str, Any]] = {}
        for device, here in rows.items():
            total = sum(self.size[a] for a in here)
            largest = heapq.nlargest(most, here, key=self.size.__getitem__)
            devices[device] = {
                "total_mb": mb(total), "total_bytes": total, "count": len(here), "tensors_left_out": len(here) - len(largest),
                "tensors": [self.tensor(a, a in seen or self.size[a] > HUGE) for a in largest],
            }
        total = sum(d["total_bytes"] for d in devices.values())
        records = [r for d in devices.values() for r in d["tensors"]]
        return {
            "timestamp": self.iso(at), "checkpoint_name": name, "total_mb": mb(total), "total_bytes": total,
            "tensor_count": len(alive), "device_breakdown": devices,
            "top_allocations": heapq.nlargest(10, records, key=lambda r: r["size_bytes"]),
        }

    def invocation(self, s: int) -> dict[str, Any]:
        """One run of an operation: totals before and after, the highest point inside, what its thread took in it."""
        first, last = bisect.bisect_left(self.times, self.t0[s]), bisect.bisect_right(self.times, min(self.t1[s], self.end))
        taken, given = self._inside(s)
        pre, post = self.bytes[first], self.bytes[last]
        return {
            "memory_delta_mb": mb(post - pre), "tensor_delta": self.counts[last] - self.counts[first], "pre_total_mb": mb(pre),
            "post_total_mb": mb(post), "peak_total_mb": mb(max(self.bytes[first : last + 1])), "timestamp": self.iso(self.t0[s]),
            "duration_us": (min(self.t1[s], self.end) - self.t0[s]) / 1000, "tensors_allocated": len(taken),
            "tensors_deallocated": given, "tensors_accessed": None,
        }

    def _inside(self, s: int) -> tuple[list[int], int]:
        """Allocations made in the operation on its thread, operations inside it included; how many of them it freed."""
        if not hasattr(self, "_taken"):
            self._taken: dict[int, list[int]] = {}
            for alloc in range(1, len(self.size)):
                o = self.within[self.span[alloc]]
                while o:
                    self._taken.setdefault(o, []).append(alloc)
                    o = self.within[self.parent[o]]
        taken = self._taken.get(s, [])
        return taken, sum(1 for a in taken if self.died[a] <= self.t1[s])

    def by_operation(self) -> dict[str, list[int]]:
        out: dict[str, list[int]] = {}
        for s in self.operations:
            out.setdefault(self.name[s], []).append(s)
        return out

    def graph(self, names: dict[str, list[int]], runs: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
        children: dict[str, dict[str, None]] = {n: {} for n in names}
        for s in self.operations:
            outer = self.within[self.parent[s]]
            if outer:
                children[self.name[outer]][self.name[s]] = None
        out: dict[str, Any] = {}
        for n, spans in names.items():
            taken = [a for s in spans for a in self._inside(s)[0]]
            purposes = dict.fromkeys(purpose(self.shape.get(a), self.grad.get(a), self.role.get(a, 0)) for a in taken)
            out[n] = {
                "invocations": len(spans), "total_memory_delta_mb": sum(r["memory_delta_mb"] for r in runs[n]),
                "tensors_allocated": len(taken), "tensors_read": None, "tensors_written": None, "child_operations": list(children[n]),
                "tensor_details": {"allocated": list(purposes), "read": None},
            }
        return out

    def lives(self) -> tuple[dict[str, Any], int]:
        """Lifecycles of the largest tensors, and how many tensors are left out."""
        order = sorted(range(1, len(self.size)), key=lambda a: -self.size[a])
        out = {}
        for a in order[:LIVES]:
            r = self.tensor(a, self.size[a] > HUGE or self.died[a] == NEVER)
            events = [self._event(a, r, "allocated", r["operation"], self.born[a])]
            if self.died[a] != NEVER:
                events.append(self._event(a, r, "deallocated", self._operation(self.freed_in[a]), self.died[a]))
            out[str(a)] = {k: r[k] for k in ("purpose", "size_mb", "shape", "is_persistent", "is_reusable")} | {"events": events}
        return out, max(0, len(order) - LIVES)

    def _event(self, a: int, r: dict[str, Any], kind: str, operation: str, t: int) -> dict[str, Any]:
        return {"tensor_id": a, "event_type": kind, "operation": operation, "timestamp": self.iso(t), "size_mb": r["size_mb"],
                "shape": r["shape"]}

    def total_at(self, unix_ns: int) -> int | None:
        """Bytes alive at a moment; None: the recording does not tell its moments."""
        return None if self.wall is None else self.bytes[bisect.bisect_right(self.times, unix_ns - self.wall)]

    def alloc_at(self, addr: int, unix_ns: int) -> int | None:
        """The allocation that was alive at an address at a moment, or None."""
        if not hasattr(self, "_at"):
            self._at: dict[int, list[int]] = {}
            for a in range(1, len(self.addr)):
                self._at.setdefault(self.addr[a], []).append(a)
        if self.wall is None:
            return None
        t = unix_ns - self.wall
        for a in reversed(self._at.get(addr, [])):
            if self.born[a] <= t:
                return a if self.died[a] >= t else None
        return None


def document(p: Profile, pytorch_operations: list[dict[str, Any]], operation_log: list[dict[str, Any]]) -> dict[str, Any]:
    """The whole JSON document."""
    names = p.by_operation()
    runs = {n: [p.invocation(s) for s in spans] for n, spans in names.items()}
    snapshots = p.snapshots()
    lives, omitted = p.lives()
    deltas = {n: [r["memory_delta_mb"] for r in rows] for n, rows in runs.items()}
    return {
        "metadata": {
            "generated_at": datetime.datetime.now().isoformat(), "num_snapshots": len(snapshots), "operation_tracking_enabled": True,
            "pytorch_ops_tracking_enabled": bool(pytorch_operations), "tensor_lifecycle_tracking_enabled": True,
            "operation_log_enabled": bool(operation_log), "tensor_lifecycles_left_out": omitted,
        },
        "snapshots": snapshots,
        "operation_allocations": runs,
        "operation_summary": {
            n: {"invocation_count": len(d), "total_memory_delta_mb": round(sum(d), 2), "avg_memory_delta_mb": round(sum(d) / len(d), 2),
                "max_memory_delta_mb": round(max(d), 2)}
            for n, d in deltas.items()
        },
        "operation_graph": p.graph(names, runs),
        "tensor_lifecycle": lives,
        "pytorch_operations": pytorch_operations,
        "operation_log": operation_log,
    }


def write(value: Any, put: Any, pad: str = "", depth: int = 0) -> None:
    """JSON, indented by 2 down to the tensors; those are one line each, which the encoder of the standard library does in C."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if depth == 6 or not any(isinstance(v, (dict, list)) for v in items):
        put(json.dumps(value))
        return
    inner, last = pad + "  ", len(value) - 1
    put("{\n" if isinstance(value, dict) else "[\n")
    for i, item in enumerate(value):
        put(inner)
        if isinstance(value, dict):
            put(json.dumps(item) + ": ")
        write(value[item] if isinstance(value, dict) else item, put, inner, depth + 1)
        put(",\n" if i < last else "\n")
    put(pad + ("}" if isinstance(value, dict) else "]"))
