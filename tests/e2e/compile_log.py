#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark compile --json` against a slow, obvious reading of the same TORCH_TRACE logs.

Arguments: further logs or folders to compare. Logs that are cut anywhere, or damaged, never crash it.
"""
import collections
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TIDEMARK = os.environ.get("TIDEMARK", str(ROOT / "build/src/tidemark"))
DATA = ROOT / "tests/data/torchtrace"


def read(path: Path) -> str:
    raw = path.read_bytes()
    return (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode(errors="replace")


def records(text: str):
    now = None
    for line in text.replace("\r\n", "\n").split("\n"):
        if line.startswith("\t") and now:
            now[1].append(line[1:])
            continue
        if now:
            yield now[0], "\n".join(now[1])
        m = re.match(r"[VDIWEC]\d{4} [\d:.]+ \d+ ?[^\]]*\] (\{.*\})$", line)
        now = (json.loads(m[1]), []) if m else None
    if now:
        yield now[0], "\n".join(now[1])


def oracle(paths: list) -> dict:
    want = collections.Counter()
    stages = collections.Counter()
    places = set()
    ns = 0
    for path in paths:
        open_stages = []
        for d, payload in records(read(path)):
            if "chromium_event" in d:
                e = json.loads(payload)
                if e["ph"] == "B":
                    open_stages.append((e["name"], e["ts"]))
                elif e["ph"] == "E":
                    at = max(i for i, x in enumerate(open_stages) if x[0] == e["name"])
                    if not any(x[0] == e["name"] for x in open_stages[:at]):
                        stages[e["name"]] += round((e["ts"] - open_stages[at][1]) * 1000)
                    del open_stages[at:]
                elif e["name"].startswith("autograd_cache_"):
                    want["autograd." + e["name"][15:]] += 1
            name = d.get("artifact", {}).get("name", "")
            if name == "dynamo_graph_break_reason":
                want["graph_breaks"] += 1
                places.add(payload.split("\n")[0])
            if name == "recompile_reasons":
                want["recompiles"] += 1
            if re.fullmatch("fx_graph_cache_(hit|miss|bypass)", name):
                want["fx." + name[15:]] += 1
            for key in ("compilation_metrics", "bwd_compilation_metrics"):
                if key in d:
                    m = d[key]
                    want["compiles"] += 1
                    want["failed"] += bool(m.get("fail_type"))
                    us = m.get("dynamo_cumulative_compile_time_us") or m.get("backward_cumulative_compile_time_us")
                    ns += (us * 1000 if us else round((m.get("entire_frame_compile_time_s") or 0) * 1e6) * 1000)
            if "inductor_output_code" in d:
                want["modules"] += 1
                code = re.sub(r"'''.*?'''", "''", payload, flags=re.S)
                code = re.split(r"^ *def (?:get_args|benchmark_compiled_module)\(", code, flags=re.M)[0]
                want["kernels"] += len(re.findall(r"^\w+ = async_compile\.\w+\(", code, flags=re.M))
    return {"counts": want, "stages": stages, "places": len(places), "ns": ns}


def compare(where: Path) -> None:
    paths = sorted(p for p in where.iterdir() if read(p)[:1] == "V") if where.is_dir() else [where]
    want = oracle(paths)
    c = want["counts"]
    got = json.loads(subprocess.run([TIDEMARK, "compile", str(where), "--json"], check=True, capture_output=True).stdout)
    pairs = [("graph_breaks", c["graph_breaks"]), ("recompiles", c["recompiles"]), ("failed", c["failed"]), ("modules", c["modules"]),
             ("compile_ns", want["ns"]), ("graph_break_places", want["places"])]
    for key, value in pairs:
        assert got[key] == value, (where, key, got[key], value)
    assert got["compile_count"] - got["unfinished"] == c["compiles"], (where, got["compile_count"], c["compiles"])
    assert (got["kernels"] or 0) == c["kernels"], (where, got["kernels"], c["kernels"])
    for cache, short in (("fx_graph", "fx"), ("autograd", "autograd")):
        for state in ("hit", "miss", "bypass"):
            assert got["caches"][cache][state] == c[f"{short}.{state}"], (where, cache, state)
    stages = {s["stage"]: s["wall_ns"] for s in got["stages"]}
    for name, ns in want["stages"].items():
        assert abs(stages[name] - ns) <= 500 * 40, (where, name, stages[name], ns)  # a double holds µs to a quarter
    print(f"{where.name}: {got['compile_count']} compiles, {got['graph_breaks']} breaks: as the slow reading")


def rude(log: Path) -> None:
    """A log truncated or damaged anywhere gives one error line or a report, never a signal."""
    raw = read(log).encode()
    with tempfile.TemporaryDirectory() as folder:
        bad = Path(folder) / "bad.log"
        for i in range(60):
            cut = len(raw) * i // 60
            for data in (raw[:cut], raw[:cut] + b"\x00\xff\"{[" + raw[cut + 7:]):
                bad.write_bytes(data)
                done = subprocess.run([TIDEMARK, "compile", "--json", str(bad)], capture_output=True)
                assert done.returncode in (0, 1), (cut, done)
                if done.returncode:
                    assert done.stderr.count(b"\n") == 1, done.stderr
                else:
                    json.loads(done.stdout)


def known() -> None:
    """Checks the content of the two hand-made ranks."""
    got = json.loads(subprocess.run([TIDEMARK, "compile", str(DATA / "job"), "--json"], check=True, capture_output=True).stdout)
    assert got["compile_count"] == 8 and got["unfinished"] == 0, got["compile_count"]
    assert got["cudagraph_skips"] == 2 and got["failed"] == 1
    # 5 forward graphs of 3 operators, each one kernel call and one library call
    assert got["ops_before_fusion"] == 15 and got["kernel_calls"] == 5 and got["library_calls"] == 5
    assert got["fusion_ratio"] == 1.5
    backward = [u for u in got["compiles"] if u["direction"] == "backward"]
    assert [(u["function"], u["total_ns"], u["kernels"]) for u in backward] == [("step", 777000, 1)] * 2
    reasons = {r["reason"]: (r["count"], r["total_ns"]) for r in got["recompiles_list"]}
    assert reasons == {"0/0: tensor 'x' size mismatch at index 0. expected 1, actual 2": (2, 12012000),
                       "0/1: tensor 'x' size mismatch at index 0. expected 2, actual 3": (2, 12014000)}, reasons


def main() -> None:
    for where in [DATA / "gpt.log.gz", DATA / "job", *map(Path, sys.argv[1:])]:
        compare(where)
    known()
    rude(DATA / "job" / "dedicated_log_torch_trace_rank_1_a.log")


main()
