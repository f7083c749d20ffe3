#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Runs every command that reads a trace on damaged copies of every kind of input: bits flipped, truncated, parts repeated, moved
or zeroed, two kinds joined. It ends by itself with status 0, 1 or 4, in bounded memory; status 1 has one line on stderr; its JSON
output is valid.

    mutate.py TIDEMARK CLI_SAMPLE SOURCE [MUTANTS]     mutants of each kind, default 6
"""
import gzip
import json
import os
import random
import resource
import subprocess
import sys
import tempfile

JSON = ["info", "memory", "phases", "peak", "ops", "ops --flat", "modules", "allocator", "leaks", "oom", "whatif", "hta", "hta --hta-compat",
        "kernels", "critical-path", "critical-path --hta-compat", "timeline", "flame --kind cpu", "flame --kind gpu",
        "flame --kind memory"]
TEXT = ["info", "dump", "hta", "flame", "timeline", "ops --streams", "peak --group-by stack", "critical-path --path"]
EXPORTS = ["chrome", "perfetto", "pprof", "speedscope", "folded", "snapshot"]
MEMORY = 3 << 30
TRACE = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "python"}},
         {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 300},
         {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1.5, "dur": 60.125, "args": {"External id": 3}},
         {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 5, "args": {"correlation": 7}},
         {"ph": "X", "cat": "kernel", "name": "gemm \u00e9", "pid": 0, "tid": 7, "ts": 40, "dur": 100.25,
          "args": {"device": 0, "stream": 7, "correlation": 7, "External id": 3}},
         {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 20, "ts": 60, "dur": 90,
          "args": {"device": 0, "stream": 20, "correlation": 9, "Collective name": "allreduce", "In msg nelems": 100,
                   "dtype": "Float", "Group size": 2}},
         {"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 20, "args": {"Addr": 4096, "Bytes": 512, "Device Type": 1, "Device Id": 0,
                                                                               "Total Allocated": 512, "Total Reserved": 2048}},
         {"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 200, "args": {"Addr": 4096, "Bytes": -512, "Device Type": 1, "Device Id": 0,
                                                                                "Total Allocated": 0, "Total Reserved": 2048}},
         {"ph": "s", "id": 1, "pid": 1, "tid": 1, "ts": 2, "cat": "fwdbwd", "name": "fwdbwd"},
         {"ph": "f", "id": 1, "pid": 1, "tid": 1, "ts": 50, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"},
         {"ph": "B", "name": "half", "pid": 1, "tid": 2, "ts": 5}, {"ph": "E", "pid": 1, "tid": 2, "ts": 9},
         {"ph": "C", "name": "power", "pid": 0, "ts": 3, "args": {"W": 250.5}}]


def inputs(sample, source, folder, tidemark):
    subprocess.run([sample, folder], check=True)
    text = json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": TRACE * 3}).encode()
    tide = os.path.join(folder, "train.tide")
    packed = os.path.join(folder, "packed.tide")
    subprocess.run([tidemark, "pack", tide, "-o", packed], check=True, capture_output=True)
    read = lambda path: open(path, "rb").read()
    snap = os.path.join(source, "tests/data/torchsnap")
    kinds = {"json": text, "json.gz": gzip.compress(text, mtime=0), "array.json": json.dumps(TRACE).encode(),
             "lines.json": b"\n".join(json.dumps(e).encode() for e in TRACE), "tide": read(tide), "packed.tide": read(packed)}
    for p in "024":
        kinds[f"p{p}.pickle"] = read(os.path.join(snap, f"small_p{p}.pickle"))
    kinds["oom.pickle.gz"] = read(os.path.join(snap, "snapshot_oom.pickle.gz"))
    return kinds


def damage(r, data, other):
    b = bytearray(data)
    for _ in range(r.choice([1, 1, 2, 8])):
        at, n = r.randrange(len(b)), min(r.choice([1, 4, 50, 400]), len(b))
        to = r.randrange(len(b) - n + 1)
        how = r.randrange(8)
        if how < 3:
            b[at] ^= 1 << r.randrange(8)
        elif how == 3:
            b = b[:at + 1]
        elif how == 4:
            b[to:to + n] = bytes(n) if r.random() < 0.5 else b"\xff" * n
        elif how == 5:
            b[at:at] = b[to:to + n]
        elif how == 6:
            del b[to:to + n]
            b = b or bytearray(b"{")
        else:
            b += other if r.random() < 0.3 else data
    return bytes(b)


class Runner:
    def __init__(self, tidemark):
        self.tidemark = tidemark
        self.sanitized = b"__asan_init" in open(tidemark, "rb").read() or b"__tsan_init" in open(tidemark, "rb").read()
        self.n = 0

    def limit(self):
        if not self.sanitized:  # they reserve terabytes
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    def __call__(self, words, cwd):
        self.n += 1
        done = subprocess.run([self.tidemark, *words], cwd=cwd, capture_output=True, timeout=400, preexec_fn=self.limit, check=False)
        err = done.stderr.decode(errors="replace")
        what = " ".join(words)
        if done.returncode not in (0, 1, 4) or "Sanitizer" in err or "runtime error" in err:
            raise AssertionError(f"{what}: status {done.returncode}\n{err[:2000]}")
        if done.returncode == 1 and err.partition("next, for ")[0].count("\n") != 1:  # then the commands to try
            raise AssertionError(f"{what}: status 1 and {err.count(chr(10))} lines on stderr\n{err[:500]}")
        if "--json" in words and done.returncode != 1:
            json.loads(done.stdout)


def commands(file):
    for line in JSON:
        yield [*line.split(), "--json", file]
    for line in TEXT:
        yield [*line.split(), file]
    for to in EXPORTS:
        yield ["export", file, "--to", to, "-o", "out"]
    yield ["diff", file, "good.json", "--json"]
    yield ["pack", file, "-o", "out"]
    yield ["recover", file, "-o", "out"]
    yield ["report", file, "-o", "out.html"]


def main():
    tidemark, sample, source = sys.argv[1:4]
    tidemark = os.path.abspath(tidemark)
    mutants = int(sys.argv[4]) if len(sys.argv) > 4 else 6
    run, failed = Runner(tidemark), 0
    with tempfile.TemporaryDirectory() as folder:
        kinds = inputs(sample, source, folder, tidemark)
        with open(os.path.join(folder, "good.json"), "wb") as f:
            f.write(kinds["json"])
        for kind, data in kinds.items():
            for seed in range(mutants):
                r = random.Random(f"{kind} {seed}")
                name = f"m{seed}.{kind}"
                with open(os.path.join(folder, name), "wb") as f:
                    f.write(damage(r, data, kinds[r.choice(list(kinds))]) if seed else data)  # the first is undamaged
                some = list(commands(name))
                for words in some if seed == 0 else r.sample(some, 10):
                    try:
                        run(words, folder)
                    except (AssertionError, subprocess.TimeoutExpired, ValueError) as error:
                        failed += 1
                        print(f"{kind} mutant {seed}: {error}")
    print(f"{run.n - failed} of {run.n} runs pass")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
