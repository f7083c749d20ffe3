#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark predict -- PROGRAM`: unchanged training scripts on devices that are not there.

Two configurations of bench/torch/predict_accuracy.py are held against what an H200 measured (torch 2.11); a small script
against figures that follow from its shapes; awkward scripts against the messages they get.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(os.environ["TIDE_SOURCE"])
TIDEMARK = os.environ["TIDEMARK"]
PYTHON = ROOT / ".venv" / "bin" / "python"
MIB = 1 << 20
MEASURED = {"lstm-f32": (1185.9, 1594.0)}  # MiB allocated and reserved, tests/data is the H200's

MLP = """
import sys, torch, torch.nn as nn
n = int(sys.argv[1])
model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024))
model[2].weight.requires_grad_(True)
model = model.to("cuda")
assert torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(4 * n, 1024)), batch_size=n, num_workers=2, pin_memory=True)
for (x,) in data:
    with torch.autocast("cuda"):
        loss = model(x.to("cuda", non_blocking=True)).float().pow(2).mean()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
    opt.zero_grad()
    print("loss", loss.item())
print("never reached: it ends after two steps")
"""
PLAIN = """
import sys, torch, torch.nn as nn
n = int(sys.argv[1])
w = nn.Parameter(torch.zeros(1024, 1024, device="cuda"))
opt = torch.optim.SGD([w], lr=0.1, foreach=False)
for _ in range(2):
    x = torch.zeros(n, 1024, device="cuda")
    (x @ w).sum().backward()
    opt.step()
    opt.zero_grad()
"""


SAME = """
import sys, torch, torch.nn as nn
device = sys.argv[1]
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(250, 1023), nn.Linear(1023, 1023), nn.Linear(1023, 61)
    def forward(self, x):
        return self.c(torch.relu(self.b(torch.tanh(self.a(x)))))
model = Net().to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)
for step in range(2):
    x, y = torch.zeros(509, 250, device=device), torch.zeros(509, 61, device=device)
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
"""
WORLD = """
import torch, torch.nn as nn, torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("nccl")
torch.cuda.set_device(0)
if MODE == "fsdp":
    with torch.device("meta"):
        model = nn.Sequential(*[nn.Linear(1024, 1024, bias=False) for _ in range(4)])
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    model.to_empty(device="cuda")
else:
    model = DistributedDataParallel(nn.Sequential(*[nn.Linear(1024, 1024, bias=False) for _ in range(4)]).cuda(), device_ids=[0])
opt = torch.optim.AdamW(model.parameters())
for _ in range(2):
    model(torch.randn(8, 1024, device="cuda")).sum().backward()
    opt.step()
    opt.zero_grad()
"""
EMA = """
import torch, torch.nn as nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
model = nn.Linear(512, 512, bias=False).cuda()
ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.99))
step = torch.compile(model)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
scale = torch.tensor([1.0], device="cuda")
for _ in range(2):
    (step(torch.randn(8, 512, device="cuda")) * scale).sum().backward()
    opt.step()
    opt.zero_grad()
    ema.update_parameters(model)
"""


def predict(*args: object, script: str | None = None, folder: Path, fails: bool = False) -> tuple[dict, str]:
    command = [TIDEMARK, "predict", "--json", *map(str, args)]
    if script is not None:
        path = folder / "script.py"
        path.write_text(script)
        command = [c if c != "SCRIPT" else str(path) for c in command]
    p = subprocess.run(command, capture_output=True, text=True, timeout=500, env={**os.environ, "TMPDIR": str(folder)})
    assert (p.returncode != 0) == fails, (p.returncode, p.stdout, p.stderr)
    return json.loads(p.stdout) if p.stdout.strip() else {}, p.stderr


