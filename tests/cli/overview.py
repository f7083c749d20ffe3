#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The overview says what the other reports say, in at most 25 lines, and its commands work.

overview.py TIDEMARK SAMPLE SOURCE: SAMPLE writes recordings, SOURCE has tests/data."""
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

MOST_LINES, ROWS = 25, 3


def ask(program: str, folder: str, *words: str) -> str:
    done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode not in (0, 4):
        raise SystemExit(f"{shlex.join(words)}: status {done.returncode}: {done.stderr}")
    return done.stdout


def document(program: str, folder: str, *words: str) -> dict:
    return json.loads(ask(program, folder, *words, "--json"))


def same_peak(x: dict, peak: dict) -> bool:
    if not peak["alive_count"]:
        return x["peak"] is None
    return (x["peak"]["peak_bytes"], x["peak"]["peak_time_ns"], x["peak"]["device"]) == \
        (peak["peak_bytes"], peak["peak_time_ns"], peak["device"]) and \
        [(g["key"], g["bytes"]) for g in x["peak"]["groups"]] == [(g["key"], g["bytes"]) for g in peak["groups"][:ROWS]]


def same_device_time(x: dict, hta: dict) -> bool:
    rank = hta["ranks"][0]
    if not rank["gpu_rows"]:
        return x["device_time"] is None
    return all(x["device_time"][k] == rank[k] for k in ("kernel_time_ns", "busy_ns", "idle_ns"))


def same_host_time(x: dict, ops: dict) -> bool:
    """The slow way: sorts the whole table."""
    rows = sorted((o["self_ns"] for o in ops["ops"] if o["self_ns"]), reverse=True)
    return x["longest_of"] != "host" or [r["ns"] for r in x["longest"]] == rows[:ROWS]


def same_findings(x: dict, advice: dict) -> bool:
    grave = [f["text"] for f in advice["findings"] if f["points"] < 0]
    return [f["text"] for f in x["findings"]] == grave[:ROWS]


def check(program: str, folder: str, name: str) -> list:
    x = document(program, folder, "overview", name)
    text = ask(program, folder, name)
    wrong = []
    if len(text.splitlines()) > MOST_LINES:
        wrong.append(f"{len(text.splitlines())} lines")
    if text != ask(program, folder, "overview", name):
        wrong.append("`tidemark FILE` and `tidemark overview FILE` differ")
    hta = None if Path(folder, name).is_dir() else document(program, folder, "hta", name)  # it takes a folder for a job
    for what, good in (("peak", same_peak(x, document(program, folder, "peak", name))),
                       ("hta", not hta or same_device_time(x, hta)),
                       ("ops", same_host_time(x, document(program, folder, "ops", "--flat", "--top", "0", name))),
                       ("advice", same_findings(x, document(program, folder, "advice", name)))):
        if not good:
            wrong.append(f"differs from {what}")
    for step in x["next"]:
        words = shlex.split(step["command"])
        if step["command"] not in text:
            wrong.append(f"not in the text: {step['command']}")
        if "PROGRAM" not in words and "report" not in words:
            ask(program, folder, *words[1:])
    return wrong


def main() -> int:
    program, sample, source = str(Path(sys.argv[1]).resolve()), sys.argv[2], Path(sys.argv[3]).resolve()
    data, failed = source / "tests/data", 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sample, folder], check=True)
        names = [str(p) for p in (data / "kineto_gpt_train.json.gz", data / "torchsnap/snapshot_oom.pickle.gz",
                                  data / "torchsnap/snapshot_gpt_train.pickle.gz", data / "torchtrace/job")]
        odd = Path(folder) / "a file's name.tide"
        odd.write_bytes((Path(folder) / "train.tide").read_bytes())
        names += sorted(p.name for p in Path(folder).glob("*.tide"))
        for name in names:
            for line in check(program, folder, name):
                failed += 1
                print(f"{name}: {line}")
    print(f"{len(names)} recordings, {failed} complaints")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
