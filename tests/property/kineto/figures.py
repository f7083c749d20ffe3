#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Figures of timeline, hta, kernels, ops, flame, memory, peak and diff against the definitions of docs/analyses, computed
from the events of random traces by plain loops: nested and crossing spans, equal times, spans that take no time or
never end, missing launches, graph launches, several processes, devices and streams, sizes without addresses.

    figures.py [TRACES [FIRST]]      with TIDEMARK set; and the traces of KEPT
"""
import json
import os
import random
import subprocess
import sys
import tempfile

OPS = ["aten::mm", "aten::add", "aten::mul", "op é", "DataLoader.next", "nccl:all_reduce"]
PYTHON = ["nn.Module: Linear_0", "torch/_dynamo/eval_frame.py(3): fn", "torch/utils/data/dataloader.py(630): next"]
CALLS = ["cudaLaunchKernel", "cudaMemcpyAsync", "cudaGraphLaunch", "cudaDeviceSynchronize", "cudaMalloc", "hipMemcpy", "cuModuleLoadData"]
KERNELS = ["gemm", "ncclDevKernel_AllReduce", "__amd_rocclr_copyBuffer", "multimem_all_reduce", "foo_ncclKernel_x"]
COPIES = ["Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH", "Copy of another tool"]
CATS = {"cpu_op": "op", "cuda_runtime": "runtime", "cuda_driver": "driver", "gpu_memcpy": "memcpy", "foo": "other"}
GPU = {"kernel", "memcpy"}
KEPT = 1179, 1225  # an op within a synchronization within data loading
OUTER = {"user_annotation": 1, "python_function": 2, "op": 3, "runtime": 4, "driver": 5}
TYPES = "compute", "communication", "memory", "other"


# ---- random traces ----

class Maker:
    def __init__(self, seed):
        r = self.r = random.Random(seed)
        self.events, self.corr, self.free = [], 0, {}
        self.base = r.choice([0, 0, 1_700_000_000_123_456_000, -3_000_000])
        self.unit = r.choice([1000, 1000, 1, 500])  # ns
        self.length, self.most = r.choice([30, 100, 400]), r.choice([5, 20, 50])
        self.devices, self.streams = r.choice([[0], [0, 1], [3]]), r.choice([[7], [7, 20]])
        self.pids, self.tids = r.choice([[100], [100, 200]]), r.choice([[1], [1, 2]])
        self.overlap = r.random() < 0.3

    def at(self, t):
        return self.base + t * self.unit

    def row(self, cat, name, begin, end, pid, tid, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": self.at(begin), "dur": (end - begin) * self.unit, "args": args})

    def call(self, begin, end, pid, tid):
        r, name = self.r, self.r.choice(CALLS)
        self.corr += 1
        if r.random() < 0.93:
            self.row("cuda_driver" if name[:3] == "cuM" else "cuda_runtime", name, begin, end, pid, tid, correlation=self.corr)
        for _ in range(r.randint(1, 4) if name == "cudaGraphLaunch" else name in CALLS[:2] or r.random() < 0.1):
            self.device_row(self.corr, begin)

    def device_row(self, corr, after):
        r = self.r
        device, stream = r.choice(self.devices), r.choice(self.streams)
        begin = max(0, after + r.choice([-1, 0, 1, 2, 20]))
        if not self.overlap:
            begin = max(begin, self.free.get((device, stream), 0) + r.choice([0, 0, 1, 40]))
        end = self.free[device, stream] = begin + r.choice([0, 1, 2, 10, 25])
        args = {"device": device, "stream": stream, **({"correlation": corr} if corr else {})}
        if r.random() < 0.75:
            self.row("kernel", r.choice(KERNELS), begin, end, device, stream, **args, **({"Collective name": "allreduce"} if r.random() < 0.1 else {}))
        else:
            size = {"bytes": r.choice([0, 1, 7, 4096, 1 << 20])} if r.random() < 0.8 else {}
            self.row("gpu_memcpy", r.choice(COPIES), begin, end, device, stream, **args, **size)

    def host_row(self, begin, end, pid, tid):
        cat = self.r.choice(["cpu_op"] * 6 + ["python_function"] * 2 + ["user_annotation", "overhead", "foo"])
        name = {"python_function": PYTHON, "user_annotation": ["fwd", "bwd"], "overhead": ["Buffer Flush"]}.get(cat, OPS)
        self.row(cat, self.r.choice(name), begin, end, pid, tid)

    def nest(self, begin, end, pid, tid, depth=0):
        r = self.r
        while begin <= end and r.random() < 0.85 and len(self.events) < self.most:
            a = min(end, begin + r.choice([0, 0, 1, 3]))
            b = r.choice([a, min(end, a + 1), r.randint(a, end), end])
            if r.random() < 0.35:
                self.call(a, b, pid, tid)
            else:
                self.host_row(a, b, pid, tid)
                if depth < 5:
                    self.nest(a, b, pid, tid, depth + 1)
            begin = b + (a == b and r.random() < 0.5)

    def cross(self, pid, tid):
        for _ in range(self.r.randint(1, 12)):
            a = self.r.randint(0, self.length)
            b = a + self.r.choice([0, 1, 2, self.r.randint(0, self.length // 2)])
            (self.call if self.r.random() < 0.3 else self.host_row)(a, b, pid, tid)

    def memory(self):
        r, t, live, total = self.r, 0, {}, {}
        addresses, totals = r.random() < 0.75, r.random() < 0.7
        devices = r.choice([[(0, -1)], [(1, self.devices[0]), (0, -1)]])
        for _ in range(r.randint(1, 25)):
            t += r.choice([0, 1, 3, 8])
            device = r.choice(devices)
            own = [k for k in live if k[0] == device]
            if own and r.random() < 0.45:
                key = r.choice(own)
                size = -live.pop(key)
            elif r.random() < 0.07:
                key, size = (device, 0x900000 + 4096 * len(self.events)), -r.choice([64, 512])  # memory from before the trace
            else:
                key, size = (device, 0x100000 + 4096 * r.randint(0, 400)), r.choice([1, 512, 4096])
                if key in live:
                    continue
                live[key] = size
            total[device] = total.get(device, r.choice([3000, 4000])) + size
            args = {"Bytes": size, "Device Type": device[0], "Device Id": device[1]}
            if addresses:
                args.update({"Addr": key[1]}, **({"Total Allocated": total[device]} if totals else {}))
            self.events.append({"ph": "i", "s": "t", "name": "[memory]", "pid": self.pids[0], "tid": r.choice(self.tids), "ts": self.at(t), "args": args})

    def trace(self):
        r = self.r
        for pid in self.pids:
            for tid in self.tids:
                self.most += len(self.events)
                if r.random() < 0.7:
                    self.nest(0, self.length, pid, tid)
                if r.random() < 0.4:
                    self.cross(pid, tid)
                if r.random() < 0.15:
                    self.events.append({"ph": "B", "cat": "cpu_op", "name": "never ends", "pid": pid, "tid": tid, "ts": self.at(r.randint(0, self.length))})
        for _ in range(r.choice([0, 1, 3])):
            self.device_row(0, r.randint(0, self.length))
        if r.random() < 0.3:
            r.shuffle(self.events)
        if r.random() < 0.6:
            self.memory()
        self.row("cpu_op", "aten::mm", 0, 5, 100, 1)
        return self.events


def micro(ns):
    return f"{'-' * (ns < 0)}{abs(ns) // 1000}.{abs(ns) % 1000:03}"


def written(events):
    def one(e):
        return "{" + ",".join(f'"{k}":{micro(v)}' if k in ("ts", "dur") else f'"{k}":{json.dumps(v)}' for k, v in e.items()) + "}"
    return '{"traceEvents":[\n' + ",\n".join(map(one, events)) + "\n]}"


# ---- the definitions ----

class Span:
    def __init__(self, place, e, start):
        self.place, self.name, self.args, self.open = place, e["name"], e.get("args", {}), e["ph"] == "B"
        self.cat = CATS.get(e["cat"], e["cat"])
        self.t0 = e["ts"] - start
        self.t1 = None if self.open else self.t0 + e["dur"]
        self.lane = (self.cat in GPU, e["pid"], e["tid"])
        self.parent, self.launch, self.self_ns = None, None, 0
        self.made = self.freed = self.own = self.balance = self.peak = 0

    def around(self):
        """The span and its ancestors, innermost first."""
        s = self
        while s:
            yield s
            s = s.parent

    def path(self):
        return tuple(s.name for s in self.around())[::-1]

    def ns(self):
        return self.t1 - self.t0


def union(spans):
    out = []
    for a, b in sorted((s.t0, s.t1) for s in spans):
        if out and a <= out[-1][1]:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return out


def length(u):
    return sum(b - a for a, b in u)


def common(u, v):
    return sum(max(0, min(b, d) - max(a, c)) for a, b in u for c, d in v)


class Trace:
    def __init__(self, events):
        start = min(e["ts"] for e in events)
        self.spans = [Span(i, e, start) for i, e in enumerate(events) if e["ph"] != "i"]
        self.memory_events = sorted(((e["ts"] - start, i, e) for i, e in enumerate(events) if e["ph"] == "i"), key=lambda x: x[:2])
        self.addresses = bool(self.memory_events) and all("Addr" in e["args"] for _, _, e in self.memory_events)
        end = max([s.t1 or 0 for s in self.spans] + [s.t0 for s in self.spans] + [t for t, _, _ in self.memory_events])
        for s in self.spans:
            s.t1 = end if s.open else s.t1
        self.spans.sort(key=lambda s: (s.t0, not s.open, -s.t1, OUTER.get(s.cat, 6), s.place))
        for i, s in enumerate(self.spans):
            s.at = i
        self.lanes = {}
        for s in self.spans:
            if s.cat != "overhead":
                self.lanes.setdefault(s.lane, []).append(s)
        self.host = [s for s in self.spans if s.cat not in GPU and s.cat != "overhead"]
        self.gpu = [s for s in self.spans if s.cat in GPU]
        for lane in self.lanes.values():
            for s in lane:
                s.parent = max((p for p in lane if self.contains(p, s)), key=lambda p: p.at, default=None)
            times = sorted({t for s in lane for t in (s.t0, s.t1)})
            for a, b in zip(times, times[1:]):
                over = [s for s in lane if s.t0 <= a and b <= s.t1]
                if over:
                    over[-1].self_ns += b - a
        for s in self.gpu:
            calls = [c for c in self.host if c.cat in ("runtime", "driver") and s.args.get("correlation") and c.args["correlation"] == s.args["correlation"]]
            s.launch = calls[0] if calls else None

    @staticmethod
    def contains(p, s):
        if p is s or p.t0 == p.t1 or not (p.t0 <= s.t0 and s.t1 <= p.t1):
            return False
        if s.t0 < s.t1:
            return p.at < s.at
        return s.t0 < p.t1 and not (s.t0 == p.t0 and s.cat == p.cat == "op" and s.place < p.place)

    def timeline(self):
        work = [s for s in self.host if s.cat != "user_annotation"]
        cpu, gpu, both = union(work), union(self.gpu), work + self.gpu
        total = max((s.t1 for s in both), default=0) - min((s.t0 for s in both), default=0)
        known = bool(work and self.gpu)
        return {"total_time_ns": total if both else None, "cpu_active_time_ns": length(cpu) if work else None, "gpu_active_time_ns": length(gpu) if self.gpu else None,
                "overlap_time_ns": common(cpu, gpu) if known else None, "idle_time_ns": total - length(cpu) - length(gpu) + common(cpu, gpu) if known else None,
                "cpu_events": len(work), "gpu_events": len(self.gpu), "not_work_events": len(self.spans) - len(both)}

    @staticmethod
    def type(s):
        if s.cat == "memcpy":
            return "memory"
        if "Collective name" in s.args or s.name.startswith("nccl") or "ncclKernel" in s.name:
            return "communication"
        return "memory" if s.name.startswith("__amd_rocclr_copy") else "compute"

    def hta(self):
        of = {t: [s for s in self.gpu if self.type(s) == t] for t in TYPES}
        busy, times = union(self.gpu), sorted({t for s in self.gpu for t in (s.t0, s.t1)})
        sets = {}
        for a, b in zip(times, times[1:]):
            key = tuple(t for t in TYPES if any(s.t0 <= a and b <= s.t1 for s in of[t]))
            sets[key] = sets.get(key, 0) + b - a
        calls = union([s for s in self.host if s.cat not in ("user_annotation", "other")])
        window = times[-1] - times[0]
        out = {t + "_ns": length(union(of[t])) for t in TYPES}
        out.update(kernel_time_ns=window, busy_ns=length(busy), idle_ns=window - length(busy), gpu_rows=len(self.gpu),
                   comm_comp_overlap_ns=common(union(of["communication"]), union(of["compute"])), type_sets=sets,
                   idle_host_active_ns=common([(x[1], y[0]) for x, y in zip(busy, busy[1:])], calls))
        out["streams"], out["idle_causes"] = self.streams()
        return out

    def streams(self):
        rows, causes = [], {}
        for lane in sorted({s.lane for s in self.gpu}):
            spans = sorted(self.lanes[lane], key=lambda s: (s.t0, s.t1))
            end, waits = spans[0].t1, {"host_wait_ns": 0, "kernel_wait_ns": 0, "other_ns": 0}
            for s in spans[1:]:
                gap = s.t0 - end
                if gap > 0:
                    waited = s.launch is not None and s.launch.t0 > end
                    waits["host_wait_ns" if waited else "kernel_wait_ns" if gap < 30000 else "other_ns"] += gap
                    if waited:
                        self.causes(s, end, causes)
                end = max(end, s.t1)
            rows.append((lane[1], lane[2], len(spans), length(union(spans)), end - spans[0].t0, waits))
        return rows, causes

    def causes(self, row, begin, out):
        def add(cause, ns):
            if ns > 0:
                out[cause + "_ns"] = out.get(cause + "_ns", 0) + ns
        lane, until = self.lanes[row.launch.lane], min(row.launch.t0, row.t0)
        add("launch", row.t0 - until)
        times = sorted({begin, until} | {t for s in lane for t in (s.t0, s.t1) if begin < t < until})
        for a, b in zip(times, times[1:]):
            over = [s for s in lane if s.t0 <= a and b <= s.t1]
            add(self.cause(over[-1]) if over else "unrecorded", b - a)

    @staticmethod
    def cause(span):
        call = span.cat in ("runtime", "driver")
        if call and ("Synchronize" in span.name or span.name == "hipMemcpy"):
            return "sync"
        if call and "Malloc" in span.name:
            return "allocation"
        for s in span.around():
            if s.cat in ("runtime", "driver"):
                if "ModuleLoad" in s.name:
                    return "compile"
            elif "DataLoader" in s.name or "torch/utils/data/" in s.name:
                return "data_loading"
            elif "torch/_dynamo/" in s.name:
                return "compile"
        return "runtime" if call else {"python_function": "python", "user_annotation": "annotation"}.get(span.cat, "op")

    def kernels(self):
        out = {}
        for s in self.gpu:
            out.setdefault((s.name, self.type(s)), []).append(s.ns())
        return {k: (len(v), sum(v), min(v), max(v), sorted(v)[-(-len(v) * 50 // 100) - 1], sorted(v)[-(-len(v) * 99 // 100) - 1]) for k, v in out.items()}

    def copies(self):
        """docs/analyses/bandwidth.md: copies by kind; rates in 10^9 bytes per second, weighted by the time in which a sized copy runs."""
        kinds = {}
        for s in self.gpu:
            if self.type(s) == "memory":
                kinds.setdefault(s.name.removeprefix("Memcpy ").split(" ")[0] if s.name.startswith("Memcpy ") else s.name, []).append(s)
        out = {}
        for kind, rows in kinds.items():
            sized = [s for s in rows if "bytes" in s.args]
            lasting = [s for s in sized if s.t1 > s.t0]
            total, time = sum(s.args["bytes"] for s in sized), length(union(lasting))
            times, parts = sorted({t for s in lasting for t in (s.t0, s.t1)}), []
            for a, b in zip(times, times[1:]):
                over = [s.args["bytes"] * 10**9 // s.ns() for s in lasting if s.t0 <= a and b <= s.t1]
                if over:
                    parts.append((sum(over), b - a))
            parts.sort()
            rates = []
            for p in (50, 90, 95, 99):
                below = [rate for i, (rate, _) in enumerate(parts) if sum(ns for _, ns in parts[:i + 1]) * 100 >= p * time]
                rates.append(below[0] / 1e9 if below else None)
            out[kind] = (len(rows), sum(s.ns() for s in rows), length(union(rows)), total if sized else None, len(sized), total / time if time else None, *rates,
                         parts[-1][0] / 1e9 if parts else None)
        return out

    def launched_in(self, s):
        """The innermost op around the launch of a device row."""
        call = s.launch
        open_ = [x for x in self.lanes[call.lane] if x.cat == "op" and x.t0 <= call.t0 and (call.t0 < x.t1 or x.t0 == x.t1 == call.t0 == call.t1) and
                 not (x.t0 == call.t0 and x.t1 < call.t1)] if call else []
        return open_[-1] if open_ else None

    def by_op(self):
        """Device rows and time by the innermost op around the launch."""
        out = {}
        for s in self.gpu:
            key, op = "(launch not in the trace)", self.launched_in(s)
            if s.launch:
                key = op.name if op else "(outside any op)"
            rows, ns = out.get(key, (0, 0))
            out[key] = rows + 1, ns + s.ns()
        return out

    def attribute(self):
        """Gives the bytes of memory events to the spans around them; returns the bytes outside any op."""
        outside = [0, 0]
        for t, _, e in self.memory_events:
            size = e["args"]["Bytes"]
            over = [s for s in self.lanes.get((False, e["pid"], e["tid"]), []) if s.t0 <= t <= s.t1]
            if not over:
                outside[size < 0] += abs(size)
                continue
            over[-1].own += size
            for s in over[-1].around():
                s.made += max(size, 0)
                s.freed += max(-size, 0)
                s.balance += size
                s.peak = max(s.peak, s.balance)
        return outside

    def ops(self):
        rows = {}
        for s in self.host:
            r = rows.setdefault(s.path(), dict.fromkeys(("count", "open", "wall_ns", "self_ns", "alloc_bytes", "free_bytes", "change_bytes", "self_change_bytes", "peak_bytes"), 0))
            for key, more in (("count", 1), ("open", s.open), ("wall_ns", s.ns()), ("self_ns", s.self_ns), ("alloc_bytes", s.made), ("free_bytes", s.freed),
                              ("change_bytes", s.made - s.freed), ("self_change_bytes", s.own)):
                r[key] += more
            r["peak_bytes"] = max(r["peak_bytes"], s.peak)
        for r in rows.values():
            r.update({k: None for k in r if k.endswith("_bytes")} if not self.addresses else {})
        return rows

    def memory(self):
        out = {}
        for device in {(e["args"]["Device Type"], e["args"]["Device Id"]) for _, _, e in self.memory_events}:
            events = [(t, e["args"]) for t, _, e in self.memory_events if (e["args"]["Device Type"], e["args"]["Device Id"]) == device]
            now = least = most = 0
            if self.addresses:
                seen = set()
                for _, a in events:
                    now -= a["Bytes"] if a["Bytes"] < 0 and a["Addr"] not in seen else 0  # freed, but allocated before the trace
                    seen.add(a["Addr"])
                if device[0] and "Total Allocated" in events[0][1]:
                    now = max(now, events[0][1]["Total Allocated"] - events[0][1]["Bytes"])
                most = now
            for _, a in events:
                now += a["Bytes"]
                most, least = max(most, now), min(least, now)
            name = "cpu" if not device[0] else f"{'hip' if any(s.name == 'hipMemcpy' for s in self.host) else 'cuda'}:{device[1]}"
            out[name] = (now, most) if self.addresses else (now, most, least)
        return out

    def flame(self, kind):
        out = {}
        for s in self.host if kind == "cpu" else self.gpu:
            path = s.path() if kind == "cpu" else (s.launch.path() if s.launch else ("[launch not recorded]",)) + (s.name,)
            ns, n = out.get(path, (0, 0))
            out[path] = ns + (s.self_ns if kind == "cpu" else s.ns()), n + 1
        return out


    def names(self):
        """(count, self time, time with children) of host spans by name, and (count, time, None) of device rows: the tables of diff."""
        host, device = {}, {}
        for s in self.host:
            count, own, _ = host.get(s.name, (0, 0, 0))
            host[s.name] = count + 1, own + s.self_ns, sum(x.self_ns for x in self.host if s.name in x.path())
        for s in self.gpu:
            count, ns, _ = device.get(s.name, (0, 0, None))
            device[s.name] = count + 1, ns + s.ns(), None
        return host, device


# ---- the comparison ----

def ask(*words):
    return json.loads(subprocess.run([os.environ["TIDEMARK"], *words, "--json"], check=True, capture_output=True, timeout=300).stdout)


def nodes(node, path=()):
    for child in node["children"]:
        here = path + (child["name"],)
        if child["count"] or child["self_ns"]:
            yield here, (child["self_ns"], child["count"])
        yield from nodes(child, here)


def answers(file, t):
    """Yields what is compared, the program's answer and ours."""
    summary = ask("timeline", file)["summary"]
    want = t.timeline()
    yield "timeline", {k: summary[k] for k in want}, want
    hta = ask("hta", file)
    if t.gpu:
        got, want = hta["ranks"][0], t.hta()
        got["type_sets"] = {tuple(x["types"]): x["time_ns"] for x in got["type_sets"] if x["time_ns"]}
        want["type_sets"] = {k: v for k, v in want["type_sets"].items() if v}
        got["streams"] = sorted((s["device"], s["stream"], s["rows"], s["busy_ns"], s["span_ns"], s["idle"]) for s in got["streams"])
        got["idle_causes"] = {k: v for k, v in got["idle_causes"].items() if v}
        for key, value in want.items():
            yield "hta " + key, got[key], value
        yield "kernels", {(k["name"], k["type"]): tuple(k[f] for f in ("count", "sum_ns", "min_ns", "max_ns", "p50_ns", "p99_ns")) for k in ask("kernels", file)["kernels"]}, t.kernels()
        fields = ("count", "sum_ns", "union_ns", "bytes", "rows_with_bytes", "mean_gb_s", "p50_gb_s", "p90_gb_s", "p95_gb_s", "p99_gb_s", "peak_gb_s")
        rates, want = {c["kind"]: tuple(c[f] for f in fields) for c in hta["copies"]}, t.copies()
        near = {k: tuple(b if a is not None and b is not None and abs(a - b) <= 1e-9 * max(abs(a), abs(b)) + 1e-12 else a for a, b in zip(rates[k], want[k]))
                for k in rates if k in want}
        yield "copies", {**rates, **near}, want
        yield "device time by op", {o["op"]: (o["count"], o["sum_ns"]) for o in hta["ops"]}, t.by_op()
    outside, ops = t.attribute(), ask("ops", file)
    by_id, want = {o["id"]: o for o in ops["ops"]}, t.ops()

    def path(o):
        return (path(by_id[o["parent"]]) if o["parent"] else ()) + (o["op"],)
    got = {path(o): o for o in ops["ops"]}
    yield "paths", set(got), set(want)
    for key, row in want.items():
        yield "ops " + "/".join(key), {k: got[key][k] for k in row}, row
    for kind in "cpu", "gpu":
        yield f"flame {kind}", dict(nodes(ask("flame", file, "--kind", kind, *["--merge"] * (kind == "cpu")))), t.flame(kind)
    memory, want = {d["device"]: d for d in ask("memory", file)["devices"]}, t.memory()
    if t.addresses:
        yield "memory", {k: (d["totals"]["live_bytes"], d["totals"]["peak_bytes"]) for k, d in memory.items()}, want
        before = sum(now for now, _ in want.values()) - sum(e["args"]["Bytes"] for _, _, e in t.memory_events)
        yield "outside any op", [ops["outside"]["alloc_bytes"], ops["outside"]["free_bytes"]], [outside[0] + before, outside[1]]
    else:
        yield "sizes alone", {k: tuple(d["relative"][f] for f in ("bytes", "high_bytes", "low_bytes")) for k, d in memory.items()}, want
    peak = ask("peak", file)
    yield "peak", peak["peak_bytes"], max(most for _, most in want.values()) if t.addresses else None
    yield "groups of the peak", sum(g["bytes"] for g in peak["groups"]), peak["peak_bytes"] or 0


