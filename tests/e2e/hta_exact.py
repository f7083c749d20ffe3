#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Compares hta --json with numbers that were computed independently, to the nanosecond.

Our own recordings and their numbers lie in tests/data and are always checked. The other traces and their
numbers are checked where TIDE_SHARED has them; else one line says that they were skipped."""
import json
import os
import pathlib
import subprocess
import sys

TIDEMARK = os.environ["TIDEMARK"]
SOURCE = pathlib.Path(os.environ["TIDE_SOURCE"])
SHARED = pathlib.Path(os.environ.get("TIDE_SHARED", "/nowhere"))
NAMES = {"comm_ns": "communication_ns", "comm_compute_overlap_ns": "comm_comp_overlap_ns"}
TYPES = {"comm": "communication"}
faults = 0


def same(where: str, what: str, got: object, want: object) -> None:
    global faults
    if got != want:
        faults += 1
        print(f"{where}: {what} is {got}, not {want}")


def hta(path: pathlib.Path, *options: str) -> dict:
    run = subprocess.run([TIDEMARK, "hta", "--json", *options, str(path)], capture_output=True, check=False)
    if run.returncode:
        sys.exit(f"{path}: exit {run.returncode}: {run.stderr.decode(errors='replace')}")
    return json.loads(run.stdout)


def check_breakdown(where: str, rank: dict, want: dict) -> None:
    for key in ("kernel_time_ns", "busy_ns", "idle_ns", "compute_ns", "comm_ns", "memory_ns", "non_compute_ns",
                "comm_compute_overlap_ns"):
        if key in want:
            same(where, key, rank[NAMES.get(key, key)], want[key] if want["n_gpu"] else None)
    pct = want.get("comm_compute_overlap_pct")
    same(where, "comm_comp_overlap_pct", rank["comm_comp_overlap_pct"], None if pct is None else round(pct, 4))
    same(where, "n_gpu", rank["gpu_rows"], want["n_gpu"])
    rows = {k: v for k, v in rank["gpu_rows_by_type"].items() if v}
    same(where, "rows by type", rows, {TYPES.get(k, k): v for k, v in want.get("n", {}).items()})
    if "sum_dur_ns" in want:
        sums = {k.removesuffix("_ns"): v for k, v in rank["sum_by_type"].items() if v}
        same(where, "sums", sums, {TYPES.get(k, k): v for k, v in want["sum_dur_ns"].items() if v})


def check_streams(where: str, rank: dict, want: dict) -> None:
    got = {f"{s['device']}/{s['stream']}": s for s in rank["streams"]}
    same(where, "streams", sorted(got), sorted(want))
    for key, w in want.items():
        s = got.get(key)
        if not s:
            continue
        for a, b in (("rows", "n"), ("span_ns", "span_ns"), ("busy_ns", "busy_ns")):
            same(f"{where} {key}", a, s[a], w[b])
        same(f"{where} {key}", "overlapping rows", s["overlapping_rows"], w.get("overlapping_rows", 0))
        for c in ("host_wait", "kernel_wait", "other"):
            same(f"{where} {key}", c, s["idle"][c + "_ns"], w["idle_ns"].get(c, 0))
            same(f"{where} {key}", c + " gaps", s["gaps"][c], w["gaps"].get(c, 0))


def check_kernels(where: str, doc: dict, want: dict) -> None:
    names: dict[str, list] = {}
    for k in doc["kernels"]:
        n = names.setdefault(k["name"], [0, 0, k["min_ns"], k["max_ns"]])
        n[0] += k["count"]
        n[1] += k["sum_ns"]
        n[2] = min(n[2], k["min_ns"])
        n[3] = max(n[3], k["max_ns"])
    same(where, "distinct names", len(names), want["distinct_names"])
    for name, *figures in want["top_names"]:
        same(where, f"kernel {name[:60]}", names.get(name), figures)


def check_invariants(where: str, doc: dict) -> None:
    rank = doc["ranks"][0]
    same(where, "kernels' counts", sum(k["count"] for k in doc["kernels"]), rank["gpu_rows"])
    same(where, "ops' counts", sum(o["count"] for o in doc["ops"]), rank["gpu_rows"])
    same(where, "type sets", sum(s["time_ns"] for s in rank["type_sets"]), rank["kernel_time_ns"] or 0)
    waits = sum(s["idle"]["host_wait_ns"] for s in rank["streams"])
    same(where, "idle causes", sum(rank["idle_causes"].values()) if rank["gpu_rows"] else set(rank["idle_causes"].values()), waits if rank["gpu_rows"] else {None})
    for k in doc["kernels"]:
        order = [k["min_ns"], k["p50_ns"], k["p90_ns"], k["p95_ns"], k["p99_ns"], k["max_ns"]]
        same(where, "order of percentiles", order, sorted(order))


def check(where: str, path: pathlib.Path, want: dict) -> None:
    doc = hta(path)
    same(where, "ranks", len(doc["ranks"]), 1)
    rank = doc["ranks"][0]
    check_invariants(where, doc)
    if not want["n_gpu"]:
        same(where, "rows", rank["gpu_rows"], 0)
        same(where, "note", any("no device rows" in n for n in doc["notes"]), True)
        return
    check_breakdown(where, rank, want)
    check_streams(where, rank, want["streams"])
    check_kernels(where, doc, want)
    same(where, "linked", rank["gpu_rows_linked_to_launch"], want["linked_to_runtime_row"])
    same(where, "steps", [f"ProfilerStep#{s['step']}" for s in rank["steps"]], want["profiler_steps"])
    if "drop_last_step" in want:
        check_breakdown(where + " without the last step", hta(path, "--drop-last-step")["ranks"][0], want["drop_last_step"])


def check_torch(data: pathlib.Path) -> None:
    """Device time of ops and kernels is what torch itself reported when it made the recordings."""
    for name, rows in json.loads((data / "hta_torch.json").read_text())["traces"].items():
        doc = hta(data / name)
        got = {k["name"]: k["sum_ns"] for k in doc["kernels"]} | {o["op"]: o["sum_ns"] for o in doc["ops"]}
        for row, want in rows.items():
            same(name, f"torch's {row[:60]}", got.get(row), want)


def main() -> int:
    data = SOURCE / "tests" / "data"
    own = json.loads((data / "hta_exact.json").read_text())["traces"]
    for name, want in own.items():
        check(name, data / name, want)
    check_torch(data)
    print(f"{len(own)} own traces, {faults} differences")
    expected = SHARED / "data" / "expected" / "exact.json"
    if not expected.exists():
        print("skipped: no further traces (TIDE_SHARED)")
        return faults > 0
    shared = json.loads(expected.read_text())["traces"]
    for name, want in shared.items():
        check(name, SHARED / "data" / name, want)
    print(f"{len(shared)} shared traces, {faults} differences")
    return faults > 0


sys.exit(main())
