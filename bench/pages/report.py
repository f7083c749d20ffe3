#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Compares `tidemark report` with the analysis alone (`tidemark hta --json`) on the same trace, alternating.

    bench/pages/report.py BUILD [--mb 1000] [--runs 5]      the trace is kept in $TIDE_BENCH_DIR ($TMPDIR/tide-bench)
"""
import argparse
import os
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from common import grown, timed


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("--mb", type=int, default=1000)
    p.add_argument("--runs", type=int, default=5)
    a = p.parse_args()
    folder = pathlib.Path(os.environ.get("TIDE_BENCH_DIR") or pathlib.Path(tempfile.gettempdir(), "tide-bench"))
    folder.mkdir(parents=True, exist_ok=True)
    trace = grown(folder / f"{a.mb}.json", a.mb)
    tidemark = pathlib.Path(a.build) / "src/tidemark"
    commands = {
        "hta --json": [tidemark, "hta", trace, "--json", "-o", folder / "hta.json"],
        "report": [tidemark, "report", trace, "-o", folder / "report.html"],
    }
    times: dict = {name: [] for name in commands}
    for _ in range(a.runs):
        for name, command in commands.items():
            times[name].append(timed(command)[:2])
    for name, list_ in times.items():
        wall, cpu = zip(*list_)
        print(f"{name:12} wall {statistics.median(wall):6.3f} s (best {min(wall):.3f}), CPU {statistics.median(cpu):6.3f} s (best {min(cpu):.3f})")
    both = [[statistics.median(t[k] for t in times[name]) for name in ("report", "hta --json")] for k in (0, 1)]
    print(f"report / hta: wall {both[0][0] / both[0][1]:.2f}x, CPU {both[1][0] / both[1][1]:.2f}x; page {(folder / 'report.html').stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
