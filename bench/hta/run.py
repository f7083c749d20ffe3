#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Load + temporal breakdown + overlap + kernels + idle: Tidemark against Holistic Trace Analysis, and 2 MPI processes against 1.

    bench/hta/run.py BUILD [--mb 1000] [--venv DIR] [--runs 3] [--work DIR] [--skip-hta] [--skip-mpi]

HTA comes from its public package: python3 -m venv DIR && DIR/bin/pip install HolisticTraceAnalysis==0.5.0 'pandas<2' 'numpy<2'.
Everything runs one after another on the same machine; the trace is grown from a real one (bench/kineto/grow.py), with whole
microseconds, because HTA's breakdown fails on the decimal ones. Prints rows for bench/RESULTS.md."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from common import grown, timed

HERE = pathlib.Path(__file__).resolve().parent
MPI = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def best(command: list[str], runs: int, env: dict | None = None) -> tuple[float, float, int]:
    return min(timed(command, env) for _ in range(runs))


def against_hta(args: argparse.Namespace, tidemark: str) -> None:
    trace = grown(args.work / f"big-us-{args.mb}.json", args.mb, "--int-us")
    size = os.path.getsize(trace) / 1e6
    wall, cpu, rss = best([tidemark, "hta", "--json", trace], args.runs)
    doc = json.loads(subprocess.run([tidemark, "hta", "--json", trace], capture_output=True, check=True).stdout)
    print(f"| tidemark hta, {size:.0f} MB | {wall:.2f} | {cpu:.2f} | {rss / 2**20:.0f} | |")
    if args.skip_hta:
        return
    out = subprocess.run([args.venv / "bin/python", HERE / "run_hta.py", trace], capture_output=True, text=True, check=True).stdout
    h_wall, h_cpu, h_rss, h_load, kernel_us = map(float, out.split()[-5:])
    print(f"| HTA 0.5.0, {size:.0f} MB (load {h_load:.1f}) | {h_wall:.1f} | {h_cpu:.1f} | {h_rss:.0f} | "
          f"{h_wall / wall:.0f}x wall, {h_cpu / cpu:.0f}x CPU, {h_rss * 2**20 / rss:.0f}x RSS |")
    exact = doc["ranks"][0]["kernel_time_ns"]  # a few rows have decimals, which HTA cuts off
    same = abs(exact / 1000 - kernel_us) < 2
    print(f"kernel time: tidemark {exact} ns, HTA {kernel_us:.0f} us: {'equal up to its rounding' if same else 'NOT EQUAL'}")


def over_mpi(args: argparse.Namespace, tidemark: str) -> None:
    ranks = args.work / "ranks"
    ranks.mkdir(exist_ok=True)
    one = grown(args.work / f"big-us-{args.mb}.json", args.mb, "--int-us")
    for i in range(8):
        link = ranks / f"rank-{i}.json"
        link.unlink(missing_ok=True)
        os.link(one, link)
    walls = []
    for n in (1, 2):
        command = ["mpirun", "--bind-to", "none", "-n", str(n), tidemark + "-mpi", "hta", "--threads", "1", "--json", str(ranks)]
        walls.append(best(command, args.runs, MPI)[0])
        print(f"| tidemark-mpi hta --threads 1, 8 ranks of {args.mb} MB, {n} process{'es' if n > 1 else ''} | {walls[-1]:.2f} | | | {walls[0] / walls[-1]:.2f}x |")
    wall, cpu, rss = best([tidemark, "hta", "--threads", "1", "--json", str(ranks)], args.runs)
    print(f"| tidemark hta --threads 1, the same | {wall:.2f} | {cpu:.2f} | {rss / 2**20:.0f} | |")


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("build", type=pathlib.Path)
    p.add_argument("--mb", type=int, default=1000)
    p.add_argument("--venv", type=pathlib.Path, default=pathlib.Path("/tmp/tide-hta-venv"))
    p.add_argument("--work", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir(), "tide-bench-hta"))
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--skip-hta", action="store_true")
    p.add_argument("--skip-mpi", action="store_true")
    args = p.parse_args()
    args.work.mkdir(exist_ok=True)
    tidemark = str(args.build.resolve() / "src/tidemark")
    print("| what | wall s | CPU s | peak RSS MB | ratio |\n|---|---|---|---|---|")
    against_hta(args, tidemark)
    if not args.skip_mpi:
        over_mpi(args, tidemark)


main()
