# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""/api/profiler/roofline: operations against torch.utils.flop_counter, times against the trace, peaks against the table; nothing is made up."""
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

from serving import SOURCE, Server, skip_unless_built

sys.path.insert(0, str(SOURCE / "tests/support"))
from torch_python import lacks_torch  # noqa: E402

DATA = SOURCE / "tests" / "data"
PYTHON = str(SOURCE / ".venv/bin/python")
WORK = """
import json, sys, torch, torch.nn.functional as F
from torch.profiler import profile, ProfilerActivity
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count
torch.manual_seed(0)
x, w, b = torch.randn(7, 12, requires_grad=True), torch.randn(5, 12, requires_grad=True), torch.randn(5)
p, q = torch.randn(3, 4, 6), torch.randn(3, 6, 8)
image, kernel, grouped = torch.randn(2, 8, 17, 19, requires_grad=True), torch.randn(6, 8, 3, 5, requires_grad=True), torch.randn(8, 2, 3, 3)
up, line = torch.randn(8, 4, 3, 3), torch.randn(2, 8, 30)
a = [torch.randn(2, 3, 16, 8, requires_grad=True) for _ in range(3)]
def work():
    F.linear(x, w, b).sum().backward()
    x.detach() @ w.detach().t()
    torch.bmm(p, q)
    torch.baddbmm(torch.zeros(3, 4, 8), p, q)
    F.conv2d(image, kernel, stride=(2, 1), padding=(1, 2), dilation=(1, 2)).sum().backward()
    F.conv2d(image.detach(), grouped, groups=4, padding=1)
    F.conv_transpose2d(image.detach(), up, stride=2)
    F.conv1d(line, torch.randn(4, 8, 5), stride=3)
    F.scaled_dot_product_attention(*a).sum().backward()
work()
with FlopCounterMode(display=False) as counter:
    work()
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
    work()
prof.export_chrome_trace(sys.argv[1])
names = {str(k).replace(".default", "").replace(".", "::", 1): v for k, v in counter.get_flop_counts()["Global"].items()}
sdpa = "aten::_scaled_dot_product_flash_attention_for_cpu"  # torch counts it on devices alone
shapes = [t.shape for t in a]
names.update({sdpa: sdpa_flop_count(*shapes), sdpa + "_backward": sdpa_backward_flop_count(shapes[0], *shapes)})
json.dump({"total": sum(names.values()), "by": names}, open(sys.argv[2], "w"))
"""


def against_torch(folder):
    if why := lacks_torch(PYTHON):
        print("without torch:", why)
        return
    trace, flops = folder / "cpu.json", folder / "flops.txt"
    subprocess.run([PYTHON, "-c", WORK, trace, flops], check=True, stderr=subprocess.DEVNULL)
    theirs = json.loads(flops.read_text())
    with Server(trace) as s:
        got = s.json("/api/profiler/roofline")
    ours = {}
    for p in got["baseline_points"]:
        ours[p["name"]] = ours.get(p["name"], 0) + p["flops"]
    assert got["has_real_data"] and ours == theirs["by"], (ours, theirs["by"])
    total = got["benchmark_details"][0]
    assert total["flops"] == theirs["total"] and total["time_of"] == "host" and total["ops_without_shapes"] == 0, total
    assert got["hardware_specs"]["name"] is None and got["hardware_specs"]["peak_tflops"] is None and not got["hardware_specs"]["has_real_data"]
    assert all(p["peak_pct"] is None and p["bound"] is None for p in got["baseline_points"])


