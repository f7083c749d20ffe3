#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Compares loading a trace from gzip with loading the plain file, alternating in one run.

    bench/kineto/gz.py BUILD TRACE.json [ROUNDS]

Each round runs every row once on the plain file and on its gzip of levels 1, 6 (gzip's default) and 9 (what torch
writes). Wall seconds: the least of all rounds, and the ratio of the two; beside it the median of the rounds' ratios.
The .gz files are kept beside the trace."""
import os
import statistics
import subprocess
import sys
import time

LEVELS = (1, 6, 9)


def rows(build):
    load = os.path.join(build, "bench/bench_kineto_load")
    for threads in "1", "2":
        yield f"everything, {threads} thread(s)", lambda f, t=threads: [load, f, t, "0"]
        yield f"spans only, {threads} thread(s)", lambda f, t=threads: [load, f, t, "1"]
    yield "tidemark hta --json", lambda f: [os.path.join(build, "src/tidemark"), "hta", "--json", f]


def seconds(command):
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    build, trace, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 7
    files = [trace]
    for level in LEVELS:
        files.append(f"{trace[:-5]}.{level}.json.gz")
        if not os.path.exists(files[-1]):
            with open(files[-1], "wb") as out:
                subprocess.run(["gzip", f"-{level}", "-c", trace], stdout=out, check=True)
    for name, command in rows(build):
        took = [[seconds(command(f)) for f in files] for _ in range(rounds)]
        least = [min(t) for t in zip(*took)]
        print(f"{name}: plain {least[0]:.3f} s", end="")
        for i, level in enumerate(LEVELS, 1):
            middle = statistics.median(t[i] / t[0] for t in took)
            print(f"; gzip -{level} {least[i]:.3f} s {least[i] / least[0]:.2f}x (median {middle:.2f}x)", end="")
        print(flush=True)


if __name__ == "__main__":
    main()
