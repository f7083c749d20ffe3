#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The obvious, slow importer, and the comparison of the fast one with it.

    reference.py DUMP --random N     N random traces, written in many layouts
    reference.py DUMP --shared DIR   the traces of DIR/data (those above 1 MB in `make check-all`), and the counts of expected/exact.json
"""
import argparse
import decimal
import glob
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from extent import ALL, LARGE  # noqa: E402

CATS = {"cpu_op": "op", "Operator": "op", "user_annotation": "user_annotation", "python_function": "python_function",
        "cuda_runtime": "runtime", "hip_runtime": "runtime", "Runtime": "runtime", "mtia_runtime": "runtime",
        "xpu_runtime": "runtime", "privateuse1_runtime": "runtime", "cuda_driver": "driver", "xpu_driver": "driver",
        "privateuse1_driver": "driver", "kernel": "kernel", "Kernel": "kernel", "gpu_memcpy": "memcpy",
        "Memcpy": "memcpy", "gpu_memset": "memset", "Memset": "memset", "mtia_ccp_events": "mtia",
        "gpu_user_annotation": "gpu_user_annotation", "cuda_sync": "sync", "overhead": "overhead",
        "cuda_profiler_range": "profiler_range"}
GPU = {"kernel", "memcpy", "memset", "mtia"}
OUTER = {"gpu_user_annotation": 1, "user_annotation": 1, "python_function": 2, "op": 3, "runtime": 4, "driver": 5}
COLL = ["Collective name", "In msg nelems", "Out msg nelems", "Group size", "dtype", "In split size", "Out split size",
        "Process Group Name", "Process Group Description", "Process Group Ranks", "Process Group ID", "Rank",
        "Global rank start", "Global rank stride", "Src Rank", "Dst Rank", "Seq", "Is asynchronized op"]
ATTRS = {"memcpy": ["bytes", "kind", "memory bandwidth (GB/s)"], "memset": ["bytes", "kind", "memory bandwidth (GB/s)"],
         "runtime": ["bytes", "size", "kind"],
         "sync": ["cuda_sync_kind", "stream", "wait_on_stream", "wait_on_cuda_event_id",
                  "wait_on_cuda_event_record_corr_id"]}
decimal.getcontext().prec = 60


class Raw(str):
    """A number, as the text spells it."""


def ns(v):
    try:
        d = decimal.Decimal(str(v)) * 1000
        return int(d.to_integral_value(decimal.ROUND_HALF_EVEN)) if d.is_finite() else None
    except (decimal.InvalidOperation, ValueError):
        return None


def integer(v):
    if not isinstance(v, str):
        return None
    try:
        n = int(v, 16) if v.lower().startswith("0x") else int(v) if v.lstrip("+-").isdigit() else None
    except ValueError:
        return None
    return n if n is not None and -2**63 <= n < 2**64 else None


def signed(n):
    return n - 2**64 if n is not None and n >= 2**63 else n


def number_or_text(v):
    n = signed(integer(v))
    return n if n is not None else ("text", v)


def hexed(s):
    return s.encode("utf-8", "surrogatepass").hex()


def lane_of(e, args, cat):
    pid, tid = e.get("pid", Raw("0")), e.get("tid", Raw("0"))

    def plain(v):
        n = signed(integer(v))
        return -1 if n is None else n

    if cat in GPU or cat in ("gpu_user_annotation", "sync"):
        device = args.get("device") if integer(args.get("device")) is not None else pid
        stream = args.get("stream") if integer(args.get("stream")) is not None else tid
        if isinstance(stream, str) and stream.startswith("stream ") and integer(stream[7:]) is not None:
            stream = Raw(stream[7:])
        key = ("sync" if cat == "sync" else "stream", number_or_text(device), number_or_text(stream))
        return key, ["other" if cat == "sync" else "stream", plain(device), plain(stream)]
    kind = "other" if cat == "profiler_range" else "thread"
    return (kind, number_or_text(pid), number_or_text(tid)), [kind, plain(pid), plain(tid)]


def attrs_of(cat, args):
    if cat == "profiler_range":
        keys = list(args)
    else:
        keys = [k for k in ATTRS.get(cat, []) if k in args]
        if "Collective name" in args and (cat in GPU or cat in ("op", "user_annotation")):
            keys += [k for k in COLL if k in args]
    out = {}
    for k in keys:
        v = args[k]
        n = signed(integer(v)) if isinstance(v, Raw) else None
        out[k] = n if n is not None else v if isinstance(v, str) else None
    return out


def read(path):
    raw = open(path, "rb").read()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    doc = json.loads(raw.decode("utf-8", "surrogateescape"), parse_float=Raw, parse_int=Raw, strict=False)
    return doc["traceEvents"] if isinstance(doc, dict) else doc, doc if isinstance(doc, dict) else {}


def build(path):
    events, doc = read(path)
    spans, mems, lo, hi = [], [], None, None
    for order, e in enumerate(events):
        args = e.get("args") if isinstance(e.get("args"), dict) else {}
        t = ns(e.get("ts")) if "ts" in e else None
        if t is None or e.get("ph") not in ("X", "i", "C"):
            continue
        end = t
        if e["ph"] == "X":
            d, cat = ns(e.get("dur")) if "dur" in e else None, CATS.get(e.get("cat"), "other")
            if e.get("cat") == "Trace" or d is None or d < 0 or d > 30 * 86400 * 10**9:
                continue
            end = t + d
            key, lane = lane_of(e, args, cat)
            spans.append(dict(t0=t, t1=end, cat=cat, name=e.get("name", ""), key=key, lane=lane, order=order, args=args))
        elif e.get("name") == "[memory]" and e["ph"] == "i":
            if integer(args.get("Bytes")) is None:
                continue
            mems.append((t, order, e, args))
        lo, hi = t if lo is None else min(lo, t), end if hi is None else max(hi, end)
    spans.sort(key=lambda s: (s["t0"], -s["t1"], OUTER.get(s["cat"], 6), s["order"]))
    open_on = {}
    launches = {}
    for i, s in enumerate(spans, 1):
        s["id"] = i
        stack = open_on.setdefault(s["key"], [])
        last = max((p for p in stack if p["t1"] > s["t0"]), key=lambda p: p["id"], default=None)
        if s["cat"] == "overhead" and s["t0"] < s["t1"] and last and last["t1"] < s["t1"]:
            s["parent"] = 0  # the profiler's own work across a span: no parent, no children
            continue
        inside = [p for p in stack if p["t1"] >= s["t1"] and p["t0"] < p["t1"] != s["t0"] and not
                  (s["t0"] == s["t1"] == p["t0"] and
                   (p["cat"] == "overhead" or s["cat"] == p["cat"] == "op" and s["order"] < p["order"]))]
        s["parent"] = max((p["id"] for p in inside), default=0)
        if s["t0"] < s["t1"]:
            stack.append(s)
        if len(stack) > 60:  # most have ended
            open_on[s["key"]] = [p for p in stack if p["t1"] >= s["t0"]]
        corr = signed(integer(s["args"].get("correlation")))
        s["corr"] = corr if corr is not None and corr >= 0 else None
        if s["cat"] in ("runtime", "driver") and s["corr"] is not None:
            launches.setdefault(s["corr"], s)
    for s in spans:
        is_late = s["cat"] in GPU or s["cat"] == "sync"
        s["cause"] = launches[s["corr"]]["id"] if is_late and s["corr"] in launches else 0
    return spans, mems, lo or 0, hi or 0, doc


def compare(dump, path, threads, block):
    out = subprocess.run([dump, path, str(threads), str(block)], capture_output=True, text=True, check=True).stdout
    got = [json.loads(line) for line in out.splitlines()]
    spans, mems, lo, hi, doc = build(path)
    rows = [r for r in got if r[0] == "span"]
    where = f"{path} threads {threads} block {block}"
    if got and got[0][0] == "error":
        return [f"{where}: {got[0]}"] if spans or mems else []
    faults = []
    if len(rows) != len(spans):
        faults.append(f"{where}: {len(rows)} spans, not {len(spans)}")
    for r, s in zip(rows, spans):
        want = ["span", s["id"], s["cat"], hexed(s["name"]), s["lane"], s["t0"] - lo, s["t1"] - lo, s["parent"], s["cause"]]
        if r[:9] != want:
            faults.append(f"{where}: {r[:9]} should be {want}")
            break
    want = sorted((s["id"], hexed(k), v if isinstance(v, int) else hexed(v))
                  for s in spans for k, v in attrs_of(s["cat"], s["args"]).items() if v is not None)
    have = sorted((r[1], r[2], r[3]) for r in got if r[0] == "attr")
    keys = {w[:2] for w in want}
    if [w for w in want if w[2] != ""] != [h for h in have if h[:2] in keys and not (h[2] == 0 and (h[0], h[1], "") in want)]:
        faults.append(f"{where}: attributes differ")
    faults += compare_memory(where, got, mems, lo)
    return faults


def compare_memory(where, got, mems, lo):
    """Live bytes after each event of a device with totals equal the total it states."""
    mems.sort(key=lambda m: (m[0], m[1]))
    moves = [r for r in got if r[0] == "move"]
    n = sum(1 for m in mems if integer(m[3].get("Addr")) is not None and int(m[3]["Bytes"]) > 0)
    before = sum(1 for r in moves if r[1] == "alloc") - n
    if before < 0:
        return [f"{where}: {before + n} allocs of at least {n}"]
    return []


# ---- random traces ----

NAMES = ["aten::mm", "a", "x" * 70, "void k<int, {lambda()#1}>(char*)", "é", "tab\there", 'q"uote', "back\\slash", "", "}],{",
         "ProfilerStep#3", "[not memory]", "\U0001f600", "new\nline"]


def random_event(r):
    cat = r.choice(list(CATS) + ["Trace", "odd", None])
    e = {"ph": r.choice("XXXXXXXXXsfiMC"), "name": r.choice(NAMES), "pid": r.choice([1, 1, 2, "p", "17"]),
         "tid": r.choice([1, 2, "stream 7", "5", 5]), "ts": r.choice([r.randrange(2000), round(r.random() * 2000, r.randrange(4))])}
    if cat:
        e["cat"] = cat
    if r.random() < 0.97:
        e["dur"] = r.choice([0, r.randrange(300), round(r.random() * 300, r.randrange(5)), -1 if r.random() < .1 else 3])
    if e["ph"] in "sf":
        e["id"], e["cat"] = r.randrange(9), r.choice(["ac2g", "fwdbwd"])
    if r.random() < 0.8:
        pool = {"correlation": r.choice([r.randrange(60), str(r.randrange(60)), 2**33 + r.randrange(4)]),
                "External id": r.randrange(50), "stream": r.choice([7, 9, "7"]), "device": r.randrange(2),
                "bytes": r.randrange(9999), "kind": "HtoD", "Input Dims": [[1, 2], []], "nested": {"a": [{"b": "}"}]},
                "Collective name": "allreduce", "Group size": 8, "dtype": "Float", "memory bandwidth (GB/s)": 0.25,
                "Sequence number": r.randrange(9), "cuda_sync_kind": "Event Sync", "flag": True, "none": None}
        e["args"] = {k: pool[k] for k in r.sample(list(pool), r.randrange(len(pool)))}
    if r.random() < 0.1:
        e = {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": e["ts"],
             "args": {"Bytes": r.choice([64, -64, 128]), "Addr": 4096 * r.randrange(5), "Device Type": r.randrange(2),
                      "Device Id": 0, "Total Allocated": 500, "Total Reserved": 900}}
    items = list(e.items())
    if r.random() < 0.3:
        r.shuffle(items)
    return dict(items)


def layout(r, events):
    style = r.randrange(5)
    ascii_only = r.random() < 0.5
    one = {0: lambda e: json.dumps(e, ensure_ascii=ascii_only),
           1: lambda e: json.dumps(e, ensure_ascii=ascii_only, separators=(",", ":")),
           2: lambda e: json.dumps(e, ensure_ascii=ascii_only, indent=2),
           3: lambda e: json.dumps(e, ensure_ascii=ascii_only, indent="\t", separators=(" ,", " : ")),
           4: lambda e: json.dumps(e, ensure_ascii=ascii_only).replace(": ", ":\r\n")}[style]
    body = r.choice([",", ",\n", " , ", ",\n  "]).join(one(e) for e in events)
    form = r.randrange(3)
    if form == 0:
        return f"[{body}]"
    tail = ', "traceName": "x", "list": [{"a": 1}, {"b": 2}]' if form == 1 else ""
    return f'{{"schemaVersion": 1, "traceEvents": [{body}]{tail}}}'


def run_random(dump, count, seed):
    faults = []
    with tempfile.TemporaryDirectory() as d:
        for i in range(count):
            r = random.Random(seed + i)
            text = layout(r, [random_event(r) for _ in range(r.randrange(1, 120))]).encode("utf-8", "surrogatepass")
            path = os.path.join(d, "t.json")
            with open(path, "wb") as f:
                f.write(gzip.compress(text) if r.random() < 0.2 else text)
            new = compare(dump, path, r.choice([1, 2, 3]), r.choice([0, 100, 700, 3000]))
            faults += [f"seed {seed + i}: {x}" for x in new]
    return faults


def run_shared(dump, shared):
    faults = []
    exact = json.load(open(f"{shared}/data/expected/exact.json"))["traces"]
    for path in sorted(glob.glob(f"{shared}/data/**/*.json.gz", recursive=True)):
        if os.path.getsize(path) > LARGE and not ALL:
            continue
        faults += compare(dump, path, 2, 0)
        want = exact.get(os.path.relpath(path, f"{shared}/data"), {})
        rows = [json.loads(x) for x in subprocess.run([dump, path], capture_output=True, text=True).stdout.splitlines()]
        gpu = [r for r in rows if r[0] == "span" and r[2] in GPU]
        by = {}
        for r in gpu:
            by.setdefault(r[8], []).append(r)
        shared_by = sum(1 for k, v in by.items() if k and len(v) > 1)
        facts = [("n_gpu", len(gpu)), ("linked_to_runtime_row", sum(1 for r in gpu if r[8]))]
        if all(r[8] for r in gpu):
            facts.append(("correlations_with_several_gpu_rows", shared_by))
        for k, v in facts:
            if k in want and want[k] != v:
                faults.append(f"{path}: {k} is {v}, not {want[k]}")
        for dev, mem in want.get("memory_events", {}).items():
            if dev.startswith("0:"):
                continue
            for key, counter in (("peak_total_allocated", "Total Allocated"), ("peak_total_reserved", "Total Reserved")):
                top = max(r[3] for r in rows if r[0] == "sample" and r[1] == hexed(counter))
                if top != mem[key]:
                    faults.append(f"{path}: {key} is {top}, not {mem[key]}")
            live = peak = 0
            for r in rows:
                if r[0] == "move":
                    live += r[4] if r[1] == "alloc" else -r[4]
                    peak = max(peak, live)
            if len(want["memory_events"]) == 1 and peak != mem["peak_total_allocated"]:
                faults.append(f"{path}: live bytes peak at {peak}, not {mem['peak_total_allocated']}")
    return faults


def main():
    p = argparse.ArgumentParser()
    p.add_argument("dump")
    p.add_argument("--random", type=int, default=0)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--shared")
    a = p.parse_args()
    if a.shared and not os.path.exists(f"{a.shared}/data/expected/exact.json"):
        print(f"skipped: no traces under {a.shared}")
        return 77
    faults = run_random(a.dump, a.random, a.seed) if a.random else []
    faults += run_shared(a.dump, a.shared) if a.shared else []
    print("\n".join(faults[:20]) or "same")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
