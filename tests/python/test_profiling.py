# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""tidemark.profiling with a real torch: figures against torch's own."""
import asyncio
import collections
import dataclasses
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("TIDE_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
DATA = SOURCE / "tests/data"
TRACE = DATA / "kineto_compiled_infer.json.gz"
HAVE_TORCH = importlib.util.find_spec("torch") is not None
MB = 1024 * 1024


class Faces(unittest.TestCase):
    """Without torch: analyses of kept traces."""

    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def test_importing_is_quick(self) -> None:
        code = "import tidemark.profiling as p, sys; p.__dir__(); assert 'torch' not in sys.modules and 'tidemark.profiling.memory' not in sys.modules"
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_flame(self) -> None:
        from tidemark.profiling import FlameGraphGenerator

        flame = FlameGraphGenerator(min_duration_us=0, group_small_kernels=False).from_chrome_trace(TRACE)
        self.assertAlmostEqual(flame["value"], 18809.449)

        def check(node: dict, depth: int = 1) -> int:
            self.assertAlmostEqual(node["value"], node["self"] + sum(c["value"] for c in node["children"]), 3)
            return max([depth, *(check(c, depth + 1) for c in node["children"])])

        deepest = check(flame)
        self.assertGreater(deepest, 3)
        cut = FlameGraphGenerator(min_duration_us=0, max_depth=2, group_small_kernels=False).from_chrome_trace(TRACE)
        self.assertLessEqual(check(cut), 3)
        self.assertIn("error", FlameGraphGenerator().from_chrome_trace(os.path.join(self.folder, "none.json")))
        odd = os.path.join(self.folder, "odd.json")
        pathlib.Path(odd).write_text('{"traceEvents": [5, null, {"ph": "X", "name": "a", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 1, "dur": 50}]}')
        self.assertEqual(FlameGraphGenerator().from_chrome_trace(odd)["warnings"], [f"Ignored 2 malformed chrome trace event(s) in {odd}"])

    def test_flame_of_kernels(self) -> None:
        from tidemark.profiling import FlameGraphGenerator
        from tidemark.profiling.flame_graph import kernel_kind, short_frame, short_kernel

        rows = [{"name": "ns::sgemm_x", "time_us": 900}, {"name": "softmax", "time_us": 95}, {"name": "fill_zero", "time_us": 5}]
        flame = FlameGraphGenerator(min_duration_us=0).from_kernel_list(rows)
        self.assertEqual(flame["value"], 1000)
        self.assertEqual([c["name"] for c in flame["children"]], ["Matrix Multiply", "Softmax", "Memory Fill"])
        self.assertEqual(flame["children"][2]["children"][0]["name"], "[small kernels]")
        page = FlameGraphGenerator().export(flame, os.path.join(self.folder, "f.json"))
        self.assertEqual(json.loads(pathlib.Path(page).read_text())["value"], 1000)
        self.assertEqual((short_kernel("a::" + "k" * 61), short_kernel("")), ("k" * 57 + "...", "unknown"))
        self.assertEqual(short_frame("/a/" + "f" * 51), "f" * 47 + "...")
        for name, kind in (("ampere_sgemm", "Matrix Multiply"), ("cudnn_conv", "Convolution"), ("gelu_kernel", "Activation"), ("layer_norm", "Normalization"),
                           ("vectorized_elementwise", "Elementwise"), ("reduce_kernel", "Reduction"), ("Memcpy DtoH", "Memory Copy"), ("foo", "Other")):
            self.assertEqual(kernel_kind(name), kind)

    def test_pages_draw_the_data(self) -> None:
        """A page shows the object that is exported: after edits, with its limits, and when the trace has changed meanwhile."""
        from page_section import section
        from tidemark.profiling import FlameGraphGenerator, TimelineGenerator

        def drawn(page: str, key: str) -> dict[tuple[str, ...], int]:
            info, columns = section(pathlib.Path(page).read_text(), "flame")
            self.assertEqual([k for k in info if k in ("cpu", "gpu", "memory")], [key])
            paths, own = [()], {}
            for i, (name, parent, self_) in enumerate(zip(*(columns[f"{key}_{c}"] for c in ("name", "parent", "self")))):
                paths += [(*paths[parent], info[key]["names"][name])] if i else []
                own[paths[i]] = own.get(paths[i], 0) + self_
            return {p: n for p, n in own.items() if n}

        def wanted(node: dict, scale: int, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], int]:
            path = (*path, node["name"])
            own = {path: round(scale * (node["value"] - sum(c["value"] for c in node["children"])))}
            for c in node["children"]:
                for p, n in wanted(c, scale, path).items():
                    own[p] = own.get(p, 0) + n
            return {p: n for p, n in own.items() if n}

        maker = FlameGraphGenerator(min_duration_us=100, max_depth=6)
        trace = shutil.copy(TRACE, self.folder)
        trees = {kind: maker.from_chrome_trace(trace, kind=kind) for kind in ("gpu", "cpu", "memory")}
        trees["list"] = maker.from_kernel_list([{"name": "ns::sgemm_x", "time_us": 900}, {"name": "softmax", "time_us": 95}])
        data = TimelineGenerator(min_duration_us=0).from_chrome_trace(trace)
        pathlib.Path(trace).write_text('{"traceEvents": []}')
        out = os.path.join(self.folder, "page.html")
        for kind, tree in trees.items():
            first = tree["children"][0]
            first["name"] = "edited <b>"
            tree["children"].append({"name": "mine", "value": 5000, "children": []})
            tree["value"] += 5000
            with self.subTest(kind):
                key = "gpu" if kind == "list" else kind
                want, scale = wanted(tree, 1 if key == "memory" else 1000), 1
                if key == "gpu":  # a node with children and a part of its own launches that part
                    want = {p if not any(q[:len(p)] == p and q != p for q in want) else (*p, p[-1]): n for p, n in want.items()}
                self.assertEqual(drawn(maker.export(tree, out, "html"), key), want)
        data.events = [e for e in data.events if e.event_type == "cuda_kernel"][:7]
        data.events[0].name = "edited <b>"
        page = TimelineGenerator().generate_html_viewer(data, out)
        info, columns = section(pathlib.Path(page).read_text(), "spans")
        self.assertEqual(len(columns["dur"]), 7)
        self.assertIn("edited <b>", info["names"])

    def test_timeline(self) -> None:
        from tidemark.profiling import TimelineGenerator
        from tidemark.profiling.timeline import union_us

        self.assertEqual(union_us([(0, 100), (50, 150), (200, 250)]), 200)
        maker = TimelineGenerator(min_duration_us=0)
        data = maker.from_chrome_trace(TRACE)
        gpu = [(e.start_us, e.end_us) for e in data.gpu_events]
        self.assertEqual(len(gpu), 306)
        self.assertAlmostEqual(union_us(gpu), data.gpu_active_time_us, 3)
        cpu = [(e.start_us, e.end_us) for e in data.cpu_events]
        self.assertAlmostEqual(union_us(cpu), data.cpu_active_time_us, 3)
        both = union_us(gpu) + union_us(cpu) - union_us(gpu + cpu)
        self.assertAlmostEqual(both, data.overlap_time_us, 2)
        self.assertEqual(list(data.streams), [7])
        without = TimelineGenerator(min_duration_us=0, include_cuda_runtime=False).from_chrome_trace(TRACE)
        self.assertFalse([e for e in without.events if e.event_type == "cuda_runtime"])
        path = maker.export_chrome_trace(data, os.path.join(self.folder, "t.json"))
        again = maker.from_chrome_trace(path)
        self.assertAlmostEqual(again.gpu_active_time_us, data.gpu_active_time_us, 1)
        train = maker.from_chrome_trace(TRACE.parent / "kineto_gpt_train_stack.json.gz")  # half of its time is in annotations alone
        again = maker.from_chrome_trace(maker.export_chrome_trace(train, os.path.join(self.folder, "train.json")))
        self.assertIn("user_annotation", {e.category for e in train.events})
        self.assertEqual(collections.Counter((e.category, e.name) for e in again.events), collections.Counter((e.category, e.name) for e in train.events))
        for figure in ("cpu_active_time_us", "gpu_active_time_us", "overlap_time_us"):
            self.assertAlmostEqual(getattr(again, figure), getattr(train, figure), 1, figure)
        shown = maker.export_visualization_data(data)
        self.assertEqual(set(shown["summary"]), {"total_time_ms", "cpu_time_ms", "gpu_time_ms", "overlap_ms"})
        self.assertLessEqual(len(shown["cpu_timeline"]), 500)
        self.assertTrue(data.has_gpu_time)

    def test_no_device_rows(self) -> None:
        """Without a device, figures are UNKNOWN, and null in documents."""
        from tidemark.profiling import UNKNOWN, HTAAnalyzer, TimelineGenerator

        path = pathlib.Path(self.folder, "host.json")
        path.write_text(json.dumps({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 50}]}))
        data = TimelineGenerator().from_chrome_trace(path)
        self.assertEqual((data.has_gpu_time, data.gpu_active_time_us, data.overlap_time_us), (False, UNKNOWN, UNKNOWN))
        self.assertEqual({k for k, v in data.summary().items() if v is UNKNOWN}, {"gpu_time_ms", "overlap_ms", "gpu_utilization"})
        TimelineGenerator().export_visualization_data(data, os.path.join(self.folder, "v.json"))
        self.assertIsNone(json.loads(pathlib.Path(self.folder, "v.json").read_text())["summary"]["gpu_time_ms"])
        report = HTAAnalyzer(self.folder).analyze_trace(str(path))
        self.assertEqual(set(report.comm_breakdown.values()), {UNKNOWN})
        path.write_text(json.dumps({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 0, "dur": 50, "args": {"stream": 7, "device": 0}}]}))
        data = TimelineGenerator().from_chrome_trace(path)  # and without rows of the host
        self.assertEqual((data.has_cpu_time, data.cpu_active_time_us, data.has_gpu_time), (False, UNKNOWN, True))
        self.assertEqual({k for k, v in data.summary().items() if v is UNKNOWN}, {"cpu_time_ms", "overlap_ms", "cpu_utilization"})

    def test_reports_are_read_again(self) -> None:
        """What a class exports, read_report() returns: every figure of the document, unknown ones as UNKNOWN. The program names that function."""
        from tidemark import Error
        from tidemark.profiling import UNKNOWN, CompileBreak, CompileReport, HTAAnalyzer, KernelInfo, ProfileSession, TorchCompileAnalyzer, UnifiedProfiler, data_of, read_report

        def again(export, *args):
            first, second = (os.path.join(self.folder, n) for n in ("first.json", "second.json"))
            value = read_report(export(*args, first))
            export(value, second)
            self.assertEqual(json.loads(pathlib.Path(first).read_text()), json.loads(pathlib.Path(second).read_text()))
            self.assertEqual(next(iter(json.loads(pathlib.Path(first).read_text()).items())), ("format", "tidemark-profiling"))
            done = subprocess.run([os.environ["TIDEMARK"], "info", first], capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn("tidemark.profiling.read_report()", done.stderr)
            return value

        hta = again(HTAAnalyzer().export_report, HTAAnalyzer().analyze_trace(TRACE))
        self.assertGreater(hta.compute_time_pct, 50)
        host = pathlib.Path(self.folder, "host.json")
        host.write_text(json.dumps({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 50}]}))
        self.assertIs(again(HTAAnalyzer().export_report, HTAAnalyzer().analyze_trace(host)).gpu_idle_time_pct, UNKNOWN)
        given = CompileReport(compile_time_ms=5.5, speedup=2.0, fusion_ratio=UNKNOWN, graph_breaks=[CompileBreak("why", "a.py", 3, "do", 2, 1.0, 0.5, "hint")], total_graph_breaks=2,
                              timing={"eager_ms": {"mean": 1.0}}, recommendations=["a"], peak_memory_mb=7.0)
        self.assertEqual(data_of(again(TorchCompileAnalyzer().export_report, given)), data_of(given))
        session = ProfileSession("s", 10.0, 4.0, 3.0, 64.0, kernels=[KernelInfo("k", 900.0, 900.0, UNKNOWN, grid=(2, 1, 1), call_count=3)], has_gpu_time=True, has_cpu_time=True)
        self.assertEqual(again(UnifiedProfiler().export_summary, session).kernels[0].grid, (2, 1, 1))
        slower = dataclasses.replace(session, total_time_ms=20.0)
        kept = read_report(UnifiedProfiler().export_summary(slower, os.path.join(self.folder, "kept.json")))
        self.assertEqual(UnifiedProfiler().compare_sessions(kept, session)["speedup"], 2)
        plain = pathlib.Path(self.folder, "plain.json")
        plain.write_text(json.dumps({"timeline": [], "peak_analysis": {"peak_allocated_mb": None}, "markers": {}}))  # of another suite
        self.assertIs(read_report(plain)["peak_analysis"]["peak_allocated_mb"], UNKNOWN)
        for text, says in (("[]", "a JSON object, not list"), ("{", "Expecting"), ("{}", "not a report"), ('{"report": "memory"}', "a damaged memory report"),
                           ('{"report": "hta", "memory": 5}', "a damaged hta report")):
            plain.write_text(text)
            with self.assertRaisesRegex(Error, says):
                read_report(plain)

    def test_hta_says_why_it_has_no_figures(self) -> None:
        from tidemark.profiling import HTAAnalyzer

        path = pathlib.Path(self.folder, "cpu.json")
        path.write_text(json.dumps({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 50}]}))
        report = HTAAnalyzer().analyze_trace(path)
        self.assertIn("no device rows", report.why or "")
        self.assertRegex(report.recommendations[0], "^No device rows.* `tidemark ops`")
        text = HTAAnalyzer().export_report(report, os.path.join(self.folder, "cpu.html"), "html")
        self.assertIn("No device rows", pathlib.Path(text).read_text())
        self.assertIsNone(HTAAnalyzer().analyze_trace(TRACE).why)

    def test_names_to_switch_by(self) -> None:
        """Code for other suites changes one import; their command changes one name."""
        import tidemark.memory_profiler
        from tidemark import tracker
        from tidemark.memory_profiler import get_memory_tracker, memory_checkpoint

        self.assertIs(get_memory_tracker, tracker.get_memory_tracker)
        self.assertIs(memory_checkpoint, tracker.memory_checkpoint)
        self.assertIs(tidemark.memory_profiler.profile, tracker.profile)
        for name in tracker.__all__:
            self.assertIs(getattr(tidemark.memory_profiler, name), getattr(tracker, name))
        done = subprocess.run([sys.executable, "-m", "tidemark.profiling", "hta", str(TRACE), "--json"], capture_output=True, text=True)
        self.assertEqual((done.returncode, len(json.loads(done.stdout)["ranks"])), (0, 1), done.stderr)
        self.assertEqual(subprocess.run([sys.executable, "-m", "tidemark.profiling"], capture_output=True).returncode, 2)

    def test_hta(self) -> None:
        from tidemark.profiling import HTAAnalyzer

        analyzer = HTAAnalyzer(self.folder)
        report = analyzer.analyze_trace(str(TRACE))
        self.assertAlmostEqual(report.gpu_idle_time_pct, 34.9467, 3)
        self.assertAlmostEqual(report.compute_time_pct, 65.0347, 3)
        self.assertAlmostEqual(report.top_kernels[0]["time_us"], 10418.821)
        self.assertTrue(all(isinstance(r, str) for r in report.recommendations) and report.recommendations)
        self.assertEqual(report.kernel_launch_stats["total_kernels"], 303)
        self.assertEqual(report.memory_efficiency_pct, 0)  # its three copies ran alone
        rows = [("kernel", "k", 0, 100), ("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 50, 100), ("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 300, 100)]
        events = [{"ph": "X", "cat": c, "name": n, "pid": 0, "tid": 7 + (c != "kernel"), "ts": t, "dur": d, "args": {"stream": 7 + (c != "kernel"), "device": 0, "bytes": 1000}}
                  for c, n, t, d in rows]
        pathlib.Path(self.folder, "c.json").write_text(json.dumps({"traceEvents": events}))
        copies = analyzer.analyze_trace(os.path.join(self.folder, "c.json"))
        self.assertAlmostEqual(copies.memory_efficiency_pct, 25)  # 50 of 200 us beside the kernel
        self.assertAlmostEqual(copies.memory_bandwidth_gbps, 0.01)
        document = json.loads(pathlib.Path(analyzer.export_report(report, os.path.join(self.folder, "h.json"))).read_text())
        self.assertEqual(set(document["temporal_breakdown"]), {"gpu_idle_pct", "compute_pct", "communication_pct", "memory_pct"})
        page = pathlib.Path(analyzer.export_report(report, os.path.join(self.folder, "h.html"), format="html")).read_text()
        self.assertIn("<svg", page)
        self.assertNotIn("<script", page)
        rows = [("k", 0, 100), ("ncclDevKernel_AllReduce_Sum_f32", 50, 100)]  # 50 of 150 us both
        events = [{"ph": "X", "cat": "kernel", "name": n, "pid": 0, "tid": 7 + i, "ts": t, "dur": d, "args": {"stream": 7 + i, "device": 0}} for i, (n, t, d) in enumerate(rows)]
        pathlib.Path(self.folder, "n.json").write_text(json.dumps({"traceEvents": events}))
        both = analyzer.analyze_trace(os.path.join(self.folder, "n.json"))
        page = pathlib.Path(analyzer.export_report(both, os.path.join(self.folder, "n.html"), format="html")).read_text()
        arcs = [float(a) for a in re.findall(r"stroke-dasharray='([\d.]+) ", page)]
        self.assertEqual((round(both.compute_time_pct, 2), round(both.communication_time_pct, 2)), (66.67, 66.67))
        self.assertEqual([round(a, 2) for a in arcs], [66.67, 0, 33.33, 0])  # a circle has 100 %: communication that is not hidden


