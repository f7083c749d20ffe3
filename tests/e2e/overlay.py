#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`export --overlay`: what analyses found is in the Chrome and the Perfetto file as tracks, curves and flows, with the figures that
the reports have, and the trace reads back as if it were not there. Perfetto's own descriptors read the file, where they are installed."""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "property"), str(TESTS / "support")]
import formats  # noqa: E402

TIDEMARK = os.environ["TIDEMARK"]
TRACES = [TESTS / "data" / "kineto_gpt_train.json.gz", TESTS / "data" / "kineto_compiled_infer.json.gz"]
SHARED = pathlib.Path(os.environ.get("TIDE_SHARED", "")) / "data"
MORE = ["hta/critical_path/alexnet", "hta/nccl_parser_config", "tracelens/h100"]  # several streams, steps, memory
CAT, PID = "tidemark_overlay", 1 << 40


def run(*args, code=0):
    done = subprocess.run([TIDEMARK, *map(str, args)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode in (code, code or 4), (args, done.returncode, done.stderr)  # 4: the trace is cut off
    return done


def ask(*args):
    return json.loads(run(*args, "--json").stdout)


def dump(path):
    return [line for line in run("dump", path).stdout.splitlines() if '"kineto.events"' not in line]


def chrome(path):
    """Returns slices, instants, curves and flows of the overlay, in ns."""
    d = json.loads(path.read_text(), parse_float=str)
    own = [e for e in d["traceEvents"] if e.get("cat") == CAT]
    ns = formats.ns
    starts = {(e["pid"], e["tid"], ns(e["ts"])) for e in d["traceEvents"] if e["ph"] == "X"}
    slices = [(e["name"], ns(e["ts"]), ns(e["dur"])) for e in own if e["ph"] == "X"]
    curves = collections.defaultdict(list)
    for e in own:
        if e["ph"] == "C":
            curves[e["name"]].append((ns(e["ts"]), float(e["args"]["value"])))
        assert e["ph"] in "sf" or e["pid"] == PID, e
    flows = {ph: [e for e in own if e["ph"] == ph] for ph in "sf"}
    assert collections.Counter(e["id"] for e in flows["s"]) == collections.Counter(e["id"] for e in flows["f"])
    assert all((e["pid"], e["tid"], ns(e["ts"])) in starts for v in flows.values() for e in v), "a flow without its slice"
    others = {e["id"] for e in d["traceEvents"] if e["ph"] in "sf" and e["cat"] != CAT}
    assert not others & {e["id"] for e in flows["s"]}, "numbers of flows"
    return slices, [e["name"] for e in own if e["ph"] == "i"], curves, len(flows["s"])


def check_curve(points, peak, mean, time):
    assert points == sorted(points), "order"
    assert max(v for _, v in points) == peak, "highest"
    if mean is not None:
        area = sum(v * (b - a) for (a, v), (b, _) in zip(points, points[1:]))
        assert abs(area / time - mean) <= 0.0001 * max(1, mean), (area / time, mean)


def lasting(points):
    """Without lengths that took no time: hta's maximum counts those that lasted."""
    return [p for p, q in zip(points, points[1:] + [(1 << 62, 0)]) if q[0] > p[0]]


def check_curves(trace, curves):
    rank = ask("hta", trace)["ranks"][0]
    queues = {k: v for k, v in curves.items() if k.startswith("queue of ")}
    busy = [s for s in rank["streams"] if s["queue"]["launches"]]
    assert len(queues) == len(busy), (list(queues), len(busy))
    for s in busy:
        name = next(k for k in queues if k.endswith(f":{s['device']} stream {s['stream']}"))
        check_curve(lasting(queues[name]), s["queue"]["max"], s["queue"]["mean"], s["queue"]["time_ns"])
    for c in rank["copies"]:
        if c["rows_with_bytes"] and c["peak_gb_s"] and f"{c['kind']} GB/s" in curves:
            points = curves[f"{c['kind']} GB/s"]
            assert abs(max(v for _, v in points) - c["peak_gb_s"]) <= 1e-9 * c["peak_gb_s"], c
            assert points[-1][1] == 0


def check_path(trace, slices, flows):
    p = ask("critical-path", trace)
    if not p["found"]:
        assert not slices and not flows
        return
    if not p["annotation"]:
        assert sum(s[2] for s in slices) == p["path_ns"], (sum(s[2] for s in slices), p["path_ns"])
    assert flows > 0
    at = 0
    for _, t0, dur in slices:  # one after another
        assert t0 >= at, "the path goes back"
        at = t0 + dur


def check(trace, folder):
    files = {kind: [folder / f"{x}.{kind}" for x in ("plain", "over")] for kind in ("json", "pftrace")}
    for plain, over in files.values():
        run("export", trace, "-o", plain)
        run("export", trace, "--overlay", "all", "-o", over)
        assert dump(plain) == dump(over), f"{over.name} does not read back as the trace"
        assert over.stat().st_size > plain.stat().st_size
    slices, findings, curves, flows = chrome(files["json"][1])
    check_path(trace, slices, flows)
    check_curves(trace, curves)
    assert len(findings) == len(ask("advice", trace)["findings"])
    own = formats.perfetto(files["pftrace"][1].read_bytes())[0]
    path = sorted((s[1], s[3], s[4] - s[3]) for s in own if s[2] == CAT)
    assert path == sorted(slices), "Chrome and Perfetto differ"
    before = formats.perfetto(files["pftrace"][0].read_bytes())[0]
    count = lambda rows, i: sum(len(s[i]) for s in rows)
    assert count(own, 5) - count(before, 5) == count(own, 6) - count(before, 6) == flows, "flows"
    by_descriptors(files["pftrace"][1], len(slices), curves)


def by_descriptors(path, slices, curves):
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
    except ImportError:
        print("perfetto's descriptors are not installed: our own reader alone looked")
        return
    trace = pb.Trace()
    trace.ParseFromString(path.read_bytes())
    names = {p.track_descriptor.uuid: p.track_descriptor.name for p in trace.packet if p.HasField("track_descriptor")}
    events = [p.track_event for p in trace.packet if p.HasField("track_event")]
    begun = [e for e in events if e.type == pb.TrackEvent.TYPE_SLICE_BEGIN and CAT in e.categories]
    assert len(begun) == slices and {names[e.track_uuid] for e in begun} <= {"critical path"}
    ended = collections.Counter(names[e.track_uuid] for e in events if e.type == pb.TrackEvent.TYPE_SLICE_END and e.track_uuid in names)
    assert ended["critical path"] == slices
    for name, points in curves.items():
        at = {u for u, n in names.items() if n == name}
        values = [e.double_counter_value for e in events if e.track_uuid in at]
        assert values == [v for _, v in points], name


def without_device(folder):
    """A trace without device work has no curves; one without spans has findings only, and a note says why there is no path."""
    trace = folder / "cpu.json"
    rows = [{"ph": "X", "cat": "cpu_op", "name": f"aten::op{i}", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5} for i in range(4)]
    trace.write_text(json.dumps({"traceEvents": rows}))
    run("export", trace, "--overlay", "all", "-o", folder / "x.json")
    slices, _, curves, flows = chrome(folder / "x.json")
    assert [s[0] for s in slices] == [r["name"] for r in rows] and flows == 3 and not curves
    said = run("export", TESTS / "data/torchsnap/snapshot_oom.pickle.gz", "--overlay", "all", "-o", folder / "x.json").stderr
    assert "no critical path" in said, said
    slices, findings, curves, flows = chrome(folder / "x.json")
    assert findings and not slices and not flows and not curves


def usage(folder):
    run("export", TRACES[0], "--overlay", "nonsense", "-o", folder / "x.json", code=2)
    run("export", TRACES[0], "--overlay", "queue", "-o", folder / "x.pb.gz", code=2)
    run("export", *TRACES, "--overlay", "queue", "-o", folder / "x.json", code=2)
    run("export", TRACES[0], "--overlay", "queue,findings", "-o", folder / "x.json")
    slices, findings, curves, flows = chrome(folder / "x.json")
    assert not slices and not flows and findings and all(k.startswith("queue") for k in curves)


def main():
    traces = TRACES + [p for m in MORE for p in sorted((SHARED / m).rglob("*.json.gz"))]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for trace in traces:
            check(trace, folder)
        without_device(folder)
        usage(folder)
    print(f"{len(traces)} traces")


if __name__ == "__main__":
    main()
