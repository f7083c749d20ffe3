#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark run --gpu` on a fake CUPTI: all reported records are in the recording, and the commands for Kineto traces read it.

gpu_run.py PROGRAM FAKE RUNTIME INJECT: gpu_prog.c and fake_cupti.c, the libraries of the recorder and of the injection. Real devices:
tests/gpu/inject.py."""
import json
import os
import subprocess
import sys
import tempfile

from checks import check, result

TIDEMARK, (PROG, FAKE, RUNTIME, INJECT) = os.environ["TIDEMARK"], sys.argv[1:5]


def ask(*args: str) -> dict:
    done = subprocess.run([TIDEMARK, *args, "--json"], capture_output=True, text=True)
    check(" ".join(args[:1]), done.returncode == 0, done.stderr)
    return json.loads(done.stdout) if done.returncode == 0 else {}


MIB = 1 << 20


def ledger(folder: str) -> None:
    """Virtual memory counts once, pools with their unused bytes, the driver's part separately; the lines add up to NVML's
    figure."""
    file = f"{folder}/more.tide"
    done = subprocess.run([TIDEMARK, "run", "--gpu", "--no-torch", "-o", file, "--", PROG, "more"], capture_output=True, text=True,
                          env={**os.environ, "TIDEMARK_CUPTI": FAKE, "TIDEMARK_NVML": FAKE, "TIDEMARK_LIBCUDA": FAKE})
    check("run with NVML", done.returncode == 0, (done.returncode, done.stderr))
    d = (ask("device", file).get("devices") or [{}])[0]
    last = (d.get("over_time") or [{}])[-1]
    want = {"nvml_used_bytes": 1400, "other_bytes": 3 + 128 + 4, "pooled_bytes": 28, "profiler_bytes": 12, "others_bytes": 100, "reserved_bytes": 600,
            "torch_live_bytes": 0}
    check("lines of the ledger", {k: (last.get(k) or 0) / MIB for k in want} == want, last)
    parts = sum(last.get(k) or 0 for k in (*want, "context_bytes", "unexplained_bytes")) - (last.get("nvml_used_bytes") or 0)
    check("the lines add up", parts == last.get("nvml_used_bytes"), (parts, last))
    check("context is what nothing else explains", last.get("context_bytes") == (700 - 135 - 28 - 12) * MIB and last.get("unexplained_bytes") == 0, last)
    done = subprocess.run([TIDEMARK, "run", "--gpu", "--no-torch", "-o", file, "--", PROG, "more", "untold"], capture_output=True, text=True,
                          env={**os.environ, "TIDEMARK_CUPTI": FAKE, "TIDEMARK_NVML": "/nowhere"})
    losses = ask("device", file).get("losses", {})
    check("virtual memory that CUPTI does not tell is stated", done.returncode == 0 and losses.get("virtual_memory") == 1, losses)
    check("the device has its name", d.get("name") == "Stand-in", d.get("name"))


def virtual_memory(folder: str) -> None:
    """cuMemCreate is caught by CUPTI's callback: bytes live while a handle or a mapping holds them; another profiler gets the
    callbacks when it subscribes."""
    file = f"{folder}/virtual.tide"
    env = {**os.environ, "TIDEMARK_CUPTI": FAKE, "TIDEMARK_NVML": FAKE, "TIDEMARK_LIBCUDA": FAKE, "FAKE_VIRTUAL": "1", "FAKE_TELLS": "1"}
    done = subprocess.run([TIDEMARK, "run", "--gpu", "--no-torch", "-o", file, "--", PROG, "more"], capture_output=True, text=True, env=env)
    check("run with virtual memory", done.returncode == 0, (done.returncode, done.stderr))
    report = ask("device", file)
    last = ((report.get("devices") or [{}])[0].get("over_time") or [{}])[-1]
    # records of cuMemCreate, should CUPTI make some, are not counted beside the callbacks
    check("3 MiB of cudaMalloc, 16 of cuMemCreate, 4 of a pool are there at the end", last.get("other_bytes") == (3 + 16 + 4) * MIB, last)
    check("nothing is lost", "virtual_memory" not in report.get("losses", {}), report.get("losses"))
    peak = ask("peak", file, "--device", "cuda:0")
    check("64 + 32 + 16 MiB at the peak, beside 3", peak.get("peak_bytes") == (64 + 32 + 16 + 3) * MIB, peak)
    memory = json.dumps(ask("memory", file))
    check("8 MiB of the host are pinned", '"pinned"' in memory and str(8 * MIB) in memory, memory)
    done = subprocess.run([TIDEMARK, "run", "--gpu", "--no-torch", "-o", file, "--", PROG, "other"], capture_output=True, text=True, env=env)
    check("another profiler subscribes", done.returncode == 0, (done.returncode, done.stderr))
    report = ask("device", file)
    last = ((report.get("devices") or [{}])[0].get("over_time") or [{}])[-1]  # the stand-in's NVML says the same at all times: the device's line is the first
    check("what came before is recorded, what came later is stated", report.get("losses", {}).get("virtual_memory") == 1
          and last.get("other_bytes") == 4 * MIB, report)


def joined(folder: str) -> None:
    """Two processes on one device: each is a line, neither is among the other processes; the lines add up."""
    runs = [subprocess.Popen([TIDEMARK, "run", "--gpu", "--no-torch", "-o", f"{folder}/p{i}.tide", "--", PROG, "more"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                             env={**os.environ, "TIDEMARK_CUPTI": FAKE, "TIDEMARK_NVML": FAKE, "TIDEMARK_LIBCUDA": FAKE, "FAKE_OTHERS_MIB": "800", "FAKE_MEETS": "1"}) for i in range(2)]
    check("both look while the other one runs", [r.stdout.readline() for r in runs] == ["looked\n"] * 2)
    for r in runs:
        r.stdin.close()
    check("two runs", [r.wait(300) for r in runs] == [0, 0])
    report = ask("device", f"{folder}/p0.tide", f"{folder}/p1.tide")
    d = (report.get("devices") or [{}])[0]
    check("one device, two recordings", len(report.get("devices", [])) == 1 and len(report.get("recordings", [])) == 2, report)
    check("both processes are parts", len(d.get("processes", [])) == 2 and len({p["pid"] for p in d["processes"]}) == 2, d)
    last = (d.get("over_time") or [{}])[-1]
    check("700 MiB each, and 100 of another process", [sum(p[k] or 0 for k in ("other_bytes", "pooled_bytes", "context_bytes", "profiler_bytes"))
          for p in last.get("processes", [])] == [700 * MIB] * 2 and last.get("others_bytes") == 100 * MIB, last)
    check("nothing is unexplained", last.get("nvml_used_bytes") == 2100 * MIB and last.get("unexplained_bytes") == 0, last)


def graphs(folder: str) -> None:
    """Kernels of replays are below the range and the call that captured them: also in child graphs, after an update, and in graphs made by hand. A graph from
    before the recording stays with its launch, which is stated."""
    file = f"{folder}/graphs.tide"
    env = {**os.environ, "TIDEMARK_CUPTI": FAKE, "TIDEMARK_NVML": "/nowhere"}
    done = subprocess.run([TIDEMARK, "run", "--gpu", "--no-torch", "-o", file, "--", PROG, "graphs"], capture_output=True, text=True, env=env, check=False)
    check("run with graphs", done.returncode == 0, (done.returncode, done.stderr))
    flame = ask("flame", file, "--kind", "gpu")
    names = {f: {c["name"] for c in n.get("children", [])} for n in flame.get("children", []) for f in [n["name"]]}
    told = {n["name"]: n["value_ns"] for n in flame.get("children", [])}
    check("each replay is below its capture", told == {"first": 18000, "second": 6000, "replay": 6000, "by hand": 6000, "third": 12000, "fourth": 6000}, told)
    check("below its call, too", names.get("first") == {"cudaLaunchKernel"} == names.get("second") and names.get("by hand") == {"a", "b", "c"}, names)
    check("rows without a capture are stated", flame.get("losses") == {"graph_rows_unmatched": 3}, flame.get("losses"))
    kernels = {k["name"]: (k["count"], k["sum_ns"]) for k in ask("kernels", file).get("kernels", [])}
    check("their sums do not change", kernels == {"a": (9, 9000), "b": (9, 18000), "c": (9, 27000)}, kernels)
    done = subprocess.run([TIDEMARK, "run", "--gpu", "--no-torch", "-o", file, "--", PROG, "graphs"], capture_output=True, text=True,
                          env={**env, "TIDEMARK_GPU": "kernels,memory,calls"}, check=False)
    flame = ask("flame", file, "--kind", "gpu")
    check("without `graphs` all are below the launch", {n["name"] for n in flame.get("children", [])} == {"replay"} and not flame.get("losses"), flame)


def serving(folder: str) -> None:
    """A recording of a server: the parts add up to the allocator's bytes, the lines of the device to its used bytes. Beside a snapshot of another
    time it adds what is outside the allocator."""
    file, snapshot = f"{folder}/server.tide", os.path.join(os.environ["TIDE_SOURCE"], "tests/data/server/shared-09-served.pickle.gz")
    env = {**os.environ, "TIDEMARK_CUPTI": FAKE, "TIDEMARK_NVML": FAKE, "TIDEMARK_LIBCUDA": FAKE, "FAKE_GROWS": "1"}
    done = subprocess.run([TIDEMARK, "run", "--gpu", "--no-ops", "-o", file, "--", PROG, "training", "2"], capture_output=True, text=True, env=env, check=False)
    check("run of a server", done.returncode == 0, (done.returncode, done.stderr))
    ledger = ask("device", file)["devices"][0]
    for words, same in (([file], True), ([snapshot, file], False)):
        found = ask("serving", *words)
        d = found["on_device"]
        lines = ("allocator", "libraries", "pooled", "context", "profiler", "others", "driver")
        check("the lines add up to the used bytes", d["used_bytes"] == ledger["nvml_used_bytes"] == sum(d[f"{k}_bytes"] for k in lines) + d["unexplained_bytes"], d)
        check("the allocator is that of the ledger", d["allocator_bytes"] == ledger["torch_live_bytes"] + ledger["torch_cached_bytes"], (d, ledger))
        check("same moment", d["same_moment"] is same, d)
        check("the parts add up", found["reserved_bytes"] == sum(p["bytes"] for p in found["parts"]) - found["loose_bytes"], found)
        check("libraries", {row["library"]: row["bytes"] for row in d["libraries"]} == {row["library"]: row["bytes"] for row in ledger["libraries"]}, d)
    kv = found["kv_cache"]
    check("the largest KV cache counts what is outside", kv["outside_bytes"] == d["used_bytes"] - d["allocator_bytes"] and kv["bound"] == "exact"
          and kv["largest_bytes"] == kv["capacity_bytes"] - kv["outside_bytes"] - kv["rest_bytes"], kv)


SESSION = """
import ctypes, sys, threading
runtime, inject, fake, path, how, other = sys.argv[1:]
rt, cupti, gpu = ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL), ctypes.CDLL(fake), ctypes.CDLL(inject)
def called(user, domain, id, data): pass
keep = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)(called)
theirs = ctypes.c_void_p()
def subscribe(): return cupti.cuptiSubscribe(ctypes.byref(theirs), keep, None)
if other == "before": subscribe()
def work(first):
    tids.add(threading.get_native_id())
    for i in range(400): seen.append(cupti.fake_started(b"gemm", threading.get_native_id(), first + i))