STAND_IN = """
import ctypes, dataclasses, json, sys, threading, time, torch
from tidemark.profiling import UnifiedProfiler, _recording

class Device:  # all that _recording asks a device for
    @staticmethod
    def synchronize(): pass

_recording.device = lambda torch: Device
fake = ctypes.CDLL(sys.argv[1])
u64, u32 = ctypes.c_uint64, ctypes.c_uint32
other = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, u32, ctypes.c_void_p)(lambda *given: None)
assert fake.cuptiSubscribe(ctypes.byref(ctypes.c_void_p()), other, None) == 0  # another profiler: launches come as records, with the times given here
names = {n: ctypes.create_string_buffer(n.encode()) for n in ("gemm_a", "gemm_b", "gemm_c")}

def launch(name, number):
    t = time.time_ns()
    fake.fake_launch(u32(threading.get_native_id()), u64(t), u64(t + 10_000), u32(number))
    fake.fake_kernel(names[name], u64(t + 20_000), u64(t + 120_000), u32(7), u32(number))
    time.sleep(0.002)

profiler = UnifiedProfiler(sys.argv[2], with_stack=False, enable_flame_graph=False, recorder="tidemark")
sessions = []
for name, count in (("gemm_a", 3), ("gemm_b", 2)):
    with profiler.profile(name) as session:
        torch.ones(8).sum()
        for i in range(count):
            launch(name, i + 1)
    launch("gemm_c", 99)  # nobody records
    fake.fake_now.restype = u64
    before, now = time.time_ns(), fake.fake_now()
    assert before - 10**9 < now < time.time_ns() + 10**9, "CUPTI's clock is Unix time, whoever set it before"
    sessions.append(dataclasses.asdict(session))
print(json.dumps([{k: s[k] for k in ("kernels", "cuda_time_ms", "bottlenecks", "recommendations", "overhead_pct")} for s in sessions]))
"""


