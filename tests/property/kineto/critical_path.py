#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The critical path against the obvious one: the graph of docs/analyses/critical-path.md built rule by rule, by
looking at every row for every question, from random traces.

    critical_path.py [TRACES]      with TIDEMARK set
"""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from extent import rounds  # noqa: E402

LAUNCH = ["cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync", "hipLaunchKernel",
          "hipModuleLaunchKernel", "hipMemcpyWithStream"]
LOCK = {"cudaHostAlloc", "cudaLaunchKernel", "cudaMemcpyAsync"}
WAITING = {"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaMemcpy", "hipDeviceSynchronize",
           "hipMemcpyWithStream"}
SYNC_CALL = {"Stream Sync": "cudaStreamSynchronize", "Context Sync": "cudaDeviceSynchronize",
             "Event Sync": "cudaEventSynchronize", "Stream Wait Event": "cudaStreamWaitEvent"}
DEVICE = {"kernel", "gpu_memcpy", "gpu_memset", "cuda_sync"}


# ---- random traces: nested host rows, and a device that takes what they launch ----

class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.events, self.corr, self.free = [], 0, {}
        self.records = []  # (correlation of a cudaEventRecord, device, stream)
        self.silent = self.r.random() < 0.5  # no synchronisation rows
        self.devices = self.r.choice([[0], [0], [0, 1]])
        self.streams = self.r.choice([[7], [7, 20], [7, 20, 24]])

    def row(self, cat, name, ts, dur, tid, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": 1 if cat not in DEVICE else args.get("device", 0),
                            "tid": tid, "ts": ts, "dur": dur, "args": args})

    def device_row(self, cat, name, device, stream, after, corr):
        r = self.r
        ts = max(after + (r.randint(-2, 6) if r.random() < 0.8 else r.randint(20, 160)), self.free.get((device, stream), 0) + r.choice([0] * 12 + [1, 3] * 6 + [2000]))
        dur = r.randint(1, 30)
        self.free[device, stream] = ts + dur
        self.row(cat, name, ts, dur, stream, device=device, stream=stream, correlation=corr)

    def call(self, ts, end, tid):
        r = self.r
        self.corr += 1
        device, stream, c = r.choice(self.devices), r.choice(self.streams), self.corr
        kind = r.random()
        if kind < 0.6:
            name = r.choice(LAUNCH)
            self.row("cuda_driver" if name[:3] == "cuL" else "cuda_runtime", name, ts, end - ts, tid, correlation=c)
            if r.random() < 0.95:
                self.device_row(r.choice(["kernel", "kernel", "gpu_memcpy"]), r.choice(["gemm", "ncclKernel_AllReduce", "Memcpy"]),
                                device, stream, ts, c)
        elif kind < 0.68:
            self.row("cuda_runtime", "cudaGraphLaunch", ts, end - ts, tid, correlation=c)
            for _ in range(r.randint(1, 3)):
                self.device_row("kernel", "in graph", device, r.choice(self.streams), ts, c)
        elif kind < 0.78:
            self.row("cuda_runtime", "cudaEventRecord", ts, end - ts, tid, correlation=c)
            self.records.append((c, device, stream))
        elif kind < 0.82 or (kind > 0.84 and self.silent):
            self.row("cuda_runtime", r.choice(["cudaStreamWaitEvent", "hipStreamWaitEvent"]), ts, end - ts, tid, correlation=c)
        elif kind < 0.84:
            self.row("cuda_runtime", r.choice(["cudaHostAlloc", "cudaMalloc", "cudaEventQuery", "cudaMemcpy", "hipDeviceSynchronize",
                                                 "cudaStreamSynchronize"]), ts, end - ts, tid,
                     correlation=c)
        else:
            self.sync(ts, end, tid, c, device, stream)

    def sync(self, ts, end, tid, c, device, stream):
        r = self.r
        name = r.choice(list(SYNC_CALL))
        more = {"stream": stream if name in ("Stream Sync", "Stream Wait Event") else -1}
        if name in ("Event Sync", "Stream Wait Event"):
            if not self.records:
                return
            record, device, on = r.choice(self.records)
            more.update(wait_on_stream=on, wait_on_cuda_event_record_corr_id=record, wait_on_cuda_event_id=1)
            if name == "Stream Wait Event" and r.random() < 0.9:  # a stream hardly ever waits for itself
                others = [s for s in self.streams if s != on]
                if not others:
                    return
                more["stream"] = r.choice(others)
        self.row("cuda_runtime", SYNC_CALL[name], ts, end - ts, tid, correlation=c)
        self.row("cuda_sync", name, ts + r.randint(0, end - ts), r.randint(0, 3), more["stream"], device=device, correlation=c, **more)

    def nest(self, ts, end, tid, depth):
        """Rows inside [ts, end], one after another, children inside them."""
        r = self.r
        while ts < end and r.random() < 0.9:
            a = ts + r.choice([0, 0, 1, 4])
            b = min(end, a + r.randint(1, max(2, (end - ts) // 2)))
            if a >= b:
                break
            if r.random() < 0.45 or depth > 3:
                self.call(a, b, tid)
            else:
                cat = r.choice(["cpu_op"] * 5 + ["python_function", "user_annotation"])
                name = r.choice(["aten::mm", "aten::add", "autograd::engine" if tid == 11 else "aten::relu",
                                 "forward" if tid == 10 else "aten::sum", "loader.next"])
                self.row(cat, name, a, b - a, tid)
                self.nest(a + r.choice([0, 1]), b, tid, depth + 1)
            ts = b

    def trace(self):
        r = self.r
        for tid in r.choice([[10], [10, 11], [10, 11, 12]]):
            self.nest(r.randint(0, 20), r.randint(60, 400), tid, 0)
        if r.random() < 0.6:
            for i in range(2):
                self.row("user_annotation", f"ProfilerStep#{i}", 100 * i, 100, 9)  # a thread of its own: nothing crosses it
        if r.random() < 0.5:
            r.shuffle(self.events)
        return self.events


# ---- the graph, rule by rule ----

class Path:
    def __init__(self, events):
        t0 = min(e["ts"] for e in events)
        self.rows = []
        for i, e in enumerate(events):
            args = e["args"]
            device = e["cat"] in DEVICE
            stream = args.get("stream", -1) if device else -1
            self.rows.append(dict(i=i, name=e["name"], cat=e["cat"], t0=1000 * (e["ts"] - t0), t1=1000 * (e["ts"] - t0 + e["dur"]),
                                  tid=e["tid"], corr=args.get("correlation"), args=args, device=args.get("device"),
                                  stream=(args.get("device"), stream) if stream >= 0 else None,
                                  gpu=stream >= 0 or e["name"] in ("Event Sync", "Context Sync")))
        for x in self.rows:  # partner: the last row of the other side with the same correlation
            x["partner"] = None
            for y in self.rows:
                if x["corr"] is not None and y["corr"] == x["corr"] and y["gpu"] != x["gpu"]:
                    x["partner"] = y
        self.edges, self.bad = {}, False

    def window(self):
        steps = [x for x in self.rows if "ProfilerStep" in x["name"]]
        if steps:
            self.a, self.b = steps[0]["t0"], steps[0]["t1"]
        else:
            self.a, self.b = min(x["t0"] for x in self.rows), max(x["t1"] for x in self.rows)
        for x in self.rows:
            if x["stream"] is None:
                x["in"] = self.a <= x["t0"] <= self.b and x["t1"] > x["t0"]
        for x in self.rows:
            if x["stream"] is not None:
                call = x["partner"]
                x["in"] = bool(call and call["stream"] is None and call["in"]) or x["name"] == "Stream Wait Event"
        for x in self.rows:
            x["node"] = x["in"] and (x["cat"] in ("cpu_op", "cuda_runtime", "cuda_driver") or
                                     (x["stream"] is not None and x["corr"] is not None))

    @staticmethod
    def time(m):
        return m[0]["t0"] if m[1] == "begin" else m[0]["t1"]

    def edge(self, a, b, kind):
        free = kind in ("dependency", "sync_dependency")
        self.edges[(a[0]["i"], a[1]), (b[0]["i"], b[1])] = (kind, 0 if free else max(0, self.time(b) - self.time(a)))
        if kind == "sync_dependency" and a[0]["stream"] is not None and a[0]["stream"] == b[0]["stream"]:
            self.bad = True

    def moments(self, rows):
        """By time, then place in the file, then begin before end."""
        all_ = [(x, w) for x in rows for w in ("begin", "end")]
        return sorted(all_, key=lambda m: (self.time(m), m[0]["i"], m[1]))

    def lock(self):
        open_, last = [], None
        for m in self.moments([x for x in self.rows if x["node"] and x["name"] in LOCK]):
            if m[1] == "begin":
                open_.append(m)
            else:
                for s in open_:
                    self.edge(s, m, "operator" if s[0] is m[0] else "dependency")
                open_ = []
                if last and last[1] == "end":
                    self.edge(last, m, "dependency")
            last = m

    def thread_numbers(self):
        def only(text):
            found = {x["tid"] for x in self.rows if x["in"] and x["cat"] in ("cpu_op", "user_annotation") and text in x["name"]}
            return found.pop() if len(found) == 1 else None
        forward, backward = only("forward"), only("autograd")
        for x in self.rows:
            x["thread"] = forward if forward and backward and x["tid"] == backward else x["tid"]

    def stack_moments(self, rows):
        """The order in which a thread comes past its moments: walk the tree of containment."""
        order = []

        def inside(x, y):  # y in x
            if x["t0"] <= y["t0"] and y["t1"] <= x["t1"]:
                return (x["t0"], x["t1"]) != (y["t0"], y["t1"]) or x["i"] < y["i"]
            return False

        def walk(rows):
            tops = [x for x in rows if not any(inside(y, x) for y in rows if y is not x)]
            for x in sorted(tops, key=lambda x: x["t0"]):
                order.append((x, "begin"))
                walk([y for y in rows if y is not x and inside(x, y)])
                order.append((x, "end"))
        walk(rows)
        return order

    def stacks(self):
        for thread in sorted({x["thread"] for x in self.rows if x["cat"] not in DEVICE}):
            rows = [x for x in self.rows if x["cat"] not in DEVICE and x["in"] and x["thread"] == thread]
            if len({x["tid"] for x in rows}) > 1 and not self.nested(rows):
                return False  # two threads as one whose rows cross: the document does not say
            last, depth = None, 0
            for m in self.stack_moments(rows):
                if not m[0]["node"]:
                    continue
                both = last and last[0]["name"] in LOCK and m[0]["name"] in LOCK
                if last and not (both and (last[1] == "begin" or m[1] == "end")):
                    between = m[1] == "begin" and depth == 0
                    self.edge(last, m, "dependency" if between else "operator")
                last = m
                depth += 1 if m[1] == "begin" else -1
        return True

    @staticmethod
    def nested(rows):
        return all(x["t1"] <= y["t0"] or y["t1"] <= x["t0"] or (x["t0"] <= y["t0"] and y["t1"] <= x["t1"]) or
                   (y["t0"] <= x["t0"] and x["t1"] <= y["t1"]) for x in rows for y in rows)

    def is_launch(self, x):
        return x["partner"] is not None and x["stream"] is None and x["partner"]["cat"] in DEVICE - {"cuda_sync"}

    def launches(self):
        return [x for x in self.rows if self.is_launch(x) and x["partner"]["stream"] is not None and x["partner"]["partner"] is not None]

    def queue(self):
        """Length of a stream's queue just after each launch and each begin."""
        entries = {}
        for x in self.rows:
            device = x["stream"] is not None and x["corr"] is not None and x["cat"] != "cuda_sync"
            calls = [y for y in self.rows if y["corr"] == x["corr"] and self.is_launch(y)] if device else []
            if calls:
                entries.setdefault((x["stream"], calls[-1]["i"]), []).append(x)
        for stream in {s for s, _ in entries}:
            points = []
            for (on, call), rows in entries.items():  # the first of a graph's rows on a stream counts for all
                if on == stream:
                    x = min(rows, key=lambda y: (y["t0"], y["i"]))
                    points += [(self.rows[call]["t0"], 0, call, x), (x["t0"], 1, x["i"], x)]
            n = 0
            for _, begins, _, x in sorted(points, key=lambda q: q[:3]):
                n += -1 if begins else 1
                x["queue" if begins else "pending"] = n

    def source(self, sync):
        """Returns the kernel of an event."""
        record = sync["args"].get("wait_on_cuda_event_record_corr_id")
        first = [y for y in self.rows if y["args"].get("wait_on_cuda_event_record_corr_id") == record][0]
        on = (first["device"], first["args"]["wait_on_stream"])
        at = [y for y in self.rows if y["name"] == "cudaEventRecord" and y["corr"] == record]
        if not at:
            return None
        before = [y for y in self.launches() if y["partner"]["stream"] == on and y["t0"] <= at[-1]["t0"]]
        return max(before, key=lambda y: (y["t0"], y["i"]))["partner"] if before else None

    def waiter(self, sync):
        """The kernel that a Stream Wait Event holds back."""
        call = sync["partner"]
        if call is None or call["name"] != "cudaStreamWaitEvent" or call["partner"] is None:
            return None
        on = call["partner"]["stream"]
        after = [y for y in self.launches() if y["tid"] == call["tid"] and y["partner"]["stream"] == on and y["t0"] >= call["t0"]]
        return min(after, key=lambda y: (y["t0"], y["i"]))["partner"] if after else None

    def device(self):
        turns = [x for x in self.rows if x["in"] and (x["stream"] is not None or x["cat"] == "cuda_sync") and x["corr"] is not None]
        turns.sort(key=lambda x: (x["t1"] if x["cat"] == "cuda_sync" else x["t0"], x["i"]))
        last, held = {}, {}
        for x in turns:
            if x["cat"] == "cuda_sync":
                self.sync(x, last, held)
            elif x["node"]:
                self.kernel(x, last.get(x["stream"]), held.get(x["i"]))
                last[x["stream"]] = x

    def waits(self, kernel, call):
        if kernel is not None and kernel["node"] and call is not None and call["node"]:
            self.edge((kernel, "end"), (call, "end"), "sync_dependency")

    def sync(self, x, last, held):
        if x["name"] == "Stream Sync":
            self.waits(last.get(x["stream"]), x["partner"])
        elif x["name"] == "Context Sync":
            for stream, kernel in last.items():
                if stream[0] == x["device"]:
                    self.waits(kernel, x["partner"])
        elif x["name"] == "Event Sync":
            self.waits(self.source(x), x["partner"])
        else:
            source, waiter = self.source(x), self.waiter(x)
            if source is not None and waiter is not None:
                held[waiter["i"]] = source

    def guess(self, x):
        """The row of another stream that a kernel waited for, where no row of the trace tells."""
        call = x["partner"]
        if call is None or any(y["name"] == "Stream Wait Event" for y in self.rows):
            return None
        waits = [y for y in self.rows if y["name"].endswith("StreamWaitEvent") and y["tid"] == call["tid"] and y["t0"] < call["t0"]]
        before = [y["partner"]["t0"] for y in self.rows if y["cat"] in DEVICE - {"cuda_sync"} and y["partner"] is not None and
                  y["stream"] == x["stream"] and y["partner"]["tid"] == call["tid"] and y["partner"]["t0"] < call["t0"]]
        if any(all(y["t0"] > t for t in before) for y in waits):
            near = 10000
        elif x["t0"] - call["t1"] >= 100000:
            near = 5000
        else:
            return None
        done = [y for y in self.rows if y["cat"] in DEVICE - {"cuda_sync"} and y["stream"] != x["stream"] and y["device"] == x["device"] and
                y["t0"] < x["t0"] and call["t1"] < y["t1"] <= x["t0"] <= y["t1"] + near and
                (y["partner"] is None or y["partner"]["t0"] < call["t0"])]
        return max(done, key=lambda y: (y["t1"], y["i"])) if done else None

    def kernel(self, x, before, source):
        if source is None:
            source = self.guess(x)
        self.edge((x, "begin"), (x, "end"), "operator")
        if source is not None and not source["node"]:
            source = None
        if source is not None:
            self.edge((source, "end"), (x, "begin"), "sync_dependency")
        call = x["partner"]
        if (call is not None and x.get("pending") == 1 and (before is None or before["t1"] < call["t0"]) and
                (source is None or source["t1"] < call["t0"])):
            self.bad = self.bad or not call["node"]
            if call["node"]:
                self.edge((call, "begin"), (x, "begin"), "kernel_launch_delay")
        elif before is not None and x["t0"] - before["t1"] < 1500000 and (source is None or source["t1"] < before["t1"]):
            self.edge((before, "end"), (x, "begin"), "kernel_kernel_delay")

    def unsaid(self):
        """Calls that wait with no row to say what for; then, what waits has no time of its own."""
        waits = set()
        for x in self.rows:
            if not x["node"] or x["name"] not in WAITING or (x["partner"] and x["partner"]["cat"] == "cuda_sync"):
                continue
            done = [y for y in self.rows if y["cat"] in DEVICE - {"cuda_sync"} and x["t0"] < y["t1"] <= x["t1"] and
                    (y["partner"] is None or y["partner"] is x or y["partner"]["t0"] < x["t0"])]
            if done:
                last = max(done, key=lambda y: (y["t1"], y["i"]))
                waits.add((x["i"], "end"))
                if last["node"]:  # else from before the window
                    self.edge((last, "end"), (x, "end"), "sync_dependency")
        waits |= {b for (a, b), (kind, _) in self.edges.items() if kind == "sync_dependency" and b[1] == "end"}
        for (a, b), (kind, w) in self.edges.items():
            if kind == "operator" and b in waits:
                self.edges[a, b] = kind, 0

    def longest(self):
        """By trying again until nothing gets longer."""
        at = {m: 0 for pair in self.edges for m in pair}
        longer = True
        while longer:
            longer = False
            for (a, b), (_, w) in self.edges.items():
                if at[a] + w > at[b]:
                    at[b], longer = at[a] + w, True
        return max(at.values(), default=0)

    def cyclic(self):
        left = {m: set() for pair in self.edges for m in pair}
        for a, b in self.edges:
            left[b].add(a)
        while True:
            gone = {m for m, before in left.items() if not before}
            if not gone:
                return bool(left)
            left = {m: before - gone for m, before in left.items() if m not in gone}

    def solve(self):
        """None where the document leaves the answer open."""
        self.window()
        self.thread_numbers()
        self.queue()
        self.lock()
        if not self.stacks():
            return None
        self.device()
        self.unsaid()
        kinds = {k: 0 for k in ("operator", "dependency", "kernel_launch_delay", "kernel_kernel_delay", "sync_dependency")}
        for kind, _ in self.edges.values():
            kinds[kind] += 1
        answer = {"window_ns": self.b - self.a, "edges": len(self.edges), "edge_types": kinds,
                  "nodes": len({m for pair in self.edges for m in pair})}
        if not self.bad and not self.cyclic():
            answer["path_ns"] = self.longest() or None
        answer["found"] = bool(answer.get("path_ns"))
        return answer


