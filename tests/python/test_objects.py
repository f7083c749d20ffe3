# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""tidemark.objects: exact bytes, sharing, hostile objects, reports and the profiler. Packages that are not there are skipped by name."""
import array
import dataclasses
import gc
import importlib.util
import json
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
from tidemark.objects import _advice, _duplicates, _slow, _snapshot, _walk

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

    def test_interrupted_at_every_question(self):
        """Ctrl-C while a resolver, __sizeof__ or classify runs: the walk ends, references stay as they were."""
        class Node:
            def __init__(self, *to):
                self.to = to

            def __sizeof__(self):
                ask()
                return 64

        shared = [Node(Node(), Node()), Node()]
        owners = [Node(Node(), *shared), Node(*shared), Node(*shared, Node()), Node(*shared, *(Node() for _ in range(6)))]
        left = [0]

        def ask(*_):
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt

        def resolver(o):
            ask()
            return [*o.to, (id(o), 10, "cpu")]

        def classify(t):
            ask()
            return resolver if t is Node else None

        before = [sys.getrefcount(o) for o in [*owners, *shared]]
        for n in range(1, 1000):
            left[0] = n
            try:
                _objects.walk(owners, classify)
                break
            except KeyboardInterrupt:
                continue
        self.assertGreater(n, 40)
        self.assertEqual([sys.getrefcount(o) for o in [*owners, *shared]], before)

    def test_signals_are_seen(self):
        import signal

        def ring(*_):
            raise TimeoutError

        many = [float(n) for n in range(3_000_000)]
        old = signal.signal(signal.SIGALRM, ring)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            with self.assertRaises(TimeoutError):
                for _ in range(100):
                    objects.footprint([many])
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, old)

    def test_without_memory(self):
        """Whatever fails for want of memory is a MemoryError, and the process goes on."""
        code = ("import resource\nfrom tidemark import _objects\nmany = [float(n) for n in range(400_000)]\nplain = lambda t: None\n"
                "now = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\nfailed = 0\n"
                "for room in range(0, 200_000_000, 2_000_000):\n    resource.setrlimit(resource.RLIMIT_AS, (now + room, -1))\n"
                "    try: n = _objects.walk([many, many], plain)['nodes']\n    except MemoryError: failed += 1\n"
                "    else: break\nprint(failed > 3, n)")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "True 400001\n", done.stderr)

    def test_a_walk_that_changes_the_graph(self):
        made = []

        class Eats:
            def __sizeof__(self):
                made.clear()
                return 100

        made += [Eats(), [1, 2, 3], {"a": [4]}]
        self.assertGreater(objects.footprint([made]).total_if_shared, 100)

    def test_who_shares(self):
        big, unused = "z" * 10_000, "y" * 5000
        f = objects.footprint([[big], [big, 1.5], [unused], (big,)])
        self.assertEqual(f.largest_shared, [objects.SharedNode("str", sys.getsizeof(big), [0, 1, 3], 3)])
        many = objects.footprint([[big] for _ in range(40)])
        self.assertEqual((many.largest_shared[0].owners, many.largest_shared[0].owner_count), (list(range(16)), 40))
        texts = [f"{'t' * n}" for n in range(100, 200)]
        f = objects.footprint([[texts], [texts]])
        self.assertEqual([r.bytes for r in f.largest_shared], sorted((sys.getsizeof(o) for o in [texts, *texts]), reverse=True)[:64])

    def test_owners_are_a_sequence(self):
        f = objects.footprint([["a" * 99], [2.5]])
        one, two = f.owners
        self.assertEqual(f.owners, [one, two])
        self.assertNotEqual(f.owners, [two, one])
        self.assertNotEqual(f.owners, 5)
        self.assertEqual((f.owners[-1], f.owners[:1], len(f.owners)), (two, [one], 2))
        self.assertIn("Owner(exclusive_bytes=", repr(f.owners))
        self.assertIn("...", repr(objects.footprint([[] for _ in range(11)]).owners))

    def test_reached_and_total(self):
        text, n = "q" * 70, 10**30
        made = [text, {"k": (text, n)}]
        self.assertEqual(_objects.reached([made], _walk.classify, frozenset({int})), [n])
        self.assertEqual(_objects.total([made], _walk.classify), objects.footprint([made]).total_if_shared)
        with self.assertRaises(TypeError):
            _objects.reached([made], _walk.classify, [int])

    def test_types_that_die_between_walks(self):
        for i in range(600):  # more than the engine remembers
            made = type(f"T{i}", (), {"__slots__": ("x",)})()
            made.x = "v" * i
            self.assertEqual(objects.footprint([made]).total_if_shared, sys.getsizeof(made) + sys.getsizeof(made.x))
            del made

    def test_the_walk_in_python_gives_the_same_and_says_so(self):
        slow = _slow.Slow(ImportError("built for another Python"))
        for seed in range(20):
            rng = random.Random(seed)
            made = random_graph(rng, 60)
            owners = rng.sample(made, 5)
            mine, theirs = _objects.walk(owners, _walk.classify), slow.walk(owners, _walk.classify)
            for key in ("nodes", "shared_nodes", "shared_bytes", "total", "duplicated", "exclusive", "reachable"):
                self.assertEqual(mine[key], theirs[key], key)
            self.assertEqual(sorted(mine["types"], key=str), sorted(theirs["types"], key=str))
            self.assertEqual([r[1] for r in mine["shared"]], [r[1] for r in theirs["shared"]])
            self.assertEqual(slow.total(owners, _walk.classify), mine["total"])
            self.assertEqual(len(slow.reached(owners, _walk.classify, frozenset({list}))), len(_objects.reached(owners, _walk.classify, frozenset({list}))))
        self.assertIn("the extension cannot be loaded (built for another Python): sizes are those of __sizeof__", theirs["problems"][0])

        class Raises:
            def __sizeof__(self):
                raise RuntimeError("no")

        class Lies:
            def __sizeof__(self):
                return 1 << 60

        self.assertEqual(len(slow.walk([Raises(), Lies()], _walk.classify)["problems"]), 3)

    def test_without_the_extension(self):
        code = ("import sys\nsys.modules['tidemark._objects'] = None\nfrom tidemark import objects\n"
                "f = objects.footprint([['abc' * 9, 2.5]])\nprint(f.total_if_shared == sum(map(sys.getsizeof, ([1, 2], 'abc' * 9, 2.5))), f.problems[0])\n"
                "print(objects.memory_stats(b'abc').total_bytes)")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        self.assertIn("True the extension cannot be loaded", done.stdout, done.stderr)

    def test_types_whose_insides_are_unknown_are_named(self):
        import zlib
        f = objects.footprint([zlib.compressobj(), [1]])
        self.assertEqual(f.sizeof_only, ["zlib.Compress"])
        self.assertEqual(objects.footprint([Slotted(), "a", 1.5]).sizeof_only, [])

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
        twice = Wrapped(np.zeros(3), unit())
        self.assertEqual(objects.analyze_shared_metadata([twice, twice]).total_metadata_bytes, objects.analyze_shared_metadata([twice]).total_metadata_bytes)
        with self.assertRaisesRegex(TypeError, "device must be a number or a name"):
            objects.gpu_memory_stats(1.5)
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
            class Lies:
                nbytes = 1 << 60

            class Negative:
                nbytes = -8

            self.assertEqual([objects.memory_stats(Wrapped(data(), None)).data_bytes for data in (Lies, Negative)], [0, 0])
        self.assertIn("bytes of Data cannot be found", str(told[0].message))
        self.assertIn("nbytes is -8", str(told[2].message))

    def test_read_in_place_as_through_attributes(self):
        """numpy.ndarray is read by its fields, a subclass by its attributes: the same figures."""
        class Sub(np.ndarray):
            pass

        for dtype in ("u1", "f8", "c16", "S7", "M8[s]", "O", [("a", "i4"), ("b", "f8")]):
            for shape in ((), (0,), (3,), (2, 3, 4), (1,) * 10):
                a = np.zeros(shape, dtype)
                sub = np.zeros(shape, dtype).view(Sub)
                plain, other = objects.footprint([a]), objects.footprint([sub])
                self.assertEqual(plain.by_device, {"cpu": a.nbytes} if a.nbytes else {}, (dtype, shape))
                self.assertEqual(plain.by_device, other.by_device)
                self.assertEqual(plain.total_if_shared, sys.getsizeof(a) + (sys.getsizeof(0) if a.dtype.hasobject and a.size else 0))

    def test_subclasses_that_own_their_memory(self):
        class Sub(np.ndarray):
            __slots__ = ()

        own = Sub((4, 5), "f8")
        f = objects.footprint([own, own[1:]])
        self.assertEqual(f.by_device, {"cpu": 160})
        text = "w" * 300
        held = Sub((2,), object)
        held[:] = [text, None]
        self.assertEqual(objects.footprint([held]).total_if_shared, sys.getsizeof(held) + sys.getsizeof(text))

    def test_memory_of_others(self):
        class Lends:
            def __init__(self, array):
                self.__array_interface__ = array.__array_interface__

        source = np.zeros(30)
        borrowed = np.asarray(Lends(source))
        self.assertIsInstance(borrowed.base, Lends)
        f = objects.footprint([borrowed, source])
        self.assertEqual(f.by_device, {"cpu": 240})
        words = np.array(["a" * 90, None], dtype=object)
        self.assertEqual(objects.footprint([np.asarray(Lends(words))]).by_device, {"cpu": 16})
        numbers = array.array("d", range(50))
        f = objects.footprint([np.frombuffer(numbers), numbers])
        self.assertEqual(f.shared_bytes, sys.getsizeof(numbers))
        self.assertEqual(f.by_device, {})

    def test_arrays_that_lie(self):
        class Base(np.ndarray):
            @property
            def base(self):
                raise RuntimeError("no base")

        class Struct(np.ndarray):
            @property
            def __array_struct__(self):
                raise RuntimeError("no struct")

        class Items(np.ndarray):
            def ravel(self):
                raise RuntimeError("no items")

        items = Items((2,), object)
        f = objects.footprint([Base((3,)), Struct((3,)), items])
        self.assertEqual(sorted(p.partition(":")[0] for p in f.problems), ["Base", "Items", "Struct"])

    def test_dtypes_keep_their_references(self):
        dtype = np.dtype([("q", "f4"), ("r", "i8")])
        arrays = [np.zeros(4, dtype) for _ in range(5)]
        before = sys.getrefcount(dtype)
        objects.footprint(arrays)
        self.assertEqual(sys.getrefcount(dtype), before)

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


