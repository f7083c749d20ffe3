# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Snapshots of a process, and `tidemark objects`."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from objects_cases import Wrapped, needs, reach, unit
from tidemark import _home, objects
from tidemark.objects import _duplicates, _snapshot

if importlib.util.find_spec("numpy"):
    import numpy as np


@needs("numpy")
class Duplicates(unittest.TestCase):
    def test_duplicates(self):
        u = [unit() for _ in range(5)]
        a, b, c = np.arange(100.0), np.arange(100.0), np.ones(100)
        view = a[:]
        held = [u, a, b, c, view, "x" * 50, "".join(["x"] * 50), [np.array(1.0)]]
        types_ = frozenset(type(o) for o in reach(held).values())
        saved, rows, skipped, _ = _duplicates.find([held], types_)
        by = {(r["type"].rpartition(".")[2], r["value"]): r for r in rows}
        self.assertEqual(by["ndarray", "float64 (100,)"]["bytes"], sys.getsizeof(a))
        self.assertEqual(by["str", repr("x" * 50)]["count"], 2)
        units = [r for r in rows if r["type"].endswith(".Unit")]
        self.assertEqual((units[0]["count"], units[0]["bytes"]), (5, 4 * sys.getsizeof(u[0])))
        self.assertEqual((saved, skipped), (sum(r["bytes"] for r in rows), 0))

    def test_too_many_bytes_to_compare(self):
        from unittest import mock
        arrays = [np.zeros(100), np.zeros(100)]
        with mock.patch.object(_duplicates, "MOST_HASHED", 900):
            self.assertEqual(_duplicates.find([arrays], [np.ndarray])[2], 800)


