#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Runs every command on contradictory recordings: it ends by itself with status 0 or 1, prints no
control characters, and its JSON is JSON. Commands disagree on no total: live bytes at the end and the
peak are the same in memory, phases, peak and ops. Usage: chaos.py TIDEMARK CLI_CHAOS [ROUNDS]"""
import json
import os
import re
import subprocess
import sys
import tempfile

COMMANDS = ["info", "memory", "phases", "peak", "ops", "ops --flat", "dump"]
# Each recording gets a few of these, so that all are used.
MORE = """modules; allocator; allocator --json; leaks --every 5%; leaks --json --every 5%; oom; oom --json; whatif --capacity 1GiB; whatif --capacity 1GiB --json
hta; hta --json; kernels --json; timeline; timeline --json; gantt -o -; flame; flame --json; flame --kind memory; flame --kind memory --json; flame --hot
diff FILE; diff FILE --json; report -o -; peak -g stack --json; peak -g tensor; memory --at 50% --json; export --to chrome; export --to speedscope; export --to folded
export --to folded --kind memory; export --to perfetto; export --to pprof; export --to snapshot"""
MORE = [line.strip() for line in re.split("[;\n]", MORE)]
BINARY = ("export --to perfetto", "export --to pprof", "export --to snapshot")
CONTROL = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]")


def run(tidemark: str, line: str, file: str) -> bytes:
    words = [file if w == "FILE" else w for w in line.split()]
    done = subprocess.run([tidemark, *words, file], capture_output=True, timeout=300)
    if done.returncode not in (0, 1) or b"Sanitizer" in done.stderr or b"runtime error" in done.stderr:
        raise AssertionError(f"{line}: status {done.returncode}\n{done.stderr.decode(errors='replace')}")
    if line not in BINARY and CONTROL.search(done.stdout):
        raise AssertionError(f"{line}: control characters")
    if "-o -" in line and b"<img" in done.stdout:
        raise AssertionError(f"{line}: markup of a name")
    if not done.returncode and ("--json" in line or "chrome" in line or "speedscope" in line) and "dump" not in line:
        json.loads(done.stdout)
    return done.stdout


def agree(tidemark: str, file: str) -> None:
    said = {c: json.loads(run(tidemark, f"{c} --json", file)) for c in COMMANDS if c != "dump"}
    memory = said["memory"]["devices"]  # names may repeat: devices are compared in order
    live = sum(p["live_bytes"] for d in memory for p in d["pools"])  # totals of a device leave L1 out
    for d in memory:  # L1 counts in a device that has declared no other memory; pools without allocations are not listed
        sums = [sum(p["live_bytes"] for p in d["pools"] if l1 or p["kind"] not in ("L1", "L1_SMALL")) for l1 in (False, True)]
        assert d["totals"]["live_bytes"] in sums, f"a device and its pools: {d}"
    ops, outside = said["ops"], said["ops"]["outside"]
    change = sum(r["self_change_bytes"] for r in ops["ops"])
    change += outside["alloc_bytes"] - outside["free_bytes"]
    last = said["phases"]["phases"][-1]["memory"]
    phases = sum(s["cumulative_current_bytes"] for s in last if s["scope"] == "pool")
    assert live == change == phases, f"live {live}, ops {change}, phases {phases}"
    peaks = [(d["device"], d["peak_bytes"]) for d in said["peak"]["devices"]]
    tops = [(d["device"], d["totals"]["peak_bytes"]) for d in memory if d["totals"]["allocs"]]
    assert peaks == tops, f"peak {peaks}, memory {tops}"
    groups = said["peak"]["groups"]
    assert sum(g["bytes"] for g in groups) == said["peak"]["peak_bytes"], "groups are not the peak"


def main() -> int:
    tidemark, chaos = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 25
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, rounds + 1):
            file = os.path.join(folder, f"{seed}.tide")
            subprocess.run([chaos, str(seed), file], check=True)
            try:
                for command in COMMANDS:
                    run(tidemark, command, file)
                for k in range(6):
                    run(tidemark, MORE[(6 * seed + k) % len(MORE)], file)
                for line in run(tidemark, "dump --json", file).splitlines():
                    json.loads(line)
                agree(tidemark, file)
            except (AssertionError, subprocess.TimeoutExpired, ValueError, KeyError) as error:
                failed += 1
                print(f"seed {seed}: {error}")
    print(f"{rounds - failed} of {rounds} rounds pass")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
