#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Compares the critical path by HTA's rules with HTA's own results: graph, path, events and shares."""
import glob
import json
import os
import subprocess
import sys

TIDEMARK = os.environ["TIDEMARK"]
SHARED = os.path.join(os.environ.get("TIDE_SHARED", ""), "data")


def run(want: dict, *more: str) -> dict:
    args = [TIDEMARK, "critical-path", os.path.join(SHARED, want["file"]), "--json", "--annotation", want["annotation"],
            "--instance", str(want["instance"] or 0), *more]
    return json.loads(subprocess.run(args, check=True, capture_output=True, timeout=400).stdout)


def differences(want: dict, got: dict) -> list[str]:
    pairs = [(k, want[w], got[g]) for k, w, g in (("nodes", "nodes", "nodes"), ("edges", "edges", "edges"), ("path nodes", "cp_nodes", "path_nodes"), ("events", "cp_events", "path_events"), ("found", "success", "found"))]
    pairs.append(("length", want["cp_len_us"] * 1000, got["path_ns"]))
    prefix = len("critical_path_")
    pairs += [(k, v, got["edge_types"][k[prefix:]]) for k, v in want["edge_types"].items()]
    pairs += [(k, v * 1000, got["path_by_type_ns"][k[prefix:]]) for k, v in want["sum_by_type_us"].items()]
    shares = {b["bound"]: b["pct"] for b in got["bound_by"]}
    pairs += [(k, round(v, 4), shares.get(k, 0)) for k, v in want["summary_pct"].items() if k]
    return [f"{name}: {b}, HTA says {a}"[:200] for name, a, b in pairs if (abs(a - b) > 1e-4 if isinstance(a, float) else a != b)]


def main() -> int:
    files = sorted(glob.glob(os.path.join(SHARED, "expected", "hta-extra", "critical_path__*.json")))
    if not files:
        print("skipped: no reference data beside the checkout")
        return 77
    faults = []
    for path in files:
        want = json.load(open(path, encoding="utf-8"))
        faults += [f"{os.path.basename(path)} {d}" for d in differences(want, run(want, "--hta-compat"))]
        exact = run(want)  # no reference: it must exist, fit the window, and its parts must add up
        total = sum(b["time_ns"] for b in exact["bound_by"])
        if not exact["found"] or total != exact["path_ns"] or exact["path_ns"] <= 0:
            faults.append(f"{os.path.basename(path)} exact: {exact['why']} {total} of {exact['path_ns']}")
    print("\n".join(faults) if faults else f"{len(files)} critical paths agree with HTA")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
