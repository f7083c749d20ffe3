# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A Chrome export and a Perfetto export read back give the same reports as the original trace.

Compares the JSON of all commands for the traces of tests/data, those of $TIDE_SHARED/data if it exists, and small ones made here
with data that is hard to preserve: rows that wait for the device, spans that cross, frees by another thread, several kinds of
devices, async events, kernels whose launch was not recorded. Only positions in the file and the order of lanes may differ;
reports that need the raw microseconds (--hta-compat) are left out."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from extent import ALL, LARGE

TIDEMARK = os.environ["TIDEMARK"]
OURS = pathlib.Path(__file__).parents[1] / "data"
DATA = pathlib.Path(os.environ.get("TIDE_SHARED", "")) / "data"
QUESTIONS = ["info", "hta", "kernels", "kernels --by op", "timeline", "flame --kind gpu",
             "flame --kind cpu --max-depth 400", "flame --kind memory", "ops", "critical-path", "memory",
             "peak", "peak --group-by role", "phases", "leaks"]
# Places in the file and in memory, names of files; lists of the trace's own metadata are not kept.
FREE = {"trace", "file", "format", "trace_file", "model_bytes", "events", "notes", "path_events", "tables", "command",
        "lane", "name_of_lane", "distributed.pg_config", "kineto.events", "kineto.baseTimeNanoseconds",
        "kineto.displayTimeUnit", "kineto.schemaVersion", "kineto.frees_of_earlier_memory",
        "start_wall_ns"}


def ask(question, path):
    p = subprocess.run([TIDEMARK, *question.split(), "--json", str(path)], capture_output=True, check=False)
    return plain(json.loads(p.stdout)) if p.returncode == 0 else p.stderr.decode().replace(str(path), "FILE")


def plain(v):
    if isinstance(v, list):
        return [plain(x) for x in v]
    if not isinstance(v, dict):
        return v
    out = {k: plain(x) for k, x in v.items() if k not in FREE}
    for lane in out.get("lanes", []):
        lane.pop("name", None)
    for key in ("lanes", "top"):  # the order of equals is that of the file
        if isinstance(out.get(key), list):
            out[key].sort(key=lambda x: json.dumps(x, sort_keys=True))
    out.get("facts", {}).pop("loss.flows_unmatched", None)  # ends of flows without a span are no more
    out.get("losses", {}).pop("flows_unmatched", None)
    return out


def first_difference(a, b, at=""):
    if isinstance(a, dict) and isinstance(b, dict):
        for k in list(a) + [k for k in b if k not in a]:
            d = first_difference(a.get(k), b.get(k), f"{at}.{k}")
            if d:
                return d
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b)):
            d = first_difference(x, y, f"{at}[{i}]")
            if d:
                return d
    elif a != b:
        return f"{at}: {str(a)[:80]} became {str(b)[:80]}"
    return None


