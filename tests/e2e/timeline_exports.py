# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Timeline, flame and export on real traces.

For every trace: GPU active equals the exact expected busy time; the GPU flame graph adds up to the
durations of device work; the CPU graph adds up to the lanes' unions; a Chrome export read back gives
the same figures, the same flame graphs of GPU and memory, and the same spans; a Perfetto export
decodes to the same spans.

Traces come from tests/data and, where it is there, $TIDE_SHARED/data."""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path[:0] = (str(pathlib.Path(__file__).parents[1] / folder) for folder in ("property", "support"))
import formats
from extent import ALL, LARGE

TIDEMARK = os.environ["TIDEMARK"]
OURS = pathlib.Path(__file__).parents[1] / "data"
DATA = pathlib.Path(os.environ.get("TIDE_SHARED", "")) / "data"


def tidemark(*args):
    p = subprocess.run([TIDEMARK, *map(str, args)], capture_output=True, check=False)
    assert p.returncode == 0, f"{args}: {p.stderr.decode()}"
    return p.stdout


def timeline(path):
    return json.loads(tidemark("timeline", "--json", "--events", path))


def flame(path, kind):
    d = json.loads(tidemark("flame", "--json", "--kind", kind, "--max-depth", "400", path))
    for key in ("trace_file", "losses"):
        d.pop(key)
    return d


def check_node(node, unit):
    below = sum(check_node(c, unit) for c in node["children"])
    assert node[unit % "value"] == node[unit % "self"] + below, node["name"]
    return node[unit % "value"]


def spans(t):
    """Returns the spans of a timeline by content: lanes may be split for nesting."""
    rows = t["cpu_timeline"] + t["gpu_timeline"]
    return collections.Counter((e["name"], e["cat"], e["start_ns"], e["duration_ns"]) for e in rows)


def check(path, expected, tmp):
    t = timeline(path)
    s = t["summary"]
    if expected:
        assert (s["gpu_active_time_ns"] or 0) == expected.get("busy_ns", 0), "GPU active"
    assert (s["gpu_active_time_ns"] is None) == (not s["gpu_events"]) or s["gpu_active_time_ns"] == 0, "unknown without device rows"
    assert (s["overlap_time_ns"] or 0) <= min(s["gpu_active_time_ns"] or 0, s["cpu_active_time_ns"])
    gpu = flame(path, "gpu")
    if t["gpu_timeline"]:
        assert check_node(gpu, "%s_ns") == sum(e["duration_ns"] for e in t["gpu_timeline"]), "flame"
    else:
        assert gpu["value_ns"] is None and not gpu["children"], "flame: without device rows, device time is unknown"
    cpu = flame(path, "cpu")
    check_node(cpu, "%s_ns")
    lanes = collections.Counter()
    for l in t["lanes"]:
        if l["side"] == "cpu":
            lanes[l["lane"]] += l["active_ns"]
    assert cpu["value_ns"] >= sum(lanes.values()), "CPU flame"  # ranges count there as well
    memory = flame(path, "memory")
    check_node(memory, "%s")

    chrome = tmp / "x.json.gz"
    tidemark("export", path, "-o", chrome)
    back = timeline(chrome)
    assert spans(back) == spans(t), "spans after a Chrome round trip"
    for key in ("total_time_ns", "cpu_active_time_ns", "gpu_active_time_ns", "overlap_time_ns"):
        assert back["summary"][key] == s[key], key
    assert total(flame(chrome, "gpu")) == total(gpu), "GPU flame after a Chrome round trip"
    assert flame(chrome, "memory")["value"] == memory["value"], "peak after a Chrome round trip"

    perfetto = tmp / "x.pftrace"
    tidemark("export", path, "-o", perfetto)
    slices, _, _ = formats.perfetto(perfetto.read_bytes())
    got = collections.Counter((x[1], x[3], x[4] - x[3]) for x in slices)
    want = collections.Counter((e["name"] or "unknown", e["start_ns"], e["duration_ns"])
                               for e in t["cpu_timeline"] + t["gpu_timeline"])
    assert not want - got, "spans missing from the Perfetto export"
    for fmt, name in (("speedscope", "x.speedscope.json"), ("folded", "x.folded"), ("pprof", "x.pb.gz")):
        tidemark("export", path, "--to", fmt, "-o", tmp / name)
    json.loads((tmp / "x.speedscope.json").read_bytes())
    _, samples = formats.pprof((tmp / "x.pb.gz").read_bytes())
    if t["cpu_timeline"]:
        assert sum(v[1] for _, v in samples) == flame(path, "cpu")["value_ns"], "pprof"


def total(node):
    """Paths and weights of a graph, whatever the order of equal children."""
    out = collections.Counter()

    def walk(n, path):
        path += (n["name"],)
        out[path] += n["self_ns"] or 0
        for c in n["children"]:
            walk(c, path)
    walk(node, ())
    return out


def main():
    sys.setrecursionlimit(10000)
    traces = {path: None for path in sorted(OURS.glob("kineto_*.json.gz"))}
    exact = DATA / "expected" / "exact.json"
    if exact.exists():
        expected = json.loads(exact.read_text())["traces"]
        traces |= {DATA / name: row for name, row in expected.items() if "ours" not in name}
        for path in list(traces)[:]:
            traces[path] = traces[path] or expected.get(f"ours/{path.name}")
    if not ALL:
        traces = {path: row for path, row in traces.items() if path.stat().st_size <= LARGE}
    for path, row in traces.items():
        if sys.argv[1:] and path.name not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as d:
            try:
                check(path, row, pathlib.Path(d))
            except Exception:
                print(f"{path}:", file=sys.stderr)
                raise
    print(f"{len(traces)} traces: figures, flame graphs and exports agree")
    return 0


sys.exit(main())
