#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark info` of a folder with two runs: recordings are joined by the run's id, children below their parents; runs stay apart."""
import json
import os
import subprocess
import sys
import tempfile

from checks import check, result

TIDEMARK = os.environ["TIDEMARK"]


def run(*args: str) -> str:
    done = subprocess.run([TIDEMARK, *args], capture_output=True, text=True)
    check(" ".join(args[:1]), done.returncode == 0, done.stderr)
    return done.stdout


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        record = ("run", "--heap", "--no-torch", "-o")
        run(*record, f"{folder}/z.tide", "--", "sh", "-c", 'ls / >/dev/null; sh -c "ls /tmp >/dev/null; true"; true')
        run(*record, f"{folder}/a.tide", "--", "ls", "/")
        got = json.loads(run("info", folder, "--json"))
        runs = got.get("runs", [])
        check("two runs, the first first", [r.get("processes") for r in runs] == [4, 1], runs)
        if len(runs) == 2:
            first, second = runs
            check("each has its id", first["run"] != second["run"] and {t["run"] for t in first["traces"]} == {first["run"]}, runs)
            check("the first process first", first["traces"][0]["trace"].endswith("/z.tide"), first["traces"])
            depth = {t["pid"]: t["depth"] for t in first["traces"]}
            check("children below their parents", sorted(depth.values()) == [0, 1, 1, 2], first["traces"])
            check("a child comes after its parent", all(t["depth"] == 0 or t["parent"] in [u["pid"] for u in first["traces"][:i]]
                  for i, t in enumerate(first["traces"])), first["traces"])
            check("times of a run", first["start_wall_ns"] <= second["start_wall_ns"] and first["duration_ns"] > 0, runs)
        check("rows of all traces as before", len(got.get("ranks", [])) == 5, got)
        text = run("info", folder)
        check("a heading for each run", text.count("run 1") == 2 and "4 processes" in text and "1 process," in text, text)
        alone = os.path.join(os.environ.get("TIDE_SOURCE", "."), "tests/data/kineto_gpt_train.json.gz")
        text = run("info", f"{folder}/a.tide", alone)
        check("a trace of no run", "without a run" in text and text.count("run 1") == 1, text)
        some = json.loads(run("info", f"{folder}/z.tide", f"{folder}/a.tide", "--json"))
        check("several files", [r["processes"] for r in some.get("runs", [])] == [1, 1], some)
        run(*record, f"{folder}/e.tide", "--", "sh", "-c", "exec ls /")
        one = next((r for r in json.loads(run("info", folder, "--json")).get("runs", []) if any("exec ls" in t["command"] for t in r["traces"])), {})
        check("a program that replaces itself is one process", (one.get("processes"), len(one.get("traces", []))) == (1, 2), one)
        check("and says so", "1 process in 2 recordings" in run("info", folder), run("info", folder))
    return result("as told")


sys.exit(main())
