# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The memory tracker on real PyTorch (needs torch): every field, counted once, attributed correctly, saved in every case."""
import contextlib
import copy
import ctypes
import dataclasses
import glob
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import torch

import tidemark
import torch_fork
from tidemark import _home, tracker

TENSOR = {"tensor_id", "size_mb", "size_bytes", "logical_bytes", "shape", "dtype", "device", "requires_grad", "operation", "allocated_by", "purpose", "purpose_source",
          "is_persistent", "is_reusable"}
FIELDS = {  # path -> fields that must be there
    "metadata": {"generated_at", "num_snapshots", "operation_tracking_enabled", "pytorch_ops_tracking_enabled",
                 "tensor_lifecycle_tracking_enabled", "operation_log_enabled"},
    "snapshots": {"timestamp", "checkpoint_name", "total_mb", "total_bytes", "tensor_count", "device_breakdown", "top_allocations"},
    "operation_allocations": {"memory_delta_mb", "tensor_delta", "pre_total_mb", "post_total_mb", "timestamp", "tensors_allocated",
                              "tensors_deallocated", "tensors_accessed"},
    "operation_summary": {"invocation_count", "total_memory_delta_mb", "avg_memory_delta_mb", "max_memory_delta_mb"},
    "operation_graph": {"invocations", "total_memory_delta_mb", "tensors_allocated", "tensors_read", "tensors_written",
                        "child_operations", "tensor_details"},
    "tensor_lifecycle": {"purpose", "size_mb", "shape", "is_persistent", "is_reusable", "events"},
    "pytorch_operations": {"op_name", "count", "cpu_time_us", "cuda_time_us", "cpu_memory_mb", "cuda_memory_mb", "input_shapes"},
    "operation_log": {"operation_id", "timestamp", "name", "module_type", "module_name", "input_tensor_ids", "output_tensor_ids",
                      "input_shapes", "output_shape", "num_inputs", "num_outputs"},
}
CHILD = "import os, signal, time, torch\nfrom tidemark.tracker import *\ninitialize_memory_tracker('.', enabled=True, interval=5.0)\nx = torch.ones(1000)\nmemory_checkpoint('here')\n"


@contextlib.contextmanager
def tracking(interval=5.0):
    """A tracker over a block, and its document at the end."""
    folder = tempfile.mkdtemp()
    found = {}
    with contextlib.redirect_stdout(io.StringIO()):
        t = tracker.initialize_memory_tracker(folder, enabled=True, interval=interval)
        try:
            yield t, found
        finally:
            with open(tracker.stop_memory_tracker(), encoding="utf-8") as f:
                found.update(json.load(f))


def child(code: str) -> tuple[subprocess.CompletedProcess, str]:
    folder = tempfile.mkdtemp()
    return torch_fork.run(CHILD + code, cwd=folder), folder


def saved(folder: str) -> dict:
    (name,) = glob.glob(os.path.join(folder, "memory_profile_*.json"))
    with open(name, encoding="utf-8") as f:
        return json.load(f)


