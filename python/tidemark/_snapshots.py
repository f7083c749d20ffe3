# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""What was alive at each checkpoint of a recording, worked out from one to the next.

A device's tensors are kept in order of their size, with their totals: a checkpoint costs what has changed since the one before and
what it lists, however much is alive.
"""
from __future__ import annotations

import bisect
import itertools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._profile import Profile

MB = 1024 * 1024
TENSORS = 1_000  # tensors listed for a device in a snapshot: the largest; how many are left out is said
RECORDS = 50_000  # and in all snapshots of a device together
SNAPSHOTS = 2_000  # snapshots in a document; how many are left out is said
HUGE = 100 * MB
ROW = 2**32 - 1
TOP = 2**63


class Alive:
    """Tensors alive on a device. A key sorts the larger first, of equal ones the older; it ends with the allocation's row."""

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
    """Which of them are told: all, or of many an even choice that ends with the last. Those that operations set (`own`) give way first."""
    asked = [i for i, o in enumerate(own) if not o]
    theirs = [i for i, o in enumerate(own) if o]
    asked = evenly(asked, SNAPSHOTS)
    return sorted(asked + evenly(theirs, SNAPSHOTS - len(asked)))


def evenly(rows: list[int], most: int) -> list[int]:
    """All, or so many of them with the last one."""
    n = len(rows)
    return rows if n <= most else [rows[(i + 1) * n // most - 1] for i in range(most)]


def _tell(p: Profile, device: str, at: int, alive: Alive, most: int, seen: dict[int, int], number: int) -> dict[str, Any]:
    reserved, rows = p.reserved(device, at), alive.largest(most)
    return {
        "total_mb": alive.bytes / MB, "total_bytes": alive.bytes, "count": len(alive.keys), "logical_bytes": alive.logical,
        "logical_unknown": alive.unknown, "reserved_bytes": reserved,
        "fragmented_bytes": None if reserved is None else max(0, reserved - alive.bytes), "tensors_left_out": len(alive.keys) - len(rows),
        "tensors": [p.tensor(a, seen[a] < number or p.size[a] > HUGE) for a in rows],
    }


def _apply(p: Profile, devices: dict[str, Alive], first: int, last: int, seen: dict[int, int], number: int) -> None:
    """Moves first to last: what was taken and given back in between never shows."""
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
    """Totals of everything alive at each checkpoint that is told; records of the largest tensors of each device."""
    told = chosen(p.checkpoints, p.own)
    most = min(TENSORS, max(10, RECORDS // max(1, len(told))))
    devices: dict[str, Alive] = {}
    seen: dict[int, int] = {}  # what is alive -> the snapshot that saw it first
    out: list[dict[str, Any]] = []
    done = 0
    for number, (name, at, move) in enumerate(p.checkpoints[i] for i in told):
        _apply(p, devices, done, move, seen, number)
        done = max(done, move)
        here = {d: _tell(p, d, at, a, most, seen, number) for d, a in devices.items() if a.keys}
        total = sum(d["total_bytes"] for d in here.values())
        records = [r for d in here.values() for r in d["tensors"][:10]]
        out.append({
            "timestamp": p.iso(at), "time_ns": p.unix(at), "checkpoint_name": name, "total_mb": total / MB, "total_bytes": total,
            "logical_bytes": sum(d["logical_bytes"] for d in here.values()), "tensor_count": len(seen), "device_breakdown": here,
            "top_allocations": sorted(records, key=lambda r: -int(r["size_bytes"]))[:10],
        })
    return out
