# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Memory that is not an array's own: overlapping windows, records with objects, ctypes, tensors in tensors, Arrow; and the totals of lists."""
import array
import ctypes
import importlib.util
import mmap
import sys
import unittest
import warnings

from objects_cases import Wrapped, needs
from tidemark import objects
from tidemark.objects import _slow, _walk

if importlib.util.find_spec("numpy"):
    import numpy as np


class InBoth(unittest.TestCase):
    """Runs a check with the extension and with the walk in Python."""

    def in_both(self, check):
        check()
        engine = _walk.engine
        _walk.engine = _slow.Slow("a test")
        try:
            check()
        finally:
            _walk.engine = engine


def total_data(*arrays):
    lines = objects.memory_report([Wrapped(a, "m") for a in arrays], detailed=False).split("\n")
    return next(line for line in lines if line.startswith("Total data:")).split(":")[1].strip()


class Bytes(InBoth):
    def test_objects_of_ctypes(self):
        class Pair(ctypes.Structure):
            _fields_ = [("numbers", ctypes.c_double * 50), ("n", ctypes.c_int)]

        def check():
            long = (ctypes.c_double * 1000)()
            self.assertEqual(objects.memory_stats(long).data_bytes, 8000)
            f = objects.footprint([long])
            self.assertEqual((f.by_device, f.total_if_shared), ({"cpu": 8000}, 8000 + sys.getsizeof(long)))
            self.assertEqual(objects.footprint([ctypes.c_int(3)]).by_device, {})  # inside of the object
            pair = Pair()
            self.assertEqual(objects.footprint([pair.numbers, pair]).by_device, {"cpu": ctypes.sizeof(Pair)})
            lent = bytearray(400)
            self.assertEqual(objects.footprint([(ctypes.c_char * 400).from_buffer(lent)]).by_device, {})
        self.in_both(check)

    def test_lists_count_bytes_of_every_kind(self):
        def check():
            raw = bytearray(500)
            self.assertEqual(total_data(bytes(1000)), "1000 bytes")
            self.assertEqual(total_data(memoryview(raw), raw, memoryview(raw)[:10]), "500 bytes")
            self.assertEqual(total_data(array.array("d", range(100))), "800 bytes")
            self.assertEqual(total_data((ctypes.c_double * 10)()), "80 bytes")
            area = mmap.mmap(-1, 4096)
            self.assertEqual(total_data(memoryview(area)), "4.0 KB")
            import io
            self.assertEqual(total_data(io.BytesIO(bytes(900)).getbuffer()), "900 bytes")  # an unknown type lends it
        self.in_both(check)

    def test_lists_take_the_figure_of_unknown_types(self):
        class Foreign:
            nbytes = 640

        one = Foreign()
        self.assertEqual(total_data(one, one, Foreign()), "1.2 KB")

    def test_closed_maps_have_no_memory(self):
        area = mmap.mmap(-1, 4096)
        area.close()
        f = objects.footprint([area])
        self.assertEqual((f.by_device, f.problems), ({}, []))


@needs("numpy")
class Numpy(InBoth):
    def test_elements_that_overlap_count_once(self):
        def check():
            a = np.zeros(1000)
            strided = np.lib.stride_tricks.as_strided
            for view in (np.lib.stride_tricks.sliding_window_view(a, 100), strided(a, (50, 1000), (0, 8)), strided(a[::-1], (10, 1000), (0, -8))):
                self.assertEqual(objects.memory_stats(view).data_bytes, 8000)
                self.assertEqual(objects.footprint([view]).by_device, {"cpu": 8000})
                self.assertEqual(objects.footprint([view, a]).by_device, {"cpu": 8000})
                self.assertEqual(total_data(view, a), "7.8 KB")
            inside = strided(a[500:], (20, 10), (0, 8))
            self.assertEqual(objects.memory_stats(inside).data_bytes, 80)
            self.assertEqual(objects.footprint([inside, a]).by_device, {"cpu": 8000})
        self.in_both(check)

    def test_memory_of_others_from_its_lowest_address(self):
        class Lends:
            def __init__(self, array):
                self.__array_interface__, self.kept = array.__array_interface__, array

        def check():
            source = np.arange(50.0)
            backwards = np.asarray(Lends(source[::-1]))
            self.assertEqual(objects.footprint([backwards, source]).by_device, {"cpu": 400})
            self.assertEqual(objects.footprint([np.asarray(Lends(source[:0]))]).by_device, {"cpu": 400})  # kept, but none of its own
        self.in_both(check)

    def test_objects_in_records(self):
        def check():
            kept = [1.5] * 40
            records = np.array([(1, kept), (2, kept)], dtype=[("n", "i4"), ("o", "O")])
            want = sys.getsizeof(records) + sys.getsizeof(kept) + sys.getsizeof(1.5)
            self.assertEqual(objects.footprint([records]).total_if_shared, want)
            f = objects.footprint([records, records])
            self.assertEqual((f.total_if_shared, f.total_if_duplicated), (want, 2 * want))
            nested = np.zeros(2, dtype=[("a", [("o", "O", (2,))])])
            nested["a"]["o"][:] = "y" * 400
            self.assertEqual(objects.footprint([nested]).total_if_shared, sys.getsizeof(nested) + sys.getsizeof("y" * 400))
        self.in_both(check)

    def test_texts_of_strings(self):
        if not hasattr(getattr(np, "dtypes", None), "StringDType"):
            self.skipTest("NumPy before 2 has no StringDType")

        def check():
            texts = np.array(["x" * 100, "short", "ü" * 200], dtype=np.dtypes.StringDType())
            for owners in ([texts], [texts, texts, texts[1:]]):
                self.assertEqual(objects.footprint(owners).by_device, {"cpu": texts.nbytes + 101 + 408})
        self.in_both(check)

    def test_masks_are_data(self):
        def check():
            masked = np.ma.array(np.zeros(100), mask=np.zeros(100, bool))
            self.assertEqual(objects.memory_stats(masked).data_bytes, 900)
            self.assertEqual(total_data(masked), "800 bytes")  # wrapped, it is an array
            self.assertIn("Total data:        900 bytes", objects.memory_report([masked, masked]))
            self.assertEqual(objects.memory_stats(np.ma.array(np.zeros(100))).data_bytes, 800)
        self.in_both(check)

    def test_lists_count_the_memory_of_arrays_alone(self):
        class Named(np.ndarray):
            pass

        def check():
            self.assertEqual(total_data(np.frombuffer(bytes(1000), "u1")), "1000 bytes")
            self.assertEqual(total_data(np.float64(1.0), np.float64(2.0)), "16 bytes")
            own = np.zeros(100).view(Named)
            own.more = np.zeros(5000)
            self.assertEqual(total_data(own), "800 bytes")
            self.assertEqual(total_data(np.array([np.zeros(900), None], dtype=object)), "16 bytes")
        self.in_both(check)


