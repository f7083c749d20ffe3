#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Holders of memory: which Python objects refer to it. Nothing of the program is executed, nothing is kept alive, and the walk ends in time."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from predict_program import PYTHON, build_hook, lacks_torch  # noqa: E402

TIDEMARK = os.environ["TIDEMARK"]
HOOK = Path(__file__).resolve().parent.parent.parent / "python" / "hook"

# Every kind of holder; objects whose code must not run end the program.
WALK = """
import gc, sys, threading, weakref
sys.path.insert(0, sys.argv[1])
import torch, tidemark_holders
from torch import nn

def never(*a, **k):
    raise SystemExit("code of the program was executed")
armed = False

class Trainer:
    __slots__ = ("history", "model", "cache")
    def __init__(self):
        self.history, self.cache = [], {"best": torch.zeros(500)}
        self.model = nn.Sequential(nn.Linear(64, 65), nn.ReLU())
    __getattr__ = __repr__ = __eq__ = __iter__ = never
    __hash__ = None

class Evil(dict):
    x = property(never)
    __getitem__ = items = keys = values = __iter__ = __repr__ = __len__ = never
    def __getattribute__(self, name): never()

class Sub(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *a, **k): never()

class Meta(type):
    __instancecheck__ = __subclasscheck__ = __eq__ = never
    def __hash__(cls): return never() if armed else type.__hash__(cls)

class Name(str):
    __str__ = __repr__ = __format__ = startswith = never
    def __eq__(self, other): return never() if armed else str.__eq__(self, other)
    def __hash__(self): return str.__hash__(self)

class Odd(metaclass=Meta):
    def __init__(self): object.__setattr__(self, "kept", torch.ones(301))
    __class__ = property(never)
    __dict__ = property(never)

trainer, evil, odd = Trainer(), Evil(key=torch.ones(302)), Odd()
lazy = torch._lazy_clone(torch.ones(310))
long_keys = {10 ** 5000: torch.ones(311)}
named = nn.Module()
named.__dict__[Name("odd")], named._buffers[Name("buffer")] = torch.ones(312), torch.ones(313)
slotted = type("Slotted", (), {Name("z"): 1, "__slots__": ("y",)})()
slotted.y = torch.ones(314)
armed = True
sub = torch.Tensor._make_subclass(Sub, torch.ones(303))
for i in range(3):
    trainer.history.append(trainer.model(torch.randn(100, 64)).sum())

def make_hook():
    hidden = torch.randn(304)
    def hook(*a): return None if hidden is None else None
    return hook
trainer.model[0].register_forward_hook(make_hook())

errors = []
def attempt():
    big = torch.randn(305)
    raise RuntimeError("x")
try:
    attempt()
except RuntimeError as error:
    errors.append(error)

def generate():
    inside = torch.randn(306)
    yield 1
    print(inside)
generator = generate(); next(generator)

ready, done = threading.Event(), threading.Event()
def work():
    waiting = torch.randn(307)
    ready.set(); done.wait()
thread = threading.Thread(target=work, daemon=True); thread.start(); ready.wait()

def main():
    local = torch.randn(308)
    before = sys.getrefcount(local)
    found = tidemark_holders.find(torch, budget=30)
    assert sys.getrefcount(local) == before, "something refers to a local"
    there = weakref.ref(local)
    del local
    gc.collect()
    assert there() is None, "a local is kept alive"
    return found

def with_locals():
    kept = torch.randn(309)
    mine = locals()
    before = dict(mine)
    tidemark_holders.find(torch, budget=30)
    assert mine.keys() >= before.keys(), "the program's own dict was emptied"
with_locals()
rows, graphs, complete = main()
done.set(); thread.join()
names = {size // 4: path for _, size, path in rows}
want = {308: "local in main() (", 500: "trainer.cache['best']", 64 * 65: "trainer.model.0.weight", 302: "evil['key']", 303: "sub", 304: "closure of hook(): hidden",
        305: "errors[0] traceback: big in attempt() (", 306: "generator generator frame: ", 307: "waiting in work() ("}
want |= {301: "odd (in a Odd)", 310: "lazy", 311: "long_keys[…]", 313: "named._", 314: "slotted.y"}
for floats, path in want.items():
    have = names.get(floats) or ""
    assert path in have or (floats == 306 and "inside in generate()" in have), (floats, path, have)
assert "._forward_hooks" in names[304], names[304]
assert complete and "trainer.history[1].grad_fn" in graphs.values(), graphs
assert torch._C._is_cow_tensor(lazy), "the walk made a lazy copy"
assert gc.isenabled() and sys.getswitchinterval() < 1
large = [{"k%d" % i: [i, (i,), {}]} for i in range(100_000)]
short = tidemark_holders.find(torch, budget=0.04)
assert not short[2] and any("trainer.cache" in path for _, _, path in short[0]), short  # time was up; what is near was found
assert tidemark_holders.find(torch, budget=0)[2] is False
print("fine")
"""

RUN = """
import torch
from torch import nn
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 64)).to(DEV)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
history, features = [], []
for step in range(5):
    x = torch.randn(512, 64, device=DEV)
    extra = model(x).square().mean()
    history.append(extra)
    loss = model(x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    for i in range(6):
        features.append(torch.randn(512, 512, device=DEV) * 2)
        features[-1].sum()
    y = model(torch.randn(4096, 64, device=DEV))
    for i in range(12):
        y = y * 1.5
"""


def run(*words: object) -> str:
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=400)
    assert not done.returncode, (words, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


def check_recording(folder: Path, virtual: bool) -> None:
    program, file = folder / "held.py", folder / f"held{virtual:d}.tide"
    program.write_text(RUN.replace("DEV", repr("cuda" if virtual else "cpu")))
    if virtual:
        run(TIDEMARK, "predict", "--like", "h200", "--steps", "0", "--keep", file, "--", PYTHON, program)
    else:
        run(TIDEMARK, "run", "--holders", "-o", file, "--", PYTHON, program)
    rows = [json.loads(line) for line in run(TIDEMARK, "dump", "--json", "-t", "referrers", file).splitlines()]
    assert any(r["path"] == "model.0.weight" for r in rows) and any(r["sequence"] >= 0 for r in rows), rows[:20]
    d = json.loads(run(TIDEMARK, "stale", "--json", file))
    held = {r["holder"] for r in d["stale"]}
    assert any(h and h.startswith("features[") for h in held), (virtual, d["stale"])
    if not virtual:  # a virtual run does not record sequence numbers
        assert any(h and h.endswith(".grad_fn") and h.startswith("history[") for h in held), d["stale"]
    text = run(TIDEMARK, "stale", file)
    assert "Held by" in text and "features[" in text, text


def main() -> int:
    if why := lacks_torch(str(PYTHON)):
        print(f"skipped: {why}")
        return 77
    build_hook(str(PYTHON), predicts=True)
    with tempfile.TemporaryDirectory(prefix="holders-") as folder:
        walk = Path(folder) / "walk.py"
        walk.write_text(WALK)
        assert run(PYTHON, walk, HOOK).strip() == "fine"
        for virtual in False, True:
            check_recording(Path(folder), virtual)
    print("holders are named; nothing is executed or kept alive")
    return 0


if __name__ == "__main__":
    sys.exit(main())
