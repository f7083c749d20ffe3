# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The pytest plugin on real PyTorch (needs torch); skips without pytest."""
import os
import subprocess
import sys
import tempfile
import unittest

SUITE = """
import pytest, torch
before = torch.empty(50_000_000, dtype=torch.uint8)

@pytest.mark.limit_device_memory("10 MB", device="cpu")
def test_small(): torch.empty(9_000_000, dtype=torch.uint8)

@pytest.mark.limit_device_memory("10 MB", device="cpu")
def test_large(): torch.empty(11_000_000, dtype=torch.uint8)

@pytest.mark.limit_device_memory("10 MB")
def test_accelerators_only(): torch.empty(11_000_000, dtype=torch.uint8)

@pytest.mark.limit_device_memory("much", device="cpu")
def test_bad_size(): pass

@pytest.mark.limit_device_memory(1.5e7, device="cpu")
def test_size_of_no_kind(): pass

@pytest.mark.parametrize("name", ["a/b", "a:b"])
def test_names_alike(name): torch.empty(100 if name == "a/b" else 200)

@pytest.mark.limit_device_memory("10 MB", device="cpu")
def test_plain():
    torch.empty(11_000_000, dtype=torch.uint8)
    assert False, "own failure"

@pytest.fixture
def large(): return torch.empty(20_000_000, dtype=torch.uint8)

@pytest.mark.limit_device_memory("10 MB", device="cpu")
def test_fixtures_come_before(large, monkeypatch, tmp_path): monkeypatch.chdir(tmp_path)

@pytest.mark.limit_device_memory("10 MB", device="cpu")
class TestMany:
    @pytest.mark.parametrize("size", [9_000_000, 11_000_000])
    def test_of_the_class(self, size): torch.empty(size, dtype=torch.uint8)

    @pytest.mark.limit_device_memory("12 MB", device="cpu")
    def test_nearest_counts(self): torch.empty(11_000_000, dtype=torch.uint8)

@pytest.mark.limit_device_memory("10 MB", devcie="cpu")
def test_wrong_mark(): pass

@pytest.mark.limit_device_memory("10 MB", device="cuda0")
def test_wrong_device(): pass

@pytest.mark.limit_device_memory("10 MB", device="cuda:0")
def test_device_that_is_not_here(): pass

@pytest.mark.limit_device_memory("10 MB", device="privateuseone:1")
def test_device_of_others(): pass

@pytest.mark.limit_device_memory("10 MB", device="cpu")
def test_skipped(): pytest.skip("not here")

def test_unmarked(): torch.empty(5)
"""


OBJECTS = """
import pytest
kept, small = [], {}

@pytest.mark.limit_host_objects("1 MB")
def test_leaves_little(): [bytes(1000) for _ in range(10_000)]

@pytest.mark.limit_host_objects("1 MB")
def test_keeps(): kept.append(bytearray(3_000_000)); small["a"] = "b" * 1000

@pytest.mark.limit_host_objects(size=4_000_000)
def test_keeps_less(): kept.append(bytes(3_000_000))

@pytest.mark.limit_host_objects("1 MB")
def test_keeps_where_nobody_looks(hidden=[]): hidden.append(bytes(2_000_000))

@pytest.mark.limit_host_objects("1 MB")
def test_fails_itself():
    kept.append(bytes(2_000_000))
    assert False, "own failure"

@pytest.mark.limit_host_objects("much")
def test_bad_size(): pass

@pytest.mark.limit_host_objects("1 MB", 5)
def test_bad_mark(): pass

@pytest.mark.limit_host_objects("1 KiB")
def test_leaves_nothing(): pass

def wrong(size):
    @pytest.mark.limit_host_objects(size)
    def test(): pass
    return test
test_0, test_minus, test_nan, test_text, test_empty, test_bool, test_float, test_huge, test_512 = map(wrong, (0, -5, float("nan"), "-1 MB", "", True, 1.5, "9" * 400 + " GB", "512 B"))
"""


