#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Measures the cost of sampled session profiling by instruction counts: bench/objects_session.py [PYTHON]

Runs a program under valgrind three times: plain, in a sampled session whose samples are counted, and traced. Time under valgrind is not the
program's, so the cost is instructions per sample times samples per second, over the instructions of a second of the plain program.
"""
import re
import subprocess
import sys
import tempfile
import time

PROGRAM = """
import sys
from tidemark import objects
def work(n):
    d = {}
    for i in range(n):
        d[i % 5000] = [i, str(i)]
p = None
if sys.argv[1] == 'plain':
    work(int(sys.argv[2]))
else:
    with objects.MemoryProfiler(sampled=sys.argv[1] == 'sampled', interval=0.002) as p:
        work(int(sys.argv[2]))
        n = getattr(p._source, 'samples', 0)
    print(n)
"""
LOOPS = 300_000


def instructions(python: str, script: str, mode: str, loops: int) -> tuple[int, int]:
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", python, script, mode, str(loops)], capture_output=True, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", done.stderr)[1]), int(done.stdout or 0)


def main() -> None:
    python = sys.argv[1] if len(sys.argv) > 1 else sys.executable
    with tempfile.NamedTemporaryFile("w", suffix=".py") as f:
        f.write(PROGRAM)
        f.flush()
        none, _ = instructions(python, f.name, "plain", 0)
        plain, _ = instructions(python, f.name, "plain", LOOPS)
        sampled, samples = instructions(python, f.name, "sampled", LOOPS)
        traced, _ = instructions(python, f.name, "traced", LOOPS)
        took = []
        for loops in (0, LOOPS * 10):
            before = time.process_time(), time.perf_counter()
            subprocess.run([python, f.name, "plain", str(loops)], check=True)
            took.append(time.perf_counter() - before[1])
    each = (sampled - plain) / max(samples, 1)
    second = (plain - none) * 10 / max(took[1] - took[0], 1e-9)
    print(f"plain {plain - none:,} instructions, {second / 1e9:.2f} G a second; {samples} samples cost {sampled - plain:,}: {each:,.0f} each")
    print(f"sampled, 20 a second: {each * 20 / second * 100:.3f} % more instructions; traced: {(traced - plain) / (plain - none) * 100:.0f} % more")


if __name__ == "__main__":
    main()
