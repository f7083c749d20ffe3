# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""%%tidemark in a real IPython shell, and roles that the user gives (needs torch and IPython)."""
import contextlib
import io
import os
import tempfile
import unittest

import torch

import tidemark

try:
    from IPython.core.interactiveshell import InteractiveShell
except ImportError:
    InteractiveShell = None

FOLDER = tempfile.mkdtemp()


def run(shell, text: str) -> tuple[object, str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        result = shell.run_cell(text)
    return result, out.getvalue()


@unittest.skipIf(InteractiveShell is None, "IPython is not there")
class Magic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shell = InteractiveShell.instance()
        run(cls.shell, "%load_ext tidemark\nimport torch")

    def test_a_cell_tells_its_peak(self):
        _, out = run(self.shell, "%%tidemark --group-by op --ops\nkept = torch.ones(1000, 1000)")
        self.assertIn("peak of 3.81 MiB", out)
        self.assertIn("aten::ones", out)
        self.assertEqual(self.shell.user_ns["kept"].shape, (1000, 1000))  # the cell's names are the notebook's

    def test_a_recording_is_kept_and_a_variable_set(self):
        path = os.path.join(FOLDER, "cell.tide")
        run(self.shell, f"%%tidemark -o {path} -v trace\nx = torch.zeros(500)")
        for trace in (self.shell.user_ns["trace"], tidemark.open(path)):
            made = [g["bytes"] for g in trace.peak(group_by="op")["groups"] if g["key"].startswith("aten::zeros")]
            self.assertEqual(made, [2000])

    def test_an_error_in_the_cell_ends_the_recording(self):
        _, out = run(self.shell, "%%tidemark\ny = torch.ones(10)\nraise KeyError('mine')")
        self.assertIn("KeyError", out)
        self.assertRegex(out, r"40 B .* ones")
        self.assertFalse(tidemark.recording())

    def test_a_wrong_option_is_one_line(self):
        _, out = run(self.shell, "%%tidemark --no-such\n1")
        self.assertIn("unrecognized arguments: --no-such", out)


class Roles(unittest.TestCase):
    def test_a_role_that_the_user_gives(self):
        path = os.path.join(FOLDER, "role.tide")
        with tidemark.record(path):
            cache = {"k": [torch.zeros(1024, 16)], "v": [torch.zeros(1024, 16)]}
            self.assertEqual(tidemark.torch.role(cache, "kv_cache", "layer0"), 2)
            other = torch.zeros(64)
        trace = tidemark.open(path)
        roles = {g["key"]: g["bytes"] for g in trace.peak(group_by="role")["groups"]}
        self.assertEqual(roles["kv_cache"], 2 * 1024 * 16 * 4)
        self.assertEqual([n for n in trace.native.column("tensors", "name") if n][-2:], ["layer0.0", "layer0.1"])
        self.assertEqual(tidemark.torch.role(other, "input"), 0)  # nothing records
        with self.assertRaisesRegex(ValueError, "there is no role 'kv': there are parameter"):
            tidemark.torch.role(other, "kv")

    def test_arrow_has_the_roles_of_the_report(self):
        try:
            import pyarrow
        except ImportError:
            self.skipTest("pyarrow is not there")
        path = os.path.join(FOLDER, "arrow.tide")
        with tidemark.record(path):
            model = torch.nn.Linear(64, 64)
            optimizer = torch.optim.Adam(model.parameters())
            for _ in range(2):
                model(torch.ones(8, 64)).sum().backward()
                optimizer.step()
                optimizer.zero_grad()
        trace = tidemark.open(path)
        peak = trace.peak(group_by="role")
        table = pyarrow.table(trace["allocs"]).to_pylist()
        alive: dict[str, int] = {}
        for row in table:
            if row["born"] <= peak["peak_time_ns"] < row["died"]:
                alive[row["role"]] = alive.get(row["role"], 0) + row["size"]
        self.assertEqual(alive, {g["key"]: g["bytes"] for g in peak["groups"]})
        self.assertIn("temporary", {row["role"] for row in table})  # concluded, not labelled


if __name__ == "__main__":
    unittest.main()