class Document(unittest.TestCase):
    def test_every_field(self):
        with tracking() as (t, d):
            m = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU())
            with t.track_model_with_hooks(m), t.track_operation("forward"):
                m(torch.ones(4, 8))
            with t.track_pytorch_ops() as p:
                torch.mm(torch.ones(32, 16), torch.ones(16, 8))
            self.assertIsNotNone(p)
        for part, fields in FIELDS.items():
            rows = d[part]
            rows = [rows] if part == "metadata" else list(rows.values()) if isinstance(rows, dict) else rows
            rows = [r for row in rows for r in (row if isinstance(row, list) else [row])]
            self.assertTrue(rows, f"{part} is empty")
            for r in rows:
                self.assertLessEqual(fields, set(r), part)
        snapshot = d["snapshots"][-1]
        self.assertEqual(snapshot["checkpoint_name"], "final")
        cpu = snapshot["device_breakdown"]["cpu"]
        self.assertEqual({frozenset(x) for x in cpu["tensors"]}, {frozenset(TENSOR)})
        self.assertEqual(sum(x["size_bytes"] for x in cpu["tensors"]), snapshot["total_bytes"])
        self.assertEqual(cpu["count"], snapshot["tensor_count"])
        weight = next(x for x in cpu["tensors"] if x["shape"] == [16, 8])
        self.assertEqual((weight["requires_grad"], weight["dtype"], weight["purpose"]), (True, "torch.float32", "weight"))
        mm = next(o for o in d["pytorch_operations"] if o["op_name"] == "aten::mm")
        self.assertEqual((mm["count"], mm["input_shapes"]), (1, [[32, 16], [16, 8]]))
        self.assertGreater(mm["cpu_time_us"], 0)
        self.assertIsNone(mm["cuda_time_us"] if not torch.cuda.is_available() else None)
        log = d["operation_log"]
        self.assertEqual([(e["name"], e["output_shape"]) for e in log], [("Linear.0", [4, 16]), ("ReLU.1", [4, 16])])
        self.assertEqual(log[0]["output_tensor_ids"], log[1]["input_tensor_ids"])
        self.assertEqual([round(e["memory_delta_mb"] * 1048576) for e in log], [256, 256])
        self.assertEqual(d["operation_graph"]["forward"]["child_operations"], [])

    def test_reads_and_writes_that_hooks_see(self):
        with tracking() as (t, d):
            m = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(inplace=True))
            with t.track_model_with_hooks(m), t.track_operation("seen"), torch.no_grad():
                m(torch.ones(4, 8))
            with t.track_operation("unseen"):
                m(torch.ones(4, 8))
        seen, unseen = d["operation_graph"]["seen"], d["operation_graph"]["unseen"]
        self.assertEqual((seen["tensors_read"], seen["tensors_written"]), (2, 1))  # the input and what ReLU writes in place
        self.assertEqual((unseen["tensors_read"], unseen["tensors_written"]), (None, None))
        self.assertIn("module hooks", d["metadata"]["unknown"]["tensors_read"])
        self.assertEqual(d["operation_allocations"]["seen"][0]["tensors_accessed"], 2)
        written = [v for v in d["tensor_lifecycle"].values() if any(e["event_type"] == "accessed_write" for e in v["events"])]
        self.assertEqual([v["shape"] for v in written], [[4, 16]])
        kinds = [e["event_type"] for e in written[0]["events"]]
        self.assertEqual(kinds, ["allocated", "accessed_read", "accessed_write", "deallocated"])

    @unittest.skipUnless(hasattr(torch.Tensor, "untyped_storage"), "hooks of torch 1 are not told of keyword arguments")
    def test_hooks_open_every_container(self):
        @dataclasses.dataclass
        class Out:
            a: torch.Tensor
            b: dict

        class Leaf(torch.nn.Module):
            def forward(self, x, *, mask=None, more=()):
                return Out(x + 1, {"list": [x * 2, (mask,)]})

        with tracking() as (t, d):
            leaf = Leaf()
            with t.track_model_with_hooks(leaf):
                leaf(torch.ones(2), mask=torch.ones(3), more=[torch.ones(4)])
        (entry,) = d["operation_log"]
        self.assertEqual(entry["input_shapes"], [[2], [3], [4]])
        self.assertEqual(entry["num_outputs"], 3)

    def test_hooks_that_stay_cost_nothing_after_the_end(self):
        model = torch.nn.Linear(3, 3)
        with tracking() as (t, found):
            t.track_model_with_hooks(model)
            model(torch.ones(3))
        model(torch.ones(3))
        self.assertEqual((len(found["operation_log"]), len(t._log)), (1, 1))

    def test_hooks_meet_strange_arguments(self):
        class Odd:
            def __getattr__(self, name):
                raise RuntimeError("ask me nothing")

        class Leaf(torch.nn.Module):
            def forward(self, x, odd):
                return odd

        leaf, odd = Leaf(), Odd()
        with tracking() as (t, _), t.track_model_with_hooks(leaf):
            self.assertIs(leaf(torch.ones(3), odd), odd)
            self.assertIs(leaf(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), odd), odd)
            self.assertEqual(len(t.get_hook_data()), 2)

    def test_a_hooked_model_is_copied_and_pickled(self):
        with tracking() as (t, d):
            m = torch.nn.Sequential(torch.nn.Linear(3, 3))
            with t.track_model_with_hooks(m):
                there = pickle.loads(pickle.dumps(m))
                there(torch.ones(1, 3))  # in another process, say: no longer watched
                copy.deepcopy(m)(torch.ones(1, 3))
                m(torch.ones(1, 3))
        self.assertEqual([e["name"] for e in d["operation_log"]], ["Linear.0", "Linear.0"])

    def test_logical_and_physical_bytes(self):
        with tracking() as (t, d):
            keep = torch.zeros(100, 7, dtype=torch.float16)
            t.checkpoint("now")
        now = next(s for s in d["snapshots"] if s["checkpoint_name"] == "now")
        cpu = now["device_breakdown"]["cpu"]
        (mine,) = [x for x in cpu["tensors"] if x["shape"] == [100, 7]]
        self.assertEqual((mine["logical_bytes"], mine["size_bytes"], 2 * keep.numel()), (1400, 1400, 1400))
        self.assertEqual(now["logical_bytes"], cpu["logical_bytes"])
        self.assertIsNone(cpu["reserved_bytes"])
        self.assertIn("caching allocator", d["metadata"]["unknown"]["reserved_bytes"])

    @staticmethod
    def cpu(file: str) -> dict:
        return next(d["totals"] for d in tidemark.open(file).memory()["devices"] if d["device"] == "cpu")

    def test_every_command_reads_the_profile(self):
        with tracking() as (t, d):
            m = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU())
            with t.track_model_with_hooks(m), t.track_operation("forward <b>"):
                keep = m(torch.ones(32, 64))
            recording, folder = t.recording, t.output_dir
        (saved_as,) = glob.glob(os.path.join(folder, "*.json"))
        totals = self.cpu(saved_as)
        self.assertEqual(d["metadata"]["tensor_lifecycles_left_out"], 0)
        self.assertEqual(totals["live_bytes"], d["snapshots"][-1]["total_bytes"])
        self.assertEqual(totals["live_bytes"], self.cpu(recording)["live_bytes"])
        ops = {o["op"]: o for o in tidemark.open(saved_as).ops(flat=True)["ops"]}
        self.assertLessEqual({"forward <b>", "Linear.0", "ReLU.1"}, set(ops))
        for source, options in ((saved_as, []), (recording, [os.path.join(folder, "out.html")])):
            done = subprocess.run([sys.executable, "-m", "tidemark", "gantt", source, *options], capture_output=True, text=True, check=False)
            if "no pages" in done.stderr:
                continue
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("a page, to open in a browser", done.stdout)
            page = options[0] if options else saved_as.replace(".json", "_gantt.html")
            with open(page, encoding="utf-8") as f:
                self.assertNotIn("forward <b>", f.read())
        del keep

    def test_a_profile_and_its_recording_give_the_same_numbers(self):
        with tracking() as (t, d):
            m = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 8))
            opt = torch.optim.Adam(m.parameters())
            with t.track_model_with_hooks(m):
                for i in range(3):
                    with t.track_operation("step"):
                        x = torch.randn(32, 64)
                        with t.track_operation("forward"):
                            y = m(x).sum()
                        with t.track_operation("backward"):
                            y.backward()
                        with t.track_operation("optimizer"):
                            opt.step()
                            opt.zero_grad()
                    t.checkpoint(f"after {i}")
            recording, folder = t.recording, t.output_dir
        (saved_as,) = glob.glob(os.path.join(folder, "*.json"))
        told, recorded = tidemark.open(saved_as), tidemark.open(recording)
        for ask in (lambda x: x.memory()["devices"][0]["totals"], lambda x: x.memory()["duration_ns"],
                    lambda x: {k: x.peak(group_by="role")[k] for k in ("peak_bytes", "peak_time_ns", "alive_count")},
                    lambda x: [(g["key"], g["bytes"], g["count"]) for g in x.peak(group_by="role")["groups"]]):
            self.assertEqual(ask(told), ask(recorded))
        says_so = [sum(g["bytes"] for g in x.peak(group_by="role")["evidence"] if g["rule"] == "the trace says so") for x in (told, recorded)]
        self.assertEqual(says_so[0], says_so[1])
        ours, theirs = ({o["op"]: o for o in x.ops(flat=True)["ops"]} for x in (told, recorded))
        self.assertEqual(set(ours), {"step", "forward", "backward", "optimizer", "Linear.0", "ReLU.1", "Linear.2"})
        for name, o in ours.items():
            for key in ("count", "wall_ns", "allocs", "frees", "alloc_bytes", "free_bytes", "change_bytes", "peak_bytes"):
                self.assertEqual((name, key, o[key]), (name, key, theirs[name][key]))
        self.assertGreater(ours["step"]["free_bytes"], 0)

    def test_views_and_shared_storage_once(self):
        with tracking() as (t, d):
            a = torch.zeros(256, 1024)
            keep = a.view(-1), a.t(), a[1:], a.detach()
            t.checkpoint("now")
            del keep
        now = next(s for s in d["snapshots"] if s["checkpoint_name"] == "now")
        big = [x for x in now["device_breakdown"]["cpu"]["tensors"] if x["size_bytes"] == 1 << 20]
        self.assertEqual([x["shape"] for x in big], [[256, 1024]])

    def test_recursion_counts_once(self):
        """10 operations of one name, each inside the previous one, keep 1 MB each: 10 MB, not 55."""
        kept = []

        def deeper(t, n):
            with t.track_operation("walk"):
                kept.append(torch.empty(1 << 20, dtype=torch.uint8))
                if n > 1:
                    with t.track_operation("other"):
                        deeper(t, n - 1)

        with tracking() as (t, d):
            deeper(t, 10)
            deeper(t, 1)
            kept.clear()
        summary = d["operation_summary"]["walk"]
        self.assertEqual(summary, {"invocation_count": 11, "total_memory_delta_mb": 11.0, "avg_memory_delta_mb": 1.0, "max_memory_delta_mb": 10.0})
        self.assertEqual(d["operation_summary"]["other"]["total_memory_delta_mb"], 9.0)
        node = d["operation_graph"]["walk"]
        self.assertEqual((node["invocations"], node["total_memory_delta_mb"], node["tensors_allocated"]), (11, 11.0, 11))
        self.assertEqual(sum(r["memory_delta_mb"] for r in d["operation_allocations"]["walk"]), 56)  # each run has its own difference

    def test_borrowed_memory_has_its_own_figure(self):
        import numpy

        before = tidemark.torch.borrowed()
        lent = torch.from_numpy(numpy.zeros(3 << 20, numpy.uint8))
        view = lent[5:]
        own = torch.zeros(1 << 20, dtype=torch.uint8)
        with tracking() as (t, d):
            t.checkpoint("here")
        meta, (shot, *_) = d["metadata"], d["snapshots"]
        self.assertEqual((meta["borrowed_storages"], meta["borrowed_bytes"]), (before[0] + 1, before[1] + (3 << 20)))
        self.assertLess(shot["total_bytes"], 3 << 20)
        self.assertGreaterEqual(shot["total_bytes"], 1 << 20)
        self.assertIsNone(tracker.profile(meta["recording"])["metadata"].get("nothing"))
        self.assertEqual(tracker.profile(meta["recording"])["metadata"]["borrowed_bytes"], meta["borrowed_bytes"])
        del lent, view, own

    def test_nested_attribution_and_peak_inside(self):
        with tracking() as (t, d):
            with t.track_operation("outer"):
                a = torch.empty(1 << 20, dtype=torch.uint8)
                with t.track_operation("inner"):
                    torch.empty(8 << 20, dtype=torch.uint8)  # gone at once: only the peak shows it
                    b = torch.empty(2 << 20, dtype=torch.uint8)
        outer, inner = d["operation_allocations"]["outer"][0], d["operation_allocations"]["inner"][0]
        self.assertEqual((outer["memory_delta_mb"], inner["memory_delta_mb"]), (3, 2))
        self.assertEqual(inner["peak_total_mb"] - inner["pre_total_mb"], 8)
        self.assertEqual((outer["tensors_allocated"], inner["tensors_allocated"], inner["tensors_deallocated"]), (3, 2, 1))
        self.assertEqual(d["operation_graph"]["outer"]["child_operations"], ["inner"])
        by = {x["size_mb"]: x["operation"] for x in d["snapshots"][-1]["device_breakdown"]["cpu"]["tensors"]}
        self.assertEqual((by[1], by[2]), ("outer", "inner"))
        self.assertIn("inner_pre", [s["checkpoint_name"] for s in d["snapshots"]])
        del a, b

    def test_exceptions_pass_and_are_counted(self):
        with tracking() as (t, d):
            with self.assertRaises(KeyError), t.track_operation("bad"):
                keep = torch.empty(1 << 20, dtype=torch.uint8)
                raise KeyError
            with self.assertRaises(ZeroDivisionError), t.track_pytorch_ops():
                torch.ones(3).add(1)
                raise ZeroDivisionError
        self.assertEqual(d["operation_summary"]["bad"]["total_memory_delta_mb"], 1)
        self.assertIn("aten::add", {o["op_name"] for o in d["pytorch_operations"]})
        del keep

    def test_beside_the_programs_own_profiler(self):
        with tracking() as (t, d), torch.profiler.profile() as own:
            with t.track_pytorch_ops() as p:
                torch.ones(3).add(1)
            self.assertIsNone(p)
        self.assertIn("aten::add", {e.key for e in own.key_averages()})
        self.assertEqual(d["metadata"]["pytorch_operations_source"], "recording")

    def test_one_profiler_at_a_time(self):
        """Only one of several threads tracks PyTorch's ops: two profilers at once would crash the process."""
        ready, seen = threading.Barrier(3), []

        def work():
            with tracker.track_pytorch_ops() as p:
                seen.append(p)
                ready.wait()
                torch.ones(3).add(1)
                ready.wait()

        with tracking() as (t, d):
            many = [threading.Thread(target=work) for _ in range(3)]
            [x.start() for x in many]
            [x.join() for x in many]
            with tracker.track_pytorch_ops() as outer, tracker.track_pytorch_ops() as inner:
                torch.ones(3).mul(1)
        self.assertEqual(sorted(p is None for p in seen), [False, True, True])
        self.assertIsNotNone(outer)
        self.assertIsNone(inner)
        self.assertIn("aten::mul", {o["op_name"] for o in d["pytorch_operations"]})

    def test_ranks_that_save_in_one_second_each_keep_a_profile(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(tracker, "datetime", mock.MagicMock()):
            got: list[str] = []
            many = [threading.Thread(target=lambda: got.append(tracker._taken_name(folder))) for _ in range(20)]
            [x.start() for x in many]
            [x.join() for x in many]
            self.assertEqual(len(set(got)), 20)

    def test_a_profile_in_a_new_folder(self):
        with tracking() as (t, _):
            saved = t.save_snapshot(os.path.join("new", "folder", "x.json"))
            self.assertTrue(os.path.exists(saved))

    def test_threads_do_not_mix(self):
        ready = threading.Barrier(2)
        keep = []

        def work(name, n):
            with tracker.track_operation(name):
                ready.wait()
                keep.append(torch.empty(n, dtype=torch.uint8))
                ready.wait()

        with tracking() as (t, d):
            many = [threading.Thread(target=work, args=(f"t{i}", 1000 + i)) for i in range(2)]
            [x.start() for x in many]
            [x.join() for x in many]
        by = {x["size_bytes"]: x["operation"] for x in d["snapshots"][-1]["device_breakdown"]["cpu"]["tensors"]}
        self.assertEqual((by[1000], by[1001]), ("t0", "t1"))
        self.assertEqual([d["operation_graph"][n]["child_operations"] for n in ("t0", "t1")], [[], []])

    def test_ids_are_never_used_twice_and_lives_end_once(self):
        with tracking() as (t, d):
            for _ in range(50):
                torch.empty(12_345, dtype=torch.uint8)  # the same address again and again
                t.checkpoint("x")
        lives = [v for v in d["tensor_lifecycle"].values() if v["size_mb"] * 1048576 == 12_345]
        self.assertEqual(len(lives), 50)
        for v in lives:
            self.assertEqual([e["event_type"] for e in v["events"]], ["allocated", "deallocated"])

    def test_many_tensors_are_counted_and_the_largest_listed(self):
        with tracking() as (t, d):
            keep = [torch.empty(100 + i, dtype=torch.uint8) for i in range(1500)]
        s = d["snapshots"][-1]
        cpu = s["device_breakdown"]["cpu"]
        self.assertEqual(len(cpu["tensors"]) + cpu["tensors_left_out"], cpu["count"])
        self.assertEqual(len(cpu["tensors"]), 1000)
        self.assertGreaterEqual(s["total_bytes"], sum(x.numel() for x in keep))
        self.assertGreaterEqual(s["tensor_count"], 1500)

    def test_periodic_and_reset(self):
        with tracking(interval=0.05) as (t, d):
            time.sleep(0.1)
            t.checkpoint("before")
            t.reset()
            for _ in range(6000):  # until the first snapshot after it
                time.sleep(0.1)
                summary = tracker.get_memory_summary()
                if any(n.startswith("snapshot_0") for n in summary["checkpoints"]):
                    break
        names = [s["checkpoint_name"] for s in d["snapshots"]]
        self.assertNotIn("before", names)
        self.assertTrue(any(n.startswith("snapshot_0") for n in names), names)
        self.assertLessEqual({"num_snapshots", "checkpoints", "peak_memory_mb", "peak_memory_checkpoint", "final_memory_mb"}, set(summary))

    def test_checkpoints_tell_their_totals(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            t = tracker.initialize_memory_tracker(tempfile.mkdtemp(), enabled=True)
            t.checkpoint("empty")
            keep = torch.empty(3 << 20, dtype=torch.uint8)
            with tracker.memory_checkpoint("three"), t.track_operation("quiet"):
                pass
            del keep
            tracker.memory_checkpoint("after")
            tracker.stop_memory_tracker()
        lines = out.getvalue().splitlines()
        at = {line[len("📊 Memory Checkpoint: ") :]: lines[i + 1 : i + 3] for i, line in enumerate(lines) if line.startswith("📊")}
        self.assertEqual(list(at), ["empty", "three", "after"])  # in order, and no others
        megabytes = {name: float(told[0].split()[1]) for name, told in at.items()}
        self.assertEqual([round(megabytes[n] - megabytes["empty"], 1) for n in at], [0, 3, 0])
        self.assertRegex(at["three"][0], r"^   Total: \d+\.\d\d MB across \d+ tensors$")
        self.assertRegex(at["three"][1], r"^   cpu: \d+\.\d\d MB \(\d+ tensors\)$")

    def test_a_start_that_fails_leaves_nothing(self):
        folder = tempfile.mkdtemp()
        for interval in (1e-9, -1, float("nan"), float("inf")):
            with self.assertRaises(ValueError):
                tracker.initialize_memory_tracker(folder, enabled=True, interval=interval)
        self.assertEqual(os.listdir(folder), [])
        self.assertFalse(tidemark.recording())
        self.assertFalse(tidemark.torch.attached())
        tracker._tracker = None

    def test_a_bad_stdout_costs_nothing(self):
        for code in "sys.stdout.close()", "sys.stdout.reconfigure(encoding='ascii', errors='strict')":
            folder = tempfile.mkdtemp()
            done = torch_fork.run(f"import sys; {code}\n{CHILD}stop_memory_tracker()", cwd=folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("here", [s["checkpoint_name"] for s in saved(folder)["snapshots"]])

    def test_snapshots_need_no_gil(self):
        """They come while one C call holds the GIL throughout."""
        for microseconds in 500_000, 5_000_000, 50_000_000:  # on a loaded machine the thread that makes them may come late
            with tracking(interval=0.05) as (t, d):
                t.checkpoint("held")
                ctypes.PyDLL(None).usleep(microseconds)  # PyDLL keeps the GIL
                t.checkpoint("given back")
            names = [s["checkpoint_name"] for s in d["snapshots"]]
            between = [n for n in names[names.index("held") + 1 : names.index("given back")] if n.startswith("snapshot_")]
            if len(between) >= 3:
                break
        self.assertGreaterEqual(len(between), 3, names)

    def test_several_in_one_second_keep_their_files(self):
        folder = tempfile.mkdtemp()
        names = []
        with contextlib.redirect_stdout(io.StringIO()):
            for i in range(3):
                tracker.initialize_memory_tracker(folder, enabled=True, interval=0)
                with tracker.track_operation(f"run{i}"):
                    pass
                names += [tracker.save_memory_profile(), tracker.stop_memory_tracker()]
        self.assertEqual(len(set(names)), 6)
        for i, name in enumerate(names):
            with open(name, encoding="utf-8") as f:
                d = json.load(f)
            self.assertEqual(list(d["operation_summary"]), [f"run{i // 2}"])
            self.assertEqual(list(tracker.profile(d["metadata"]["recording"])["operation_summary"]), [f"run{i // 2}"])

    def test_names_of_any_kind(self):
        with tracking() as (t, d):
            for name in (5, None, "", "é😀", "x" * 5000):
                with t.track_operation(name):
                    t.checkpoint(name)
        self.assertEqual(list(d["operation_summary"])[:4], ["5", "None", "", "é😀"])

    def test_starting_again_saves_first(self):
        folders = [tempfile.mkdtemp(), tempfile.mkdtemp()]
        with contextlib.redirect_stdout(io.StringIO()):
            first = tracker.initialize_memory_tracker(folders[0], enabled=True)
            first.checkpoint("one")
            second = tracker.initialize_memory_tracker(folders[1], enabled=True)
            first.checkpoint("late")
            second.checkpoint("two")
            tracker.stop_memory_tracker()
        self.assertEqual([s["checkpoint_name"] for s in saved(folders[0])["snapshots"]], ["one", "final"])
        self.assertEqual([s["checkpoint_name"] for s in saved(folders[1])["snapshots"]], ["two", "final"])

    def test_disabled_does_nothing(self):
        t = tracker.initialize_memory_tracker()
        with t.track_operation("x"), t.track_pytorch_ops() as p, tracker.memory_checkpoint("y"), t.track_model_with_hooks(torch.nn.ReLU()):
            pass
        self.assertIsNone(p)
        self.assertEqual((tracker.save_memory_profile(), tracker.get_memory_summary(), tracker.stop_memory_tracker()), ("", {}, ""))


class Ends(unittest.TestCase):
    def check(self, document):
        names = [s["checkpoint_name"] for s in document["snapshots"]]
        self.assertIn("here", names)
        return names

    def test_plain_exit(self):
        done, folder = child("")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.check(saved(folder))[-1], "final")

    def test_switches_and_names(self):
        for word, on in (("no", False), ("off", False), ("False", False), ("0", False), (0, False), (None, False)):
            self.assertEqual(tracker.MemoryTracker(enabled=word).enabled, on, word)
        with self.assertRaisesRegex(ValueError, "enabled is true or false, not 'maybe'"):
            tracker.MemoryTracker(enabled="maybe")
        with contextlib.redirect_stdout(io.StringIO()):
            started = tracker.MemoryTracker(tempfile.mkdtemp(), enabled="yes")
            started.stop()
        self.assertTrue(started.enabled)
        self.assertEqual(f"{started.get_summary()['final_memory_mb']:.0f}".isdigit(), True)
        names: dict = {"profile": "mine"}
        exec("from tidemark.tracker import *", names)
        self.assertEqual(names["profile"], "mine")
        self.assertEqual({"initialize_memory_tracker", "MemoryTracker", "track_operation"} - set(names), set())

    def test_interrupt(self):
        done, folder = child("os.kill(os.getpid(), signal.SIGINT); time.sleep(300)")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(self.check(saved(folder))[-1], "final")

    def test_terminate(self):
        done, folder = child("os.kill(os.getpid(), signal.SIGTERM); time.sleep(300)")
        self.assertEqual(done.returncode, -signal.SIGTERM, done.stderr)
        self.assertEqual(self.check(saved(folder))[-1], "final")

    def test_terminate_keeps_recordings_of_other_classes(self):
        """MemoryProfiler and UnifiedProfiler: the recordings are where the program was started, or in output_dir; stderr has their names; nothing
        stays among temporary files."""
        two = ("from tidemark.profiling import MemoryProfiler\np = MemoryProfiler(device='cpu')\nwith p.track('one'): torch.ones(1 << 20)\n"
               "p.start_tracking('two')\nkept = torch.ones(1 << 20)\n")
        session = "from tidemark.profiling import UnifiedProfiler\ns = UnifiedProfiler({}).profile('it')\ns.__enter__()\nkept = torch.ones(1 << 20)\n"
        for code, names in ((two, ["memory", "memory"]), (session.format(""), ["profile"]), (session.format("'out'"), ["out/it"])):
            folder, rest = tempfile.mkdtemp(), tempfile.mkdtemp()
            done = torch_fork.run("import os, signal, time\n" + code + "os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(300)", cwd=folder, env={**os.environ, "TMPDIR": rest})
            self.assertEqual(done.returncode, -signal.SIGTERM, done.stderr)
            files = sorted(glob.glob(os.path.join(folder, "**", "*.tide"), recursive=True))
            self.assertEqual([os.path.relpath(f, folder).partition("_2")[0] for f in files], names)
            self.assertEqual([n for n in os.listdir(rest) if n.startswith("tidemark-memory")], [])
            for f in files:
                self.assertIn(f"SIGTERM ended the recording {f}: `tidemark report {f}` shows it", done.stderr)
                self.assertGreaterEqual(tidemark.open(f).memory()["devices"][0]["totals"]["peak_bytes"], 4 << 20)
            self.assertEqual(glob.glob(os.path.join(folder, "**", "*rings*"), recursive=True), [])

    def test_signals_in_the_middle_of_saving_come_after_it(self):
        during = ("from tidemark import _profile\nown = _profile.write\ndef write(*a):\n    os.kill(os.getpid(), signal.{})\n"
                  "    own(*a)\n_profile.write = write\nstop_memory_tracker()\nprint('not reached')")
        for name, rc in (("SIGTERM", -signal.SIGTERM), ("SIGINT", -signal.SIGINT)):
            done, folder = child(during.format(name))
            self.assertEqual(done.returncode, rc, done.stderr)
            self.assertNotIn("not reached", done.stdout)
            self.assertEqual(self.check(saved(folder))[-1], "final")
        impatient = during.format("SIGINT").replace("    own(*a)", "    os.kill(os.getpid(), signal.SIGINT); time.sleep(300)")
        done, folder = child(impatient)
        self.assertEqual(done.returncode, -signal.SIGINT, done.stderr)
        self.assertEqual([f for f in os.listdir(folder) if not f.endswith(".tide")], [])

    def test_terminated_while_another_thread_saves(self):
        done, folder = child("import threading\nfrom tidemark import _profile\nown, at = _profile.write, threading.Event()\n"
                             "def write(*a):\n    at.set(); time.sleep(1); own(*a)\n_profile.write = write\n"
                             "threading.Thread(target=stop_memory_tracker).start()\nat.wait()\nos.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(300)")
        self.assertEqual(done.returncode, -signal.SIGTERM, done.stderr)
        self.check(saved(folder))

    def test_terminated_inside_track_pytorch_ops(self):
        done, folder = child("with track_pytorch_ops():\n    x.add(1); os.kill(os.getpid(), signal.SIGTERM); time.sleep(300)")
        self.assertEqual(done.returncode, -signal.SIGTERM, done.stderr)
        self.assertIn("aten::add", {o["op_name"] for o in saved(folder)["pytorch_operations"]})

    def test_a_save_that_fails_leaves_no_part_of_a_file(self):
        done, folder = child("from tidemark import _profile\ndef write(found, put):\n    put('{'); raise OSError(28, 'No space left')\n"
                             "_profile.write = write\nprint(repr(stop_memory_tracker()))")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("''", done.stdout)
        self.assertRegex(done.stderr, r"could not be written \(.*No space left\); the recording is .*[.]tide")
        self.assertEqual([f for f in os.listdir(folder) if not f.endswith(".tide")], [])

    def test_kill(self):
        done, folder = child("os.kill(os.getpid(), signal.SIGKILL)")
        self.assertEqual(done.returncode, -signal.SIGKILL)
        (recording,) = glob.glob(os.path.join(folder, "*.tide"))
        document = tracker.profile(recording)
        self.check(document)
        self.assertEqual([x["size_bytes"] for x in document["snapshots"][0]["top_allocations"]][:1], [4000])

    def test_forked_child_leaves_the_parents_profile_alone(self):
        done, folder = child("pid = os.fork()\nif pid == 0:\n    torch.ones(5); raise SystemExit\nos.waitpid(pid, 0)")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check(saved(folder))

    def test_a_forked_child_saves_its_own_profile(self):
        done, folder = child("""
with track_pytorch_ops():
    x.exp()
if pid := os.fork():
    os.waitpid(pid, 0)
else:
    memory_checkpoint("there")
    with track_operation("childs"):
        y = torch.ones(777)
    save_memory_profile("child.json")
    os._exit(0)
""")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("there", self.check(saved(folder)))
        with open(os.path.join(folder, "child.json"), encoding="utf-8") as f:
            found = json.load(f)
        self.assertEqual([s["checkpoint_name"] for s in found["snapshots"]], ["there", "childs_pre"])
        self.assertEqual(set(found["operation_summary"]), {"childs"})
        self.assertNotIn("aten::exp", [o["op_name"] for o in found["pytorch_operations"]])


class Settings(unittest.TestCase):
    def run_with(self, toml, code, *words, **env):
        folder = tempfile.mkdtemp()
        with open(os.path.join(folder, "tidemark.toml"), "w", encoding="utf-8") as f:
            f.write(toml)
        done = subprocess.run([*words, sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, timeout=400, check=False,
                              env={**os.environ, **env})
        return done, folder

    def test_file_environment_argument(self):
        code = ("import tidemark; from tidemark.tracker import *; c = tidemark.config(); t = initialize_memory_tracker(interval=7.0)\n"
                "print([t.enabled, t.interval, c.interval, c.capture_ops, c.where['interval'], c.where['capture_ops']])\n"
                "import torch; y = torch.ones(3) + 1; memory_checkpoint('x')")
        done, folder = self.run_with('[[backend]]\nenable_memory_profiling = true\noutput_dir = "deep/out"\ninterval = 2\n', code,
                                     TIDEMARK_INTERVAL="3.5", TIDEMARK_CAPTURE_OPS="no")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("[True, 7.0, 3.5, False, '$TIDEMARK_INTERVAL', '$TIDEMARK_CAPTURE_OPS']", done.stdout)
        self.assertEqual(saved(os.path.join(folder, "deep/out"))["snapshots"][0]["checkpoint_name"], "x")
        (recording,) = glob.glob(os.path.join(folder, "deep/out/*.tide"))
        self.assertEqual(tidemark.open(recording).tables["spans"], 0)  # capture_ops is off

    def test_mistakes_are_told_with_their_line(self):
        done, _ = self.run_with("[[backend]]\nintervall = 2\n", "import tidemark; tidemark.tracker.initialize_memory_tracker()")
        self.assertIn("tidemark.toml: line 2: unknown key 'intervall' (did you mean interval?)", done.stderr)

    def test_one_switch_under_run(self):
        done, folder = self.run_with('[[backend]]\nenable_memory_profiling = true\noutput_dir = "p"\n', "import torch; x = torch.ones(3)",
                                     _home.program(), "run", "--")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Memory profile saved to", done.stderr)
        self.assertEqual(done.stdout, "")  # what the program prints is its own
        self.assertIn("p/run.tide, ", done.stderr)
        self.assertEqual(saved(os.path.join(folder, "p"))["snapshots"][-1]["checkpoint_name"], "final")

    def test_the_switch_fills_every_part(self):
        """A program that calls nothing of ours: its modules are the operations and the log, its ops are those of the recording."""
        model = ("import torch\nfrom torch import nn\n"
                 "class Net(nn.Module):\n"
                 "    def __init__(self):\n        super().__init__()\n        self.body = nn.Sequential(nn.Linear(4, 8), nn.SiLU())\n"
                 "    def forward(self, x):\n        return self.body(x)\n"
                 "net = Net()\nkept = [net(torch.ones(2, 4)) for _ in range(3)]\n")
        done, folder = self.run_with('[[backend]]\nenable_memory_profiling = true\noutput_dir = "p"\n', model, _home.program(), "run", "--")
        self.assertEqual(done.returncode, 0, done.stderr)
        d = saved(os.path.join(folder, "p"))
        self.assertTrue(all(d[part] for part in d), {part: len(d[part]) for part in d})
        self.assertEqual({n: o["invocation_count"] for n, o in d["operation_summary"].items()}, {"Net": 3, "Net.body": 3})
        self.assertEqual(d["operation_graph"]["Net"]["child_operations"], ["Net.body"])
        self.assertEqual([e["name"] for e in d["operation_log"]], ["Linear.body.0", "SiLU.body.1"] * 3)
        self.assertEqual(d["operation_log"][0]["module_type"], "Linear")
        self.assertIsNone(d["operation_log"][0]["input_shapes"])
        ops = {o["op_name"]: o for o in d["pytorch_operations"]}
        self.assertEqual((ops["aten::linear"]["count"], ops["aten::silu"]["cpu_memory_mb"]), (3, 3 * 2 * 8 * 4 / 2**20))
        self.assertGreaterEqual(ops["aten::linear"]["cpu_time_us"], ops["aten::addmm"]["cpu_time_us"])
        self.assertFalse([n for n in ops if n.startswith("nn.Module")])
        made = [x for x in d["tensor_lifecycle"].values() if x["shape"] == [2, 8]]
        self.assertEqual({x["events"][0]["operation"] for x in made}, {"Net.body"})
        drawn = subprocess.run([_home.program(), "gantt", glob.glob(os.path.join(folder, "p", "*.json"))[0]], capture_output=True, text=True, check=False)
        self.assertIn("12 operations in ", drawn.stdout, drawn.stderr)

    def test_a_named_file_wins_over_the_settings_under_run(self):
        toml = '[[backend]]\nenable_memory_profiling = true\noutput_dir = "p"\n'
        named = os.path.join(tempfile.mkdtemp(), "named.tide")
        for _ in range(2):  # the second time there is a file of before
            done, folder = self.run_with(toml, "import torch; x = torch.ones(4321)", _home.program(), "run", "-o", named, "--")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"tidemark run: {named}, ", done.stderr)
            self.assertNotIn("nothing was recorded", done.stderr)
            self.assertEqual(glob.glob(os.path.join(folder, "p", "*.tide")), [])
            sizes = tidemark.open(named).native.column("allocs", "size")
            self.assertEqual(sizes.count(4 * 4321), 1)
            os.utime(named, ns=(10**18, 10**18))
        self.assertEqual(saved(os.path.join(folder, "p"))["metadata"]["recording"], named)

    def test_a_program_that_cannot_start_is_said_once(self):
        done = subprocess.run([_home.program(), "run", "--", "/no/such/program"], capture_output=True, text=True, check=False, cwd=tempfile.mkdtemp())
        self.assertEqual((done.returncode, done.stderr), (127, "tidemark run: /no/such/program: No such file or directory\n"))


if __name__ == "__main__":
    unittest.main()
