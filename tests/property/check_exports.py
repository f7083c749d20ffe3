# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Every export of random models says what the model says, and nests strictly.

    check_exports.py EXPORT_SAMPLE [SEEDS]
"""
import collections
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
from decimal import Decimal

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import formats


def nested(events, what):
    """events: (t0, t1) in order of start, longer first."""
    stack = []
    for t0, t1 in events:
        while stack and stack[-1] <= t0:
            stack.pop()
        assert not stack or stack[-1] >= t1, f"{what}: [{t0}, {t1}) does not nest"
        stack.append(t1)


def key(s):
    return (s["name"] or "", s["cat"], s["t0"], s["t1"])


def carries(e, s):
    """The event has the link and the argument of the span."""
    if s["cause"] and e["args"].get("correlation", e["args"].get("External id")) != s["cause"]:
        return False
    return s["row"] % 4 != 3 or e["args"].get("bytes") == (1 << 63) - 1 - s["row"]


def check_chrome(d, truth):
    text = (d / "x.json").read_bytes()
    assert gzip.decompress((d / "x.json.gz").read_bytes()) == text, "gzip differs"
    doc = json.loads(text.decode("utf-8"), parse_float=Decimal)
    assert doc["baseTimeNanoseconds"] == 1700000000123456789
    xs = [e for e in doc["traceEvents"] if e["ph"] == "X"]
    got = [(e["name"], e["cat"], formats.ns(e["ts"]), formats.ns(e["ts"]) + formats.ns(e["dur"]))
           for e in xs]
    assert collections.Counter(got) == collections.Counter(map(key, truth["spans"])), "spans"
    lanes = collections.defaultdict(list)
    for e, g in zip(xs, got):
        lanes[e["pid"], e["tid"]].append((g[2], g[3]))
    for k, v in lanes.items():
        nested(v, f"chrome {k}")
    assert [g[2] for g in got] == [s["t0"] for s in truth["spans"]], "order"
    events = collections.defaultdict(list)  # those that begin together may change places
    for e, g in zip(xs, got):
        events[g].append(e)
    for s in truth["spans"]:
        same = events[key(s)]
        found = next((e for e in same if carries(e, s)), None)
        assert found is not None, "link or argument"
        same.remove(found)
    ends = collections.Counter((e["ph"], e["cat"], e["id"]) for e in doc["traceEvents"]
                               if e["ph"] in "sf")
    assert sum(n for (ph, cat, _), n in ends.items() if ph == "f" and cat == "fwdbwd") == \
        len(truth["flows"]), "flows"
    assert all(ends["s", cat, i] == 1 for ph, cat, i in ends), "flow without a start"
    totals = [e["args"]["Total Allocated"] for e in doc["traceEvents"] if e["name"] == "[memory]"]
    assert max(totals, default=0) == truth["totals"]["memory"], "peak"


def check_perfetto(d, truth):
    slices, tracks, counters = formats.perfetto((d / "x.pftrace").read_bytes())
    got = [(s[1], s[2], s[3], s[4]) for s in slices]
    want = [(n or "unknown", c, a, b) for n, c, a, b in map(key, truth["spans"])]
    assert collections.Counter(got) == collections.Counter(want), "spans"
    by_track = collections.defaultdict(list)
    for s in slices:
        by_track[s[0]].append((s[3], s[4]))
    for k, v in by_track.items():
        nested(v, f"perfetto {k}")
    rows = len(truth["spans"]) + 1
    started = {f: (s[1], s[3], s[4]) for s in slices for f in s[5]}
    ended = [(f, (s[1], s[3], s[4])) for s in slices for f in s[6]]
    what = lambda row: (lambda s: (s["name"] or "unknown", s["t0"], s["t1"]))(truth["spans"][row - 1])
    links = [(s["cause"], s["row"]) for s in truth["spans"] if s["cause"]] + truth["flows"]
    assert len(ended) == len(links), "flows"
    got = collections.Counter((started[f], to) for f, to in ended)
    assert got == collections.Counter((what(a), what(b)) for a, b in links), "ends of flows"
    assert sum(f >= rows for f in started) == len(truth["flows"]), "numbers of flows"
    peak = max((v for c in counters.values() for _, v in c), default=0)
    assert peak == truth["totals"]["memory"], "peak"


def check_pprof(d, truth):
    for kind in ("cpu", "gpu", "memory"):
        types, samples = formats.pprof((d / f"{kind}.pb.gz").read_bytes())
        sums = [sum(v[i] for _, v in samples) for i in range(len(types))]
        if kind == "memory":
            assert [t[0] for t in types] == ["alloc_objects", "alloc_space", "inuse_objects",
                                             "inuse_space"]
            assert sums[1] == truth["totals"]["allocated"] and sums[3] == truth["totals"]["memory"]
        else:
            assert types[1] == ("time", "nanoseconds") and sums[1] == truth["totals"][kind]


def check_folded(d, truth):
    for kind in ("cpu", "gpu", "memory"):
        total = 0
        for line in (d / f"{kind}.folded").read_bytes().decode("utf-8").split("\n")[:-1]:
            path, value = line.rsplit(" ", 1)
            assert path and all(path.split(";")), line
            total += int(value)
        assert total == truth["totals"][kind], kind


def check_speedscope(d, truth):
    doc = json.loads((d / "x.speedscope.json").read_bytes().decode("utf-8"))
    assert doc["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    frames = [f["name"] for f in doc["shared"]["frames"]]
    got = []
    for p in doc["profiles"]:
        if p["type"] == "sampled":
            assert len(p["samples"]) == len(p["weights"])
            assert all(0 <= f < len(frames) for s in p["samples"] for f in s)
            kind = "memory" if p["unit"] == "bytes" else "gpu"
            assert sum(p["weights"]) == p["endValue"] == truth["totals"][kind]
            continue
        stack, now = [], p["startValue"]
        for e in p["events"]:
            assert now <= e["at"] <= p["endValue"]
            now = e["at"]
            if e["type"] == "O":
                stack.append(e)
            else:
                o = stack.pop()
                assert o["frame"] == e["frame"]
                got.append((frames[o["frame"]], o["at"], e["at"]))
        assert not stack
    want = [(s["name"] or "unknown", s["t0"], s["t1"]) for s in truth["spans"]]
    assert collections.Counter(got) == collections.Counter(want), "spans"


def main():
    sample, seeds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40
    for seed in range(1, seeds + 1):
        with tempfile.TemporaryDirectory() as name:
            d = pathlib.Path(name)
            subprocess.run([sample, name, str(seed), str(7 * seed % 300), str(3 * seed % 100)],
                           check=True)
            truth = json.loads((d / "truth.json").read_text("utf-8"))
            for check in (check_chrome, check_perfetto, check_pprof, check_folded,
                          check_speedscope):
                try:
                    check(d, truth)
                except Exception:
                    print(f"seed {seed}: {check.__name__}", file=sys.stderr)
                    raise
    print(f"{seeds} random models: all exports agree with them")


main()
