# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Every script of examples/python runs and says something. That of torch.compile is run in `make check-all`, where there is a compiler."""
import importlib.util
import os
import pathlib
import shutil
import unittest

import torch_fork
from extent import ALL

EXAMPLES = pathlib.Path(os.environ.get("TIDE_SOURCE", pathlib.Path(__file__).resolve().parents[2])) / "examples/python"
SAYS = {"unified_profiler.py": "8 rows against 64", "memory_profiler.py": "by role", "flame_graph.py": "Matrix Multiply", "timeline.py": "overlap",
        "hta.py": "no device work", "objects.py": "same heights: True", "torch_compile.py": "1 graph breaks"}


@unittest.skipUnless(importlib.util.find_spec("torch"), "torch is not there")
class Examples(unittest.TestCase):
    def test_all_are_here(self) -> None:
        self.assertEqual({p.name for p in EXAMPLES.glob("*.py")}, set(SAYS))

    def test_run(self) -> None:
        for name, says in SAYS.items():
            if name == "torch_compile.py" and not (ALL and shutil.which("g++")):  # test_profiling.py has the same analyzer in `make test`
                continue
            with self.subTest(name):
                done = torch_fork.run("import runpy, sys; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')", str(EXAMPLES / name))
                self.assertEqual(done.returncode, 0, done.stderr[-2000:])
                if name != "hta.py" or "no device work" in done.stdout:
                    self.assertIn(says, done.stdout)
