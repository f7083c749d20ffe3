# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Estimates the time of a virtual run, and what each module of it keeps and costs, for `tidemark fit`.

Each op takes the longer of its arithmetic and its memory traffic at a share of the device's peak rates (the roofline), at least a
kernel's shortest time; copies between host and device take the link's rate. The host needs some time for each op: a step takes
the longer of the two sums. With times of a recording (TIDEMARK_PREDICT_TIMES) an op takes what it took there.
Definitions: docs/analyses/fit.md.
"""
from __future__ import annotations

import json
import os
from typing import Any

ARITHMETIC, MEMORY, REDUCTION = 0.70, 0.65, 0.30  # shares of the peak rates that kernels reach, as in a trace of a GPT on an H200
KERNEL_NS = 2000  # the shortest kernel
TIME_STEP_NS = 10000  # of a recurrent layer
REDUCTIONS = {"sum", "mean", "var", "std", "embedding_dense_backward"} | {f"native_{n}_norm{e}" for n in ("layer", "group", "batch") for e in ("", "_backward")}
GATHERED = {"nll_loss_forward", "gather"}  # they read few elements of their input
HOST_NS = {"python": 7000, "engine": 5000}  # to issue an op
LINK = {9: 50.0, 10: 50.0, 12: 50.0, 8: 22.0}  # GB/s between host and device, by capability; others 11
DTYPES = {"float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "int64": "long int", "int32": "int", "bool": "bool"}  # as Kineto writes them


class Cost:
    """Times of the ops so far, and one row for each module. Called with the GIL held."""

    def __init__(self, torch: Any, device: Any, meter: Any) -> None:
        self.torch, self.meter = torch, meter
        from torch.utils.flop_counter import flop_registry

        self.flops: Any = flop_registry
        pairs = device.pairs
        self.rates = {name: float(pairs.get(name, 0)) for name in ("tflops16", "tflops32", "tf32", "tflops64", "gbs")}
        self.link = LINK.get(device.major, 11.0)
        self.known = self.rates["gbs"] > 0
        self.device_ns = self.host_ns = 0.0
        self.ops = 0
        self.marks: list[tuple[float, float, int]] = []  # at the end of each step
        self.kinds: dict[Any, tuple[bool, tuple[bool, ...], bool]] = {}
        self.births: list[tuple[int, int]] = []  # storages in the order in which they were made
        self.open: list[tuple[int, int, float]] = []
        self.rows: dict[str, dict[str, Any]] = {}
        self.called: dict[str, int] = {}
        self.optimizers: list[str] = []
        self.f32_products = 0
        self.loaders: list[int] = []  # sizes of their batches
        self.times = self._measured(os.environ.get("TIDEMARK_PREDICT_TIMES", ""))
        self.matched = 0
        self.seen: dict[str, list[float]] = {}  # op -> times of the recording, and their estimates

    def _measured(self, path: str) -> dict[str, Any]:
        """Reads `tidemark kernels --by shape --json`: device time of a call by op and shapes. Rows of ops without arguments are left out."""
        if not path:
            return {}
        with open(path, encoding="utf-8") as f:
            rows = json.load(f).get("shapes", [])
        out: dict[str, Any] = {}
        for row in rows:
            shapes = without_end(json.loads(row.get("shapes") or "[]"))
            if row.get("op") and row.get("calls") and any(shapes):
                dtypes = json.loads(row.get("dtypes") or "[]")
                key = row["op"].rpartition("::")[2], json.dumps(shapes), next((d for d in dtypes if d in DTYPES.values()), "")
                ns, calls = out.get(key, (0, 0))
                out[key] = ns + row["sum_ns"], calls + row["calls"]
        return {key: ns / calls for key, (ns, calls) in out.items()}

    # ---- ops ----

    def kind(self, func: Any) -> tuple[bool, tuple[bool, ...], bool]:
        """Returns whether the op is a view or makes no kernel; which arguments it writes; whether it has a rule for its arithmetic."""
        found = self.kinds.get(func)
        if found is None:
            schema = func._schema
            free = func.namespace in ("prim", "profiler") or schema.name.rpartition("::")[2] in ("empty", "empty_strided", "empty_like", "new_empty", "detach", "alias", "_unsafe_view", "lift_fresh", "set_", "_local_scalar_dense")
            view = free or any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
            writes = tuple(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)
            found = self.kinds[func] = view, writes, func._overloadpacket in self.flops
        return found

    def add(self, func: Any, args: Any, kwargs: Any, out: Any, by_engine: bool) -> None:
        """Notes an op that has run."""
        view, writes, counted = self.kind(func)
        if view:
            return
        name = func._schema.name.rpartition("::")[2]
        self.called[name] = self.called.get(name, 0) + 1
        nbytes, first, crosses = self.traffic(args, kwargs, out, writes)
        if first is None:
            return
        flops = 0.0
        if counted:
            try:
                flops = float(self.flops[func._overloadpacket](*args, **kwargs, out_val=out))
            except Exception:
                flops = 0.0
        if (flops or counted) and first.dtype is self.torch.float32:
            self.f32_products += 1
        self.ops += 1
        self.host_ns += HOST_NS["engine" if by_engine else "python"]
        self.device_ns += self.time(name, first, flops, nbytes, crosses, args)

    def time(self, name: str, first: Any, flops: float, nbytes: int, crosses: int, args: Any) -> float:
        if not self.known:
            return 0.0
        ns = max(flops / (self.rate(first.dtype, name) * 1e3 * ARITHMETIC) if flops else 0.0, self.memory(name, nbytes), KERNEL_NS)
        if crosses:
            ns = max(ns, crosses / self.link)
        if self.times:
            ns = self.measured(name, args, ns)
        return ns

    def memory(self, name: str, nbytes: int) -> float:
        """The time of an op's traffic, ns."""
        return 0.0 if name in GATHERED else nbytes / (self.rates["gbs"] * (REDUCTION if name in REDUCTIONS else MEMORY))

    def recurrent(self, name: str, x: Any, weights: Any, times: int) -> None:
        """A recurrent layer of cuDNN, which is no op here: the products of its weights with every element of the sequence, one time step after the other."""
        flops = times * sum(2.0 * w.numel() * x.shape[0] * x.shape[1] for w in weights if w.dim() == 2)
        self.called[name] = self.called.get(name, 0) + 1
        self.ops += 1
        self.host_ns += HOST_NS["python"]
        if self.known:
            self.device_ns += flops / (self.rate(x.dtype, "convolution") * 1e3 * ARITHMETIC) + times * x.shape[0] * TIME_STEP_NS

    def measured(self, name: str, args: Any, ns: float) -> float:
        """The recording's time of the op with these shapes, else the estimate times what the op took there against its estimate."""
        took = self.times.get((name, *key_of(self.torch, args)))
        seen = self.seen.setdefault(name, [0.0, 0.0])
        if took is not None:
            self.matched += 1
            seen[0] += took
            seen[1] += ns
            return float(took)
        return ns * seen[0] / seen[1] if seen[1] else ns

    def rate(self, dtype: Any, name: str) -> float:
        torch, r = self.torch, self.rates
        if dtype in (torch.float16, torch.bfloat16):
            return r["tflops16"] or r["tflops32"]
        if dtype is torch.float64:
            return r["tflops64"] or 1.0
        tf32 = torch.backends.cudnn.allow_tf32 if "convolution" in name else torch.backends.cuda.matmul.allow_tf32
        return r["tf32"] if tf32 and r["tf32"] else r["tflops32"]

    def traffic(self, args: Any, kwargs: Any, out: Any, writes: Any) -> tuple[int, Any, int]:
        """Bytes that the op reads and writes on a device, its first tensor there, and the bytes that cross the link."""
        Tensor = self.torch.Tensor
        total = crosses = 0
        first: Any = None
        host = False
        for i, value in enumerate((*args, *kwargs.values())):
            for t in value if isinstance(value, (list, tuple)) else (value,):
                if not isinstance(t, Tensor):
                    continue
                n = t.numel() * t.element_size()
                if t.device.type != "cuda":
                    host = host or t.dim() > 0
                    continue
                total += 2 * n if i < len(writes) and writes[i] else n
                if first is None:
                    first = t
        for t in out if isinstance(out, (list, tuple)) else (out,):
            if isinstance(t, Tensor):
                n = t.numel() * t.element_size()
                if t.device.type == "cuda":
                    total += n
                    crosses = n if host else crosses
                    first = t if first is None else first
                elif first is not None:
                    crosses = n
        return total, first, crosses

    # ---- modules ----

    def born(self, key: int, address: int) -> None:
        self.births.append((key, address))

    def enter(self) -> None:
        self.open.append((len(self.births), self.ops, self.device_ns))

    def leave(self, path: str, module: Any, out: Any, tensors: Any) -> None:
        if not self.open:
            return
        since, ops, ns = self.open.pop()
        if not self.torch.is_grad_enabled() or self.meter.role_now:
            return  # no gradients, or a forward pass that the backward pass runs again
        live, outputs = self.meter.live, {t.untyped_storage()._cdata for t in tensors(list(out.values()) if isinstance(out, dict) else out) if t.device.type == "cuda"}
        kept = given = 0
        for key, address in self.births[since:]:
            row = live.get(key)
            if row is not None and row[1] == address:
                size = (row[2] + 511) // 512 * 512
                kept += size
                given += size if key in outputs else 0
        self.rows[path] = {"path": path.partition(": ")[2], "class": type(module).__name__, "kept": kept - given, "output": given,
                           "ns": self.device_ns - ns, "ops": self.ops - ops, "order": len(self.rows)}
        if not self.open:
            self.births.clear()

    def step(self) -> None:
        self.marks.append((self.device_ns, self.host_ns, self.ops))

    # ---- the end ----

    def last_step(self) -> tuple[float, float, int]:
        """Device and host time, and ops, of the last whole step; of the whole run if there is none."""
        before = self.marks[-2] if len(self.marks) > 1 else (0.0, 0.0, 0)
        after = self.marks[-1] if self.marks else (self.device_ns, self.host_ns, self.ops)
        return after[0] - before[0], after[1] - before[1], after[2] - before[2]

    def basis(self) -> str:
        if not self.known:
            return "no peak rates of this device are known"
        rates = f"{ARITHMETIC:.0%} of peak arithmetic, {MEMORY:.0%} of memory bandwidth ({REDUCTION:.0%} in sums and norms), {self.link:g} GB/s to the host"
        return f"times of {self.matched} ops from the recording, else {rates}" if self.times else rates

    def survey(self) -> dict[str, Any]:
        device, host, ops = self.last_step()
        return {"step_ns": max(device, host), "device_ns": device, "host_ns": host, "ops": ops, "steps": len(self.marks), "known": self.known,
                "called": self.called, "f32_products": self.f32_products, "loaders": self.loaders, "optimizers": self.optimizers, "modules": list(self.rows.values())}


def without_end(shapes: list[Any]) -> list[Any]:
    """Shapes without those of the last arguments that have none: a call may leave out defaults."""
    while shapes and not shapes[-1]:
        shapes = shapes[:-1]
    return shapes


def key_of(torch: Any, args: Any) -> tuple[str, str]:
    """Returns the shapes of an op's arguments and the type of the first, as Kineto writes them; those of lists are unknown to it: []."""
    first = next((str(a.dtype).rpartition(".")[2] for a in args if isinstance(a, torch.Tensor)), "")
    return json.dumps(without_end([list(a.shape) if isinstance(a, torch.Tensor) else [] for a in args])), DTYPES.get(first, "")


def optimizer_row(optimizer: Any) -> str:
    """A line on an optimizer: its class, and how it steps."""
    first = optimizer.param_groups[0] if optimizer.param_groups else {}
    return f"{type(optimizer).__name__} fused={bool(first.get('fused'))} foreach={first.get('foreach')}"


