# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Perfetto traces of other producers: what torch's CUPTI monitor writes, slices, counters, flows, several clocks, texts that change
their meaning, compressed packets; damage is one line or a stated loss. export_back.py compares our own exports."""
import ctypes
import ctypes.util
import gzip
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from pb_writer import message, varint

TIDEMARK = os.environ["TIDEMARK"]
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def ask(*words):
    p = subprocess.run([TIDEMARK, *map(str, words), "--json"], capture_output=True, check=False)
    assert p.returncode == 0, (words, p.stderr.decode())
    return json.loads(p.stdout)


def fixed64(number, value):
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def trace(packets):
    return message([(1, p) for p in packets])


def track(uuid, name=None, parent=0, process=None, thread=None, counter=None):
    fields = [(1, uuid)] + ([(2, name)] if name else []) + ([(5, parent)] if parent else [])
    if process:
        fields.append((3, message([(1, process[0]), (6, process[1])])))
    if thread:
        fields.append((4, message([(1, thread[0]), (2, thread[1]), (5, thread[2])])))
    if counter is not None:
        fields.append((8, message(counter)))
    return message([(60, message(fields))])


def arg(name, value):
    kind = 11 if isinstance(value, dict) else 12 if isinstance(value, list) else 5 if isinstance(value, float) else 6 if isinstance(value, str) else 4
    if isinstance(value, list):
        return message([(10, name)] + [(12, message([(4, v)])) for v in value])
    return message([(10, name), (kind, value)])


def event(ts, kind, uuid=None, name=None, category=None, sequence=1, args=(), flows=(), ends=(), clock=None, iid=None, **values):
    body = [(9, kind)] + ([(11, uuid)] if uuid is not None else []) + ([(23, name)] if name else []) + ([(22, category)] if category else [])
    body += ([(10, iid)] if iid else []) + [(4, arg(k, v)) for k, v in args] + [(int(k[1:]), v) for k, v in values.items()]
    raw = message(body) + b"".join(fixed64(47, f) for f in flows) + b"".join(fixed64(48, f) for f in ends)
    return message([(8, ts), (10, sequence), (11, raw)] + ([(58, clock)] if clock else []))


def torch_like():
    """All begins of a group, then all its ends; no categories; arrays; numbers link launches and kernels."""
    packets = [track(1, process=(77, "python")), track(2, parent=1, thread=(77, 77, "thread 77")),
               track(3, process=(0, "GPU 0")), track(4, parent=3, thread=(0, 7, "stream 7"))]
    names = ["cudaLaunchKernel", "gemm", "Memcpy HtoD (Pageable -> Device)", "Context Sync"]
    packets.append(message([(10, 1), (13, 1), (12, message([(2, message([(1, i + 1), (2, n)])) for i, n in enumerate(names)]))]))
    calls = [(1000 + 100 * i, 1050 + 100 * i, i + 1) for i in range(3)]
    kernels = [(1200 + 300 * i, 1400 + 300 * i, i + 1) for i in range(2)]
    packets += [event(t0, BEGIN, 2, iid=1, flows=[c], args=[("cbid", 211), ("correlation", c)]) for t0, _, c in calls]
    packets += [event(t1, END, 2) for _, t1, _ in calls]
    packets += [event(t0, BEGIN, 4, iid=2, flows=[c], args=[("device", 0), ("stream", 7), ("correlation", c), ("grid", [4, 1, 1]),
                                                            ("est. achieved occupancy %", 50)]) for t0, _, c in kernels]
    packets += [event(t1, END, 4) for _, t1, _ in kernels]
    packets += [event(1900, BEGIN, 4, iid=3, args=[("device", 0), ("stream", 7), ("correlation", 3), ("bytes", 4096)]), event(1950, END, 4)]
    return trace(packets)


def zstd(data):
    lib = ctypes.CDLL(ctypes.util.find_library("zstd"))
    lib.ZSTD_compressBound.restype = lib.ZSTD_compress.restype = ctypes.c_size_t
    lib.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    lib.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    out = ctypes.create_string_buffer(lib.ZSTD_compressBound(len(data)))
    n = lib.ZSTD_compress(out, len(out), data, len(data), 3)
    return out.raw[:n]


def others():
    """Threads, a track with a name only, clocks, defaults, texts that mean something else after a clear, old flows."""
    boot = 5_000_000_000
    clocks = message([(10, 2), (6, message([(1, message([(1, 6), (2, boot)])), (1, message([(1, 1), (2, 1_700_000_000_000_000_000)])),
                                            (1, message([(1, 64), (2, 100), (3, 1), (4, 1000)]))]))])
    packets = [clocks, track(10, process=(5, "server")), track(11, parent=10, thread=(5, 6, "worker")), track(12, "requests", 10),
               track(13, "queue", 10, counter=[(4, 1024)]), track(14, "sum", 10, counter=[(5, 1)]), track(15, "load", counter=[])]
    text = message([(2, message([(1, 1), (2, "old")])), (1, message([(1, 1), (2, "io")]))])
    packets += [message([(10, 2), (13, 1), (12, text), (59, message([(58, 64), (11, message([(11, 11)]))]))])]
    packets += [event(10, BEGIN, sequence=2, iid=1, flows=[900]), event(5, BEGIN, name="inner", sequence=2), event(5, END, sequence=2), event(10, END, sequence=2)]
    packets += [message([(10, 2), (13, 1), (12, message([(2, message([(1, 1), (2, "new")]))]))])]
    packets += [event(boot + 200_000, BEGIN, 12, iid=1, sequence=2, ends=[900]), event(boot + 260_000, END, 12, sequence=2)]
    packets += [event(boot + 1000, COUNTER, 13, _30=3), event(boot + 2000, COUNTER, 13, _30=5), event(boot + 1000, COUNTER, 14, _30=3),
                event(boot + 2000, COUNTER, 14, _30=4), event(boot + 3000, COUNTER, 15, _44=0.5), event(boot + 4000, INSTANT, 11, name="mark")]
    packets.append(message([(8, boot + 5000), (9, message([(1, message([(1, 5), (3, 100)]))]))]))
    packets.append(message([(8, boot + 6000), (52, message([(1, message([(1, message([(1, 3), (2, "SM Active")]))])), (2, message([(1, 3), (3, 97.5)])), (3, 1)]))]))
    packets.append(message([(8, boot), (1, message([(1, 0)]))]))
    return packets


def rocprof():
    return trace([track(20, process=(9, "app")), track(21, parent=20, thread=(9, 9, "main")), track(22, "COMPUTE AGENT [2] QUEUE [1] (GPU)"),
                  event(100, BEGIN, 21, "hipLaunchKernel", "hip_api", flows=[7], args=[("corr_id", 12)]), event(150, END, 21),
                  event(200, BEGIN, 22, "gemm", "kernel_dispatch", flows=[7], args=[("agent", "Agent 2"), ("queue", 1), ("corr_id", 12)]), event(500, END, 22)])


def rows(path):
    return {(k["name"], k["type"], k["count"], k["sum_ns"]) for k in ask("kernels", "--top", "0", path)["kernels"]}


def read_torch(tmp):
    path = tmp / "torch.pftrace"
    path.write_bytes(gzip.compress(torch_like()))
    assert rows(path) == {("gemm", "compute", 2, 400), ("Memcpy HtoD (Pageable -> Device)", "memory", 1, 50)}, rows(path)
    starts = ask("timeline", "--events", path)
    assert [(e["name"], e["start_ns"], e["duration_ns"]) for e in starts["gpu_timeline"]] == [("gemm", 200, 200), ("gemm", 500, 200),
                                                                                              ("Memcpy HtoD (Pageable -> Device)", 900, 50)], starts
    hta = ask("hta", path)["ranks"][0]
    assert hta["launches"]["matched"] == 3 if "matched" in hta.get("launches", {}) else True
    path_bound = ask("critical-path", path)
    assert path_bound["found"], path_bound


def read_others(tmp):
    packets = others()
    plain, packed = tmp / "plain.pftrace", tmp / "packed.pftrace"
    plain.write_bytes(trace(packets))
    half = len(packets) // 2
    packed.write_bytes(trace([message([(50, zlib.compress(trace(packets[:half])))]), message([(133, zstd(trace(packets[half:])))])]))
    answers = []
    for path in (plain, packed):
        spans = {e["name"]: (e["start_ns"], e["duration_ns"]) for e in ask("timeline", "--events", path)["cpu_timeline"]}
        info = ask("info", path)
        csv = subprocess.run([TIDEMARK, "sql", str(path), "SELECT name, value FROM samples JOIN counters ON samples.counter = counters.id ORDER BY t, name"],
                             capture_output=True, check=False, text=True).stdout
        answers.append((spans, csv, {k: v for k, v in info.items() if k not in ("file", "model_bytes")}))
    assert answers[0] == answers[1], answers
    spans, _, info = answers[0]
    assert spans == {"old": (9000, 20000), "inner": (14000, 5000), "new": (199000, 60000)}, spans
    assert info["losses"]["unread_packets"] == 1, info["losses"]
    assert info["started"].startswith("2023-11-14") if isinstance(info.get("started"), str) else True
    assert {p["command"] for p in info["processes"] if p["pid"] == 5} == {"server"}, info["processes"]


def read_samples(path):
    """Counter values through the Chrome export, which every build has."""
    back = path.with_suffix(".json")
    subprocess.run([TIDEMARK, "export", str(path), "-o", str(back)], capture_output=True, check=True)
    events = json.loads(back.read_text())["traceEvents"]
    return sorted((e["name"], e["args"]["value"]) for e in events if e["ph"] == "C")


def fail(path):
    p = subprocess.run([TIDEMARK, "info", str(path)], capture_output=True, check=False, text=True)
    assert p.returncode and p.stderr.count("\n") == 1, p.stderr
    return p.stderr


def damage(tmp):
    whole, path = torch_like(), tmp / "cut.pftrace"
    path.write_bytes(whole[:-3])
    p = subprocess.run([TIDEMARK, "info", "--json", str(path)], capture_output=True, check=False)
    losses = json.loads(p.stdout)["losses"]
    assert p.returncode and losses["truncated_at"] > len(whole) - 100, losses
    path.write_bytes(whole[:40])
    assert "byte" in fail(path)
    bad = zlib.compress(whole)
    path.write_bytes(trace([message([(50, bad[:-8])])]))
    assert "compressed packets" in fail(path)
    path.write_bytes(trace([message([(50, zlib.compress(trace([message([(50, bad)])])))])]))
    assert "inside compressed" in fail(path)
    path.write_bytes(trace([message([(8, 1), (1, message([(1, 0)]))])]))
    assert "without slices or counters" in fail(path)


def main():
    with tempfile.TemporaryDirectory() as name:
        tmp = pathlib.Path(name)
        read_torch(tmp)
        read_others(tmp)
        got = read_samples(tmp / "plain.pftrace")
        assert got == sorted([("server queue", 3072), ("server queue", 5120), ("server sum", 3), ("server sum", 7), ("load", 0.5),
                              ("process 5 resident bytes", 102400), ("GPU 1 SM Active", 97.5)]), got
        path = tmp / "rocprof.pftrace"
        path.write_bytes(rocprof())
        assert rows(path) == {("gemm", "compute", 1, 300)}, rows(path)
        assert [d["device"] for d in ask("info", path)["devices"]] in (["hip:2"], ["cuda:2"]), ask("info", path)["devices"]
        damage(tmp)
    if len(sys.argv) > 1:
        for name, data in (("torch", torch_like()), ("others", trace(others())), ("rocprof", rocprof()),
                           ("packed", trace([message([(50, zlib.compress(torch_like()))])]))):
            (pathlib.Path(sys.argv[1]) / name).write_bytes(data)
    print("Perfetto traces of others are read")


main()
