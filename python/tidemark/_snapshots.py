# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Computes the live tensors at each checkpoint of a recording, incrementally.

The tensors of a device are kept sorted by size, together with their totals. The cost of a checkpoint depends on the changes since
the previous one and on the listed tensors, not on the number of live tensors.
"""
from __future__ import annotations

import bisect
import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._profile import Profile

MB = 1024 * 1024
TENSORS = 1_000  # limit of tensors listed for a device in a snapshot, the largest; tensors_left_out counts the others
RECORDS = 50_000  # limit of tensors in all snapshots of a device together
SNAPSHOTS = 2_000  # limit of snapshots in a document; snapshots_left_out counts the others
HUGE = 100 * MB
ROW = 2**32 - 1
TOP = 2**63


class Alive:
    """Live tensors of a device. Keys sort by decreasing size, then by age; their low 32 bits are the allocation's row."""

    def __init__(self) -> None:
        self.keys: list[int] = []
        self.bytes = self.logical = self.unknown = 0

    def change(self, p: Profile, added: list[int], gone: list[int]) -> None:
        for a, sign in itertools.chain(((a, 1) for a in added), ((a, -1) for a in gone)):
            self.bytes += sign * p.size[a]
            n = p.logical(a)
            self.logical += sign * (n or 0)
            self.unknown += sign * (n is None)
        plus, minus = ([(TOP - p.size[a]) << 32 | a for a in rows] for rows in (added, gone))
        if 16 * (len(plus) + len(minus)) > len(self.keys):
            without = set(minus)
            self.keys = sorted([k for k in self.keys if k not in without] + plus)
            return
        for k in minus:
            del self.keys[bisect.bisect_left(self.keys, k)]
        for k in plus:
            bisect.insort(self.keys, k)

    def largest(self, most: int) -> list[int]:
        return [k & ROW for k in self.keys[:most]]


def chosen(checkpoints: list[tuple[str, int, int]], own: list[bool]) -> list[int]:
    """Returns the reported checkpoints: all, or SNAPSHOTS evenly spaced ones with the last. Those set by operations (`own`) are dropped first."""
    asked = [i for i, o in enumerate(own) if not o]
    theirs = [i for i, o in enumerate(own) if o]
    asked = evenly(asked, SNAPSHOTS)
    return sorted(asked + evenly(theirs, SNAPSHOTS - len(asked)))


def evenly(rows: list[int], most: int) -> list[int]:
    """Returns all rows, or `most` evenly spaced ones that include the last."""
    n = len(rows)
    return rows if n <= most else [rows[(i + 1) * n // most - 1] for i in range(most)]


def _report(p: Profile, device: str, at: int, alive: Alive, most: int, seen: dict[int, int], number: int) -> dict[str, Any]:
    reserved, rows = p.reserved(device, at), alive.largest(most)
    return {
        "total_mb": alive.bytes / MB, "total_bytes": alive.bytes, "count": len(alive.keys), "logical_bytes": alive.logical,
        "logical_unknown": alive.unknown, "reserved_bytes": reserved,
        "fragmented_bytes": None if reserved is None else max(0, reserved - alive.bytes), "tensors_left_out": len(alive.keys) - len(rows),
        "tensors": [p.tensor(a, seen[a] < number or p.size[a] > HUGE) for a in rows],
    }


def _apply(p: Profile, devices: dict[str, Alive], first: int, last: int, seen: dict[int, int], number: int) -> None:
    """Applies the memory events first to last. An allocation that is also freed among them is skipped."""
    added: dict[int, None] = {}
    changes: dict[str, tuple[list[int], list[int]]] = {}
    for i in range(first, last):
        row = p.rows[i]
        if p.kinds[i] == 0:
            added[row] = None
        elif p.kinds[i] == 1 and added.pop(row, 0) == 0 and seen.pop(row, None) is not None:
            changes.setdefault(p.device(row), ([], []))[1].append(row)
    for row in added:
        seen[row] = number
        changes.setdefault(p.device(row), ([], []))[0].append(row)
    for device, (plus, minus) in changes.items():
        devices.setdefault(device, Alive()).change(p, plus, minus)


def snapshots(p: Profile) -> list[dict[str, Any]]:
    """Returns, for each reported checkpoint, the totals of all live tensors and records of the largest of each device."""
    reported = chosen(p.checkpoints, p.own)
    most = min(TENSORS, max(10, RECORDS // max(1, len(reported))))
    devices: dict[str, Alive] = {}
    seen: dict[int, int] = {}  # live allocation -> the first snapshot that has it
    out: list[dict[str, Any]] = []
    done = 0
    for number, (name, at, position) in enumerate(p.checkpoints[i] for i in reported):
        _apply(p, devices, done, position, seen, number)
        done = max(done, position)
        here = {d: _report(p, d, at, a, most, seen, number) for d, a in devices.items() if a.keys}
        total = sum(d["total_bytes"] for d in here.values())
        records = [r for d in here.values() for r in d["tensors"][:10]]
        out.append({
            "timestamp": p.iso(at), "time_ns": p.unix(at), "checkpoint_name": name, "total_mb": total / MB, "total_bytes": total,
            "logical_bytes": sum(d["logical_bytes"] for d in here.values()), "tensor_count": len(seen), "device_breakdown": here,
            "top_allocations": sorted(records, key=lambda r: -int(r["size_bytes"]))[:10],
        })
    return out
