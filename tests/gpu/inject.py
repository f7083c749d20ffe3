#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark run --gpu` on a real device: checked against torch.profiler and torch's own counters, and its cost.

    tests/gpu/inject_pack                 # once, where the project is built: what is needed, in build-inject/
    python3 tests/gpu/inject.py [PART...] # on the machine with the device

Prints one line a check and, at the end, the figures as JSON (also to $OUT/inject.json). Exit status 1 when a check failed, 77 without a
device. Parts: kernels memory virtual expandable profiler graphs nvtx cost steps; turns
(every variant once a round, at least 5 rounds; TIDE_TURNS_S seconds at most); paired (variants switched in one process, about TIDE_PAIRED_S seconds)."""
import collections
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
HOME = os.environ.get("TIDE_INJECT") or next(
    (p for p in (os.path.join(ROOT, "build-inject"), os.path.join(ROOT, "build")) if os.path.exists(os.path.join(p, "src", "tidemark"))), "")
TIDEMARK = os.path.join(HOME, "src", "tidemark")
figures: dict = {}
failed = 0

WORK = r'''
import ctypes, json, os, sys, time
import torch
what, out = sys.argv[1], sys.argv[2]
arg = int(sys.argv[3]) if len(sys.argv) > 3 else 0
dev = "cuda"

def model(width=512, layers=4):
    torch.manual_seed(0)
    return torch.nn.Sequential(*[m for _ in range(layers) for m in (torch.nn.Linear(width, width), torch.nn.GELU(), torch.nn.LayerNorm(width))]).to(dev)

def train(steps, batch=64, width=512):
    net = model(width)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=False, foreach=False)
    x = torch.randn(batch, width, device=dev)
    for _ in range(steps):
        loss = net(x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    torch.cuda.synchronize()

def count(prof):
    rows = {}
    for e in prof.events():
        if e.device_type == torch.autograd.DeviceType.CUDA and not e.is_user_annotation and not e.name.startswith(("ProfilerStep", "Activity Buffer")):
            rows[e.name] = rows.get(e.name, 0) + 1
    return rows

result = {}
if what == "train":
    train(arg or 5)
elif what == "train_profiled":
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as p:
        train(arg or 5)
    result = {"kernels": count(p)}
elif what == "profile_twice":
    train(2)
    for k in range(2):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) as p:
            train(3)
        result[f"profile{k}"] = sum(count(p).values())
elif what == "launches":
    x = torch.zeros(16, device=dev)
    for _ in range(2000):
        x.add_(1)
    torch.cuda.synchronize()
    best = []
    for _ in range(7):
        t = time.perf_counter()
        for _ in range(arg):
            x.add_(1)
        torch.cuda.synchronize()
        best.append((time.perf_counter() - t) / arg * 1e6)
    result = {"us_per_launch": min(best), "all": best}
elif what == "launches_profiled":
    x = torch.zeros(16, device=dev)
    for _ in range(2000):
        x.add_(1)
    torch.cuda.synchronize()
    best = []
    for _ in range(3):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]):
            t = time.perf_counter()
            for _ in range(arg):
                x.add_(1)
            torch.cuda.synchronize()
            best.append((time.perf_counter() - t) / arg * 1e6)
    result = {"us_per_launch": min(best), "all": best}
elif what in ("steps", "steps_profiled"):
    net = model(512, 12)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=False, foreach=False)
    x = torch.randn(arg, 512, device=dev)
    def step():
        loss = net(x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    for _ in range(10):
        step()
    torch.cuda.synchronize()
    import contextlib
    times = []
    for _ in range(3):
        ctx = torch.profiler.profile() if what == "steps_profiled" else contextlib.nullcontext()
        with ctx:
            for _ in range(20):
                t = time.perf_counter()
                step()
                torch.cuda.synchronize()
                times.append((time.perf_counter() - t) * 1e3)
    times.sort()
    result = {"ms_median": times[len(times) // 2], "ms_min": times[0]}
elif what == "memory":
    result["used_after"] = {}
    def used(step):
        free, total = torch.cuda.mem_get_info()
        result["used_after"][step] = (total - free) >> 20
    used("context")
    x = torch.empty(300 << 20, dtype=torch.uint8, device=dev)
    used("torch, 300")
    rt = None
    for name in ("libcudart.so.13", "libcudart.so.12", "libcudart.so"):
        try:
            rt = ctypes.CDLL(name)
            break
        except OSError:
            pass
    raw = ctypes.c_void_p()
    if rt is not None:
        result["cudaMalloc"] = rt.cudaMalloc(ctypes.byref(raw), ctypes.c_size_t(123 << 20))
    used("cudaMalloc, 123")
    pinned = torch.empty(50 << 20, dtype=torch.uint8, pin_memory=True)
    used("50 of the host")
    cu = ctypes.CDLL("libcuda.so.1")
    prop = (ctypes.c_uint32 * 8)(1, 0, 1, 0, 0, 0, 0, 0)  # pinned memory of device 0
    handle, at, size = ctypes.c_uint64(), ctypes.c_uint64(), 64 << 20
    result["cuMemCreate"] = cu.cuMemCreate(ctypes.byref(handle), ctypes.c_size_t(size), prop, ctypes.c_uint64(0))
    if not result["cuMemCreate"]:
        result["reserve"] = cu.cuMemAddressReserve(ctypes.byref(at), ctypes.c_size_t(size), ctypes.c_size_t(0), ctypes.c_uint64(0), ctypes.c_uint64(0))
        result["map"] = cu.cuMemMap(at, ctypes.c_size_t(size), ctypes.c_size_t(0), handle, ctypes.c_uint64(0))
    used("cuMemCreate, 64")
    if rt is not None:  # a pool that keeps what is given back to it: 40 MiB held, 8 MiB of them in use
        pool, keep, a, b = ctypes.c_void_p(), ctypes.c_uint64(2 ** 64 - 1), ctypes.c_void_p(), ctypes.c_void_p()
        result["pool"] = rt.cudaDeviceGetDefaultMemPool(ctypes.byref(pool), 0) or rt.cudaMemPoolSetAttribute(pool, 4, ctypes.byref(keep))
        result["async"] = rt.cudaMallocAsync(ctypes.byref(a), ctypes.c_size_t(32 << 20), None) or rt.cudaMallocAsync(ctypes.byref(b), ctypes.c_size_t(8 << 20), None)
        torch.cuda.synchronize()
        used("cudaMallocAsync, 40")
        rt.cudaFreeAsync(a, None)
        torch.cuda.synchronize()
        now = [ctypes.c_uint64(), ctypes.c_uint64()]
        for at, attribute in zip(now, (5, 7)):  # cudaMemPoolAttrReservedMemCurrent, UsedMemCurrent
            rt.cudaMemPoolGetAttribute(pool, attribute, ctypes.byref(at))
        result["pool_reserved"], result["pool_used"] = now[0].value, now[1].value
    torch.cuda.synchronize()
    time.sleep(2.5)
    result["allocated"] = torch.cuda.memory_allocated()
    result["reserved"] = torch.cuda.memory_reserved()
    free, total = torch.cuda.mem_get_info()
    result["used"] = total - free
    result["total"] = total
elif what in ("measure", "measure_profiled"):
    import contextlib
    def profiled(on):
        return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]) if on else contextlib.nullcontext()
    def middle(values):
        values = sorted(values)
        return {"median": values[len(values) // 2], "least": values[0]}
    def launches(on):
        x = torch.zeros(16, device=dev)
        for _ in range(2000):
            x.add_(1)
        torch.cuda.synchronize()
        got = []
        for _ in range(9):
            with profiled(on):
                t = time.perf_counter()
                for _ in range(4000):
                    x.add_(1)
                torch.cuda.synchronize()
                got.append((time.perf_counter() - t) / 4000 * 1e6)
        return middle(got)
    def steps(on, batch, n):
        net = model(512, 12)
        opt = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=False, foreach=False)
        x = torch.randn(batch, 512, device=dev)
        def step():
            loss = net(x).square().mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        for _ in range(8):
            step()
        torch.cuda.synchronize()
        times = []
        with profiled(on):
            for _ in range(n):
                t = time.perf_counter()
                step()
                torch.cuda.synchronize()
                times.append((time.perf_counter() - t) * 1e3)
        return middle(times)
    def all_of(on):
        return {"us_per_launch": launches(on), "ms_launch_bound": steps(on, 8, 80), "ms_gpu_bound": steps(on, 65536, 10)}
    result = all_of(False)
    if what == "measure_profiled":
        result["profiled"] = all_of(True)
elif what in ("paired", "paired_light"):
    import random, signal, statistics
    class Bare:  # CUPTI alone: kernels and memory into buffers that nobody reads
        REQUEST = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t))
        COMPLETE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
        def __init__(self):
            path = next((line.split()[-1] for line in open("/proc/self/maps") if "libcupti.so" in line), "libcupti.so.13")
            self.cupti, self.used, self.bytes = ctypes.CDLL(path), [], 0
            def request(buffer, size, most):
                self.used.append(ctypes.create_string_buffer(8 << 20))
                buffer[0], size[0], most[0] = ctypes.addressof(self.used[-1]), 8 << 20, 0
            def complete(context, stream, buffer, size, valid):
                self.bytes += valid
            self.calls = self.REQUEST(request), self.COMPLETE(complete)
        def begin(self):
            self.bytes = 0
            if self.cupti.cuptiActivityRegisterCallbacks(*self.calls):
                raise OSError("CUPTI refused")
            for kind in (10, 49):
                self.cupti.cuptiActivityEnable(kind)
        def end(self):
            for kind in (10, 49):
                self.cupti.cuptiActivityDisable(kind)
            self.cupti.cuptiActivityFlushAll(1)
            self.used.clear()
            if not self.bytes:
                raise OSError("CUPTI delivered nothing")
    class Ours:
        def __init__(self, what):
            self.lib, self.what = ctypes.CDLL(os.environ["TIDE_INJECT_LIBRARY"]), what
        def begin(self):
            if rc := self.lib.tide_gpu_begin(self.what):
                raise OSError(f"tide_gpu_begin: {rc}")
        def end(self):
            self.lib.tide_gpu_end()
    class Kineto:
        def begin(self):
            self.p = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA])
            self.p.__enter__()
        def end(self):
            self.p.__exit__(None, None, None)
    class Nothing:
        begin = end = lambda self: None
    class Switched:  # the recording is on, all the rest of the time it is off
        def begin(self):
            os.kill(os.getpid(), signal.SIGUSR2)
            time.sleep(0.1)
        end = begin
    torch.zeros(16, device=dev)
    kinds = {"bare": Nothing(), "bare again": Nothing()}
    if what == "paired":
        kinds.update({"torch.profiler": Kineto(), "CUPTI alone": Bare(), "kernels+memory": Ours(b"kernels,memory"), "kernels+memory+virtual": Ours(b"kernels,memory,virtual")})
    else:
        kinds["--light"] = Switched()
        kinds["--light"].begin()  # off
    net = model(512, 12)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=False, foreach=False)
    few, many, small = torch.randn(8, 512, device=dev), torch.randn(65536, 512, device=dev), torch.zeros(16, device=dev)
    def step(x):
        loss = net(x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    loops = {"us_per_launch": (lambda: small.add_(1), 4000, 1e6), "ms_launch_bound": (lambda: step(few), 12, 1e3), "ms_gpu_bound": (lambda: step(many), 3, 1e3)}
    rows = {f: {k: [] for k in kinds} for f in loops}
    seconds = {"us_per_launch": 0.4, "ms_launch_bound": 0.45, "ms_gpu_bound": 0.15}
    for figure, (once, n, unit) in loops.items():
        until, rounds = time.monotonic() + arg * seconds[figure], 0
        for _ in range(n):
            once()
        while rounds < 5 or time.monotonic() < until:
            order = list(kinds)
            random.shuffle(order)
            for k in order:
                kinds[k].begin()
                for _ in range(max(2, n // 8)):
                    once()
                torch.cuda.synchronize()
                t = time.perf_counter()
                for _ in range(n):
                    once()
                torch.cuda.synchronize()
                rows[figure][k].append((time.perf_counter() - t) / n * unit)
                kinds[k].end()
            rounds += 1
    for figure, by in rows.items():
        for k, v in by.items():
            added = [a - b for a, b in zip(v, by["bare"])]
            q = statistics.quantiles(added, n=4)
            result.setdefault(figure, {})[k] = {"rounds": len(v), "median": round(statistics.median(v), 4), "least": round(min(v), 4), "added": round(statistics.median(added), 4),
                                                "quartiles": [round(q[0], 4), round(q[2], 4)], "added_percent": round(100 * statistics.median(a / b for a, b in zip(added, by["bare"])), 2)}
elif what == "expandable":
    x = torch.empty(300 << 20, dtype=torch.uint8, device=dev)
    y = torch.empty(200 << 20, dtype=torch.uint8, device=dev)
    z = torch.empty(40 << 20, dtype=torch.uint8, device=dev)
    torch.cuda.synchronize()
    result["peak_reserved"] = torch.cuda.memory_reserved()
    del y
    torch.cuda.empty_cache()
    del z
    torch.cuda.synchronize()
    time.sleep(2.5)
    result["allocated"], result["reserved"] = torch.cuda.memory_allocated(), torch.cuda.memory_reserved()
    result["expandable"] = sum(s["is_expandable"] for s in torch.cuda.memory_snapshot())
elif what == "graphs":
    x = torch.zeros(1000, device=dev)
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        for _ in range(3):
            y = (x * 2 + 1).relu()
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y = (x * 2 + 1).relu()
    for _ in range(50):
        g.replay()
    torch.cuda.synchronize()
elif what == "nvtx":
    x = torch.zeros(1000, device=dev)
    for i in range(5):
        torch.cuda.nvtx.range_push("outer")
        torch.cuda.nvtx.range_push(f"inner{i}")
        x.add_(1)
        torch.cuda.nvtx.range_pop()
        torch.cuda.nvtx.range_pop()
    torch.cuda.nvtx.mark("here")
    torch.cuda.synchronize()
elif what == "bare_used":
    x = torch.zeros(16, device=dev)
    for _ in range(1000):
        x.add_(1)
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    result["used"] = total - free
json.dump(result, open(out, "w"))
'''

# No PyTorch: the driver alone. Bytes live while a handle or a mapping holds them.
VIRTUAL = r'''
import ctypes, json, sys
cu = ctypes.CDLL("libcuda.so.1")
u64, size_t = ctypes.c_uint64, ctypes.c_size_t
MIB = 1 << 20
def ok(rc, what):
    if rc:
        sys.exit(f"{what}: error {rc}")
ok(cu.cuInit(0), "cuInit")
context = ctypes.c_void_p()
ok(cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0), "context")
ok(cu.cuCtxSetCurrent(context), "current")
def create(mib):
    prop = (ctypes.c_uint32 * 8)(1, 0, 1, 0, 0, 0, 0, 0)
    handle = u64()
    ok(cu.cuMemCreate(ctypes.byref(handle), size_t(mib * MIB), prop, u64(0)), "cuMemCreate")
    return handle
def reserve(mib):
    at = u64()
    ok(cu.cuMemAddressReserve(ctypes.byref(at), size_t(mib * MIB), size_t(0), u64(0), u64(0)), "reserve")
    return at
def free():
    free, total = size_t(), size_t()
    ok(cu.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)), "info")
    return free.value
begun = free()
used = []
def look():
    used.append((begun - free()) // MIB)
a, at = create(64), reserve(64)
ok(cu.cuMemMap(at, size_t(64 * MIB), size_t(0), a, u64(0)), "map")
ok(cu.cuMemRelease(a), "release")      # its mapping holds it
look()
b, c, two = create(32), create(16), reserve(48)
ok(cu.cuMemMap(two, size_t(32 * MIB), size_t(0), b, u64(0)), "map")
ok(cu.cuMemMap(u64(two.value + 32 * MIB), size_t(16 * MIB), size_t(0), c, u64(0)), "map")
kept = u64()
ok(cu.cuMemRetainAllocationHandle(ctypes.byref(kept), two), "retain")
look()
ok(cu.cuMemUnmap(at, size_t(64 * MIB)), "unmap")       # a ends
ok(cu.cuMemUnmap(two, size_t(48 * MIB)), "unmap both")
ok(cu.cuMemRelease(c), "release")      # c ends
ok(cu.cuMemRelease(b), "release")      # b is retained
look()
handles = [create(2) for _ in range(8)]
huge = u64()
prop = (ctypes.c_uint32 * 8)(1, 0, 1, 0, 0, 0, 0, 0)
refused = cu.cuMemCreate(ctypes.byref(huge), size_t(1 << 41), prop, u64(0))
for h in handles[:4]:
    ok(cu.cuMemRelease(h), "release")
look()
json.dump({"used_mib": used, "refused": refused, "same_handle": kept.value == b.value}, open(sys.argv[1], "w"))
'''


def say(text: str) -> None:
    print(text, flush=True)
    if os.environ.get("OUT"):
        with open(os.path.join(os.environ["OUT"], "checks.txt"), "a") as f:
            f.write(text + "\n")


def check(what: str, ok: bool, more: object = "") -> None:
    global failed
    failed += not ok
    say(("ok     " if ok else "FAILED ") + what + (f": {str(more)[:600]}" if more != "" else ""))


def environment(gpu: str = "") -> dict:
    env = {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(filter(None, [os.environ.get("LD_LIBRARY_PATH"), os.path.join(HOME, "lib")])),
           "PYTHONWARNINGS": "ignore"}
    env.pop("TIDEMARK_GPU", None)
    if gpu:
        env["TIDEMARK_GPU"] = gpu
    return env


def work(folder: str, what: str, *args: str, run: tuple = (), gpu: str = "") -> dict:
    """Run WORK bare, or under `tidemark run` with these options; what it found out."""
    script, out = f"{folder}/work.py", f"{folder}/out.json"
    with open(script, "w") as f:
        f.write(WORK)
    if os.path.exists(out):
        os.unlink(out)
    command = [sys.executable, script, what, out, *args]
    if run:
        command = [TIDEMARK, "run", "-o", f"{folder}/g.tide", *run, "--", *command]
    done = subprocess.run(command, env=environment(gpu), capture_output=True, text=True, timeout=600)
    if done.returncode or not os.path.exists(out):
        check(f"{what} runs {' '.join(run)}", False, (done.returncode, done.stdout[-500:], done.stderr[-1500:]))
        return {}
    return {**json.load(open(out)), "stderr": done.stderr[-800:]}


def ask(folder: str, *args: str) -> dict:
    done = subprocess.run([TIDEMARK, *args, f"{folder}/g.tide", "--json"], env=environment(), capture_output=True, text=True, timeout=400)
    if done.returncode:
        check(" ".join(args), False, done.stderr[-500:])
        return {}
    return json.loads(done.stdout)


RUN = ("--gpu", "--no-ops")


def kernels(folder: str) -> None:
    theirs = work(folder, "train_profiled").get("kernels", {})
    work(folder, "train", run=RUN)
    report = ask(folder, "kernels")
    ours = {r["name"]: r["count"] for r in report.get("kernels", [])}
    a, b = collections.Counter(theirs), collections.Counter(ours)
    missing, extra = a - b, b - a
    figures["kernels"] = {"torch_profiler": sum(a.values()), "tidemark": sum(b.values()), "missing": sum(missing.values()), "extra": sum(extra.values())}
    check("kernels and copies as torch.profiler counts them", sum(a.values()) > 100 and sum(missing.values()) <= 0.01 * sum(a.values()),
          {**figures["kernels"], "missing_names": list(missing.items())[:3], "extra_names": list(extra.items())[:3]})
    info = json.dumps(ask(folder, "info"))
    check("nothing was dropped", "device_records" not in info and "no_cupti" not in info, report.get("losses"))
    hta = ask(folder, "hta")
    check("hta reads it", bool(hta))
    flame = json.dumps(ask(folder, "flame", "--kind", "gpu"))
    check("kernels hang under their launches", "cudaLaunchKernel" in flame, flame[:300])


def memory(folder: str) -> None:
    got = work(folder, "memory", run=RUN)
    if not got:
        return
    text = json.dumps(ask(folder, "memory"))
    say(subprocess.run([TIDEMARK, "device", f"{folder}/g.tide"], env=environment(), capture_output=True, text=True).stdout)
    figures["memory"] = {k: got.get(k) for k in ("allocated", "reserved", "used", "total", "cudaMalloc", "cuMemCreate", "map")}
    check("memory report", bool(text))
    done = subprocess.run([TIDEMARK, "device", f"{folder}/g.tide", "--json"], env=environment(), capture_output=True, text=True)
    if done.returncode == 0:
        ledger = json.loads(done.stdout)
        figures["ledger"] = ledger.get("devices", ledger)
        d = (ledger.get("devices") or [{}])[0]
        check("torch's reserved bytes are in the ledger", abs((d.get("torch_live_bytes") or 0) + (d.get("torch_cached_bytes") or 0) - got["reserved"]) < 4 << 20, d)
        last = (d.get("over_time") or [{}])[-1]
        figures["ledger_at_the_end"] = last
        told = "virtual_memory" not in ledger.get("losses", {})  # CUPTI 13.0 does not tell cuMemCreate's bytes
        others = (123 + (64 if told else 0) + 8) << 20
        check("123 MiB of cudaMalloc, 64 MiB of cuMemCreate (or a loss that says so) and 8 MiB of cudaMallocAsync are others'", abs((last.get("other_bytes") or 0) - others) <= 2 << 20, last)
        check("what the pool holds back", abs((last.get("pooled_bytes") or 0) - (got.get("pool_reserved", 0) - got.get("pool_used", 0))) <= 2 << 20,
              (last.get("pooled_bytes"), got.get("pool_reserved"), got.get("pool_used")))
        parts = ("torch_live_bytes", "torch_cached_bytes", "other_bytes", "pooled_bytes", "context_bytes", "profiler_bytes", "others_bytes", "reserved_bytes",
                 "unexplained_bytes")
        check("the lines add up to NVML's figure", sum(last.get(k) or 0 for k in parts) == last.get("nvml_used_bytes"), last)
        grown = (last.get("context_bytes") or 0) - min(a["context_bytes"] for a in d.get("over_time", [{}]) if (a.get("torch_live_bytes") or a.get("other_bytes")) and a.get("context_bytes"))
        figures["context_grown_mib"], figures["driver_used_after_mib"] = grown / 2 ** 20, got.get("used_after")
        check("at most 64 MiB are unexplained or came to the context after the first allocation", abs(last.get("unexplained_bytes") or 0) + grown <= 64 << 20,
              (last, figures["driver_used_after_mib"]))
        check("NVML's total is there", (d.get("nvml_used_bytes") or 0) > 400 << 20, d)
    else:
        say(f"note: no `tidemark device` in this build: {done.stderr[-200:]}")


def virtual(folder: str) -> None:
    """A program without PyTorch: cuMemCreate by ctypes. The recording has every byte at every moment."""
    script, out = f"{folder}/virtual.py", f"{folder}/out.json"
    with open(script, "w") as f:
        f.write(VIRTUAL)
    done = subprocess.run([TIDEMARK, "run", "--gpu", "--no-torch", "-o", f"{folder}/g.tide", "--", sys.executable, script, out],
                          env=environment(), capture_output=True, text=True, timeout=400)
    check("the program runs", done.returncode == 0, (done.stdout[-300:], done.stderr[-600:]))
    if done.returncode:
        return
    got = json.load(open(out))
    figures["virtual"] = got
    memory, peak, device = ask(folder, "memory"), ask(folder, "peak", "--device", "cuda:0"), ask(folder, "device")
    say(subprocess.run([TIDEMARK, "device", f"{folder}/g.tide"], env=environment(), capture_output=True, text=True).stdout)
    pool = next((p for d in memory.get("devices", []) if d.get("device") == "cuda:0" for p in d.get("pools", []) if p.get("pool") == "cuda"), {})
    figures["virtual_pool"] = {k: pool.get(k) for k in ("live_bytes", "peak_bytes", "allocs", "frees")}
    mib = 1 << 20
    check("the driver's own figures", got["used_mib"] == [64, 112, 32, 40] and got["refused"] != 0, got)
    check("112 MiB at the peak", pool.get("peak_bytes") == 112 * mib and peak.get("peak_bytes") == 112 * mib, figures["virtual_pool"])
    check("40 MiB at the end", pool.get("live_bytes") == 40 * mib, figures["virtual_pool"])
    check("11 allocations, 6 frees", (pool.get("allocs"), pool.get("frees")) == (11, 6), figures["virtual_pool"])
    check("no loss is stated", "virtual_memory" not in device.get("losses", {}), device.get("losses"))
    libraries = (device.get("devices") or [{}])[0].get("libraries", [])
    check("its library is known", any(r.get("library") for r in libraries), libraries)


def expandable(folder: str) -> None:
    """PyTorch's expandable segments are its own memory, not others', and nothing is counted twice."""
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"
    try:
        got = work(folder, "expandable", run=RUN)
    finally:
        del os.environ["PYTORCH_CUDA_ALLOC_CONF"], os.environ["PYTORCH_ALLOC_CONF"]
    if not got:
        return
    say(subprocess.run([TIDEMARK, "device", f"{folder}/g.tide"], env=environment(), capture_output=True, text=True).stdout)
    report = ask(folder, "device")
    d = (report.get("devices") or [{}])[0]
    last = d  # the highest moment: at the last one Python has freed its tensors
    figures["expandable"] = {**{k: got.get(k) for k in ("allocated", "reserved", "peak_reserved", "expandable")}, "ledger": {k: v for k, v in d.items() if k != "over_time"}, "libraries": d.get("libraries")}
    check("segments are expandable", (got.get("expandable") or 0) > 0, got)
    check("live and cached are what PyTorch has reserved", (last.get("torch_live_bytes"), (last.get("torch_live_bytes") or 0) + (last.get("torch_cached_bytes") or 0))
          == (got["allocated"], got["reserved"]), (last, got))
    check("PyTorch is not among the others", not any("c10" in (r.get("library") or "") for r in d.get("libraries", [])), d.get("libraries"))
    check("no loss is stated", "virtual_memory" not in report.get("losses", {}), report.get("losses"))
    check("less than 32 MiB are unexplained", last.get("unexplained_bytes") is not None and abs(last["unexplained_bytes"]) < 32 << 20, last)


def profiler(folder: str) -> None:
    got = work(folder, "profile_twice", run=RUN)
    figures["torch_profiler_under_injection"] = {k: got.get(k) for k in ("profile0", "profile1")}
    check("torch.profiler's first profile under us has kernels", (got.get("profile0") or 0) > 50, got)
    check("and the second one", (got.get("profile1") or 0) > 50, got)
    info = json.dumps(ask(folder, "info"))
    check("the recording says that we stepped aside", "gpu_aside" in info)
    before = sum(r["count"] for r in ask(folder, "kernels").get("kernels", []))
    figures["kernels_before_the_other_profiler"] = before
    check("and has what came before", before > 50, before)
    work(folder, "profile_twice", run=RUN, gpu="kernels,memory,calls,nvml,source")
    figures["kernels_before_without_a_subscriber"] = sum(r["count"] for r in ask(folder, "kernels").get("kernels", []))
    say(f"       without a subscriber: {figures['kernels_before_without_a_subscriber']}")


def graphs(folder: str) -> None:
    work(folder, "graphs", run=RUN)
    rows = {r["name"]: r["count"] for r in ask(folder, "kernels").get("kernels", [])}
    n = sum(v for v in rows.values())
    figures["graphs"] = rows
    check("50 replays are kernels, not one block", n >= 150, rows)


def nvtx(folder: str) -> None:
    work(folder, "nvtx", run=RUN)
    text = subprocess.run([TIDEMARK, "ops", f"{folder}/g.tide", "--flat", "--json"], env=environment(), capture_output=True, text=True).stdout
    check("NVTX ranges are spans", "outer" in text and "inner3" in text, text[:300])


def in_turns(folder: str, rounds: int, figure: str, variants: dict) -> dict:
    """Each variant once a round; the median of its rounds, and all of them."""
    got: dict = {name: [] for name in variants}
    for _ in range(rounds):
        for name, (what, args, kw) in variants.items():
            value = work(folder, what, *args, **kw).get(figure)
            if value:
                got[name].append(round(value, 4))
    medians = {name: sorted(v)[len(v) // 2] for name, v in got.items() if v}
    say(f"       {figure}: {medians}  all: {got}")
    return {"median": medians, "all": got}


def cost(folder: str) -> None:
    n = ("20000",)
    rows = in_turns(folder, 5, "us_per_launch", {
        "bare": ("launches", n, {}),
        "kernels+memory": ("launches", n, {"run": RUN, "gpu": "kernels,memory"}),
        "kernels+memory+calls": ("launches", n, {"run": RUN, "gpu": "kernels,memory,calls"}),
        "torch.profiler": ("launches_profiled", n, {})})
    figures["us_per_launch"] = rows
    bare = rows["median"].get("bare", 0)
    figures["added_us_per_launch"] = {k: round(v - bare, 3) for k, v in rows["median"].items()}
    check("cost was measured", len(rows["median"]) == 4, figures["added_us_per_launch"])
    bare_used, ours_used = work(folder, "bare_used").get("used"), work(folder, "bare_used", run=RUN).get("used")
    if bare_used and ours_used:
        figures["profiler_device_bytes"] = ours_used - bare_used


def steps(folder: str) -> None:
    rows = in_turns(folder, 5, "ms_median", {
        "bare": ("steps", ("8",), {}), "--light": ("steps", ("8",), {"run": ("--light",)}), "--no-ops": ("steps", ("8",), {"run": ("--no-ops",)}),
        "--gpu --no-ops": ("steps", ("8",), {"run": RUN}), "torch.profiler": ("steps_profiled", ("8",), {})})
    large = in_turns(folder, 2, "ms_median", {
        "bare": ("steps", ("65536",), {}), "--light": ("steps", ("65536",), {"run": ("--light",)}), "--gpu --no-ops": ("steps", ("65536",), {"run": RUN})})
    figures["ms_per_step"] = {"launch-bound": rows, "GPU-bound": large}
    check("steps were measured", len(rows["median"]) == 5 and len(large["median"]) == 3)


def turns(folder: str) -> None:
    """Every variant once a round, as many rounds as fit (5 wanted), the order turned each time; medians of launches and of both kinds of step."""
    begun, rounds = time.monotonic(), 0
    limit = float(os.environ.get("TIDE_TURNS_S", "140"))
    variants = {
        "bare": lambda: work(folder, "measure_profiled"),
        "kernels+memory": lambda: work(folder, "measure", run=RUN, gpu="kernels,memory"),
        "kernels+memory+virtual": lambda: work(folder, "measure", run=RUN, gpu="kernels,memory,virtual"),
        "--light": lambda: work(folder, "measure", run=("--light",)),
        "bare again": lambda: work(folder, "measure")}
    rows: dict = {}  # figure -> variant -> [(median, least) of a round]
    while rounds < 5 or time.monotonic() - begun < limit * 0.8:
        if rounds >= 5 and (time.monotonic() - begun) * (rounds + 1) / rounds > limit:
            break
        order = list(variants.items())
        for name, once in order[rounds % len(order) :] + order[: rounds % len(order)]:
            row = once()
            for figure in ("us_per_launch", "ms_launch_bound", "ms_gpu_bound"):
                for key, value in ((name, row.get(figure)), ("torch.profiler", row.get("profiled", {}).get(figure))):
                    if value:
                        rows.setdefault(figure, {}).setdefault(key, []).append((round(value["median"], 4), round(value["least"], 4)))
        rounds += 1
        figures["turns"] = {"rounds": rounds, "all": rows}
        for figure, by in rows.items():
            figures["turns"][figure] = {
                n: {"median of medians": sorted(v)[len(v) // 2][0], "least median": min(v)[0], "least": min(x[1] for x in v)} for n, v in by.items()}
            bare = figures["turns"][figure].get("bare", {})
            for n, v in figures["turns"][figure].items():
                v["added"] = {k: round(v[k] - bare[k], 4) for k in ("median of medians", "least median", "least") if k in bare}
        if os.environ.get("OUT"):
            with open(os.path.join(os.environ["OUT"], "turns.json"), "w") as f:
                json.dump(figures["turns"], f, indent=1)
        say(f"round {rounds}, {time.monotonic() - begun:.0f} s")
    for figure in rows:
        for n, v in figures["turns"][figure].items():
            say(f"{figure:16} {n:24} {json.dumps(v)}")
    check("every variant was measured in at least 5 rounds", rounds >= 5 and len(rows) == 3 and all(len(by) == 6 for by in rows.values()), rounds)
    used = [work(folder, "bare_used").get("used"), work(folder, "bare_used", run=RUN).get("used")]
    if all(used):
        figures["profiler_device_bytes"] = used[1] - used[0]


def paired(folder: str) -> None:
    """Every variant switched on and off in one process, in random order, so that the differences are between neighbours in time."""
    seconds = os.environ.get("TIDE_PAIRED_S", "50")
    os.environ["TIDE_INJECT_LIBRARY"] = os.path.join(HOME, "src", "capture", "libtidemark-inject.so")
    figures["paired"] = {}
    for what, run in ("paired", ("--no-ops",)), ("paired_light", ("--light", "--signal", "USR2")):
        got = work(folder, what, seconds if what == "paired" else str(int(seconds) // 2), run=run)
        figures["paired"][what] = {k: v for k, v in got.items() if k != "stderr"}
        for figure in ("us_per_launch", "ms_launch_bound", "ms_gpu_bound"):
            for k, v in got.get(figure, {}).items():
                say(f"{figure:16} {k:24} {json.dumps(v)}")
        check(f"{what}: every variant in at least 5 rounds", len(got) > 3 and all(v["rounds"] >= 5 for f in ("us_per_launch", "ms_launch_bound", "ms_gpu_bound") for v in got.get(f, {}).values()))


PARTS = {"paired": paired, "turns": turns, "kernels": kernels, "memory": memory, "virtual": virtual, "expandable": expandable, "profiler": profiler, "graphs": graphs, "nvtx": nvtx, "cost": cost, "steps": steps}


def main() -> int:
    try:
        import torch
    except ImportError:
        print("no PyTorch")
        return 77
    if not torch.cuda.is_available() or not HOME:
        print("no CUDA device" if HOME else "nothing is built: tests/gpu/inject_pack")
        return 77
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, {TIDEMARK}", flush=True)
    wanted = sys.argv[1:] or [p for p in PARTS if p not in ("turns", "paired")]
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted:
            try:
                PARTS[name](folder)
            except Exception as why:  # the next part says more
                check(name, False, repr(why))
            if os.environ.get("OUT"):
                with open(os.path.join(os.environ["OUT"], "inject.json"), "w") as f:
                    json.dump(figures, f, indent=1)
    print(json.dumps(figures, indent=1))
    return 1 if failed else 0


sys.exit(main())