def check_exact(folder: Path) -> None:
    """Figures that follow from shapes: weights, gradients, one activation, the two workspaces."""
    d, _ = predict("--like", "h200", "--", PYTHON, "SCRIPT", 4096, script=PLAIN, folder=folder)
    weight, batch, out = 4 * MIB, 16 * MIB, 16 * MIB
    phases = {p["phase"]: p for p in d["phases"]}
    assert phases["MODEL_CREATION"]["segment_change_bytes"] == weight, phases
    assert d["steps"] == 2 and d["fits"] is True and not d["unknown"], d
    # at the peak: weight, input, result (kept alive by the sum until it is spent), its gradient's expansion costs nothing, workspaces of two threads
    roles = {r["role"]: r["bytes"] for r in d["roles"]}
    assert roles["parameter"] == weight and roles["workspace"] == 64 * MIB, roles
    assert roles["activation"] >= batch, roles  # no module ran: the input counts among what the backward pass needs
    assert d["peak_allocated_bytes"] >= weight + batch + out, d
    assert d["peak_reserved_bytes"] % (2 * MIB) == 0 and d["peak_reserved_bytes"] >= d["peak_allocated_bytes"], d


def check_script(folder: Path) -> None:
    """autocast, a scaler, clipping, workers and pinned memory; it reads a value, which is 0."""
    d, err = predict("--like", "h200", "--capacity", "70MiB", "--", PYTHON, "SCRIPT", 256, script=MLP, folder=folder)
    names = [p["phase"] for p in d["phases"]]
    assert names[:5] == ["MODEL_CREATION", "OPTIMIZER_CREATION", "FORWARD_PASS", "BACKWARD_PASS", "OPTIMIZER_STEP"], names
    assert d["values_read"] >= 1 and "loss 0.0" in err and "never reached" not in err, err
    assert d["fits"] is False and d["runs_out_in"], d


def check_sizes(folder: Path) -> None:
    d, _ = predict("--like", "h200", "--at", 512, "--at", 1024, "--at", 2048, "--", PYTHON, "SCRIPT", "{}", script=PLAIN, folder=folder)
    row = next(r for r in d["sizes"] if r["size"] == 1024)  # predicted from the two others
    assert abs(row["off_bytes"]) <= row["recorded_bytes"] * 0.02, d["sizes"]
    assert d["fits"] > 2048 if isinstance(d.get("fits"), int) else True, d


def check_messages(folder: Path) -> None:
    rows = {
        "import sys": "put no tensor on a CUDA device",
        "import torch; x = torch.ones(9, device='cuda'); x[x > 0]; raise ValueError('mine')": "ValueError: mine",
    }
    for script, message in rows.items():
        d, err = predict("--like", "h200", "--", PYTHON, "SCRIPT", script=script, folder=folder, fails=True)
        assert message in err, (script, err)
    assert any("depends on data" in u for u in d["unknown"]), d
    for args, message in ((("--like", "none", "--", "true"), "no device 'none'"), (("--at", "4", "--", "true"), "write {}"),
                          (("--like", "h200", "--", "no-such-program"), "No such file")):
        _, err = predict(*args, folder=folder, fails=True)
        assert message in err, (args, err)


def requested_peak(path: Path) -> int:
    """Highest sum of requested bytes over all moments, workspaces of libraries left out: the slow way."""
    rows = [json.loads(line) for line in subprocess.run([TIDEMARK, "dump", str(path), "--json"], capture_output=True, text=True, check=True).stdout.splitlines()]
    allocs = {r["row"]: r for r in rows if r["table"] == "allocs"}
    live = most = 0
    for r in (r for r in rows if r["table"] == "memory_events"):
        a = allocs[r["row"]]  # of a memory event, the row of its allocation
        if a["role"] != "workspace":
            live += a["requested"] if r["kind"] == "alloc" else -a["requested"] if r["kind"] == "free" else 0
        most = max(most, live)
    return most


def check_same_as_cpu(folder: Path) -> None:
    """One script, recorded for real on the CPU and predicted: the same allocated peak to the byte, workspaces of cuBLAS left out."""
    script = folder / "same.py"
    script.write_text(SAME)
    real, told = folder / "real.tide", folder / "told.tide"
    subprocess.run([TIDEMARK, "run", "-o", real, "--", PYTHON, script, "cpu"], check=True, capture_output=True, timeout=300)
    predict("--like", "h200", "--keep", told, "--", PYTHON, script, "cuda", folder=folder)
    a, b = requested_peak(real), requested_peak(told)
    assert a == b > 0, (a, b)


