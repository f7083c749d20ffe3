#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Compares --hta-compat with the results of Holistic Trace Analysis itself (TIDE_SHARED/data/expected/hta).

Skipped without the reference data. Compares HTA's printed digits: temporal breakdown, overlap, time
per set of types, kernels, idle per stream, queue lengths, bandwidth, launches, annotations, with and
without the last step. Queue lengths and bandwidths only if HTA's own result does not depend on its sort.
"""
import glob
import json
import os
import subprocess
import sys

TIDEMARK = os.environ["TIDEMARK"]
SHARED = os.path.join(os.environ.get("TIDE_SHARED", ""), "data")
faults: list[str] = []


def compat(files: list[str], keep: bool) -> dict:
    args = [TIDEMARK, "hta", "--hta-compat", "--json", *(["--keep-last-step"] if keep else []), *files]
    return json.loads(subprocess.run(args, check=True, capture_output=True, timeout=900).stdout)["hta"]


def rows(table) -> list[dict]:
    if isinstance(table, dict) and "columns" in table:
        return [dict(zip(table["columns"], r)) for r in table["rows"]]
    return table


def same(a, b) -> bool:
    if a is None or b is None:
        return a is b
    return abs(a - b) <= 1.1e-6 * max(1, abs(a), abs(b)) if isinstance(a, (int, float)) and isinstance(b, (int, float)) else a == b


def compare(what: str, want: list[dict], got: list[dict], keys: list[str]) -> None:
    """Every wanted row, found by its keys, has the wanted values."""
    index = {tuple(str(g[k]) for k in keys): g for g in got}
    for w in want:
        g = index.get(tuple(str(w[k]) for k in keys))
        if g is None:
            faults.append(f"{what}: no row {[w[k] for k in keys]}"[:300])
            continue
        for k, v in w.items():
            if k in g and k not in keys and not same(g[k], v):
                faults.append(f"{what} {[str(w[x])[:40] for x in keys]}: {k} is {g[k]}, HTA says {v}")


def launches(want: dict, got: list[dict], what: str) -> None:
    for rank, w in want.items():
        g = next(x for x in got if str(x["rank"]) == rank)
        flat = {k: w[k] for k in ("n", "short_kernels", "runtime_outliers", "launch_delay_outliers") if k in w}
        for k, v in w.get("sum", {}).items():
            flat[k + "_sum"] = v
        for name, d in w.get("describe", {}).items():
            flat |= {f"{name}_{k}": v for k, v in d.items()}
        compare(what, [{"rank": rank} | {k: round(v, 6) if isinstance(v, float) else v for k, v in flat.items()}], [g | {"rank": rank}], ["rank"])


def as_rank(got: dict, rank: int) -> None:
    """The reference was made with one file given as this rank, regardless of the rank in the file."""
    for table in got.values():
        for row in table:
            if "rank" in row:
                row["rank"] = rank


def check(name: str, want: dict, files: list[str], keep: bool, ranks: list[int]) -> None:
    got = compat(files, keep)
    if len(ranks) == 1:
        as_rank(got, ranks[0])
    errors = want.get("errors", {})
    if "temporal_breakdown" in errors and got["temporal_breakdown"]:
        faults.append(f"{name}: HTA raises {errors['temporal_breakdown']}, we answer")
    compare(f"{name} temporal", want.get("temporal_breakdown", []), got["temporal_breakdown"], ["rank"])
    compare(f"{name} overlap", want.get("comm_comp_overlap", []), got["comm_comp_overlap"], ["rank"])
    types = [r for r in want.get("kernel_type_breakdown", []) if r["sum"]]
    compare(f"{name} types", types, got["kernel_type_breakdown"], ["kernel_type"])
    compare(f"{name} kernels", rows(want.get("kernels", [])), got["kernels"], ["rank", "kernel_type", "name"])
    for rank, table in want.get("idle_time", {}).items():
        compare(f"{name} idle", [{"rank": rank} | r for r in rows(table)], got["idle_time"], ["rank", "stream", "idle_category"])
    # HTA sorts these two by time with an unstable sort: at equal times its running sum depends on the machine.
    # Figures that do not depend on that order must agree.
    queue = [{k: r[k] for k in ("rank", "stream", "queue_length_count", "queue_length_max")} for r in rows(want.get("queue_length", []))]
    compare(f"{name} queue", queue, got["queue_length"], ["rank", "stream"])
    bandwidth = [{k: r[k] for k in ("rank", "name")} for r in rows(want.get("memory_bw", []))]
    compare(f"{name} bandwidth", bandwidth, got["memory_bw"], ["rank", "name"])
    compare(f"{name} gpu annotations", rows(want.get("annotations_gpu", [])), got["annotations_gpu"], ["rank", "name"])
    compare(f"{name} cpu annotations", rows(want.get("annotations_cpu", [])), got["annotations_cpu"], ["rank", "name"])
    launches(want.get("launch_stats", {}), got["launch_stats"], f"{name} launches")


def check_diff() -> None:
    """The trace diff of the control and test traces."""
    traces = [os.path.join(SHARED, "hta", "trace_diff", f"{n}/{n}.json.gz") for n in ("control", "test")]
    for side in ("CPU", "GPU", "ALL"):
        path = os.path.join(SHARED, "expected", "hta-extra", f"trace_diff__control_vs_test__{side}.json")
        want = json.load(open(path, encoding="utf-8"))
        args = [TIDEMARK, "diff", *traces, "--hta-compat", "--side", side.lower(), "--json"]
        got = json.loads(subprocess.run(args, check=True, capture_output=True, timeout=400).stdout)
        if got["ops_diff_counts"] != want["ops_diff_counts"] or [got["control_iteration"]] != want["control_iter"]:
            faults.append(f"diff {side}: {got['ops_diff_counts']}, HTA says {want['ops_diff_counts']}")
        compare(f"diff {side}", rows(want.get("compare", [])), got["compare"], ["name"])


def ask(*args: str) -> dict:
    return json.loads(subprocess.run([TIDEMARK, *args, "--json"], check=True, capture_output=True, timeout=400).stdout)


def extra(name: str) -> dict:
    return json.load(open(os.path.join(SHARED, "expected", "hta-extra", name), encoding="utf-8"))


def check_counters() -> None:
    """Hardware counters and the ops they belong to."""
    want = rows(extra("cupti_counters.json"))
    got = ask("kernels", *glob.glob(os.path.join(SHARED, "hta", "cupti_profiler", "*.json.gz")), "--counters")["kernels"]
    if len(got) != len(want):
        faults.append(f"counters: {len(got)} rows, HTA has {len(want)}")
    for w, g in zip(want, got):
        metrics = {k: int(v) for k, v in w.items() if k.endswith(".sum")}
        stack = w["op_stack"] if isinstance(w["op_stack"], list) else w["op_stack"].strip("[]").replace("'", "").split(", ")
        if g["name"] != w["name"] or g["counters"] != metrics or g["op_stack"] != stack:
            faults.append(f"counters: {g['name'][:60]} {g['op_stack']}, HTA says {w['name'][:60]} {stack}")


def check_sequences() -> None:
    want = extra("frequent_sequences__control.json")
    got = ask("kernels", os.path.join(SHARED, "hta", "trace_diff", "control", "control.json.gz"), "--sequences", want["operator"], "--drop-last-step")["sequences"]
    for w, g in zip(want["rows"], got):
        mine = {"pattern": "|".join(g["names"]), "count": g["count"], "GPU kernel duration (us)": g["gpu_ns"] / 1000, "CPU op duration (us)": g["cpu_ns"] / 1000}
        if mine != w:
            faults.append(f"sequences: {str(mine)[-120:]}, HTA says {str(w)[-120:]}")
    if len(got) != len(want["rows"]):
        faults.append(f"sequences: {len(got)}, HTA has {len(want['rows'])}")


def check_stragglers() -> None:
    got = ask("hta", os.path.join(SHARED, "hta", "trace_filter"))["stragglers"]
    want = extra("stragglers__trace_filter.json")["stragglers"]
    if [g["rank"] for g in got[: len(want)]] != want:
        faults.append(f"stragglers: {got}, HTA says {want}")


def main() -> int:
    files = sorted(glob.glob(os.path.join(SHARED, "expected", "hta", "*.json")))
    if not files:
        print("skipped: no reference data beside the checkout")
        return 77
    for path in files:
        want = json.load(open(path, encoding="utf-8"))
        name = os.path.basename(path)[:-5]
        traces = [os.path.join(SHARED, f) for f in want["files"].values()]
        ranks = [int(r) for r in want["files"]]
        check(name, want, traces, False, ranks)
        if "with_last_step" in want:
            check(name + " with last step", want["with_last_step"], traces, True, ranks)
    check_diff()
    check_counters()
    check_sequences()
    check_stragglers()
    print("\n".join(faults) if faults else f"{len(files)} traces agree with HTA")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
