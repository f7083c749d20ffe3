# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Overhead by size: the table and the plot."""
import importlib.util
import math
import sys
import unittest
import xml.etree.ElementTree as tree

from objects_cases import Wrapped, needs, unit
from tidemark import objects

if importlib.util.find_spec("numpy"):
    import numpy as np


class Sizes(unittest.TestCase):
    @needs("numpy")
    def test_overhead_by_size(self):
        t = objects.overhead_by_size(lambda a: Wrapped(a, unit()), (0, 10, 1000, 1_000_000_000))
        self.assertEqual([r.data_bytes for r in t.rows], [0, 80, 8000, 8_000_000_000])
        self.assertEqual(len({r.overhead_bytes for r in t.rows}), 1)
        self.assertEqual(t.rows[1].numpy_bytes, sys.getsizeof(np.zeros(10)))
        self.assertEqual(t.rows[0].overhead_percent, math.inf)
        self.assertIn("1,000,000,000", str(t))
        if "torch" in sys.modules and not sys.modules["torch"].cuda.is_available():
            self.assertIsNone(t.rows[1].gpu_bytes)
            self.assertIn("unknown", str(t))
        svg = tree.fromstring(t.svg())
        lines, legend = svg.findall("{*}polyline"), [e.text for e in svg.findall("{*}text[@class='legend']")]
        self.assertEqual([e.text for e in svg.findall("{*}text[@class='tick']")], ["10", "1 K", "1 B"])
        self.assertEqual(legend[:2], ["wrapper", "plain NumPy array"])
        self.assertEqual(len(lines) + sum(": not " in text or ": torch is" in text for text in legend), 5)
        self.assertEqual(len(svg.findall("{*}circle")), 3 * len(lines))

    @needs("numpy")
    def test_every_series(self):
        """Absent ones are named; 0 is a point of its own."""
        full = objects.SizeTable([objects.SizeRow(10, 80, 700, 192, 160, 512, 512), objects.SizeRow(1000, 8000, 700, 8112, 8080, 8192, 8000)])
        self.assertEqual([(s.name, round(s.points[-1][1], 6)) for s in full.series()],
                         [("wrapper", 8.75), ("plain NumPy array", 1.4), ("plain torch tensor", 1.0), ("wrapper on the GPU", 2.4), ("plain tensor on the GPU", 0.0)])
        svg = tree.fromstring(full.svg())
        self.assertEqual((len(svg.findall("{*}polyline")), len(svg.findall("{*}circle")), len(svg.findall("{*}circle[@fill='none']"))), (5, 10, 1))
        few = objects.SizeTable([objects.SizeRow(10, 80, 700, 192, None, None, None)])
        legend = [e.text for e in tree.fromstring(few.svg()).findall("{*}text[@class='legend']")]
        self.assertEqual(legend[2:], ["plain torch tensor: torch is not imported", "wrapper on the GPU: not measured: no CUDA device, or no wrap_tensor",
                                      "plain tensor on the GPU: not measured: no CUDA device"])
        tree.fromstring(objects.SizeTable([]).svg())

    @needs("torch")
    def test_without_numpy(self):
        from unittest import mock

        import torch
        with mock.patch.dict(sys.modules, {"numpy": None}):
            t = objects.overhead_by_size(lambda a: Wrapped(a, unit()), (10, 1_000_000_000))
        self.assertEqual([(r.data_bytes, r.numpy_bytes) for r in t.rows], [(80, None), (8_000_000_000, None)])
        self.assertIsNotNone(torch)

    @needs("torch")
    def test_gpu_columns_of_a_device_that_is_pretended(self):
        from unittest import mock

        import torch
        held = iter((0, 512, 512, 1024) * 9)
        with mock.patch.multiple("torch.cuda", is_available=lambda: True, memory_allocated=lambda d: next(held)):
            t = objects.overhead_by_size(lambda a: Wrapped(a, None), (10,), wrap_tensor=lambda t: Wrapped(t, None), device="cpu")
            self.assertEqual((t.rows[0].gpu_bytes, t.rows[0].gpu_plain_bytes), (512, 512))
        with mock.patch.multiple("torch.cuda", is_available=lambda: True, memory_allocated=lambda d: 0):
            def refuse(tensor):
                raise torch.cuda.OutOfMemoryError

            self.assertIsNone(objects.overhead_by_size(lambda a: a, (10,), wrap_tensor=refuse, device="cpu").rows[0].gpu_bytes)


if __name__ == "__main__":
    unittest.main()
