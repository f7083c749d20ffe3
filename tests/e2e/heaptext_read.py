# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Heap profiles as text: tcmalloc's, jemalloc's and Go's forms; where Go is installed, a real one has the bytes that go tool pprof
shows, and the stacks of the protobuf of the same program."""
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TIDEMARK = os.environ["TIDEMARK"]
PLAIN = """heap profile:     3:      300 [     5:      900] @ heapprofile
     2:      200 [     3:      400] @ 0x4001 0x4002
     1:      100 [     2:      500] @ 0x4800
     0:        0 [     9:      500] @ 0x4801

MAPPED_LIBRARIES:
00004000-00005000 r-xp 00000000 08:01 123  /bin/app
"""
SCALED = "heap profile: 3: 300 [ 5: 900] @ heap_v2/1000\n 2: 200 [ 3: 400] @ 0x1 0x2\n"
JEMALLOC = """heap_v2/1000
  t*: 3: 2200 [0: 0]
  t0: 3: 2200 [0: 0]
@ 0x11 0x12
  t*: 2: 200 [0: 0]
  t0: 2: 200 [0: 0]
@ 0x13
  t*: 1: 2000 [0: 0]

MAPPED_LIBRARIES:
"""
GO = """package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

var keep [][]byte

//go:noinline
func grow(n int) {
	for i := 0; i < n; i++ {
		keep = append(keep, make([]byte, 2000+i))
	}
}

func main() {
	runtime.MemProfileRate = 8192
	grow(3000)
	runtime.GC()
	for i := 0; i < 2; i++ {
		f, _ := os.Create(os.Args[1+i])
		pprof.Lookup("heap").WriteTo(f, i)
		f.Close()
	}
}
"""


def run(*words, check=True, **more):
    p = subprocess.run(list(map(str, words)), capture_output=True, check=False, **more)
    assert not check or p.returncode == 0, (words, p.stderr.decode()[-400:])
    return p


def heap(path):
    return json.loads(run(TIDEMARK, "heap", "--top", "0", "--json", path).stdout)


def scaled(count, size, rate):
    by = 1 / (1 - math.exp(-size / count / rate))
    return int(count * by), int(size * by)


def made(tmp):
    path = tmp / "text"
    path.write_text(PLAIN)
    got = heap(path)
    assert (got["left_bytes"], got["left_count"]) == (300, 3), got
    assert {s["stack"] for s in got["stacks"]} == {"0x4001 (app) < 0x4002 (app)", "0x4800 (app)"} or len(got["stacks"]) == 2, got["stacks"]
    path.write_text(SCALED)
    got = heap(path)
    assert (got["left_count"], got["left_bytes"]) == scaled(2, 200, 1000), got
    path.write_text(JEMALLOC)
    got = heap(path)
    want = [scaled(2, 200, 1000), scaled(1, 2000, 1000)]
    assert (got["left_count"], got["left_bytes"]) == tuple(map(sum, zip(*want))), (got, want)
    for text in ("heap profile: x\n", "heap_v2/\n"):
        path.write_text(text)
        p = run(TIDEMARK, "heap", path, check=False)
        assert p.returncode and p.stderr.count(b"\n") == 1, p.stderr


def real(tmp):
    (tmp / "main.go").write_text(GO)
    env = {**os.environ, "HOME": str(tmp), "GOCACHE": str(tmp / "cache"), "GO111MODULE": "off"}
    proto, text = tmp / "heap.pb.gz", tmp / "heap.txt"
    run("go", "run", tmp / "main.go", proto, text, env=env)
    top = run("go", "tool", "pprof", "-sample_index=inuse_space", "-unit=B", "-top", text, env=env).stdout.decode()
    total = next(line for line in top.splitlines() if line.startswith("Showing nodes")).split(" of ")[1].split("B")[0]
    a, b = heap(text), heap(proto)
    assert a["left_bytes"] == int(total), (a["left_bytes"], total)
    inner = [[s["stack"].split(" < ")[0] for s in x["stacks"]] for x in (a, b)]
    assert any(s.startswith("main.grow (main.go:") for s in inner[0]) and set(inner[0]) == set(inner[1]), inner
    print(f"Go's text: {a['left_bytes']:,} bytes, as go tool pprof says")


def main():
    with tempfile.TemporaryDirectory() as name:
        made(pathlib.Path(name))
        if shutil.which("go"):
            real(pathlib.Path(name))
        else:
            print("skipped: Go is not installed")
    if len(sys.argv) > 1:
        for kind, text in (("plain", PLAIN), ("scaled", SCALED), ("jemalloc", JEMALLOC)):
            (pathlib.Path(sys.argv[1]) / kind).write_text(text)


main()
