# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Any device that torch.accelerator names (needs torch): one of our own, device.cpp, registered as makers of accelerators do, is
recorded under its name, to the byte of PyTorch's own counters."""
import contextlib
import gc
import importlib.util
import io
import json
import os
import tempfile
import unittest

import device
import torch

import tidemark
from tidemark import tracker
from tidemark._profile import Profile

FOLDER = tempfile.mkdtemp()
NEVER = 2**63 - 1


def path(name: str) -> str:
    return os.path.join(FOLDER, name)


class Device(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.library = device.load()
        device.telling(cls.library, device.teller())

    def setUp(self):
        gc.collect()

    def totals(self, name: str) -> dict:
        t = tidemark.open(path(name))
        self.assertEqual(t.memory()["losses"], {})
        return {d["device"]: d["totals"] for d in t.memory()["devices"]}

    def test_to_the_byte_of_its_own_counters(self):
        with tidemark.record(path("b.tide")):
            keep = [torch.empty(1000, device="tidal"), torch.empty(7, 9, dtype=torch.float64, device="tidal:1")]
            keep += [keep[0] + 1, keep[0].view(10, 100), torch.empty(3_000_000, dtype=torch.uint8, device="tidal:1")]
            self.assertEqual(torch.accelerator.memory_allocated(1), 512 + 3_000_064)
            high = [torch.accelerator.memory_allocated(i) for i in range(2)], [torch.accelerator.memory_reserved(i) for i in range(2)]
            del keep[4], keep[0]
            own = [torch.accelerator.memory_allocated(i) for i in range(2)]
            now = {d["device"]: d["totals"]["live_bytes"] for d in tidemark.live().devices}
        got = self.totals("b.tide")
        for i in range(2):
            with self.subTest(device=i):
                d = got[f"tidal:{i}"]
                self.assertEqual((d["live_bytes"], d["reserved_bytes"]), (own[i], high[1][i]))
                self.assertEqual(d["peak_bytes"], high[0][i])
                self.assertEqual(now[f"tidal:{i}"], own[i])
        t = tidemark.open(path("b.tide"))
        self.assertEqual(t.peak(device="tidal:1")["peak_bytes"], high[0][1])
        self.assertEqual(set(Profile(path("b.tide")).accelerators), {"tidal:0", "tidal:1"})
        at, names = t.native.column("allocs", "span"), t.native.column("spans", "name")
        sizes = t.native.column("allocs", "size")
        self.assertEqual(sorted(names[s] for s, n in zip(at, sizes) if n == 4096), ["aten::empty"] * 2)  # the view has none

    def test_tensors_from_before_are_known(self):
        old = torch.empty(77_777, dtype=torch.uint8, device="tidal:1")
        view = old[5:]
        held = torch.accelerator.memory_reserved(1)
        with tidemark.record(path("o.tide"), ops=False):
            self.assertEqual({d["device"]: d["totals"]["reserved_bytes"] for d in tidemark.live().devices if "tidal" in d["device"]},
                             {"tidal:1": held})  # before its allocator says anything
            del old, view
        self.totals("o.tide")
        c = tidemark.open(path("o.tide")).native.column
        (row,) = [i for i, n in enumerate(c("allocs", "size")) if n == 77_777]
        self.assertLess(c("allocs", "died")[row], NEVER)

    def test_is_not_taken_for_one_that_does_not_report(self):
        with tidemark.record(path("first.tide")):  # the op hook is built once, with a line on stderr
            pass
        with contextlib.redirect_stderr(io.StringIO()) as said, tidemark.record(path("n.tide")):
            keep = torch.empty(1000, device="tidal")
            for i in range(3):
                tidemark.step(i)
        self.assertEqual(said.getvalue(), "")
        t = tidemark.open(path("n.tide"))
        self.assertEqual(t.memory()["losses"], {})
        self.assertEqual({d["sampled"] for d in t.memory()["devices"]}, {None})
        del keep

    def test_streams(self):
        with tidemark.record(path("s.tide")):
            one = torch.empty(1234, dtype=torch.uint8, device="tidal:1")
            self.library.use_stream(1, 5)
            two = torch.empty(5678, dtype=torch.uint8, device="tidal:1")
            self.library.use_stream(1, 0)
        t = tidemark.open(path("s.tide"))
        c = t.native.column
        stream = dict(zip(c("allocs", "size"), c("allocs", "stream")))
        self.assertEqual([c("lanes", "number")[stream[n]] for n in (1280, 5888)], [0, 5])
        del one, two

    def test_out_of_memory(self):
        with tidemark.record(path("m.tide")):
            keep = torch.empty(1 << 20, dtype=torch.uint8, device="tidal:1")
            with self.assertRaisesRegex(RuntimeError, "out of memory"):
                torch.empty(64 << 20, dtype=torch.uint8, device="tidal:1")
        (failed,) = tidemark.open(path("m.tide")).ask("oom")["ooms"]
        self.assertEqual((failed["device"], failed["requested_bytes"]), ("tidal:1", 64 << 20))
        del keep

    def test_model(self):
        with tidemark.record(path("t.tide"), shapes=True):
            net = torch.nn.Linear(8, 4).to("tidal:0")
            optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, foreach=False)
            for _ in range(2):
                net(torch.ones(3, 8).to("tidal:0")).sum().backward()
                optimizer.step()
            places = {p.data_ptr(): 1 for p in net.parameters()}
            places |= {p.grad.data_ptr(): 2 for p in net.parameters()}
            places |= {s["momentum_buffer"].data_ptr(): 3 for s in optimizer.state.values()}
        self.assertEqual(self.totals("t.tide")["tidal:0"]["live_bytes"], torch.accelerator.memory_allocated(0))
        c = tidemark.open(path("t.tide")).native.column
        found = {a: r for a, r, died in zip(c("allocs", "addr"), c("allocs", "role"), c("allocs", "died")) if a in places and died == NEVER}
        self.assertEqual(found, places)

    @unittest.skipUnless(importlib.util.find_spec("pytest"), "pytest is not there")
    def test_limit_in_pytest(self):
        from tidemark import _pytest

        with tidemark.record(path("p.tide"), ops=False):
            torch.empty(5000, dtype=torch.uint8, device="tidal:1")
        self.assertEqual([_pytest.is_device(n) for n in ("tidal", "tidal:1", "tidal1", "npu", "")], [True, True, False, False, False])
        peaks = _pytest.peaks(path("p.tide"))
        self.assertEqual(peaks["tidal:1"], 5120)
        self.assertEqual(_pytest.over(peaks, {"tidal:1": 5120, "tidal:0": 0}), ("", ""))
        self.assertEqual(_pytest.over(peaks, {"tidal": 5119}), ("tidal:1", "tidal:1: 5,120 bytes above the start, the limit is 5,119"))

    def test_tracker_and_back(self):
        """The tracker's document names the device, and what reads the document calls it so."""
        with contextlib.redirect_stdout(io.StringIO()):
            tracker.initialize_memory_tracker(path("tracker"), enabled=True, interval=100)
            keep = torch.empty(999, dtype=torch.uint8, device="tidal:1")
            tracker.memory_checkpoint("now")
            own = torch.accelerator.memory_allocated(1), torch.accelerator.memory_reserved(1)
            saved = tracker.stop_memory_tracker()
        with open(saved, encoding="utf-8") as f:
            here = json.load(f)["snapshots"][-1]["device_breakdown"]["tidal:1"]
        self.assertEqual((here["total_bytes"], here["reserved_bytes"]), own)
        back = {d["device"]: d["totals"]["live_bytes"] for d in tidemark.open(saved).memory()["devices"]}
        self.assertEqual(back["tidal:1"], own[0])
        del keep


if __name__ == "__main__":
    unittest.main()
