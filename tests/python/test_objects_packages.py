# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Real packages: torch, dimtensor, pint, astropy, pandas, polars; and none of them."""
import importlib.util
import math
import subprocess
import sys
import unittest
import warnings

from objects_cases import SOURCE, needs, reach, size_of
from tidemark import objects

if importlib.util.find_spec("numpy"):
    import numpy as np


class Packages(unittest.TestCase):
    @needs("torch")
    def test_torch(self):
        import torch
        t = torch.zeros(100, 10)
        self.assertEqual(objects.memory_stats(t[2:]).data_bytes, 98 * 40)
        self.assertEqual(objects.memory_stats(t.expand(5, 100, 10)).data_bytes, 4000)
        self.assertEqual(objects.footprint([t, t[2:], t.T, t.numpy()]).by_device, {"cpu": 4000})
        a = np.zeros(50)
        self.assertEqual(objects.footprint([a, torch.from_numpy(a)]).by_device, {"cpu": 400})
        meta = torch.empty(1_000_000_000, device="meta")
        self.assertEqual(objects.memory_stats(meta).device, "meta")
        self.assertEqual(objects.memory_stats(meta).data_bytes, 4_000_000_000)
        grown = torch.zeros(10, requires_grad=True)
        grown.sum().backward()
        self.assertEqual(objects.footprint([grown]).by_device, {"cpu": 80})
        for sparse, n in ((torch.eye(10).to_sparse(), 10 * (2 * 8 + 4)), (torch.eye(10).to_sparse_csr(), 11 * 8 + 10 * 8 + 10 * 4)):
            self.assertEqual(objects.memory_stats(sparse).data_bytes, n)
            self.assertGreaterEqual(objects.footprint([sparse]).by_device["cpu"], n)  # an index may be a view of a larger storage
        if not torch.cuda.is_available():
            with self.assertRaisesRegex(RuntimeError, "CUDA not available"):
                objects.gpu_memory_stats("cuda:0")

    @needs("dimtensor")
    def test_dimtensor(self):
        from dimtensor import DimArray, units
        x = DimArray([1.0, 2.0, 3.0], units.m, uncertainty=[0.1, 0.1, 0.1])
        self.assertEqual(objects.memory_stats(x).data_bytes, 24)
        self.assertEqual(objects.memory_stats(x).metadata_bytes, sys.getsizeof(x) + size_of(reach(x._unit)))
        self.assertEqual(objects.memory_stats(x).uncertainty_bytes, 24)
        for n, most in ((1, math.inf), (10_000, 0.02)):
            self.assertLess(objects.get_overhead_ratio(DimArray(np.zeros(n), units.m)), most)
        self.assertGreater(objects.get_overhead_ratio(DimArray([1.0], units.m)), 1)
        self.assertEqual(objects.memory_stats(DimArray(5.0, units.m)).data_bytes, 8)
        self.assertEqual(objects.memory_stats(DimArray(np.float32([1, 2, 3]), units.m)).data_bytes, 12)
        self.assertIn("Memory Report for DimArray", objects.memory_report(x))
        r = objects.analyze_shared_metadata([DimArray([1.0], units.m) for _ in range(10)])
        self.assertEqual((r.unique_units, r.unique_dimensions), (1, 1))
        r = objects.analyze_shared_metadata([DimArray([1.0], u) for u in (units.m, units.s, units.kg, units.m)])
        self.assertEqual((r.unique_units, r.unique_dimensions), (3, 3))

    @needs("dimtensor")
    @needs("torch")
    def test_dimtensor_of_torch(self):
        import torch
        from dimtensor import units
        from dimtensor.torch import DimTensor
        x = DimTensor(torch.zeros(100), units.m)
        s = objects.memory_stats(x)
        self.assertEqual((s.data_bytes, s.uncertainty_bytes, s.device), (400, 0, "cpu"))
        self.assertEqual(s.metadata_bytes, sys.getsizeof(x) + size_of(reach(x._unit)))
        self.assertEqual(objects.footprint([x, x._data[1:]]).by_device, {"cpu": 400})
        self.assertEqual(objects.memory_stats(DimTensor(torch.empty(10, device="meta"), units.m)).device, "meta")

    @needs("pint")
    @needs("astropy")
    def test_arrays_that_share_a_unit_without_a_symbol(self):
        """Units of pint and astropy have no text `symbol`: their own text names them."""
        import astropy.units as u
        import pint

        meters = [np.arange(4.0) * u.m for _ in range(6)]
        self.assertIn("6 arrays share same unit 'm' - good!", objects.analyze_shared_metadata(meters).recommendations)
        one = pint.UnitRegistry().Quantity(np.zeros(4), "meter")
        shared = [one._REGISTRY.Quantity(np.zeros(4), one._units) for _ in range(6)]
        found = objects.analyze_shared_metadata(shared)
        if found.unique_units == 1:
            self.assertIn("6 arrays share same unit 'meter' - good!", found.recommendations)
        self.assertFalse([r for r in found.recommendations + objects.analyze_shared_metadata([np.zeros(3) * u.Unit("2 km")] * 2).recommendations if " at 0x" in r])

    @needs("dimtensor")
    def test_memory_stats_of_a_class_that_is_not_ours(self):
        from dimtensor import DimArray

        had = "memory_stats" in vars(DimArray)
        objects.add_memory_stats(DimArray)
        try:
            x = DimArray([1.0, 2.0, 3.0])
            self.assertEqual(x.memory_stats(), objects.memory_stats(x))
            self.assertEqual(x.memory_stats().data_bytes, 24)
        finally:
            if not had:
                del DimArray.memory_stats
        with self.assertRaises(TypeError):
            objects.add_memory_stats(int)

    @needs("pint")
    def test_pint(self):
        import pint
        s = objects.memory_stats(pint.UnitRegistry().Quantity(np.zeros(4), "m/s"))
        self.assertTrue(s.data_bytes == 32 and 0 < s.metadata_bytes < 4000, s)

    @needs("astropy")
    def test_astropy(self):
        import astropy.units as u
        s = objects.memory_stats(np.zeros(4) * u.m)
        self.assertTrue(s.data_bytes == 32 and 0 < s.metadata_bytes < 10_000, s)

    @needs("pandas")
    def test_pandas(self):
        import pandas
        frame = pandas.DataFrame({"a": np.arange(100), "b": np.zeros(100)})
        self.assertEqual(objects.memory_stats(frame).data_bytes, 1600)
        self.assertGreaterEqual(objects.footprint([frame]).by_device["cpu"], 1600)
        self.assertEqual(objects.memory_stats(frame["a"]).data_bytes, 800)

    @needs("pandas")
    def test_measuring_a_frame_leaves_it_as_it_is(self):
        """No cache is filled, indexes without a hash are no problem, and the parts add up."""
        import pandas
        frame = pandas.DataFrame({"a": np.arange(100), "b": np.zeros(100), "s": ["t"] * 100})
        copy = frame.copy()
        first = objects.memory_stats(frame)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            r = objects.analyze_shared_metadata([frame, copy])
        self.assertEqual((r.unique_units, r.recommendations), (0, []))
        self.assertIn(f"  Object overhead:  {object.__sizeof__(frame) + 16} bytes\n", objects.memory_report(frame))
        self.assertNotIn("Unit", objects.memory_report(frame))
        self.assertEqual(objects.memory_stats(frame), first)
        twice = pandas.DataFrame(np.zeros((10, 2)), columns=["x", "x"])
        self.assertEqual(objects.memory_stats(twice).data_bytes, 160)

    @needs("pandas")
    def test_the_data_of_a_frame_counts_once(self):
        import pandas
        frame = pandas.DataFrame({"a": np.zeros(100_000), "b": np.zeros(100_000)})
        s = objects.memory_stats(frame)
        self.assertEqual(s.data_bytes, 1_600_000)
        self.assertLess(s.metadata_bytes, 20_000)
        self.assertLess(objects.footprint([frame]).total_if_shared, 1_640_000)
        self.assertLess(objects.footprint([frame["a"]]).total_if_shared, 1_640_000)

    @needs("polars")
    def test_polars(self):
        import polars
        frame = polars.DataFrame({"a": list(range(100)), "b": [0.5] * 100})
        self.assertEqual(objects.memory_stats(frame).data_bytes, 1600)
        self.assertEqual(objects.footprint([frame, frame.clone()]).by_device, {"cpu": 1600})
        text = polars.DataFrame({"t": ["a long enough text"] * 100})
        self.assertEqual(objects.footprint([text]).by_device, {"cpu": text.estimated_size()})
        self.assertEqual(objects.footprint([text, polars.Series([None, 1])]).by_device["cpu"], text.estimated_size() + polars.Series([None, 1]).estimated_size())

    def test_without_packages(self):
        code = ("import sys\nfor m in ('numpy', 'torch', 'pandas', 'polars'): sys.modules[m] = None\n"
                "from tidemark import objects\nprint(objects.memory_stats(b'abc').total_bytes, objects.footprint([[1.5]]).objects)\n"
                "try: objects.gpu_memory_stats()\nexcept RuntimeError as e: print(e)")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "3 2\nPyTorch not available. Install with: pip install torch\n", done.stderr)

    @needs("numpy")
    def test_example(self):
        done = subprocess.run([sys.executable, str(SOURCE / "examples/python/objects.py")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        before, after = done.stdout.split("-- after")
        for advice in ("Many unique units (2000 for 2000 arrays)", "dimension objects created with same exponents - consider caching",
                       "Uncertainty arrays add 46.9 KB memory overhead", "Using non-SI scale factors (km, km/s) adds conversion overhead"):
            self.assertIn(advice, before)
            self.assertNotIn(advice, after)
        self.assertIn("Excellent: 2000 arrays share 2 unique units (good reuse)", after)
        self.assertIn("same heights: True", after)


if __name__ == "__main__":
    unittest.main()
