#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark stale`: programs with a known fix, whose measured peak after the fix is the predicted one; clean models, of which nothing is
named; and a slow oracle over the rows of the recording."""
import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from predict_program import PYTHON, build_hook, lacks_torch  # noqa: E402

TIDEMARK = os.environ["TIDEMARK"]
GRACE = 8
LASTING = {"parameter", "gradient", "optimizer", "buffer", "workspace"}

# A line that ends in `# fix` belongs to the fixed program only, one that ends in `# fault` to the other one only.
HELD = """
import sys, torch
from torch import nn
dev = sys.argv[1]
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 64)).to(dev)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    raw = torch.randn(256, 64, device=dev)
    big = torch.randn(256, 2048, device=dev)
    scaled = big[:, :64] * 0.1
    del big  # fix
    x = raw + scaled
    del raw  # fix
    del scaled
    loss = model(x).square().mean()
    del x  # fix
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
FEATURES = """
import sys, torch
from torch import nn
dev = sys.argv[1]
layers = nn.ModuleList(nn.Linear(128, 128) for _ in range(12)).to(dev)
kept = []
with torch.no_grad():
    h = torch.randn(512, 128, device=dev)
    for layer in layers:
        h = torch.relu(layer(h))
        kept.append(h)  # fault
    print(h.sum().item())
"""
MEMO = """
import sys, torch
from torch import nn
dev = sys.argv[1]
model, memo = nn.Sequential(nn.Linear(64, 512), nn.Tanh()).to(dev), {}
with torch.no_grad():
    for i in range(6):
        x = torch.randn(256, 64, device=dev)
        y = model(x)
        memo[i] = y  # fault
        print(y.sum().item())
        del x, y
"""
CLEAN = {"training": """
import sys, torch
from torch import nn
dev = sys.argv[1]
model = nn.Sequential(nn.Embedding(500, 64), nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), nn.Linear(64, 32)).to(dev)
opt = torch.optim.AdamW(model.parameters())
for step in range(4):
    ids = torch.randint(0, 500, (8, 64), device=dev)
    loss = model(ids).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""", "convolution": """
import sys, torch
from torch import nn
dev = sys.argv[1]
model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)).to(dev)
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(4):
    loss = model(torch.randn(8, 3, 48, 48, device=dev)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""", "decoding": """
import sys, torch
from torch import nn
dev = sys.argv[1]
D, L, T = 128, 4, 48
wq, wo = [nn.Linear(D, 3 * D).to(dev) for _ in range(L)], [nn.Linear(D, D).to(dev) for _ in range(L)]
keys, values = ([torch.zeros(8, T, D, device=dev) for _ in range(L)] for _ in range(2))
with torch.no_grad():
    h = torch.randn(8, 1, D, device=dev)
    for t in range(T):
        for i in range(L):
            q, k, v = wq[i](h).chunk(3, -1)
            keys[i][:, t:t + 1] = k
            values[i][:, t:t + 1] = v
            a = torch.softmax(q @ keys[i][:, :t + 1].transpose(1, 2), -1) @ values[i][:, :t + 1]
            h = h + wo[i](a)
"""}


def variant(script: str, fixed: bool) -> str:
    out = "# fault" if fixed else "# fix"
    return "\n".join(line for line in script.splitlines() if not line.endswith(out))


def ask(*words: object) -> bytes:
    return subprocess.run([TIDEMARK, *map(str, words)], check=True, capture_output=True, timeout=300).stdout


def record(folder: Path, name: str, script: str, virtual: bool) -> Path:
    program, file = folder / f"{name}.py", folder / f"{name}{'-virtual' * virtual}.tide"
    program.write_text(script)
    how = ["predict", "--like", "h200", "--steps", "0", "--keep", file] if virtual else ["run", "-o", file]
    done = subprocess.run([TIDEMARK, *map(str, how), "--", str(PYTHON), str(program), "cuda" if virtual else "cpu"], capture_output=True, text=True, timeout=300)
    assert not done.returncode, (name, done.stdout, done.stderr)
    return file


