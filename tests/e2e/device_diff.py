# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""tidemark diff: device time by op, shapes, module and kind of work, and the calls of one trace alone, against a slow count of made traces; a trace of CUDA
and one of HIP; graphs joined with --captured."""
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

TIDEMARK, SOURCE = os.environ["TIDEMARK"], pathlib.Path(os.environ["TIDE_SOURCE"])
KINDS = {"aten::mm": "gemm", "aten::add": "elementwise", "aten::sum": "reduction", "aten::copy_": "copy"}


def diff(*args):
    p = subprocess.run([TIDEMARK, "diff", "--json", *map(str, args)], capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    return json.loads(p.stdout)


def made(rng, word):
    """Modules with ops, each with launches. Returns events, kernels as (op, shapes, module, ns), and paths with their calls and ns."""
    events, kernels, paths, t, k = [], [], {}, 0, 0

    def span(cat, name, t0, t1, path, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": t0, "dur": t1 - t0, "args": args})
        for i in range(len(path)):
            paths.setdefault(tuple(path[: i + 1]), [0, 0])[0] += 1
        paths[tuple(path)][1] += 1000 * (t1 - t0)

    for _ in range(rng.randrange(1, 12)):
        module, t0 = f"nn.Module: M{rng.randrange(4)}", t
        t += 1
        for _ in range(rng.randrange(0, 4)):
            op, size, o0 = rng.choice(list(KINDS)), rng.randrange(1, 3), t
            t += 1
            for _ in range(rng.randrange(0, 3)):
                call, k, ns = f"{word}LaunchKernel", k + 1, rng.randrange(1, 90)
                span("cuda_runtime", call, t, t + 1, [module, op, call], correlation=k)
                events.append({"ph": "X", "cat": "kernel", "name": f"k{rng.randrange(3)}", "pid": 0, "tid": 7, "ts": 10**6 + 100 * k, "dur": ns, "args": {"correlation": k, "stream": 7, "device": 0}})
                kernels.append((op, f"{op} [[{size}]] [\"float\"]", module[11:], KINDS[op], 1000 * ns))
                t += 2
            t += 1
            span("cpu_op", op, o0, t, [module, op], **{"Input Dims": [[size]], "Input type": ["float"]})
        t += 1
        span("python_function", module, t0, t, [module])
        t += 1
    return events, kernels, paths


def table(kernels, which):
    out = {}
    for k in kernels:
        row = out.setdefault(k[which], [0, 0])
        row[0] += 1
        row[1] += k[4]
    return out


def rows_of(a, b):
    """name -> counts and values of both, for names whose figures differ."""
    return {n: (*x, *y) for n in {*a, *b} if (x := a.get(n, [0, 0])) != (y := b.get(n, [0, 0]))}


def of_one(a, b):
    """Paths of one side whose parent both have; below a path its calls count, its time is that of its spans."""
    def had(side, path):
        return not path or path in side

    return {"/".join(p): (a.get(p, [0, 0]), b.get(p, [0, 0])) for p in {*a, *b} if (p in a) != (p in b) and had(a, p[:-1]) and had(b, p[:-1])}


def random_traces(folder):
    for seed in range(50):
        rng = random.Random(seed)
        sides = [made(rng, "cuda"), made(rng, "hip" if seed % 2 else "cuda")]
        for (events, _, _), name in zip(sides, ("a.json", "b.json")):
            rng.shuffle(events)
            (folder / name).write_text(json.dumps({"traceEvents": events}))
        doc = diff(folder / "a.json", folder / "b.json")
        (_, ka, pa), (_, kb, pb) = sides
        pb = {tuple(n.replace("hip", "cuda") for n in p): v for p, v in pb.items()}
        if not (ka and kb) and seed % 2:
            continue  # no call of one of the two: names stay
        for key, which in (("device_by_op", 0), ("device_by_shape", 1), ("device_by_module", 2), ("device_by_category", 3)):
            got = {r["name"]: (r["count_a"], r["a"], r["count_b"], r["b"]) for r in doc[key]}
            assert got == rows_of(table(ka, which), table(kb, which)), (seed, key, got)
        got = {r["name"]: ([r["count_a"], r["a"]], [r["count_b"], r["b"]]) for r in doc["calls"]}
        assert got == of_one(pa, pb), (seed, got, of_one(pa, pb))


def sums():
    """Rows that differ add up to the difference of kernel_time."""
    a, b = SOURCE / "tests/data/kineto_gpt_train.json.gz", SOURCE / "tests/data/kineto_gpt_train_stack.json.gz"
    doc = diff(a, b)
    for key in ("kernels", "device_by_op", "device_by_shape", "device_by_module", "device_by_category"):
        assert sum(r["delta"] for r in doc[key]) == doc["metrics"]["kernel_time"]["delta"], key
    same = diff(a, a)
    assert not any(same[key] for key in ("device_by_op", "device_by_shape", "device_by_module", "device_by_category", "calls"))


def captured():
    folder = pathlib.Path(os.environ.get("TIDE_SHARED", "")) / "data/ours/graph"
    if not folder.is_dir():
        return
    eager, replay, capture = (folder / f"decode_{n}.json.gz" for n in ("eager", "replay", "capture"))
    p = subprocess.run([TIDEMARK, "diff", "--json", "--captured", capture, eager, replay], capture_output=True, text=True)
    doc = json.loads(p.stdout)
    for key in ("device_by_op", "device_by_shape", "device_by_category"):
        assert all(3 * r["count_b"] == 20 * r["count_a"] for r in doc[key]), (key, doc[key])  # 3 eager steps, 20 replays


def main():
    with tempfile.TemporaryDirectory() as folder:
        random_traces(pathlib.Path(folder))
    sums()
    captured()


sys.exit(main())
