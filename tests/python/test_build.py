# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Where the op hook is built and kept (needs torch): never a reason for a program to fail."""
import glob
import os
import subprocess
import sys
import tempfile
import unittest

CODE = "import torch, tidemark\nwith tidemark.record('r.tide'):\n    torch.ones(3).add(1)\nprint(tidemark.open('r.tide').native.tables()['spans'] > 0)"


class Build(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()

    def run_with(self, code=CODE, **env) -> tuple[str, str]:
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=self.folder, capture_output=True, text=True, timeout=200, check=False,
                              env={**os.environ, "XDG_CACHE_HOME": self.folder, **env})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip(), done.stderr

    def built(self) -> list[str]:
        return glob.glob(os.path.join(self.folder, "tidemark", "*"))

    def test_kept_and_never_loaded_when_cut_short(self):
        ops, said = self.run_with(CXX="env c++")  # words
        self.assertEqual((ops, "building op recording" in said), ("True", True))
        (library,) = self.built()
        self.assertEqual(self.run_with(PATH="/nonexistent", CXX=""), ("True", ""))  # no compiler needed any more
        rebuilt = CODE.replace("\n", "\ntorch.version.git_version = 'another'\n", 1)
        self.assertEqual(self.run_with(code=rebuilt, PATH="/nonexistent", CXX="")[0], "False")  # not with what was built for the other
        os.truncate(library, 3000)
        ops, said = self.run_with(PATH="/nonexistent", CXX="")
        self.assertEqual(ops, "False")
        self.assertIn("no C++ compiler; install g++", said)

    def test_a_compiler_that_fails_leaves_nothing(self):
        for cxx, why in (("false", "false failed: 1"), ("/nonexistent/g++ -m64", "/nonexistent/g++ is not there")):
            ops, said = self.run_with(CXX=cxx)
            self.assertEqual(ops, "False")
            self.assertIn(why, said)
        ignores = "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"  # then nobody is told how a child ended
        self.assertEqual(self.run_with(code=ignores + CODE, CXX="false")[0], "False")
        self.assertEqual(self.built(), [])

    def test_what_others_may_have_put_there_is_not_loaded(self):
        self.assertEqual(self.run_with()[0], "True")
        (library,) = self.built()
        nowhere = {"PATH": "/nonexistent", "CXX": "", "TMPDIR": self.folder}
        for path in library, os.path.dirname(library):
            mode = os.stat(path).st_mode
            os.chmod(path, mode | 0o002)
            self.assertEqual(self.run_with(**nowhere)[0], "False", path)
            os.chmod(path, mode)
        self.assertEqual(self.run_with(**nowhere), ("True", ""))
        if os.getuid() == 0:
            os.chown(library, 12345, 12345)
            self.assertEqual(self.run_with(**nowhere)[0], "False")

    def test_a_cache_that_cannot_be_written(self):
        aside = os.path.join(self.folder, f"tidemark-{os.getuid()}")
        os.mkdir(aside)
        os.chmod(aside, 0o777)  # anybody might have put something there
        ops, said = self.run_with(XDG_CACHE_HOME="/proc/none", TMPDIR=self.folder)
        self.assertEqual(ops, "False")
        self.assertIn("/proc/none", said)
        os.rmdir(aside)
        self.assertEqual(self.run_with(XDG_CACHE_HOME="/proc/none", TMPDIR=self.folder)[0], "True")
        self.assertEqual(os.stat(aside).st_mode & 0o777, 0o700)
        self.assertEqual(self.run_with(XDG_CACHE_HOME="/proc/none", TMPDIR=self.folder, PATH="/nonexistent"), ("True", ""))


if __name__ == "__main__":
    unittest.main()
