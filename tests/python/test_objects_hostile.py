# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Objects that raise, lie, exit or change while they are measured: reported, never fatal."""
import dataclasses
import importlib.util
import math
import subprocess
import sys
import threading
import unittest
import warnings

from objects_cases import Wrapped, needs, unit
from tidemark import _objects, objects
from tidemark.objects import _duplicates, _slow, _walk

if importlib.util.find_spec("numpy"):
    import numpy as np


class Walk(unittest.TestCase):
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

    def test_whatever_is_raised_is_reported(self):
        class Own(BaseException):
            pass

        for raised in (SystemExit(3), KeyboardInterrupt(), GeneratorExit(), Own("no")):
            class Ends:
                def __sizeof__(self, raised=raised):
                    raise raised

                def __eq__(self, other, raised=raised):
                    raise raised

                def __hash__(self):
                    return 1

                @property
                def dimension(self, raised=raised):
                    raise raised

            self.assertEqual(objects.footprint([Ends()]).problems, [f"Ends: __sizeof__ failed, basic size taken: {raised!r}"])
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                r = objects.analyze_shared_metadata([Wrapped(b"abc", Ends()) for _ in range(3)])
                self.assertEqual((r.unique_units, r.sharing_potential), (3, 0))
                self.assertEqual({str(w.message) for w in told}, {f"Ends: it cannot be compared: {raised!r}", f"Ends: __sizeof__ failed, basic size taken: {raised!r}"})
            self.assertIn("Ends: it cannot be compared", objects.memory_report([Wrapped(b"abc", Ends()) for _ in range(3)]))

    def test_interrupts_of_the_user_are_passed_on(self):
        """The handler of a signal runs inside an object's code: what it raises ends the measurement."""
        import signal

        def handler(number, frame):
            raise TimeoutError("the user's")

        for number, theirs, expected in ((signal.SIGINT, signal.default_int_handler, KeyboardInterrupt), (signal.SIGUSR1, handler, TimeoutError)):
            class Slow:
                def __sizeof__(self, number=number):
                    signal.raise_signal(number)
                    for _ in range(10):
                        pass
                    return 100

            old = signal.signal(number, theirs)
            try:
                for measure in (lambda o: objects.footprint([o]), lambda o: objects.memory_report([Wrapped(b"abc", o)]), lambda o: objects.snapshot("x", sys._getframe())):
                    with self.assertRaises(expected):
                        measure(Slow())
                self.assertIs(signal.getsignal(number), theirs)
            finally:
                signal.signal(number, old)

        class Plain:
            def __sizeof__(self):
                signal.raise_signal(signal.SIGINT)
                return 100

        old = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in background jobs
        try:
            with self.assertRaises(KeyboardInterrupt):
                objects.memory_stats(Wrapped(b"abc", Plain()))
        finally:
            signal.signal(signal.SIGINT, old)

    def test_in_another_thread(self):
        class Ends:
            def __sizeof__(self):
                raise KeyboardInterrupt

        found = []
        thread = threading.Thread(target=lambda: found.append(objects.footprint([Ends()]).problems))
        thread.start()
        thread.join()
        self.assertEqual(found, [["Ends: __sizeof__ failed, basic size taken: KeyboardInterrupt()"]])

    def test_classes_with_hostile_metaclasses(self):
        class Meta(type):
            __hash__ = None

            def __eq__(self, other):
                raise SystemExit

            def __getattribute__(self, name):
                if name in ("__mro__", "__module__", "__qualname__", "__hash__", "__eq__", "__dataclass_fields__"):
                    raise SystemExit(name)
                return type.__getattribute__(self, name)

        class Odd(metaclass=Meta):
            __module__ = ["no", "text"]

        f = objects.footprint([Odd(), Odd()])
        self.assertTrue(f.by_type[0][0].startswith("?.Walk."), f.by_type)
        kept = [Odd(), Odd()]
        s = objects.snapshot("x", sys._getframe())
        self.assertIn("?.Walk.test_classes_with_hostile_metaclasses.<locals>.Odd", {r["type"] for r in s["types"]})
        self.assertEqual(len(kept), 2)
        with self.assertRaisesRegex(TypeError, "got Odd"):
            objects.memory_stats(Odd())

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
        """Any lack of memory is a MemoryError, and the process continues."""
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


