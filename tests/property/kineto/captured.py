#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""--captured: replays of a decode step's CUDA graph joined with the trace of its capture, against the same step run
eagerly (tests/data/graph): 20 replays have 20/3 of the kernels that 3 eager steps have, under the same ops, shapes,
modules and stacks. And a small pair written here whose launches have kernel names, in another order and with
a kernel that the capture lacks.     captured.py FOLDER, with TIDEMARK set
"""
import gzip
import json
import os
import subprocess
import sys
import tempfile

FOLDER = sys.argv[1]
REPLAY, CAPTURE, EAGER = (f"{FOLDER}/decode_{n}.json.gz" for n in ("replay", "capture", "eager"))
faults = []


def check(good, text):
    if not good:
        faults.append(text)


def ask(*words):
    done = subprocess.run([os.environ["TIDEMARK"], *words, "--json"], check=True, capture_output=True, text=True, timeout=120)
    return json.loads(done.stdout), done.stderr


def counts(rows, *keys):
    out = {}
    for r in rows:
        key = tuple(r[k] for k in keys)
        out[key] = out.get(key, 0) + r["count"]
    return out


def same(what, replays, steps, inside=lambda key: True):
    """20 replays against 3 steps; keys that `inside` refuses are left out of both."""
    a, b = ({k: n for k, n in x.items() if inside(k)} for x in (replays, steps))
    check({k: n * 3 for k, n in a.items()} == {k: n * 20 for k, n in b.items()}, f"{what}: {a}, eager {b}")


both, note = ask("kernels", REPLAY, "--captured", CAPTURE, "--by", "op")
check("1560 of 1560 device rows of 20 graph replays" in note, note)
check(not both["losses"] if "losses" in both else True, both)
eager = ask("kernels", EAGER, "--by", "op")[0]
same("ops and kernels", counts(both["op_kernels"], "op", "kernel"), counts(eager["op_kernels"], "op", "kernel"))
for by, table, keys in (("shape", "shapes", ("op", "shapes", "dtypes", "strides")), ("category", "categories", ("category",)), ("module", "modules", ("module",))):
    x, y = (ask("kernels", *w, "--by", by)[0] for w in ((REPLAY, "--captured", CAPTURE), (EAGER,)))
    check(x["rows"] == 1560 and sum(r["sum_ns"] for r in x[table]) == x["sum_ns"], by)
    same(by, counts(x[table], *keys), counts(y[table], *keys))
plain = ask("kernels", REPLAY, "--by", "op")[0]
check(counts(plain["ops"], "op") == {("(outside any op)",): 1560}, plain["ops"])
check(sum(r["sum_ns"] for r in plain["ops"]) == sum(r["sum_ns"] for r in both["ops"]), "the sum changed")
shapes = ask("ops", REPLAY, "--captured", CAPTURE, "--by", "shape")[0]
check(shapes["outside_ns"] == 0 and sum(o["device_self_ns"] for o in shapes["ops"]) == shapes["device_ns"] == sum(r["sum_ns"] for r in plain["ops"]), shapes["outside_ns"])
modules = ask("modules", REPLAY, "--captured", CAPTURE)[0]
check(max(r["forward_device_ns"] for r in modules["modules"]) == shapes["device_ns"], "the outermost module has all of it")


def path(node, names=()):
    names += (node["name"],)
    yield names, node["count"]
    for child in node["children"]:
        yield from path(child, names)


flame = ask("flame", REPLAY, "--captured", CAPTURE, "--kind", "gpu")[0]
check(sum(n for names, n in path(flame) if any(x.startswith("aten::") for x in names)) == 1560, "flame")

# ---- names in the capture: HIP ----

with tempfile.TemporaryDirectory() as folder:
    def row(cat, name, begin, length, tid, **args):
        return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": begin, "dur": length, "args": args}

    def write(name, events):
        os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
        with gzip.open(f"{folder}/{name}", "wt") as f:
            json.dump({"traceEvents": events}, f)

    def launch(op, kernel, at):
        return [row("cpu_op", op, at, 8, 1), row("cuda_runtime", "hipLaunchKernel", at + 1, 2, 1, kernel=kernel, correlation=at)]
    write("capture_traces/rank.json.gz", [row("cuda_runtime", "hipStreamBeginCapture", 0, 1, 1), *launch("aten::mm", "gemm", 10), *launch("aten::add", "add", 20),
                                          *launch("aten::linear", "gemm", 30), row("cuda_runtime", "hipStreamEndCapture", 50, 1, 1), *launch("aten::mul", "later", 60)])
    write("replay.json.gz", [row("cuda_runtime", "hipGraphLaunch", 100, 5, 1, correlation=7),
                             *(row("kernel", name, at, 5, 3, correlation=7, device=0, stream=3) for name, at in (("add", 110), ("gemm", 120), ("unknown", 130), ("gemm", 140)))])
    got, note = ask("kernels", f"{folder}/replay.json.gz", "--captured", folder, "--by", "shape")
    check(counts(got["shapes"], "op") == {("aten::mm",): 1, ("aten::add",): 1, ("aten::linear",): 1, ("(outside any op)",): 1}, got["shapes"])
    check(got["losses"] == {"graph_rows_unmatched": 1}, got["losses"])
    check("3 of 4 device rows of 1 graph replays" in note, note)
    # as many calls as rows, but other kernels: nothing is matched
    write("other.json.gz", [row("cuda_runtime", "cudaStreamBeginCapture", 0, 1, 1), *launch("aten::mm", "x", 10), *launch("aten::mm", "y", 20), *launch("aten::mm", "z", 30), *launch("aten::mm", "w", 40)])
    got, note = ask("kernels", f"{folder}/replay.json.gz", "--captured", f"{folder}/other.json.gz", "--by", "shape")
    check(got["losses"] == {"graph_rows_unmatched": 4}, got["losses"])

print("\n".join(faults) or "the replays have the ops of the eager run")
sys.exit(bool(faults))