def span(cat, name, pid, tid, ts, dur, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def move(tid, ts, size, addr, kind, device, total):
    return {"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event", "pid": 9, "tid": tid, "ts": ts,
            "args": {"Bytes": size, "Addr": addr, "Device Type": kind, "Device Id": device,
                     "Total Allocated": total, "Total Reserved": 4096}}


def waits():
    """One stream waits for an event of the other, the host for both."""
    e = [span("cpu_op", "step", 9, 9, 0, 100)]
    for i, (stream, ts) in enumerate(((7, 5), (20, 15))):
        e += [span("cuda_runtime", "cudaLaunchKernel", 9, 9, ts, 2, correlation=100 + i),
              span("kernel", f"k{i}", 0, stream, ts + 5, 20, device=0, stream=stream, correlation=100 + i)]
    e += [span("cuda_runtime", "cudaEventRecord", 9, 9, 10, 1, correlation=110),
          span("cuda_runtime", "cudaStreamWaitEvent", 9, 9, 12, 1, correlation=111),
          span("cuda_sync", "Stream Wait Event", 0, 20, 12, 1, device=0, stream=20, correlation=111,
               cuda_sync_kind="Stream Wait Event", wait_on_stream=7, wait_on_cuda_event_id=3,
               wait_on_cuda_event_record_corr_id=110),
          span("cuda_runtime", "cudaDeviceSynchronize", 9, 9, 22, 20, correlation=112),
          span("cuda_sync", "Context Sync", 0, -1, 23, 18, device=0, stream=4294967295, correlation=112,
               cuda_sync_kind="Context Sync"),
          span("kernel", "lost launch", 0, 7, 60, 5, device=0, stream=7, correlation=999),
          span("cpu_op", "named", 9, 9, 50, 8, **{"External id": 77}),
          span("kernel", "named by id", 0, 7, 70, 5, device=0, stream=7, correlation=998,
               **{"External id": 77})]
    return {"traceEvents": e}


def crossing():
    """Spans that cross on a thread; a free by another thread, one outside any op, one moved away."""
    e = [span("python_function", "f", 9, 9, 0, 50), span("cpu_op", "late", 9, 9, 30, 40),
         span("cpu_op", "inner", 9, 9, 60, 5), span("cpu_op", "backward", 9, 10, 20, 60),
         span("user_annotation", "all", 9, 9, 0, 200), span("user_annotation", "other", 9, 11, 0, 200)]
    e += [move(9, 10, 512, 4096, 1, 0, 512), move(9, 62, 1024, 8192, 1, 0, 1536),
          move(10, 70, -512, 4096, 1, 0, 1024), move(10, 90, -1024, 8192, 1, 0, 0)]
    return {"traceEvents": e}


def devices():
    """An XPU's kernels and memory, and two devices with the same number that only Tidemark's files distinguish."""
    e = [span("cpu_op", "aten::mm", 9, 9, 0, 50), span("kernel", "k", 0, 7, 5, 9, device=0, stream=7),
         span("kernel", "t", 4000, 7, 5, 9, device=4000, stream=7), move(9, 10, 512, 4096, 12, 0, 512),
         move(9, 11, 1024, 8192, 20, 4000, 1024)]
    return {"deviceProperties": [{"id": 0, "name": "Max 1550"},
                                 {"id": 4000, "name": "n300", "tidemark_device": "tt:0"}], "traceEvents": e}


def groups():
    e = [span("cpu_op", "op", 9, 9, 0, 50)]
    for i, (t0, t1) in enumerate(((1, 30), (10, 60))):
        e += [{"ph": p, "cat": "requests", "id": i, "name": f"r{i}", "pid": 9, "tid": 9, "ts": t}
              for p, t in (("b", t0), ("e", t1))]
    return {"traceEvents": e}


def marks():
    """Phases and steps, and what the recording had lost, as an export of a recording has them."""
    e = [span("cpu_op", "op", 9, 9, 0, 5)]
    for i in range(6):
        e += [{"ph": "i", "s": "p", "cat": "step", "name": "step", "pid": 9, "tid": 9, "ts": 10 * i + 5,
               "args": {"value": i, "tidemark_mark": 3}}, move(9, 10 * i + 7, 512, 4096 * (i + 1), 1, 0, 512 * (i + 1))]
    e += [{"ph": "i", "s": "p", "cat": "phase", "name": n, "pid": 9, "tid": 9, "ts": t,
           "args": {"value": 0, "tidemark_mark": 1}} for n, t in (("FORWARD", 30), ("BACKWARD", 70))]
    return {"tidemark": {"cut_spans": 0, "loss.ring_full": 3}, "traceEvents": e}


def xla():
    """A GPU and a TPU as XLA's profiler writes them: no categories, devices are processes."""
    def name(pid, what, text, tid=0):
        return {"ph": "M", "name": f"{what}_name", "pid": pid, "tid": tid, "args": {"name": text}}

    def row(pid, tid, text, ts, dur, **args):
        return {"ph": "X", "name": text, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}
    e = [name(701, "process", "/host:CPU"), name(701, "thread", "python", 9), name(1, "process", "/device:GPU:0"),
         name(1, "thread", "Stream #14(Kernel)", 3), name(1, "thread", "XLA Ops - from #14", 4),
         name(2, "process", "/device:TPU:0"), name(2, "thread", "XLA Modules", 1), name(2, "thread", "XLA Ops", 2),
         name(2, "thread", "Async XLA Ops", 3)]
    e += [row(701, 9, "cuLaunchKernel", 0, 3, correlation_id="7"), row(1, 3, "gemm", 5, 10, correlation_id="7"),
          row(1, 3, "MemcpyD2H", 20, 5, memcpy_details="kind:d2h size:4096 dest:0 async:1"), row(1, 4, "dot.1", 5, 10),
          row(2, 1, "jit_f(1)", 10, 40), row(2, 2, "while.3", 10, 30), row(2, 2, "fusion.1", 11, 10),
          row(2, 2, "all-reduce.2", 22, 8), row(2, 3, "copy-start.4", 12, 20)]
    return {"displayTimeUnit": "ns", "traceEvents": e + [{}]}


def windows():
    """Rows of the profiler's own window: spans of no thread, in viewers a track of their own."""
    rows = [span("cpu_op", "a", 1, 2, 10, 20)]
    for i, args in enumerate(({"Op count": 41}, {})):
        rows.append({"ph": "X", "cat": "Trace", "pid": "Spans", "tid": "PyTorch Profiler", "ts": 5 + i, "dur": 30.5, "name": f"PyTorch Profiler ({i})", "args": args})
    return {"traceEvents": rows}


def same_windows(tmp):
    want = [(f"PyTorch Profiler ({i})", args) for i, args in enumerate(({"Op count": 41}, None))]
    for back in (tmp / "rows.json", tmp / "rows.pftrace"):
        subprocess.run([TIDEMARK, "export", str(tmp / "windows.json"), "-o", str(back)], capture_output=True, check=True)
        again = subprocess.run([TIDEMARK, "export", str(back), "--to", "chrome"], capture_output=True, check=True).stdout
        got = [(e["name"], e.get("args")) for e in json.loads(again)["traceEvents"] if e.get("cat") == "Trace"]
        assert got == want, (back.name, got)
    assert b"PyTorch Profiler (0)" in back.read_bytes(), "the row is a slice, not only beside them"


def names_of_devices(path):
    return sorted(d["device"] for d in ask("info", path)["devices"])


def as_snapshot(path, tmp):
    """A torch snapshot of the trace has the same devices, totals and sampled reserved bytes. Returns whether there was memory to compare."""
    keys = ("live_bytes", "live_count", "peak_bytes", "peak_count", "allocs", "frees", "alloc_bytes", "free_bytes", "reserved_bytes", "reserved_peak_bytes", "reserved_source")
    back = tmp / "back.pickle"
    if subprocess.run([TIDEMARK, "export", str(path), "-o", str(back)], capture_output=True, check=False).returncode:
        return False
    want, got = ({d["device"]: {k: d["totals"][k] for k in keys} for d in ask("memory", p)["devices"] if d["totals"]["allocs"]} for p in (path, back))
    assert want == got, (path, want, got)
    return any(t["reserved_source"] == "samples" for t in want.values())


def main():
    traces = sorted(OURS.glob("kineto_*.json.gz")) + sorted(DATA.glob("hta/**/*.json.gz")) + \
        sorted(DATA.glob("tracelens/**/*.json.gz"))
    traces = [path for path in traces if ALL or path.stat().st_size <= LARGE]
    sampled = 0
    with tempfile.TemporaryDirectory() as name:
        tmp = pathlib.Path(name)
        for make in (waits, crossing, devices, groups, marks, xla, windows):
            traces.append(tmp / f"{make.__name__}.json")
            traces[-1].write_text(json.dumps(make()))
        same_windows(tmp)
        assert names_of_devices(tmp / "devices.json") == ["tt:0", "xpu:0"]
        assert names_of_devices(tmp / "xla.json") == ["cuda:0", "tpu:0"]
        rows = {(k["name"], k["type"], k["sum_ns"]) for k in ask("kernels --top 0", tmp / "xla.json")["kernels"]}
        assert rows == {("gemm", "compute", 10000), ("MemcpyD2H", "memory", 5000), ("fusion.1", "compute", 10000),
                        ("all-reduce.2", "communication", 8000), ("copy-start.4", "memory", 20000)}, rows
        assert len(ask("hta", tmp / "devices.json")["ranks"][0]["streams"]) == 2, "a stream 7 of each"
        assert [p["name"] for p in ask("phases", tmp / "marks.json")["phases"]][:2] == ["FORWARD", "BACKWARD"]
        assert ask("leaks", tmp / "marks.json")["steps_from"] == "step marks"
        assert ask("ops", tmp / "marks.json")["losses"]["ring_full"] == 3
        for path in traces:
            if sys.argv[1:] and path.name not in sys.argv[1:]:
                continue
            backs = [tmp / "back.json", tmp / "back.pftrace"]
            for back in backs:
                subprocess.run([TIDEMARK, "export", str(path), "-o", str(back)], capture_output=True, check=True)
            for question in QUESTIONS:
                if question == "info" and "overlaid" in path.name:
                    continue  # has threads with only flows that have no end
                want = ask(question, path)
                for back in backs:
                    d = first_difference(want, ask(question, back))
                    assert not d, f"{path} as {back.name}: {question}: {d}"
            sampled += as_snapshot(path, tmp)
        assert sampled or sys.argv[1:], "no trace has sampled reserved bytes"
    print(f"{len(traces)} traces answer {len(QUESTIONS)} questions the same after an export")
    return 0


sys.exit(main())
