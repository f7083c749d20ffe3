#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""SQLite files of rocprofv3 and rocmProfileData: reports against what was written. Both are made here,
with the tables and columns of the profilers.

Arguments: further files, of which only the sums of device work are compared.
"""
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TIDEMARK = os.environ.get("TIDEMARK", str(ROOT / "build/src/tidemark"))
ROCPD = {
    "metadata": "id INTEGER PRIMARY KEY AUTOINCREMENT, tag TEXT NOT NULL, value TEXT NOT NULL",
    "string": "id INTEGER PRIMARY KEY AUTOINCREMENT, guid TEXT, string TEXT NOT NULL UNIQUE ON CONFLICT ABORT",
    "info_process": "id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, ppid INTEGER, pid INTEGER, command TEXT",
    "info_thread": "id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, pid INTEGER, tid INTEGER, name TEXT",
    "info_agent": "id INTEGER PRIMARY KEY, guid TEXT, type TEXT CHECK (type IN ('CPU', 'GPU')), absolute_index INTEGER, type_index INTEGER, "
                  "product_name TEXT",
    "info_kernel_symbol": "id INTEGER PRIMARY KEY, guid TEXT, kernel_name TEXT, display_name TEXT",
    "event": "id INTEGER PRIMARY KEY, guid TEXT, category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER",
    "region": "id INTEGER PRIMARY KEY, guid TEXT, nid INTEGER, pid INTEGER, tid INTEGER, start BIGINT, \"end\" BIGINT, name_id INTEGER, event_id INTEGER",
    "kernel_dispatch": "id INTEGER PRIMARY KEY, guid TEXT, pid INTEGER, tid INTEGER, agent_id INTEGER, kernel_id INTEGER, queue_id INTEGER, "
                       "stream_id INTEGER, start BIGINT, \"end\" BIGINT, workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER, "
                       "grid_size_x INTEGER, grid_size_y INTEGER, grid_size_z INTEGER, event_id INTEGER",
    "memory_copy": "id INTEGER PRIMARY KEY, guid TEXT, pid INTEGER, tid INTEGER, start BIGINT, \"end\" BIGINT, name_id INTEGER, dst_agent_id INTEGER, "
                   "src_agent_id INTEGER, size INTEGER, stream_id INTEGER, event_id INTEGER",
    "memory_allocate": "id INTEGER PRIMARY KEY, guid TEXT, pid INTEGER, tid INTEGER, agent_id INTEGER, type TEXT, level TEXT, start BIGINT, "
                       "\"end\" BIGINT, address INTEGER, size INTEGER, event_id INTEGER",
}
RPD = {
    "rocpd_string": "id INTEGER PRIMARY KEY AUTOINCREMENT, string VARCHAR(4096) NOT NULL",
    "rocpd_api": "id INTEGER PRIMARY KEY AUTOINCREMENT, pid INTEGER NOT NULL, tid INTEGER NOT NULL, start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, "
                 "apiName_id INTEGER NOT NULL, args_id INTEGER NOT NULL",
    "rocpd_api_ops": "id INTEGER PRIMARY KEY AUTOINCREMENT, api_id INTEGER NOT NULL, op_id INTEGER NOT NULL",
    "rocpd_op": "id INTEGER PRIMARY KEY AUTOINCREMENT, gpuId INTEGER NOT NULL, queueId INTEGER NOT NULL, sequenceId INTEGER NOT NULL, "
                "completionSignal VARCHAR(18) NOT NULL, start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, description_id INTEGER NOT NULL, "
                "opType_id INTEGER NOT NULL",
}


class Tables:
    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.texts = {}

    def add(self, table: str, **values) -> None:
        names = ", ".join(f'"{n}"' for n in values)
        self.db.execute(f"INSERT INTO \"{table}\" ({names}) VALUES ({', '.join('?' * len(values))})", list(values.values()))

    def text(self, s: str, table: str) -> int:
        if (table, s) not in self.texts:
            self.texts[table, s] = len(self.texts) + 1
            self.add(table, id=self.texts[table, s], string=s)
        return self.texts[table, s]

    def close(self) -> None:
        self.db.commit()
        self.db.close()


def rocpd(path, processes: int = 2, rows: int = 20) -> None:
    w = Tables(path)
    for p in range(processes):
        one_process(w, p, f"_0198c0de_{p}", rows)
    view = "UNION ALL SELECT * FROM ".join(f"\"rocpd_kernel_dispatch_0198c0de_{p}\" " for p in range(processes))
    w.db.execute(f"CREATE VIEW rocpd_kernel_dispatch AS SELECT * FROM {view}")
    w.close()


def one_process(w: Tables, p: int, end: str, rows: int) -> None:
    for name, columns in ROCPD.items():
        w.db.execute(f'CREATE TABLE "rocpd_{name}{end}" ({columns})')

    def t(name: str) -> str:
        return f"rocpd_{name}{end}"

    def s(text: str) -> int:
        return w.text(text, t("string"))

    w.add(t("info_process"), id=1, pid=700 + p, command="python3 train.py")
    w.add(t("info_thread"), id=1, pid=1, tid=700 + p)
    for i, kind in enumerate(("CPU", "GPU", "GPU")):
        w.add(t("info_agent"), id=i, type=kind, absolute_index=i, type_index=max(0, i - 1), product_name=f"AMD Instinct MI300X {kind}")
    w.add(t("info_kernel_symbol"), id=5, kernel_name="_Z4gemmPf.kd", display_name="gemm(float*)")
    for k in range(rows):
        at, event = 10_000 + 1000 * k + p, 10 * k + 1
        for e, category in enumerate(("HIP_RUNTIME_API_EXT", "KERNEL_DISPATCH", "MEMORY_COPY", "MARKER_CORE_API", "HSA_CORE_API", "MEMORY_ALLOCATION")):
            w.add(t("event"), id=event + e, category_id=s(category), stack_id=event if e < 3 or e == 5 else event + e)
        here = dict(pid=1, tid=1)
        w.add(t("region"), start=at, end=at + 40, name_id=s("hipLaunchKernel"), event_id=event, **here)
        w.add(t("region"), start=at - 5, end=at + 900, name_id=s("step"), event_id=event + 3, **here)
        w.add(t("region"), start=at + 10, end=at + 20, name_id=s("hsa_signal_create"), event_id=event + 4, **here)
        w.add(t("kernel_dispatch"), agent_id=1 + p, kernel_id=5, queue_id=1, stream_id=3, start=at + 50, end=at + 350 + k, workgroup_size_x=64,
              workgroup_size_y=1, workgroup_size_z=1, grid_size_x=640, grid_size_y=2, grid_size_z=1, event_id=event + 1, **here)
        w.add(t("memory_copy"), start=at + 400 + k, end=at + 500 + k, name_id=s("MEMORY_COPY_HOST_TO_DEVICE"), dst_agent_id=1 + p, src_agent_id=0,
              size=4096, stream_id=3, event_id=event + 2, **here)
        w.add(t("memory_allocate"), agent_id=1 + p, type="ALLOC" if k % 2 == 0 else "FREE", level="REAL", start=at + 5, end=at + 6,
              address=(1 << 40) + k // 2 * 65536, size=1000 if k % 2 == 0 else 0, event_id=event + 5, **here)


def rpd(path, rows: int = 20) -> None:
    w = Tables(path)
    for name, columns in RPD.items():
        w.db.execute(f'CREATE TABLE "{name}" ({columns})')

    def s(text: str) -> int:
        return w.text(text, "rocpd_string")

    for k in range(rows):
        at, op = 5000 + 1000 * k, 2 * k + 1
        here = dict(pid=900, tid=901)
        w.add("rocpd_api", id=10 * k + 1, start=at, end=at + 30, apiName_id=s("hipLaunchKernel"), args_id=s("none"), **here)
        w.add("rocpd_api", id=10 * k + 2, start=at + 31, end=at + 60, apiName_id=s("hipMemcpyAsync"), args_id=s("none"), **here)
        w.add("rocpd_api", id=10 * k + 3, start=at - 3, end=at + 900, apiName_id=s("UserMarker"), args_id=s("forward"), **here)
        for op_id, api, start, kind, text in ((op, 1, 50, "KernelExecution", "gemm(float*)"), (op + 1, 2, 400, "CopyDeviceToHost", "none")):
            w.add("rocpd_op", id=op_id, gpuId=k % 2, queueId=0, sequenceId=k, completionSignal="", start=at + start, end=at + start + 100 + k,
                  description_id=s(text), opType_id=s(kind))
            w.add("rocpd_api_ops", api_id=10 * k + api, op_id=op_id)
    w.close()


# ---- reports ----

def report(*args) -> dict:
    p = subprocess.run([TIDEMARK, *map(str, args), "--json"], capture_output=True, text=True, timeout=120)
    assert p.returncode == 0, (args, p.stderr)
    return json.loads(p.stdout)


def sums(path) -> dict:
    rows = report("sql", path, "SELECT cat, name, count(*) AS n, sum(t1 - t0) AS ns FROM spans GROUP BY 1, 2")["rows"]
    return {(r["cat"], r["name"]): (r["n"], r["ns"]) for r in rows}


def check_rocpd(path) -> None:
    n, more = 40, 2 * sum(range(20))
    assert sums(path) == {("runtime", "hipLaunchKernel"): (n, 40 * n), ("user_annotation", "step"): (n, 905 * n),
                          ("driver", "hsa_signal_create"): (n, 10 * n), ("kernel", "gemm(float*)"): (n, 300 * n + more),
                          ("memcpy", "Memcpy HtoD (Host -> Device)"): (n, 100 * n)}, sums(path)
    info = report("info", path)
    assert [(d["device"], d["name"]) for d in info["devices"] if d["device"].startswith("hip")] == [(f"hip:{i}", "AMD Instinct MI300X GPU") for i in (0, 1)], info
    kernel = report("kernels", path)["kernels"][0]
    assert (kernel["grid"], kernel["block"], kernel["count"]) == ([10, 2, 1], [64, 1, 1], 40), kernel
    assert [d["totals"]["peak_bytes"] for d in report("memory", path)["devices"]] == [1000, 1000]
    hta = report("hta", path)["ranks"][0]
    assert hta["gpu_rows"] == hta["gpu_rows_linked_to_launch"] == 80, hta
    everything(path)


def check_rpd(path) -> None:
    n, more = 20, sum(range(20))
    assert sums(path) == {("runtime", "hipLaunchKernel"): (n, 30 * n), ("runtime", "hipMemcpyAsync"): (n, 29 * n),
                          ("user_annotation", "forward"): (n, 903 * n), ("kernel", "gemm(float*)"): (n, 100 * n + more),
                          ("memcpy", "Memcpy DtoH (Device -> Host)"): (n, 100 * n + more)}, sums(path)
    hta = report("hta", path)["ranks"][0]
    assert hta["gpu_rows"] == hta["gpu_rows_linked_to_launch"] == 40, hta
    everything(path)


def everything(path) -> None:
    assert report("critical-path", path)["found"]
    assert report("flame", path)["value_ns"] == report("diff", path, path)["metrics"]["kernel_time"]["a"]
    assert report("diff", path, path)["metrics"]["kernel_time"]["delta"] == 0


def damage(d: Path, path: Path) -> None:
    data = path.read_bytes()
    for at in range(0, len(data), 4999):
        bad = d / "bad.db"
        bad.write_bytes(data[:at] + bytes([data[at] ^ 0xff]) + data[at + 1:])
        p = subprocess.run([TIDEMARK, "info", bad, "--format", "rocpd"], capture_output=True, text=True, timeout=60)
        assert p.returncode in (0, 1) and (p.returncode == 0 or p.stderr.count("\n") == 1), (at, p.stderr)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        d = Path(name)
        rocpd(d / "run.db")
        rpd(d / "run.rpd")
        check_rocpd(d / "run.db")
        check_rpd(d / "run.rpd")
        damage(d, d / "run.db")
        damage(d, d / "run.rpd")
    for path in sys.argv[1:]:
        everything(path)


if __name__ == "__main__":
    main()