@needs("numpy")
class Live(unittest.TestCase):
    def test_snapshot_in_a_function(self):
        big = np.zeros(200_000)
        view = big[1:]
        s = objects.snapshot("here", sys._getframe())
        mine = {r["name"].rpartition(".")[2]: r for r in s["owners"] if "test_snapshot_in_a_function()" in r["name"]}
        self.assertEqual(mine["view"]["shared_bytes"], big.nbytes + sys.getsizeof(big) - big.nbytes)
        self.assertEqual(s["shared"][0]["what"], "buffer on cpu")
        self.assertEqual(s["total_bytes"], s["variable_bytes"] + s["other_bytes"])
        self.assertGreater(s["total_bytes"], view.nbytes)
        self.assertEqual(sum(r["bytes"] for r in s["types"]) + sum(b["bytes"] for b in s["buffers"]), s["total_bytes"])
        self.assertIsNone(objects.mark("nobody asks"))

    def test_marks_of_this_process(self):
        """As under `tidemark objects`: a line for each, with problems instead of failures."""
        from unittest import mock
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "marks")
            path.touch()
            with mock.patch.dict(os.environ, {"TIDEMARK_OBJECTS_FILE": f"{os.getpid()} {path}"}):
                kept = np.zeros(1000)
                objects.mark("one")
                with mock.patch.object(_snapshot, "_snapshot", side_effect=SystemExit("no")):
                    objects.mark(5)
            head, one, two = map(json.loads, path.read_text(encoding="utf-8").splitlines())
            self.assertEqual((head["format"], head["snapshots"]), ("tidemark-objects", []))
            self.assertIn("kept", {o["name"].rpartition(".")[2] for o in one["owners"]})
            self.assertEqual(two, {"at": "5", "problems": ["the objects could not be measured: SystemExit('no')"]})
            saved = pathlib.Path(folder, "saved")
            objects.save(str(saved))
            self.assertEqual(json.loads(saved.read_text(encoding="utf-8"))["snapshots"][0]["at"], "now")
            self.assertEqual(len(kept), 1000)

    def test_recommendations_of_live_wrappers(self):
        kept = [Wrapped(np.zeros(3), unit()) for _ in range(20)]
        half = object.__new__(Wrapped)
        s = objects.snapshot("here", sys._getframe())
        self.assertIn("20 dimension objects created with same exponents - consider caching", s["recommendations"])
        self.assertTrue([p for p in s["problems"] if p.startswith("Wrapped: values cannot be read: AttributeError")], s["problems"])
        self.assertEqual((len(kept), type(half)), (20, Wrapped))

    def test_growth_of_live_objects(self):
        _snapshot.owned()  # fills caches
        total, owners, types = _snapshot.owned()
        kept = [bytes(1_000_000)]
        more, _, now = _snapshot.owned()
        self.assertTrue(950_000 <= more - total < 1_050_000, more - total)  # others may free something meanwhile
        self.assertTrue(950_000 <= now["bytes"] - types["bytes"] < 1_050_000)
        self.assertTrue(kept and owners)

    def run_program(self, code, *options, name="prog.py"):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, name).write_text(code, encoding="utf-8")
            done = subprocess.run([_home.program(), "objects", "--keep", "kept", *options, "--", sys.executable, name, "argument"], cwd=folder,
                                  capture_output=True, text=True, timeout=400, check=False)
            kept = pathlib.Path(folder, "kept")
            page = pathlib.Path(folder, "page.html")
            self.page = page.read_text(encoding="utf-8") if page.exists() else ""
            return done, json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else None

    def test_program(self):
        code = ("import sys, os\nfrom tidemark import objects\nfield = bytearray(1_000_000)\nwindow = memoryview(field)\n"
                "def f():\n    local = [1.5] * 5000\n    objects.mark('in f')\nf()\nprint('out', sys.argv[1:])\nsys.exit(5)\n")
        done, kept = self.run_program(code, "-o", "page.html")
        self.assertEqual((done.returncode, done.stdout), (5, "out ['argument']\n"), done.stderr)
        self.assertIn("<!doctype html>", self.page.lower())
        self.assertEqual([s["at"] for s in kept["snapshots"]], ["in f", "end"])
        self.assertEqual(kept["program"], "prog.py argument")
        first, end = kept["snapshots"]
        names = {o["name"]: o for o in first["owners"]}
        self.assertGreaterEqual(names["__main__.f().local"]["exclusive_bytes"], 40_000)
        self.assertNotIn("__main__.f().local", {o["name"] for o in end["owners"]})
        shared = next(r for r in end["shared"] if r["what"] == "bytearray")
        self.assertEqual((shared["owners"], shared["bytes"] >= 1_000_000), (["__main__.field", "__main__.window"], True))
        main = next(r for r in end["modules"] if r["module"] == "__main__")
        self.assertTrue(main["own"] and main["exclusive_bytes"] > 1_000_000)

    def test_marks_leave_nothing_behind(self):
        """The second of several marks in a row has what the next one has: neither earlier marks nor our own modules are counted."""
        code = "from tidemark import objects\nkept = [1.5]\nfor i in range(4): objects.mark(f'm{i}')\n"
        _, kept = self.run_program(code)
        first, second, third, fourth, end = kept["snapshots"]
        self.assertEqual([(s["total_bytes"], s["objects"]) for s in (third, fourth)], [(second["total_bytes"], second["objects"])] * 2)
        self.assertLess(abs(end["total_bytes"] - second["total_bytes"]), 100_000)
        modules = {m["module"] for m in end["modules"]} | {o["name"].removeprefix("module ") for o in end["owners"]}
        self.assertFalse([m for m in modules if "tidemark" in m])
        self.assertNotIn("tracemalloc", modules)  # Tidemark imports it

    def test_marks_survive(self):
        """Those before os._exit or kill are there, whole, and the command says what is missing."""
        for end in ("os._exit(3)", "os.kill(os.getpid(), 9)"):
            done, kept = self.run_program(f"import os\nfrom tidemark import objects\nobjects.mark('one')\nobjects.mark('two')\n{end}\n")
            self.assertEqual([s["at"] for s in kept["snapshots"]], ["one", "two"])
            self.assertIn("was killed or ended by os._exit: its end was not measured, its marks were", done.stderr)
            self.assertIn(done.returncode, (3, 137))

    def test_names_of_marks(self):
        done, kept = self.run_program("from tidemark import objects\nfor name in ('a', '', 'a', '', 'end', 5): objects.mark(name)\n", "--at", "b")
        self.assertEqual([s["at"] for s in kept["snapshots"]], ["a", "mark", "a #2", "mark #2", "end (mark)", "5", "end"])
        self.assertIn('there is no snapshot "b"; there are "a", "mark", "a #2", "mark #2", "end (mark)", "5", "end"', done.stderr)

    def test_marks_of_other_processes(self):
        code = ("import os, subprocess, sys\nfrom tidemark import objects\nif os.fork() == 0:\n    objects.mark('fork')\n    os._exit(0)\nos.wait()\n"
                "subprocess.run([sys.executable, '-c', \"from tidemark import objects; objects.mark('child')\"], check=True)\nobjects.mark('own')\n")
        done, kept = self.run_program(code)
        self.assertEqual([s["at"] for s in kept["snapshots"]], ["own", "end"], done.stderr)

    def test_objects_that_end_programs(self):
        code = ("from tidemark import objects\nclass Ends:\n    def __sizeof__(self): raise SystemExit(7)\n    def __eq__(self, o): raise KeyboardInterrupt\n    def __hash__(self): return 1\n"
                "    def __repr__(self): raise GeneratorExit\nkept = [Ends(), Ends()]\nobjects.mark('m')\nprint('goes on')\n")
        done, kept = self.run_program(code)
        self.assertEqual((done.returncode, done.stdout.splitlines()[0]), (0, "goes on"), done.stderr)
        for s in kept["snapshots"]:
            self.assertEqual(s["problems"], ["Ends: __sizeof__ failed, basic size taken: SystemExit(7)", "Ends: it cannot be compared: KeyboardInterrupt()"])

    def test_a_file_that_cannot_be_kept(self):
        """Is noticed before the program runs."""
        for where in ("nowhere/kept", "/"):
            done = subprocess.run([_home.program(), "objects", "--keep", where, "--", sys.executable, "-c", "print('ran')"], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"{where}: cannot write", done.stderr)

    def test_programs_that_end_badly(self):
        done, kept = self.run_program("x = [2.5]\nraise KeyError('gone')\n")
        self.assertEqual((done.returncode, len(kept["snapshots"])), (1, 1))
        self.assertIn("KeyError", done.stderr)
        done, kept = self.run_program("import os\nos._exit(3)\n")
        self.assertEqual((done.returncode, kept), (3, None))
        self.assertIn("os._exit", done.stderr)
        done, kept = self.run_program("import os, subprocess, sys\nmine = 'm' * 9999\nsubprocess.run([sys.executable, '-c', 'x = 1'])\n"
                                      "if os.fork() == 0: sys.exit(0)\nos.wait()\n")
        self.assertIn("__main__.mine", {o["name"] for o in kept["snapshots"][-1]["owners"]})
        done, kept = self.run_program("class W:\n    def __sizeof__(self): raise ValueError('no')\n    def __eq__(self, o): 1 / 0\n    def __hash__(self): 1 / 0\n"
                                      "    __class__ = property(lambda self: 1 / 0)\nw = [W(), W()]\n")
        self.assertIn("W: __sizeof__ failed, basic size taken: ValueError('no')", kept["snapshots"][0]["problems"], done.stderr)


if __name__ == "__main__":
    unittest.main()
