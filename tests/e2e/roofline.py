# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""tidemark roofline: operations against torch.utils.flop_counter, bytes against the tensors of each op, times against the trace, peaks against the table;
nothing is made up. The server and the command line give the same document."""
import gzip
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

from serving import SOURCE, TIDEMARK, Server, skip_unless_built

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
    F.scaled_dot_product_attention(*a, is_causal=causal).sum().backward()
causal = len(sys.argv) > 3
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
# Bytes: what the tensors of each call occupy. A mode below autograd sees every op with its tensors.
BYTES = """
import json, sys, torch, torch.nn.functional as F
from torch.profiler import profile, ProfilerActivity
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten
torch.manual_seed(0)
def held(t):
    n = 1
    for d, s in zip(t.shape, t.stride()):
        n *= d if s or not d else 1
    return n * t.element_size()
seen = {}
WRITTEN_ALONE = {"aten::copy_", "aten::zero_", "aten::fill_", "aten::uniform_", "aten::normal_"}
class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, f, types, args=(), kwargs=None):
        out = f(*args, **(kwargs or {}))
        name = str(f.overloadpacket).replace(".", "::", 1)
        inputs = [t for t in tree_flatten((args, kwargs or {}))[0] if isinstance(t, torch.Tensor) and t.ndim]  # numbers are tensors, too
        outputs = [t for t in tree_flatten(out)[0] if isinstance(t, torch.Tensor)]
        if name in WRITTEN_ALONE:
            inputs = inputs[1:]
        s = seen.setdefault(name, [0, 0, 0])
        s[0] += 1
        s[1] += sum(map(held, inputs))
        s[2] += sum(map(held, outputs))
        return out
def work():
    r = torch.randn
    x, y, h, i = r(6, 5, 8), r(5, 1), r(6, 5, 8, dtype=torch.bfloat16), torch.randint(0, 6, (4, 3))
    z = x.expand(6, 5, 8) + y.expand(5, 8)
    x + h; x * y; x - 2.0; h / 3.0; x.clone().mul_(y); torch.addcmul(x, y, x.neg()); torch.lerp(x, z, 0.3)
    torch.where(x > 0, x, z); x.masked_fill(x < 0, 0.0); x == z; torch.maximum(x, z)
    x.exp(); x.sqrt(); x.tanh(); x.sigmoid(); F.relu(x); F.gelu(h); F.silu(x); x.clamp(-1, 1); x.pow(2)
    h.float(); x.to(torch.bfloat16); x.transpose(0, 1).contiguous(); torch.empty(9, 7).zero_(); torch.empty(9, 3).fill_(2.0)
    x.sum(); x.sum(1); x.mean(-1, keepdim=True); x.amax((0, 2)); x.argmax(1); x.max(1); x.max(); torch.linalg.vector_norm(x, dim=0); x.var(1)
    torch.softmax(x, -1); torch.log_softmax(h, 1)
    w, b = r(8, requires_grad=True), r(8, requires_grad=True)
    g = r(6, 5, 8, requires_grad=True)
    F.layer_norm(g, (8,), w, b).backward(x)
    F.softmax(g, 1).backward(x); F.gelu(g).backward(x); F.silu(g).backward(x); torch.tanh(g).backward(x); torch.sigmoid(g).backward(x)
    torch.index_select(x, 0, i[0]); torch.gather(x, 0, torch.randint(0, 6, (2, 5, 8)))
    t = r(30, 7, requires_grad=True)
    F.embedding(i, t).backward(r(4, 3, 7))
    image = r(2, 3, 9, 9, requires_grad=True)
    F.max_pool2d(image, 3, 2, 1).backward(r(2, 3, 5, 5))
    F.avg_pool2d(image.detach(), 2)
    F.conv2d(image, r(4, 3, 3, 3, requires_grad=True), r(4, requires_grad=True), padding=1).backward(r(2, 4, 9, 9))
    a = torch.mm(r(4, 5), r(5, 6)); torch.addmm(a[0], r(4, 2), r(2, 6)); torch.bmm(r(2, 3, 4), r(2, 4, 5)); torch.mv(r(4, 5), r(5))
    torch.baddbmm(r(2, 3, 5), r(2, 3, 4), r(2, 4, 5))
with Mode():
    work()
with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof:
    work()
