#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""What `tidemark hta --json` says of launches, collectives, copies, steps, windows and stragglers, against plain
loops over the events of random traces of one to three ranks: unions and rates by asking every microsecond on its own.

    ranks.py [JOBS]      with TIDEMARK set
"""
import fractions
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from extent import rounds  # noqa: E402

US = 1000
CALLS = ["cudaLaunchKernel", "hipLaunchKernel", "cuLaunchKernelEx"]
COLL = {"allreduce": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "all_gather": "ncclDevKernel_AllGather_RING_LL",
        "reduce_scatter": "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "broadcast": "ncclDevKernel_Broadcast_RING_LL"}
DTYPE = {"Float": 4, "BFloat16": 2, "Long": 8, "Byte": 1}


def make(r, steps):
    """Events of one rank: calls one after another on two threads, their rows on two devices' streams."""
    events, corr, free, begun = [], 0, {}, set()

    def row(cat, name, ts, dur, pid, tid, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, "args": args})

    for k in range(steps):
        row("user_annotation", f"ProfilerStep#{k + 3}", 150 * k, 150, 1, 1)
    for thread in 2, 3:
        t = r.randint(0, 10)
        while t < 150 * max(steps, 1) + 20:
            corr += 1
            dur = r.choice([1, 3, 8, 20, 55, 60])
            device, stream = r.choice([0, 0, 0, 1]), r.choice([7, 20])
            kind = r.random()
            rows = []
            size = r.choice([None, 4096, 100000])
            if kind < 0.5:
                call = r.choice(CALLS)
                rows = [("kernel", r.choice(["gemm", "relu"]), {})]
            elif kind < 0.6:
                call, rows = "cudaGraphLaunch", [("kernel", "gemm", {})] * r.randint(1, 4)
            elif kind < 0.8:
                name = r.choice(list(COLL))
                call, args = "cudaLaunchKernelExC", {}
                if r.random() < 0.7:
                    group = r.randint(0, 1)
                    args = {"Collective name": name, "Process Group Name": str(group), "Group size": 2 + 2 * group,
                            "dtype": r.choice(list(DTYPE)), "In msg nelems": r.randint(1, 5000), "Out msg nelems": r.randint(1, 9000),
                            "Process Group Description": "pg"}
                    if r.random() < 0.5:
                        args["Process Group Ranks"] = r.choice(["[0, 1]", "[0, 1, 2]"])
                    if r.random() < 0.5:
                        args["Seq"] = r.randint(1, 3)
                rows = [("kernel", COLL[name], args)]
            elif kind < 0.95:
                call = "cudaMemcpyAsync"
                rows = [("gpu_memcpy", f"Memcpy {r.choice(['HtoD', 'DtoH'])} (Pinned -> Device)", {"bytes": size} if size else {})]
            else:
                call, rows = "cudaMemsetAsync", [("gpu_memset", "Memset (Device)", {"bytes": size} if size else {})]
            lost = r.random()  # a call without rows, rows without a call
            if lost > 0.05:
                row("cuda_driver" if call[:3] == "cuL" else "cuda_runtime", call, t, dur, 1, thread, correlation=corr)
            if lost < 0.92:
                for cat, name, args in rows:
                    on = (device, stream if call != "cudaGraphLaunch" else r.choice([7, 20]))
                    ts = max(t + r.choice([-1, 0, 2, 30, 130]), free.get(on, 0))
                    while "nccl" in name and ts in begun:  # what comes first of two at one moment is not said
                        ts += 1
                    begun.add(ts)
                    length = r.choice([0, 1, 2, 9, 40]) if r.random() < 0.9 else 200
                    free[on] = ts + length - (1 if r.random() < 0.05 and length > 1 else 0)
                    row(cat, name, ts, length, on[0], on[1], device=on[0], stream=on[1], correlation=corr, **args)
            t += dur + r.choice([0, 1, 5, 25])
    if r.random() < 0.3:
        r.shuffle(events)
    return events


# ---- plain answers ----

def half_even(n, d):
    return int(round(fractions.Fraction(n, d)))


