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

def test_plain(): assert False, "own failure"
"""


class Plugin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            import pytest  # noqa: F401
        except ImportError:
            raise unittest.SkipTest("pytest is not there") from None

    def test_limits_and_report(self):
        folder = tempfile.mkdtemp()
        with open(os.path.join(folder, "test_x.py"), "w", encoding="utf-8") as f:
            f.write(SUITE)
        done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--tidemark", "-rA", "test_x.py"],
                              cwd=folder, capture_output=True, text=True, timeout=200, check=False)
        out = done.stdout
        for line in ("PASSED test_x.py::test_small", "FAILED test_x.py::test_large", "PASSED test_x.py::test_accelerators_only",
                     "FAILED test_x.py::test_bad_size", "FAILED test_x.py::test_plain"):
            self.assertIn(line, out)
        self.assertIn("cpu: 11,000,000 bytes above the start, the limit is 10,000,000", out)
        self.assertIn("memory (tidemark)", out)
        self.assertIn("8.58 MiB  test_x.py::test_small", out)
        self.assertIn("own failure", out)


if __name__ == "__main__":
    unittest.main()
