#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A report beside the analysis alone: `tidemark report` against `tidemark hta --json` of the same trace, in turn.

    bench/pages/report.py BUILD [--mb 1000] [--runs 5]      the trace is kept in $TIDE_BENCH_DIR ($TMPDIR/tide-bench)
"""
import argparse
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run(command: list) -> tuple:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run(command, check=True)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("--mb", type=int, default=1000)
    p.add_argument("--runs", type=int, default=5)
    a = p.parse_args()
    folder = Path(os.environ.get("TIDE_BENCH_DIR") or Path(tempfile.gettempdir(), "tide-bench"))
    folder.mkdir(parents=True, exist_ok=True)
    trace = folder / f"{a.mb}.json"
    if not trace.exists():
        grow = HERE.parent / "kineto/grow.py"
        data = HERE.parent.parent / "tests/data/kineto_gpt_train.json.gz"
        subprocess.run(["python3", grow, data, str(a.mb), trace], check=True)
    tidemark = Path(a.build) / "src/tidemark"
    commands = {
        "hta --json": [tidemark, "hta", trace, "--json", "-o", folder / "hta.json"],
        "report": [tidemark, "report", trace, "-o", folder / "report.html"],
    }
    times: dict = {name: [] for name in commands}
    for _ in range(a.runs):
        for name, command in commands.items():
            times[name].append(run(command))
    for name, list_ in times.items():
        wall, cpu = zip(*list_)
        print(f"{name:12} wall {statistics.median(wall):6.3f} s (best {min(wall):.3f}), CPU {statistics.median(cpu):6.3f} s (best {min(cpu):.3f})")
    both = [[statistics.median(t[k] for t in times[name]) for name in ("report", "hta --json")] for k in (0, 1)]
    print(f"report / hta: wall {both[0][0] / both[0][1]:.2f}x, CPU {both[1][0] / both[1][1]:.2f}x; page {(folder / 'report.html').stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
