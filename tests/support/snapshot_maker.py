# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Memory snapshots as torch.cuda.memory._dump_snapshot writes them, made by a slow and obvious copy of PyTorch's caching
allocator: default settings, one stream, a default pool and private ones."""
import copy

MIB = 1 << 20


class Allocator:
    """Segments are lists of blocks [address, size, name or None] in address order."""

    def __init__(self) -> None:
        self.segments, self.events, self.where, self.frames = [], [], {}, {}
        self.time_us, self.next_address = 1_700_000_000_000_000, 0x7F0000000000

    def tell(self, action: str, address: int, size: int, frames: list) -> None:
        self.time_us += 10
        self.events.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": self.time_us, "frames": frames})

    def take_segment(self, size: int, small: bool, pool: tuple, frames: list) -> dict:
        total = 2 * MIB if small else 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
        self.next_address -= total
        segment = {"address": self.next_address, "size": total, "small": small, "pool": pool, "blocks": [[self.next_address, total, None]]}
        self.segments.append(segment)
        self.tell("segment_alloc", self.next_address, total, frames)
        return segment

    def allocate(self, name: str, size: int, frames: list, pool: tuple = (0, 0)) -> None:
        rounded = max(512, -(-size // 512) * 512)
        small = rounded <= MIB
        free = [(b[1], b[0], s) for s in self.segments if s["small"] == small and s["pool"] == pool for b in s["blocks"] if b[2] is None and b[1] >= rounded]
        if free:
            _, address, segment = min(free, key=lambda f: f[:2])
        else:
            segment = self.take_segment(rounded, small, pool, frames)
            address = segment["address"]
        at = next(i for i, b in enumerate(segment["blocks"]) if b[0] == address)
        block = segment["blocks"][at]
        rest = block[1] - rounded
        if rest >= 512 if small else rest > MIB:
            segment["blocks"].insert(at + 1, [address + rounded, rest, None])
            block[1] = rounded
        block[2] = name
        self.where[name], self.frames[name] = (segment, address, size), frames
        self.tell("alloc", address, size, frames)

    def free(self, name: str) -> None:
        segment, address, size = self.where.pop(name)
        self.tell("free_requested", address, size, [])
        self.tell("free_completed", address, size, [])
        blocks = segment["blocks"]
        at = next(i for i, b in enumerate(blocks) if b[0] == address)
        blocks[at][2] = None
        for i in (at, at - 1):  # the neighbour behind, then the one before
            if 0 <= i and i + 1 < len(blocks) and blocks[i][2] is None and blocks[i + 1][2] is None:
                blocks[i][1] += blocks.pop(i + 1)[1]

    def empty_cache(self) -> None:
        whole = [s for s in self.segments if s["pool"] == (0, 0) and len(s["blocks"]) == 1 and s["blocks"][0][2] is None]
        for segment in sorted(whole, key=lambda s: (s["small"], s["size"], s["address"])):
            self.segments.remove(segment)
            self.tell("segment_free", segment["address"], segment["size"], [])

    def reserved(self) -> int:
        return sum(s["size"] for s in self.segments)

    def snapshot(self, annotations: list = ()) -> dict:
        segments = []
        for s in sorted(self.segments, key=lambda s: s["address"]):
            blocks = []
            for address, size, name in s["blocks"]:
                used = name is not None
                blocks.append({"address": address, "size": size, "requested_size": self.where[name][2] if used else 0,
                               "state": "active_allocated" if used else "inactive", "frames": self.frames[name] if used else []})
            active = sum(b["size"] for b in blocks if b["state"] != "inactive")
            segments.append({"device": 0, "address": s["address"], "total_size": s["size"], "allocated_size": active, "active_size": active,
                             "requested_size": sum(b["requested_size"] for b in blocks), "stream": 0, "segment_type": "small" if s["small"] else "large",
                             "segment_pool_id": s["pool"], "is_expandable": False, "frames": [], "blocks": blocks})
        settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0, "expandable_segments": False,
                    "roundup_power2_divisions": {}}
        return copy.deepcopy({"segments": segments, "device_traces": [self.events], "allocator_settings": settings, "external_annotations": list(annotations)})
