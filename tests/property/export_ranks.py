#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Traces of several ranks in one file: every span of every rank is in it once, at its time on the wall clock, in a process
of that rank (or, where no rank is told, of the how manieth trace), and links stay within a rank. With TIDEMARK set."""
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import formats

TIDEMARK = os.environ["TIDEMARK"]
BASE = 1_700_000_000_000_000_000


def rank_events(r):
    """Ranks use the same process, device, stream and correlation numbers: they must not meet."""
    events, t = [{"ph": "M", "name": "process_name", "pid": 10, "args": {"name": "python"}}], 0
    for c in range(1, r.randint(2, 12)):
        t += r.randint(1, 50)
        events.append({"ph": "X", "cat": "cuda_runtime", "name": f"call{c}", "pid": 10, "tid": 5, "ts": t, "dur": 1, "args": {"correlation": c}})
        events.append({"ph": "X", "cat": "kernel", "name": f"kernel{c}", "pid": 0, "tid": 7, "ts": t + 2, "dur": r.randint(1, 9),
                       "args": {"device": 0, "stream": 7, "correlation": c}})
        t += 12
    return events


def spans_of(trace, owner):
    return [(owner, e["name"], trace["baseTimeNanoseconds"] + 1000 * e["ts"], 1000 * e["dur"])
            for e in trace["traceEvents"] if e["ph"] == "X"]


def export(files, out, *more):
    done = subprocess.run([TIDEMARK, "export", *files, "-o", out, *more], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def check_chrome(path, want):
    d = json.loads(path.read_text(), parse_float=str)
    owner = {e["pid"]: e["args"]["name"].split(":")[0] for e in d["traceEvents"] if e["name"] == "process_name"}
    got = [(owner[e["pid"]], e["name"], d["baseTimeNanoseconds"] + formats.ns(e["ts"]), formats.ns(e["dur"]))
           for e in d["traceEvents"] if e["ph"] == "X"]
    assert collections.Counter(got) == collections.Counter(want), "chrome: spans"
    ends = collections.defaultdict(set)
    for e in d["traceEvents"]:
        if e["ph"] in "sf":
            ends[e["id"]].add(owner[e["pid"]])
    assert all(len(v) == 1 for v in ends.values()) and len(ends) == len(want) // 2, "chrome: links"


def check_perfetto(path, want):
    slices, _, _ = formats.perfetto(path.read_bytes())
    assert collections.Counter((s[1], s[4] - s[3]) for s in slices) == collections.Counter((n, d) for _, n, _, d in want), "perfetto: spans"
    starts, ends = [f for s in slices for f in s[5]], [f for s in slices for f in s[6]]
    assert sorted(starts) == sorted(ends) and len(set(starts)) == len(starts) == len(want) // 2, "perfetto: links"
    tracks = collections.defaultdict(set)
    for s in slices:
        tracks[s[0]].add(s[1][:4])
    assert len(tracks) == 2 * len({w[0] for w in want}), "perfetto: tracks of two ranks have met"
    first = min(s[3] for s in slices)
    assert {(s[1], s[3] - first) for s in slices} == {(n, t - min(w[2] for w in want)) for _, n, t, _ in want}, "perfetto: times"


def main():
    for seed in range(20):
        r = random.Random(seed)
        with tempfile.TemporaryDirectory() as folder:
            d, want, files = Path(folder), [], []
            for rank in range(r.randint(2, 5)):
                trace = {"baseTimeNanoseconds": BASE + r.randint(-10**9, 10**9), "distributedInfo": {"rank": rank}, "traceEvents": rank_events(r)}
                if seed % 4 == 3:
                    del trace["distributedInfo"]
                files.append(str(d / f"r{rank}.json"))
                Path(files[-1]).write_text(json.dumps(trace))
                want += spans_of(trace, f"trace {rank + 1}" if seed % 4 == 3 else f"rank {rank}")
            bad = d / "bad.json"
            bad.write_text("{}")
            assert export([*files, str(bad)], str(d / "all.json"))[0] == 0, "one bad trace stops the rest"
            rc, said = export(files, str(d / "all.pftrace"))
            assert rc == 0 and said.startswith("tidemark export: wrote ") and said.count("\n") == 1, said
            check_chrome(d / "all.json", want)
            check_perfetto(d / "all.pftrace", want)
            assert export(files, str(d / "all.folded"))[0] == 2, "folded holds one trace"
            assert export([str(bad), str(bad)], str(d / "none.json"))[0] == 1, "nothing could be read"
    print("20 random jobs: one file has every rank")
    return 0


if __name__ == "__main__":
    sys.exit(main())