def check_adamw_as_cpu(folder: Path) -> None:
    """AdamW: the CPU holds 36 bytes more, all of them scalars that stay on the host with a GPU: six step counters of 4 bytes, the divisor of
    the second moment's root (8 bytes, a Python number) and its copy in f32 (4)."""
    script = folder / "same.py"
    script.write_text(SAME.replace("torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)", "torch.optim.AdamW(model.parameters(), foreach=False)"))
    real, told = folder / "real.tide", folder / "told.tide"
    subprocess.run([TIDEMARK, "run", "-o", real, "--", PYTHON, script, "cpu"], check=True, capture_output=True, timeout=300)
    predict("--like", "h200", "--keep", told, "--", PYTHON, script, "cuda", folder=folder)
    a, b = requested_peak(real), requested_peak(told)
    assert a == b + 6 * 4 + 8 + 4, (a, b)


def check_fused(folder: Path) -> None:
    """Fused optimizers: SGD's kernel has no fake one in PyTorch."""
    script = MLP.replace("torch.optim.SGD(model.parameters(), lr=0.1)", "torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)")
    assert script != MLP
    d, _ = predict("--like", "h200", "--", PYTHON, "SCRIPT", 64, script=script, folder=folder)
    roles = {r["role"]: r["bytes"] for r in d["roles"]}
    assert d["steps"] == 2 and roles["optimizer"] == roles["parameter"], (d["steps"], roles)


def check_convolution(folder: Path) -> None:
    """cuDNN's workspaces: copies of input, output and filter with channels last; a range around it."""
    script = """
import torch, torch.nn as nn
model = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.Conv2d(64, 128, 1, bias=False)).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    model(torch.zeros(32, 64, 56, 56, device="cuda")).sum().backward()
    opt.step()
    opt.zero_grad()
"""
    d, _ = predict("--like", "h200", "--keep", folder / "conv.tide", "--", PYTHON, "SCRIPT", script=script, folder=folder)
    assert d["least_reserved_bytes"] < d["peak_reserved_bytes"] <= d["most_reserved_bytes"], d
    assert any("cuDNN" in u for u in d["unknown"]), d["unknown"]
    dump = subprocess.run([TIDEMARK, "dump", str(folder / "conv.tide"), "--json"], capture_output=True, text=True, check=True).stdout.splitlines()
    sizes = {r["requested"] for r in map(json.loads, dump) if r["table"] == "allocs" and r["role"] == "workspace"}
    x = 4 * 32 * 64 * 56 * 56
    w = 4 * 64 * 64 * 9
    assert x + w + 16 in sizes and 2 * x + 15 * w + 147 in sizes, sizes  # 3 x 3: forward, gradient of the filter
    assert 4 * 32 * 128 * 64 in sizes, sizes  # gradient of the 1 x 1 filter: one a sample


def check_recurrent(folder: Path) -> None:
    """A GRU and a plain RNN: cuDNN's memory is taken from an LSTM's, and named as not measured."""
    script = """
import torch, torch.nn as nn
for kind in nn.GRU, nn.RNN:
    model = kind(256, 256, 2, batch_first=True).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        y, h = model(torch.zeros(8, 32, 256, device="cuda"))
        assert y.shape == (8, 32, 256) and h.shape == (2, 8, 256)
        y.sum().backward()
        opt.step()
        opt.zero_grad()
"""
    d, _ = predict("--like", "h200", "--steps", 0, "--", PYTHON, "SCRIPT", script=script, folder=folder)
    assert d["steps"] == 2 and sum("in proportion to an LSTM" in u for u in d["unknown"]) == 2, d
    assert d["least_reserved_bytes"] < d["most_reserved_bytes"], d


