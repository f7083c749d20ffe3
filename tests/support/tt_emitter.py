#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Writes logs as the Tenstorrent runtime does, and the true figures of the run.

A small model of the runtime: banks with an address-ordered first-fit allocator, a program of
operations that allocate their results and are followed by deallocates, const-eval programs behind
load_cached, one rank or several. Every line it writes follows the grammar of the runtime's logger
(constructed lines, not recorded ones). `--truth FILE` writes the true memory op by op, and the holders of memory after each.
`--types alias` names layouts as module dumps do, `--types bare` leaves them out.
`--decode` adds a second program with the same weights, in another order of arguments, after each run of the first.
`--ttrt FILE` writes the first rank's operations as ttrt's memory_results.json.

    tt_emitter.py --layers 4 --runs 2 --ranks 1 --seed 1 --truth truth.json > run.log
"""
import argparse
import json
import math
import random
import sys

MB = 1024 * 1024
POOLS = [("DRAM", 12, 1024 * MB), ("L1", 64, 1331 * 1024), ("L1_SMALL", 64, 64 * 1024), ("TRACE", 12, 0)]
TILE = {"f32": 4096, "bf16": 2048, "bfp_bf8": 1088, "bfp_bf4": 576, "ui32": 4096, "si32": 4096}
ALIASES = "(names of layouts, known at the end)"
GREY, BLUE, GREEN, BOLD, OFF = "\033[38;5;240m", "\033[38;5;69m", "\033[32m", "\033[1m", "\033[0m"


class Bank:
    """One bank of a pool: first fit, adjacent free ranges merged. All banks of a pool are equal."""

    def __init__(self, size: int):
        self.size, self.free, self.used = size, [(0, size)] if size else [], {}

    def take(self, size: int) -> int:
        size = (size + 31) // 32 * 32
        for i, (at, n) in enumerate(self.free):
            if n >= size:
                self.free[i : i + 1] = [(at + size, n - size)] if n > size else []
                self.used[at] = size
                return at
        raise MemoryError(size)

    def give(self, at: int) -> None:
        merged: list[tuple[int, int]] = []
        for a, n in sorted(self.free + [(at, self.used.pop(at))]):
            if merged and merged[-1][0] + merged[-1][1] == a:
                merged[-1] = (merged[-1][0], merged[-1][1] + n)
            else:
                merged.append((a, n))
        self.free = merged

    def allocated(self) -> int:
        return sum(self.used.values())

    def largest(self) -> int:
        return max((n for _, n in self.free), default=0)


class Tensor:
    def __init__(self, shape: list[int], dtype: str, tile: str, buffer: str, arg: str = ""):
        self.shape, self.dtype, self.tile, self.buffer, self.arg = shape, dtype, tile, buffer, arg
        rows = max(1, -(-shape[-2] // 32)) if len(shape) > 1 else 1
        for d in shape[:-2]:
            rows *= d
        self.tiles = [rows, max(1, -(-shape[-1] // 32))]
        self.at: int | None = None

    def bytes(self) -> int:
        return self.tiles[0] * self.tiles[1] * TILE[self.tile]

    types = "inline"  # or "alias", "bare"
    aliases: dict[str, str] = {}  # layout -> its name

    def layout(self, buffer: str) -> str:
        dims = ", ".join(f"d{i}" for i in range(len(self.shape)))
        return f"#ttnn.ttnn_layout<({dims}) -> ({dims}), <1x1>, memref<{self.tiles[0]}x{self.tiles[1]}x!ttcore.tile<32x32, {self.tile}>, {buffer}>, <interleaved>>"

    def type(self) -> str:
        shape = f"tensor<{'x'.join(map(str, self.shape))}x{self.dtype}"
        if Tensor.types == "bare":
            return shape + ">"
        if Tensor.types == "inline":
            return f"{shape}, {self.layout(f'#ttnn.buffer_type<{self.buffer}>')}>"
        name = Tensor.aliases.setdefault(self.layout("#l1_" if self.buffer == "l1" else "#" + self.buffer), f"#ttnn_layout{len(Tensor.aliases) or ''}")
        return f"{shape}, {name}>"


class Rank:
    def __init__(self, out, prefix: str, colour: bool, level: str, rng: random.Random, small: str):
        self.out, self.prefix, self.colour, self.level, self.rng, self.small = out, prefix, colour, level, rng, small
        self.banks = {name: Bank(size) for name, _, size in POOLS}
        self.ops: list[dict] = []  # the truth, one row for each executed operation, deallocates included
        self.graph: str | None = None
        self.missed: set[str] = set()
        self.noise = 0.0
        self.lines: list[str] = []
        self.alive: dict[int, list] = {}  # tensor -> [path of the op that made it, pool, bytes of a bank]
        self.tiles: dict[int, tuple] = {}  # tensor -> pool, bytes of its elements, bytes of its tiles
        self.ttrt: list[dict] = []
        self.path: list[str] = []
        self.kept: list[Tensor] = []  # so that no two have one id

    def line(self, kind: str, level: str, text: str) -> None:
        if self.colour:
            tint = GREY if level == "DEBUG" else BLUE
            s = f"{GREEN}{kind:>23}{OFF} | {BOLD}{tint}{level:>8}{OFF} | {text}"
        else:
            s = f"{kind:>23} | {level:>8} | {text}"
        self.raw(s)
        if self.noise and self.rng.random() < self.noise:
            self.raw(self.rng.choice(["loading weights: 12%", "2026-06-04 20:40:34.148 | info     |          Always | Device 0 is open", "", "WARNING: kernel cache miss"]))

    def raw(self, s: str) -> None:
        self.lines.append(self.prefix + s)

    def block(self, header: str) -> None:
        self.line("Always", self.level, f"Device memory state {header}")
        for name, banks, size in POOLS:
            b = self.banks[name]
            used = b.allocated()
            shown = name.replace("_", " ") if self.small == " " else name
            f = lambda v: f"{v / MB:.3f} MB"
            self.line(
                "Always", self.level,
                f"Device {shown} memory state: MemoryView{{numBanks: {banks}, totalBytesPerBank: {f(size)}, totalBytesAllocatedPerBank: {f(used)}, "
                f"totalBytesFreePerBank: {f(size - used)}, largestContiguousBytesFreePerBank: {f(b.largest())}}}",
            )

    def op(self, text: str, name: str, op_type: str, effect, loc: str | None) -> None:
        self.line("RuntimeTTNN", "DEBUG", f"Executing operation: {text}")
        self.block(f"before operation {op_type}")
        before = {n: b.allocated() for n, b in self.banks.items()}
        effect()
        self.ttrt.append({"loc": loc or "", "debug_str": text, **{n.lower(): self.view(n) for n, _, _ in POOLS}})
        self.ops.append({
            "alive": list(self.alive.values()),
            "tiles": [sum(t[k] for t in self.tiles.values() if t[0] == "DRAM") for k in (1, 2)],
            "name": name, "op_type": op_type, "loc": loc, "const_eval": self.graph,
            "miss": self.graph in self.missed,
            "before": before, "after": {n: b.allocated() for n, b in self.banks.items()},
        })

    def per_bank(self, t: Tensor) -> int:
        banks = dict((n, k) for n, k, _ in POOLS)[t.buffer.upper()]
        pages = t.tiles[0] * t.tiles[1]
        return -(-pages // banks) * TILE[t.tile]

    def view(self, pool: str) -> dict:
        b, banks = self.banks[pool], dict((n, k) for n, k, _ in POOLS)[pool]
        used = b.allocated()
        blocks = sorted([(at, n, "yes") for at, n in b.used.items()] + [(at, n, "no") for at, n in b.free])
        table = [{"allocated": live, "size": str(n), "address": str(at), "blockID": str(i), "prevID": str(i - 1), "nextID": str(i + 1)} for i, (at, n, live) in enumerate(blocks)]
        return {"num_banks": banks, "total_bytes_per_bank": b.size, "total_bytes_allocated_per_bank": used, "total_bytes_free_per_bank": b.size - used,
                "largest_contiguous_bytes_free_per_bank": b.largest(), "block_table": table}

    def make(self, t: Tensor, name: str) -> None:
        t.at = self.banks[t.buffer.upper()].take(self.per_bank(t))
        self.alive[id(t)] = ["/".join([*self.path, name]), t.buffer.upper(), self.banks[t.buffer.upper()].used[t.at]]
        self.tiles[id(t)] = (t.buffer.upper(), math.prod(t.shape) * (4 if t.dtype == "f32" else 2), t.bytes())
        self.kept.append(t)

    def drop(self, t: Tensor) -> None:
        if t.at is not None:
            self.banks[t.buffer.upper()].give(t.at)
            del self.alive[id(t)], self.tiles[id(t)]
            t.at = None

    def run_op(self, n: int, name: str, op_type: str, ins: list[tuple[str, Tensor]], t: Tensor, attrs: str, loc: str) -> str:
        text = f'%{n} = "{name}"({", ".join(s for s, _ in ins)}) <{{{attrs}}}> : ({", ".join(x.type() for _, x in ins)}) -> {t.type()} loc("{loc}")'
        self.op(text, name, op_type, lambda: self.make(t, name), loc)
        return f"%{n}"

    def deallocate(self, ssa: str, t: Tensor, loc: str) -> None:
        text = f'"ttnn.deallocate"({ssa}) <{{force = false}}> : ({t.type()}) -> () loc("{loc}")'
        self.op(text, "ttnn.deallocate", "DeallocateOp", lambda: self.drop(t), loc)


def weights_of(layers: int, width: int) -> list[tuple[str, Tensor]]:
    w = []
    for i in range(layers):
        w.append((f"layer{i}.weight", Tensor([width, width], "bf16", "bf16", "dram")))
        w.append((f"layer{i}.bias", Tensor([width], "bf16", "bf16", "dram")))
    return w


class Program:
    """A compiled module: its weights in the order of its arguments, its input, its cache of const-eval results."""

    def __init__(self, name: str, weights: list[tuple[str, Tensor]], order: list[int], x: Tensor):
        self.name, self.weights, self.x = name, weights, x
        self.arg = {k: f"%arg{i + 1}" for i, k in enumerate(order)}  # weight -> SSA name
        self.order, self.cache = order, {}


def dump(r: Rank, p: Program) -> None:
    weights, x = [p.weights[k] for k in p.order], p.x
    args = [f'%arg0: tensor<{"x".join(map(str, x.shape))}xbf16> {{ttcore.argument_type = #ttcore.argument_type<input>, ttir.name = "args_0"}}']
    for i, (name, t) in enumerate(weights):
        args.append(f'%arg{i + 1}: tensor<{"x".join(map(str, t.shape))}xbf16> {{ttcore.argument_type = #ttcore.argument_type<parameter>, ttir.name = "{name}"}}')
    for stage in ("shlo_frontend", "ttir", "ttnn"):
        r.raw(f"2026-06-04 20:40:30.001 (   1.000s) [        ABCDEF]     module_builder.cc:120      1| MLIR Module {stage}:")
        if stage == "ttnn":
            r.raw(ALIASES)
        r.raw(f"module @jit_{p.name} {{")
        r.raw(f"  func.func @main({', '.join(args)}) -> tensor<1x32xbf16> {{")
        for i in range(len(weights) // 2):
            r.raw(f'    %{i} = "{"stablehlo" if stage[0] == "s" else stage}.matmul"(%arg0, {p.arg[2 * i]}) : (tensor<1x32xbf16>, tensor<32x32xbf16>) -> tensor<1x32xbf16> loc(#loc{i + 1})')
        r.raw("    return %0 : tensor<1x32xbf16>")
        r.raw("  }")
        r.raw("}")
        for i in range(len(weights) // 2):
            r.raw(f'#loc{i + 1} = loc("matmul.{i}")')
        r.raw("------------------ END OF MLIR MODULE ------------------")


def const_eval(r: Rank, p: Program, k: int, n: int) -> Tensor:
    """load_cached of one weight; on a miss its program runs: to_layout, typecast, deallocate."""
    f, w, ssa, cache = f"main_const_eval_{k}", p.weights[k][1], p.arg[k], p.cache
    out = Tensor(w.shape, "bf16", "bfp_bf8" if k % 2 else "bf16", "dram")
    text = f"%{n} = ttcore.load_cached(@{f}, [{ssa}]) : ({w.type()}) -> {out.type()} loc(unknown)"
    r.op(text, "ttcore.load_cached", "LoadCachedOp", lambda: None, f"@{f}")
    r.ops[-1]["weights"] = [p.weights[k][0]]
    if f in cache:
        r.line("Always", "DEBUG", f"Cache hit for function: {f}")
        return cache[f]
    r.line("Always", "DEBUG", f"Cache miss or invalid cache for function: {f}")
    r.missed.add(f)
    outer, r.graph = r.graph, f
    r.path += ["ttcore.load_cached", f]
    r.line("RuntimeTTNN", "DEBUG", f"Starting execution of program: {f}")
    r.op('%0 = "ttnn.get_device"() <{mesh_offset = #ttnn<mesh_offset 0x0>, mesh_shape = #ttnn<mesh_shape 1x1>}> : () -> !ttnn.device loc("get")', "ttnn.get_device", "GetDeviceOp", lambda: None, "get")
    mid = Tensor(w.shape, "bf16", "bf16", "dram")
    r.run_op(1, "ttnn.to_layout", "ToLayoutOp", [("%arg0", w)], mid, "layout = #ttnn.layout<tile>", f"weight.{k}_layout")
    r.run_op(2, "ttnn.typecast", "TypecastOp", [("%1", mid)], out, "dtype = #ttcore.supportedDataTypes<bfp_bf8>", f"weight.{k}")
    r.deallocate("%1", mid, f"weight.{k}")
    r.line("RuntimeTTNN", "DEBUG", f"Finished execution of program: {f}")
    r.graph = outer
    r.path = r.path[:-2]
    cache[f] = out
    return out


def forward(r: Rank, p: Program, submit: bool, oom: bool) -> None:
    layers, batch, width = len(p.weights) // 2, *p.x.shape[1:]
    if submit:
        r.block("before submit")
    r.line("RuntimeTTNN", "DEBUG", "Starting execution of program: main")
    r.path = ["main"]
    n, x, name = 1, p.x, "%arg0"
    r.op('%0 = "ttnn.get_device"() <{mesh_offset = #ttnn<mesh_offset 0x0>, mesh_shape = #ttnn<mesh_shape 1x1>}> : () -> !ttnn.device loc("get")', "ttnn.get_device", "GetDeviceOp", lambda: None, "get")
    ready = []
    for k in range(len(p.weights)):
        ready.append((f"%{n}", const_eval(r, p, k, n)))
        n += 1
    h = Tensor(x.shape, "bf16", "bf16", "dram")
    here = r.run_op(n, "ttnn.to_layout", "ToLayoutOp", [(name, x)], h, "layout = #ttnn.layout<tile>", "args_0.1")
    n += 1
    for i in range(layers):
        cols = r.rng.choice([width, width * 2, width + 7])
        y = Tensor([1, batch, cols], "bf16", "bf16", "dram")
        there = r.run_op(n, "ttnn.matmul", "MatmulOp", [(here, h), ready[2 * i]], y, "matmul_program_config = #ttnn.matmul<{in = {a = 1}}>, transpose_a = false", f"matmul.{i}")
        n += 1
        r.deallocate(here, h, f"matmul.{i}")
        z = Tensor([1, batch, cols], "f32", "f32", "l1" if i % 3 == 1 and batch * cols < 1 << 16 else "dram")
        add = r.run_op(n, "ttnn.add", "EltwiseBinaryOp", [(there, y), ready[2 * i + 1]], z, "dtype = #ttcore.supportedDataTypes<f32>", f"add.{i}")
        n += 1
        r.deallocate(there, y, f"add.{i}")
        h = Tensor([1, batch, width], "bf16", "bf16", "dram")
        here = r.run_op(n, "ttnn.mean", "ReductionOp", [(add, z)], h, "dim_arg = [-1 : i32], keep_dim = true", f'reduce.{i}_mean')
        n += 1
        r.deallocate(add, z, f"reduce.{i}")
    if oom:
        r.raw("2026-06-04 20:40:34.148 | critical |          Always | TT_THROW: Out of Memory: Not enough space to allocate 805306368 B DRAM buffer across 12 banks, where each bank needs to store 67110912 B")
    r.line("RuntimeTTNN", "DEBUG", "Finished execution of program: main")
    r.drop(h)
    if submit:
        r.block("after submit")


def rank_lines(a: argparse.Namespace, prefix: str, seed: int) -> Rank:
    rng = random.Random(seed)
    r = Rank(None, prefix, a.colour, a.level, rng, a.small)
    r.noise = a.noise
    weights = weights_of(a.layers, a.width)
    order = list(range(len(weights)))
    programs = [Program("forward", weights, order, Tensor([1, a.batch, a.width], "bf16", "bf16", "dram"))]
    if a.decode:
        programs.append(Program("decode", weights, order[::-1], Tensor([1, 1, a.width], "bf16", "bf16", "dram")))
    for run in range(a.runs):
        for p in programs:
            if a.modules and not run:
                dump(r, p)
            forward(r, p, a.submit, a.oom and run + 1 == a.runs)
            r.raw(f"Got output shape: [1, {p.x.shape[1]}, {a.width}]")
    return r


def main() -> int:
    p = argparse.ArgumentParser()
    for name, default in (("layers", 3), ("runs", 2), ("ranks", 1), ("seed", 1), ("width", 256), ("batch", 64)):
        p.add_argument(f"--{name}", type=int, default=default)
    p.add_argument("--noise", type=float, default=0.0, help="part of lines followed by a foreign one")
    p.add_argument("--colour", action="store_true")
    p.add_argument("--level", default="INFO")
    p.add_argument("--small", default="_", choices=["_", " "])
    p.add_argument("--no-submit", dest="submit", action="store_false")
    p.add_argument("--no-modules", dest="modules", action="store_false")
    p.add_argument("--oom", action="store_true")
    p.add_argument("--decode", action="store_true")
    p.add_argument("--exit", type=int, default=0)
    p.add_argument("--truth")
    p.add_argument("--ttrt")
    p.add_argument("--types", default="inline", choices=["inline", "alias", "bare"])
    a = p.parse_args()
    Tensor.types = a.types
    ranks = [rank_lines(a, f"[1,{k}]<stdout>: " if a.ranks > 1 else "", a.seed + k) for k in range(a.ranks)]
    aliases = ["#dram = #ttnn.buffer_type<dram>", "#l1_ = #ttnn.buffer_type<l1>"] + [f"{name} = {layout}" for layout, name in Tensor.aliases.items()] if Tensor.aliases else []
    for r in ranks:
        r.lines = [x for line in r.lines for x in ([r.prefix + y for y in aliases] if line.endswith(ALIASES) else [line])]
    if a.ttrt:
        with open(a.ttrt, "w", encoding="utf-8") as f:
            json.dump({str(i): row for i, row in enumerate(ranks[0].ttrt)}, f, indent=4, sort_keys=True)
    rng = random.Random(a.seed)
    queues = [list(reversed(r.lines)) for r in ranks]
    while any(queues):
        q = rng.choice([q for q in queues if q])
        for _ in range(min(len(q), rng.randrange(1, 9) if a.ranks > 1 else len(q))):
            sys.stdout.write(q.pop() + "\n")
    if a.truth:
        with open(a.truth, "w", encoding="utf-8") as f:
            json.dump([{"rank": k, "ops": r.ops, "submit": a.submit} for k, r in enumerate(ranks)], f)
    return a.exit


if __name__ == "__main__":
    sys.exit(main())