prof.export_chrome_trace(sys.argv[1])
json.dump(seen, open(sys.argv[2], "w"))
"""
# What a rule counts otherwise than "every tensor once", and why: name -> read, written of the calls above.
OTHERWISE = {
    "aten::embedding": (12 * 8 + 12 * 7 * 4, 12 * 7 * 4),  # the rows that it looks up
    "aten::index_select": (3 * 8 + 3 * 5 * 8 * 4, 3 * 5 * 8 * 4),
    "aten::max_pool2d_with_indices_backward": (150 * 4 + 150 * 8, 2 * 3 * 81 * 4),  # the input gives its shape alone
    "aten::gather": (80 * 8 + 80 * 4, 80 * 4),
}


def report(*args):
    p = subprocess.run([TIDEMARK, "roofline", "--json", *map(str, args)], capture_output=True, text=True, env=dict(os.environ, LC_ALL="C.UTF-8"))
    assert p.returncode == 0 and not p.stderr, p.stderr
    return json.loads(p.stdout)


def sums(doc):
    """name -> calls, operations, bytes read, bytes written; None = unknown."""
    out = {}
    for p in doc["ops"]:
        s = out.setdefault(p["op"], [0, 0, 0, 0])
        for i, v in enumerate((1, p["flops"], p["bytes_read"], p["bytes_written"])):
            s[i] = None if v is None or s[i] is None else s[i] + v * p["count"]
    return out


def run_torch(folder):
    """Runs the programs in one process: importing PyTorch takes longest."""
    programs = [(WORK, ["", "cpu0.json", "flops0.txt"]), (WORK, ["", "cpu1.json", "flops1.txt", "causal"]), (BYTES, ["", "bytes.json", "bytes.txt"])]
    code = "import json, sys\nfor code, argv in json.loads(sys.argv[1]):\n    sys.argv = argv\n    exec(code, {})\n"
    subprocess.run([PYTHON, "-c", code, json.dumps(programs)], check=True, stderr=subprocess.DEVNULL, cwd=folder)


def against_torch(folder):
    for causal in (0, 1):
        trace, flops = folder / f"cpu{causal}.json", folder / f"flops{causal}.txt"
        theirs = json.loads(flops.read_text())
        masked = sums(report(trace, "--count-masked"))
        assert {k: masked[k][1] for k in theirs["by"]} == theirs["by"], ({k: masked.get(k) for k in theirs["by"]}, theirs["by"])
        doc = report(trace)
        ours = sums(doc)
        for name in theirs["by"]:  # 16 * 17 / 2 of 16 * 16 scores
            want = theirs["by"][name] * 17 // 32 if causal and "_attention_" in name else theirs["by"][name]
            assert ours[name][1] == want, (name, ours[name], want)
        assert doc["time_of"] == "host" and doc["device"]["name"] is None and doc["device"]["bandwidth_gb_s"] is None
        assert all(p["roof_pct"] is None and p["bound"] is None and p["peak_tflops"] is None for p in doc["ops"])
        assert doc["steps"][0]["mfu_pct"] is None
        given = report(trace, "--peak-tflops", "0.5", "--memory-bandwidth-gb-s", "10")
        assert all(p["peak_tflops"] == 0.5 for p in given["ops"] if p["flops"] is not None), given["ops"]


def bytes_against_tensors(folder):
    trace, seen = folder / "bytes.json", folder / "bytes.txt"
    theirs = json.loads(seen.read_text())
    ours = sums(report(trace))
    common = [n for n in theirs if n in ours and n != "aten::convolution_backward"]
    wrong = []
    for name in common:
        calls, _, read, written = ours[name]
        want = OTHERWISE.get(name, theirs[name][1:])
        if (calls, read, written) != (theirs[name][0], *want):
            wrong.append((name, ours[name], theirs[name][0], want))
    assert not wrong, "\n".join(map(str, wrong))
    assert len(common) >= 45, sorted(common)


def slow(path):
    """Every op of the training trace that runs once per set of arguments: device time by (op, dims, concrete), from links alone."""
    with gzip.open(path, "rt", encoding="utf-8") as f:
        events = [e for e in json.load(f)["traceEvents"] if e.get("ph") == "X"]
    ops = [e for e in events if e["name"] in ("aten::mm", "aten::addmm") and "Input Dims" in e["args"]]
    launches = {e["args"]["correlation"]: e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")}
    rows = {}
    for e in ops:
        key = (e["name"], json.dumps(e["args"]["Input Dims"]), json.dumps(e["args"].get("Input Strides")), json.dumps(e["args"].get("Concrete Inputs")))
        r = rows.setdefault(key, [0, 0.0, e["args"]])
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
    lines, got = report(folder / "lines.json"), report(path)
    with Server(path) as s:
        rid = s.json("/api/recordings")["recordings"][0]["id"]
        served = s.json(f"/api/recordings/{rid}/reports/roofline")
        given = s.json(f"/api/recordings/{rid}/reports/roofline?peak_tflops=500.5&memory_bandwidth_gb_s=1000")
        for wrong in ("peak_tflops=x", "peak_tflops=-1", "memory_bandwidth_gb_s=1e3", "peaks=x", "hardware=none"):
            assert s.ask(f"/api/recordings/{rid}/reports/roofline?{wrong}")[0] == 400, wrong
    assert lines["ops"] == got["ops"] == served["ops"], lines
    want = slow(path)
    points = {(p["op"], p["shapes"], p["strides"], p["arguments"]): p for p in got["ops"] if p["op"] in ("aten::mm", "aten::addmm")}
    assert len(points) == len(want) > 2, (len(points), len(want))
    peaks = got["device"]
    for key, (calls, us, args) in want.items():
        p = points[key]
        a, b = args["Input Dims"][1:3] if key[0] == "aten::addmm" else args["Input Dims"][:2]
        elements = a[0] * a[1] + b[0] * b[1] + a[0] * b[1] + (args["Input Dims"][0][0] if key[0] == "aten::addmm" else 0)
        size = {"c10::BFloat16": 2, "c10::Half": 2, "float": 4}[args["Input type"][0]]
        flops, moved = 2 * a[0] * a[1] * b[1], elements * size
        assert (p["count"], p["flops"], p["bytes_read"] + p["bytes_written"]) == (calls, flops, moved), (p, flops, calls)
        assert (p["m"], p["n"], p["k"], p["batch"]) == (a[0], b[1], a[1], 1), p
        assert abs(p["sum_ns"] - 1000 * us) < 2 * calls + 1, (p, us)
        near(p["tflops"], flops * calls / p["sum_ns"] / 1e3)
        near(p["tb_s"], moved * calls / p["sum_ns"] / 1e3)
        near(p["intensity"], flops / moved)
        assert p["peak_tflops"] in [peaks[k] for k in ("tflops_bf16", "tflops_fp32", "tflops_tf32")], p
        ideal = max(flops / p["peak_tflops"] / 1e3, moved / peaks["bandwidth_gb_s"])
        near(p["roof_pct"], 100 * ideal * calls / p["sum_ns"], 1e-3)
        assert p["bound"] == ("compute" if flops / p["peak_tflops"] / 1e3 > moved / peaks["bandwidth_gb_s"] else "memory"), p
        assert p["tflops_min"] <= p["tflops_median"] <= p["tflops_max"] and p["tflops_min"] <= p["tflops_mean"] <= p["tflops_max"]
    assert peaks["bandwidth_gb_s"] == 4800 and peaks["tflops_bf16"] == 989.4 and peaks["name"] == "NVIDIA H200"
    assert given["device"]["tflops_bf16"] == 500.5 and all(p["peak_tflops"] == 500.5 for p in given["ops"] if p["flops"] is not None)
    own = report(path, "--peaks", "H100: bf16=1\nNVIDIA H200: bf16=100 fp32=10 bandwidth=1000")
    assert own["device"]["tflops_bf16"] == 100 and own["device"]["tflops_fp8"] is None
    assert report(path, "--hardware", "AMD MI300X")["device"]["tflops_bf16"] == 1307.4


def near(a, b, part=1e-6):
    assert math.isclose(a, b, rel_tol=part), (a, b)


def of_a_training(folder):
    """Sums add up, and at least 90 % of the device time has a known cost."""
    path = DATA / "kineto_gpt_train.json.gz"
    doc = report(path)
    rows = sum(p["sum_ns"] for p in doc["ops"]) + sum(p["sum_ns"] for p in doc["uncovered"])
    assert rows == doc["device_ns"], (rows, doc["device_ns"])
    with gzip.open(path, "rt", encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    device = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and e.get("ph") == "X"]
    assert abs(doc["device_ns"] - 1000 * sum(e["dur"] for e in device)) <= len(device)
    known = sum(p["sum_ns"] for p in doc["ops"] if None not in (p["flops"], p["bytes_read"], p["bytes_written"]))
    assert doc["covered_ns"] == known and doc["covered_pct"] >= 90, doc["covered_pct"]
    parts = {c["category"]: c for c in doc["categories"]}
    whole = parts.pop("all")
    for key in ("sum_ns", "count", "rows", "recompute_ns"):
        assert sum(c[key] for c in parts.values()) == whole[key], key
    # the optimizer's lists: the gradients of one backward pass
    shapes = [e["args"]["Input Dims"][0] for e in events if e.get("name") == "torch::autograd::AccumulateGrad"]
    elements = sum(math.prod(s) for s in shapes) // 2
    for p in doc["ops"]:
        if p["op"] == "aten::_foreach_mul_":
            assert (p["bytes_read"], p["bytes_written"], p["flops"]) == (4 * elements, 4 * elements, elements), p
    # use of matrix units: operations of products and attention over all of the time
    matrix = [p for p in doc["ops"] if p["category"] in ("gemm", "attention")]
    ideal = sum(p["flops"] * p["count"] / p["peak_tflops"] / 1e3 for p in matrix)
    step = doc["steps"][0]
    near(step["matrix_tflop"], sum(p["flops"] * p["count"] for p in matrix) / 1e12)
    near(step["mfu_pct"], 100 * ideal / step["wall_ns"], 1e-3)
    assert step["mfu_pct"] == step["hfu_pct"] and step["recompute_tflop"] == 0 and 0 < step["mfu_pct"] < 100


def hostile(folder):
    """Shapes that are not what they should be count as unknown."""
    dims = ["[[3, 4], [4, 5]]", "[[3, 4], [5, 5]]", "[[3, 4]]", "[]", "[[", "[[-1, 4], [4, 5]]", "[[3, [4]], [4, 5]]", "x", "[[9e9, 4], [4, 5]]",
            "[[1, 2, 3, 4, 5, 6, 7, 8, 9], [4, 5]]", "[[99999999999999999999, 4], [4, 5]]", str([[1] * 40, [1] * 40]), "[[9223372036854775808, 1], [1, 1]]"]
    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5, "args": {"Input Dims": d}} for i, d in enumerate(dims)]
    events += [{"ph": "X", "cat": "cpu_op", "name": f"aten::{n}", "pid": 1, "tid": 1, "ts": 1000 + 10 * i, "dur": 5, "args": a} for i, (n, a) in enumerate([
        ("convolution", {"Input Dims": "[[1, 2, 5], [3, 2, 3]]", "Concrete Inputs": '["", "", ""'}),
        ("convolution", {"Input Dims": "[[1, 2, 5], [3, 2, 3]]", "Concrete Inputs": '["", "", "", "[0]", "[0]", "[1]", "False", "[0]", "1"]'}),
        ("convolution_backward", {"Input Dims": "[[1], [1], [1]]", "Concrete Inputs": "[]"}),
        ("_scaled_dot_product_flash_attention", {"Input Dims": "[[1, 2, 3, 4], [1, 2, 9, 5], [1, 2, 8, 4]]"}),
        ("mm", {}), ("bmm", {"Input Dims": 5}), ("addmm", {"Input Dims": [[[1]]]})])]
    (folder / "bad.json").write_text(json.dumps({"traceEvents": events}))
    got = report(folder / "bad.json")
    assert [(p["op"], p["flops"], p["bytes_read"], p["dtype"]) for p in got["ops"] if p["flops"]] == [("aten::mm", 120, None, None)], got["ops"]
    assert got["covered_ns"] == 0 and got["calls_without_shapes"] >= len(events) - 2, got
    (folder / "none.json").write_text(json.dumps({"traceEvents": [e for e in events if not e["args"]]}))
    got = report(folder / "none.json")
    assert got["ops"] == [] and got["covered_pct"] is None, got
    text = subprocess.run([TIDEMARK, "roofline", folder / "none.json"], capture_output=True, text=True).stdout
    assert "record_shapes" in text, text


def main():
    skip_unless_built()
    with tempfile.TemporaryDirectory() as folder:
        for case in (of_a_device, of_a_training, hostile):
            case(pathlib.Path(folder))
        if why := lacks_torch(PYTHON):
            print("without torch:", why)
            return
        for case in (run_torch, against_torch, bytes_against_tensors):
            case(pathlib.Path(folder))


main()
