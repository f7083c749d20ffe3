#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Measures timeline, flame, diff and exports on a grown trace, and compares diff with Holistic Trace Analysis's.

    views.py TIDEMARK MEGABYTES [--runs 5]

Prints the median of the runs in wall and CPU seconds and the largest resident set. HTA's TraceDiff runs
in the same session, on the pair of traces it is tested with ($TIDE_SHARED/data/hta/trace_diff), if its package
(HolisticTraceAnalysis) is installed for this Python; otherwise a line says so."""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from common import grown, timed

HTA = """
import sys
from hta.trace_analysis import TraceAnalysis
from hta.trace_diff import TraceDiff
a, b = (TraceAnalysis(trace_files={0: p}) for p in sys.argv[1:3])
print(len(TraceDiff.compare_traces(a.t, b.t)))
"""


def measure(command, runs):
    """Median wall and CPU seconds, greatest resident MB; None where it cannot run."""
    try:
        wall, cpu, rss = zip(*(timed(command) for _ in range(runs)))
    except subprocess.CalledProcessError:
        return None
    return statistics.median(wall), statistics.median(cpu), max(rss) / 2**20


def against_hta(o):
    pair = pathlib.Path(os.environ.get("TIDE_SHARED", "")) / "data" / "hta" / "trace_diff"
    pair = [str((pair / name).resolve()) for name in ("control/control.json.gz", "test/test.json.gz")]
    ours = measure([o.tidemark, "diff", "--json", *pair], o.runs)
    theirs = measure([sys.executable, "-c", HTA, *pair], 1)
    if not ours or not theirs:
        print("\nHTA's TraceDiff: not run (its package or its traces are not here)")
        return
    print("\n| diff of HTA's own pair | wall s | CPU s | MB resident |\n|---|---|---|---|")
    for name, (wall, cpu, rss) in (("HTA TraceDiff", theirs), ("tidemark diff", ours)):
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {rss:.0f} |")
    print("| HTA / Tidemark | " + " | ".join(f"{x / y:.0f}x" for x, y in zip(theirs, ours)) + " |")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("tidemark")
    args.add_argument("megabytes", type=int)
    args.add_argument("--runs", type=int, default=5)
    o = args.parse_args()
    with tempfile.TemporaryDirectory() as d:
        a, b = f"{d}/a.json", f"{d}/b.json"
        for path, nccl in ((a, "40"), (b, "20")):
            grown(path, o.megabytes, "--nccl", nccl)
        rows = [("info (load alone)", ["info", a])]
        rows += [("timeline", ["timeline", a])]
        rows += [(f"flame --kind {k}", ["flame", "--kind", k, a]) for k in ("cpu", "gpu", "memory")]
        rows += [(f"export {n}", ["export", a, "-o", f"{d}/{n}"])
                 for n in ("x.json", "x.json.gz", "x.pftrace", "x.pb.gz", "x.speedscope.json", "x.folded")]
        rows += [("diff", ["diff", "--json", a, b])]
        print("| what | wall s | CPU s | MB resident | MB written |\n|---|---|---|---|---|")
        for name, command in rows:
            wall, cpu, rss = measure([o.tidemark, *command], o.runs)
            out = pathlib.Path(command[-1])
            size = f"{out.stat().st_size / 1e6:.1f}" if name.startswith("export") else ""
            print(f"| {name} | {wall:.2f} | {cpu:.2f} | {rss:.0f} | {size} |", flush=True)
    against_hta(o)


main()
