# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""MemoryUsageTracker: its text, its errors, the example's training loop with --track_memory, and NO_DISPATCH, which takes no memory."""
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import tidemark
import torch_fork

SOURCE = pathlib.Path(os.environ.get("TIDE_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
PHASES = ["MODEL_CREATION", "OPTIMIZER_CREATION", "FORWARD_PASS", "BACKWARD_PASS", "FIRST_ITERATION_COMPLETE"]
PHASE = re.compile(r"--- (.+) ---\n"
                   r"  DRAM: Segment Peak (\d+\.\d\d) MB, Allocations (\d+\.\d\d) MB, Deallocations (\d+\.\d\d) MB, Segment Change ([+-]\d+\.\d\d) MB\n"
                   r"  DRAM: Cumulative Peak (\d+\.\d\d) MB, Cumulative Current (\d+\.\d\d) MB\n"
                   r"  L1: Peak CB 0\.00 MB, Peak Buffer 0\.00 MB, Peak Total 0\.00 MB\n")
LOOP = """
import resource, sys
import torch, torch.nn as nn
from tidemark import MemoryUsageTracker as T, RunMode
width = int(sys.argv[2])
guard = T.begin_capture(RunMode[sys.argv[1]])
model = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width)).to("cpu")
T.snapshot("MODEL_CREATION")
optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
T.snapshot("OPTIMIZER_CREATION")
loss = model(torch.zeros(64, width)).pow(2).mean()
T.snapshot("FORWARD_PASS")
loss.backward()
T.snapshot("BACKWARD_PASS")
optimizer.step()
optimizer.zero_grad()
value = loss.item()
f"{loss:.3f}"
flat = model(torch.zeros(2, width)).detach()
assert flat[flat > 0].dim() == 1 and flat.numpy().shape == (2, width) and len(flat[:, :9].tolist()) == 2
T.end_capture("FIRST_ITERATION_COMPLETE")
T.print_memory_usage()
for name, figures in T.get_memory_usage_all():
    print("bytes", name, figures["segment_change_bytes"], figures["segment_peak_bytes"])
guard.release()
T.clear()
print("most", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, type(torch.zeros(1)).__name__, value)
"""

KERNELS = """
import os, sys
import torch, torch.nn.functional as F
from tidemark import MemoryUsageTracker as T, RunMode
x, q, image, filters = torch.ones(500, 500), torch.ones(2, 4, 256, 64), torch.ones(2, 16, 32, 32), torch.ones(32, 16, 3, 3)
mask, half = x > 0, x.bfloat16()
guard = T.begin_capture(RunMode[sys.argv[1]])
STEPS = {"VIEWS": lambda: x.t() @ x, "MASK": lambda: x[mask], "SUM": lambda: mask.sum(), "ATTENTION": lambda: F.scaled_dot_product_attention(q, q, q),
         "CAST": lambda: half + x, "CONVOLUTION": lambda: F.conv2d(image, filters)}
for name, step in STEPS.items():
    y = step()
    del y
    T.snapshot(name)
if sys.argv[1] == "NO_DISPATCH":
    made = torch.nn.Linear(3, 4)
    torch.save({"model": made.state_dict(), "n": 7}, sys.argv[2])
    assert not os.path.exists(sys.argv[2]) and torch.load(sys.argv[2])["model"]["weight"].shape == (4, 3)
    torch.save({"x": x}, sys.argv[2])  # real
    assert os.path.getsize(sys.argv[2]) > 900_000
T.end_capture("END")
T.print_memory_usage()
print("figures", [(name, figures["segment_peak_bytes"]) for name, figures in T.get_memory_usage_all()])
"""


def run(code: str, *args: object) -> str:
    done = torch_fork.run(code, *map(str, args))
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def check(test: unittest.TestCase, text: str) -> None:
    """Names in order, and the 3 relations up to the rounding of two decimals."""
    rows = PHASE.findall(text)
    test.assertEqual([r[0] for r in rows], PHASES, text)
    current = peak = 0.0
    for _, seg, up, down, change, most, now in rows:
        test.assertAlmostEqual(float(change), float(up) - float(down), delta=0.02)
        test.assertAlmostEqual(float(now), current + float(change), delta=0.02)
        test.assertAlmostEqual(float(most), max(peak, current + float(seg)), delta=0.02)
        current, peak = float(now), float(most)
    test.assertRegex(text, rf"\n=== Final Totals ===\nOverall DRAM Peak: {peak:.2f} MB, Final DRAM Usage: {current:.2f} MB\n")


class Faces(unittest.TestCase):
    def test_errors(self) -> None:
        T = tidemark.MemoryUsageTracker
        with self.assertRaisesRegex(RuntimeError, "snapshot without an active capture"):
            T.snapshot("A")
        T.end_capture()  # nothing happens
        with T.begin_capture():
            with self.assertRaisesRegex(RuntimeError, "MemoryUsageTracker: Capture already active"):
                T.begin_capture()
            T.snapshot("A")
            T.snapshot("A")
            T.end_capture()
            with self.assertRaisesRegex(ValueError, "ambiguous"):
                T.get_memory_usage("A")
            self.assertEqual([n for n, _ in T.get_memory_usage_all()], ["A", "A", "END_TRACE"])
            with self.assertRaises(KeyError):
                T.get_memory_usage("B")
        self.assertEqual(T.get_memory_usage_all(), [])  # the guard cleared it

    def test_snapshots_without_memory(self) -> None:
        T = tidemark.MemoryUsageTracker
        with T.begin_capture():
            T.snapshot("A")
            T.end_capture("B")
            out = io.StringIO()
            T.print_memory_usage(out)
            self.assertEqual([(r[0], r[1], r[4]) for r in PHASE.findall(out.getvalue())], [("A", "0.00", "+0.00"), ("B", "0.00", "+0.00")])
            self.assertIn("Overall DRAM Peak: 0.00 MB, Final DRAM Usage: 0.00 MB\n", out.getvalue())
            self.assertEqual(set(T.get_memory_usage("A").values()), {0})

    def test_captures_in_a_recording(self) -> None:
        """A capture shows its own snapshots, and a guard ends its own capture only."""
        T = tidemark.MemoryUsageTracker
        with tempfile.TemporaryDirectory() as folder, tidemark.record(pathlib.Path(folder, "r.tide")):
            for name in ("A", "B"):
                guard = T.begin_capture()  # drops the guard before
                T.snapshot(name)
                T.end_capture(name)
                self.assertEqual([n for n, _ in T.get_memory_usage_all()], [name, name])
                out = io.StringIO()
                T.print_memory_usage(out)
                self.assertEqual([r[0] for r in PHASE.findall(out.getvalue())], ["(before the capture)", name, name])
            guard.release()
            T.clear()


@unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not there")
class Training(unittest.TestCase):
    def test_example(self) -> None:
        example = f"import runpy\nrunpy.run_path({str(SOURCE / 'examples' / 'train_gpt.py')!r}, run_name='__main__')"
        out = run(example, "--track_memory", "--steps", 2, "--device", "cpu")
        check(self, out)
        self.assertIn("Total parameters: ", out)
        self.assertNotIn("===", run(example, "--steps", 1, "--device", "cpu"))

    def test_tensors_from_before(self) -> None:
        """Tensors from before the capture are no allocations of its first phase, and the report of the recording names them."""
        code = """
import json, sys, torch, tidemark
before = torch.zeros(1 << 20)
T = tidemark.MemoryUsageTracker
guard = T.begin_capture(path=sys.argv[1])
T.snapshot("EMPTY")
kept = torch.zeros(1 << 18)
T.snapshot("ONE")
del before
T.end_capture("GONE")
print(json.dumps(T.get_memory_usage_all()))
T.print_memory_usage(sys.stderr)
guard.release()
"""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "u.tide")
            done = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True, timeout=300, check=True)
            figures = {name: (f["allocations_bytes"], f["deallocations_bytes"], f["cumulative_current_bytes"]) for name, f in json.loads(done.stdout)}
            start = figures["EMPTY"][2]  # and what importing torch keeps
            self.assertGreaterEqual(start, 4 << 20)
            self.assertEqual(figures, {"EMPTY": (0, 0, start), "ONE": (1 << 20, 0, start + (1 << 20)), "GONE": (0, 4 << 20, start - (3 << 20))})
            self.assertEqual([r[0] for r in PHASE.findall(done.stderr)], ["(before the capture)", "EMPTY", "ONE", "GONE"])
            first = tidemark.open(file).phases()["phases"][0]["memory"][0]
            self.assertEqual((first["before_bytes"], first["allocations_bytes"]), (start, start))
            alive = tidemark.open(file).peak(group_by="op")["groups"]
            self.assertEqual([g["bytes"] for g in alive if "before the recording" in str(g)], [start])

    def test_no_dispatch(self) -> None:
        """The same bytes as a real run, phase by phase; nothing is taken or computed; torch is itself again afterwards."""
        real, virtual = run(LOOP, "NORMAL", 512), run(LOOP, "NO_DISPATCH", 512)
        check(self, virtual)
        figures = [[line.split()[1:3] for line in out.splitlines() if line.startswith("bytes ")] for out in (real, virtual)]
        self.assertEqual(*figures)
        self.assertTrue(virtual.splitlines()[-1].endswith("Tensor 0.0"), virtual)

    def test_temporaries_of_kernels(self) -> None:
        """Those that are known are in the bytes, to some numbers and sums per thread; ops with others are named. What is saved has no file."""
        with tempfile.TemporaryDirectory() as folder:
            real, virtual = (run(KERNELS, mode, pathlib.Path(folder) / "x.pt") for mode in ("NORMAL", "NO_DISPATCH"))
        (r, v) = (dict(eval(out.splitlines()[-1].removeprefix("figures "))) for out in (real, virtual))
        for name in "VIEWS", "MASK", "SUM", "ATTENTION", "CAST":
            self.assertLessEqual(abs(r[name] - v[name]), 512, (name, r, v))
        self.assertGreater(r["CONVOLUTION"], v["CONVOLUTION"])
        self.assertIn("\nNot exact: aten::convolution: temporaries inside its CPU kernel are not counted;", virtual)
        self.assertNotIn("Not exact", real)

    def test_larger_than_the_machine(self) -> None:
        out = run(LOOP, "NO_DISPATCH", 65536)  # 16 GiB a layer, more than 100 GiB with its optimizer's state
        rows = {r[0]: r for r in PHASE.findall(out)}
        self.assertEqual(rows["MODEL_CREATION"][4], f"+{2 * (65536 * 65536 + 65536) * 4 / (1 << 20):.2f}")
        self.assertGreater(float(rows["FIRST_ITERATION_COMPLETE"][5]), 120_000)
        self.assertLess(int(out.splitlines()[-1].split()[1]), 2 << 20)  # KiB


if __name__ == "__main__":
    unittest.main()
