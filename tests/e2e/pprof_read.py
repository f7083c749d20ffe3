# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Heap profiles of others: every report reads them, and sums equal those of `go tool pprof`.

Profiles made here, one that a Go program writes, and one of JAX where it is installed. An export read back is the same profile."""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from pb_writer import Profile, message

TIDEMARK = os.environ["TIDEMARK"]
GO = """package main
import ("os"; "runtime"; "runtime/pprof")
var keep [][]byte
func small(n int) { for i := 0; i < n; i++ { keep = append(keep, make([]byte, 100)) } }
func large() { keep = append(keep, make([]byte, 3<<20)) }
func main() {
	runtime.MemProfileRate = 4096
	small(5000); large(); runtime.GC()
	f, _ := os.Create(os.Args[1])
	pprof.Lookup("heap").WriteTo(f, 0)
	f.Close()
	c, _ := os.Create(os.Args[2])
	pprof.StartCPUProfile(c)
	pprof.StopCPUProfile()
}
"""
JAX = """import sys, jax.numpy as jnp, jax
a = [jnp.ones((100, i + 1)) for i in range(3)]
jax.profiler.save_device_memory_profile(sys.argv[1])
b = jnp.zeros((256, 1024))
jax.profiler.save_device_memory_profile(sys.argv[2])
print(sum(x.nbytes for x in jax.live_arrays()))
"""


def ask(*words):
    p = subprocess.run([TIDEMARK, *map(str, words), "--json"], capture_output=True, check=False)
    assert p.returncode == 0, (words, p.stderr.decode())
    return json.loads(p.stdout)


def refused(path):
    p = subprocess.run([TIDEMARK, "info", str(path)], capture_output=True, check=False, text=True)
    assert p.returncode, path
    return p.stderr


def totals(path):
    """Alive bytes and blocks of all devices."""
    devices = [d["totals"] for d in ask("memory", path)["devices"]]
    return sum(d["live_bytes"] for d in devices), sum(d["live_count"] for d in devices)


def pprof_totals(path, bytes_name, objects_name):
    """The same by pprof: sums of -raw."""
    raw = subprocess.run(["go", "tool", "pprof", "-raw", str(path)], capture_output=True, check=True, text=True,
                         env={**os.environ, "HOME": str(path.parent)}).stdout
    lines = raw[raw.index("Samples:"):raw.index("Locations")].splitlines()
    names = [t.split("/")[0].split("[")[0] for t in lines[1].split()]
    sums = [0] * len(names)
    for line in lines[2:]:
        m = re.match(r"\s*((?:-?\d+\s+)+-?\d+):", line)
        for i, v in enumerate(m[1].split() if m else []):
            sums[i] += int(v)
    return sums[names.index(bytes_name)], sums[names.index(objects_name)]


def made(tmp):
    p = Profile(period=524288, time=1_700_000_000_000_000_000)
    p.add(["leaf", "main"], (3, 1000)).add(["other", "main"], (1, 5)).add(["leaf", "main"], (0, 0)).add(["gone", "main"], (-1, -10))
    path = tmp / "made.pb.gz"
    path.write_bytes(gzip.compress(p.bytes()))
    assert totals(path) == (1005, 4)
    d = ask("memory", path)
    assert d["losses"] == {"bad_samples": 1} and d["start_wall_ns"] == 1_700_000_000_000_000_000, d
    assert "sampled" in d["alloc_basis"]
    heap = ask("heap", path)
    assert heap["peak_bytes"] == 1005 and heap["left_count"] == 4, heap
    flame = ask("flame", path, "--kind", "memory")
    text = json.dumps(flame)
    assert "leaf" in text and "main.c" in text and "gone" not in text, text
    many = Profile().add(["f"], (400_000, 4_000_001)).add(["g"], (1, 7))
    (tmp / "many").write_bytes(many.bytes())
    assert totals(tmp / "many") == (4_000_008, 2)
    assert ask("memory", tmp / "many")["losses"] == {"merged_blocks": 399_999}
    return path


def labels(tmp):
    p = Profile((("allocations", "count"), ("space", "bytes")))
    p.add(["f"], (2, 64), [("device", "TPU:1"), ("kind", "buffer")]).add(["f"], (1, 9), [("device", "gpu:0"), ("kind", "executable")])
    (tmp / "labels").write_bytes(p.bytes())
    assert sorted((d["device"], d["totals"]["live_bytes"]) for d in ask("memory", tmp / "labels")["devices"]) == [("TPU:1", 64), ("cuda:0", 9)]


def damage(tmp, path):
    whole = gzip.decompress(path.read_bytes())
    (tmp / "cut").write_bytes(whole[:-3])
    assert "not a protobuf field (byte" in refused(tmp / "cut"), refused(tmp / "cut")
    cpu = Profile((("samples", "count"), ("cpu", "nanoseconds"))).add(["f"], (1, 2)).bytes()
    (tmp / "cpu").write_bytes(cpu)
    assert "pprof profile of cpu" in refused(tmp / "cpu")
    (tmp / "deep").write_bytes(Profile().add(["f"] * 5000, (1, 1)).bytes())
    assert totals(tmp / "deep") == (1, 1)
    (tmp / "loop").write_bytes(message([(1, message([(1, 1), (2, 2)])), (2, message([(1, [9]), (2, [5])])), (6, ""), (6, "space"), (6, "bytes")]))
    assert ask("memory", tmp / "loop")["losses"] == {"undefined_ids": 1}


def go_program(tmp):
    (tmp / "h.go").write_text(GO)
    env = {**os.environ, "HOME": str(tmp), "GOCACHE": str(tmp / "go")}
    subprocess.run(["go", "run", "h.go", "go.pb.gz", "cpu.pb.gz"], cwd=tmp, env=env, check=True)
    path = tmp / "go.pb.gz"
    assert totals(path) == pprof_totals(path, "inuse_space", "inuse_objects")
    assert "main.large" in json.dumps(ask("heap", path))
    assert "pprof profile of cpu" in refused(tmp / "cpu.pb.gz")
    back = tmp / "back.pprof"
    subprocess.run([TIDEMARK, "export", str(path), "-o", str(back)], capture_output=True, check=True)
    assert totals(back) == totals(path) == pprof_totals(back, "inuse_space", "inuse_objects")


def jax_memory(tmp, python):
    a, b = tmp / "a.prof", tmp / "b.prof"
    p = subprocess.run([python, "-c", JAX, str(a), str(b)], capture_output=True, text=True, check=False, env={**os.environ, "JAX_PLATFORMS": "cpu"})
    if p.returncode:
        print("skipped: JAX", p.stderr[-80:])
        return
    assert totals(b)[0] == int(p.stdout), (totals(b), p.stdout)
    assert totals(b)[0] - totals(a)[0] == 256 * 1024 * 4
    grown = [(r["delta"], r["count_b"]) for r in ask("diff", a, b)["by_stack"] if r["delta"]]
    assert grown == [(256 * 1024 * 4, 1)], grown


def main():
    with tempfile.TemporaryDirectory() as name:
        tmp = pathlib.Path(name)
        path = made(tmp)
        labels(tmp)
        damage(tmp, path)
        if shutil.which("go"):
            assert pprof_totals(path, "inuse_space", "inuse_objects") == (995, 3)  # with the sample below 0
            go_program(tmp)
        jax_memory(tmp, os.environ.get("TIDE_JAX_PYTHON", sys.executable))
    print("heap profiles are read")


main()
