# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""small_pN.pickle: one small snapshot with a bit of everything, in protocol N. Run it here to write them again."""
import pickle

F = [{"name": f"f{i}", "filename": "a.py" if i % 2 else "??", "line": i} for i in range(4)]
S1, S2 = [F[0], F[1], F[3]], [F[2], F[3]]
T = 1794709245339316


def ev(action, addr, size, t, frames, **more):
    e = {"action": action, "addr": addr, "size": size, "stream": 0, "time_us": T + t, "compile_context": "N/A",
         "user_metadata": "", "frames": frames}
    e.update(more)
    return e


MB = 1 << 20
traces = [[
    ev("segment_alloc", 0x7F0000000000, 2 * MB, 0, S1),
    ev("alloc", 0x7F0000000000, 1000, 1, S1),
    ev("alloc", 0x7F0000000400, 512, 2, S2, user_metadata="weights", compile_context="0/0"),
    ev("free_requested", 0x7F0000000000, 1000, 3, S2),
    ev("free_completed", 0x7F0000000000, 1000, 9, S2),
    {"action": "oom", "device_free": 5 * MB, "size": 9 * MB, "stream": 0, "time_us": T + 10, "frames": []},
    ev("snapshot", 0, 0, 11, []),
], [
    ev("segment_map", 0x7E0000000000, 20 * MB, 2, S1, pool_id=(0, 1)),
    ev("alloc", 0x7E0000000000, 3 * MB, 3, S1, pool_id=(0, 1), stream=7),
    ev("segment_unmap", 0x7E0000000000 + 10 * MB, 10 * MB, 5, [], pool_id=(0, 1)),
    ev("free_requested", 0x7E0000000000, 3 * MB, 6, S2, pool_id=(0, 1), stream=7),
]]


def block(addr, size, req, state, frames):
    return {"address": addr, "size": size, "requested_size": req, "state": state, "frames": frames}


def seg(device, addr, size, kind, pool, exp, blocks):
    return {"device": device, "address": addr, "total_size": size, "allocated_size": 512, "active_size": 512,
            "requested_size": 512, "stream": 0, "segment_type": kind, "segment_pool_id": pool, "is_expandable": exp,
            "frames": S1, "blocks": blocks}


A, B = 0x7F0000000000, 0x7E0000000000
snap = {
    "segments": [
        seg(0, A, 2 * MB, "small", (0, 0), False, [block(A, 1024, 1000, "inactive", []),
            block(A + 1024, 512, 512, "active_allocated", S2), block(A + 1536, 2 * MB - 1536, 0, "inactive", [])]),
        seg(1, B, 10 * MB, "large", (0, 1), True, [block(B, 3 * MB, 3 * MB, "active_pending_free", S1),
            block(B + 3 * MB, 7 * MB, 0, "inactive", [])]),
    ],
    "device_traces": traces,
    "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "max_split_size": -1,
                           "garbage_collection_threshold": 0.5, "expandable_segments": True,
                           "roundup_power2_divisions": {"1": 0, "2": 4}},
    "external_annotations": [{"stage": "START", "name": "step", "device": 0, "time_us": T - 2},
                             {"stage": "END", "name": "step", "device": 0, "time_us": T + 8}],
    "host_traces": [[ev("alloc", 0x5000, 4096, 4, S2)]],
    "new_key": None,
}
if __name__ == "__main__":
    for p in range(6):
        with open(f"small_p{p}.pickle", "wb") as f:
            f.write(pickle.dumps(snap, p))
