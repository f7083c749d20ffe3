# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The simulated allocator of each virtual device, while the program runs: what torch.cuda's functions for memory answer.

The report replays the same requests in the same simulator (src/analyze/allocator/sim), so a program reads the figures that the
report prints: allocated bytes with unsplit remainders, reserved bytes, peaks, counts.
"""
from __future__ import annotations

import ctypes
from typing import Any

POOLS = ("all", "small_pool", "large_pool")
WHATS = ("current", "peak", "allocated", "freed")
KINDS = ("allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes", "requested_bytes")


class Stats(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("reserved", "active", "allocated", "requested", "segments", "reserved_peak", "active_peak", "allocated_peak",
                                                     "active_at_peak", "segments_peak", "n_seg_alloc", "n_seg_free", "retries", "gc_bytes", "ooms")]


class Figure:
    """A figure with its highest value since the program last reset it."""

    def __init__(self) -> None:
        self.now = self.peak = self.taken = self.given = 0

    def set(self, now: int) -> None:
        if now > self.now:
            self.taken += now - self.now
        else:
            self.given += self.now - now
        self.now, self.peak = now, max(self.peak, now)

    def reset(self) -> None:
        self.peak = self.now


class Allocator:
    """One device. settings: as in PYTORCH_CUDA_ALLOC_CONF; room: bytes that the allocator can have, 0 = unlimited."""

    def __init__(self, library: str, settings: str, room: int) -> None:
        c: Any = ctypes.CDLL(library)
        c.tide__sim_live_new.restype, c.tide__sim_live_new.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_uint64]
        c.tide__sim_live_take.restype, c.tide__sim_live_take.argtypes = ctypes.c_uint32, [ctypes.c_void_p, ctypes.c_uint64]
        c.tide__sim_live_give.argtypes, c.tide__sim_live_empty_cache.argtypes = [ctypes.c_void_p, ctypes.c_uint32], [ctypes.c_void_p]
        c.tide__sim_live_stats.restype, c.tide__sim_live_stats.argtypes = ctypes.POINTER(Stats), [ctypes.c_void_p]
        c.tide__sim_live_inactive_split.restype, c.tide__sim_live_inactive_split.argtypes = ctypes.c_uint64, [ctypes.c_void_p]
        self.c, self.room = c, room
        self.sim: Any = c.tide__sim_live_new(settings.encode(), room)
        if not self.sim:
            raise RuntimeError(f"the allocator cannot be simulated with {settings!r}")
        self.stats: Any = c.tide__sim_live_stats(self.sim).contents
        self.ids: dict[int, int] = {}  # address in the recording -> block
        self.figures = {name: Figure() for name in KINDS}

    def take(self, addr: int, size: int) -> None:
        self.ids[addr] = self.c.tide__sim_live_take(self.sim, size)
        self.figures["allocation"].set(len(self.ids))
        self.look()

    def give(self, addr: int) -> None:
        self.c.tide__sim_live_give(self.sim, self.ids.pop(addr, 0))
        self.figures["allocation"].set(len(self.ids))
        self.look()

    def empty_cache(self) -> None:
        self.c.tide__sim_live_empty_cache(self.sim)
        self.look()

    def look(self) -> None:
        s, f = self.stats, self.figures
        f["allocated_bytes"].set(s.allocated)
        f["reserved_bytes"].set(s.reserved)
        f["active_bytes"].set(s.active)
        f["requested_bytes"].set(s.requested)
        f["segment"].set(s.segments)

    def reset(self) -> None:
        for figure in self.figures.values():
            figure.reset()

    def answer(self) -> dict[str, int]:
        """torch.cuda.memory_stats(). Figures of the small and the large pool alone are left at 0, and the peak of split remainders is the current one."""
        f = self.figures
        f["active"] = f["allocation"]
        f["inactive_split_bytes"].set(self.c.tide__sim_live_inactive_split(self.sim))
        out = {f"{kind}.{pool}.{what}": 0 for kind in KINDS for pool in POOLS for what in WHATS}
        out.update({f"{kind}.{what}": 0 for kind in ("oversize_allocations", "oversize_segments") for what in WHATS})
        for kind, figure in f.items():
            out.update({f"{kind}.all.current": figure.now, f"{kind}.all.peak": figure.peak, f"{kind}.all.allocated": figure.taken, f"{kind}.all.freed": figure.given})
        return {**out, "num_alloc_retries": self.stats.retries, "num_ooms": 0, "num_sync_all_streams": 0, "num_device_alloc": self.stats.n_seg_alloc,
                "num_device_free": self.stats.n_seg_free, "max_split_size": -1}