@needs("numpy")
class Live(unittest.TestCase):
    """Snapshots of a process, and `tidemark objects`."""

    def test_duplicates(self):
        u = [unit() for _ in range(5)]
        a, b, c = np.arange(100.0), np.arange(100.0), np.ones(100)
        view = a[:]
        held = [u, a, b, c, view, "x" * 50, "".join(["x"] * 50), [np.array(1.0)]]
        types_ = frozenset(type(o) for o in reach(held).values())
        saved, rows, skipped = _duplicates.find([held], types_)
        by = {(r["type"].rpartition(".")[2], r["value"]): r for r in rows}
        self.assertEqual(by["ndarray", "float64 (100,)"]["bytes"], sys.getsizeof(a))
        self.assertEqual(by["str", repr("x" * 50)]["count"], 2)
        units = [r for r in rows if r["type"].endswith(".Unit")]
        self.assertEqual((units[0]["count"], units[0]["bytes"]), (5, 4 * sys.getsizeof(u[0])))
        self.assertEqual((saved, skipped), (sum(r["bytes"] for r in rows), 0))

    def test_duplicates_that_cannot_be_compared(self):
        class Bad:
            def __eq__(self, other):
                raise RuntimeError

            def __hash__(self):
                return 1

        class Odd:
            def __eq__(self, other):
                return True

            def __hash__(self):
                return 2

            def __repr__(self):
                raise ValueError

            def __sizeof__(self):
                raise ValueError

        saved, rows, _ = _duplicates.find([[Bad(), Bad(), Odd(), Odd()]], frozenset({Bad, Odd}))
        self.assertEqual([(r["value"], r["count"]) for r in rows], [("(repr failed: ValueError)", 2)])
        self.assertEqual(saved, Odd.__basicsize__)

    def test_too_many_bytes_to_compare(self):
        from unittest import mock
        arrays = [np.zeros(100), np.zeros(100)]
        with mock.patch.object(_duplicates, "MOST_HASHED", 900):
            self.assertEqual(_duplicates.find([arrays], frozenset({np.ndarray}))[2], 800)

    def test_snapshot_in_a_function(self):
        big = np.zeros(200_000)
        view = big[1:]
        s = objects.snapshot("here", sys._getframe())
        mine = {r["name"].rpartition(".")[2]: r for r in s["owners"] if "test_snapshot_in_a_function()" in r["name"]}
        self.assertEqual(mine["view"]["shared_bytes"], big.nbytes + sys.getsizeof(big) - big.nbytes)
        self.assertEqual(s["shared"][0]["what"], "buffer on cpu")
        self.assertEqual(s["total_bytes"], s["variable_bytes"] + s["other_bytes"])
        self.assertGreater(s["total_bytes"], view.nbytes)
        self.assertEqual(sum(r["bytes"] for r in s["types"]) + sum(b["bytes"] for b in s["buffers"]), s["total_bytes"])
        self.assertIsNone(objects.mark("nobody asks"))

    def run_program(self, code, *options, name="prog.py"):
        import tempfile

        from tidemark import _home
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, name).write_text(code, encoding="utf-8")
            done = subprocess.run([_home.program(), "objects", "--keep", "kept", *options, "--", sys.executable, name, "argument"], cwd=folder,
                                  capture_output=True, text=True, timeout=120, check=False)
            kept = pathlib.Path(folder, "kept")
            page = pathlib.Path(folder, "page.html")
            self.page = page.read_text(encoding="utf-8") if page.exists() else ""
            return done, json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else None

    def test_program(self):
        code = ("import sys, os\nfrom tidemark import objects\nfield = bytearray(1_000_000)\nwindow = memoryview(field)\n"
                "def f():\n    local = [1.5] * 5000\n    objects.mark('in f')\nf()\nprint('out', sys.argv[1:])\nsys.exit(5)\n")
        done, kept = self.run_program(code, "-o", "page.html")
        self.assertEqual((done.returncode, done.stdout), (5, "out ['argument']\n"), done.stderr)
        self.assertIn("<!doctype html>", self.page.lower())
        self.assertEqual([s["at"] for s in kept["snapshots"]], ["in f", "end"])
        self.assertEqual(kept["program"], "prog.py argument")
        first, end = kept["snapshots"]
        names = {o["name"]: o for o in first["owners"]}
        self.assertGreaterEqual(names["__main__.f().local"]["exclusive_bytes"], 40_000)
        self.assertNotIn("__main__.f().local", {o["name"] for o in end["owners"]})
        shared = next(r for r in end["shared"] if r["what"] == "bytearray")
        self.assertEqual((shared["owners"], shared["bytes"] >= 1_000_000), (["__main__.field", "__main__.window"], True))
        main = next(r for r in end["modules"] if r["module"] == "__main__")
        self.assertTrue(main["own"] and main["exclusive_bytes"] > 1_000_000)

    def test_programs_that_end_badly(self):
        done, kept = self.run_program("x = [2.5]\nraise KeyError('gone')\n")
        self.assertEqual((done.returncode, len(kept["snapshots"])), (1, 1))
        self.assertIn("KeyError", done.stderr)
        done, kept = self.run_program("import os\nos._exit(3)\n")
        self.assertEqual((done.returncode, kept), (3, None))
        self.assertIn("os._exit", done.stderr)
        done, kept = self.run_program("import os, subprocess, sys\nmine = 'm' * 9999\nsubprocess.run([sys.executable, '-c', 'x = 1'])\n"
                                      "if os.fork() == 0: sys.exit(0)\nos.wait()\n")
        self.assertIn("__main__.mine", {o["name"] for o in kept["snapshots"][-1]["owners"]})
        done, kept = self.run_program("class W:\n    def __sizeof__(self): raise ValueError('no')\n    def __eq__(self, o): 1 / 0\n    def __hash__(self): 1 / 0\n"
                                      "    __class__ = property(lambda self: 1 / 0)\nw = [W(), W()]\n")
        self.assertIn("W: __sizeof__ failed, basic size taken: ValueError('no')", kept["snapshots"][0]["problems"], done.stderr)


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

    def test_sampled(self):
        tracing = tracemalloc.is_tracing()
        with objects.MemoryProfiler(sampled=True, interval=0.001) as p:
            self.assertEqual(tracemalloc.is_tracing(), tracing)
            kept = bytearray(b"x") * 50_000_000
            p.mark("kept")
            del kept
            p.reset_peak()
        s = p.get_stats()
        self.assertGreater(p.growth[0][1], 40_000_000)
        self.assertLess(s.peak_bytes, 40_000_000)
        self.assertEqual(s.top_allocations, [])
        self.assertIn("(resident, sampled)", p.report())
        self.assertIn("Top allocations: unknown, nothing was traced", p.report())
        with self.assertRaises(ValueError):
            objects.MemoryProfiler(interval=0)

    def test_used_again_and_nested(self):
        p = objects.MemoryProfiler()
        self.assertEqual(p.get_stats(), objects.ProfileStats(0, 0))
        p.reset_peak()
        for n in (300_000, 5000):
            with p:
                kept = bytes(n)
                with self.assertRaisesRegex(RuntimeError, "running already"):
                    p.__enter__()
            self.assertTrue(n <= p.delta()["host"] < n + 60_000, p.delta())
            del kept

    def test_deltas_and_growth(self):
        kept = []
        g = objects.track_growth(lambda: kept.append(bytes(50_000)), 6)
        self.assertEqual(len(g.after), 6)
        self.assertTrue(50_000 <= g.per_call < 55_000, g)
        g = objects.track_growth([lambda: kept.append(bytes(90_000)), kept.clear])
        self.assertGreater(g.after[0], 90_000)
        self.assertLess(g.after[1], g.after[0] - 80_000)
        self.assertEqual(objects.Growth([5]).per_call, 0.0)

    @needs("torch")
    def test_devices_that_are_pretended(self):
        from unittest import mock
        held = {"n": 0}
        with mock.patch.multiple("torch.cuda", is_available=lambda: True, device_count=lambda: 1, memory_allocated=lambda d: held["n"]):
            with objects.MemoryProfiler() as p:
                held["n"] = 100
                p.mark("a")
                held["n"] = 70
                p.mark("b")
                self.assertEqual(p.delta()["cuda:0"], 70)
        self.assertEqual((p.device_bytes, p.device_growth), ({"cuda:0": 70}, [("a", {"cuda:0": 100}), ("b", {"cuda:0": -30})]))
        self.assertIn("Device cuda:0: +70 bytes", p.report())

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
        for advice in ("Many unique units (2000 for 2000 arrays)", "dimension objects created with same exponents - consider caching",
                       "Uncertainty arrays add 46.9 KB memory overhead", "Using non-SI scale factors (km, km/s) adds conversion overhead"):
            self.assertIn(advice, before)
            self.assertNotIn(advice, after)
        self.assertIn("Excellent: 2000 arrays share 2 unique units (good reuse)", after)
        self.assertIn("same heights: True", after)


