# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Newer memory snapshots: the kind of device that stacks show, pinned host memory with and without its history, snapshots without
traces: what is alive, how fragmented, and that the past is missing."""
import gzip
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

TIDEMARK = os.environ["TIDEMARK"]
MB = 1 << 20


def ask(*words):
    p = subprocess.run([TIDEMARK, *map(str, words), "--json"], capture_output=True, check=False)
    assert p.returncode == 0, (words, p.stderr.decode())
    return json.loads(p.stdout)


def frame(name="make", file="a.py"):
    return {"filename": file, "line": 3, "name": name}


def segment(at, blocks, frames, **more):
    rows, address = [], at
    for size, state in blocks:
        rows.append({"address": address, "size": size, "requested_size": size if state == "active_allocated" else 0, "state": state, "frames": frames})
        address += size
    used = sum(size for size, state in blocks if state == "active_allocated")
    return {"device": 0, "address": at, "total_size": address - at, "allocated_size": used, "active_size": used, "requested_size": used, "stream": 0,
            "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": rows, **more}


def device_segments(frames):
    return [segment(1 << 30, [(4 * MB, "active_allocated"), (8 * MB, "inactive"), (2 * MB, "active_allocated"), (6 * MB, "inactive")], frames),
            segment(2 << 30, [(20 * MB, "active_allocated")], frames)]


def main():
    host = [segment(3 << 30, [(MB, "active_allocated")], [frame("pin", "p.py")])]
    host_events = [{"action": a, "addr": 3 << 30, "size": MB, "stream": 0, "time_us": 1_700_000_000_000_000 + i, "frames": [frame("pin", "p.py")]}
                   for i, a in enumerate(("segment_alloc", "alloc"))]
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "s.pickle"
        for frames, device in (([frame()], "cuda:0"), ([frame("c10::xpu::XPUCachingAllocator::malloc", "??")], "xpu:0"),
                               ([frame("f", "/x/torch/xpu/memory.py")], "xpu:0"), ([frame("c10::hip::HIPCachingAllocator::malloc", "??")], "hip:0")):
            segments = device_segments(frames)
            for document in (segments, {"segments": segments}, {"segments": segments, "device_traces": []}, {"segments": segments, "device_traces": [[]]}):
                for packed in (False, True):
                    data = pickle.dumps(document)
                    path.write_bytes(gzip.compress(data) if packed else data)
                    memory = ask("memory", path)
                    totals = {d["device"]: d["totals"] for d in memory["devices"] if d["totals"]["allocs"]}
                    assert set(totals) == {device} and totals[device]["live_bytes"] == 26 * MB and totals[device]["reserved_bytes"] == 40 * MB, totals
                    assert memory["losses"] == {"no_history": 3}, memory["losses"]
            state = ask("allocator", path)
            flat = json.dumps(state)
            assert str(14 * MB) in flat and str(8 * MB) in flat, flat[:600]  # free, and the largest free block
        for events, losses in (([], {"no_history": 4}), (host_events, None)):
            path.write_bytes(pickle.dumps({"segments": device_segments([frame()]), "device_traces": [[]], "host_segments": host, "host_traces": events}))
            memory = ask("memory", path)
            totals = {d["device"]: d["totals"] for d in memory["devices"]}
            assert totals["cpu"]["live_bytes"] == MB and totals["cuda:0"]["live_bytes"] == 26 * MB, totals
            assert losses is None or memory["losses"] == losses, memory["losses"]
    print("newer snapshots are read")


main()
