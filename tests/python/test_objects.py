# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""tidemark.objects: exact bytes, sharing, hostile objects, reports and the profiler. Packages that are not there are skipped by name."""
import array
import dataclasses
import gc
import importlib.util
import math
import os
import pathlib
import random
import subprocess
import sys
import tracemalloc
import unittest
import warnings
from fractions import Fraction

from tidemark import _objects, objects
from tidemark.objects import _advice, _walk

SOURCE = pathlib.Path(os.environ.get("TIDE_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
SINGLES = (None, True, False, Ellipsis, NotImplemented)


def needs(name):
    return unittest.skipUnless(importlib.util.find_spec(name), f"{name} is not there")


if importlib.util.find_spec("numpy"):
    import numpy as np


@dataclasses.dataclass(frozen=True)
class Unit:
    symbol: str
    dimension: "Dimension"
    scale: float = 1.0


@dataclasses.dataclass(frozen=True)
class Dimension:
    exponents: tuple


class Wrapped(objects.MemoryStatsMixin):
    __slots__ = ("values", "unit", "sigma")

    def __init__(self, values, unit, sigma=None):
        self.values, self.unit, self.sigma = values, unit, sigma


objects.register(Wrapped, data="values", metadata="unit", uncertainty="sigma")


def unit(symbol="m", first=1, scale=1.0):
    return Unit(symbol, Dimension(tuple(Fraction(n, 1) for n in (first, 0, 0, 0, 0, 0, 0))), scale)


def reach(root):
    """The slow, obvious walk: ids of all that gc.get_referents leads to."""
    seen, todo = {}, [root]
    while todo:
        o = todo.pop()
        if id(o) in seen or isinstance(o, type) or any(o is s for s in SINGLES) or _walk.classify(type(o)) is False:
            continue
        seen[id(o)] = o
        todo += gc.get_referents(o)
        todo += o if isinstance(o, dict) else ()  # which keeps quiet about keys that are strings
    return seen


def size_of(nodes):
    return sum(sys.getsizeof(o) for o in nodes.values())


class Slotted:
    __slots__ = ("a", "b")


def random_graph(rng, n):
    made = [rng.choice([lambda: [], lambda: {}, lambda: Slotted(), lambda: rng.random(), lambda: "x" * rng.randrange(99), lambda: rng.randrange(10**30)])()
            for _ in range(n)]
    for o in made:
        for _ in range(rng.randrange(4)):
            other = rng.choice(made)
            if isinstance(o, list):
                o.append((other, rng.choice(made)) if rng.random() < 0.3 else other)
            elif isinstance(o, dict):
                o[rng.randrange(1000)] = other
            elif isinstance(o, Slotted):
                setattr(o, rng.choice("ab"), other)
    return made


class Walk(unittest.TestCase):
    def test_random_graphs_against_the_slow_walk(self):
        for seed in range(60):
            rng = random.Random(seed)
            made = random_graph(rng, rng.randrange(2, 120))
            owners = [o for o in rng.sample(made, min(len(made), rng.randrange(1, 12)))]
            sets = [reach(o) for o in owners]
            union = {k: v for s in sets for k, v in s.items()}
            alone = [size_of({k: v for k, v in s.items() if sum(k in t for t in sets) == 1}) for s in sets]
            f = objects.footprint(owners)
            with self.subTest(seed):
                self.assertEqual(f.total_if_shared, size_of(union))
                self.assertEqual(f.objects, len(union))
                self.assertEqual([o.exclusive_bytes for o in f.owners], alone)
                self.assertEqual([o.total_bytes for o in f.owners], [size_of(s) for s in sets])
                self.assertEqual(f.total_if_duplicated, sum(size_of(s) for s in sets))
                self.assertEqual(f.shared_bytes, f.total_if_shared - sum(alone))
                self.assertEqual(sum(b for _, _, b in f.by_type), f.total_if_shared)

    def test_known_structures(self):
        leaf = "abc" * 20
        tree = {"k": [leaf, leaf, (leaf, 2.5)]}
        parts = [tree, "k", tree["k"], leaf, tree["k"][2], tree["k"][2][1]]
        self.assertEqual(objects.footprint([tree]).total_if_shared, sum(map(sys.getsizeof, parts)))
        self.assertEqual(objects.footprint([]).total_if_shared, 0)
        self.assertEqual(objects.footprint([None, int, len]).total_if_shared, 0)
        same = objects.footprint([leaf, leaf])
        self.assertEqual((same.total_if_shared, same.total_if_duplicated, same.owners[0].exclusive_bytes), (sys.getsizeof(leaf), 2 * sys.getsizeof(leaf), 0))

    def test_cycles_and_depth(self):
        deep = None
        for _ in range(300_000):
            deep = [deep]
        f = objects.footprint([deep])
        self.assertEqual((f.objects, f.total_if_shared), (300_000, 300_000 * sys.getsizeof([1])))
        while deep:
            deep = deep[0]
        ring = []
        ring.append(ring)
        self.assertEqual(objects.footprint([ring]).objects, 1)

    def test_references_are_unchanged(self):
        rng = random.Random(7)
        made = random_graph(rng, 200) + [Wrapped([1.5], unit())]
        kept = [o for root in made for o in reach(root).values() if not isinstance(o, int)]  # ints count references to ints
        objects.footprint(made)
        before = [sys.getrefcount(o) for o in kept]
        for _ in range(3):
            objects.footprint(made)
        self.assertEqual([sys.getrefcount(o) for o in kept], before)

    def test_no_leak(self):
        made, counts = random_graph(random.Random(1), 100), []
        for _ in range(3):  # free lists fill up first
            for _ in range(400):
                objects.footprint(made)
            counts.append(sys.getallocatedblocks())
        self.assertLess(counts[2] - counts[1], 200)

    def test_hostile_objects(self):
        class Raises:
            def __sizeof__(self):
                raise RuntimeError("no")

        class Lies:
            def __sizeof__(self):
                return 1 << 60

        class Small:
            def __sizeof__(self):
                return -5

        class Text:
            def __sizeof__(self):
                return "many"

        class Worse(Exception):
            def __repr__(self):
                raise ValueError

        class Deep:
            def __sizeof__(self):
                raise Worse

        f = objects.footprint([Raises(), Lies(), Small(), Text(), Deep()])
        self.assertEqual(len(f.problems), 5, f.problems)
        self.assertIn("Raises: __sizeof__ failed, basic size taken: RuntimeError('no')", f.problems)
        self.assertLess(f.total_if_shared, 5000)

        class Interrupts:
            def __sizeof__(self):
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            objects.footprint([Interrupts()])

    def test_resolvers_that_fail(self):
        class Odd:
            pass

        for answer in (lambda o: 1 / 0, lambda o: [("a", 2, "cpu")], lambda o: [(1, -1, "cpu")], lambda o: [(1, 2, 3)], lambda o: [(1, 1 << 60, "cpu")]):
            w = _objects.walk([Odd()], lambda t, answer=answer: answer if t is Odd else None)
            self.assertEqual(len(w["problems"]), 1)
        self.assertEqual(_objects.walk([Odd()], lambda t: (lambda o: 5) if t is Odd else None)["problems"], [])
        with self.assertRaises(ZeroDivisionError):
            _objects.walk([Odd()], lambda t: 1 / 0)
        with self.assertRaises(TypeError):
            _objects.walk((1, 2), _walk.classify)

    def test_a_walk_that_changes_the_graph(self):
        made = []

        class Eats:
            def __sizeof__(self):
                made.clear()
                return 100

        made += [Eats(), [1, 2, 3], {"a": [4]}]
        self.assertGreater(objects.footprint([made]).total_if_shared, 100)

    def test_buffers_of_resolvers(self):
        class Held:
            pass

        f = _objects.walk([Held(), Held()], lambda t: (lambda o: [(4096, 100, "cuda:0"), (4096, 50, "cpu")]) if t is Held else None)
        self.assertEqual(sorted(f["buffers"]), [("cpu", 1, 50), ("cuda:0", 1, 100)])
        self.assertEqual(f["shared_bytes"], 150)


@needs("numpy")
class Arrays(unittest.TestCase):
    def test_views_count_their_buffer_once(self):
        a = np.zeros(1000)
        header = sys.getsizeof(a) - a.nbytes
        for view in (a[2:], a[::3], a.reshape(10, 100).T, np.broadcast_to(a, (50, 1000)), a.view("u1")):
            f = objects.footprint([a, view])
            self.assertEqual(f.by_device, {"cpu": 8000})
            self.assertEqual(f.total_if_shared, 8000 + header + sys.getsizeof(view))
            self.assertEqual(f.total_if_duplicated, 2 * (8000 + header) + sys.getsizeof(view))

    def test_foreign_memory(self):
        raw = bytes(800)
        f = objects.footprint([np.frombuffer(raw), np.frombuffer(raw)])
        self.assertEqual(f.shared_bytes, sys.getsizeof(raw))
        held = objects.footprint([memoryview(raw), raw])
        self.assertEqual(held.shared_bytes, sys.getsizeof(raw))
        import mmap
        area = mmap.mmap(-1, 4096)
        self.assertEqual(objects.footprint([np.frombuffer(area, "u1")]).by_device, {"cpu": 4096})

    def test_items_of_object_arrays(self):
        text = "y" * 500
        a = np.array([[text, None], [text, 1.5]], dtype=object)
        self.assertEqual(objects.footprint([a]).total_if_shared, sys.getsizeof(a) + sys.getsizeof(text) + sys.getsizeof(1.5))

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
        with self.assertRaisesRegex(TypeError, "register expects a class"):
            objects.register(5, data="x")

    def test_shared_is_identity_in_the_set(self):
        u = unit()
        a, b, c = Wrapped(np.zeros(3), u), Wrapped(np.zeros(3), u), Wrapped(np.zeros(3), unit())
        self.assertTrue(objects.memory_stats(a, [a, b]).shared_metadata)
        self.assertFalse(objects.memory_stats(a, [a, c]).shared_metadata)
        self.assertIn("Shared:      unknown", objects.memory_report(a))

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

    def test_equal_dimensions_of_different_units(self):
        m, km = unit("m"), unit("km", scale=1000.0)
        r = objects.analyze_shared_metadata([Wrapped(np.zeros(3), m), Wrapped(np.zeros(3), km)])
        both, one = size_of({**reach(m.dimension), **reach(km.dimension)}), size_of(reach(m.dimension))
        self.assertEqual((r.unique_units, r.unique_dimensions, r.sharing_potential), (2, 2, both - one))
        self.assertIn("Using non-SI scale factors (km) adds conversion overhead", r.recommendations)

    def test_list_report(self):
        u, a = unit(), np.zeros(1000)
        text = objects.memory_report([Wrapped(a, u, np.zeros(1000)), Wrapped(a[10:], u)])
        for line in ("Array 0:", "Summary for 2 arrays:", "Total data:        7.8 KB", "Total uncertainty: 7.8 KB", "  if duplicated:   "):
            self.assertIn(line, text)
        self.assertNotIn("Array 0:", objects.memory_report([a], detailed=False))

    def test_equality_that_fails(self):
        class Bad:
            def __eq__(self, other):
                raise RuntimeError

            def __hash__(self):
                return 1

        r = objects.analyze_shared_metadata([Wrapped(np.zeros(3), Bad()) for _ in range(3)])
        self.assertEqual((r.unique_units, r.sharing_potential), (3, 0))

    def test_nbytes_that_fails(self):
        class Data:
            @property
            def nbytes(self):
                raise RuntimeError("gone")

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            self.assertEqual(objects.memory_stats(Wrapped(Data(), None)).device, "unknown")
        self.assertIn("bytes of Data cannot be found", str(told[0].message))

    def test_many_small_arrays(self):
        u = unit()
        many = [Wrapped(np.zeros(3), u) for _ in range(20_000)]
        f = objects.footprint(many)
        one = sys.getsizeof(many[0]) + sys.getsizeof(many[0].values)
        self.assertEqual(f.total_if_shared, 20_000 * one + size_of(reach(u)))
        self.assertEqual(f.total_if_duplicated, 20_000 * (one + size_of(reach(u))))

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


class Profiler(unittest.TestCase):
    def test_figures_stay(self):
        with objects.MemoryProfiler() as p:
            kept = [bytes(1000) for _ in range(100)]
            p.mark("kept")
            dropped = bytes(1_000_000)
            del dropped
        s = p.get_stats()
        self.assertFalse(tracemalloc.is_tracing())
        self.assertTrue(100_000 < s.current_bytes < 200_000, s.current_bytes)
        self.assertTrue(1_100_000 < s.peak_bytes < 1_300_000, s.peak_bytes)
        self.assertGreater(p.growth[0][1], 100_000)
        self.assertEqual(s.top_allocations[0].file, __file__)
        for line in ("Memory Profiling Results", "Current memory: ", "Peak memory:    1.", "Top allocations:", "  1. "):
            self.assertIn(line, p.report())
        self.assertEqual(len(kept), 100)
        with self.assertRaises(RuntimeError):
            p.mark("late")

    def test_tracing_of_others_goes_on(self):
        tracemalloc.start(3)
        try:
            theirs = bytes(500_000)
            peak = tracemalloc.get_traced_memory()[1]
            with objects.MemoryProfiler() as p:
                mine = bytes(100_000)
                p.reset_peak()
            self.assertTrue(tracemalloc.is_tracing())
            self.assertEqual(tracemalloc.get_traceback_limit(), 3)
            self.assertIsNotNone(tracemalloc.get_object_traceback(theirs))
            self.assertGreaterEqual(tracemalloc.get_traced_memory()[1], peak)
            self.assertTrue(100_000 <= p.get_stats().current_bytes < 400_000, p.get_stats())
            self.assertEqual(len(mine), 100_000)
        finally:
            tracemalloc.stop()

    def test_reset_peak(self):
        with objects.MemoryProfiler() as p:
            high = bytes(1_000_000)
            del high
            p.reset_peak()
        self.assertLess(p.get_stats().peak_bytes, 500_000)


class Advice(unittest.TestCase):
    def test_gpu(self):
        full = objects.GPUMemoryStats("cuda:0", 80, 86, 200, 0)
        self.assertEqual(objects.gpu_recommendations(full, 100)[:2], ["GPU memory 86% full, consider cpu offloading", "Peak memory exceeded allocation by 120 bytes"])
        self.assertEqual(objects.gpu_recommendations(objects.GPUMemoryStats("cuda:0", 80, 84, 81, 0), 100), [])

    @needs("torch")
    def test_gpu_stats_of_a_device_that_is_pretended(self):
        from unittest import mock

        import torch
        held = Wrapped(torch.zeros(10), unit())
        with mock.patch.multiple("torch.cuda", is_available=lambda: True, current_device=lambda: 1, memory_allocated=lambda d: 100,
                                 memory_reserved=lambda d: 200, max_memory_allocated=lambda d: 300):
            self.assertEqual(objects.gpu_memory_stats(), objects.GPUMemoryStats("cuda:0", 100, 200, 300, 0))
            self.assertEqual(objects.gpu_memory_stats("cuda").device, "cuda:1")
            self.assertGreaterEqual(objects.gpu_memory_stats("cpu").dimtensor_estimate, 40)  # found among all objects
            self.assertEqual(objects.gpu_memory_stats("cpu", [held, held]).dimtensor_estimate, 40)

    def test_wrapper_whose_sizeof_fails(self):
        class Bad(Wrapped):
            def __sizeof__(self):
                raise RuntimeError("no")

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            self.assertEqual(objects.memory_stats(Bad(b"abc", None)).metadata_bytes, Bad.__basicsize__)
            self.assertIn("Problems:", objects.memory_report([Bad(b"abc", None)]))
        self.assertIn("__sizeof__ of Bad failed", str(told[0].message))

    def test_sizes(self):
        self.assertEqual([_advice.size(n) for n in (0, 1023, 1024, 1024**2, 1024**3)], ["0 bytes", "1023 bytes", "1.0 KB", "1.0 MB", "1.00 GB"])

    def test_fields(self):
        names = {c.__name__: [f.name for f in dataclasses.fields(c)] for c in (objects.GPUMemoryStats, objects.ProfileStats)}
        self.assertEqual(names["GPUMemoryStats"], ["device", "allocated_bytes", "reserved_bytes", "peak_bytes", "dimtensor_estimate"])
        self.assertEqual(names["ProfileStats"], ["current_bytes", "peak_bytes", "top_allocations"])


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
        r = objects.analyze_shared_metadata([DimArray([1.0], u) for u in (units.m, units.s, units.kg, units.m)])
        self.assertEqual((r.unique_units, r.unique_dimensions), (3, 3))

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
        self.assertIn("Many unique units (1000 for 1000 arrays)", before)
        self.assertIn("Excellent: 1000 arrays share 1 unique units (good reuse)", after)


if __name__ == "__main__":
    unittest.main()
