#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Compares tidemark.profiling with torch.profiler on a real device, and measures its cost.

    tests/gpu/pack                                          # once, anywhere: build-py/
    python3 tests/gpu/profiling.py [fields|nested|compile|cost]   # on the machine with the device; all four unless one is named

Prints what it compared; $OUT/profiling-PART.json has the figures. Exit status 1: a check failed, 77: no device.
"""
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PACKED = os.environ.get("TIDE_GPU_PACKAGE", os.path.join(os.path.dirname(os.path.dirname(HERE)), "build-py"))
if os.path.isdir(PACKED) and "TIDE_AGAIN" not in os.environ:  # libraries are found only if they are named before the process starts
    site, lib = os.path.join(PACKED, "site"), os.path.join(PACKED, "lib")
    env = {**os.environ, "TIDE_AGAIN": "1", "PYTHONPATH": site + os.pathsep + os.environ.get("PYTHONPATH", ""),
           "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "") + os.pathsep + lib}
    os.execve(sys.executable, [sys.executable, *sys.argv], env)

try:
    import torch
except ImportError:
    print("skipped: no PyTorch")
    sys.exit(77)
if not torch.cuda.is_available():
    print("skipped: no CUDA device")
    sys.exit(77)
from torch.profiler import ProfilerActivity, profile  # noqa: E402

from tidemark import Trace  # noqa: E402
from tidemark.profiling import TorchCompileAnalyzer, UnifiedProfiler  # noqa: E402
from tidemark.profiling._recording import record_block  # noqa: E402

OUT = os.environ.get("OUT") or tempfile.mkdtemp()
FOLDER = tempfile.mkdtemp()
failed = []
seen_calls = []  # names of calls in each profile of torch.profiler
figures = {}


def check(what, ok, more=""):
    print(f"{'ok    ' if ok else 'FAILED'} {what} {more}", flush=True)
    figures[what] = [bool(ok), str(more)]
    if not ok:
        failed.append(what)


def keep():
    with open(os.path.join(OUT, f"profiling-{'-'.join(sys.argv[1:])}.json"), "w", encoding="utf-8") as f:
        json.dump(figures, f, indent=1)


def union(spans):
    total, end = 0.0, float("-inf")
    for a, b in sorted(spans):
        total += max(0.0, b - max(a, end))
        end = max(end, b)
    return total


def nets():
    small = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(200)]).cuda()
    big = torch.nn.Sequential(*[torch.nn.Linear(8192, 8192) for _ in range(8)]).cuda().bfloat16()
    return {"launch-bound": (small, torch.randn(8, 64, device="cuda")), "GPU-bound": (big, torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16))}


# ---- fields ----

def device_events(fn, n):
    """Kernels and copies as torch.profiler has them, key_averages and launch calls, of n calls."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
        for _ in range(n):
            fn()
        torch.cuda.synchronize()
    path = os.path.join(FOLDER, "torch.json")
    prof.export_chrome_trace(path)
    with open(path, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    work = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    seen_calls.append({(e["cat"], e["name"]) for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")})
    calls = [e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver") and "aunch" in e["name"] and "Kernel" in e["name"]]
    return work, calls, prof.key_averages()


def kernels_in_ops(path):
    """Kernels whose launch lies in an op of its thread, and all kernels."""
    t = Trace(path).native
    t0, t1, cat, cause, lane = (t.view("spans", c) for c in ("t0", "t1", "cat", "cause", "lane"))
    ops = {}
    for i in range(1, len(t0)):
        if cat[i] == 1:
            ops.setdefault(lane[i], []).append((t0[i], t1[i]))
    kernels = [i for i in range(1, len(t0)) if cat[i] == 6]
    return sum(1 for i in kernels if cause[i] and any(a <= t0[cause[i]] and t1[cause[i]] <= b for a, b in ops.get(lane[cause[i]], ()))), len(kernels)


def nested():
    """torch.profiler, for the first time in this process, inside a session: it records the device as it would without us."""
    m, x = torch.nn.Linear(64, 64).cuda(), torch.randn(8, 64, device="cuda")
    m(x)
    with UnifiedProfiler(FOLDER, recorder="tidemark", with_stack=False).profile("outer") as s:
        m(x)
        torch.cuda.synchronize()
        work, calls, _ = device_events(lambda: m(x), 3)
    check("torch.profiler in a session sees kernels and launches", len(work) == 3 == len(calls), f"{len(work)} {len(calls)}")
    work, calls, _ = device_events(lambda: m(x), 3)
    check("and after it", len(work) == 3 == len(calls), f"{len(work)} {len(calls)}; the session has {sum(k.call_count for k in s.kernels)} kernels")


def fields():
    m = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(32 * 62 * 62, 256), torch.nn.LayerNorm(256),
                            torch.nn.Softmax(1)).cuda()
    x = torch.randn(32, 3, 64, 64, device="cuda")
    n = 10

    def step():
        m.zero_grad()
        m(x).sum().backward()

    for _ in range(5):
        step()
    first = UnifiedProfiler(FOLDER, recorder="tidemark", with_stack=False).profile_function(step, name="first", warmup=2, iterations=n)
    known = sum(1 for k in first.kernels if k.grid and k.cpu_time_us)  # calls come by CUPTI's callbacks as long as torch.profiler has not run
    check("host time of launches, before torch.profiler ran", known >= 0.9 * sum(1 for k in first.kernels if k.grid), f"{known} of {len(first.kernels)}")
    device_events(step, n)
    s = UnifiedProfiler(FOLDER, recorder="tidemark", with_stack=False).profile_function(step, name="fields", warmup=2, iterations=n)
    one, two = ({k.name: (k.call_count, k.grid, k.block, k.stream) for k in x.kernels} for x in (first, s))
    check("the same kernels before and after torch.profiler ran", one == two, f"{len(one)} {len(two)} {sorted(set(one.items()) ^ set(two.items()), key=str)[:2]}")
    joined = [kernels_in_ops(x.recording_path) for x in (first, s)]
    check("as many kernels have their op by callbacks as by records", joined[0] == joined[1] and joined[0][0] > 0.9 * joined[0][1], joined)
    hosts = [sum(k.cpu_time_us or 0 for k in x.kernels) for x in (first, s)]
    check("host time of launches by callbacks and by records", 0.5 < hosts[0] / hosts[1] < 2, f"{hosts[0]:.1f} and {hosts[1]:.1f} us")
    torch.cuda.reset_peak_memory_stats()
    step()
    torch.cuda.synchronize()
    check("peak equals memory_stats", abs(s.peak_memory_mb - torch.cuda.max_memory_allocated() / 2**20) < 1, f"{s.peak_memory_mb} {torch.cuda.max_memory_allocated() / 2**20}")
    work, calls, averages = device_events(step, n)
    check("torch.profiler sees the same calls before and after", seen_calls[0] == seen_calls[1], f"{len(seen_calls[0])}; {sorted(seen_calls[0] ^ seen_calls[1])[:4]}")
    theirs = {}
    for e in work:
        theirs.setdefault(e["name"], []).append(e)
    ours = {k.name: k for k in s.kernels}
    check("the same kernels", set(ours) == set(theirs), f"{len(ours)} of ours, {len(theirs)} of theirs; {sorted(set(ours) ^ set(theirs))[:3]}")
    both = [k for k in ours if k in theirs]
    off = [(k, ours[k].call_count * n, len(theirs[k])) for k in both if round(ours[k].call_count * n) != len(theirs[k])]
    check("the same number of launches of each", not off, f"{sum(len(v) for v in theirs.values())} in all; {off[:3]}")

    def same(name, ours_of, theirs_of):
        bad = [(k, ours_of(ours[k]), [theirs_of(e) for e in theirs[k]][:2]) for k in both
               if theirs[k][0]["cat"] == "kernel" and ours_of(ours[k]) not in [theirs_of(e) for e in theirs[k]]]
        check(f"{name} of every kernel", not bad and both, f"{len(both)} kernels; {bad[:2]}")

    same("grid", lambda k: list(k.grid or ()), lambda e: e["args"]["grid"])
    same("block", lambda k: list(k.block or ()), lambda e: e["args"]["block"])
    same("registers", lambda k: k.registers_per_thread, lambda e: e["args"]["registers per thread"])
    same("shared memory", lambda k: k.shared_memory_bytes, lambda e: e["args"]["shared memory"])
    same("stream", lambda k: k.stream, lambda e: e["args"]["stream"])
    same("device", lambda k: k.device_index, lambda e: e["args"]["device"])
    busy = union((e["ts"], e["ts"] + e["dur"]) for e in work) / 1000 / n
    total = sum(a.self_device_time_total for a in averages if getattr(a, "self_device_time_total", 0)) / 1000 / n
    check("busy time is torch.profiler's union", abs(s.cuda_time_ms / busy - 1) < 0.2, f"{s.cuda_time_ms:.4f} ms, union {busy:.4f} ms, key_averages {total:.4f} ms")
    launched = sum(k.call_count for k in s.kernels if k.grid) * n
    check("launch calls", abs(launched - len(calls)) <= max(2, 0.02 * len(calls)), f"kernels {launched}, launch calls of torch.profiler {len(calls)}")
    known = sum(1 for k in s.kernels if k.grid and k.cpu_time_us)  # the driver's launches are recorded where torch.compile has been used
    check("host time of launches", known >= 0.9 * sum(1 for k in s.kernels if k.grid), f"{known} of {len(s.kernels)}")
    check("kinds", {"Matrix Multiply", "Elementwise"} <= {k.kind for k in s.kernels}, sorted({k.kind for k in s.kernels}))
    print("      ", s.kernels[0], s.bottlenecks, s.recommendations[:2])


# ---- torch.compile ----

def compiled():
    class Mixed(torch.nn.Module):  # an input that is changed keeps CUDA graphs away
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64))

        def forward(self, x, scale, change):
            if change:
                x.add_(1)
            return (self.net(x) * scale).relu() + 1

    m, x = Mixed().cuda(), torch.randn(32, 64, device="cuda")
    with torch.no_grad():
        fast = torch.compile(m)
        s = UnifiedProfiler(FOLDER, recorder="tidemark", with_stack=False).profile_function(lambda: fast(x, torch.ones(1, device="cuda"), False), name="triton", warmup=3, iterations=5)
        check("host time of Triton's launches", all(k.cpu_time_us for k in s.kernels if k.grid) and any("triton" in k.name for k in s.kernels), [k.name for k in s.kernels])
        one = torch.ones(1, device="cuda")
        for name, inputs in (("inputs stay", (x, one, False)), ("an input is changed", (x, one, True))):
            for mode, c in TorchCompileAnalyzer(output_dir=os.path.join(FOLDER, "compile")).compare_modes(m, inputs, modes=("default", "reduce-overhead"), warmup=3, iterations=20).items():
                what = f"compile, {name}, {mode}"
                if c.error:
                    check(what, False, c.error)
                    continue
                more = (f"speedup {c.speedup:.2f}, compile {c.compile_time_ms} ms, kernels {c.fused_kernels}, fusion {c.fusion_ratio}, cudagraph skips "
                        f"{c.cudagraph_skips}, recordings {c.cudagraph_recordings}, their pools {c.cudagraph_pool_mb} MB, peak {c.peak_memory_mb} (eager {c.eager_peak_memory_mb}) MB, breaks {c.total_graph_breaks}")
                ok = c.total_graph_breaks == 0 and bool(c.fused_kernels)
                if mode == "reduce-overhead":
                    ok = ok and (c.cudagraph_skips > 0 if "changed" in name else c.cudagraph_recordings > 0 and c.cudagraph_skips == 0)
                else:
                    ok = ok and not c.cudagraph_recordings
                check(what, ok, more)


# ---- cost ----

def once(way, fn, n):
    """ms a call of n calls, recorded that way."""
    if way == "bare":
        torch.cuda.synchronize()
        t = time.perf_counter()
        for _ in range(n):
            fn()
        torch.cuda.synchronize()
        return (time.perf_counter() - t) / n * 1e3
    how = {"ops": {"gpu": ""}, "ops+kernels": {"gpu": "kernels"}, "launches": {"gpu": "kernels,launches"}, "runtime": {"gpu": "kernels,runtime"}, "callbacks": {"gpu": "kernels,runtime,callbacks"}, "all": {}, "no modules": {"with_modules": False}, "shapes+stacks": {"record_shapes": True, "with_stack": True},
           "torch.profiler": {"recorder": "torch"}}[way]
    model = fn.__closure__[0].cell_contents
    with record_block(os.path.join(FOLDER, f"{way.replace(' ', '_')}.tide"), **{"recorder": "tidemark", "models": [model], **how}) as r:
        for _ in range(n):
            fn()
    for end in (".tide", ".json"):
        path = os.path.splitext(r.path)[0] + end
        if os.path.exists(path):
            os.unlink(path)
    return r.wall_ms / n


def compare(fn, ways, n, seconds):
    """Extra percent of each way, each recorded run between two bare ones, in shuffled order; the least of each; all bare ones."""
    for w in ways:  # what is built or loaded once
        once(w, fn, 2)
    ratios, least, bare, begun, rounds = {w: [] for w in ways}, {w: 1e9 for w in ways}, [], time.monotonic(), 0
    while rounds < 60 and time.monotonic() - begun < seconds:
        rounds += 1
        random.shuffle(ways)
        before = once("bare", fn, n)
        for w in ways:
            got = once(w, fn, n)
            after = once("bare", fn, n)
            ratios[w].append(100 * (got / ((before + after) / 2) - 1))
            least[w] = min(least[w], got)
            bare += [after]
            before = after
    return ratios, least, bare


def cost():
    limit = float(os.environ.get("TIDE_COST_S", "150"))
    for name, (model, x) in nets().items():
        def fn():
            return model(x)  # noqa: B023 (used before the next turn)

        ways = ["all"]
        if name == "launch-bound":  # TIDE_COST_WAYS: fewer of them, so that more rounds fit
            ways = os.environ.get("TIDE_COST_WAYS", "ops,ops+kernels,launches,runtime,callbacks,all,no modules").split(",")
        with torch.no_grad():
            for _ in range(10):
                fn()
            n = max(3, min(40, int(150 / once("bare", fn, 5))))
            tell_cost(name, n, *compare(fn, ways, n, limit))
    for name, (model, x) in nets().items():  # last: it keeps CUPTI's only subscription
        def fn():
            return model(x)  # noqa: B023

        with torch.no_grad():
            for _ in range(10):
                fn()
            n = max(3, min(40, int(150 / once("bare", fn, 5))))
            tell_cost(name, n, *compare(fn, ["torch.profiler", "all"], n, limit / 3))


def tell_cost(name, n, ratios, least, bare):
    after = " after torch.profiler" if "torch.profiler" in ratios else ""
    floor = min(bare)
    print(f"{name}{after}: {len(next(iter(ratios.values())))} rounds of {n} calls; bare median {statistics.median(bare):.3f} ms, quartiles {[round(q, 3) for q in statistics.quantiles(bare)]}, least {floor:.3f}")
    for w in sorted(ratios):
        q = statistics.quantiles(ratios[w])
        print(f"    {w:15} {q[1]:+6.1f} % (quartiles {q[0]:+.1f} .. {q[2]:+.1f}), least against least {100 * (least[w] / floor - 1):+.1f} %", flush=True)
        figures[f"cost {name}{after} {w}"] = {"median_pct": q[1], "q1": q[0], "q3": q[2], "least_pct": 100 * (least[w] / floor - 1), "rounds": len(ratios[w]), "bare_ms": statistics.median(bare)}
    most = 15 if name == "launch-bound" else 3
    if not after:
        check(f"cost of profiling a function, {name}, at most {most} %", statistics.median(ratios["all"]) <= most, f"{statistics.median(ratios['all']):+.1f} %")


def main():
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, Python {sys.version.split()[0]}", flush=True)
    parts = {"fields": fields, "nested": nested, "compile": compiled, "cost": cost}
    if not sys.argv[1:]:  # each in a process of its own: what torch.profiler was used for stays
        return max(subprocess.run([sys.executable, __file__, name], check=False).returncode for name in parts)
    for name in sys.argv[1:]:
        try:
            parts[name]()
        except Exception as why:  # the others may still tell something
            import traceback

            traceback.print_exc()
            check(name, False, repr(why)[:300])
        keep()
    print(f"{len(failed)} failed" if failed else "all ok")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
