# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Overhead by size: the table and the plot."""
import importlib.util
import math
import sys
import unittest

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
        import xml.etree.ElementTree as tree
        svg = tree.fromstring(t.svg())
        self.assertEqual(len(svg.findall("{*}circle")), 3)
        self.assertEqual([e.text for e in svg.findall("{*}text")][-4:-1], ["10", "1 K", "1 B"])
        tree.fromstring(objects.overhead_by_size(lambda a: a, (10,)).svg())

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
