# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Building and caching the op hook (needs torch): it never fails a program."""
import glob
import importlib.util
import os
import shutil
import tempfile
import types
import unittest
import unittest.mock

import torch_fork

CODE = "import torch, tidemark\nwith tidemark.record('r.tide'):\n    torch.ones(3).add(1)\nprint(tidemark.open('r.tide').native.tables()['spans'] > 0)"


class Build(unittest.TestCase):
    library = ""  # made by the real compiler

    def setUp(self):
        self.folder = tempfile.mkdtemp()

    def run_with(self, code=CODE, **env) -> tuple[str, str]:
        done = torch_fork.run(code, cwd=self.folder, env={**os.environ, "XDG_CACHE_HOME": self.folder, **env})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip(), done.stderr

    def built(self) -> list[str]:
        return glob.glob(os.path.join(self.folder, "tidemark", "*"))

    def quick_compiler(self) -> str:
        """Returns a compiler that copies what the real one made for all tests: the tests that use it are about the cache."""
        if not Build.library:
            cache = os.environ["XDG_CACHE_HOME"]
            loaded = "\nprint(next(line.split()[-1] for line in open('/proc/self/maps') if '/tidemark/ops-' in line))"
            ops, built = self.run_with(CODE + loaded, XDG_CACHE_HOME=cache)[0].split()
            self.assertEqual(ops, "True")
            Build.library = shutil.copy(built, os.path.join(tempfile.mkdtemp(), "ops.so"))
        script = os.path.join(self.folder, "copy")
        with open(script, "w", encoding="ascii") as f:
            f.write(f"#!/bin/sh\nexec cp {Build.library} ops.so\n")
        os.chmod(script, 0o700)
        return script

    def test_kept_and_never_loaded_when_cut_short(self):
        ops, said = self.run_with(CXX="env c++")  # words
        self.assertEqual((ops, "building op recording" in said), ("True", True))
        (library,) = self.built()
        Build.library = shutil.copy(library, os.path.join(tempfile.mkdtemp(), "ops.so"))
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
        ignores = "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"  # then the exit status of a child is unknown
        self.assertEqual(self.run_with(code=ignores + CODE, CXX="false")[0], "False")
        self.assertEqual(self.built(), [])

    def test_what_others_may_have_put_there_is_not_loaded(self):
        self.assertEqual(self.run_with(CXX=self.quick_compiler())[0], "True")
        (library,) = self.built()
        nowhere = {"PATH": "/nonexistent", "CXX": "", "TMPDIR": self.folder}
        for path in library, os.path.dirname(library):
            mode = os.stat(path).st_mode
            os.chmod(path, mode | 0o020)
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
        self.assertEqual(self.run_with(XDG_CACHE_HOME="/proc/none", TMPDIR=self.folder, CXX=self.quick_compiler())[0], "True")
        self.assertEqual(os.stat(aside).st_mode & 0o777, 0o700)
        self.assertEqual(self.run_with(XDG_CACHE_HOME="/proc/none", TMPDIR=self.folder, PATH="/nonexistent"), ("True", ""))


class Cache(unittest.TestCase):
    """Only safe files are loaded from a cache that others can reach; no compiler, no torch."""

    def setUp(self):
        spec = importlib.util.spec_from_file_location("tidemark_build", os.path.join(os.environ["TIDE_SOURCE"], "python/hook/tidemark_build.py"))
        self.build = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.build)
        self.folder = os.path.join(tempfile.mkdtemp(), "tidemark")
        os.mkdir(self.folder, 0o700)
        self.file = os.path.join(self.folder, f"ops-{self.build._digest(b'theirs')}.so")
        with open(self.file, "wb") as f:
            f.write(b"theirs")
        os.chmod(self.file, 0o700)

    def found(self, name=None):
        folder = self.build._folder(name or self.folder, make=False)
        return folder and folder.found("ops")

    def test_as_it_should_be(self):
        with open(self.found(), "rb") as f:
            self.assertEqual(f.read(), b"theirs")

    def test_a_group_that_may_write(self):
        for path in self.file, self.folder:
            for mode in 0o720, 0o702:
                os.chmod(path, mode)
                self.assertIsNone(self.found(), (path, oct(mode)))
            os.chmod(path, 0o700)
        self.assertIsNotNone(self.found())

    def test_links(self):
        link = self.folder + "-link"
        os.symlink(self.folder, link)
        self.assertIsNone(self.found(link))
        os.rename(self.file, self.file + ".away")
        os.symlink(self.file + ".away", self.file)
        self.assertIsNone(self.found())

    def test_content_that_changed(self):
        with open(self.file, "wb") as f:
            f.write(b"others")
        self.assertIsNone(self.found())

    def test_a_folder_that_is_replaced_after_the_look(self):
        path = self.found()
        os.rename(self.folder, self.folder + ".away")
        os.mkdir(self.folder)
        with open(self.file, "wb") as f:
            f.write(b"planted")
        with open(path, "rb") as f:
            self.assertEqual(f.read(), b"theirs")

    def test_a_folder_that_is_replaced_while_the_compiler_runs(self):
        compiler = self.folder + "-cxx"
        with open(compiler, "w", encoding="ascii") as f:  # builds, then does what a member of the group that may write the parent can do
            f.write(f"""#!/bin/sh
for last do out=$before; before=$last; [ "$out" = -o ] && break; done
echo ours > "$last"
private=$(ls -d {self.folder}/hook*)
mv {self.folder} {self.folder}.away
mkdir -p "$private"
echo planted > "$private/ops.so"
""")
        os.chmod(compiler, 0o700)
        torch = types.SimpleNamespace(__file__=compiler, __version__="2.13.0", _C=types.SimpleNamespace(_GLIBCXX_USE_CXX11_ABI=True))
        environment = {"CXX": compiler, "TIDEMARK_INCLUDE": self.folder}
        with unittest.mock.patch.dict(os.environ, environment):
            path = self.build._build(torch, "ops.cpp", "hook", self.build.Folder(self.folder), lambda _: None)
        with open(path, encoding="ascii") as f:
            self.assertEqual(f.read(), "ours\n")
        self.assertEqual(os.listdir(self.folder + ".away").count(os.path.basename(path)), 1)

    def test_another_user(self):
        if os.getuid():
            self.skipTest("needs root")
        os.chown(self.file, 12345, 12345)
        self.assertIsNone(self.found())

    def test_made_for_this_user_alone(self):
        umask = os.umask(0o002)  # a group of its own for each user, as Debian has it
        try:
            place = os.path.join(self.folder, "new", "tidemark")
            self.build._folder(place, make=True)
        finally:
            os.umask(umask)
        self.assertEqual(os.stat(place).st_mode & 0o777, 0o700)


if __name__ == "__main__":
    unittest.main()
