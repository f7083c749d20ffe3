# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Makes the tracker's JSON from its recording. Nothing here runs while the program does.

Every total comes from the recording's memory events; a storage counts once, for any number of views. Columns are read in
place: the largest additional data are three numbers for each memory event.
"""
from __future__ import annotations

import array
import bisect
import datetime
import heapq
import json
import marshal
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from . import _kinds, _module_profile, _tasks
from ._snapshots import HUGE, evenly, snapshots
from ._trace import Trace

OPERATION = 0x7469_6465_0000_0001  # number attached to ops of track_operation
MODULE = 0x7469_6465_8000_0000  # number attached to ops of module hooks: this + the entry's id
RESET = "tidemark.reset"  # name of the checkpoint that discards earlier ones
PART = "tidemark.part."  # begins the names of the marks of tidemark.profiling.MemoryProfiler, which are no checkpoints
MB = 1024 * 1024
NEVER = 2**63 - 1
OPERATIONS = 5_000  # limit of operations in a profile: those that changed memory most
RUNS = 20_000  # limit of records of their runs
LOG = 50_000  # limit of entries of the operation log
LIVES = 10_000  # limit of lifecycles, of the largest tensors; tensor_lifecycles_left_out counts the others

DEVICES = {n: text for n, text in _kinds.DEVICES.items() if text not in ("unknown", "other")}
ROLES = {n: text for n, text in _kinds.ROLES.items() if n}
_ROLES = ROLES | {1: "weight"}
SOURCES = {0: None, 1: "recorded"}  # rules of analyze/memory/roles.h: 0 no rule applies, 1 a label; any other rule is a conclusion
_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4,
          "uint64": 8, "bool": 1, "float8_e4m3": 1, "float8_e5m2": 1, "complex64": 8, "complex128": 16}
_TORCH = {"float8_e4m3": "float8_e4m3fn"}  # names that torch has instead
_DTYPES = {n: (_TORCH.get(text, text), _BYTES[text]) for n, text in _kinds.DTYPES.items() if text in _BYTES}
UNKNOWN = {
    "tensors_read": "counted where module hooks saw it (track_model_with_hooks); null: no hooked module ran in the operation",
    "tensors_written": "tensors that a hooked module returned and that were there before it ran; null as above",
    "tensors_accessed": "tensors_read and tensors_written together; null as above",
    "input_shapes": "of an op and of a module in the log; null: seen by track_pytorch_ops and track_model_with_hooks alone",
    "cuda_time_us": "null: no CUDA device, or ops from the recording (pytorch_operations_source)",
    "reserved_bytes": "null: a device without a caching allocator, or one that has not reported its total yet; else exact at the last sample",
    "borrowed_bytes": "storages over memory that is not PyTorch's (from_numpy), in no total; when the profile was saved; null: it was not saved by its program",
    "logical_bytes": "elements × element size of the tensors whose shape is known; logical_unknown counts the others",
}


def mb(n: int) -> float:
    return n / MB


def numel(shape: list[int]) -> int:
    n = 1
    for d in shape:
        n *= d
    return n


def device_names(t: Any) -> list[str]:
    """Returns the names of devices (cpu, cuda:0, mps:0 ...) by their row in the table."""
    kinds, indices, own = t.view("devices", "kind"), t.view("devices", "index"), t.column("devices", "name")
    word = re.compile(r"\w+", re.ASCII)  # a device of an unknown kind keeps its own name
    names = [DEVICES.get(k) or (own[row] if own[row] and word.fullmatch(own[row]) else "other") for row, k in enumerate(kinds)]
    return [name + ("" if k == 1 else f":{i}") for name, k, i in zip(names, kinds, indices)]


def purpose(shape: list[int] | None, requires_grad: bool | None, role: int) -> str:
    """Returns the recorded role, else a guess from the shape; the first match counts."""
    if role in _ROLES:
        return _ROLES[role]
    if shape is None:
        return "unknown"
    if len(shape) == 5 and shape[0] > 4096:
        return "kv_cache"
    if requires_grad:
        return "weight" if numel(shape) > 1_000_000 else "gradient"
    if len(shape) == 2 and shape[0] > 10_000:
        return "embedding"
    return "buffer" if len(shape) >= 2 else "unknown"


class Known(Mapping[int, "dict[str, Any]"]):
    """Input and output tensors of hooked modules, by the id of the log's entry; unpacked on access."""

    def __init__(self, packed: Iterable[tuple[int, bytes]]) -> None:
        self._packed = dict(packed)

    def __getitem__(self, number: int) -> dict[str, Any]:
        return dict(zip(("in", "out"), marshal.loads(self._packed[number])))

    def __iter__(self) -> Iterator[int]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)