class Plugin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            import pytest  # noqa: F401
        except ImportError:
            raise unittest.SkipTest("pytest is not there") from None

    def run_suite(self, *options, suite=SUITE):
        folder = tempfile.mkdtemp()
        with open(os.path.join(folder, "test_x.py"), "w", encoding="utf-8") as f:
            f.write(suite)
        done = subprocess.run([sys.executable, "-W", "error", "-m", "pytest", "-p", "no:cacheprovider", "--tidemark", "-rA", *options, "test_x.py"],
                              cwd=folder, capture_output=True, text=True, timeout=600, check=False)
        return done.stdout, folder

    def check(self, out):
        for line in ("PASSED test_x.py::test_small", "FAILED test_x.py::test_large", 
                     "FAILED test_x.py::test_bad_size", "FAILED test_x.py::test_size_of_no_kind", "FAILED test_x.py::test_plain", "PASSED test_x.py::test_fixtures_come_before",
                     "PASSED test_x.py::TestMany::test_of_the_class[9000000]", "FAILED test_x.py::TestMany::test_of_the_class[11000000]",
                     "PASSED test_x.py::TestMany::test_nearest_counts", "FAILED test_x.py::test_wrong_mark", "FAILED test_x.py::test_wrong_device",
                     "PASSED test_x.py::TestMany::test_nearest_counts"):
            self.assertIn(line, out)
        self.assertIn("cpu: 11,000,000 bytes above the start, the limit is 10,485,760", out)
        self.assertRegex(out, r"11,000,000 bytes in 1 allocation: test_x.py:\d+ test_large, aten::empty")  # who allocated
        self.assertRegex(out, r"SKIPPED .*test_x.py.*limit_device_memory: no accelerator here")
        self.assertIn("memory (tidemark)", out)
        self.assertIn("8.58 MiB  test_x.py::test_small", out)
        self.assertIn("own failure", out)
        self.assertRegex(out, r"7 failed, 7 passed, 4 skipped")
        self.assertIn("limit_device_memory: there is no device 'cuda0' (write 'cpu', 'cuda', 'cuda:1')", out)
        self.assertIn("limit_device_memory: not a size: 15000000.0", out)
        self.assertNotIn("_pytest.py", out)  # a wrong mark is one line, without our own source

    def test_limits_and_report(self):
        out, folder = self.run_suite("--tidemark-dir=kept")
        self.check(out)
        self.assertIn("test_x.py_TestMany_test_of_the_class_9000000_.tide", os.listdir(os.path.join(folder, "kept")))
        self.assertLessEqual({"test_x.py_test_names_alike_a_b_.tide", "test_x.py_test_names_alike_a_b_.2.tide"}, set(os.listdir(os.path.join(folder, "kept"))))

    def test_limit_on_host_objects(self):
        out, _ = self.run_suite(suite=OBJECTS)
        for line in ("PASSED test_x.py::test_leaves_little", "FAILED test_x.py::test_keeps ", "PASSED test_x.py::test_keeps_less", "PASSED test_x.py::test_leaves_nothing", "FAILED test_x.py::test_keeps_where_nobody_looks",
                     "FAILED test_x.py::test_fails_itself", "FAILED test_x.py::test_bad_size", "FAILED test_x.py::test_bad_mark"):
            self.assertIn(line, out)
        self.assertRegex(out, r"the test leaves (2,9|3,0)\d\d,\d\d\d bytes of objects alive, the limit is 1,048,576; owned by test_x.kept \+3,00\d,\d\d\d, test_x.small \+")
        self.assertRegex(out, r"the test leaves (1,9|2,0)\d\d,\d\d\d bytes of objects alive, the limit is 1,048,576; owned by no variable of a module; types bytes \+2,0")
        self.assertIn("own failure", out)
        self.assertIn("limit_host_objects: not a size: 'much'", out)
        self.assertIn('write @pytest.mark.limit_host_objects("1 MiB")', out)
        for text in ("not a size: -5 (write", "not a size: nan (write", "not a size: '-1 MB' (write", "not a size: '' (write", "not a size: True (write", "not a size: 1.5 (write",
                     "not a size: '999999999999", "0 is below 1024 bytes, and pytest itself keeps some hundred bytes of a test", "'512 B' is below 1024 bytes"):
            self.assertIn(f"limit_host_objects: {text}", out)
        self.assertRegex(out, "14 failed, 3 passed")

    def test_over_several_processes(self):
        try:
            import xdist  # noqa: F401
        except ImportError:
            self.skipTest("pytest-xdist is not there")
        self.check(self.run_suite("-n2")[0])


if __name__ == "__main__":
    unittest.main()
