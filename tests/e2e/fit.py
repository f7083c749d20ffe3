#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark fit`, plans of `run --plan` and `predict --plan`.

Plans that keep a program's results are applied to real training on the CPU: the losses and weights are those of the unchanged script.
The knapsack over modules is compared with all subsets. A search on virtual devices finds a plan that fits, which then runs.
"""
import importlib.util
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(os.environ["TIDE_SOURCE"])
sys.path.insert(0, str(ROOT / "tests" / "support"))
sys.path.insert(0, str(ROOT / "python" / "hook"))
from torch_python import build_hook, lacks_torch  # noqa: E402

TIDEMARK = os.environ["TIDEMARK"]
PYTHON = str(ROOT / ".venv" / "bin" / "python")

SCRIPT = """
import sys, torch, torch.nn as nn
n, device = int(sys.argv[1]), sys.argv[2]
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)) for _ in range(6))
        self.head = nn.Linear(256, 500)
    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)
torch.manual_seed(0)
model = Net().to(device)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
made = torch.Generator().manual_seed(1)
rows = [(torch.randn(64, 256, generator=made), torch.randint(0, 500, (64,), generator=made)) for _ in range(3 * n)]
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return len(rows)
    def __getitem__(self, i):
        return rows[i]
total, seen = 0.0, 0
for x, y in torch.utils.data.DataLoader(Data(), batch_size=n):
    x, y = x.flatten(0, 1), y.flatten()
    loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
    loss.backward()
    opt.step()
    opt.zero_grad()
    total, seen = total + loss.item() * len(x), seen + len(x)
if device == "cpu":
    print("LOSS", round(total / seen, 5), "WEIGHTS", round(sum(p.double().abs().sum().item() for p in model.parameters()), 3))
