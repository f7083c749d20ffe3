# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""tidemark kernels --by length: every class and every short kernel of a recorded training against a slow count."""
import gzip
import json
import os
import pathlib
import subprocess
import sys

TIDEMARK, SOURCE = os.environ["TIDEMARK"], pathlib.Path(os.environ["TIDE_SOURCE"])
FROM = [0] + [a * 10**k for k in (3, 4, 5, 6) for a in (1, 2, 5)] + [10**7, 2 * 10**7, 5 * 10**7]


def main():
    path = SOURCE / "tests/data/kineto_gpt_train.json.gz"
    p = subprocess.run([TIDEMARK, "kernels", "--by", "length", "--json", path], capture_output=True, text=True)
    doc = json.loads(p.stdout)
    with gzip.open(path, "rt", encoding="utf-8") as f:
        events = [e for e in json.load(f)["traceEvents"] if e.get("ph") == "X"]
    rows = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    launches = {e["args"]["correlation"]: e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")}
    ops = sorted((e for e in events if e.get("cat") == "cpu_op"), key=lambda e: e["ts"])

    def op_of(row):
        call = launches[row["args"]["correlation"]]
        inside = [o["name"] for o in ops if o["tid"] == call["tid"] and o["ts"] <= call["ts"] <= o["ts"] + o["dur"]]
        return inside[-1] if inside else None

    want, short = {}, {}
    for e in rows:
        ns = round(1000 * e["dur"])
        low = max(f for f in FROM if f <= ns)
        count, total = want.get(low, (0, 0))
        want[low] = (count + 1, total + ns)
        if ns < 10000:
            key = (op_of(e), e["name"])
            count, total = short.get(key, (0, 0))
            short[key] = (count + 1, total + ns)
    got = {r["from_ns"]: (r["count"], r["sum_ns"]) for r in doc["lengths"]}
    assert {k: v[0] for k, v in got.items()} == {k: v[0] for k, v in want.items()}, (got, want)
    assert all(abs(got[k][1] - want[k][1]) <= want[k][0] for k in want), (got, want)
    mine = {(r["op"], r["kernel"]): (r["count"], r["sum_ns"]) for r in doc["short"]}
    assert {k: v[0] for k, v in mine.items()} == {k: v[0] for k, v in short.items()}, (set(mine) ^ set(short))
    assert sum(r["count"] for r in doc["lengths"]) == doc["rows"] == len(rows) and sum(r["sum_ns"] for r in doc["lengths"]) == doc["sum_ns"]


sys.exit(main())
