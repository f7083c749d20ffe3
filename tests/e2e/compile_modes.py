#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark compile --mode` on a real torch (CPU, g++): calls and peaks against the recordings read slowly, counts against inductor's own."""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from torch_python import build_hook, lacks_torch  # noqa: E402

TIDEMARK = os.environ.get("TIDEMARK", str(ROOT / "build/src/tidemark"))
VENV = ROOT / ".venv/bin/python"
PYTHON = os.environ.get("TIDE_TORCH_PYTHON") or (str(VENV) if VENV.exists() else sys.executable)
PROGRAM = """
import os, sys, torch
torch.set_num_threads(1)

@torch.compile
def inner(x):
    return (x * 2 + 1).relu()

class Model(torch.nn.Module):
    def forward(self, x):
        return (inner(x) - 3).sum()  # compiled within the call of the model: one call, not two

model = torch.compile(Model(), mode="max-autotune")
x = torch.randn(256, 256)
for _ in range(6):
    model(x)
if os.environ["TIDEMARK_COMPILE_MODE"] != "eager":
    from torch._inductor import metrics
    print("kernels", metrics.generated_kernel_count)
    import torch._dynamo
    print("breaks", sum(torch._dynamo.utils.counters["graph_break"].values()))
print("cache", os.environ["TORCHINDUCTOR_CACHE_DIR"])
print(type(model).__name__, sys.argv[1:])
sys.exit(3)
"""


def oracle(recording: Path) -> tuple:
    """Returns time and highest live bytes of every counted call, from each row of the recording."""
    rows = subprocess.run([TIDEMARK, "dump", str(recording)], check=True, capture_output=True, text=True).stdout.split("\n")
    spans = [(int(m[1]), int(m[2]), m[3]) for r in rows if (m := re.match(r'spans \d+: t0=(\d+) t1=(\d+) lane=\d+ name="([^"]*)"', r))]
    allocs = [(int(m[1]), int(m[2]), int(m[3]) if m[3].isdigit() else 1 << 62) for r in rows if (m := re.match(r"allocs \d+: .* size=(\d+) .*born=(\d+) died=(\S+)", r))]
    ran = [a for a, _, name in spans if name == "torch.compile compiler ran"]
    calls = [(a, b) for a, b, name in spans if name == "torch.compile call"]
    kept = [(a, b) for a, b in calls[1:] if not any(a <= t <= b for t in ran)]
    peaks = []
    for a, b in kept:
        moments = [a] + [born for _, born, _ in allocs if a <= born <= b]
        peaks.append(max(sum(size for size, born, died in allocs if born <= t < died) for t in moments))
    return [b - a for a, b in kept], peaks, len(calls) - len(kept)


def check(row: dict, recording: Path) -> None:
    times, peaks, left_out = oracle(recording)
    assert (row["calls"], row["calls_left_out"]) == (len(times), left_out), (row["calls"], row["calls_left_out"], len(times), left_out)
    for key, values, unit in (("call_time", times, "ns"), ("call_peak", peaks, "bytes")):
        got = row[key]
        assert (got[f"min_{unit}"], got[f"max_{unit}"], got[f"median_{unit}"]) == (min(values), max(values), sorted(values)[(len(values) - 1) // 2]), (key, got, values)
        assert abs(got[f"mean_{unit}"] - statistics.fmean(values)) <= 1 and abs(got[f"std_{unit}"] - statistics.pstdev(values)) <= 1, (key, got, values)


def main() -> int:
    if why := lacks_torch(PYTHON):
        print(f"skipped: {why}")
        return 77
    build_hook(PYTHON)
    if not shutil.which("g++"):
        print("skipped: no g++")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        script, kept = Path(folder) / "program.py", Path(folder) / "kept"
        script.write_text(PROGRAM)
        env = {**os.environ, "TIDEMARK_PYTHON": PYTHON, "TORCHINDUCTOR_CACHE_DIR": f"{folder}/own", "PYTHONWARNINGS": "ignore"}
        if " " in env.get("CXX", ""):  # inductor wants one word
            del env["CXX"]
        for mine in ("default/log/mine.txt", "default/cache/mine.txt"):  # the user's files stay
            (kept / mine).parent.mkdir(parents=True)
            (kept / mine).write_text("mine")
        (kept / "default/log/dedicated_log_torch_trace_old.log").write_text("of an earlier run")
        out = subprocess.run([TIDEMARK, "compile", "--mode", "../kept", "--keep-log", str(kept), str(script)], capture_output=True, text=True)
        assert out.returncode == 2 and "--mode needs a mode" in out.stderr, out.stderr
        done = subprocess.run([TIDEMARK, "compile", "--mode", "default", "--memory", "--json", "-o", f"{folder}/r.json", "--keep-log", str(kept), str(script), "a"],
                              env=env, capture_output=True, text=True)
        assert done.returncode == 3, (done.returncode, done.stderr[-2000:])
        got = json.loads(Path(f"{folder}/r.json").read_text())
        eager = got["eager"]
        said = dict(re.findall(r"(?m)^(kernels|breaks) (\d+)$", done.stdout))
        assert done.stdout.count("['a']") == 2 and "Model ['a']" in done.stdout and "OptimizedModule ['a']" in done.stdout, done.stdout
        assert "tidemark run" not in done.stderr, done.stderr
        check(eager, kept / "eager/run.tide")
        check(got, kept / "default/run.tide")
        assert (eager["calls"], eager["calls_left_out"]) == (5, 1) and eager["mode"] == "eager" and not eager["has_real_data"], eager
        assert got["mode"] == "default" and got["device"] == "cpu" and got["has_real_data"], got
        assert abs(got["speedup"] - eager["call_time"]["median_ns"] / got["call_time"]["median_ns"]) < 1e-3
        assert got["memory_savings_bytes"] == eager["call_peak"]["max_bytes"] - got["call_peak"]["max_bytes"]
        assert got["kernels"] == int(said["kernels"]) > 0 and got["graph_breaks"] == int(said["breaks"]) == 0, (got["kernels"], said)
        assert got["caches"]["fx_graph"]["hit"] == 0, got["caches"]  # a separate cache, not the program's
        caches = re.findall(r"(?m)^cache (.*)$", done.stdout)
        assert len(set(caches)) == 2 and f"{folder}/own" not in caches and not any(map(os.path.exists, caches)), caches
        assert all((kept / mine).read_text() == "mine" for mine in ("default/log/mine.txt", "default/cache/mine.txt"))
        assert not (kept / "default/log/dedicated_log_torch_trace_old.log").exists()
        stacks = json.dumps(got["memory_diff"])
        assert "program.py" in stacks, stacks[:500]
    print(f"eager {eager['call_time']['median_ns']} ns, default {got['call_time']['median_ns']} ns, {got['kernels']} kernels: as read slowly")
    return 0


sys.exit(main())
