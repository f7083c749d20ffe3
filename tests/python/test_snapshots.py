# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Compares the incremental snapshots of a profile with a full count of live tensors for each."""
import os
import random
import tempfile
import unittest
from unittest import mock

from tidemark import _native, _profile, _record, _snapshots


def recording(seed: int, path: str) -> None:
    r = random.Random(seed)
    _record.start(path)
    pools = [_native.pool(_native.device(_native.CUDA, i), _native.DRAM) for i in range(2)]
    alive: list = []
    for i in range(r.randrange(20, 400)):
        what = r.random()
        if what < 0.1:
            _native.mark(_native.CHECKPOINT, r.choice(["a", "b_pre", "c_pre"]), r.randrange(2))
        elif what < 0.65 or not alive:
            pool, size = r.choice(pools), r.choice([64, 64, 512, r.randrange(1, 2000), 200 << 20])
            alive.append((pool, (i + 1) << 28))
            _native.alloc(pool, (i + 1) << 28, size)
            if r.random() < 0.7:
                _native.tensor(pool, (i + 1) << 28, (size // 4, r.randrange(1, 3)), 1)
        else:
            _native.free(*alive.pop(r.randrange(len(alive))))
    _native.mark(_native.CHECKPOINT, "final")
    _record.stop()


def slow(p: _profile.Profile, told: list[int], most: int) -> list[dict]:
    """Computes each snapshot separately from all memory events."""
    out, seen = [], set()
    for name, _, position in (p.checkpoints[i] for i in told):
        alive = {}
        for kind, row in zip(p.kinds[:position], p.rows[:position]):
            alive.pop(row, None)
            if kind == 0:
                alive[row] = True
        devices = {}
        for d in {p.device(a) for a in alive}:
            here = sorted((a for a in alive if p.device(a) == d), key=lambda a: (-p.size[a], a))
            devices[d] = (sum(p.size[a] for a in here), len(here), sum(p.logical(a) or 0 for a in here),
                          sum(p.logical(a) is None for a in here), len(here) - len(here[:most]),
                          [(a, a in seen or p.size[a] > 100 << 20) for a in here[:most]])
        seen |= set(alive)
        out.append((name, len(alive), sum(d[0] for d in devices.values()), devices))
    return out


class Snapshots(unittest.TestCase):
    def test_as_counted_anew(self):
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(60):
                path = os.path.join(folder, "r.tide")
                recording(seed, path)
                p = _profile.Profile(path)
                few = random.Random(seed).choice([3, 10, 2000])
                with mock.patch.multiple(_snapshots, SNAPSHOTS=few, TENSORS=7):
                    told, got = _snapshots.chosen(p.checkpoints, p.own), _snapshots.snapshots(p)
                found = [(s["checkpoint_name"], s["tensor_count"], s["total_bytes"],
                          {d: (v["total_bytes"], v["count"], v["logical_bytes"], v["logical_unknown"], v["tensors_left_out"],
                               [(t["tensor_id"], t["is_persistent"]) for t in v["tensors"]]) for d, v in s["device_breakdown"].items()})
                         for s in got]
                self.assertEqual(found, slow(p, told, 7), f"seed {seed}")
                for s in got:
                    sizes = sorted((t["size_bytes"] for v in s["device_breakdown"].values() for t in v["tensors"]), reverse=True)
                    self.assertEqual([t["size_bytes"] for t in s["top_allocations"]], sizes[:10], f"seed {seed}")

    def test_of_many_an_even_choice(self):
        some = [("x", i, i) for i in range(10)]
        with mock.patch.object(_snapshots, "SNAPSHOTS", 5):
            self.assertEqual(_snapshots.chosen(some, [False] * 10), [1, 3, 5, 7, 9])
            self.assertEqual(_snapshots.chosen(some, [i not in (2, 5, 9) for i in range(10)]), [2, 3, 5, 8, 9])
            self.assertEqual(_snapshots.chosen(some[:4], [True] * 4), [0, 1, 2, 3])
            self.assertEqual(_snapshots.chosen([], []), [])

    def test_what_is_left_out_is_counted(self):
        with tempfile.TemporaryDirectory() as folder:
            recording(7, os.path.join(folder, "r.tide"))
            p = _profile.Profile(os.path.join(folder, "r.tide"))
            with mock.patch.object(_snapshots, "SNAPSHOTS", 2):
                d = _profile.document(p, [], {})
        self.assertEqual(d["metadata"]["num_snapshots"], 2)
        self.assertEqual(d["metadata"]["snapshots_left_out"], len(p.checkpoints) - 2)
        self.assertEqual(d["snapshots"][-1]["checkpoint_name"], "final")

    def test_of_many_runs_a_bounded_choice(self):
        heap = _native.pool(_native.device(_native.HOST, 0), _native.HEAP, "heap")
        with tempfile.TemporaryDirectory() as folder:
            _record.start(os.path.join(folder, "r.tide"))
            for i in range(40):
                outer = _native.op_begin("often", _profile.OPERATION)
                inner = _native.op_begin(f"part{i % 3}", _profile.OPERATION)
                module = _native.op_begin("Linear.x", _profile.MODULE | i + 1)
                _native.alloc(heap, 4096 * (i + 1), 100 + i)
                for token in (module, inner, outer):
                    _native.op_end(token)
            rare = _native.op_begin("rare", _profile.OPERATION)
            _native.alloc(heap, 4096 * 1000, 5000)
            _native.op_end(rare)
            _record.stop()
            p = _profile.Profile(os.path.join(folder, "r.tide"))
            whole = _profile.document(p, [], {})
            with mock.patch.multiple(_profile, RUNS=12, OPERATIONS=3, LOG=7):
                d = _profile.document(p, [], {})
        self.assertEqual({k: v for k, v in whole["metadata"].items() if k.endswith("left_out")}, {
            "snapshots_left_out": 0, "operations_left_out": 0, "operation_runs_left_out": 0, "operation_log_left_out": 0,
            "tensor_lifecycles_left_out": 0})
        runs = d["operation_allocations"]
        self.assertEqual({n: len(r) for n, r in runs.items()}, {"often": 6, "part0": 5, "rare": 1})  # 5,000 bytes, then 139 and 139
        for n, rows in runs.items():
            every = whole["operation_allocations"][n]
            self.assertTrue(all(r in every for r in rows))
            self.assertEqual(rows[-1], every[-1])
            self.assertEqual(d["operation_summary"][n], whole["operation_summary"][n])  # counts every run
        self.assertEqual(d["operation_graph"]["often"]["child_operations"], ["part0"])
        self.assertEqual(d["operation_log"], whole["operation_log"][-7:])
        left = {k: v for k, v in d["metadata"].items() if k.startswith("operation") and k.endswith("left_out")}
        self.assertEqual(left, {"operations_left_out": 2, "operation_runs_left_out": 81 - 12, "operation_log_left_out": 33})

    def test_runs_are_shared_fairly(self):
        for seed in range(200):
            r = random.Random(seed)
            names = {f"n{i}": list(range(r.choice([1, 2, 5, 50]))) for i in range(r.randrange(1, 30))}
            deltas = {n: [r.randrange(-99, 99) for _ in spans] for n, spans in names.items()}
            most, few = r.choice([1, 5, 60, 5000]), r.choice([1, 7, 100])
            with mock.patch.multiple(_profile, RUNS=most, OPERATIONS=few):
                got = _profile.listed(names, deltas)
            kept = sorted(names, key=lambda n: (-max(map(abs, deltas[n])), int(n[1:])))[:few]
            self.assertEqual(sorted(got), sorted(kept), f"seed {seed}")
            self.assertEqual(list(got), [n for n in names if n in got], f"seed {seed}")
            share = {n: 0 for n in kept}  # one after the other, those with runs left
            for _ in range(min(most, sum(len(names[n]) for n in kept))):
                n = min((n for n in kept if share[n] < len(names[n])), key=lambda n: share[n])
                share[n] += 1
            self.assertEqual(sorted(map(len, got.values())), sorted(share.values()), f"seed {seed}")
            self.assertTrue(all(not rows or rows[-1] == names[n][-1] for n, rows in got.items()), f"seed {seed}")


if __name__ == "__main__":
    unittest.main()
