# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Figures of wrappers, what they share, and the reports and recommendations about them."""
import array
import dataclasses
import importlib.util
import math
import sys
import unittest

from objects_cases import Wrapped, needs, reach, size_of, unit
from tidemark import objects
from tidemark.objects import _advice

if importlib.util.find_spec("numpy"):
    import numpy as np


@needs("numpy")
class Stats(unittest.TestCase):
    def test_stats(self):
        s = objects.memory_stats(np.zeros(3))
        self.assertEqual(s, objects.MemoryStats(24, 0, 0, 24, 0.0, None, "cpu"))
        u = unit()
        w = Wrapped(np.zeros(3), u, np.ones(3))
        deep = sys.getsizeof(w) + size_of(reach(u))
        s = w.memory_stats()
        self.assertEqual(s, objects.MemoryStats(24, deep, 24, deep + 48, deep / 24, None, "cpu"))
        self.assertEqual(objects.metadata_overhead(w), deep + 24)
        self.assertEqual(objects.calculate_metadata_size(w), deep + 24)
        self.assertEqual(objects.memory_overhead(w), objects.ComparisonStats(24, deep + 48, deep + 24, (deep + 24) / 24 * 100))
        self.assertEqual(objects.without_uncertainty(w).overhead_bytes, deep)
        self.assertEqual(objects.get_overhead_ratio(w), deep / 24)

    def test_edges(self):
        self.assertEqual(objects.memory_stats(np.float32([1, 2, 3])).data_bytes, 12)
        self.assertEqual(objects.memory_stats(np.array(1.0)).data_bytes, 8)
        self.assertEqual(objects.memory_stats(np.broadcast_to(np.zeros(3), (1000, 3))).data_bytes, 24)
        empty = Wrapped(np.zeros(0), unit())
        self.assertEqual((objects.get_overhead_ratio(empty), objects.compare_to_baseline(empty).overhead_percent), (math.inf, math.inf))
        self.assertIn("Overhead:    100.0% of the total", objects.memory_report(empty))
        large = Wrapped(np.broadcast_to(np.zeros((1,)), (1 << 28,)), unit())
        self.assertEqual(objects.memory_stats(large).data_bytes, 8)
        big = Wrapped(np.empty(150_000_000), unit())  # 1.2 GB of address space, no page of it touched
        self.assertEqual(objects.memory_stats(big).data_bytes, 1_200_000_000)
        self.assertIn("Data:        1.12 GB", objects.memory_report(big))
        self.assertIn("Excellent: Metadata overhead is only 0.00% for large array", objects.memory_report(big))
        with self.assertRaisesRegex(TypeError, "Expected DimArray or DimTensor, got int"):
            objects.memory_stats(5)
        twice = Wrapped(np.zeros(3), unit())
        self.assertEqual(objects.analyze_shared_metadata([twice, twice]).total_metadata_bytes, objects.analyze_shared_metadata([twice]).total_metadata_bytes)
        with self.assertRaisesRegex(TypeError, "device must be a number or a name"):
            objects.gpu_memory_stats(1.5)
        with self.assertRaisesRegex(TypeError, "register expects a class"):
            objects.register(5, data="x")

    def test_metadata_that_leads_back(self):
        """To its wrapper, to the data, to the uncertainty or to a view of them: nothing is counted twice."""
        class Meta:
            __slots__ = ("to", "symbol")

        for lead in (lambda w: w, lambda w: w.values, lambda w: w.sigma, lambda w: [w, (w.values, w.sigma)], lambda w: w.values.base):
            m = Meta()
            w = Wrapped(np.zeros(1000)[:], m, np.zeros(1000))
            m.symbol, m.to = "m", lead(w)
            own = sys.getsizeof(w) + sys.getsizeof(m) + sys.getsizeof("m") + (sum(map(sys.getsizeof, (m.to, m.to[1]))) if isinstance(m.to, list) else 0)
            self.assertEqual(objects.memory_stats(w), objects.MemoryStats(8000, own, 8000, 16_000 + own, own / 8000, None, "cpu"))
            self.assertEqual(objects.analyze_shared_metadata([w, w]).total_metadata_bytes, own)
            self.assertIn(f"  Metadata: {_advice.size(own)}\n", objects.memory_report([w, Wrapped(np.zeros(3), m)]))
            self.assertIn(f"  Object overhead:  {sys.getsizeof(w)} bytes", objects.memory_report(w))
        m.to = w.values[5:]
        view = sys.getsizeof(m.to)
        self.assertEqual(objects.memory_stats(w).metadata_bytes, sys.getsizeof(w) + sys.getsizeof(m) + sys.getsizeof("m") + view)

    def test_wrappers_as_metadata_of_each_other(self):
        a, b = Wrapped(np.zeros(1000), None), Wrapped(np.zeros(1000), None)
        a.unit, b.unit = b, a
        self.assertEqual(objects.memory_stats(a).metadata_bytes, sys.getsizeof(a) + sys.getsizeof(b) + sys.getsizeof(b.values))
        self.assertEqual(objects.analyze_shared_metadata([a, b]).total_metadata_bytes, 2 * sys.getsizeof(a))

    def test_dataclass(self):
        @dataclasses.dataclass
        class Field:
            values: object
            name: str
            uncertainty: object = None

        s = objects.memory_stats(Field(np.zeros(4), "wind", np.zeros(2)))
        self.assertEqual((s.data_bytes, s.uncertainty_bytes), (32, 16))
        self.assertEqual(objects.memory_stats(array.array("d", [1, 2])).data_bytes, 16)
        self.assertEqual(objects.memory_stats(b"abc").data_bytes, 3)

    def test_fields(self):
        names = {c.__name__: [f.name for f in dataclasses.fields(c)] for c in (objects.GPUMemoryStats, objects.ProfileStats)}
        self.assertEqual(names["GPUMemoryStats"], ["device", "allocated_bytes", "reserved_bytes", "peak_bytes", "dimtensor_estimate"])
        self.assertEqual(names["ProfileStats"], ["current_bytes", "peak_bytes", "top_allocations"])


