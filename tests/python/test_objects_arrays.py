# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Bytes of NumPy arrays: views, memory of others, subclasses."""
import array
import importlib.util
import sys
import unittest

from objects_cases import Wrapped, needs, reach, size_of, unit
from tidemark import objects

if importlib.util.find_spec("numpy"):
    import numpy as np


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


if __name__ == "__main__":
    unittest.main()