class Profile:
    """A recording with the indexes that the document needs."""

    def __init__(self, path: str, types: dict[str, str] | None = None) -> None:
        """types: classes of modules by the name of their op, if the program still runs."""
        self.path = path
        self.whole = Trace(path)
        self.trace = t = self.whole.native  # kept alive: its columns are read in place
        self.types = types or {}
        self.wall = t.wall
        self.end = t.end
        self.size, self.born, self.died = (t.view("allocs", c) for c in ("size", "born", "died"))
        self.addr, self.span, self.freed_in = (t.view("allocs", c) for c in ("addr", "span", "free_span"))
        self._alloc_lane: memoryview = t.view("allocs", "lane")
        self._texts: dict[int, str] = {}
        self._logical: dict[int, int | None] = {}
        self._records: dict[tuple[int, bool], dict[str, Any]] = {}
        self._devices(t)
        self._tensors(t)
        self._spans(t)
        self._memory_events(t)
        self._checkpoints(t)
        self._reserved(t)

    def text(self, number: int) -> str:
        if number not in self._texts:
            self._texts[number] = self.trace.text(number)
        return self._texts[number]

    def annotated(self, key: str) -> int | None:
        """Returns a number that the program annotated, the last one."""
        marks = zip(self.trace.column("marks", "name"), self.trace.column("marks", "text"))
        texts = [text for name, text in marks if name == key]
        return int(texts[-1]) if texts else None

    # ---- indexing ----

    def _devices(self, t: Any) -> None:
        kinds, names = t.view("devices", "kind"), device_names(t)
        self._pools: list[str] = [names[d] if d else "unknown" for d in t.view("pools", "device")]
        self._pool: memoryview = t.view("allocs", "pool")
        self.devices = names[1:]
        self.accelerators = [n for n, k in zip(names[1:], kinds[1:]) if k > 1]

    def device(self, alloc: int) -> str:
        return self._pools[self._pool[alloc]]

    def _tensors(self, t: Any) -> None:
        """Indexes shape, dtype, requires_grad and role of each allocation. The last description counts."""
        self._last: dict[int, int] = {}
        self._roles: dict[int, int] = {}
        self._tensor = {c: t.view("tensors", c) for c in ("dims", "ndim", "dtype", "requires_grad")}
        for row, (alloc, role) in enumerate(zip(t.view("tensors", "alloc"), t.view("tensors", "role"))):
            if row:
                self._last[alloc] = row
                if role:
                    self._roles[alloc] = role

    def shape(self, alloc: int) -> list[int] | None:
        row = self._last.get(alloc)
        return self.trace.dims(self._tensor["dims"][row], self._tensor["ndim"][row]) if row else None

    def dtype(self, alloc: int) -> tuple[str, int] | None:
        row = self._last.get(alloc)
        return _DTYPES.get(self._tensor["dtype"][row]) if row else None

    def grad(self, alloc: int) -> bool | None:
        row = self._last.get(alloc)
        known = row and self._tensor["requires_grad"][row] < 2
        return self._tensor["requires_grad"][row] == 1 if known else None

    def role(self, alloc: int) -> int:
        return self._roles.get(alloc, 0)

    def logical(self, alloc: int) -> int | None:
        """Returns the bytes of the tensor's elements, without the allocator's rounding; None if unknown."""
        if alloc not in self._logical:
            shape, dtype = self.shape(alloc), self.dtype(alloc)
            self._logical[alloc] = None if shape is None or dtype is None else numel(shape) * dtype[1]
        return self._logical[alloc]

    def _spans(self, t: Any) -> None:
        self.t0, self.t1 = t.view("spans", "t0"), t.view("spans", "t1")
        self._name, self.parent, self._lane = t.view("spans", "name"), t.view("spans", "parent"), t.view("spans", "lane")
        self._thread = t.view("lanes", "number")
        self.operations: list[int] = []
        self.modules: dict[int, int] = {}  # entry of the log -> span
        self._first: dict[int, int] = {}  # operation of a task -> first part
        self._parts: dict[int, list[int]] = {}  # first part -> all parts
        for span, number in zip(t.view("attrs", "span"), t.view("attrs", "number")):
            if number == OPERATION:
                self.operations.append(span)
            elif number & ~_tasks.OWN & ~_tasks.AGAIN == _tasks.TASK | _tasks.TRACKED:
                self._part(span, number)
            elif number & ~0x7FFF_FFFF == MODULE:
                self.modules[number & 0x7FFF_FFFF] = span
        self.tracked = {self.name(s) for s in (*self.operations, *self.modules.values())}
        if not (self.operations and self.modules):
            calls, leaves = _module_profile.modules(t, self.text)
            self.operations = self.operations or calls
            self.modules = self.modules or dict(enumerate(leaves, 1))
        chosen, first = set(self.operations), {s: parts[0] for parts in self._parts.values() for s in parts}
        self.within = array.array("I", bytes(4 * len(self.t0)))  # innermost operation around (or at) each span; parents come first
        for s in range(1, len(self.t0)) if chosen else ():
            self.within[s] = s if s in chosen else first.get(s) or self.within[self.parent[s]]
        entry = {s: number for number, s in self.modules.items()}
        self.inside = array.array("I", bytes(4 * len(self.t0)))  # innermost entry of the log around (or at) each span, 0 = an operation is nearer
        for s in range(1, len(self.t0)) if entry else ():
            self.inside[s] = entry.get(s) or (0 if s in chosen else self.inside[self.parent[s]])

    def _part(self, span: int, number: int) -> None:
        """Adds a part of a task's operation. If its first part was lost, the operation begins with this one."""
        own = number & _tasks.OWN
        if not number & _tasks.AGAIN or own not in self._first:
            self._first[own] = span
            self.operations.append(span)
        self._parts.setdefault(self._first[own], []).append(span)

    def parts(self, operation: int) -> list[int]:
        return self._parts.get(operation) or [operation]

    def name(self, span: int) -> str:
        return self.text(self._name[span]).removeprefix(_module_profile.PREFIX)

    def thread(self, span: int) -> int:
        return int(self._thread[self._lane[span]])

    def until(self, span: int) -> int:
        return int(min(self.t1[span], self.end))

    def _memory_events(self, t: Any) -> None:
        """Computes live bytes and live tensors after each memory event."""
        self.rows, self.kinds = t.view("memory_events", "row"), t.view("memory_events", "kind")
        self.times, self.bytes, self.counts = array.array("q"), array.array("q", [0]), array.array("q", [0])
        now = total = count = 0
        for row, kind in zip(self.rows, self.kinds):
            if kind == 0:
                now, total, count = self.born[row], total + self.size[row], count + 1
            elif kind == 1:
                now, total, count = self.died[row], total - self.size[row], count - 1
            self.times.append(now)
            self.bytes.append(total)
            self.counts.append(count)

    def _checkpoints(self, t: Any) -> None:
        marks = list(zip(*(t.view("marks", c) for c in ("kind", "name", "t", "position", "value"))))[1:]
        marks = [m for m in marks if m[0] == 2 and not self.text(m[1]).startswith(PART)]
        self.checkpoints = [(self.text(name), at, position) for _, name, at, position, _ in marks]
        cleared = [i for i, c in enumerate(self.checkpoints) if c[0] == RESET]
        if cleared:
            self.checkpoints, marks = self.checkpoints[cleared[-1] + 1 :], marks[cleared[-1] + 1 :]
        self.own = [not m[4] and c[0].endswith("_pre") for c, m in zip(self.checkpoints, marks)]  # True: set by an operation; those of checkpoint() are numbered

    def _reserved(self, t: Any) -> None:
        """Indexes the reserved bytes of each device over time, as every report defines them."""
        from ._reports import reserved

        names = device_names(t)
        sources, steps = reserved(t.model())
        self._held: dict[str, tuple[list[int], list[int]]] = {}
        for device, source in zip(names, sources):
            if source:  # with segments the total is known from the start
                self._held[device] = ([-NEVER], [0]) if source == "segments" else ([], [])
        for at, row, total in steps:
            times, totals = self._held[names[row]]
            times.append(at)
            totals.append(total)

    def reserved(self, device: str, at: int) -> int | None:
        times, totals = self._held.get(device, ([], []))
        i = bisect.bisect_right(times, at)
        return totals[i - 1] if i else None

    # ---- parts of the document ----

    def unix(self, t: int) -> int | None:
        return None if self.wall is None else self.wall + min(t, self.end)

    def iso(self, t: int) -> str | None:
        at = self.unix(t)
        try:
            return None if at is None else datetime.datetime.fromtimestamp(at / 1e9).isoformat()
        except (OverflowError, ValueError, OSError):  # a year outside the calendar's range
            return None

    def operation_of(self, alloc: int) -> str:
        return self._operation(self.span[alloc])

    def _operation(self, span: int) -> str:
        s = self.within[span]
        return self.name(s) if s else "unknown"

    def tensor(self, alloc: int, persistent: bool) -> dict[str, Any]:
        """Returns the tensor's record: the same object for every snapshot that lists it."""
        key = alloc, persistent
        if key not in self._records:
            self._records[key] = self._record(alloc, persistent)
        return self._records[key]

    def _record(self, alloc: int, persistent: bool) -> dict[str, Any]:
        shape, grad, dtype = self.shape(alloc), self.grad(alloc), self.dtype(alloc)
        what = purpose(shape, grad, self.role(alloc))
        operation = self.operation_of(alloc)
        return {
            "tensor_id": alloc, "size_mb": mb(self.size[alloc]), "size_bytes": self.size[alloc], "logical_bytes": self.logical(alloc),
            "shape": shape, "dtype": "torch." + dtype[0] if dtype else None, "device": self.device(alloc), "requires_grad": grad,
            "operation": operation, "allocated_by": operation, "purpose": what,
            "purpose_source": "recorded" if self.role(alloc) else "guessed", "is_persistent": persistent,
            "is_reusable": what == "gradient" or (what == "buffer" and not grad),
        }

    def positions_of(self, s: int) -> tuple[int, int]:
        """Returns the number of memory events before a run of an operation, and until its end."""
        return bisect.bisect_left(self.times, self.t0[s]), bisect.bisect_right(self.times, self.until(s))

    def delta(self, s: int) -> int:
        positions = [self.positions_of(p) for p in self.parts(s)]
        return sum(self.bytes[last] - self.bytes[first] for first, last in positions)

    def invocation(self, s: int, seen: tuple[set[int], set[int]] | None) -> dict[str, Any]:
        """Returns the record of one run of an operation: totals before and after, the peak inside, allocations of its thread.
        An operation of a task counts only while the task runs."""
        parts = self.parts(s)
        positions = [self.positions_of(p) for p in parts]
        taken, given = self._inside(s)
        return {
            "memory_delta_mb": mb(self.delta(s)), "tensor_delta": sum(self.counts[last] - self.counts[first] for first, last in positions),
            "pre_total_mb": mb(self.bytes[positions[0][0]]), "post_total_mb": mb(self.bytes[positions[-1][1]]),
            "peak_total_mb": mb(max(max(self.bytes[first : last + 1]) for first, last in positions)), "timestamp": self.iso(self.t0[s]),
            "start_ns": self.unix(self.t0[s]), "duration_us": sum(self.until(p) - self.t0[p] for p in parts) / 1000, "thread": self.thread(s),
            "tensors_allocated": len(taken), "tensors_deallocated": given,
            "tensors_accessed": len(seen[0] | seen[1]) if seen else None,
        }

    def _inside(self, s: int) -> tuple[list[int], int]:
        """Returns the allocations made in the operation on its thread, nested operations included, and how many of them it freed."""
        if not hasattr(self, "_taken"):
            self._taken: dict[int, list[int]] = {}
            for alloc in range(1, len(self.size)) if self.operations else ():
                o = self.within[self.span[alloc]]
                while o:
                    self._taken.setdefault(o, []).append(alloc)
                    o = self.within[self.parent[o]]
        taken = self._taken.get(s, [])
        return taken, sum(1 for a in taken if self.died[a] <= self.t1[self.parts(s)[-1]])

    def outermost(self, spans: list[int]) -> list[int]:
        """Returns the runs that are not inside another run of the same operation: an operation that calls itself counts once."""
        of_name = set(spans)
        out = []
        for s in spans:
            o = self.within[self.parent[s]]
            while o and o not in of_name:
                o = self.within[self.parent[o]]
            if not o:
                out.append(s)
        return out

    def by_operation(self) -> dict[str, list[int]]:
        out: dict[str, list[int]] = {}
        for s in self.operations:
            out.setdefault(self.name(s), []).append(s)
        return out

    def graph(self, names: dict[str, list[int]], totals: dict[str, int],
              seen: dict[int, tuple[set[int], set[int]]]) -> dict[str, Any]:
        children: dict[str, dict[str, None]] = {n: {} for n in names}
        for s in self.operations:
            outer = self.within[self.parent[s]]
            if outer and self.name(outer) in names and self.name(s) in names:
                children[self.name(outer)][self.name(s)] = None
        out: dict[str, Any] = {}
        for n, spans in names.items():
            taken = [a for s in self.outermost(spans) for a in self._inside(s)[0]]
            watched = [seen[s] for s in spans if s in seen]
            read, written = set().union(*(w[0] for w in watched)), set().union(*(w[1] for w in watched))
            out[n] = {
                "invocations": len(spans), "total_memory_delta_mb": mb(totals[n]),
                "tensors_allocated": len(taken), "tensors_read": len(read) if watched else None,
                "tensors_written": len(written) if watched else None, "child_operations": list(children[n]),
                "tensor_details": {"allocated": self._purposes(taken), "read": self._purposes(sorted(read)) if watched else None},
            }
        return out

    def _purposes(self, allocs: list[int]) -> list[str]:
        """Returns each purpose once, in order of appearance. Tensors with the same properties are examined once."""
        looks: dict[tuple[int, int, int, int], int] = {}
        dims, ndim, grad = (self._tensor[c] for c in ("dims", "ndim", "requires_grad"))
        for a in allocs:
            row = self._last.get(a, 0)
            looks.setdefault((dims[row], ndim[row], grad[row], self._roles.get(a, 0)) if row else (0, 0, 0, 0), a)
        return list(dict.fromkeys(purpose(self.shape(a), self.grad(a), self.role(a)) for a in looks.values()))

    def lives(self, log: list[dict[str, Any]]) -> tuple[dict[str, Any], int]:
        """Returns the lifecycles of the largest tensors and the number of tensors left out."""
        from ._reports import roles

        order = heapq.nsmallest(LIVES, range(1, len(self.size)), key=lambda a: -self.size[a])
        touched = self._touched(set(order), log)
        role, rule = roles(self.trace.model())
        first, last = self._orders()
        out = {}
        for a in order:
            r = self.tensor(a, self.size[a] > HUGE or self.died[a] == NEVER)
            events = [self._event(a, r, "allocated", r["operation"], self.born[a]) | self._where(self.span[a], self._alloc_lane[a], first[a])]
            events += [self._event(a, r, kind, operation, t) for t, kind, operation in touched.get(a, ())]
            if self.died[a] != NEVER:
                span = self.freed_in[a]
                events.append(self._event(a, r, "deallocated", self._operation(span), self.died[a])
                              | self._where(span, self._lane[span], last[a]))
            out[str(a)] = {k: r[k] for k in ("purpose", "purpose_source", "size_mb", "size_bytes", "shape", "dtype", "device",
                                             "requires_grad", "is_persistent", "is_reusable")}
            out[str(a)] |= {"role": ROLES[role[a]] if role[a] else None, "role_source": SOURCES.get(rule[a], "concluded"), "events": events}
        return out, max(0, len(self.size) - 1 - len(order))

    def _orders(self) -> tuple[array.array[int], array.array[int]]:
        """Returns the index of each allocation's first and last memory event: events of the same time keep their order."""
        first, last = (array.array("q", bytes(8 * len(self.size))) for _ in range(2))
        for i, (row, kind) in enumerate(zip(self.rows, self.kinds)):
            if kind < 2:
                (last if kind else first)[row] = i
        return first, last

    def _where(self, span: int, lane: int, order: int) -> dict[str, Any]:
        return {"operation_id": self.inside[span] or None, "thread": int(self._thread[lane]) if lane else None, "order": order}

    def _touched(self, wanted: set[int], log: list[dict[str, Any]]) -> dict[int, list[tuple[int, str, str]]]:
        """Returns the reads and writes that module hooks saw, by tensor, in order."""
        out: dict[int, list[tuple[int, str, str]]] = {}
        for e in log:
            span = self.modules[e["operation_id"]]
            for a in dict.fromkeys(e["input_tensor_ids"]):
                if a in wanted:
                    out.setdefault(a, []).append((self.t0[span], "accessed_read", self._operation(span)))
            for a in dict.fromkeys(e["output_tensor_ids"]):
                if a in wanted and self.born[a] < self.t0[span]:
                    out.setdefault(a, []).append((self.until(span), "accessed_write", self._operation(span)))
        return out

    def _event(self, a: int, r: dict[str, Any], kind: str, operation: str, t: int) -> dict[str, Any]:
        return {"tensor_id": a, "event_type": kind, "operation": operation, "timestamp": self.iso(t), "time_ns": self.unix(t),
                "size_mb": r["size_mb"], "shape": r["shape"]}

    # ---- the log of module hooks ----

    def log(self, known: Mapping[int, dict[str, Any]], most: int = 0) -> list[dict[str, Any]]:
        """Returns all entries, or the latest `most`, in order of their start. `known` holds the tensors in and out by entry id; it
        exists only in the running Python process, so it is empty after kill -9."""
        order = sorted(self.modules.items(), key=lambda x: (self.t0[x[1]], x[0]))
        return [self._entry(number, s, known.get(number)) for number, s in order[-most:]]

    def _entry(self, number: int, s: int, e: dict[str, Any] | None) -> dict[str, Any]:
        name, start, end = self.text(self._name[s]), self.t0[s], self.until(s)
        kind: str | None
        kind, _, path = name.partition(".")
        if name.startswith(_module_profile.PREFIX):
            name, kind, path = _module_profile.entry(name, self.types)
        delta = self.bytes[bisect.bisect_right(self.times, end)] - self.bytes[bisect.bisect_left(self.times, start)]
        inputs, outputs = (e["in"], e["out"]) if e else ([], [])
        return {
            "operation_id": number, "timestamp": self.iso(start), "name": name, "module_type": kind, "module_name": path,
            "input_tensor_ids": [self.alloc_at(a, start) if a else None for a, _ in inputs],
            "output_tensor_ids": [self.alloc_at(a, end) if a else None for a, _ in outputs],
            "input_shapes": [x for _, x in inputs] if e else None, "output_shape": outputs[0][1] if outputs else None,
            "num_inputs": len(inputs) if e else None, "num_outputs": len(outputs) if e else None, "start_ns": self.unix(start),
            "end_ns": self.unix(end), "duration_us": (end - start) / 1000, "memory_delta_mb": mb(delta), "thread": self.thread(s),
        }

    def accesses(self, known: Mapping[int, dict[str, Any]]) -> dict[int, tuple[set[int], set[int]]]:
        """Returns the tensors that hooked modules read and wrote, for each run of an operation that contains one."""
        out: dict[int, tuple[set[int], set[int]]] = {}
        for number, e in known.items():
            span = self.modules.get(number, 0)
            o = self.within[span]
            if not o:
                continue
            took = [a for a in (self.alloc_at(at, self.t0[span]) for at, _ in e["in"] if at) if a]
            gave = [a for a in (self.alloc_at(at, self.until(span)) for at, _ in e["out"] if at) if a]
            wrote = [a for a in gave if self.born[a] < self.t0[span]]
            while o:
                read, written = out.setdefault(o, (set(), set()))
                read.update(took)
                written.update(wrote)
                o = self.within[self.parent[o]]
        return out

    def alloc_at(self, addr: int, t: int) -> int | None:
        """Returns the allocation that was alive at an address at time `t`, or None."""
        if not hasattr(self, "_at"):
            self._at: dict[int, list[int]] = {}
            for a in range(1, len(self.addr)):
                self._at.setdefault(self.addr[a], []).append(a)
            for rows in self._at.values():
                rows.sort(key=self.born.__getitem__)
        here = self._at.get(addr, [])
        i = bisect.bisect_right(here, t, key=lambda a: int(self.born[a]))  # an address holds one allocation at a time
        return here[i - 1] if i and self.died[here[i - 1]] >= t else None