@needs("torch")
class Torch(InBoth):
    def test_gradients_are_not_data_and_are_read_quietly(self):
        import torch

        def check():
            leaf = torch.zeros(100, requires_grad=True)
            result = leaf * 2
            result.sum().backward()
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertEqual(objects.footprint([result]).by_device, {"cpu": 400})
            self.assertEqual(objects.footprint([leaf]).by_device, {"cpu": 800})
            self.assertEqual(total_data(leaf), "400 bytes")
        self.in_both(check)

    def test_tensors_without_memory(self):
        import torch
        from torch._subclasses.fake_tensor import FakeTensorMode

        def check():
            with FakeTensorMode():
                fake = torch.zeros(1000)
            for tensor in (fake, torch.zeros(1000, device="meta")):
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    f = objects.footprint([tensor])
                    self.assertEqual((f.by_device, [p for p in f.problems if "the extension" not in p]), ({}, []))
                    self.assertEqual(objects.memory_stats(tensor).data_bytes, 4000)
                    self.assertEqual(total_data(tensor), "3.9 KB")
        self.in_both(check)

    def test_tensors_in_tensors(self):
        import torch

        class Holds(torch.Tensor):
            @staticmethod
            def __new__(cls, inner):
                return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=torch.float64, device=inner.device)

            def __init__(self, inner):
                self.inner = inner

            @classmethod
            def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
                raise NotImplementedError

            def __tensor_flatten__(self):
                return ["inner"], None

        def check():
            held = Holds(torch.zeros(100))
            f = objects.footprint([held])
            self.assertEqual((f.by_device, [p for p in f.problems if "the extension" not in p]), ({"cpu": 400}, []))
            self.assertEqual(objects.memory_stats(held).data_bytes, 400)  # not 800: that is what it shows
            ragged = torch.nested.nested_tensor([torch.zeros(3), torch.zeros(5)], layout=torch.jagged)
            self.assertEqual(objects.memory_stats(ragged).data_bytes, 8 * 4 + 3 * 8)  # values and offsets
            self.assertEqual(total_data(ragged), "56 bytes")
        self.in_both(check)

    def test_storages(self):
        import torch

        def check():
            tensor = torch.zeros(100)
            f = objects.footprint([tensor, tensor.untyped_storage()])
            self.assertEqual(f.by_device, {"cpu": 400})
            self.assertLess(f.total_if_shared, 400 + 300)
        self.in_both(check)


@needs("pyarrow")
class Arrow(InBoth):
    def test_buffers_count_once(self):
        import pyarrow as pa

        def check():
            whole = pa.array(range(1000))
            for other in (whole, whole[10:20], pa.table({"a": whole}), pa.record_batch({"a": whole}), pa.chunked_array([whole]), whole.buffers()[1]):
                f = objects.footprint([whole, other])
                self.assertEqual(f.by_device, {"cpu": 8000}, type(other))
                self.assertLess(f.total_if_shared, 8000 + 1000)
        self.in_both(check)


@needs("polars")
class Polars(unittest.TestCase):
    def test_plans_are_named_as_unknown(self):
        import polars as pl
        frame = pl.DataFrame({"a": [1.0] * 100})
        self.assertEqual(objects.footprint([frame]).sizeof_only, [])
        self.assertEqual(objects.footprint([frame.lazy()]).sizeof_only, ["PyLazyFrame"])


if __name__ == "__main__":
    unittest.main()