@needs("numpy")
class Sharing(unittest.TestCase):
    def test_shared_is_identity_in_the_set(self):
        u = unit()
        a, b, c = Wrapped(np.zeros(3), u), Wrapped(np.zeros(3), u), Wrapped(np.zeros(3), unit())
        self.assertTrue(objects.memory_stats(a, [a, b]).shared_metadata)
        self.assertFalse(objects.memory_stats(a, [a, c]).shared_metadata)
        self.assertIn("Shared:      unknown", objects.memory_report(a))
        good = "  - Good: Unit/Dimension objects are shared (low memory overhead)"
        self.assertIn(good, objects.memory_report(a, among=[a, b]))
        self.assertIn("Shared:      Yes", objects.memory_report(a, among="live"))
        self.assertIn("Shared:      No", objects.memory_report(c, among="live"))
        self.assertNotIn(good, objects.memory_report(c, among=[a, b, c]))

    def test_sharing_report(self):
        self.assertEqual(objects.analyze_shared_metadata([]), objects.SharedMetadataReport(0, 0, 0, 0, 0, []))
        u = unit()
        r = objects.analyze_shared_metadata([Wrapped(np.zeros(3), u) for _ in range(10)])
        self.assertEqual((r.num_arrays, r.unique_units, r.unique_dimensions, r.sharing_potential), (10, 1, 1, 0))
        self.assertIn("Excellent: 10 arrays share 1 unique units (good reuse)", r.recommendations)
        self.assertIn("10 arrays share same unit 'm' - good!", r.recommendations)
        self.assertIn("10/10 arrays are small (<1KB data)", r.recommendations)
        units = [unit() for _ in range(50)]
        r = objects.analyze_shared_metadata([Wrapped(np.zeros(3), u) for u in units])
        every = {k: v for u in units for k, v in reach(u).items()}
        self.assertEqual(r.shared_savings_bytes, size_of(every) - size_of(reach(units[0])))
        self.assertIn("50 dimension objects created with same exponents - consider caching", r.recommendations)
        self.assertIn("Many unique units (50 for 50 arrays)", r.recommendations)

    def test_unit_advice_is_for_units(self):
        class Frame:
            def __init__(self, names):
                self.values, self.names = np.zeros(3), names

        objects.register(Frame, data="values", metadata="names")
        r = objects.analyze_shared_metadata([Frame([f"column {i}"]) for i in range(10)])
        self.assertEqual((r.unique_units, r.unique_dimensions), (0, 0))
        self.assertFalse([x for x in r.recommendations if "unit" in x], r.recommendations)
        r = objects.analyze_shared_metadata([Wrapped(np.zeros(3), f"unit {i}") for i in range(10)])
        self.assertEqual(r.recommendations[:2], ["Many unique units (10 for 10 arrays)", "Consider making each unit once and using it again"])

    def test_equal_dimensions_of_different_units(self):
        m, km = unit("m"), unit("km", scale=1000.0)
        r = objects.analyze_shared_metadata([Wrapped(np.zeros(3), m), Wrapped(np.zeros(3), km)])
        both, one = size_of({**reach(m.dimension), **reach(km.dimension)}), size_of(reach(m.dimension))
        self.assertEqual((r.unique_units, r.unique_dimensions, r.sharing_potential), (2, 2, both - one))
        self.assertIn("Using non-SI scale factors (km) adds conversion overhead", r.recommendations)

    def test_list_report(self):
        u, a = unit(), np.zeros(1000)
        text = objects.memory_report([Wrapped(a, u, np.zeros(1000)), Wrapped(a[10:], u)])
        for line in ("Array 0:", "Summary for 2 arrays:", "Total data:        7.8 KB", "Total uncertainty: 7.8 KB", "  if duplicated:   ", "Overhead:          10", "  without uncertainty: "):
            self.assertIn(line, text)
        self.assertNotIn("Array 0:", objects.memory_report([a], detailed=False))

    def test_sizes(self):
        self.assertEqual([_advice.size(n) for n in (0, 1023, 1024, 1024**2, 1024**3)], ["0 bytes", "1023 bytes", "1.0 KB", "1.0 MB", "1.00 GB"])


