#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Recordings of `tidemark run --gpu` on an H200 (redacted): a decode step of 6 blocks, replayed 200 times from a CUDA graph, against the same step run eagerly
(recorded_eager.json); and a program with a child graph, a conditional node, an update of an
executable graph and a graph made by hand."""
import json
import os
import subprocess
from pathlib import Path

TIDEMARK, DATA = os.environ["TIDEMARK"], Path(__file__).parents[1] / "data" / "graph"
OUTSIDE, STEPS = "(outside any module)", 200


def ask(*words: object) -> dict:
    done = subprocess.run([TIDEMARK, *map(str, words), "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout)


def check_decode() -> None:
    """Every kernel of a replay is in the module that runs it eagerly, and no kernel counts twice."""
    file, eager = DATA / "decode_recorded.tide", json.loads((DATA / "recorded_eager.json").read_text())
    by_module = ask("kernels", file, "--by", "module")
    modules = {m["module"]: m for m in by_module["modules"]}
    counts = {name: m["count"] for name, m in modules.items()}
    assert not by_module["losses"], by_module["losses"]
    assert {k: v for k, v in counts.items() if k != OUTSIDE} == {k: v for k, v in eager["eager_modules"].items() if k != OUTSIDE}, counts
    assert counts[OUTSIDE] == eager["eager_modules"][OUTSIDE] + 2, counts  # a capture sets two seeds
    replayed = sum(v for k, v in counts.items() if k != OUTSIDE)
    assert replayed > STEPS * 140, replayed
    kernels = ask("kernels", file)["kernels"]
    more = {k["name"]: k["count"] - eager["eager_kernels"].get(k["name"], 0) for k in kernels}
    assert {k for k, v in more.items() if v} == {k for k in more if "FillFunctor<long>" in k} and sum(more.values()) == 2, more
    assert sum(m["sum_ns"] for m in modules.values()) == sum(k["sum_ns"] for k in kernels) == by_module["sum_ns"]


def check_nested() -> None:
    flame = ask("flame", DATA / "nested_recorded.tide", "--kind", "gpu")

    def leaves(node: dict) -> list:
        inner = [x for c in node["children"] for x in leaves(c)]
        return inner or [node["count"]]
    found = sorted(sorted(leaves(range_)) for range_ in flame["children"])
    # the first graph: 10 replays of each of 2 executable graphs, and 10 as a child graph; the second, by which one of them was updated: 10 replays; 10 times
    # the body of the conditional node; 10 replays of the graph made by hand
    assert found == [[10], [10], [10, 10, 10], [30, 30, 30]] and not flame["losses"], (found, flame["losses"])


check_decode()
check_nested()