def check(seed, folder):
    events = Maker(seed).trace()
    if not events:
        return "empty", []
    want = Path(events).solve()
    if want is None:
        return "open", []
    path = os.path.join(folder, "t.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"traceEvents": events}, f)
    run = subprocess.run([os.environ["TIDEMARK"], "critical-path", path, "--json"], capture_output=True, timeout=300, check=False)
    if run.returncode and not want["found"]:
        return "none", []
    got = json.loads(run.stdout)
    faults = [f"{k}: {got[k]}, should be {v}" for k, v in want.items() if got[k] != v]
    if want["found"] and (sum(b["time_ns"] for b in got["bound_by"]) != want["path_ns"] or
                          sum(got["path_by_type_ns"].values()) != want["path_ns"]):
        faults.append("the parts do not add up to the path")
    return "found" if want["found"] else "none", faults


def main():
    n = rounds(int(sys.argv[1])) if len(sys.argv) > 1 else 200
    seen = {"found": 0, "none": 0, "open": 0, "empty": 0}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(n):
            what, faults = check(seed, folder)
            seen[what] += 1
            if faults:
                print(f"seed {seed}: " + "; ".join(faults))
                return 1
    print(f"{n} random traces: {seen}")
    return seen["found"] < n / 3  # they must test something


if __name__ == "__main__":
    sys.exit(main())
