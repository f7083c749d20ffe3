#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Timeline, flame, diff and exports on a grown trace; diff against Holistic Trace Analysis's.

    views.py TIDEMARK MEGABYTES [--runs 5]

Prints the median of the runs in wall and CPU seconds and the largest resident set. HTA's TraceDiff runs
in the same session, on the pair of traces it is tested with ($TIDE_SHARED/data/hta/trace_diff), where its
package (HolisticTraceAnalysis) is installed for this Python; otherwise the line says so."""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TRACE = HERE.parents[1] / "tests" / "data" / "kineto_gpt_train.json.gz"
HTA = """
import sys
from hta.trace_analysis import TraceAnalysis
from hta.trace_diff import TraceDiff
a, b = (TraceAnalysis(trace_files={0: p}) for p in sys.argv[1:3])
print(len(TraceDiff.compare_traces(a.t, b.t)))
"""


def measure(command, runs):
    wall, cpu, rss = [], [], 0
    for _ in range(runs):
        t = time.monotonic()
        p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(p.pid, 0)
        wall.append(time.monotonic() - t)
        cpu.append(usage.ru_utime + usage.ru_stime)
        rss = max(rss, usage.ru_maxrss)
        p.returncode = os.waitstatus_to_exitcode(status)
        if p.returncode:
            return None
    return statistics.median(wall), statistics.median(cpu), rss


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
        print(f"| {name} | {wall:.2f} | {cpu:.2f} | {rss / 1024:.0f} |")
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
            subprocess.run([sys.executable, HERE.parent / "kineto" / "grow.py", TRACE,
                            str(o.megabytes), path, "--nccl", nccl], check=True)
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
            print(f"| {name} | {wall:.2f} | {cpu:.2f} | {rss / 1024:.0f} | {size} |", flush=True)
    against_hta(o)


main()
