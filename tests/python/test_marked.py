# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Tests marked `tidemark` run on virtual devices: limits, baselines, growth that names its line; tidemark.fits() (needs torch and pytest)."""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SUITE = """
import pytest, torch

@pytest.fixture
def model():
    return torch.nn.Linear(1024, 1024, bias=False).to("cuda")  # 4 MiB

@pytest.mark.tidemark(device="h100", peak="<200MiB", no_growth=True)
def test_step(model):
    assert torch.cuda.is_available()
    x = torch.randn(SIZE, 1024, device="cuda")
    model(x).sum().backward()

@pytest.mark.tidemark(device="h100", peak="<8MiB")
def test_too_much(model):
    y = torch.empty(4096, 1024, device="cuda")

@pytest.mark.tidemark(device="h100")
def test_fails(model):
    assert 1 == 2, "own failure"

@pytest.mark.tidemark(peak="40GiB")
def test_wrong_mark(): pass

def test_plain(): pass
"""
FITS = """
import json, sys, tidemark
a = tidemark.fits(["train.py"], budget="1GiB", like="h100")
b = tidemark.fits("train.py", budget=30 << 20, like="h100")
print(json.dumps([bool(a), bool(b), a.peak_allocated_bytes]))
"""
TRAIN = "import torch\nx = torch.empty(64 << 20, dtype=torch.uint8, device='cuda')\n"


class Marked(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            import pytest  # noqa: F401
            import torch
        except ImportError as why:
            raise unittest.SkipTest(str(why)) from None
        if torch.version.cuda or tuple(map(int, torch.__version__.split("+")[0].split(".")[:2])) < (2, 6):
            raise unittest.SkipTest("virtual devices need a torch from 2.6 on, built without CUDA")
        cls.where = Path(tempfile.mkdtemp())

    def run_suite(self, size, *options):
        (self.where / "test_x.py").write_text(SUITE.replace("SIZE", str(size)))
        done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *options, "test_x.py"], cwd=self.where, capture_output=True, text=True, check=False, timeout=800)
        return done.stdout + done.stderr

    def test_limits(self):
        out = self.run_suite(1024, "-k", "not step")
        for line in ("FAILED test_x.py::test_too_much", "the limit is <8MiB", "FAILED test_x.py::test_fails", "own failure", "FAILED test_x.py::test_wrong_mark", "PASSED test_x.py::test_plain"):
            self.assertIn(line, out)

    def test_growth(self):
        self.assertIn("there is no baseline", self.run_suite(1024, "-k", "test_step"))
        self.assertIn("1 passed", self.run_suite(1024, "-k", "test_step", "--tidemark-update"))
        kept = json.loads((self.where / "tidemark-baseline.json").read_text())["test_x.py::test_step"]
        self.assertGreater(kept["peak_allocated_bytes"], 8 << 20)
        self.assertIn("torch", kept["versions"])
        self.assertIn("1 passed", self.run_suite(1024, "-k", "test_step"))
        out = self.run_suite(2048, "-k", "test_step")
        self.assertIn("1 failed", out)
        self.assertRegex(out, r"the peak grew from [\d,]+ to [\d,]+ bytes on a virtual h100")
        self.assertRegex(out, r"\+[\d,]+ bytes  line  .*test_x.py")
        self.assertRegex(out, r"\+[\d,]+ bytes  module  ")

    def test_fits(self):
        (self.where / "train.py").write_text(TRAIN)
        done = subprocess.run([sys.executable, "-c", FITS], cwd=self.where, capture_output=True, text=True, check=False, timeout=800)
        self.assertEqual(done.returncode, 0, done.stderr)
        one, two, size = json.loads(done.stdout)
        self.assertTrue(one)
        self.assertFalse(two)
        self.assertEqual(size, 64 << 20)


if __name__ == "__main__":
    unittest.main()
