#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Exports of Nsight Systems: reports against plain SQL on the same file, and hostile databases.

Arguments: further exports to compare. Those in shared/data/nsys are compared where they are.
"""
import collections
import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import nsys_files

TIDEMARK = os.environ.get("TIDEMARK", str(ROOT / "build/src/tidemark"))
SAMPLES = Path(os.environ.get("TIDE_SHARED", ROOT / "../shared")) / "data/nsys"
DEVICE = {"kernel": ["CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"], "memcpy": ["CUPTI_ACTIVITY_KIND_MEMCPY"],
          "memset": ["CUPTI_ACTIVITY_KIND_MEMSET"]}
HOST = {"runtime": ["CUPTI_ACTIVITY_KIND_RUNTIME"], "user_annotation": ["NVTX_EVENTS"], "other": ["OSRT_API"],
        "overhead": ["PROFILER_OVERHEAD", "CUPTI_ACTIVITY_KIND_OVERHEAD"], "sync": ["CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"]}


def run(*args, status: int = 0) -> str:
    p = subprocess.run([TIDEMARK, *map(str, args)], capture_output=True, text=True, timeout=120)
    assert p.returncode == status, (args, p.returncode, p.stderr[-500:])
    return p.stdout if status == 0 else p.stderr


def report(*args) -> dict:
    return json.loads(run(*args, "--json"))


class Oracle:
    """What plain SQL says about a file."""

    def __init__(self, path):
        self.db = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        self.tables = {r[0] for r in self.db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def rows(self, sql: str, table: str) -> list:
        return self.db.execute(sql).fetchall() if table in self.tables else []

    def columns(self, table: str) -> set:
        return {r[1] for r in self.db.execute(f"PRAGMA table_info({table})")}

    def times(self, tables: list) -> list:
        out = []
        for t in tables:
            last = "SELECT max(e) FROM (" + " UNION ALL ".join(
                f'SELECT max("end") AS e FROM {x}' for x in sorted(self.tables) if x in sum((*DEVICE.values(), *HOST.values()), [])) + ")"
            end = f'coalesce("end", ({last}))'
            where = " WHERE eventType IN (59, 60, 70, 71)" if t == "NVTX_EVENTS" else ""
            out += self.rows(f"SELECT start, {end} FROM {t}{where}", t)
        return out

    def kernels(self) -> dict:
        sums = collections.Counter()
        k = "CUPTI_ACTIVITY_KIND_KERNEL"
        for name, n, ns in self.rows(f'SELECT s.value, count(*), sum("end" - start) FROM {k} JOIN StringIds s ON s.id = demangledName '
                                     "GROUP BY s.value", k):
            sums[name] = (n, ns)
        return sums


def union(spans: list) -> int:
    total, until = 0, -1 << 62
    for a, b in sorted(spans):
        total += max(0, b - max(a, until))
        until = max(until, b)
    return total


def compare(path: Path) -> None:
    o = Oracle(path)
    ours = {r["cat"]: (r["n"], r["ns"]) for r in
            report("sql", path, "SELECT cat, count(*) AS n, sum(t1 - t0) AS ns FROM spans GROUP BY cat").get("rows", [])}
    for cat, tables in (DEVICE | HOST).items():
        want = o.times(tables)
        also = {"runtime": ["driver"], "user_annotation": ["op"]}.get(cat, [])
        got = [ours.get(c, (0, 0)) for c in [cat, *also]]
        assert (sum(g[0] for g in got), sum(g[1] for g in got)) == (len(want), sum(b - a for a, b in want)), (path, cat, got)
    device = o.times(sum(DEVICE.values(), []))
    assert report("timeline", path)["summary"]["gpu_active_time_ns"] == union(device), path
    if not device:
        return
    hta = report("hta", path)["ranks"][0]
    assert (hta["gpu_rows"], hta["busy_ns"]) == (len(device), union(device)), path
    got = {k["name"]: (k["count"], k["sum_ns"]) for k in report("kernels", path, "--top", "0")["kernels"]}
    for name, want in o.kernels().items():
        assert got[name] == want, (path, name, got.get(name), want)
    assert report("flame", path)["value_ns"] == sum(b - a for a, b in device), path
    launches = sum(o.rows(f"SELECT count(*) FROM {t} k WHERE correlationId > 0 AND EXISTS (SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME r "
                          "WHERE r.correlationId = k.correlationId" +
                          (" AND r.globalTid >> 24 = k.globalPid >> 24)" if "globalPid" in o.columns(t) else ")"), t)[0][0]
                   for t in sum(DEVICE.values(), []) if t in o.tables)
    assert hta["gpu_rows_linked_to_launch"] == launches, (path, hta["gpu_rows_linked_to_launch"], launches)
    assert report("critical-path", path)["found"], path
    same = report("diff", path, path)["metrics"]
    assert same["gpu_time"]["delta"] == 0 and same["kernel_time"]["a"] == sum(b - a for a, b in device), path


def memory(path: Path) -> None:
    o = Oracle(path)
    live = collections.defaultdict(dict)
    peak = collections.Counter()
    for pid, address, n, frees in o.rows("SELECT globalPid, address, bytes, memoryOperationType FROM CUDA_GPU_MEMORY_USAGE_EVENTS "
                                         "ORDER BY start, rowid", "CUDA_GPU_MEMORY_USAGE_EVENTS"):
        if frees:
            del live[pid][address]
        else:
            live[pid][address] = n
        peak[pid] = max(peak[pid], sum(live[pid].values()))
    got = [d["totals"] for d in report("memory", path)["devices"]]
    assert [(t["live_bytes"], t["peak_bytes"]) for t in got] == [(sum(live[p].values()), peak[p]) for p in sorted(peak)], got
    by = report("sql", path, "SELECT s.name AS name, count(*) AS n FROM allocs a JOIN spans s ON s.id = a.span GROUP BY 1")["rows"]
    assert {r["name"] for r in by} <= {"cudaLaunchKernel", "cuLaunchKernel"} and sum(r["n"] for r in by) == 16, by


def details(path: Path) -> None:
    """What sums do not show."""
    names = {r["name"] for r in report("sql", path, "SELECT DISTINCT name FROM spans")["rows"]}
    for name in ("cudaLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync", "aten::linear", "Memcpy HtoD (Pageable -> Device)",
                 "Memcpy DtoH (Pinned -> Device)", "Memset (Device)", "Stream Wait Event", "never ends"):
        assert name in names, name
    info = report("info", path)
    assert info["start_wall_ns"] == nsys_files.WALL + 1000, info["start_wall_ns"]
    kernel = report("kernels", path)["kernels"][0]
    assert (kernel["grid"], kernel["block"], kernel["registers_per_thread"], kernel["shared_memory_bytes"]) == ([4, 1, 1], [256, 1, 1], 32, 1024)
    waits = report("sql", path, "SELECT count(*) AS n FROM attrs WHERE key = 'wait_on_stream'")["rows"]
    assert waits[0]["n"] > 0


def same_program(d: Path, old: Path, new: Path) -> None:
    """The schemas have the same program but for the graphs and allocations that 2021 lacks."""
    query = "SELECT name, count(*) AS n, sum(t1 - t0) AS ns FROM spans WHERE name NOT LIKE 'CUDA graph%' GROUP BY 1 ORDER BY 1"
    assert report("sql", old, query)["rows"] == report("sql", new, query)["rows"]
    packed = d / "packed.sqlite.gz"
    packed.write_bytes(gzip.compress(new.read_bytes(), 1))
    assert report("sql", packed, query)["rows"] == report("sql", new, query)["rows"]
    assert run("hta", packed).split("\n")[3:] == run("hta", new).split("\n")[3:]


# ---- hostile files ----

def change(d: Path, name: str, statements: list, source: Path) -> Path:
    path = d / name
    shutil.copy(source, path)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA writable_schema=ON")
    for s in statements:
        db.execute(s)
    db.close()
    return path


def hostile(d: Path, good: Path) -> None:
    kernel = "CUPTI_ACTIVITY_KIND_KERNEL"
    rows = report("kernels", good)["rows"]
    n = Oracle(good).rows(f"SELECT count(*) FROM {kernel}", kernel)[0][0]
    loop = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
    cases = {  # statements, device rows that remain
        "view": ([f"ALTER TABLE {kernel} RENAME TO k", f"CREATE VIEW {kernel} AS {loop}"], rows - n),
        "trigger": ([f"CREATE TRIGGER t AFTER INSERT ON StringIds BEGIN DELETE FROM {kernel}; END"], rows),
        "types": ([f"UPDATE {kernel} SET start = 'soon', \"end\" = x'00' WHERE rowid <= 3"], rows - 3),
        "times": ([f"UPDATE {kernel} SET \"end\" = start - 1 WHERE rowid <= 2", f"UPDATE {kernel} SET start = -9223372036854775808 WHERE "
                   "rowid = 3"], rows - 3),
        "huge": ([f"UPDATE {kernel} SET streamId = 9223372036854775807, correlationId = -9223372036854775808, globalPid = -1 WHERE rowid = 1"],
                 rows),
        "texts": (["UPDATE StringIds SET value = zeroblob(100) WHERE rowid % 2"], rows),
        "computed": ([f"ALTER TABLE {kernel} RENAME COLUMN streamId TO s",
                      f"ALTER TABLE {kernel} ADD COLUMN streamId AS (length(hex(zeroblob(400000000))))"], rows - n),
        "generated": ([f"ALTER TABLE {kernel} ADD COLUMN graphId2 AS (hex(zeroblob(400000000)))"], rows),
    }
    for name, (statements, left) in cases.items():
        path = change(d, name + ".sqlite", statements, good)
        assert report("kernels", path)["rows"] == left, name
    assert "rows of the database with impossible times" in run("info", d / "types.sqlite")
    broken(d, good)


def broken(d: Path, good: Path) -> None:
    data = good.read_bytes()
    for name, content, line in (("cut", data[:-4096], "the database is cut off"), ("head", data[:60], "the database ends in its header"),
                                ("page", data[:16] + b"\0\3" + data[18:], "its pages have 3 bytes")):
        path = d / f"{name}.sqlite"
        path.write_bytes(content)
        assert line in run("info", path, "--format", "nsys", status=1), name
    for at in range(0, len(data), 997):  # a byte of every few hundred: no crash, one line
        path = d / "damaged.sqlite"
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:])
        p = subprocess.run([TIDEMARK, "info", path, "--format", "nsys"], capture_output=True, text=True, timeout=60)
        assert p.returncode in (0, 1) and (p.returncode == 0 or p.stderr.count("\n") == 1), (at, p.stderr)
    endless(d, data)
    (d / "x.sqlite-wal").write_bytes(b"x" * 64)
    (d / "x.sqlite").write_bytes(data)
    assert "write-ahead log" in run("info", d / "x.sqlite", status=1)
    before = sorted(p.name for p in d.iterdir())
    run("kernels", good)
    assert before == sorted(p.name for p in d.iterdir())  # nothing is made beside the file
    (d / "x.nsys-rep").write_bytes(b"\x0a\x0b\x0c\x0d" * 50)
    assert "nsys export --type sqlite" in run("info", d / "x.nsys-rep", status=1)
    sqlite3.connect(d / "other.sqlite").execute("CREATE TABLE t (a)").connection.close()
    assert "neither an export of Nsight Systems" in run("info", d / "other.sqlite", status=1)


def endless(d: Path, data: bytes) -> None:
    """A tree of pages where every child is the same page has more rows than the file can hold."""
    db = sqlite3.connect(d / "big.sqlite")
    db.execute("PRAGMA page_size=512")
    db.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
    db.execute("CREATE TABLE NVTX_EVENTS (start INTEGER, \"end\" INTEGER, eventType INTEGER, globalTid INTEGER)")
    db.executemany("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, 1)", ((i, i + 1) for i in range(20000)))
    db.commit()
    root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'NVTX_EVENTS'").fetchone()[0]
    db.close()
    b = bytearray((d / "big.sqlite").read_bytes())

    def children(page: int) -> list:
        at = (page - 1) * 512
        if b[at] != 5:
            return []
        cells = int.from_bytes(b[at + 3:at + 5], "big")
        return [at + int.from_bytes(b[at + 12 + 2 * i:at + 14 + 2 * i], "big") for i in range(cells)] + [at + 8]

    def first(place: int) -> int:
        return int.from_bytes(b[place:place + 4], "big")

    page = root
    while children(page):
        places = children(page)
        for p in places:
            b[p:p + 4] = first(places[0]).to_bytes(4, "big")
        page = first(places[0])
    (d / "endless.sqlite").write_bytes(b)
    p = subprocess.run([TIDEMARK, "info", d / "endless.sqlite", "--format", "nsys"], capture_output=True, text=True, timeout=60)
    assert p.returncode in (0, 1), p.stderr


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        d = Path(name)
        old, new = d / "old.sqlite", d / "new.sqlite"
        nsys_files.write(old, 2021)
        nsys_files.write(new, 2025)
        for path in [old, new, *map(Path, sys.argv[1:]), *sorted(SAMPLES.glob("*.sqlite"))]:
            compare(path)
        memory(new)
        details(new)
        same_program(d, old, new)
        hostile(d, new)


if __name__ == "__main__":
    main()
