# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Execution traces of PyTorch: ops in their order and nesting, shapes, and memory, against a slow reading of the same file. A made
trace, one in the older schema, and one that PyTorch writes, if it is installed; damage is one line."""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TIDEMARK = os.environ["TIDEMARK"]
TORCH = """
import sys, torch
from torch.profiler import ExecutionTraceObserver
et = ExecutionTraceObserver()
et.register_callback(sys.argv[1])
m = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
o = torch.optim.SGD(m.parameters(), lr=.1)
et.start()
for i in range(3):
    m(torch.randn(32, 64)).sum().backward()
    o.step()
    o.zero_grad()
et.stop()
et.unregister_callback()
"""


def ask(*words):
    p = subprocess.run([TIDEMARK, *map(str, words), "--json"], capture_output=True, check=False)
    assert p.returncode == 0, (words, p.stderr.decode())
    return json.loads(p.stdout)


def tensor(number, storage, shape, stride=None, device="cuda:0", offset=0):
    n = 1
    for d in shape:
        n *= d
    return [number, storage, offset, n, 4, device], shape, stride or [1] * len(shape)


def side(*tensors):
    return {"values": [t[0] for t in tensors], "shapes": [t[1] for t in tensors], "types": ["Tensor(float)"] * len(tensors), "strides": [t[2] for t in tensors]}


def node(number, name, parent, inputs=(), outputs=(), tid=1, scope=0):
    return {"id": number, "name": name, "ctrl_deps": parent, "inputs": side(*inputs), "outputs": side(*outputs),
            "attrs": [{"name": "tid", "type": "uint64", "value": tid}, {"name": "scope", "type": "uint64", "value": scope}]}


def made():
    w, x = tensor(100, 50, [8, 4], [4, 1]), tensor(101, 51, [4, 2], [2, 1])
    y, z, again = tensor(102, 52, [8, 2], [2, 1]), tensor(103, 53, [8]), tensor(104, 52, [100])
    wide = tensor(105, 53, [8, 9], [1, 0])  # 9 times the same column: 8 elements
    nodes = [node(1, "[pytorch|profiler|execution_trace|process]", 0), node(2, "[pytorch|profiler|execution_trace|thread]", 1),
             node(5, "aten::empty", 4, [], [y]), node(4, "aten::mm", 3, [w, x], [y]), node(3, "forward \"1\"", 2, [], [], scope=7),
             node(7, "aten::sum", 2, [y], [z]), node(8, "aten::expand", 2, [z], [wide]), node(9, "aten::empty", 2, [], [again]), node(10, "aten::add", 2, [again, w], [again])]
    return {"schema": "1.1.1-chakra.0.0.4", "pid": 7, "time": "2026-01-01 00:00:00", "start_ts": 5, "nodes": nodes, "finish_ts": 9}


def old(doc):
    """The same in schema 1.0.1: members of the node itself."""
    nodes = []
    for n in doc["nodes"]:
        attrs = {a["name"]: a["value"] for a in n["attrs"]}
        nodes.append({"name": n["name"].replace("execution_trace", "execution_graph"), "id": n["id"], "parent": n["ctrl_deps"], "tid": attrs["tid"], "scope": attrs["scope"],
                      "inputs": n["inputs"]["values"], "input_shapes": n["inputs"]["shapes"], "input_types": n["inputs"]["types"],
                      "outputs": n["outputs"]["values"], "output_shapes": n["outputs"]["shapes"], "output_types": n["outputs"]["types"]})
    return {**doc, "schema": "1.0.1", "nodes": nodes}


def tensors(part):
    """(storage, bytes) of a side, those in lists too."""
    def walk(values, shapes, strides):
        for i, v in enumerate(values):
            shape, stride = (s[i] if isinstance(s, list) and i < len(s) else None for s in (shapes, strides))
            if isinstance(v, list) and len(v) == 6 and isinstance(v[5], str):
                n = v[3]
                if shape is not None and stride and len(shape) == len(stride) and all(shape):
                    n = 1 + sum((d - 1) * s for d, s in zip(shape, stride))
                elif shape == [] and stride == []:
                    n = 1
                yield v[1], (v[2] + n) * v[4]
            elif isinstance(v, list):
                yield from walk(v, shape, stride)
    return list(walk(part["values"], part["shapes"], part["strides"]))


def slow(doc):
    """Lives of storages: [begin, end, bytes]; begin None: older."""
    order = sorted(doc["nodes"], key=lambda n: n["id"])
    place = {n["id"]: k for k, n in enumerate(order)}
    end = {n["id"]: k + 1 for k, n in enumerate(order)}
    for n in reversed(order):
        if n["ctrl_deps"] in end and n["ctrl_deps"] < n["id"]:
            end[n["ctrl_deps"]] = max(end[n["ctrl_deps"]], end[n["id"]])
    lives, last = [], {}
    for n in doc["nodes"]:
        took = {s for s, _ in tensors(n["inputs"])}
        for s, size in tensors(n["inputs"]):
            if s not in last:
                last[s] = len(lives)
                lives.append([None, end[n["id"]], size])
            life = lives[last[s]]
            life[1:] = [max(life[1], end[n["id"]]), max(life[2], size)]
        for s, size in tensors(n["outputs"]):
            if s not in last or not (s in took or (lives[last[s]][0] or 0) >= place[n["id"]]):
                last[s] = len(lives)
                lives.append([place[n["id"]], end[n["id"]], size])
            life = lives[last[s]]
            life[1:] = [max(life[1], end[n["id"]]), max(life[2], size)]
    points = sorted({b or 0 for b, _, _ in lives})
    peak = max(sum(size for b, e, size in lives if (b or 0) <= p < e) for p in points)
    return lives, peak


def check(path, doc):
    lives, peak = slow(doc)
    memory = ask("memory", path)["devices"]
    assert sum(d["totals"]["allocs"] for d in memory) == len(lives), (memory, len(lives))
    assert max(d["totals"]["peak_bytes"] for d in memory) == peak, (memory, peak)
    want = collections.Counter(n["name"] for n in doc["nodes"] if not n["name"].startswith("[pytorch"))
    got = collections.Counter()
    for o in ask("ops", "--top", "0", path)["ops"]:
        got[o["op"]] += o["count"]
    assert got == want, {k: (got.get(k), want[k]) for k in set(got) | set(want) if got.get(k) != want[k]}
    return len(lives), peak


def main():
    with tempfile.TemporaryDirectory() as name:
        tmp = pathlib.Path(name)
        path, doc = tmp / "et.json", made()
        path.write_text(json.dumps(doc))
        assert check(path, doc) == (5, 128 + 400), check(path, doc)
        shapes = {(o["op"], o["shapes"]): o["calls"] for o in ask("ops", "--by", "shape", "--top", "0", path)["ops"]}
        assert shapes[("aten::mm", "[[8, 4], [4, 2]]")] == 1, shapes
        path.write_text(json.dumps(old(doc)))
        assert {o["op"] for o in ask("ops", "--top", "0", path)["ops"]} >= {"aten::mm", "forward \"1\""}
        for bad in (json.dumps(doc)[:-9], '{"schema": "1", "nodes": [{"ctrl_deps": 1'):
            path.write_text(bad)
            p = subprocess.run([TIDEMARK, "info", str(path)], capture_output=True, check=False, text=True)
            assert p.returncode and p.stderr.count("\n") == 1, p.stderr
        real = tmp / "real.json"
        p = subprocess.run([sys.executable, "-c", TORCH, str(real)], capture_output=True, check=False, text=True)
        if p.returncode:
            print("skipped: PyTorch", p.stderr[-80:])
        else:
            n, peak = check(real, json.loads(real.read_text()))
            print(f"PyTorch's execution trace: {n} storages, peak of at least {peak:,} bytes")
    if len(sys.argv) > 1:
        (pathlib.Path(sys.argv[1]) / "made").write_text(json.dumps(made(), separators=(",", ":")))
        (pathlib.Path(sys.argv[1]) / "old").write_text(json.dumps(old(made()), separators=(",", ":")))


main()