@needs("numpy")
class Arrays(unittest.TestCase):
    def test_nbytes_that_fails(self):
        class Data:
            @property
            def nbytes(self):
                raise RuntimeError("gone")

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            s = objects.memory_stats(Wrapped(Data(), None))
            self.assertEqual((s.device, math.isnan(s.overhead_ratio), math.isnan(objects.compare_to_baseline(Wrapped(Data(), None)).overhead_percent)), ("unknown", True, True))
            class Lies:
                nbytes = 1 << 60

            class Negative:
                nbytes = -8

            class Text:
                nbytes = "many"

            class Fraction:
                nbytes = 3.5

            for data in (Lies, Negative, Text, Fraction):
                self.assertEqual(objects.memory_stats(Wrapped(data(), None)).device, "unknown")
                report = objects.memory_report(Wrapped(data(), unit()))
                for line in ("Data:        unknown\n", "Total:       at least ", "Overhead:    unknown\n", "Problems:\n  - " + data.__name__ + ": its bytes are unknown: "):
                    self.assertIn(line, report)
                report = objects.memory_report([Wrapped(np.zeros(3), unit()), Wrapped(data(), unit())])
                for line in ("Array 1:\n  Data: unknown\n", "Total data:        24 bytes, and unknown bytes of 1 arrays\n", "Total memory:      at least ", "Overhead:          unknown\n"):
                    self.assertIn(line, report)
                self.assertNotIn("small", report.partition("Recommendations")[2].replace("1/2", ""))
        self.assertEqual(str(told[0].message), "Data: its bytes are unknown: RuntimeError('gone')")
        self.assertIn("-8 bytes", str([str(w.message) for w in told]))

    def test_parts_that_cannot_be_read(self):
        """Half-made wrappers are reported, alone and in a list."""
        half = object.__new__(Wrapped)
        half.values = np.zeros(3)
        with self.assertWarnsRegex(RuntimeWarning, "Wrapped: unit cannot be read: AttributeError") as told:
            s = objects.memory_stats(half)
        self.assertEqual(told.filename, __file__)
        self.assertEqual((s.data_bytes, s.metadata_bytes, s.device), (24, sys.getsizeof(half), "cpu"))
        for report in (objects.memory_report(half), objects.memory_report([half, Wrapped(np.zeros(3), None)])):
            self.assertEqual(report.count("  - Wrapped: unit cannot be read: AttributeError("), 1)

    def test_data_that_cannot_be_read_is_unknown(self):
        class Recursive:
            def __getattr__(self, name):
                return getattr(self, name + "x")

        objects.register(Recursive, data="values", metadata="unit")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            s = objects.memory_stats(Recursive())
        self.assertTrue(math.isnan(s.overhead_ratio))
        self.assertEqual((s.data_bytes, s.metadata_bytes, s.device), (0, sys.getsizeof(Recursive()), "unknown"))
        report = objects.memory_report([Recursive(), Recursive()])
        for line in ("Array 1:\n  Data: unknown\n", "Total data:        0 bytes, and unknown bytes of 2 arrays\n", "  - Recursive: values cannot be read: RecursionError("):
            self.assertIn(line, report)
        self.assertNotIn("small", report)

    def test_classes_that_refuse_everything(self):
        class Refuses(type):
            def __getattribute__(cls, name):
                raise RuntimeError(name)

            def __instancecheck__(cls, one):
                raise RuntimeError("instance")

            def __eq__(cls, other):
                raise RuntimeError("equal")

            def __hash__(cls):
                raise RuntimeError("hash")

        class Bad(metaclass=Refuses):
            def __sizeof__(self):
                return -1

        class Lies:
            @property
            def __class__(self):
                raise RuntimeError("class")

        @dataclasses.dataclass
        class Holds:
            values: object
            more: object

        with self.assertRaisesRegex(TypeError, "got Bad"):
            objects.memory_stats(Bad())
        f = objects.footprint([Bad(), Lies()])
        self.assertIn(24, [b for _, _, b in f.by_type])  # the basic size
        self.assertEqual([p.partition(":")[0] for p in f.problems], ["Bad"])
        for more in (Bad(), Lies()):
            held = [Holds(np.zeros(3), more), Holds(np.zeros(3), more)]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.assertEqual(objects.memory_stats(held[0]).data_bytes, 24)
                self.assertEqual(objects.analyze_shared_metadata(held).num_arrays, 2)
            self.assertIn("Memory Report for Holds", objects.memory_report(held[0]))
            self.assertIn("Total data:        48 bytes", objects.memory_report(held))
            slow = _slow.Slow("a test")
            self.assertEqual(slow.walk(held, _walk.classify)["total"], objects.footprint(held).total_if_shared)

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
            @property
            def dtype(self):
                raise RuntimeError("no items")

        items = Items((2,), object)
        f = objects.footprint([Base((3,)), Struct((3,)), items])
        self.assertEqual(sorted(p.partition(":")[0] for p in f.problems), ["Base", "Items", "Struct"])

    def test_wrapper_whose_sizeof_fails(self):
        class Bad(Wrapped):
            def __sizeof__(self):
                raise RuntimeError("no")

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            self.assertEqual(objects.memory_stats(Bad(b"abc", None)).metadata_bytes, Bad.__basicsize__)
            self.assertIn("Problems:", objects.memory_report([Bad(b"abc", None)]))
        self.assertIn("Bad: __sizeof__ failed", str(told[0].message))

    @needs("torch")
    def test_tensors_without_bytes_or_sizes(self):
        import torch
        sparse = torch.eye(10).to_sparse()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertIn("Total data", objects.memory_report([sparse, sparse]))
            nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
            self.assertIn("Total data", objects.memory_report([nested, nested]))


@needs("numpy")
class Equality(unittest.TestCase):
    def test_equality_that_fails(self):
        class Bad:
            def __eq__(self, other):
                raise RuntimeError

            def __hash__(self):
                return 1

        r = objects.analyze_shared_metadata([Wrapped(np.zeros(3), Bad()) for _ in range(3)])
        self.assertEqual((r.unique_units, r.sharing_potential), (3, 0))

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

        saved, rows, *_ = _duplicates.find([[Bad(), Bad(), Odd(), Odd()]], [Bad, Odd])
        self.assertEqual([(r["value"], r["count"]) for r in rows], [("(repr failed: ValueError)", 2)])
        self.assertEqual(saved, Odd.__basicsize__)

    def test_deep_tuples_are_not_hashed(self):
        def deep():
            d = None
            for _ in range(300_000):
                d = (d,)
            return d

        pair = deep(), deep()
        saved, rows, *_ = _duplicates.find([pair], [tuple])
        self.assertEqual(objects.footprint([pair]).objects, 600_001)
        self.assertLess(sum(r["count"] for r in rows), 3 * _duplicates.MOST_LEVELS)
        self.assertGreater(saved, 0)

    def test_a_hash_that_exits(self):
        class Exits:
            def __hash__(self):
                raise SystemExit(5)

            def __eq__(self, other):
                return True

        self.assertEqual(_duplicates.find([[Exits(), Exits()]], [Exits]), (0, [], 0, ["Exits: it cannot be compared: SystemExit(5)"]))


if __name__ == "__main__":
    unittest.main()