def differences(before, after):
    """The rows of a table of diff, those that are the same left out."""
    out = {}
    for name in {**before, **after}:
        a, b = before.get(name, (0, 0, 0)), after.get(name, (0, 0, 0))
        if a != b:
            status = "added" if not a[0] else "removed" if not b[0] else "changed"
            out[name] = status, a[0], b[0], a[1], b[1], b[1] - a[1], a[2] or 0, b[2] or 0
    return out


def compared(file_a, a, file_b, b):
    got = ask("diff", file_a, file_b)
    want = {m: (a.timeline()[k], b.timeline()[k]) for m, k in (("time", "total_time_ns"), ("cpu_time", "cpu_active_time_ns"), ("gpu_time", "gpu_active_time_ns"),
                                                             ("overlap", "overlap_time_ns"), ("ops", "cpu_events"))}
    want["kernels"] = tuple(len(t.gpu) or None for t in (a, b))  # a trace without device work lacks them
    want["kernel_time"] = tuple(sum(s.ns() for s in t.gpu) if t.gpu else None for t in (a, b))
    yield "metrics", {name: (got["metrics"][name]["a"], got["metrics"][name]["b"]) for name in want}, want
    for name, m in got["metrics"].items():
        yield "change of " + name, m["delta"], None if m["a"] is None or m["b"] is None else m["b"] - m["a"]
    for table, x, y in zip(("ops", "kernels"), a.names(), b.names()):
        rows = {r["name"]: (r["status"], r["count_a"], r["count_b"], r["a"], r["b"], r["delta"], r["total_a"] or 0, r["total_b"] or 0) for r in got[table]}
        yield "diff of " + table, rows, differences(x, y)
        yield "order of " + table, [abs(r["delta"]) for r in got[table]], sorted((abs(r["delta"]) for r in got[table]), reverse=True)


def main():
    traces, first = int(sys.argv[1]) if len(sys.argv) > 1 else 20, int(sys.argv[2]) if len(sys.argv) > 2 else 0
    count, wrong = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        other = None
        for seed in (*range(first, first + traces), *KEPT):
            events, file = Maker(seed).trace(), f"{folder}/trace{seed}.json"
            with open(file, "w", encoding="utf-8") as f:
                f.write(written(events))
            trace = Trace(events)
            both = compared(*other, file, trace) if other else ()
            other = file, trace
            for what, got, want in (*answers(file, trace), *both):
                count += 1
                if got != want:
                    wrong += 1
                    print(f"trace {seed}, {what}: {got}, not {want}"[:1500])
    print(f"{traces + len(KEPT)} traces, {count} answers compared, {wrong} wrong")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