class Hostile(unittest.TestCase):
    """What a first user broke."""

    def test_deep_tuples_are_not_hashed(self):
        def deep():
            d = None
            for _ in range(300_000):
                d = (d,)
            return d

        pair = deep(), deep()
        saved, rows, _ = _duplicates.find([pair], frozenset([tuple]))
        self.assertEqual(objects.footprint([pair]).objects, 600_001)
        self.assertLess(sum(r["count"] for r in rows), 3 * _duplicates.MOST_LEVELS)
        self.assertGreater(saved, 0)

    def test_a_hash_that_exits(self):
        class Exits:
            def __hash__(self):
                raise SystemExit(5)

            def __eq__(self, other):
                return True

        self.assertEqual(_duplicates.find([[Exits(), Exits()]], frozenset([Exits])), (0, [], 0))

    @needs("pandas")
    def test_the_data_of_a_frame_counts_once(self):
        import pandas
        frame = pandas.DataFrame({"a": np.zeros(100_000), "b": np.zeros(100_000)})
        s = objects.memory_stats(frame)
        self.assertEqual(s.data_bytes, 1_600_000)
        self.assertLess(s.metadata_bytes, 20_000)
        self.assertLess(objects.footprint([frame]).total_if_shared, 1_640_000)
        self.assertLess(objects.footprint([frame["a"]]).total_if_shared, 1_640_000)

    @needs("torch")
    def test_tensors_without_bytes_or_sizes(self):
        import torch
        sparse = torch.eye(10).to_sparse()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertIn("Total data", objects.memory_report([sparse, sparse]))
            nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
            self.assertIn("Total data", objects.memory_report([nested, nested]))


if __name__ == "__main__":
    unittest.main()
