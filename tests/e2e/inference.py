# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""tidemark inference: iterations of made traces against a slow count of every row, from each of the three sources, and of real traces of servers."""
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

TIDEMARK, SOURCE = os.environ["TIDEMARK"], pathlib.Path(os.environ["TIDE_SOURCE"])


def report(*args):
    p = subprocess.run([TIDEMARK, "inference", "--json", *map(str, args)], capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    return json.loads(p.stdout)


def made(rng, source):
    """Random iterations with launches inside and outside, their device rows later on two streams."""
    events, want, t = [], [], 0
    for i in range(rng.randrange(1, 40)):
        start, long = t + rng.randrange(1, 50), rng.randrange(20, 200)
        kind = rng.choice(("prefill", "decode", "mixed"))
        p, d = (0 if kind == "decode" else rng.randrange(1, 9)), (0 if kind == "prefill" else rng.randrange(1, 99))
        tokens = p * rng.randrange(1, 500)
        if source == "server":
            name = f"execute_context_{p}({tokens})_generation_{d}({d})"
            counts = [p, tokens, d, d]
        elif source == "ranges":
            name, counts = {"prefill": "run_prefill", "decode": "Decode step", "mixed": "prefill and decode"}[kind], [None] * 4
        else:
            kind = "decode" if kind == "decode" else "prefill"
            shape = [d, 1] if kind == "decode" else [p, 7]
            name, counts = "nn.Module: Model_0", [0, 0, d, d] if kind == "decode" else [p, 7 * p, 0, 0]
            events.append({"ph": "X", "cat": "cpu_op", "name": "aten::embedding", "pid": 1, "tid": 1, "ts": start + 1, "dur": 2, "args": {"Input Dims": [[100, 8], shape, [], [], []]}})
        events.append({"ph": "X", "cat": "python_function" if source == "modules" else "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": start, "dur": long, "args": {}})
        want.append({"kind": kind, "start": start, "end": start + long, "counts": counts, "rows": [], "graphs": 0})
        t = start + long
    for k in range(rng.randrange(0, 200)):
        at, later, dur = rng.randrange(0, t + 50), rng.randrange(1, 500), rng.randrange(1, 60)
        graph = rng.random() < 0.2
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch" if graph else "cudaLaunchKernel", "pid": 1, "tid": 2, "ts": at, "dur": 1, "args": {"correlation": k + 1}})
        events.append({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7 + k % 2, "ts": at + later, "dur": dur, "args": {"correlation": k + 1, "device": 0, "stream": 7 + k % 2}})
        for w in want:
            if w["start"] <= at < w["end"]:
                w["rows"].append((at + later, at + later + dur))
                w["graphs"] += graph
    return events, want


def rank(values, p):
    return sorted(values)[max(0, math.ceil(p * len(values) / 100) - 1)]


def union(rows):
    return len({u for a, b in rows for u in range(a, b)})


def random_traces(folder):
    for seed in range(60):
        rng = random.Random(seed)
        source = ("server", "ranges", "modules")[seed % 3]
        events, want = made(rng, source)
        rng.shuffle(events)
        path = folder / "made.json"
        path.write_text(json.dumps({"traceEvents": events}))
        doc = report(path)
        first = min(e["ts"] for e in events)
        assert doc["source"] == source and doc["count"] == len(want) == len(doc["iterations"]), (seed, doc["source"])
        for got, w in zip(doc["iterations"], want):
            end = max([w["end"]] + [b for _, b in w["rows"]])
            mine = [w["kind"], 1000 * (w["start"] - first), 1000 * (end - w["start"]), 1000 * (w["end"] - w["start"]), 1000 * sum(b - a for a, b in w["rows"]), 1000 * union(w["rows"]), len(w["rows"]), w["graphs"], *w["counts"]]
            keys = "kind start_ns latency_ns host_ns device_ns busy_ns rows graph_launches prefill_requests prefill_tokens decode_requests decode_tokens".split()
            assert [got[k] for k in keys] == mine, (seed, got, mine)
        assert doc["outside_ns"] == doc["device_ns"] - sum(i["device_ns"] for i in doc["iterations"])
        for k in doc["kinds"]:
            of = [i for i in doc["iterations"] if i["kind"] == k["kind"]]
            assert k["count"] == len(of) and k["device_ns"] == sum(i["device_ns"] for i in of)
            for key, field in (("", "latency_ns"), ("device_", "device_ns")):
                assert [k[f"{key}p{p}_ns"] for p in (50, 90, 99)] == [rank([i[field] for i in of], p) for p in (50, 90, 99)], (seed, k)
            known = all(i["prefill_tokens"] is not None for i in of)
            assert k["tokens"] == (sum(i["prefill_tokens"] + i["decode_tokens"] for i in of) if known else None)
        assert sum(k["count"] for k in doc["kinds"]) == len(want)


def real():
    doc = report(SOURCE / "tests/data/kineto_gpt_train.json.gz")
    assert doc["source"] is None and doc["count"] == 0 and doc["outside_ns"] == doc["device_ns"] > 0, doc
    shared = pathlib.Path(os.environ.get("TIDE_SHARED", ""))
    server = shared / "data/tracelens/inference/vllm_decode_full/graph_execution.json.gz"
    if server.exists():
        doc = report(server)
        (one,) = doc["iterations"]
        assert (doc["source"], one["kind"], one["decode_requests"], one["decode_tokens"], one["context_tokens"], one["graph_launches"]) == ("server", "decode", 32, 32, 55086, 1), one
        assert one["rows"] == 434 and doc["outside_ns"] == 0, one
    replay = shared / "data/ours/graph/decode_replay.json.gz"
    if replay.exists():
        doc = report(replay)
        assert doc["source"] == "ranges" and [k["count"] for k in doc["kinds"]] == [20] and all(i["rows"] == 78 for i in doc["iterations"]), doc["kinds"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        random_traces(pathlib.Path(folder))
    real()


sys.exit(main())
