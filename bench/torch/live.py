#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Measures the cost of recording for a training step in one process: each tool runs for a few steps, in several rounds.

    live.py steps OUT [--small] [--batch N] [--context N] [--bf16 | --autocast] [--rounds N] [--steps N] [--warm N]
                       [--light] [--only NAMES]
    live.py calls OUT [--processes N]  ns an op, an allocation: one op in a loop (calls.cpp), tools in turn, in several processes
    live.py events OUT                 one such process
    live.py product OUT                ns an event × events a step, from what steps and calls left in OUT
    live.py exact OUT [--small ...]    the recording beside torch's own counters, to the byte

Each tool's turn is between two bare turns, and its median step is divided by their mean: slow changes of the machine cancel out,
the better the shorter the turns are. Needs the tidemark package (bench/torch/gpu.sh says how). The recordings go to the folder
OUT.
"""
import argparse
import contextlib
import ctypes
import glob
import json
import os
import random
import statistics
import subprocess
import sys
import time

import torch
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

import tidemark
import tidemark.torch as capture
from gpt import GPT

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
if not CUDA:
    torch.set_num_threads(1)


def sync() -> None:
    if CUDA:
        torch.cuda.synchronize()


# ---- the tools: each a context ----

class Nothing(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def ours(**what):
    capture.attach(**what)
    try:
        yield
    finally:
        capture.detach()


@contextlib.contextmanager
def light(ops: bool):
    """Uses only the hooks of memory and of ops: live tensors are not searched and recorded at each turn."""
    capture._hook._capture.tide_torch_attach()
    if ops:
        capture._hook._library.tide_torch_ops_on(0)
    try:
        yield
    finally:
        if ops:
            capture._hook._library.tide_torch_ops_off()
        capture._hook._capture.tide_torch_detach()


@contextlib.contextmanager
def empty_callback():
    capture._hook._library.tide_torch_ops_on(4)
    try:
        yield
    finally:
        capture._hook._library.tide_torch_ops_off()


@contextlib.contextmanager
def history():
    torch.cuda.memory._record_memory_history(max_entries=1_000_000)
    try:
        yield
    finally:
        torch.cuda.memory._record_memory_history(enabled=None)


def profiler():
    kinds = [torch.profiler.ProfilerActivity.CPU] + ([torch.profiler.ProfilerActivity.CUDA] if CUDA else [])
    return torch.profiler.profile(activities=kinds, profile_memory=True)


QUIET = 1.1  # times the lowest bare turn: above this, other work ran on the machine's cores
EMPTY = "empty RecordFunction callback"
TOOLS = {
    "bare": contextlib.nullcontext,
    EMPTY: empty_callback,
    "Tidemark, memory": lambda: ours(ops=False),
    "Tidemark, memory and ops": lambda: ours(modules=False),
    "Tidemark, and modules, labels": ours,
    "Tidemark, and shapes": lambda: ours(shapes=True),
    "Tidemark, and stacks": lambda: ours(stacks=True),
    "torch.profiler": profiler,
    "empty TorchDispatchMode": Nothing,
}
if CUDA:
    TOOLS["_record_memory_history"] = history
LIGHT = {"bare": contextlib.nullcontext, EMPTY: empty_callback, "Tidemark, memory": lambda: light(False), "Tidemark, memory and ops": lambda: light(True)}


# ---- work ----

def training(a):
    torch.manual_seed(0)
    layers, width, heads, vocab = (4, 128, 4, 1024) if a.small else (12, 768, 12, 50304)
    model = GPT(vocab, a.context, layers, width, heads).to(DEVICE)
    if a.bf16:
        model = model.to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    ids = torch.randint(vocab, (a.batch, a.context + 1), device=DEVICE)

    def step():
        with torch.autocast(DEVICE, torch.bfloat16, enabled=a.autocast):
            logits = model(ids[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


def timed(step, n: int) -> list[float]:
    times = []
    for _ in range(n):
        t0 = time.perf_counter_ns()
        step()
        sync()
        times.append((time.perf_counter_ns() - t0) / 1e6)
    return times


def spread(values: list[float]) -> tuple[float, float, float]:
    q = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return q[0], statistics.median(values), q[2]


def error(values: list[float]) -> float:
    """Returns the standard error of the median: the spread of medians of as many values drawn from these."""
    draw = random.Random(1)
    return statistics.pstdev([statistics.median(draw.choices(values, k=len(values))) for _ in range(200)])


def low(values: list[float]) -> float:
    """Returns the 10th percentile: the cost on an otherwise idle machine."""
    return statistics.quantiles(values, n=10, method="inclusive")[0] if len(values) > 1 else values[0]


# ---- steps ----

def steps(a) -> None:
    step = training(a)
    for _ in range(6):
        step()
    sync()
    choice = LIGHT if a.light else TOOLS
    tools = {k: v for k, v in choice.items() if not a.only or k == "bare" or any(k.endswith(w) for w in a.only.split(";"))}
    times: dict[str, list[float]] = {k: [] for k in tools}
    tried: dict[str, list[tuple[float, float, float]]] = {k: [] for k in tools}
    events: dict[str, list[float]] = {k: [] for k in tools}

    def turn(k: str) -> float:
        with tools[k]():
            timed(step, a.warm)
            before = tidemark.stats()["events"]
            got = timed(step, a.steps)
            events[k].append((tidemark.stats()["events"] - before) / a.steps)
        times[k] += got
        return statistics.median(got)

    for tool in tools.values():  # runs everything once, so that all building and loading happens now
        with tool():
            timed(step, 1)
    order = [k for k in tools if k != "bare"]
    shuffle = random.Random(1)
    before = turn("bare")
    until = time.monotonic() + a.seconds
    while len(tried["bare"]) < a.rounds * len(order) and time.monotonic() < until:
        shuffle.shuffle(order)
        for k in order:
            tried[k].append((before, turn(k), turn("bare")))
            before = tried[k][-1][2]
            tried["bare"].append((before, before, before))
    print(f"\n{sys.argv[3:]}: {len(tried['bare']) // len(order)} rounds of {a.steps} steps, {DEVICE}, torch {torch.__version__}, Python {sys.version.split()[0]}")
    print(f"{'tool':32} {'median step':>12} {'quartiles, ms':>19} {'over bare':>10} {'+-':>5} {'quartiles, %':>17} {'10th pct':>10} {'times empty':>12} {'events a step':>14}")
    rows = {}
    for k in tools:
        over = [100 * (t[1] / ((t[0] + t[2]) / 2) - 1) for t in tried[k]]
        lo, mid, hi = spread(times[k])
        rlo, rmid, rhi = spread(over)
        rows[k] = {"ms": [lo, mid, hi], "percent": [rlo, rmid, rhi], "error": error(over), "low_ms": low(times[k]), "events": statistics.median(events[k])}
        times_empty = f"{rmid / rows[EMPTY]['percent'][1]:.2f}" if EMPTY in rows and k != EMPTY else ""
        print(f"{k:32} {mid:9.3f} ms {lo:9.3f} {hi:9.3f} {rmid:+9.2f}% {rows[k]['error']:5.2f} {rlo:+8.2f} {rhi:+8.2f} {rows[k]['low_ms']:10.3f} {times_empty:>12} {rows[k]['events']:14.0f}")
    with open(os.path.join(a.out, f"steps-{'bf16' if a.bf16 else 'autocast' if a.autocast else 'f32'}-{a.batch}x{a.context}.json"), "w", encoding="utf-8") as f:
        json.dump({"arguments": sys.argv[1:], "torch": torch.__version__, "rows": rows}, f)


# ---- events ----

def loops():
    """bench/torch/calls.cpp, built like the recorder's own C++ file: its loops, calls in a batch, ops in a call."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "calls.cpp")
    calls = ctypes.CDLL(capture._hook._beside("tidemark_build").library(torch, source, lambda text: print(text, file=sys.stderr)))
    for f in (calls.bench_view, calls.bench_empty, calls.bench_ten, calls.bench_cold):
        f.restype = ctypes.c_double
    with ours(modules=False):
        before = tidemark.stats()["events"]
        calls.bench_ten(100, CUDA)
        inside = (tidemark.stats()["events"] - before) / 200  # ten kinds, and some of them call others
    return {OP: (calls.bench_ten, 200, inside), PAIR: (calls.bench_empty, 1000, 1), "view": (calls.bench_view, 1000, 1),
            "an op, cold caches": (calls.bench_cold, 8, inside)}


