#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Measures `tidemark peak` on a large torch snapshot, compared with Python's pickle.load of the same file.

    bench/snapshot.py BUILD [EVENTS ...]      (default 2000000: about 0.4 GB; 10000000 is about 2 GB)

Every figure of a row is from this run, with alternating tools: wall and CPU time of the best round, and the memory besides the
mapped file. Needs gcc (for snapshot_gen) and room for the file in TMPDIR.
"""
import os
import subprocess
import sys
import tempfile

from common import timed

LOAD = """
import gc, pickle, sys, time
if sys.argv[2] == "off":
    gc.disable()
w, c = time.perf_counter(), time.process_time()
with open(sys.argv[1], "rb") as f:
    d = pickle.load(f)
print(time.perf_counter() - w, time.process_time() - c)
sys.stdout.flush()
import os
os._exit(0)
"""


def tidemark(build, path):
    """Wall, processor seconds, and bytes held besides the file, of one `tidemark peak`."""
    wall, cpu, held = timed([os.path.join(build, "src/tidemark"), "peak", path, "--json"])
    return wall, cpu, held - os.path.getsize(path)


def python(path, gc):
    out = subprocess.run([sys.executable, "-c", LOAD, path, gc], stdout=subprocess.PIPE, check=True, text=True).stdout
    return tuple(map(float, out.split()))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, sizes = sys.argv[1], [int(a) for a in sys.argv[2:]] or [2000000]
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as tmp:
        gen, path = os.path.join(tmp, "gen"), os.path.join(tmp, "snapshot.pickle")
        subprocess.run(["cc", "-O2", "-o", gen, os.path.join(here, "snapshot_gen.c")], check=True)
        for events in sizes:
            for order in ("", "shuffle") if events <= 3000000 else ("",):
                subprocess.run([gen, str(events), path] + [order] * bool(order), check=True)
                size = os.path.getsize(path)
                rounds = 3 if events <= 3000000 else 1
                ours, off, on = [], [], []
                for _ in range(rounds):  # alternating, so that a busy machine affects all
                    ours += [tidemark(build, path) for _ in range(2)]
                    off.append(python(path, "off"))
                    on.append(python(path, "on"))
                w, c = min(o[0] for o in ours), min(o[1] for o in ours)
                print(f"{events} events, {size / 1e6:.0f} MB, stacks {'in any order' if order else 'as in training'}")
                print(f"  tidemark peak            {w:7.2f} s wall {c:7.2f} s cpu   {max(o[2] for o in ours) / size:.2f} x the file besides it")
                for name, rows in (("gc off", off), ("gc on", on)):
                    pw, pc = min(r[0] for r in rows), min(r[1] for r in rows)
                    print(f"  pickle.load, {name:7}     {pw:7.2f} s wall {pc:7.2f} s cpu   {pw / w:.1f} x wall, {pc / c:.1f} x cpu")
                sys.stdout.flush()


main()
