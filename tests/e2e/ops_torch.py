#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark ops --flat` gives torch's own figures: count, CPU time, self time and self memory of every
op that torch.profiler listed for the same run. Times are compared to the nanosecond."""
import json
import os
import subprocess
import sys
from pathlib import Path

DATA = Path(os.environ["TIDE_SOURCE"]) / "tests" / "data"


def main() -> int:
    want = json.loads((DATA / "kineto_gpt_train.ops.json").read_text())["ops"]
    done = subprocess.run([os.environ["TIDEMARK"], "ops", "--flat", "--json",
                           DATA / "kineto_gpt_train.json.gz"], check=True, capture_output=True)
    rows = {row["op"]: row for row in json.loads(done.stdout)["ops"]}
    wrong = 0
    for op in want:
        row = rows.get(op["name"])
        got = row and {"name": op["name"], "count": row["count"], "cpu_ns": row["wall_ns"],
                       "self_cpu_ns": row["self_ns"], "self_mem_bytes": row["self_change_bytes"]}
        if got != op:
            wrong += 1
            print(f"torch: {op}\nours:  {got}")
    print(f"{len(want) - wrong} of {len(want)} ops equal torch's figures")
    return wrong > 0 or not want


if __name__ == "__main__":
    sys.exit(main())