def check_world(folder: Path) -> None:
    """FSDP2: a rank holds its shard of parameters, gradients and states. DDP: buckets of the gradients' size beside them."""
    model = 4 * 4 * MIB
    for world in 1, 8:
        d, _ = predict("--like", "h200", "--world", world, "--", PYTHON, "SCRIPT", script="MODE = 'fsdp'\n" + WORLD, folder=folder)
        roles = {r["role"]: r["bytes"] for r in d["roles"]}
        assert roles["parameter"] == model // world and roles["optimizer"] == 2 * model // world, (world, roles)
        phases = {p["phase"]: p for p in d["phases"]}
        assert phases["MODEL_CREATION"]["segment_change_bytes"] == model // world, phases
    d, _ = predict("--like", "h200", "--world", 8, "--", PYTHON, "SCRIPT", script="MODE = 'ddp'\n" + WORLD, folder=folder)
    phases = {p["phase"]: p for p in d["phases"]}
    assert phases["MODEL_CREATION"]["segment_change_bytes"] == 2 * model, phases  # the model and its buckets


def check_ema(folder: Path) -> None:
    """A second copy of the weights, and a compiled model."""
    d, _ = predict("--like", "h200", "--", PYTHON, "SCRIPT", script=EMA, folder=folder)
    phases = {p["phase"]: p for p in d["phases"]}
    assert phases["MODEL_CREATION"]["segment_change_bytes"] >= 2 * MIB and d["steps"] == 2, phases
    assert d["eager"] is None and "1 graphs, 0 graph breaks" in d["compiled"], d


def check_compiled(folder: Path) -> None:
    """A chain of pointwise ops: eager code keeps one of 16 MiB more than the compiler's partitioner."""
    script = """
import sys, torch, torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(1024, 1024), nn.Linear(1024, 1024)
    def forward(self, x):
        return self.b(self.a(x).sin().exp().cos().tanh())
model = Net().cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
if sys.argv[1] == "module":
    model.compile()
run = torch.compile(model) if sys.argv[1] == "compile" else model
for _ in range(3):
    run(torch.zeros(4096, 1024, device="cuda")).sum().backward()
    opt.step()
    opt.zero_grad()
"""
    kept = {}
    for how in "eager", "compile", "module":
        d, _ = predict("--like", "h200", "--steps", 3, "--", PYTHON, "SCRIPT", how, script=script, folder=folder)
        kept[how] = [p["segment_change_bytes"] for p in d["phases"] if p["phase"] == "FORWARD_PASS"][-1] // MIB
        assert (d["compiled"] is None) == (how == "eager") and d["steps"] == 3, (how, d["compiled"])
        assert [p["phase"] for p in d["phases"]][:3] == ["MODEL_CREATION", "OPTIMIZER_CREATION", "FORWARD_PASS"], d["phases"]
    assert kept["compile"] == kept["module"] == kept["eager"] - 16, kept


def check_cuda_build(folder: Path) -> None:
    """A torch that is built for CUDA is refused in one line that says why and what to do (a stand-in for its files)."""
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text("raise SystemExit('it was run')")
    (folder / "torch" / "version.py").write_text("__version__ = '2.11.0+cu130'\ncuda = '13.0'\ngit_version = 'x'\n")
    os.environ["PYTHONPATH"] = str(folder)
    try:
        _, err = predict("--like", "h200", "--", PYTHON, "SCRIPT", script="import torch", folder=folder, fails=True)
    finally:
        del os.environ["PYTHONPATH"]
    assert "torch 2.11.0+cu130 is built for CUDA 13.0" in err and "torch 2.11.0+cpu" in err and "it was run" not in err, err


def check_measured(folder: Path) -> None:
    for name, (allocated, reserved) in MEASURED.items():
        d, _ = predict("--like", "h200", "--steps", 0, "--", PYTHON, ROOT / "bench/torch/predict_accuracy.py", "train", name, folder=folder)
        got = d["peak_allocated_bytes"] / MIB, d["peak_reserved_bytes"] / MIB
        assert abs(got[0] / allocated - 1) < 0.01 and abs(got[1] / reserved - 1) < 0.03, (name, got, allocated, reserved)


def main() -> int:
    if not PYTHON.exists() or subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode:
        print("SKIP: no PyTorch in .venv (tools/setup test)")
        return 77
    for check in (check_exact, check_script, check_same_as_cpu, check_adamw_as_cpu, check_fused, check_convolution, check_recurrent, check_world, check_ema, check_compiled, check_cuda_build, check_sizes,
                  check_messages, check_measured):
        with tempfile.TemporaryDirectory() as folder:
            check(Path(folder))
            print("ok", check.__name__, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