def stale(file: Path) -> dict:
    return json.loads(ask("stale", "--json", file))


# ---- the oracle ----


def rows(file: Path) -> dict:
    out: dict = collections.defaultdict(list)
    for line in ask("dump", "--json", "-t", "allocs", "-t", "memory_events", "-t", "uses", file).splitlines():
        row = json.loads(line)
        out[row["table"]].append(row)
    return out


def check_oracle(file: Path) -> None:
    """What is used later is not stale; what is not used later, and is, was used at least GRACE uses before; sums are those of the peak;
    and the savings of all together are those of a replay, event by event, that frees after the last use."""
    d, t = stale(file), rows(file)
    allocs, uses = {a["row"]: a for a in t["allocs"]}, t["uses"]
    assert d["known"] and d["stale_bytes"] + d["waiting_bytes"] + d["in_use_bytes"] + d["unknown_bytes"] == d["peak_bytes"], d
    live, top, at, alive = 0, 0, 0, set()
    current: set = set()
    for i, e in enumerate(t["memory_events"]):
        if e["kind"] == "alloc":
            live += allocs[e["row"]]["size"]
            current.add(e["row"])
            if live > top:
                top, at, alive = live, i + 1, set(current)
        elif e["kind"] == "free":
            live -= allocs[e["row"]]["size"]
            current.discard(e["row"])
    assert top == d["peak_bytes"], (top, d)
    last = {u["alloc"]: u["position"] for u in uses}
    never = sum(allocs[a]["size"] for a in alive if a in last and last[a] < at)
    unknown = sum(allocs[a]["size"] for a in alive if a not in last)
    assert d["stale_bytes"] <= never and d["unknown_bytes"] == unknown, (d, never, unknown)


def check_fix(folder: Path, name: str, script: str, virtual: bool) -> None:
    before, after = (stale(record(folder, f"{name}{fixed:d}", variant(script, fixed), virtual)) for fixed in (False, True))
    assert before["known"] and after["known"], (before, after)
    predicted, measured = before["peak_bytes"] - before["stale_saving_bytes"], after["peak_bytes"]
    near = measured // 100 if virtual else after["stale_saving_bytes"]  # a prediction does not know when a backward function ends
    assert abs(measured - predicted) <= near and after["stale_saving_bytes"] <= measured / 100, (name, virtual, before, after)
    assert (before["reserved_peak_bytes"] is not None) == virtual, before
    if virtual:  # the replay frees where the fix does, but not in the same moment: a segment of the small pool is 2 MiB
        reserved = before["reserved_peak_bytes"] + before["stale_reserved_change_bytes"]
        assert abs(reserved - after["reserved_peak_bytes"]) <= max(2 << 20, after["reserved_peak_bytes"] // 20), (name, reserved, before, after)
    assert before["stale_saving_bytes"] > (before["peak_bytes"] - before["unknown_bytes"]) / 10 and after["stale_bytes"] < after["peak_bytes"] / 100, (name, before, after)


def check_clean(folder: Path, name: str, script: str, virtual: bool) -> None:
    file = record(folder, name, script, virtual)
    d = stale(file)
    check_oracle(file)
    assert d["known"] and d["stale_bytes"] < d["peak_bytes"] / 100, (name, virtual, d)


def main() -> int:
    if why := lacks_torch(str(PYTHON)):
        print(f"skipped: {why}")
        return 77
    build_hook(str(PYTHON), predicts=True)
    with tempfile.TemporaryDirectory(prefix="stale-") as folder:
        for virtual in False, True:
            for name, script in ("held", HELD), ("features", FEATURES), ("memo", MEMO):
                check_fix(Path(folder), name, script, virtual)
            for name, script in CLEAN.items():
                check_clean(Path(folder), name, script, virtual)
    print("what is named is what a fix saves; clean models have nothing to name")
    return 0


if __name__ == "__main__":
    sys.exit(main())