def listed(names: dict[str, list[int]], deltas: dict[str, list[int]]) -> dict[str, list[int]]:
    """Returns the runs that get a record, by operation. If there are more than OPERATIONS, those that changed memory most are kept; if
    they have more than RUNS runs, evenly spaced runs with the last one are kept. An operation with few runs keeps them all."""
    most = heapq.nlargest(OPERATIONS, names, key=lambda n: max(map(abs, deltas[n])))
    left, out = RUNS, {}
    for i, n in enumerate(sorted(most, key=lambda n: len(names[n]))):
        out[n] = evenly(names[n], left // (len(most) - i))
        left -= len(out[n])
    return {n: out[n] for n in names if n in out}


def document(p: Profile, pytorch_operations: list[dict[str, Any]], known: Mapping[int, dict[str, Any]]) -> dict[str, Any]:
    """Returns the whole JSON document."""
    log = p.log(known, LOG)
    seen = p.accesses(known)
    every = p.by_operation()
    deltas = {n: [p.delta(s) for s in spans] for n, spans in every.items()}
    totals = {n: sum(p.delta(s) for s in p.outermost(spans)) for n, spans in every.items()}
    chosen = listed(every, deltas)
    names = {n: every[n] for n in chosen}
    shots = snapshots(p)
    source = "torch.profiler" if pytorch_operations else "recording"
    pytorch_operations = pytorch_operations or _module_profile.ops(p.whole, p.devices, p.tracked)
    lives, omitted = p.lives(log)
    return {
        "metadata": {
            "generated_at": datetime.datetime.now().isoformat(), "num_snapshots": len(shots), "operation_tracking_enabled": True,
            "pytorch_ops_tracking_enabled": bool(pytorch_operations), "tensor_lifecycle_tracking_enabled": True,
            "operation_log_enabled": bool(log), "snapshots_left_out": len(p.checkpoints) - len(shots),
            "operations_left_out": len(every) - len(names), "operation_runs_left_out": len(p.operations) - sum(map(len, chosen.values())),
            "operation_log_left_out": len(p.modules) - len(log), "tensor_lifecycles_left_out": omitted, "recording": p.path,
            "borrowed_bytes": p.annotated("borrowed.bytes"), "borrowed_storages": p.annotated("borrowed.storages"), "start_ns": p.unix(0), "end_ns": p.unix(p.end),
            "pytorch_operations_source": source if pytorch_operations else None, "unknown": UNKNOWN,
        },
        "snapshots": shots,
        "operation_allocations": {n: [p.invocation(s, seen.get(s)) for s in spans] for n, spans in chosen.items()},
        "operation_summary": {
            n: {"invocation_count": len(d), "total_memory_delta_mb": round(mb(totals[n]), 2),
                "avg_memory_delta_mb": round(mb(totals[n]) / len(d), 2), "max_memory_delta_mb": round(mb(max(d)), 2)}
            for n, d in ((n, deltas[n]) for n in names)
        },
        "operation_graph": p.graph(names, totals, seen),
        "tensor_lifecycle": lives,
        "pytorch_operations": pytorch_operations,
        "operation_log": log,
    }


def write(value: Any, put: Any) -> None:
    """Writes JSON, indented by 2 down to the tensors and their events, which are one line each. The standard library's C encoder
    writes each record once, for any number of snapshots that list it."""
    _write(value, put, "", {})


LINES = ("tensors", "top_allocations", "events")


def _write(value: Any, put: Any, pad: str, told: dict[int, str]) -> None:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not any(isinstance(v, (dict, list)) for v in items):
        put(json.dumps(value))
        return
    inner, last = pad + "  ", len(value) - 1
    put("{\n" if isinstance(value, dict) else "[\n")
    for i, item in enumerate(value):
        end = ",\n" if i < last else "\n"
        if not isinstance(value, dict):
            put(inner)
            _write(item, put, inner, told)
        elif item in LINES and isinstance(value[item], list):
            put(f"{inner}{json.dumps(item)}: ")
            _lines(value[item], put, inner, told)
        elif isinstance(value[item], (dict, list)):
            put(f"{inner}{json.dumps(item)}: ")
            _write(value[item], put, inner, told)
        else:
            put(f"{inner}{json.dumps(item)}: {json.dumps(value[item])}")
        put(end)
    put(pad + ("}" if isinstance(value, dict) else "]"))


def _lines(rows: list[Any], put: Any, pad: str, told: dict[int, str]) -> None:
    texts = []
    for r in rows:
        text = told.get(id(r))
        if text is None:
            text = json.dumps(r)
            if isinstance(r, dict):  # the document keeps it alive, so its id is unique
                told[id(r)] = text
        texts.append(text)
    between = f",\n{pad}  "
    put(f"[\n{pad}  {between.join(texts)}\n{pad}]" if texts else "[]")