def slow(path):
    """Matrix products of a trace: operations, bytes and device time, by name and shapes."""
    with gzip.open(path, "rt", encoding="utf-8") as f:
        events = [e for e in json.load(f)["traceEvents"] if e.get("ph") == "X"]
    ops = [e for e in events if e["name"] in ("aten::mm", "aten::addmm") and "Input Dims" in e["args"]]
    launches = {e["args"]["correlation"]: e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")}
    rows = {}
    for e in ops:
        r = rows.setdefault((e["name"], json.dumps(e["args"]["Input Dims"])), [0, 0.0, e["args"]])
        for k in (k for k in events if k.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")):
            by = launches.get(k["args"]["correlation"])
            if by and by["tid"] == e["tid"] and e["ts"] <= by["ts"] < e["ts"] + e["dur"]:
                r[1] += k["dur"]
        r[0] += 1
    return rows


def of_a_device(folder):
    path = DATA / "kineto_compiled_infer.json.gz"
    with gzip.open(path, "rt", encoding="utf-8") as f:
        (folder / "lines.json").write_text(json.dumps(json.load(f), indent=1))  # one number a line
    with Server(folder / "lines.json") as s:
        lines = s.json("/api/profiler/roofline")
    with Server(path) as s:
        got = s.json("/api/profiler/roofline")
        given = s.json("/api/profiler/roofline?peak_tflops=500.5&memory_bandwidth_gb_s=1000")
        for wrong in ("peak_tflops=x", "peak_tflops=-1", "memory_bandwidth_gb_s=1e3"):
            assert s.ask(f"/api/profiler/roofline?{wrong}")[0] == 400, wrong
    assert lines["baseline_points"] == got["baseline_points"] and lines["benchmark_details"] == got["benchmark_details"], lines
    want = slow(path)
    points = {(p["name"], p["input_dims"]): p for p in got["baseline_points"] if p["name"] in ("aten::mm", "aten::addmm")}
    assert len(points) == len(want) > 2, (len(points), len(want))
    for (name, dims), (calls, us, args) in want.items():
        p = points[name, dims]
        a, b = args["Input Dims"][1:3] if name == "aten::addmm" else args["Input Dims"][:2]
        flops = 2 * a[0] * a[1] * b[1] * calls
        elements = a[0] * a[1] + b[0] * b[1] + a[0] * b[1] + (args["Input Dims"][0][0] if name == "aten::addmm" else 0)
        size = {"c10::BFloat16": 2, "c10::Half": 2, "float": 4}[args["Input type"][0]]
        assert (p["count"], p["flops"], p["bytes"]) == (calls, flops, elements * size * calls), (p, flops, calls)
        assert abs(p["time_us"] - us) < 0.002 * calls + 0.001, (p, us)
        assert abs(p["achieved_tflops"] - flops / p["time_us"] / 1e6) < 1e-4 * p["achieved_tflops"] + 1e-6
        assert abs(p["arithmetic_intensity"] - flops / (elements * size * calls)) < 1e-3
        peak = got["hardware_specs"]["peak_tflops_by_dtype"][p["dtype"]]
        assert p["peak_tflops"] in (peak, got["hardware_specs"]["peak_tflops_by_dtype"]["tf32"]) and 0 < p["peak_pct"] <= 100, p
        assert p["bound"] == ("memory" if p["arithmetic_intensity"] * 4.8 < p["peak_tflops"] else "compute"), p
        assert p["roof_pct"] >= p["peak_pct"]
    assert got["hardware_specs"]["memory_bandwidth_gb_s"] == 4800 and got["hardware_specs"]["peak_tflops"] == 989.4
    assert given["hardware_specs"]["peak_tflops"] == 500.5 and all(p["peak_tflops"] == 500.5 for p in given["baseline_points"])
    assert got["benchmark_details"][0]["time_of"] == "device"


def hostile(folder):
    """Shapes that are not what they should be count as unknown."""
    dims = ["[[3, 4], [4, 5]]", "[[3, 4], [5, 5]]", "[[3, 4]]", "[]", "[[", "[[-1, 4], [4, 5]]", "[[3, [4]], [4, 5]]", "x", "[[9e9, 4], [4, 5]]",
            "[[1, 2, 3, 4, 5, 6, 7, 8, 9], [4, 5]]", "[[99999999999999999999, 4], [4, 5]]"]
    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5, "args": {"Input Dims": d}} for i, d in enumerate(dims)]
    events += [{"ph": "X", "cat": "cpu_op", "name": f"aten::{n}", "pid": 1, "tid": 1, "ts": 1000 + 10 * i, "dur": 5, "args": a} for i, (n, a) in enumerate([
        ("convolution", {"Input Dims": "[[1, 2, 5], [3, 2, 3]]", "Concrete Inputs": '["", "", ""'}),
        ("convolution", {"Input Dims": "[[1, 2, 5], [3, 2, 3]]", "Concrete Inputs": '["", "", "", "[0]", "[0]", "[1]", "False", "[0]", "1"]'}),
        ("convolution_backward", {"Input Dims": "[[1], [1], [1]]", "Concrete Inputs": "[]"}),
        ("_scaled_dot_product_flash_attention", {"Input Dims": "[[1, 2, 3, 4], [1, 2, 9, 5], [1, 2, 8, 4]]"}),
        ("mm", {}), ("bmm", {"Input Dims": 5}), ("addmm", {"Input Dims": [[[1]]]})])]
    (folder / "bad.json").write_text(json.dumps({"traceEvents": events}))
    with Server(folder / "bad.json") as s:
        got = s.json("/api/profiler/roofline")
    assert [(p["name"], p["flops"], p["bytes"], p["dtype"]) for p in got["baseline_points"] if p["flops"]] == [("aten::mm", 120, None, None)], got["baseline_points"]
    assert got["benchmark_details"][0]["ops"] == len(events) and got["benchmark_details"][0]["ops_without_shapes"] >= len(events) - 2, got["benchmark_details"]
    (folder / "none.json").write_text(json.dumps({"traceEvents": [e for e in events if not e["args"]]}))
    with Server(folder / "none.json") as s:
        got = s.json("/api/profiler/roofline")
    assert got["has_real_data"] is False and "record_shapes" in got["message"] and got["baseline_points"] == [], got


def main():
    skip_unless_built()
    with tempfile.TemporaryDirectory() as folder:
        for case in (of_a_device, hostile, against_torch):
            case(pathlib.Path(folder))


main()
