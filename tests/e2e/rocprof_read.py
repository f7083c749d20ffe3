# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""rocprofv3's JSON: calls, launches, kernels, copies, allocations, markers of two processes. Files named in $TIDE_ROCPROF_JSON (the
public one is TraceLens' tests/rocprof/908_results.json.gz) have the sums that a few lines of Python find."""
import collections
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TIDEMARK = os.environ["TIDEMARK"]
HIP, MARKER, COPY, KERNEL, MEMORY = range(5)
STRINGS = [{"kind": "HIP_RUNTIME_API", "operations": ["hipNone", "hipLaunchKernel", "hipMemcpyAsync", "hipMalloc", "hipFree"]},
           {"kind": "MARKER_CORE_API", "operations": ["roctxMarkA", "roctxRangePushA"]},
           {"kind": "MEMORY_COPY", "operations": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_DEVICE"]},
           {"kind": "KERNEL_DISPATCH", "operations": ["NONE", "ENQUEUE", "COMPLETE"]},
           {"kind": "MEMORY_ALLOCATION", "operations": ["MEMORY_ALLOCATION_NONE", "MEMORY_ALLOCATION_ALLOCATE", "MEMORY_ALLOCATION_FREE"]}]


def ask(*words):
    p = subprocess.run([TIDEMARK, *map(str, words), "--json"], capture_output=True, check=False)
    assert p.returncode == 0, (words, p.stderr.decode())
    return json.loads(p.stdout)


def record(kind, operation, t0, t1, correlation, **more):
    return {"kind": kind, "operation": operation, "thread_id": 11, "correlation_id": {"internal": correlation, "external": 0},
            "start_timestamp": t0, "end_timestamp": t1, **more}


def handle(n):
    return {"handle": n}


def dispatch(t0, t1, correlation, kernel, agent, stream):
    return record(KERNEL, 2, t0, t1, correlation, stream_id=handle(stream), dispatch_info={
        "agent_id": handle(agent), "queue_id": handle(1), "kernel_id": kernel,
        "workgroup_size": {"x": 64, "y": 1, "z": 1}, "grid_size": {"x": 256, "y": 2, "z": 1}})


def process(pid, shift):
    agents = [{"id": handle(5), "type": 1, "name": "CPU", "logical_node_type_id": 0},
              {"id": handle(6), "type": 2, "name": "gfx950", "product_name": "MI350X", "logical_node_type_id": 0, "mem_banks": [{"size_in_bytes": 1 << 38}]},
              {"id": handle(7), "type": 2, "name": "gfx950", "product_name": "MI350X", "logical_node_type_id": 1}]
    records = {
        "kernel_dispatch": [dispatch(shift + 200, shift + 500, 1, 3, 6, 0), dispatch(shift + 600, shift + 700, 9, 4, 7, 2)],
        "memory_copy": [record(COPY, 1, shift + 520, shift + 560, 2, dst_agent_id=handle(6), src_agent_id=handle(5), bytes=4096, stream_id=handle(0))],
        "memory_allocation": [record(MEMORY, 1, shift + 20, shift + 30, 3, agent_id=handle(6), address={"value": 4096}, allocation_size=1 << 20),
                              record(MEMORY, 2, shift + 800, shift + 810, 4, agent_id=handle(6), address={"value": 4096}, allocation_size=0)],
        "hip_api": [record(HIP, 1, shift + 100, shift + 150, 1), record(HIP, 2, shift + 160, shift + 170, 2), record(HIP, 3, shift + 10, shift + 40, 3),
                    record(HIP, 4, shift + 790, shift + 820, 4), record(HIP, 1, shift + 50, shift + 20, 7)],
        "marker_api": [record(MARKER, 1, shift, shift + 900, 8)]}
    return {"metadata": {"pid": pid, "command": ["/usr/bin/app", "-x"]}, "agents": agents,
            "strings": {"buffer_records": STRINGS, "marker_api": [{"key": 8, "value": "one \"step\""}]},
            "kernel_symbols": [{"kernel_id": 3, "formatted_kernel_name": "gemm<float>", "kernel_name": "_Z"}, {"kernel_id": 4, "formatted_kernel_name": "", "kernel_name": "plain.kd"}],
            "buffer_records": records}


def made():
    return {"rocprofiler-sdk-tool": [process(100, 1000), process(200, 5000)]}


def read_made(tmp):
    path = tmp / "results.json.gz"
    path.write_bytes(gzip.compress(json.dumps(made()).encode()))
    rows = {(k["name"], k["type"], k["count"], k["sum_ns"]) for k in ask("kernels", "--top", "0", path)["kernels"]}
    assert rows == {("gemm<float>", "compute", 2, 600), ("plain.kd", "compute", 2, 200), ("Memcpy HtoD (Host -> Device)", "memory", 2, 80)}, rows
    info = ask("info", path)
    assert sorted((d["device"], d["name"]) for d in info["devices"] if d["device"] != "cpu") == [("hip:0", "MI350X"), ("hip:1", "MI350X")], info["devices"]
    assert [p["pid"] for p in info["processes"]] == [100, 200] and info["processes"][0]["command"] == "/usr/bin/app", info["processes"]
    assert info["losses"] == {"bad_rows": 2}, info["losses"]
    memory = {d["device"]: d["totals"] for d in ask("memory", path)["devices"]}
    assert memory["hip:0"]["allocs"] == 2 and memory["hip:0"]["frees"] == 2 and memory["hip:0"]["peak_bytes"] == 1 << 20, memory
    back = tmp / "back.json"
    subprocess.run([TIDEMARK, "export", str(path), "-o", str(back)], capture_output=True, check=True)
    events = json.loads(back.read_text())["traceEvents"]
    links = collections.Counter(e["args"].get("correlation") for e in events if e["ph"] == "X" and e["cat"] in ("kernel", "gpu_memcpy", "cuda_runtime"))
    assert {e["name"] for e in events if e["ph"] == "X" and e["cat"] == "user_annotation"} == {'one "step"'}
    assert sorted(n for n in links.values() if n > 1) == [2, 2, 2, 2], links


def read_real(path):
    doc = json.load(gzip.open(path) if path.endswith(".gz") else open(path, encoding="utf-8"))
    want = collections.defaultdict(lambda: [0, 0])
    for p in doc["rocprofiler-sdk-tool"]:
        names = {k["kernel_id"]: k["formatted_kernel_name"] or k["kernel_name"] for k in p["kernel_symbols"]}
        for r in p["buffer_records"]["kernel_dispatch"]:
            row = want[names[r["dispatch_info"]["kernel_id"]]]
            row[0] += 1
            row[1] += r["end_timestamp"] - r["start_timestamp"]
    got = {k["name"]: [k["count"], k["sum_ns"]] for k in ask("kernels", "--top", "0", path)["kernels"]}
    assert got == dict(want)
    print(f"{path}: {sum(n for n, _ in got.values()):,} kernels of {len(got)} names, sums equal")


def damage(tmp):
    path, text = tmp / "bad.json", json.dumps(made())
    for bad in (text[:-5], text[:200], text.replace("{", "[", 9), '{"rocprofiler-sdk-tool": [{}]}', '{"rocprofiler-sdk-tool": 5}'):
        path.write_text(bad)
        p = subprocess.run([TIDEMARK, "info", str(path)], capture_output=True, check=False, text=True)
        assert p.returncode and p.stderr.count("\n") == 1, (bad[:60], p.stderr)


def main():
    with tempfile.TemporaryDirectory() as name:
        read_made(pathlib.Path(name))
        damage(pathlib.Path(name))
    for path in os.environ.get("TIDE_ROCPROF_JSON", "").split():
        read_real(path)
    if len(sys.argv) > 1:
        (pathlib.Path(sys.argv[1]) / "made").write_text(json.dumps(made(), separators=(",", ":")))
    print("rocprofv3's JSON is read")


main()