OP, PAIR = "an op", "op, allocation, free (empty)"
CPUS = os.sched_getaffinity(0)


def settle(call) -> None:
    """Pins this thread to the CPU that is fastest now; the kernel places the recorder's writer thread."""
    def speed(cpu: int) -> float:
        os.sched_setaffinity(0, {cpu})
        call(200, CUDA)
        return statistics.median(call(400, CUDA) for _ in range(8))

    os.sched_setaffinity(0, {min(CPUS, key=speed)})


def events(a) -> None:
    """Runs a tool's calls between two bare ones, repeatedly. Returns its 10th percentile minus that of the bare ones."""
    works = loops()
    view = works["view"][0]
    tools = {k: v for k, v in TOOLS.items() if k not in ("bare", "torch.profiler", "_record_memory_history", "empty TorchDispatchMode")}

    def once() -> dict[str, float]:
        for f, n, _ in works.values():
            f(n // 3, CUDA)
        return {w: min(f(n, CUDA) for _ in range(5)) / ops for w, (f, n, ops) in works.items()}

    tried: dict[str, dict[str, list[tuple[float, float, float]]]] = {k: {w: [] for w in works} for k in tools}
    order = list(tools)
    shuffle = random.Random()
    for _ in range(a.rounds):
        shuffle.shuffle(order)
        settle(view)
        before = once()
        for k in order:
            with tools[k]():
                between = once()
            after = once()
            for w in works:
                tried[k][w].append((before[w], between[w], after[w]))
            before = after
    result: dict = {"bare": {}, "over": {k: {} for k in tools}, "quiet": {}, "tried": tried}
    for w in works:
        bare = [b for k in tools for t in tried[k][w] for b in (t[0], t[2])]
        result["bare"][w] = low(bare)
        result["quiet"][w] = sum(b <= QUIET * low(bare) for b in bare) / len(bare)
        for k in tools:
            result["over"][k][w] = low([t[1] for t in tried[k][w]]) - low([b for t in tried[k][w] for b in (t[0], t[2])])
    with open(os.path.join(a.out, f"events-{os.getpid()}.json"), "w", encoding="utf-8") as f:
        json.dump(result, f)


def calls(a) -> None:
    """Uses the median of several processes, because the addresses of code and stack change a call by tens of ns."""
    for old in glob.glob(os.path.join(a.out, "events-*.json")):
        os.unlink(old)
    until = time.monotonic() + a.seconds
    for i in range(a.processes):
        if i and time.monotonic() > until:
            break
        subprocess.run([sys.executable, "-W", "ignore", __file__, "events", a.out, "--rounds", str(a.rounds)], check=True)
    runs = measured(a.out)
    works = list(runs[0]["bare"])
    print(f"\n{'ns a call: median of ' + str(len(runs)) + ' processes (least .. most)':46}" + "".join(f"{w:>36}" for w in works))

    def row(name: str, values: list[list[float]], form: str) -> None:
        print(f"{name:46}" + "".join(f"{statistics.median(v):{form}} ({min(v):.0f} .. {max(v):.0f})".rjust(36) for v in values))

    row("bare", [[r["bare"][w] for r in runs] for w in works], ".0f")
    for k in runs[0]["over"]:
        row(k, [[r["over"][k][w] for r in runs] for w in works], "+.0f")
    print("quiet moments, of all: " + "; ".join(" ".join(f"{r['quiet'][w]:.0%}" for r in runs) for w in works))
    for w in works:
        ratios = [r["over"]["Tidemark, memory and ops"][w] / r["over"][EMPTY][w] for r in runs]
        print(f"{w}, memory and ops: {statistics.median(ratios):.2f} times the empty callback, median of processes ({min(ratios):.2f} .. {max(ratios):.2f})")


def measured(folder: str) -> list[dict]:
    """Returns the figures of the processes that ran at the machine's full speed."""
    runs = []
    for file in glob.glob(os.path.join(folder, "events-*.json")):
        with open(file, encoding="utf-8") as f:
            runs.append(json.load(f))
    low = {w: min(r["bare"][w] for r in runs) for w in runs[0]["bare"]}
    kept = [r for r in runs if all(r["bare"][w] <= QUIET * low[w] for w in low if "cold" not in w)]
    if len(kept) < len(runs):
        print(f"left out: {len(runs) - len(kept)} of {len(runs)} processes, in which bare calls took more than {QUIET:g} times as long")
    return kept or runs


def product(a) -> None:
    """An op is a begin and an end. The second loop of calls.cpp has an allocation and its free besides: what it adds to
    the first, or to a recording of memory alone, whichever is more."""
    runs = measured(a.out)

    def ns(tool: str, work: str) -> float:
        return statistics.median(r["over"][tool][work] for r in runs)

    for file in sorted(glob.glob(os.path.join(a.out, "steps-*.json"))):
        with open(file, encoding="utf-8") as f:
            rows = json.load(f)["rows"]
        if "Tidemark, memory" not in rows:
            continue
        pairs = rows["Tidemark, memory"]["events"] / 2
        ops = rows["Tidemark, memory and ops"]["events"] / 2 - pairs
        bare, best = rows["bare"]["ms"][1], rows["bare"]["low_ms"]
        print(f"\n{os.path.basename(file)[6:-5]}: {ops:.0f} ops, {pairs:.0f} allocations with their frees a step; ns a call x calls, of the median bare step ({bare:.2f} ms)"
              f" and of its tenth percentile ({best:.2f} ms)")
        for tool in runs[0]["over"]:
            memory = 0.0 if tool == EMPTY else max(ns("Tidemark, memory", PAIR), ns(tool, PAIR) - ns(tool, "view"))
            ms = (ops * max(0.0, ns(tool, OP)) + pairs * memory) / 1e6
            print(f"{tool:32} {ns(tool, OP):+6.0f} ns an op, {memory:+6.0f} an allocation and its free: {ms:6.3f} ms a step, {100 * ms / bare:5.2f} %, {100 * ms / best:5.2f} %")


# ---- exact ----

def exact(a) -> None:
    faults = []

    def check(what: str, got, want) -> None:
        print(f"  {'equal' if got == want else 'DIFFERS'}: {what}: {got:,}" + ("" if got == want else f", torch says {want:,}"))
        if got != want:
            faults.append(what)

    print("\nthe recording beside torch's counters")
    path = os.path.join(a.out, "exact.tide")
    with tidemark.record(path, stacks=True, shapes=True):
        step = training(a)
        for _ in range(5):
            loss = step()
        sync()
        stats = torch.cuda.memory_stats() if CUDA else {}
        del loss
    t = tidemark.open(path)
    memory = t.memory()
    print("  losses:", memory["losses"] or "none")
    if CUDA:
        peak = t.peak()
        check("peak bytes", peak["peak_bytes"], stats["allocated_bytes.all.peak"])
        kinds = t.native.column("devices", "kind")
        where = t.native.column("pools", "device")
        rows = sum(kinds[where[p]] == 2 for p in t.native.column("allocs", "pool")[1:])
        check("allocations", rows, stats["allocation.all.allocated"])
        print("  devices:", json.dumps(memory["devices"])[:600])
        streams = set(t.native.column("allocs", "stream")[1:])
        print("  streams seen:", [(t.native.column("lanes", "number")[s]) for s in streams if s])
    for by in ("role", "module", "stack"):
        with contextlib.suppress(Exception):
            answer = t.peak(group_by=by)
            print(f"  peak by {by}:", json.dumps(answer.get("groups", answer))[:900])
    spans, stacks = t.native.column("spans", "name"), t.native.column("spans", "stack")
    backward = [i for i, n in enumerate(spans) if n and n.endswith("Backward0")]
    joined = sum(stacks[i] != 0 for i in backward)
    print(f"  backward ops: {len(backward)}, with their forward's stack: {joined}")
    if not backward or joined < 0.9 * len(backward):
        faults.append("backward ops without stacks")
    print("  marks:", t.tables.get("marks"))
    tracker(a, check)
    print("exact:", "all equal" if not faults else f"FAULTS {faults}")
    sys.exit(bool(faults))


def tracker(a, check) -> None:
    from tidemark.tracker import get_memory_tracker, initialize_memory_tracker, memory_checkpoint, stop_memory_tracker

    initialize_memory_tracker(output_dir=a.out, enabled=True, interval=5.0)
    step = training(a)
    with get_memory_tracker().track_operation("train"):
        step()
        step()
    sync()
    memory_checkpoint("end")
    now = torch.cuda.memory_stats()["allocated_bytes.all.current"] if CUDA else 0
    stop_memory_tracker()
    file = max((os.path.join(a.out, f) for f in os.listdir(a.out) if f.startswith("memory_profile_") and f.endswith(".json")), key=os.path.getmtime)
    with open(file, encoding="utf-8") as f:
        document = json.load(f)
    last = [s for s in document["snapshots"] if "end" in json.dumps(s)[:300]][-1]
    text = json.dumps(last)
    print("  tracker:", os.path.basename(file), f"{os.path.getsize(file):,} bytes; snapshot:", text[:400])
    if CUDA:
        totals = [d.get("total_bytes") for k, d in last["device_breakdown"].items() if "cuda" in k]
        check("tracker's total on cuda:0", totals[0] if totals else -1, now)


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("what", choices=["steps", "calls", "events", "product", "exact"])
    p.add_argument("out")
    p.add_argument("--small", action="store_true", help="4 layers of width 128 (for the CPU)")
    p.add_argument("--bf16", action="store_true")
    p.add_argument("--autocast", action="store_true", help="float32 weights, bfloat16 work, as in tests/data's GPT trace")
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--context", type=int, default=128)
    p.add_argument("--rounds", type=int, help="at most; default: 12, of steps 1000")
    p.add_argument("--steps", type=int, default=1, help="counted in a turn")
    p.add_argument("--warm", type=int, default=1, help="steps before them")
    p.add_argument("--light", action="store_true", help="memory and ops alone, hooked and unhooked around each step: with --warm 0 the least noise")
    p.add_argument("--only", default="", help="tools by the ends of their names, with ; between them")
    p.add_argument("--processes", type=int, default=8)
    p.add_argument("--seconds", type=float, default=120.0, help="begin no other round or process after as many")
    a = p.parse_args()
    a.rounds = a.rounds or (1000 if a.what == "steps" else 12)
    os.makedirs(a.out, exist_ok=True)
    if a.what in ("exact", "calls", "product"):
        {"exact": exact, "calls": calls, "product": product}[a.what](a)
        return
    tidemark.start(os.path.join(a.out, f"{a.what}.tide"), ring_bytes=4 << 20, full_wait_us=1000)  # as record() and `run` do
    capture.attach()
    capture.detach()
    (steps if a.what == "steps" else events)(a)
    tidemark.stop()
    s = tidemark.stats()
    with open(os.path.join(a.out, f"{a.what}.tide"), "rb") as f:
        clock = {0: "clock_gettime", 1: "TSC", 2: "CNTVCT"}[f.read(68)[64]]
    print(f"recorder ({clock}): {s['events']:,} events, lost {s['lost_full'] + s['lost_other'] + s['lost_signal']:,}, file {s['written']:,} bytes")


if __name__ == "__main__":
    main()