def stats(v, percentiles=True):
    """None of no values; std from the exact variance, rounded half to even at the end."""
    if not v:
        return None
    n, s, q = len(v), sum(v), sum(x * x for x in v)
    root = math.isqrt(4 * (n * q - s * s)) if n * q > s * s else 0  # 2 n std, rounded down
    std = next(k for k in range(max(0, root // (2 * n) - 2), root // (2 * n) + 3) if
               4 * (n * q - s * s) <= ((2 * k + 1) * n) ** 2)
    d = {"sum_ns": s, "mean_ns": half_even(s, n), "min_ns": min(v), "max_ns": max(v), "std_ns": std}
    if percentiles:
        for p in 50, 90, 95, 99:
            d[f"p{p}_ns"] = sorted(v)[-(-p * n // 100) - 1]
    return d


def ticks(rows):
    return {t for x in rows for t in range(x["ts"], x["ts"] + x["dur"])}


class Rank:
    def __init__(self, events, window):
        self.host = [e for e in events if e["cat"] in ("cuda_runtime", "cuda_driver")]
        self.steps = {int(e["name"].split("#")[1]): (e["ts"], e["ts"] + e["dur"]) for e in events if "ProfilerStep" in e["name"]}
        call = {e["args"]["correlation"]: e for e in self.host}
        self.all = [e for e in events if e["cat"] in ("kernel", "gpu_memcpy", "gpu_memset")]
        for e in self.all:
            e["call"] = call.get(e["args"]["correlation"])
            e["type"] = "memory" if e["cat"] != "kernel" else "communication" if "nccl" in e["name"] else "compute"
        self.window = window
        self.rows = [e for e in self.all if self.inside(e, window)]
        self.start = min(e["ts"] for e in events)

    def inside(self, e, window):
        if window == "all" or (window == "drop" and len(self.steps) < 2):
            return True
        if not e["call"]:
            return False
        t = e["call"]["ts"]
        if window == "drop":
            return t < self.steps[max(self.steps)][0]
        return self.steps[window[0]][0] <= t < self.steps[window[1]][1]

    def step_of(self, e):
        for k, (a, b) in self.steps.items():
            if e["call"] and a <= e["call"]["ts"] < b:
                return k
        return None

    def launches(self):
        calls = [c for c in self.host if any(e["call"] is c for e in self.rows)]
        of = {id(c): [e for e in self.rows if e["call"] is c] for c in calls}
        delay = [US * max(0, min(e["ts"] for e in of[id(c)]) - c["ts"] - c["dur"]) for c in calls]
        graphs = [c for c in calls if len(of[id(c)]) > 1]
        return {"count": len(calls), "cpu": stats([US * c["dur"] for c in calls]), "delay": stats(delay),
                "short_kernels": sum(c["dur"] <= 50 and sum(e["dur"] for e in of[id(c)]) < c["dur"] for c in calls),
                "runtime_outliers": sum(c["dur"] > 50 for c in calls), "delay_outliers": sum(d > 100 * US for d in delay),
                "graph_launches": len(graphs), "graph_gpu_rows": sum(len(of[id(c)]) for c in graphs)}

    def collectives(self):
        compute = ticks([e for e in self.rows if e["type"] == "compute"])
        groups = {}
        for e in self.rows:
            if e["type"] == "communication":
                a = e["args"]
                name = a.get("Collective name") or [k for k, v in COLL.items() if v == e["name"]][0].replace("_", "")
                key = name, a.get("Process Group Name"), a.get("Group size")
                groups.setdefault(key, []).append(e)
        out = {}
        for (name, group, size), v in groups.items():
            known = [e for e in v if "dtype" in e["args"]]
            gathers = "gather" in name
            bytes_ = [e["args"]["Out msg nelems" if gathers else "In msg nelems"] * DTYPE[e["args"]["dtype"]] for e in known]
            moved = sum(bytes_)
            time = sum(e["dur"] for e in known) * US
            factor = {"allreduce": fractions.Fraction(2 * ((size or 2) - 1), size or 2), "broadcast": 1}.get(
                name, fractions.Fraction((size or 2) - 1, size or 2))
            union = ticks(v)
            out[name, group, size] = {"count": len(v), **stats([US * e["dur"] for e in v], False), "union_ns": US * len(union),
                                      "overlap_ns": US * len(union & compute), "bytes": moved if known else None,
                                      "rows_with_bytes": len(known), "algbw_gb_s": moved / time if time else None,
                                      "busbw_gb_s": sum(math.floor(b * factor) for b in bytes_) / time if time else None}
        return out

    def copies(self):
        out = {}
        for kind in "HtoD", "DtoH", "Memset":
            v = [e for e in self.rows if e["type"] == "memory" and kind in e["name"]]
            if not v:
                continue
            known = [e for e in v if "bytes" in e["args"]]
            rate = {}
            for e in known:
                for t in range(e["ts"], e["ts"] + e["dur"]):
                    rate[t] = rate.get(t, 0) + fractions.Fraction(e["args"]["bytes"], e["dur"] * US)
            moved = sum(e["args"]["bytes"] for e in known)
            d = {"count": len(v), **stats([US * e["dur"] for e in v], False), "union_ns": US * len(ticks(v)),
                 "bytes": sum(e["args"]["bytes"] for e in known) if known else None, "rows_with_bytes": len(known),
                 "mean_gb_s": moved / (US * len(rate)) if rate else None, "peak_gb_s": float(max(rate.values())) if rate else None}
            for p in 50, 90, 95, 99:
                d[f"p{p}_gb_s"] = float(sorted(rate.values())[-(-p * len(rate) // 100) - 1]) if rate else None
            out[kind] = d
        return out

    def step_table(self):
        out = {}
        for k, (a, b) in self.steps.items():
            if self.window == "drop" and len(self.steps) > 1 and k == max(self.steps):
                continue
            if isinstance(self.window, tuple) and not self.window[0] <= k <= self.window[1]:
                continue
            v = [e for e in self.rows if self.step_of(e) == k]
            of = lambda t: US * len(ticks([e for e in v if e["type"] == t]))
            out[k] = {"start_ns": US * (a - self.start), "duration_ns": US * (b - a), "gpu_rows": len(v), "busy_ns": US * len(ticks(v)),
                      "gpu_window_ns": US * (max(e["ts"] + e["dur"] for e in v) - min(e["ts"] for e in v)) if v else 0,
                      "compute_ns": of("compute"), "communication_ns": of("communication"), "memory_ns": of("memory")}
        return out


def stragglers(ranks):
    seen = {}  # (name, group, its ranks, sequence number or step, place) -> [(rank, duration, group's size)]
    for number, rank in ranks.items():
        place = {}
        for e in sorted((e for e in rank.rows if e["type"] == "communication"), key=lambda e: e["ts"]):
            args = e["args"]
            when = ("seq", args["Seq"]) if "Seq" in args else ("step", rank.step_of(e))
            key = e["name"], args.get("Process Group Name"), args.get("Process Group Ranks"), when
            place[key] = place.get(key, -1) + 1
            seen.setdefault(key + (place[key],), []).append((number, e["dur"] * US, args.get("Group size", math.inf)))
    out = {}
    for v in seen.values():
        if not 2 <= len(v) <= min(size for _, _, size in v):
            continue
        longest, shortest = max(d for _, d, _ in v), min(d for _, d, _ in v)
        for number, d, _ in v:
            s = out.setdefault(number, {"collectives": 0, "last": 0, "late_ns": 0, "worst_ns": 0})
            s["collectives"] += 1
            s["late_ns"] += longest - d
            s["worst_ns"] = max(s["worst_ns"], longest - d)
            s["last"] += d == shortest and longest != shortest
    return out


# ---- comparing ----

def differ(where, got, want):
    if isinstance(want, dict):
        if not isinstance(got, dict):
            return [f"{where}: {got}, should be {want}"]
        return [f for k, v in want.items() for f in differ(f"{where}.{k}", got.get(k, "missing"), v)]
    same = math.isclose(got, want, rel_tol=1e-8) if isinstance(want, float) and isinstance(got, (int, float)) else got == want
    return [] if same else [f"{where}: {got}, should be {want}"]


def compare(number, got, rank):
    faults = differ("launches", got["launches"], rank.launches())
    named = {(c["collective"], c["group"], c["group_size"]): c for c in got["collectives"]}
    faults += differ("collectives", {str(k): v for k, v in named.items()}, {str(k): v for k, v in rank.collectives().items()})
    faults += differ("copies", {c["kind"]: c for c in got["copies"]}, rank.copies())
    faults += differ("steps", {s["step"]: s for s in got["steps"]}, rank.step_table())
    faults += differ("listed", {k: len(got[k]) for k in ("steps", "collectives", "copies")},
                     {"steps": len(rank.step_table()), "collectives": len(rank.collectives()), "copies": len(rank.copies())})
    faults += differ("rows", {"in": got["gpu_rows"], "out": got["gpu_rows_outside_window"]},
                     {"in": len(rank.rows), "out": len(rank.all) - len(rank.rows)})
    return [f"rank {number} {f}" for f in faults]


def check(seed, folder):
    r = random.Random(seed)
    steps = r.choice([0, 1, 3])
    n = r.randint(1, 3)
    window, args = "all", []
    if steps and r.random() < 0.5:
        window, args = "drop", ["--drop-last-step"]
    elif steps and r.random() < 0.6:
        a = r.randint(0, steps - 1)
        b = r.randint(a, steps - 1)
        window, args = (a + 3, b + 3), ["--steps", f"{a + 3}..{b + 3}"]
    ranks, files = {}, []
    for number in range(n):
        events = make(r, steps)
        files.append(os.path.join(folder, f"rank{number}.json"))
        with open(files[-1], "w", encoding="utf-8") as f:
            json.dump({"distributedInfo": {"rank": number, "world_size": n}, "traceEvents": events}, f)
        ranks[number] = Rank(events, window)
    got = json.loads(subprocess.run([os.environ["TIDEMARK"], "hta", "--json", *args, *files], capture_output=True, timeout=300,
                                    check=True).stdout)
    faults = []
    for g in got["ranks"]:
        faults += compare(g["rank"], g, ranks[g["rank"]])
    faults += differ("stragglers", {s["rank"]: s for s in got["stragglers"]}, stragglers(ranks))
    return faults


def main():
    jobs = rounds(int(sys.argv[1])) if len(sys.argv) > 1 else 60
    for seed in range(jobs):
        with tempfile.TemporaryDirectory() as folder:
            faults = check(seed, folder)
        if faults:
            print(f"seed {seed}: " + "\n".join(faults[:12]))
            return 1
    print(f"{jobs} random jobs agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
