# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Bytes of object graphs: the walk in C against a slow one, and the walk in Python."""
import array
import random
import re
import subprocess
import sys
import unittest

from objects_cases import SOURCE, Slotted, Wrapped, needs, random_graph, reach, size_of, unit
from tidemark import _objects, objects
from tidemark.objects import _slow, _walk


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
        self.assertEqual(_objects.reached([made], _walk.classify, [int]), [n])
        self.assertEqual(_objects.total([made], _walk.classify, []), (objects.footprint([made]).total_if_shared, 0, []))
        with self.assertRaises(TypeError):
            _objects.reached([made], _walk.classify, {int})

    def test_what_is_outside(self):
        """Neither counted nor followed: the objects of the list, and the memory of its arrays."""
        inner = ["i" * 40, {}]
        inner[1]["back"] = inner
        wrapper = Wrapped(b"data", [inner, 2.5])
        inner.append(wrapper)
        for engine in (_objects, _slow.Slow("")):
            self.assertEqual(engine.total([wrapper.unit], _walk.classify, [wrapper]), (size_of({k: o for k, o in reach(wrapper.unit).items() if o is not wrapper and o is not wrapper.values}), 1, []))
            self.assertEqual(engine.total([wrapper], _walk.classify, [wrapper]), (0, 1, []))
            self.assertEqual(engine.total(["abc"], _walk.classify, [None, wrapper]), (sys.getsizeof("abc"), 0, []))

    def test_types_that_die_between_walks(self):
        for i in range(600):  # more than the engine remembers
            made = type(f"T{i}", (), {"__slots__": ("x",)})()
            made.x = "v" * i
            self.assertEqual(objects.footprint([made]).total_if_shared, sys.getsizeof(made) + sys.getsizeof(made.x))
            del made

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


class Fallback(unittest.TestCase):
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
            self.assertEqual(slow.total(owners, _walk.classify, []), (mine["total"], 0, []))
            self.assertEqual(len(slow.reached(owners, _walk.classify, [list])), len(_objects.reached(owners, _walk.classify, [list])))
        self.assertIn("the extension cannot be loaded (built for another Python): the walk runs in Python", theirs["problems"][0])

        class Raises:
            def __sizeof__(self):
                raise RuntimeError("no")

        class Lies:
            def __sizeof__(self):
                return 1 << 60

        self.assertEqual(len(slow.walk([Raises(), Lies()], _walk.classify)["problems"]), 3)

    @needs("numpy")
    def test_arrays_in_python(self):
        """Views, buffers of others, items of object arrays, and lists: the same as in C."""
        import numpy as np
        a, raw, numbers = np.zeros((100, 3)), bytes(800), array.array("d", range(50))
        text = "t" * 200
        held = np.array([text, None, 1.5], dtype=object)

        class Sub(np.ndarray):
            pass

        owners = [a, a[1:], np.broadcast_to(a, (5, 100, 3)), np.frombuffer(raw), raw, np.frombuffer(numbers), held, held[1:], a.view(Sub), Sub((4,)), np.array(1.0), np.zeros(0)]
        slow = _slow.Slow("")
        mine, theirs = _objects.walk(owners, _walk.classify), slow.walk(owners, _walk.classify)
        for key in ("nodes", "shared_nodes", "shared_bytes", "total", "duplicated", "exclusive", "reachable", "buffers", "left_out"):
            self.assertEqual(mine[key], theirs[key], key)
        for outside in ([a], [a[1:]], [held], [Sub((4,)), numbers]):
            self.assertEqual(_objects.total(owners, _walk.classify, outside), slow.total(owners, _walk.classify, outside))

    @needs("torch")
    def test_tensors_in_python(self):
        import torch
        t = torch.zeros(100, requires_grad=True)
        t.sum().backward()
        owners = [t, t.detach()[2:], t.detach().numpy(), torch.empty(9, device="meta")]
        mine, theirs = _objects.walk(owners, _walk.classify), _slow.Slow("").walk(owners, _walk.classify)
        self.assertEqual((mine["total"], mine["buffers"], mine["shared_bytes"]), (theirs["total"], theirs["buffers"], theirs["shared_bytes"]))

    def test_hostile_objects_in_python(self):
        class Odd:
            pass

        for answer in (lambda o: 1 / 0, lambda o: [("a", 2, "cpu")], lambda o: [(1, -1, "cpu")], lambda o: [(1, 2, 3)], lambda o: [(1, 1 << 60, "cpu")]):
            w = _slow.Slow("").walk([Odd()], lambda t, answer=answer: answer if t is Odd else None)
            self.assertEqual(len(w["problems"]), 2, w["problems"])

        class Worse(Exception):
            def __repr__(self):
                raise SystemExit

        class Deep:
            def __sizeof__(self):
                raise Worse

        class Small:
            __slots__ = ("a", "b", "c")

            def __sizeof__(self):
                return 1

        problems = _slow.Slow("").walk([Deep(), Small()], _walk.classify)["problems"]
        self.assertEqual(problems[1:], ["__sizeof__ failed, basic size taken", "Small: __sizeof__ is not plausible, basic size taken"])

    def test_without_the_extension(self):
        """Reports have the same figures."""
        code = ("import sys\nif len(sys.argv) > 1: sys.modules['tidemark._objects'] = None\nfrom tidemark import objects\n"
                "f = objects.footprint([['abc' * 9, 2.5]])\nprint(f.total_if_shared == sum(map(sys.getsizeof, ([1, 2], 'abc' * 9, 2.5))))\n"
                "if len(sys.argv) > 1: assert 'the extension cannot be loaded' in f.problems[0]\n"
                "from objects_cases import Wrapped, unit\nu = unit()\n"
                "try: import numpy\nexcept ImportError: many = [Wrapped(bytes(80), u) for _ in range(3)]\n"
                "else:\n    a = numpy.zeros(10)\n    many = [Wrapped(a[i:], u, a) for i in range(3)]\n"
                "print(objects.memory_report(many[0]), objects.memory_stats(b'abc'), objects.memory_report(many))")
        run = [subprocess.run([sys.executable, "-c", code, *slow], capture_output=True, text=True, check=False, cwd=SOURCE / "tests/python") for slow in ([], ["slow"])]
        plain = [re.sub("\n\nProblems:\n  - the extension.*", "", r.stdout) for r in run]
        self.assertRegex(plain[0], "Total data:        (80|240) bytes", run[0].stderr)  # views of one array, or 3 bytes objects
        self.assertEqual(plain[1], plain[0], run[1].stderr)


if __name__ == "__main__":
    unittest.main()