@unittest.skipUnless(HAVE_TORCH, "torch is not there")
class WithTorch(unittest.TestCase):
    def setUp(self) -> None:
        import torch

        self.torch = torch
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
        self.x = torch.randn(32, 64)

    def test_session(self) -> None:
        import tidemark
        from tidemark.profiling import UNKNOWN, UnifiedProfiler

        profiler = UnifiedProfiler(self.folder, with_stack=False)
        with profiler.profile("a step/1") as session:
            self.model(self.x).sum().backward()
        self.assertGreater(session.total_time_ms, 0)
        self.assertLessEqual(session.cpu_time_ms, session.total_time_ms + 1)
        self.assertEqual(session.trace_path.parent, pathlib.Path(self.folder))
        facts = tidemark.open(session.recording_path).native
        self.assertIn(("session.name", "a step/1"), list(zip(facts.column("facts", "key"), facts.column("facts", "text"))))
        self.assertTrue(json.loads(session.trace_path.read_text())["traceEvents"])
        self.assertGreater(session.peak_memory_mb, 0)
        self.assertGreater(session.flame_graph_data["value"], 0)
        self.assertTrue(session.memory_timeline)
        if not self.torch.cuda.is_available():
            self.assertEqual((session.kernels, session.cuda_time_ms, session.has_gpu_time), ([], UNKNOWN, False))
        document = json.loads(pathlib.Path(profiler.export_summary(session, os.path.join(self.folder, "s.json"))).read_text())
        self.assertEqual(set(document["timing"]), {"total_ms", "cuda_ms", "cpu_ms"})
        if not session.has_gpu_time:
            self.assertIsNone(document["timing"]["cuda_ms"])
            self.assertIs(profiler.compare_sessions(session, session)["timing_diff"]["cuda_ms"], UNKNOWN)

    def test_peak_is_torchs(self) -> None:
        """The peak of the host's allocator, against the bytes of the tensors that were made."""
        from tidemark.profiling import UnifiedProfiler

        with UnifiedProfiler(self.folder, with_stack=False, enable_flame_graph=False).profile("peak") as session:
            kept = self.torch.empty(8 * MB, dtype=self.torch.uint8)
            self.torch.empty(4 * MB, dtype=self.torch.uint8)
            del kept
        if not self.torch.cuda.is_available():  # what was alive before counts: it is as torch.cuda.max_memory_allocated() has it
            self.assertAlmostEqual(session.peak_memory_mb - session.allocated_memory_mb, 12, 1)

    def test_recorders(self) -> None:
        """Our recorder and torch.profiler have the same ops; the session names the recorder and the reason."""
        from tidemark.profiling import UnifiedProfiler

        counts = {}
        for recorder in ("tidemark", "torch"):
            profiler = UnifiedProfiler(self.folder, with_stack=False, enable_flame_graph=False, recorder=recorder)
            session = profiler.profile_function(self.model, self.x, name=recorder, warmup=1, iterations=3)
            self.assertEqual(session.recorder, {"tidemark": "tidemark", "torch": "torch.profiler"}[recorder])
            self.assertEqual(session.recording_path is not None, recorder == "tidemark")
            events = json.loads(session.trace_path.read_text())["traceEvents"]
            counts[recorder] = {n: sum(e.get("name") == n and e.get("ph") == "X" for e in events) for n in ("aten::linear", "aten::addmm", "aten::relu")}
            self.assertEqual(session.flops is not None, recorder == "torch")
        self.assertEqual(counts["tidemark"], {"aten::linear": 6, "aten::addmm": 6, "aten::relu": 3})
        self.assertEqual(counts["tidemark"], counts["torch"])
        from tidemark import record

        with record(os.path.join(self.folder, "outer.tide")):
            session = UnifiedProfiler(self.folder, with_stack=False, enable_flame_graph=False).profile_function(self.model, self.x, iterations=1)
        self.assertEqual((session.recorder, session.why), ("torch.profiler", "a recording is in progress"))
        with self.assertRaises(ValueError):
            UnifiedProfiler(self.folder, recorder="nsys")

    def test_kernels_of_a_stand_in(self) -> None:
        """Two sessions with kernels from a stand-in for CUPTI: fields, launches under their op, busy time, nothing left on."""
        fake = pathlib.Path(os.environ.get("TIDE_BUILD", "/nowhere")) / "tests/e2e/libfake_cupti.so"
        if not fake.exists():
            self.skipTest("the stand-in for CUPTI is not built")
        done = subprocess.run([sys.executable, "-c", STAND_IN, str(fake), self.folder], capture_output=True, text=True, env={**os.environ, "TIDEMARK_CUPTI": str(fake)})
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        first, second = json.loads(done.stdout)
        for got, name, count in ((first, "gemm_a", 3), (second, "gemm_b", 2)):
            self.assertEqual([(k["name"], k["call_count"]) for k in got["kernels"]], [(name, count)])
            k = got["kernels"][0]
            self.assertEqual((k["grid"], k["block"], k["registers_per_thread"], k["stream"], k["device_index"]), ([4, 1, 1], [256, 1, 1], 32, 7, 0))
            self.assertEqual(k["kind"], "Matrix Multiply")
            self.assertAlmostEqual(k["duration_us"], 100 * count, 2)
            self.assertAlmostEqual(k["cpu_time_us"], 10 * count, 2)
            self.assertAlmostEqual(got["cuda_time_ms"], 0.1 * count, 4)
            self.assertTrue(any("Single kernel dominates: " + name in b for b in got["bottlenecks"]), got["bottlenecks"])

    def test_advice_without_a_device(self) -> None:
        """A session of the host has its largest op, and bottlenecks by the ops' own times."""
        import time

        import tidemark
        from tidemark.profiling import UnifiedProfiler

        x = self.torch.randn(400, 400)
        profiler = UnifiedProfiler(os.path.join(self.folder, "host"), with_stack=False, record_shapes=False)
        with profiler.profile("one") as one:
            for _ in range(20):
                x @ x
            time.sleep(0.05)
        ops = sorted(tidemark.open(one.recording_path).ops(flat=True)["ops"], key=lambda o: -o["self_ns"])
        share = 100 * ops[0]["self_ns"] / sum(o["self_ns"] for o in ops)
        self.assertEqual([b for b in one.bottlenecks if b.startswith("Single op")], [f"Single op dominates: {ops[0]['op']} ({share:.1f}%)"] * (share > 50))
        self.assertIn(f"{ops[0]['op']} took most of the ops' own time: {share:.1f}%", one.recommendations[-1])
        idle = 100 * (1 - one.cpu_time_ms / one.total_time_ms)
        self.assertEqual([b for b in one.bottlenecks if b.startswith("Outside")], [f"Outside ops: {idle:.1f}% of total time"] * (idle > 30))
        with profiler.profile("many") as many:
            small = self.torch.ones(2)
            for _ in range(2000):
                small + small
        ops = tidemark.open(many.recording_path).ops(flat=True)["ops"]
        count, mean = sum(o["count"] for o in ops), sum(o["self_ns"] for o in ops) / sum(o["count"] for o in ops)
        self.assertEqual([b for b in many.bottlenecks if b.startswith("Many")], [f"Many small ops: {count} ops, {mean / 1000:.1f} us each"] * (mean < 10_000))
        with profiler.profile("empty") as empty:
            pass
        self.assertEqual((empty.bottlenecks, empty.recommendations), ([], []))

    def test_exception(self) -> None:
        from tidemark.profiling import UnifiedProfiler

        with self.assertRaises(ZeroDivisionError), UnifiedProfiler(self.folder, with_stack=False).profile("bad") as session:
            self.model(self.x)
            1 / 0
        self.assertGreater(session.total_time_ms, 0)

    def test_sessions_in_sessions(self) -> None:
        """The first is ours, the one inside is torch.profiler's, a third one is refused: a second torch.profiler ends the process."""
        from tidemark import Error
        from tidemark.profiling import UnifiedProfiler

        profiler = UnifiedProfiler(self.folder, with_stack=False, enable_flame_graph=False)
        with profiler.profile("outer") as outer:
            with profiler.profile("inner") as inner:
                with self.assertRaisesRegex(Error, "torch.profiler is running already, and ours cannot record: a recording is in progress"):
                    with profiler.profile("third"):
                        self.fail("it began")
                self.model(self.x)
        self.assertEqual((outer.recorder, inner.recorder), ("tidemark", "torch.profiler"))
        with self.torch.profiler.profile() as prof, self.assertRaisesRegex(Error, "torch.profiler is running already"):
            with UnifiedProfiler(self.folder, recorder="torch").profile("second"):
                self.fail("it began")
        self.assertIsNotNone(prof.key_averages())
        with UnifiedProfiler(self.folder, recorder="torch", with_stack=False).profile("after") as after:
            self.model(self.x)
        self.assertGreater(after.cpu_time_ms, 0)

    def test_odd_functions(self) -> None:
        """Generators and coroutines do their work within the session; a program that changes its folder keeps its files."""
        from tidemark.profiling import UnifiedProfiler, profile_memory

        ran = []

        def pieces(n: int):
            for _ in range(n):
                ran.append("piece")
                yield self.model(self.x)

        async def later():
            ran.append("later")
            return self.model(self.x)

        async def parts():
            for _ in range(2):
                ran.append("part")
                yield self.model(self.x)

        async def in_a_loop():
            return profiler.profile_function(later, warmup=0, iterations=1)

        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder)
        profiler = UnifiedProfiler("here", with_stack=False, enable_flame_graph=False)
        for fn, args, runs in ((pieces, (3,), 3), (parts, (), 2), (later, (), 1)):
            session = profiler.profile_function(fn, *args, name="../.." + "n" * 300, warmup=0, iterations=2)
            events = json.loads(session.trace_path.read_text())["traceEvents"]
            self.assertEqual(sum(e.get("name") == "aten::relu" for e in events), 2 * runs)
            self.assertTrue(session.trace_path.is_absolute() and not session.trace_path.name.startswith("."))
        self.assertEqual(ran, ["piece"] * 6 + ["part"] * 4 + ["later"] * 2)
        with self.assertRaisesRegex(RuntimeError, "await it inside a session"):
            asyncio.run(in_a_loop())
        self.assertEqual(profile_memory(later, warmup=0, iterations=1)[0].shape, (32, 8))
        with profiler.profile("moves") as session:
            self.model(self.x)
            os.chdir("/")
        self.assertTrue(session.trace_path.exists())

    def test_nothing_was_done(self) -> None:
        """A session without ops has a flame graph of 0 µs, not of bytes."""
        from tidemark.profiling import UNKNOWN, UnifiedProfiler

        profiler = UnifiedProfiler(self.folder, with_stack=False)
        with profiler.profile("empty") as session:
            pass
        self.assertEqual((session.flame_graph_data["value"], session.flame_graph_data["kind"]), (0, "cpu"))
        self.assertEqual((session.has_cpu_time, session.cpu_time_ms), (False, UNKNOWN))  # null in documents
        self.assertIsNone(json.loads(pathlib.Path(profiler.export_summary(session, os.path.join(self.folder, "e.json"))).read_text())["timing"]["cpu_ms"])
        self.assertIs(profiler.compare_sessions(session, session)["timing_diff"]["cpu_ms"], UNKNOWN)
        self.assertTrue(all(p["allocated_mb"] > 0 for p in session.memory_timeline), session.memory_timeline)  # the model was alive all the time

    def test_lost_recording(self) -> None:
        """The program's own exception is the one that is raised, also when its recording is gone."""
        from tidemark.profiling import UnifiedProfiler

        with self.assertRaises(ZeroDivisionError), UnifiedProfiler(os.path.join(self.folder, "gone"), with_stack=False).profile("x"):
            shutil.rmtree(os.path.join(self.folder, "gone"))
            1 / 0

    def test_function_and_comparison(self) -> None:
        from tidemark.profiling import UnifiedProfiler

        profiler = UnifiedProfiler(self.folder, with_stack=False, enable_flame_graph=False)
        calls = []
        one = profiler.profile_function(lambda x: calls.append(1) or self.model(x), self.x, warmup=2, iterations=4)
        self.assertEqual((len(calls), one.iterations), (6, 4))
        got = profiler.compare_sessions(one, one)
        self.assertEqual((got["speedup"], got["timing_diff"]["total_ms"], got["kernel_changes"]), (1, 0, []))
        with self.assertRaises(ValueError):
            profiler.profile_function(self.model, self.x, iterations=0)

    def test_models_are_named_before_the_clock_starts(self) -> None:
        import functools

        import torch

        import tidemark.torch as capture
        from tidemark.profiling import UnifiedProfiler

        known: list[bool] = []

        def noted(model: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
            known.append(id(model) in capture._hook._model.refs)
            return model(x)

        profiler = UnifiedProfiler(self.folder, with_stack=False, recorder="tidemark", enable_flame_graph=False)
        for way in range(3):
            model, x = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()), torch.zeros(1, 4)
            fn = (lambda: noted(model, x), functools.partial(noted, model, x), functools.partial(noted, x=x))[way]
            session = profiler.profile_function(fn, *([model] if way == 2 else []), warmup=0, iterations=2)
            self.assertEqual(session.recorder, "tidemark")
        self.assertEqual(known, [True] * 6)

    def test_a_full_device(self) -> None:
        """Peak > 80 % of the device's memory, on a stand-in for torch.cuda."""
        import types
        from tidemark import Trace
        from tidemark.profiling import ProfileSession, UnifiedProfiler

        cuda = types.SimpleNamespace(current_device=lambda: 0, get_device_properties=lambda _: types.SimpleNamespace(total_memory=100 * MB))
        for peak, said in ((80.0, []), (81.0, ["High memory usage: 81.0% of GPU memory"])):
            session = ProfileSession(peak_memory_mb=peak)
            UnifiedProfiler(self.folder)._advise(session, Trace(TRACE), cuda)
            self.assertEqual(session.bottlenecks, said)
            self.assertEqual(session.recommendations, ["Consider gradient checkpointing or mixed precision"] * len(said))

    def test_comparison_of_kernels(self) -> None:
        from tidemark.profiling import UNKNOWN, KernelInfo, ProfileSession, UnifiedProfiler

        a = ProfileSession(total_time_ms=2, kernels=[KernelInfo("x", 500, 500, 1), KernelInfo("gone", 50, 50, 1), KernelInfo("same", 10, 10, 1)])
        b = ProfileSession(total_time_ms=1, kernels=[KernelInfo("x", 100, 100, 1), KernelInfo("new", 5000, 5000, 1), KernelInfo("same", 60, 60, 1)])
        got = UnifiedProfiler(self.folder).compare_sessions(a, b)
        self.assertEqual(got["speedup"], 2)
        self.assertEqual([c["name"] for c in got["kernel_changes"]], ["new", "x", "gone"])
        self.assertIs(got["memory_diff"]["peak_mb"], UNKNOWN)

    def test_memory(self) -> None:
        from tidemark.profiling import UNKNOWN, MemoryProfiler, data_of, read_report
        import time

        profiler = MemoryProfiler(sample_interval_ms=1.0, device="cpu")
        with profiler.track("outer"):
            with profiler.track("inner"):
                a = self.torch.empty(8 * MB, dtype=self.torch.uint8)
                for _ in range(3):
                    self.torch.empty(16 * MB, dtype=self.torch.uint8)  # gone again at once: no sample may see it
                time.sleep(0.05)
            del a
            with profiler.track("outer"):  # a name again: the last one, with its own end
                pass
            time.sleep(0.05)
        points = profiler.get_timeline()
        self.assertGreater(len(points), 5)
        self.assertEqual([p["time_ms"] for p in points], sorted(p["time_ms"] for p in points))
        peak = profiler.get_peak_analysis()
        self.assertAlmostEqual(peak["peak_allocated_mb"] - peak["current_allocated_mb"], 24, 0)
        self.assertAlmostEqual(max(p["peak_mb"] for p in points), peak["peak_allocated_mb"], 3)
        self.assertAlmostEqual(sum(peak["breakdown"].values()), peak["peak_allocated_mb"], 3)
        marks = profiler.markers()
        self.assertLessEqual(marks["inner"]["end_ms"], marks["outer"]["start_ms"])
        self.assertLess(marks["outer"]["end_ms"] + 45, points[-1]["time_ms"])
        self.assertGreater(marks["inner"]["end_ms"] - marks["inner"]["start_ms"], 45)
        snapshot = profiler.get_memory_snapshot()
        self.assertEqual(set(snapshot["allocations_by_size"]), {"< 1KB", "1KB - 1MB", "1MB - 100MB", "> 100MB"})
        document = json.loads(pathlib.Path(profiler.export(os.path.join(self.folder, "m.json"))).read_text())
        self.assertEqual(set(document), {"format", "report", "timeline", "peak_analysis", "markers"})
        again = read_report(os.path.join(self.folder, "m.json"))
        self.assertEqual(data_of(again), {k: v for k, v in document.items() if k not in ("format", "report")})
        profiler.reset()
        self.assertEqual((profiler.get_timeline(), profiler.get_peak_analysis()), ([], {}))
        empty = MemoryProfiler().get_memory_snapshot()
        self.assertEqual((empty["total_allocated_mb"], set(empty["allocations_by_size"].values())), (UNKNOWN, {UNKNOWN}))
        self.assertEqual(f"{MemoryProfiler().get_peak_analysis()['peak_allocated_mb']:.1f} MB", "unknown MB")

    def alive(self) -> int:
        """Returns the live bytes of the host, as a new recording has them."""
        from tidemark.profiling import MemoryProfiler

        profiler = MemoryProfiler(device="cpu")
        with profiler.track():
            pass
        return round(profiler.get_peak_analysis()["current_allocated_mb"] * MB)

    def test_memory_of_steps(self) -> None:
        """Every part counts: five steps in a loop have five markers, the highest peak, and one clock."""
        from tidemark.profiling import MemoryProfiler

        profiler = MemoryProfiler(device="cpu")
        before, sizes = self.alive(), (3, 20, 5, 6, 6)
        for i, size in enumerate(sizes):
            with profiler.track(f"step {i}"), profiler.track("step"):
                self.torch.empty(size * MB, dtype=self.torch.uint8)
            self.torch.empty(50 * MB, dtype=self.torch.uint8)  # between the parts: not tracked
        marks, points = profiler.markers(), profiler.get_timeline()
        peak = profiler.get_peak_analysis()
        self.assertEqual(round(peak["peak_allocated_mb"] * MB) - before, 20 * MB)
        self.assertEqual(max(p["peak_mb"] for p in points), peak["peak_allocated_mb"])
        self.assertEqual([round(p["peak_mb"] * MB) - before for p in marks["step"]["parts"]], [n * MB for n in sizes])
        self.assertEqual(set(marks), {"step", *(f"step {i}" for i in range(5))})
        edges = [t for i in range(5) for t in (marks[f"step {i}"]["start_ms"], marks[f"step {i}"]["end_ms"])]
        self.assertEqual(edges, sorted(edges))
        self.assertEqual([p["time_ms"] for p in points], sorted(p["time_ms"] for p in points))
        self.assertTrue(marks["step 1"]["start_ms"] <= peak["peak_time_ms"] <= marks["step 1"]["end_ms"], (marks, peak))
        self.assertAlmostEqual(sum(peak["breakdown"].values()), peak["peak_allocated_mb"], 6)
        self.assertEqual((peak["potential_leak"], len(profiler.paths)), (False, 5))
        files = profiler.paths
        profiler.reset()
        self.assertEqual((profiler.markers(), [os.path.exists(p) for p in files]), ({}, [True] * 5))

    def test_memory_inside(self) -> None:
        """A profiler inside a session, the tracker, a recording or another profiler joins it: its figures are those that it has alone, and the
        outer one has its own."""
        import tidemark
        from tidemark.profiling import MemoryProfiler, UnifiedProfiler
        from tidemark.tracker import MemoryTracker

        def inside(profiler: MemoryProfiler) -> list[float]:
            with profiler.track("a"):
                self.torch.empty(7 * MB, dtype=self.torch.uint8)
            with profiler.track("b"):
                self.torch.empty(2 * MB, dtype=self.torch.uint8)
            return [profiler.markers()[n]["peak_mb"] for n in "ab"]

        before = self.alive() / MB
        alone = inside(MemoryProfiler(device="cpu"))
        self.assertEqual([round(p - before, 6) for p in alone], [7, 2])
        outer = MemoryProfiler(device="cpu")
        profiler = MemoryProfiler(device="cpu")
        with outer.track("outer"):
            kept = self.torch.empty(MB, dtype=self.torch.uint8)
            found = inside(profiler)
            self.torch.empty(30 * MB, dtype=self.torch.uint8)
        del kept
        self.assertEqual([round(p - before, 6) for p in found], [8, 3])
        self.assertEqual([round(p - before, 6) for p in (profiler.get_peak_analysis()["peak_allocated_mb"], outer.get_peak_analysis()["peak_allocated_mb"])], [8, 31])
        self.assertEqual(set(outer.markers()), {"outer"})
        unified = UnifiedProfiler(self.folder, with_stack=False, enable_flame_graph=False, enable_trace=False)
        with unified.profile("session") as session:
            with profiler.track("in a session"):
                self.torch.empty(4 * MB, dtype=self.torch.uint8)
        self.assertEqual(session.recorder, "tidemark")
        self.assertAlmostEqual(profiler.markers()["in a session"]["peak_mb"] - before, 4, 3)  # the session keeps no trace
        with tidemark.record(os.path.join(self.folder, "r.tide")):
            self.assertEqual(inside(MemoryProfiler(device="cpu")), alone)
        tracker = MemoryTracker(self.folder, enabled=True)
        tracker.checkpoint("mine")
        self.assertAlmostEqual(inside(profiler)[0], alone[0], 3)
        self.assertEqual([s["checkpoint_name"] for s in json.loads(pathlib.Path(tracker.stop()).read_text())["snapshots"]], ["mine", "final"])

    def test_memory_of_threads_at_once(self) -> None:
        """Profilers of several threads at once: each has its own parts, all see the same bytes."""
        import threading

        from tidemark.profiling import MemoryProfiler, UnifiedProfiler

        before, found, meet = self.alive(), {}, threading.Barrier(3)

        def work(name: str, profiler: MemoryProfiler) -> None:
            for step in range(3):
                meet.wait()
                with profiler.track(f"{name}{step}"):
                    meet.wait()
                    block = self.torch.empty(MB, dtype=self.torch.uint8)
                    meet.wait()
                    del block
                    meet.wait()
            found[name] = profiler

        threads = [threading.Thread(target=work, args=(n, MemoryProfiler(device="cpu"))) for n in "xyz"]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual({n: sorted(p.markers()) for n, p in found.items()}, {n: [f"{n}{i}" for i in range(3)] for n in "xyz"})
        for p in found.values():
            self.assertEqual(round(p.get_peak_analysis()["peak_allocated_mb"] * MB) - before, 3 * MB)
        sessions, wrong = [], []

        def session(name: str) -> None:
            try:
                with UnifiedProfiler(self.folder, with_stack=False, enable_flame_graph=False).profile(name) as s:
                    self.model(self.x)
                sessions.append(s)
            except Exception as why:  # at most two sessions at once: the third one is refused
                wrong.append(str(why))

        threads = [threading.Thread(target=session, args=(f"t{i}",)) for i in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(len(sessions) + len(wrong), 3)
        self.assertGreaterEqual(len(sessions), 1)
        for why in wrong:
            self.assertIn("torch.profiler is running already", why)

    def test_peak_has_one_meaning(self) -> None:
        """The highest live bytes, with what was alive before: alone, inside a recording, from torch.profiler."""
        import tidemark
        from tidemark.profiling import UNKNOWN, UnifiedProfiler

        kept = self.torch.empty(64 * MB, dtype=self.torch.uint8)

        def peak(recorder: str = "auto") -> float:
            profiler = UnifiedProfiler(self.folder, with_stack=False, enable_flame_graph=False, recorder=recorder)
            with profiler.profile("p") as session:
                self.torch.empty(4 * MB, dtype=self.torch.uint8)
            seen.append(session.recorder)
            return session.peak_memory_mb

        seen: list[str] = []
        alone = peak()
        with tidemark.record(os.path.join(self.folder, "outer.tide")):
            nested = peak()
        del kept
        self.assertEqual(seen, ["tidemark", "torch.profiler"])
        self.assertAlmostEqual(nested, alone, 3)
        self.assertGreater(alone, 68)
        if not self.torch.cuda.is_available():
            self.assertIs(peak("torch"), UNKNOWN)  # it does not know what was alive before

    def test_an_unknown_figure(self) -> None:
        """Code for other profilers formats, adds and compares it; nothing raises, and nothing is taken for a number."""
        import copy
        import dataclasses
        import pickle

        from tidemark.profiling import UNKNOWN, CompileReport, HTAReport, KernelInfo, ProfileSession, data_of, known

        for spec, text in ((".1f", "unknown"), (",.2f", "unknown"), ("d", "unknown"), (">10.1f", "   unknown"), ("<10", "unknown   "), ("*^11.3f", "**unknown**"), ("08.2f", " unknown"),
                           ("+.1%", "unknown"), ("", "unknown"), ("12.3e", "     unknown"), ("_d", "unknown")):
            self.assertEqual(format(UNKNOWN, spec), text, spec)
        self.assertEqual((str(UNKNOWN), f"{UNKNOWN!r}", bool(UNKNOWN), known(UNKNOWN), known(0.0), known(None)), ("unknown", "unknown", False, False, True, False))
        for compared in (UNKNOWN < 1, UNKNOWN > 1, UNKNOWN <= 1, UNKNOWN >= 1, UNKNOWN == UNKNOWN, UNKNOWN != UNKNOWN, UNKNOWN == 0, UNKNOWN != 0, 1 < UNKNOWN, 1 != UNKNOWN):
            self.assertIs(compared, False)
        for same in (UNKNOWN + 1, 1 - UNKNOWN, UNKNOWN / 0, 2 * UNKNOWN, -UNKNOWN, abs(UNKNOWN), round(UNKNOWN, 2), UNKNOWN ** 2, 7 // UNKNOWN, UNKNOWN % 3, copy.deepcopy(UNKNOWN),
                     pickle.loads(pickle.dumps(UNKNOWN)), copy.copy(UNKNOWN)):
            self.assertIs(same, UNKNOWN)
        for made in (ProfileSession(), HTAReport(), CompileReport(total_graph_breaks=UNKNOWN), KernelInfo("k", 1, 1, UNKNOWN)):
            for f in dataclasses.fields(made):
                value = getattr(made, f.name)
                if isinstance(value, float):
                    self.assertTrue(f"{value:10.2f}")
                self.assertNotIn("float | None", str(f.type), f.name)
            json.loads(json.dumps(data_of(made)), parse_constant=self.fail)  # no NaN


    def test_memory_by_threads(self) -> None:
        """Threads that track at once share a recording; nothing is left behind when the profiler is gone."""
        import threading

        from tidemark.profiling import MemoryProfiler

        for bad in (0.5, float("nan"), float("inf")):
            with self.assertRaises(ValueError):
                MemoryProfiler(sample_interval_ms=bad)
        profiler = MemoryProfiler(device="cpu")
        meet, wrong = threading.Barrier(4), []

        def work(name: str) -> None:
            try:
                meet.wait()
                with profiler.track(name):
                    meet.wait()
                    self.torch.empty(MB, dtype=self.torch.uint8)
            except Exception as why:
                wrong.append(why)
                meet.abort()

        threads = [threading.Thread(target=work, args=(f"w{i}",)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual((wrong, sorted(profiler.markers())), ([], ["w0", "w1", "w2", "w3"]))
        folder = os.path.dirname(profiler.path)
        pid = os.fork()
        if not pid:
            del profiler
            os._exit(not os.path.exists(folder))  # a child leaves it alone
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertTrue(os.path.exists(profiler.path))
        del profiler, work, threads, t
        import gc

        gc.collect()
        self.assertFalse(os.path.exists(folder))

    def test_profile_memory(self) -> None:
        from tidemark.profiling import profile_memory

        result, told = profile_memory(lambda n: self.torch.ones(n).sum().item(), 1000, warmup=1, iterations=2)
        self.assertEqual(result, 1000)
        self.assertEqual(set(told), {"timeline", "peak"})

    def test_from_profiler(self) -> None:
        from tidemark.profiling import FlameGraphGenerator, HTAAnalyzer, TimelineGenerator

        with self.torch.profiler.profile() as prof:
            self.model(self.x)
        wall = sum(e.self_cpu_time_total for e in prof.key_averages())
        flame = FlameGraphGenerator(min_duration_us=0, group_small_kernels=False).from_profiler(prof, kind="cpu")
        self.assertEqual(flame["name"], "CPU Execution")
        self.assertEqual(FlameGraphGenerator().from_profiler(prof, "mine", kind="cpu")["name"], "mine")
        self.assertAlmostEqual(flame["value"], wall, delta=0.02 * wall + 5)
        data = TimelineGenerator().from_profiler(prof)
        self.assertGreater(data.cpu_active_time_us, 0)
        self.assertIn("aten::linear", {e.name for e in data.events})
        report = HTAAnalyzer(self.folder).profile_and_analyze(self.model, self.x, name="../a/b" + "n" * 300, warmup=1, iterations=2)
        self.assertIn("_a_bnnn", os.listdir(self.folder)[0])
        if not self.torch.cuda.is_available():
            self.assertEqual(f"{report.gpu_idle_time_pct:.1f}%", "unknown%")

    def test_from_profiler_at_any_time(self) -> None:
        """After the user's own export, before it, between both; a profiler that still runs is refused in a sentence. Figures are those of the
        exported trace."""
        from tidemark import Error
        from tidemark.profiling import FlameGraphGenerator, HTAAnalyzer, TimelineGenerator

        with self.torch.profiler.profile(record_shapes=True) as prof:
            with self.assertRaisesRegex(Error, "torch.profiler is still running: its events are there after its block"):
                TimelineGenerator().from_profiler(prof)
            with self.torch.profiler.record_function("mine"):
                self.model(self.x)
        maker = TimelineGenerator(min_duration_us=0)
        first = maker.from_profiler(prof)
        flame = FlameGraphGenerator(min_duration_us=0, group_small_kernels=False).from_profiler(prof)
        path = os.path.join(self.folder, "users.json")
        prof.export_chrome_trace(path)  # the user's own
        again, theirs = maker.from_profiler(prof), maker.from_chrome_trace(path)
        self.assertEqual([(e.name, e.event_type) for e in first.events], [(e.name, e.event_type) for e in again.events])
        self.assertEqual(sorted((e.name, e.event_type, round(e.duration_us, 2)) for e in first.events),
                         sorted((e.name, e.event_type, round(e.duration_us, 2)) for e in theirs.events if not e.name.startswith("PyTorch Profiler")))
        self.assertAlmostEqual(first.cpu_active_time_us, theirs.cpu_active_time_us, 1)
        self.assertAlmostEqual(flame["value"], FlameGraphGenerator(min_duration_us=0, group_small_kernels=False).from_chrome_trace(path)["value"], 1)
        self.assertIn("mine", {e.name for e in again.events})
        HTAAnalyzer(self.folder).analyze_trace(prof)
        with self.torch.autograd.profiler.profile() as old:
            self.model(self.x)
        self.assertIn("aten::linear", {e.name for e in maker.from_profiler(old).events})
        with self.assertRaisesRegex(Error, "has recorded nothing yet"):
            maker.from_profiler(self.torch.profiler.profile())


class Advice(unittest.TestCase):
    def test_other_modes(self) -> None:
        """A mode is not recommended to itself, nor to a backend without modes."""
        from tidemark.profiling import CompileReport
        from tidemark.profiling.torch_compile import _finish

        for backend, mode, ms, said in (("inductor", "default", 2.0, "reduce-overhead"), ("inductor", "reduce-overhead", 2.0, ""), ("eager", "default", 2.0, ""),
                                        ("inductor", "default", 0.9, "max-autotune"), ("inductor", "max-autotune", 0.9, "")):
            report = CompileReport(backend=backend, mode=mode, fused_kernels=1, timing={"eager_ms": {"median": 1.0}, "compiled_ms": {"median": ms}})
            _finish(report)
            self.assertEqual("mode=" in report.recommendations[0], bool(said), report.recommendations)
            self.assertIn(said, report.recommendations[0])


@unittest.skipUnless(HAVE_TORCH and shutil.which("g++"), "torch or g++ is not there")
class Compile(unittest.TestCase):
    def setUp(self) -> None:
        if " " in os.environ.get("CXX", ""):  # inductor wants one word
            self.addCleanup(os.environ.__setitem__, "CXX", os.environ.pop("CXX"))

    def test_compile(self) -> None:
        import torch
        from tidemark.profiling import TorchCompileAnalyzer

        def f(x: "torch.Tensor") -> "torch.Tensor":
            y = (x * 2 + 1).relu()
            print("", end="")
            return (y - 3).sum()

        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        analyzer = TorchCompileAnalyzer(output_dir=folder)
        report = analyzer.analyze(f, {"x": torch.randn(64, 64)}, warmup=1, iterations=3)
        torch._dynamo.reset()
        explained = torch._dynamo.explain(f)(torch.randn(64, 64))
        self.assertEqual(report.total_graph_breaks, explained.graph_break_count)
        b = report.graph_breaks[0]
        self.assertEqual((pathlib.Path(b.location).name, b.suggestion), ("test_profiling.py", "Move print/logging outside the compiled function"))
        self.assertEqual(report.fused_kernels, 2)
        self.assertGreater(report.fusion_ratio, 1)
        self.assertGreater(report.compile_time_ms, 0)
        self.assertEqual(report.timing["eager_ms"]["n"], 3)
        self.assertAlmostEqual(report.speedup, report.eager_time_ms / report.compiled_time_ms)
        self.assertEqual(report.eager_time_ms, report.timing["eager_ms"]["median"])  # one slow call does not count, as in `tidemark compile`
        self.assertIsNotNone(report.peak_memory_mb)
        from torch._inductor import metrics

        self.assertEqual(report.memory_savings_mb, report.eager_peak_memory_mb - report.peak_memory_mb)
        self.assertIn("test_profiling.py", json.dumps(report.memory_diff))  # by stack: lines of this file
        self.assertIn("temporary", json.dumps(report.memory_diff))  # and by role
        metrics.reset()
        torch._dynamo.reset()
        torch.compile(f)(torch.randn(64, 64))
        self.assertEqual(report.fused_kernels, metrics.generated_kernel_count)
        page = pathlib.Path(analyzer.export_report(report, os.path.join(folder, "c.html"), format="html")).read_text()
        self.assertIn("Graph breaks", page)
        bad = TorchCompileAnalyzer(output_dir=folder).compare_modes(f, torch.randn(4), modes=["no-such-mode"], warmup=0, iterations=1)
        self.assertTrue(bad["no-such-mode"].recommendations[0].startswith("Mode failed: "))
        self.assertEqual(f"{bad['no-such-mode'].total_graph_breaks:d}", "unknown")

        def not_compiled(x: "torch.Tensor") -> "torch.Tensor":
            if torch.compiler.is_compiling():
                raise ValueError("only while compiling")
            return x + 1

        eager = analyzer.analyze(not_compiled, torch.randn(4), warmup=0, iterations=1)
        self.assertIn("No code was generated: both times are those of eager code.", eager.recommendations)
        self.assertIn("1 compile failed and runs eagerly", " ".join(eager.recommendations))
        self.assertFalse([r for r in eager.recommendations if "speedup" in r or "is slower" in r])