"""
BUDGET, BUDGET_BYTES = "190MiB", 190 << 20
LAYERS = ", ".join(f'"Net.layers.{i}"' for i in range(6))
SAME = {
    "checkpoint": f'[[change]]\nkind = "checkpoint"\nmodules = [{LAYERS}]\n',
    "selective": f'[[change]]\nkind = "checkpoint"\nmodules = [{LAYERS}]\nsave_ops = ["addmm"]\n',
    "chunked loss": '# a comment\n[[change]]\nkind = "chunked_loss"\nchunks = 4\n',
    "micro-batches": '[[change]]\nkind = "microbatch"\nparts = 4\n',
    "fused": '[[change]]\nkind = "optimizer"\nfused = true\n\n[[change]]\nkind = "set_to_none"\n',
}
WRONG = {
    "kind = 1\n": "expected [[change]]",
    "[[change]]\nkind = nothing\n": "expected a string",
    '[[change]]\nkind = "faster"\n': "there is no change 'faster'",
    '[[change]]\nkind = "checkpoint"\n': "modules",
    '[[change]]\nkind = "microbatch"\nparts = 1\n': "2 or more",
    "[[change]]\nparts = 2\n": "has no kind",
}


def ran(*words: str, **more: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "TIDEMARK_PYTHON": PYTHON}, **more)


def module(name: str) -> Any:
    spec: Any = importlib.util.spec_from_file_location(name, ROOT / "python" / "hook" / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def peak(recording: str) -> int:
    return int(json.loads(ran(TIDEMARK, "peak", "--json", "--device", "cpu", recording).stdout)["peak_bytes"])


def plans_on_cpu(folder: Path) -> None:
    """The same losses and weights under every plan with the same results; checkpoints lower the peak, micro-batches too."""
    found: dict[str, tuple[str, int]] = {}
    for name, plan in {"": "", **SAME}.items():
        (folder / "plan.toml").write_text(plan)
        more = ["--plan", str(folder / "plan.toml")] if plan else []
        done = ran(TIDEMARK, "run", "-o", str(folder / "run.tide"), "--no-ops", *more, "--", PYTHON, str(folder / "train.py"), "8", "cpu")
        line = next((x for x in done.stdout.splitlines() if x.startswith("LOSS")), "")
        assert done.returncode == 0 and line, (name, done.stderr[-2000:])
        found[name] = line, peak(str(folder / "run.tide"))
        print(f"{name or 'unchanged':16} {line}  peak {found[name][1]:,}")
    for name, (line, _) in found.items():
        loss, weights = float(line.split()[1]), float(line.split()[3])
        base = found[""][0].split()
        # an average over micro-batches is that of the batches within a step
        assert abs(loss - float(base[1])) < 2e-5 * abs(float(base[1])) + 2e-5, (name, line, base)
        assert abs(weights - float(base[3])) < 1e-3 * abs(float(base[3])), (name, line, base)
    for name in "checkpoint", "micro-batches":
        assert found[name][1] < 0.9 * found[""][1], (name, found)


def wrong_plans(folder: Path) -> None:
    for text, reason in WRONG.items():
        (folder / "wrong.toml").write_text(text)
        done = ran(TIDEMARK, "run", "-o", str(folder / "wrong.tide"), "--plan", str(folder / "wrong.toml"), "--", PYTHON, "-c", "import torch; print('ran')")
        assert done.returncode == 2 and reason in done.stderr and "ran" not in done.stdout, (text, done)
    done = ran(TIDEMARK, "run", "-o", str(folder / "wrong.tide"), "--plan", str(folder / "missing.toml"), "--", PYTHON, "-c", "import torch")
    assert done.returncode == 2 and "missing.toml" in done.stderr, done


def round_trip() -> None:
    plan = module("tidemark_plan")
    changes = [{"kind": "checkpoint", "modules": ["A.0", "A.1"], "save_ops": ["mm"]}, {"kind": "optimizer", "fused": True}, {"kind": "chunked_loss", "chunks": 8}]
    assert plan.parse(plan.text_of(changes), "x") == changes
    spread = random.Random(1)
    text = plan.text_of(changes)
    for _ in range(2000):  # any damage is read or refused with a line
        cut = list(text)
        for _ in range(spread.randint(1, 4)):
            cut[spread.randrange(len(cut))] = spread.choice('[]="\n\\\0x{1')
        try:
            plan.parse("".join(cut), "x")
        except plan.PlanError as why:
            assert str(why).startswith("x"), why


def knapsack() -> None:
    """The cheapest set of modules, of which none is inside another, that saves enough: against all subsets."""
    search: Any = module("tidemark_fit").Search.__new__(module("tidemark_fit").Search)
    spread = random.Random(2)
    for _ in range(150):
        rows = [{"path": "M", "kept": 0, "ns": 1, "ops": 1, "order": 0}]
        for i in range(spread.randint(1, 4)):
            inner = [{"path": f"M.{i}.{k}", "kept": spread.randint(0, 40) << 20, "ns": spread.randint(1, 90) * 1000, "ops": 1, "order": len(rows) + k} for k in range(spread.randint(0, 2))]
            rows += [*inner, {"path": f"M.{i}", "kept": sum(r["kept"] for r in inner) + (spread.randint(1, 40) << 20), "ns": sum(r["ns"] for r in inner) + 500, "ops": 1, "order": 50 + i}]
        survey = {"modules": rows, "host_ns": 0, "device_ns": 1}
        whole = sum(r["kept"] for r in rows if r["path"].count(".") == 1)
        need = spread.uniform(0.05, 0.95) * whole
        by_path = {r["path"]: r for r in rows}
        chosen = search.choose(survey, need)
        below = [p for p in by_path if "." in p]
        best = min((sum(by_path[p]["ns"] + 1 for p in some) for k in range(len(below) + 1) for some in itertools.combinations(below, k)
                    if not any(a != b and b.startswith(a + ".") for a in some for b in some) and sum(by_path[p]["kept"] for p in some) >= need), default=None)
        price, saved = sum(by_path[p]["ns"] + 1 for p in chosen), sum(by_path[p]["kept"] for p in chosen)
        assert not any(a != b and b.startswith(a + ".") for a in chosen for b in chosen), chosen
        assert best is not None and saved >= need * 0.97, (saved, need)
        # rounding down of savings to 1/400 of the need may take one more module, never a set of lower price that saves too little
        exact = search.choose(survey, need * 0.97)
        assert sum(by_path[p]["ns"] + 1 for p in exact) <= best, (exact, best)
        assert price >= best or saved < need, (price, best)


def search(folder: Path) -> None:
    """A search on virtual devices: the first answer fits when it is run again, and every row has a reason or a figure."""
    plan, kept = folder / "best.toml", folder / "kept"
    words = [TIDEMARK, "fit", "--budget", BUDGET, "--like", "h100", "--keep", str(kept)]
    done = ran(*words, "--plan", str(plan), "--json", "--", PYTHON, str(folder / "train.py"), "32", "cuda")
    assert done.returncode == 0, done.stderr[-3000:]
    answer = json.loads(done.stdout)
    budget, rows = answer["budget_bytes"], answer["answers"]
    assert budget == BUDGET_BYTES and answer["unchanged"]["fits"] == "no" and answer["unchanged"]["peak_reserved_bytes"] > budget, answer["unchanged"]
    fitting = [r for r in rows if r["fits"] == "yes"]
    assert fitting and answer["cheapest"], rows
    known = [r["cost_pct"] for r in fitting if r["cost_pct"] is not None]
    assert known == sorted(known) and rows[: len(fitting)] == fitting, known
    assert {r["change"] for r in answer["untried"]} >= {"set_to_none"}, answer["untried"]
    again = json.loads(ran(TIDEMARK, "predict", "--json", "--like", "h100", "--capacity", BUDGET, "--plan", str(plan), "--", PYTHON, str(folder / "train.py"), "32", "cuda").stdout)
    best = next(r for r in rows if r["change"] == answer["cheapest"])
    assert again["fits"] and again["peak_reserved_bytes"] == best["peak_reserved_bytes"], (again["peak_reserved_bytes"], best)
    text = ran(TIDEMARK, "fit", "--budget", BUDGET, "--apply", *sorted(map(str, kept.glob("*.tide")))).stdout
    assert f"Cheapest that fits: {answer['cheapest']}" in text and "estimate" in text and "    " in text.split("lines of the first answer")[1], text
    enough = ran(TIDEMARK, "fit", "--budget", "2GiB", *sorted(map(str, kept.glob("*.tide")))).stdout
    assert "it fits unchanged" in enough, enough
    none = ran(TIDEMARK, "fit", "--budget", "1MiB", *sorted(map(str, kept.glob("*.tide"))))
    assert none.returncode == 1 and "No change that was tried" in none.stdout, none


def largest(folder: Path) -> None:
    done = ran(TIDEMARK, "fit", "--largest", "--json", "--batch", "16", "--budget", BUDGET, "--like", "h100", "--", PYTHON, str(folder / "train.py"), "{}", "cuda")
    assert done.returncode == 0, done.stderr[-2000:]
    n = json.loads(done.stdout)["largest"]
    fits = [json.loads(ran(TIDEMARK, "predict", "--json", "--like", "h100", "--capacity", BUDGET, "--", PYTHON, str(folder / "train.py"), str(k), "cuda").stdout)["fits"] for k in (n, n + 1)]
    assert fits == [True, False], (n, fits)


def wrong_calls(folder: Path) -> None:
    for words, reason in ((["--", "x.py"], "--budget"), (["--budget", "1GiB", "--", "x.py", "{}"], "--batch"), (["--budget", "1GiB", "--largest", "--", "x.py"], "{}")):
        done = ran(TIDEMARK, "fit", *words)
        assert done.returncode == 2 and reason in done.stderr, done
    done = ran(TIDEMARK, "fit", "--budget", "1GiB", "--", PYTHON, "-c", "raise SystemExit(3)")
    assert done.returncode == 1, done


def main() -> int:
    lacking = lacks_torch(PYTHON)
    if lacking:
        print(f"skipped: {lacking}")
        return 77
    round_trip()
    knapsack()
    build_hook(PYTHON, True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "train.py").write_text(SCRIPT)
        wrong_calls(folder)
        wrong_plans(folder)
        plans_on_cpu(folder)
        search(folder)
        largest(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
