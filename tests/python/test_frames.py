# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Tests code that depends on CPython's internals, in every installed CPython: frames, module calls, the wheel itself.

Python frames read without the GIL equal those that Python itself reports. Each Python runs the first script below: it reads its
own stack from plain functions, generators, comprehensions, callbacks from C, made-up code, threads and deep recursion, through
the capture library with the GIL given up, and writes down what sys._getframe says. No torch is needed.
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
    free.tide_torch_stack.argtypes = held.tide_torch_stack_end.argtypes = [ctypes.c_void_p]
    free.tide_torch_stack.restype = ctypes.c_uint32
    held.tide_start.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
    held.tide_stop.argtypes = [ctypes.c_void_p]
    held.tide_op_begin_full.argtypes = [ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint32]
    assert held.tide_start(out.encode(), None, None) == 0
    want = []

    def look(tag):
        op = 1  # any address
        stack = free.tide_torch_stack(op)
        held.tide_op_end(held.tide_op_begin_full(held.tide_intern(tag.encode()), 0, stack, 0))
        held.tide_torch_stack_end(op)
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

if __name__ == "__main__" and len(sys.argv) == 4 and sys.argv[1] == "--call":  # modules as ops: no torch, a class with the same call
    libraries, out = sys.argv[2:]
    ctypes.CDLL(os.path.join(libraries, "libtidemark-rt.so.0"), mode=ctypes.RTLD_GLOBAL)
    c = ctypes.PyDLL(os.path.join(libraries, "libtidemark-torch.so"))
    c.tide_start.argtypes, c.tide_stop.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p], [ctypes.c_void_p]
    c.tide_torch_modules_on.argtypes = [ctypes.py_object] * 3
    c.tide_torch_module_name.argtypes = [ctypes.c_size_t, ctypes.c_uint32]

    class Module:
        def __init__(self, inner=None):
            self.inner = inner

        def __call__(self, *args, **kw):
            return self.inner(*args, **kw) if self.inner else (args, kw)

    def namer(module):
        c.tide_torch_module_name(id(module), c.tide_intern(b"outer" if module.inner else b"inner"))

    assert c.tide_start(out.encode(), None, None) == 0
    model = Module(Module())
    for _ in range(3):  # off leaves no trace of on
        if why := c.tide_torch_modules_on(Module.__call__, namer, lambda module: None):
            sys.exit(f"question {why}")
        assert model(1, a=2) == ((1,), {"a": 2})
        c.tide_torch_modules_off()
        assert model(1, a=2) == ((1,), {"a": 2})
    c.tide_stop(None)
    sys.exit()

import tidemark
from tidemark import _home

USE = """
import sys, tidemark
from tidemark import _native as n
with tidemark.record(sys.argv[1]), tidemark.op("a"):
    n.alloc(n.pool(n.device(n.HOST, 0), n.HEAP, "heap"), 0x1000, 100)
t = tidemark.open(sys.argv[1])
print(t.peak(group_by="op")["groups"][0]["key"], t["allocs"].__arrow_c_stream__() is not None, tidemark.live().stats["events"],
      "torch" in sys.modules)
"""


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

    def test_modules_in_every_python_here(self):
        with tempfile.TemporaryDirectory() as folder:
            for version, python in pythons().items():
                with self.subTest(python=version):
                    out = os.path.join(folder, f"{version[1]}.tide")
                    self.run_in(python, os.path.abspath(__file__), "--call", _home.LIBRARIES, out)
                    c = tidemark.open(out).native.column
                    self.assertEqual(c("spans", "name")[1:], ["outer", "inner"] * 3)
                    self.assertEqual(c("spans", "parent")[1:], [0, 1, 0, 3, 0, 5])

    def test_one_wheel_in_every_python_here(self):
        site = os.path.dirname(os.path.dirname(os.path.abspath(tidemark.__file__)))
        with tempfile.TemporaryDirectory() as folder:
            for version, python in pythons().items():
                with self.subTest(python=version):
                    done = self.run_in(python, "-c", f"import sys; sys.path.insert(0, {site!r})\n" + USE, os.path.join(folder, "x.tide"))
                    self.assertEqual(done.stdout.split(), ["a", "True", "3", "False"])

    def run_in(self, python: str, *words: str) -> subprocess.CompletedProcess:
        env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run([python, *words], capture_output=True, text=True, timeout=400, env=env, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-800:])
        return done

    def one(self, python: str, out: str) -> None:
        self.run_in(python, os.path.abspath(__file__), "--look", _home.LIBRARIES, out)
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