class Caches(unittest.TestCase):
    def test_hashes_that_are_kept_do_not_count(self):
        """Comparing metadata asks for hashes; some objects keep them, as pint's units do."""
        class Keeps:
            __slots__ = ("kept",)

            def __hash__(self):
                self.kept = [0] * 1000
                return 1

            def __eq__(self, other):
                return type(other) is Keeps

        first = objects.memory_stats(Wrapped(bytes(8), Keeps())).metadata_bytes
        report = objects.analyze_shared_metadata([Wrapped(bytes(8), Keeps())])
        self.assertEqual(report.total_metadata_bytes, first)
        twice = objects.analyze_shared_metadata([Wrapped(bytes(8), Keeps()), Wrapped(bytes(8), Keeps())])
        self.assertGreater(twice.shared_savings_bytes, 8000)  # with what each keeps by then


class Devices(unittest.TestCase):
    def test_gpu(self):
        full = objects.GPUMemoryStats("cuda:0", 80, 86, 200, 0)
        self.assertEqual(objects.gpu_recommendations(full, 100)[:2], ["GPU memory 86% full, consider cpu offloading", "Peak memory exceeded allocation by 120 bytes"])
        self.assertEqual(objects.gpu_recommendations(objects.GPUMemoryStats("cuda:0", 80, 84, 81, 0), 100), [])
        self.assertEqual(objects.gpu_recommendations(objects.GPUMemoryStats("xpu:0", 80, 84, 81, 0)), [])

    @needs("torch")
    def test_capacity_of_a_device_that_is_pretended(self):
        from types import SimpleNamespace
        from unittest import mock

        import torch
        with mock.patch.multiple("torch.cuda", is_available=lambda: True, get_device_properties=lambda d: SimpleNamespace(total_memory=100)):
            self.assertEqual(objects.gpu_recommendations(objects.GPUMemoryStats("cuda:0", 80, 90, 81, 0)), ["GPU memory 90% full, consider cpu offloading"])
        self.assertIsNotNone(torch)

    @needs("torch")
    def test_gpu_stats_of_a_device_that_is_pretended(self):
        from unittest import mock

        import torch
        held = Wrapped(torch.zeros(10), unit())
        with mock.patch.multiple("torch.cuda", is_available=lambda: True, current_device=lambda: 1, memory_allocated=lambda d: 100,
                                 memory_reserved=lambda d: 200, max_memory_allocated=lambda d: 300):
            self.assertEqual(objects.gpu_memory_stats(), objects.GPUMemoryStats("cuda:0", 100, 200, 300, 0))
            self.assertEqual(objects.gpu_memory_stats("cuda").device, "cuda:1")
        with mock.patch("tidemark.objects._stats._counted", lambda name, torch: (100, 200, 300)):
            self.assertGreaterEqual(objects.gpu_memory_stats("cpu").dimtensor_estimate, 40)  # found among all objects
            self.assertEqual(objects.gpu_memory_stats("cpu", [held, held]).dimtensor_estimate, 40)

    @needs("torch")
    def test_gpu_stats_of_a_recording(self):
        import tempfile

        import tidemark
        import torch
        from tidemark import _native as native
        if torch.cuda.is_available():
            self.skipTest("PyTorch's own counters are there")
        with tempfile.TemporaryDirectory() as folder:
            with tidemark.record(f"{folder}/r.tide", torch=False):
                pool = native.pool(native.device(2, 0), 1)
                native.alloc(pool, 4096, 100)
                native.alloc(pool, 8192, 50)
                native.free(pool, 4096)
                s = objects.gpu_memory_stats("cuda:0", [])
                self.assertEqual((s.device, s.allocated_bytes, s.peak_bytes, s.dimtensor_estimate), ("cuda:0", 50, 150, 0))
                self.assertEqual(objects.gpu_memory_stats("cuda", []), s)
                with self.assertRaisesRegex(RuntimeError, "xpu:3: no recording in progress has this device"):
                    objects.gpu_memory_stats("xpu:3")
        with self.assertRaisesRegex(RuntimeError, "CUDA not available"):
            objects.gpu_memory_stats(0)


if __name__ == "__main__":
    unittest.main()
