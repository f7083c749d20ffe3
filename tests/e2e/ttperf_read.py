# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Tables of Tenstorrent's device ops: durations by op equal the sums of the column, gaps and signposts are kept. Files named in
$TIDE_TTPERF_CSV (tt-perf-report has some in tests/data) have the sums that a few lines of Python find; where tt-perf-report is
installed, its own table of them too."""
import collections
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TIDEMARK = os.environ["TIDEMARK"]
HEAD = ["OP CODE", "OP TYPE", "GLOBAL CALL COUNT", "DEVICE ID", "ATTRIBUTES", "MATH FIDELITY", "CORE COUNT", "OP TO OP LATENCY [ns]",
        "DEVICE FW DURATION [ns]", "DEVICE KERNEL DURATION [ns]"]
ROWS = [["start", "signpost", "", "", "", "", "", "", "", ""], ["Matmul", "tt_dnn_device", 1024, 0, "{'a': 'b'}", "HiFi4", 64, 0, 110, 100],
        ["Add", "tt_dnn_device", 1025, 1, "x, \"y\"", "", 8, 0, 55, 50], ["Matmul", "tt_dnn_device", 2048, 0, "", "LoFi", 64, 30, 210, 200],
        ["host op", "tt_dnn_cpu", 2049, 0, "", "", "", "", "", ""], ["Add", "tt_dnn_device", 3000, 0, "", "", 8, 5, 60, 60]]
REPORT = "ID,Total %,Bound,OP Code,Device,Device Time,Op-to-Op Gap,Cores,Math Fidelity\n2,9.5,,Matmul,0,10.429,,64,\"UINT32, BF16 => BF16\"\n3,1,,Add,0,0.5005,757045.79,8,\n"


def ask(*words):
    p = subprocess.run([TIDEMARK, *map(str, words), "--json"], capture_output=True, check=False)
    assert p.returncode == 0, (words, p.stderr.decode())
    return json.loads(p.stdout)


def kernels(path):
    return {k["name"]: (k["count"], k["sum_ns"]) for k in ask("kernels", "--top", "0", path)["kernels"]}


def slow(path):
    out = collections.defaultdict(lambda: [0, 0])
    with open(path, newline="", encoding="utf-8") as f:
        for row in csv.DictReader(f):
            report = "OP Code" in row
            time, name = (row["Device Time"], row["OP Code"]) if report else (row["DEVICE KERNEL DURATION [ns]"], row["OP CODE"])
            if time and row["Device" if report else "DEVICE ID"] != "" and row.get("OP TYPE") != "signpost":
                out[name][0] += 1
                out[name][1] += int(float(time) * 1000 + 0.5) if report else int(time)
    return {k: tuple(v) for k, v in out.items()}


def main():
    with tempfile.TemporaryDirectory() as name:
        tmp = pathlib.Path(name)
        path, report = tmp / "ops.csv", tmp / "report.csv"
        with open(path, "w", newline="", encoding="utf-8") as f:
            csv.writer(f).writerows([HEAD, *ROWS])
        assert kernels(path) == slow(path) == {"Matmul": (2, 300), "Add": (2, 110)}, kernels(path)
        rows = [(e["name"], e["start_ns"], e["duration_ns"]) for e in ask("timeline", "--events", path)["gpu_timeline"]]
        assert sorted(rows) == [("Add", 0, 50), ("Add", 355, 60), ("Matmul", 0, 100), ("Matmul", 140, 200)], rows
        info = ask("info", path)
        assert sorted(d["device"] for d in info["devices"]) == ["tt:0", "tt:1"] and info["losses"] == {"untimed_ops": 1}, info
        report.write_text(REPORT)
        assert kernels(report) == {"Matmul": (1, 10429), "Add": (1, 501)}, kernels(report)
        for bad in ("OP CODE,DEVICE KERNEL DURATION [ns]\na,1\n", "OP Code,Device,Device Time,Op-to-Op Gap\n,,,\n"):
            (tmp / "bad.csv").write_text(bad)
            p = subprocess.run([TIDEMARK, "info", str(tmp / "bad.csv")], capture_output=True, check=False, text=True)
            assert p.returncode and p.stderr.count("\n") == 1, p.stderr
        for real in os.environ.get("TIDE_TTPERF_CSV", "").split():
            got = kernels(real)
            assert got == slow(real), [(k, got.get(k), v) for k, v in slow(real).items() if got.get(k) != v][:3]
            said = ""
            if shutil.which("tt-perf-report"):
                subprocess.run(["tt-perf-report", real, "--csv", str(report), "--ignore-signposts"], capture_output=True, check=True)
                assert kernels(report) == slow(report)
                said = f", {sum(n for n, _ in kernels(report).values()):,} in tt-perf-report's own table"
            print(f"{real}: {sum(n for n, _ in got.values()):,} ops{said}, sums equal")
        if len(sys.argv) > 1:
            (pathlib.Path(sys.argv[1]) / "ops").write_text(path.read_text())
            (pathlib.Path(sys.argv[1]) / "report").write_text(REPORT)
    print("tables of device ops are read")


main()