for turn in range(2):  # the second session finds rooms of threads that ended
    seen, tids = [], set()
    assert rt.tide_start(f"{path}{turn}.tide".encode(), None, None) == 0
    assert gpu.tide_gpu_begin(how.encode()) == 0
    threads = [threading.Thread(target=work, args=(1 + 1000 * k,)) for k in range(3)]
    [t.start() for t in threads]; [t.join() for t in threads]
    if other == "during":
        gpu.tide_gpu_leave()
        assert subscribe() == 0
        cupti.cuptiUnsubscribe(theirs)
    gpu.tide_gpu_end()
    rt.tide_stop(None)
    assert other == "before" or subscribe() == 0, "the subscription is free again"
    other == "before" or cupti.cuptiUnsubscribe(theirs)
    print(sum(seen), *sorted(tids), sep=',')
"""


def sessions(folder: str) -> None:
    """A session in a running process: launches come by callbacks, or as records where another profiler has subscribed; each once, with its kernel."""
    env = {**os.environ, "TIDEMARK_CUPTI": FAKE, "TIDEMARK_NVML": "/nowhere"}
    for how, other, told in (("kernels,runtime,callbacks", "", 1200), ("kernels,runtime,callbacks", "before", 0), ("kernels,runtime", "", 0),
                             ("kernels,launches,callbacks", "during", 1200)):
        what = f"session: {how} {other}"
        done = subprocess.run([sys.executable, "-c", SESSION, RUNTIME, INJECT, FAKE, f"{folder}/s", how, other], capture_output=True, text=True, env=env, check=False)
        check(what, done.returncode == 0 and [line.split(",")[0] for line in done.stdout.split()] == [str(told)] * 2, (done.returncode, done.stdout, done.stderr))
        for turn in range(2):
            dump = subprocess.run([TIDEMARK, "dump", f"{folder}/s{turn}.tide", "--table", "spans", "--json"], capture_output=True, text=True, check=False)
            spans = [json.loads(line) for line in dump.stdout.splitlines()]
            calls, kernels = ([s for s in spans if s["cat"] == cat] for cat in ("runtime", "kernel"))
            check(f"{what}: 1200 launches, by three threads", len(calls) == 1200 and {s["name"] for s in calls} == {"cudaLaunchKernel"} and len({s["lane"] for s in calls}) == 3,
                  (len(calls), calls[:1]))
            lanes = subprocess.run([TIDEMARK, "dump", f"{folder}/s{turn}.tide", "--table", "lanes", "--json"], capture_output=True, text=True, check=False)
            rows = {row["row"]: row for row in map(json.loads, lanes.stdout.splitlines())}
            tids = sorted(rows[lane]["number"] for lane in {s["lane"] for s in calls})
            check(f"{what}: launches are on the lanes of their threads", tids == [int(t) for t in done.stdout.split()[turn].split(",")[1:]], (tids, done.stdout, rows))
            check(f"{what}: each kernel has its launch", len(kernels) == 1200 and len({s["cause"] for s in kernels}) == 1200, (len(kernels), kernels[:1]))


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/g.tide"
        done = subprocess.run([TIDEMARK, "run", "--gpu", "--no-torch", "-o", file, "--", PROG], capture_output=True, text=True,
                              env={**os.environ, "TIDEMARK_CUPTI": FAKE, "TIDEMARK_NVML": "/nowhere"})
        check("run", done.returncode == 0, (done.returncode, done.stderr))
        rows = {r["name"]: r for r in ask("kernels", file).get("kernels", [])}
        check("kernels, demangled", {n: r.get("count") for n, r in rows.items()} == {"add(float*, float*, int)": 50, "gemm": 50, "Memcpy HtoD (Pageable -> Device)": 1}, rows)
        launch = {k: rows.get("gemm", {}).get(k) for k in ("grid", "block", "registers_per_thread", "shared_memory_bytes", "device")}
        check("figures of a launch", launch == {"grid": [4, 1, 1], "block": [256, 1, 1], "registers_per_thread": 32, "shared_memory_bytes": 0, "device": 0}, launch)
        text = json.dumps(ask("timeline", file))
        check("timeline", "gpu" in text.lower(), text)
        hta = json.dumps(ask("hta", file))
        check("hta", "gemm" in hta or "busy" in hta or "compute" in hta, hta)
        flame = json.dumps(ask("flame", file, "--kind", "gpu"))
        check("flame of the GPU under the range and the launch", "step" in flame and "gemm" in flame, flame)
        ask("critical-path", file)
        memory = json.dumps(ask("memory", file))
        check("device memory", '"cuda"' in memory, memory)
        peak = ask("peak", file, "--device", "cuda:0")
        check("peak of 4 MiB", '"peak_bytes": 4194304' in json.dumps(peak) or "4194304" in json.dumps(peak), peak)
        ledger(folder)
        virtual_memory(folder)
        joined(folder)
        graphs(folder)
        serving(folder)
        sessions(folder)
    return result("as told")


sys.exit(main())
