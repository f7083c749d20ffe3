# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""XLA's .xplane.pb: devices, streams, ops, launches, names; damage is one line. JAX, where it is installed, writes one more, and its
own reader must count the same events and durations."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from pb_writer import message

TIDEMARK = os.environ["TIDEMARK"]
JAX = """import glob, json, sys, jax, jax.numpy as jnp
f = jax.jit(lambda x: jnp.tanh(x @ x).sum())
x = jnp.ones((64, 64))
f(x).block_until_ready()
with jax.profiler.trace(sys.argv[1]):
    f(x).block_until_ready()
path, = glob.glob(sys.argv[1] + "/**/*.xplane.pb", recursive=True)
rows = sorted((e.name, round(e.duration_ns)) for p in jax.profiler.ProfileData.from_file(path).planes for l in p.lines for e in l.events)
print(json.dumps([path, rows]))
"""


def ask(*words):
    p = subprocess.run([TIDEMARK, *map(str, words), "--json"], capture_output=True, check=False)
    assert p.returncode == 0, (words, p.stderr.decode())
    return json.loads(p.stdout)


def event(meta, offset_ns, duration_ns, **stats):
    return message([(1, meta), (2, offset_ns * 1000), (3, duration_ns * 1000)] + [(4, stat(k, v)) for k, v in stats.items()])


KEYS = ["correlation_id", "memcpy_details", "hlo_op", "hlo_module", "memory_size", "device_vendor", "profile_start_time", "bytes"]


def stat(key, value):
    return message([(1, KEYS.index(key) + 1), (5 if isinstance(value, str) else 3, value)])


def plane(name, lines, names, **stats):
    """Lines: (id, name, start ns, events); names: of events, from 1."""
    fields = [(1, 7), (2, name)]
    fields += [(3, message([(1, i), (2, n), (3, t)] + [(4, e) for e in events])) for i, n, t, events in lines]
    fields += [(4, message([(1, i + 1), (2, message([(1, i + 1), (2, "%" + n + " = f32[]"), (4, n)]))])) for i, n in enumerate(names)]
    fields += [(5, message([(1, i + 1), (2, message([(1, i + 1), (2, k)]))])) for i, k in enumerate(KEYS)]
    return message(fields + [(6, stat(k, v)) for k, v in stats.items()])


def space():
    gpu = plane("/device:GPU:1", [(3, "Stream #14(Kernel)", 1000, [event(1, 0, 500, correlation_id=5, hlo_op="dot.1", hlo_module="jit_f"),
                                                                   event(2, 600, 100, memcpy_details="kind:d2h size:4096 dest:0")])],
                ["gemm", "MemcpyD2H"], memory_size=1 << 30)
    tpu = plane("/device:TPU:0", [(1, "XLA Modules", 0, [event(1, 2000, 900)]),
                                  (2, "XLA Ops", 0, [event(2, 2000, 800), event(3, 2100, 300), event(4, 2500, 200)])],
                ["jit_f(1)", "while.1", "fusion.2", "all-reduce.3"])
    host = plane("/host:CPU", [(9, "python", 0, [event(1, 900, 50, correlation_id=5)])], ["cuLaunchKernel"])
    return message([(1, gpu), (1, tpu), (1, host), (1, plane("Task Environment", [], [], profile_start_time=1_700_000_000_000_000_000))])


def made(tmp):
    path = tmp / "made"
    path.write_bytes(space())
    rows = {(k["name"], k["type"], k["sum_ns"]) for k in ask("kernels", "--top", "0", path)["kernels"]}
    assert rows == {("gemm", "compute", 500), ("MemcpyD2H", "memory", 100), ("fusion.2", "compute", 300), ("all-reduce.3", "communication", 200)}, rows
    info = ask("info", path)
    assert sorted(d["device"] for d in info["devices"]) == ["cuda:1", "tpu:0"], info["devices"]
    assert any(d.get("capacity_bytes", d.get("memory_bytes")) == 1 << 30 for d in info["devices"]), info["devices"]
    gpu = {e["name"]: e for e in ask("timeline", "--events", path)["gpu_timeline"]}
    assert gpu["gemm"]["start_ns"] == 100 and gpu["gemm"]["duration_ns"] == 500, gpu["gemm"]
    back = tmp / "back.json"
    subprocess.run([TIDEMARK, "export", str(path), "-o", str(back)], capture_output=True, check=True)
    assert {(k["name"], k["type"], k["sum_ns"]) for k in ask("kernels", "--top", "0", back)["kernels"]} == rows
    perfetto = tmp / "x.pftrace"
    subprocess.run([TIDEMARK, "export", str(path), "-o", str(perfetto)], capture_output=True, check=True)
    assert {(k["name"], k["type"], k["sum_ns"]) for k in ask("kernels", "--top", "0", perfetto)["kernels"]} == rows
    whole = path.read_bytes()
    for n in (len(whole) - 1, len(whole) // 2, 40):
        (tmp / "cut").write_bytes(whole[:n])
        p = subprocess.run([TIDEMARK, "info", str(tmp / "cut")], capture_output=True, check=False, text=True)
        assert p.returncode and "byte" in p.stderr and p.stderr.count("\n") == 1, p.stderr


def jax(tmp):
    python = os.environ.get("TIDE_JAX_PYTHON", sys.executable)
    p = subprocess.run([python, "-c", JAX, str(tmp / "jax")], capture_output=True, text=True, check=False, env={**os.environ, "JAX_PLATFORMS": "cpu"})
    if p.returncode:
        print("skipped: JAX", p.stderr[-80:])
        return
    path, want = json.loads(p.stdout.splitlines()[-1])
    got = sorted((e["name"], e["duration_ns"]) for e in ask("timeline", "--events", path)["cpu_timeline"])
    assert [n for n, _ in got] == [n for n, _ in want], (len(got), len(want))
    assert all(abs(a - b) <= 1 for (_, a), (_, b) in zip(got, want))


def main():
    with tempfile.TemporaryDirectory() as name:
        made(pathlib.Path(name))
        jax(pathlib.Path(name))
    if len(sys.argv) > 1:
        pathlib.Path(sys.argv[1]).write_bytes(space())
    print("XLA's profiles are read")


main()
