# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Python frames read without the GIL are those that Python itself tells of, in every CPython that is to be had here.

Each runs the script below: it looks at its own stack from plain functions, generators, comprehensions, callbacks from C, made-up code, threads and
deep recursion, through the capture library with the GIL given up, and writes down what sys._getframe says. No torch is needed.
"""
import ctypes
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

if __name__ == "__main__" and len(sys.argv) == 4 and sys.argv[1] == "--look":
    libraries, out = sys.argv[2:]
    ctypes.CDLL(os.path.join(libraries, "libtidemark-rt.so.0"), mode=ctypes.RTLD_GLOBAL)
    capture = os.path.join(libraries, "libtidemark-torch.so")
    held, free = ctypes.PyDLL(capture), ctypes.CDLL(capture)

    class Nest:
        def outer(self):
            return self.inner()

        def inner(self):
            def innermost():
                return held.tide_torch_frames_learn()

            return innermost()

    why = Nest().outer()
    if why or Nest().outer():  # the second time it checks
        sys.exit(f"question {why}")
    held.tide_torch_frames_on(True)
    free.tide_torch_stack.argtypes = [ctypes.POINTER(ctypes.c_bool)]
    free.tide_torch_stack.restype = ctypes.c_uint32
    held.tide_start.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
    held.tide_stop.argtypes = [ctypes.c_void_p]
    held.tide_op_begin_full.argtypes = [ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32]
    assert held.tide_start(out.encode(), None, None) == 0
    want = []

    def look(tag):
        walked = ctypes.c_bool()
        stack = free.tide_torch_stack(ctypes.byref(walked))
        held.tide_op_end(held.tide_op_begin_full(held.tide_intern(tag.encode()), 0, stack, 0))
        held.tide_torch_stack_end()
        f, frames = sys._getframe(1), []
        while f:
            frames.append([getattr(f.f_code, "co_qualname", f.f_code.co_name), f.f_code.co_filename, f.f_lineno])
            f = f.f_back
        want.append([tag, frames])

    def steps():
        look("generator")
        yield 1
        look("generator again")
        yield 2

    class Deep:
        def down(self, n):
            if n:
                return self.down(n - 1)
            return look("deep")

    def été():
        look("letters")

    def made():
        names = {}
        for n in range(50):  # code objects that die and are made again at the same place
            exec(compile("\n" * n + "def f(look):\n\n  look('made')", f"<made {n}>", "exec"), names)
            names.pop("f")(look)

    look("top")
    [look("comprehension") for _ in range(2)]
    list(steps())
    Deep().down(30)
    Deep().down(150)
    été()
    sorted([1, 2], key=lambda x: look("callback") or x)
    made()
    runner = threading.Thread(target=lambda: look("thread"))
    runner.start()
    runner.join()
    for i in range(100):
        Deep().down(i % 20)
    held.tide_stop(None)
    with open(out + ".json", "w", encoding="utf-8") as file:
        json.dump(want, file)
    sys.exit()

import tidemark
from tidemark import _home


def pythons() -> dict:
    """version -> path: this one, those on the path and those that pyenv has."""
    found: dict = {}
    candidates = [sys.executable] + [shutil.which(f"python3.{n}") for n in range(10, 20)]
    candidates += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
    for path in filter(None, candidates):
        done = subprocess.run([path, "-c", "import sys, ctypes; print(*sys.version_info[:2])"], capture_output=True, text=True, check=False)
        version = tuple(int(x) for x in done.stdout.split())
        if done.returncode == 0 and version >= (3, 10):
            found.setdefault(version, path)
    return found


class Frames(unittest.TestCase):
    def test_every_python_here(self):
        with tempfile.TemporaryDirectory() as folder:
            for version, python in pythons().items():
                with self.subTest(python=version):
                    self.one(python, os.path.join(folder, f"{version[1]}.tide"))

    def one(self, python: str, out: str) -> None:
        env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run([python, os.path.abspath(__file__), "--look", _home.LIBRARIES, out], capture_output=True, text=True, timeout=100, env=env, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-800:])
        with open(out + ".json", encoding="utf-8") as file:
            want = json.load(file)
        c = tidemark.open(out).native.column
        names, stacks, parent, frame = c("spans", "name"), c("spans", "stack"), c("stacks", "parent"), c("stacks", "frame")
        frames = list(zip(c("frames", "function"), c("frames", "file"), c("frames", "line")))
        rows = [i for i, n in enumerate(names) if n]
        self.assertEqual([names[i] for i in rows], [tag for tag, _ in want])
        for i, (tag, whole) in zip(rows, want):
            got, s = [], stacks[i]
            while s:
                got.append(list(frames[frame[s]]))
                s = parent[s]
            self.assertEqual(got[1:], whole, tag)  # the innermost is look() itself


if __name__ == "__main__":
    unittest.main()
