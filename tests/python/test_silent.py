# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A device whose allocator reports nothing to PyTorch's profiler (needs torch): that is reported once, its own counters are
sampled, and its own peak is recorded when it rises.

Each case is a separate process, because PyTorch registers a device once."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import tidemark
import torch_fork

FOLDER = tempfile.mkdtemp()
HERE = pathlib.Path(__file__).parent
SAID = "tidemark: tidal: its allocator reports nothing to PyTorch's profiler, so its allocations are not recorded; "
BEGIN = f"""
import sys, time; sys.path.insert(0, {str(HERE)!r})
import torch, device
def begin():
    global library
    library = device.load()
M = 1 << 20
def empty(n, index=0): return torch.empty(n, dtype=torch.uint8, device=f"tidal:{{index}}")
def own(index=0): return torch.accelerator.memory_allocated(index)
"""
RECORD = "import tidemark\n"


def path(name: str) -> str:
    return os.path.join(FOLDER, name)


def run(code: str, *before: str, later: bool = False, **env: str) -> tuple[str, str]:
    """Returns stdout and stderr of the program."""
    code, environment = BEGIN + ("" if later else "begin()\n") + code, {**os.environ, **env}
    if before:
        done = subprocess.run([*before, sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=600, cwd=FOLDER, env=environment)
    else:
        done = torch_fork.run(code, cwd=FOLDER, env=environment)
    if "SkipTest" in done.stderr:
        raise unittest.SkipTest("needs g++ and torch 2.9")
    assert done.returncode == 0, done.stderr
    lines = [x for x in done.stderr.splitlines(keepends=True) if "building op recording" not in x]
    return done.stdout, "".join(lines)


def devices(name: str) -> dict:
    found = tidemark.open(path(name)).memory()
    assert found["losses"] == {"unreported_devices": "tidal"}, found["losses"]
    return {d["device"]: d for d in found["devices"]}


class Silent(unittest.TestCase):
    def test_said_and_sampled(self):
        out, said = run(RECORD + """
old = empty(3 * M)
with tidemark.record("a.tide"):
    keep = [empty(5 * M), empty(M, 1), torch.ones(3)]
    tidemark.step(0)
    high = own()
    del keep[0]
    tidemark.step(1)
    print(high, own(), own(1))
    keep.append(empty(4 * M, 1))
    print(repr(tidemark.live()).splitlines()[-1])
    del keep[:]
    tidemark.checkpoint("all gone")
    print(repr(tidemark.live()).splitlines()[-1])
    del old
with tidemark.record("b.tide"):
    pass
""")
        self.assertEqual(said, SAID + "its own counters are sampled at steps and every 5 s\n")  # once, however many recordings
        high, low, other = map(int, out.splitlines()[0].split())
        got = devices("a.tide")
        self.assertEqual((high, low, other), (8 << 20, 3 << 20, 1 << 20))
        self.assertEqual((got["tidal:0"]["sampled"]["peak_bytes"], got["tidal:0"]["sampled"]["allocated_bytes"]), (high, 0))
        self.assertEqual(got["tidal:1"]["sampled"]["peak_bytes"], other + (4 << 20))
        self.assertEqual(max(v or 0 for v in got["tidal:0"]["sampled"]["series_bytes"]), high)
        totals = got["tidal:0"]["totals"]
        self.assertEqual([totals[k] for k in ("live_bytes", "peak_bytes", "live_count", "allocs")], [None] * 4)  # not known is not zero
        self.assertEqual(totals["reserved_peak_bytes"], 8 << 20)
        self.assertEqual(got["cpu"]["sampled"], None)
        self.assertIn("sampled 5.00 MiB, at most 5.00 MiB", out.splitlines()[1])  # as it is when asked
        self.assertIn("sampled 0 B, at most 5.00 MiB", out.splitlines()[2])
        devices("b.tide")
        text = subprocess.run([sys.executable, "-m", "tidemark", "memory", path("a.tide")], capture_output=True, text=True, check=True).stdout
        self.assertIn("Sampled: 0 B, highest 8.00 MiB", text)
        self.assertIn("note: devices whose allocators report nothing to PyTorch's profiler", text)
        text = subprocess.run([sys.executable, "-m", "tidemark", "peak", path("a.tide")], capture_output=True, text=True, check=True).stdout
        self.assertIn("note: tidal:0 is sampled: highest 8.00 MiB", " ".join(text.split()))

    def test_its_own_peak(self):
        """The peak is recorded when it rises between two samples, regardless of resets by the program."""
        out, said = run(RECORD + """
most = torch.accelerator.max_memory_allocated
empty(40 * M)  # before: of no recording
with tidemark.record("p.tide"):
    keep = empty(2 * M)
    tidemark.step(0)
    empty(30 * M)  # hidden: less than it ever was
    tidemark.step(1)
    torch.accelerator.reset_peak_memory_stats(0)
    tidemark.step(2)
    empty(7 * M)
    empty(5 * M)
    tidemark.step(3)
    print(repr(tidemark.live()).splitlines()[-1])
    torch.accelerator.reset_peak_memory_stats(0)
    empty(12 * M)
    empty(1, 1)  # a device that is never seen in use
    tidemark.step(4)
    print(most(0), most(1))
with tidemark.record("q.tide"):
    tidemark.step(0)
print(most(0))  # nobody else has reset it
""")
        self.assertEqual(out.splitlines()[1:], [f"{14 << 20} 256", str(14 << 20)])
        self.assertRegex(out.splitlines()[0], "sampled 2.00 MiB, at most 9.00 MiB by its own counter, 2.00 MiB in [0-9]+ samples")
        got = devices("p.tide")
        one = got["tidal:0"]["sampled"]
        self.assertEqual((one["peak_bytes"], one["own_peak_bytes"]), (2 << 20, 14 << 20))
        marks = tidemark.open(path("p.tide")).native
        steps = [t for t, name in zip(marks.column("marks", "t"), marks.column("marks", "name")) if name == "step"]
        self.assertEqual(len(steps), 5)
        self.assertTrue(steps[3] < one["own_peak_since_ns"] < one["own_peak_told_ns"])  # since live() looked, which was after that step
        self.assertEqual([got["tidal:1"]["sampled"][k] for k in ("peak_bytes", "own_peak_bytes")], [0, 256])
        text = subprocess.run([sys.executable, "-m", "tidemark", "memory", path("p.tide")], capture_output=True, text=True, check=True).stdout
        self.assertRegex(text, "Sampled: 2.00 MiB, highest 14.00 MiB \\(between .* and .* by its own counter; [0-9]+ samples\\)")
        self.assertEqual(devices("q.tide")["tidal:0"]["sampled"]["own_peak_bytes"], None)  # nothing rose

    def test_own_peak_from_before_it_was_found_out(self):
        run(RECORD + """
by = device.teller()
with tidemark.record("h.tide"):
    empty(9 * M)
    for i in range(3):
        keep = empty((2 + i) * M)
        tidemark.step(i)
""")
        got = devices("h.tide")["tidal:0"]["sampled"]
        self.assertEqual((got["own_peak_bytes"], got["own_peak_since_ns"]), (9 << 20, 0))  # since the recording began

    def test_by_the_interval(self):
        for seconds in 0.5, 5, 50:  # on a loaded machine the thread that samples may come late
            run(RECORD + f"""
with tidemark.record("i.tide"):
    keep = empty(2 * M)
    time.sleep({seconds})
    del keep
""", TIDEMARK_INTERVAL="0.05")
            got = devices("i.tide")["tidal:0"]["sampled"]
            if got["samples"] > 2:
                break
        self.assertEqual((got["peak_bytes"], got["allocated_bytes"]), (2 << 20, 0))
        self.assertGreater(got["samples"], 2)

    def test_found_out_by_its_counters(self):
        """Its library could report, and does not."""
        out, said = run(RECORD + """
by = device.teller()
old = empty(M)
with tidemark.record("f.tide"):
    for i in range(3):
        keep = empty((2 + i) * M)
        tidemark.step(i)
    print(own())
""")
        self.assertTrue(said.startswith(SAID), said)
        self.assertEqual(said.count("\n"), 1)
        got = devices("f.tide")["tidal:0"]
        self.assertEqual(got["sampled"]["allocated_bytes"], int(out))
        self.assertEqual(got["totals"]["live_bytes"], None)

    def test_found_out_by_a_model(self):
        out, said = run(RECORD + """
by = device.teller()
torch.accelerator.memory_allocated = None  # nor are there counters
with tidemark.record("m.tide", shapes=True):
    net = torch.nn.Linear(8, 4).to("tidal:0")
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, foreach=False)
    for _ in range(2):
        net(torch.ones(3, 8).to("tidal:0")).sum().backward()
        optimizer.step()
""")
        self.assertEqual(said, SAID + "it has no counters either, so its memory is unknown\n")
        t = tidemark.open(path("m.tide"))
        self.assertEqual(t.memory()["losses"], {"unreported_devices": "tidal"})  # labels of missing allocations are not a separate loss
        names = set(t.native.column("spans", "name"))
        self.assertLessEqual({"nn.Module: Linear", "aten::linear", "Optimizer.step#SGD.step"}, names)
        self.assertEqual([m for m in t.native.column("marks", "name")[1:]].count("optimizer.step"), 3)

    def test_library_that_is_loaded_later(self):
        """Its reports are hooked once PyTorch names its device: then it does not count as silent."""
        out, said = run("""
import tidemark
with tidemark.record("l.tide"):
    begin()
    device.telling(library, device.teller())
    old = empty(M)
    tidemark.step(0)
    keep = empty(2 * M)
    for i in range(3):
        tidemark.step(i + 1)
""", later=True)
        self.assertEqual(said, "")
        got = tidemark.open(path("l.tide")).memory()
        self.assertEqual(got["losses"], {})
        self.assertEqual({d["device"]: d["totals"]["live_bytes"] for d in got["devices"]}["tidal:0"], 2 << 20)

    def test_run(self):
        out, said = run("keep = empty(6 * M)\nx = torch.ones(3)\nprint(own())\n", sys.executable, "-m", "tidemark", "run", "-o", path("r.tide"), "--")
        self.assertEqual(said.count(SAID), 1)
        self.assertEqual(devices("r.tide")["tidal:0"]["sampled"]["peak_bytes"], int(out))

    def test_run_of_a_program_that_starts_others(self):
        """Processes that do not use the device print nothing about it."""
        other = BEGIN + "begin(); x = torch.ones(3)\nif len(sys.argv) > 1: keep = empty(M)\n"
        code = f"import subprocess, sys\nfor a in [], ['use']: subprocess.run([sys.executable, '-c', {other!r}, *a], check=True)\n"
        done = subprocess.run([sys.executable, "-m", "tidemark", "run", "-o", path("o.tide"), "--", sys.executable, "-c", code], capture_output=True,
                              text=True, check=True, timeout=600)
        self.assertEqual(done.stderr.count(SAID), 1)

    @unittest.skipUnless(importlib.util.find_spec("pytest"), "pytest is not there")
    def test_a_limit_that_cannot_be_checked(self):
        with open(path("test_limit.py"), "w", encoding="utf-8") as f:
            f.write(BEGIN + "import pytest\nbegin()\n@pytest.mark.limit_device_memory('1 MB')\ndef test_it(): empty(4 * M)\n")
        done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-W", "default", path("test_limit.py")], capture_output=True,
                              text=True, check=False, timeout=600, cwd=FOLDER)
        self.assertIn("1 passed, 1 warning", done.stdout)
        self.assertIn("tidal: its allocator reports nothing: no limit on it can be checked", done.stdout)

    def test_forked_children_leave_it_alone(self):
        out, said = run(RECORD + """
import os
with tidemark.record("c.tide"):
    keep = empty(M)
    pid = os.fork()
    if not pid:
        torch.ones(5)
        tidemark.step(1)
        os._exit(0)
    os.waitpid(pid, 0)
    print(pid)
""")
        self.assertEqual(said.count("\n"), 1)
        child = tidemark.open(path(f"c.{int(out)}.tide"))
        self.assertEqual([d["device"] for d in child.memory()["devices"]], ["cpu"])


if __name__ == "__main__":
    unittest.main()
