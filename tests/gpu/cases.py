# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Cases of tests/gpu/run, each in a separate process: the recording of a CUDA device equals PyTorch's own counters to the byte.

    python cases.py NAME
"""
from __future__ import annotations

import importlib.util
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

import torch

import tidemark
from tidemark import _home, tracker

FOLDER = tempfile.mkdtemp(prefix="tidemark-gpu-")
DEVICE = "cuda:0"


class Skip(Exception):
    """The case cannot run here; the text has the reason."""


def path(name: str) -> str:
    return os.path.join(FOLDER, name)


def same(what: str, ours, theirs) -> None:
    if ours != theirs:
        raise AssertionError(f"{what}: {ours} recorded, {theirs} by PyTorch")


def device_of(answer: dict, device: str = DEVICE) -> dict:
    return next(d for d in answer["devices"] if d["device"] == device)


def counters() -> dict:
    torch.cuda.synchronize()
    s = torch.cuda.memory_stats()
    return {"live": s["allocated_bytes.all.current"], "peak": s["allocated_bytes.all.peak"], "count": s["allocation.all.current"],
            "allocs": s["allocation.all.allocated"], "frees": s["allocation.all.freed"]}


def fresh() -> dict:
    """Resets the counters; live tensors stay."""
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.reset_accumulated_memory_stats()
    return counters()


def check(recording: str, stats: dict, before: dict | None = None) -> dict:
    """Live bytes, peak and numbers of allocations and frees of a recording against PyTorch's counters."""
    d = device_of(tidemark.open(recording).memory())["totals"]
    adopted = before["count"] if before else 0
    same("live bytes", d["live_bytes"], stats["live"])
    same("live allocations", d["live_count"], stats["count"])
    same("peak bytes", d["peak_bytes"], stats["peak"])
    same("allocations", d["allocs"] - adopted, stats["allocs"])
    same("frees", d["frees"], stats["frees"])
    losses = tidemark.open(recording).memory()["losses"]
    same("losses", losses, {})
    return d


def churn(seed: int, steps: int = 300, most: int = 4 << 20) -> list:
    """Tensors of random sizes, born and freed in random order."""
    r = random.Random(seed)
    keep: list = []
    for _ in range(steps):
        keep.append(torch.empty(r.randrange(1, most), dtype=torch.uint8, device="cuda"))
        if len(keep) > 40:
            del keep[r.randrange(len(keep))]
    return keep


def model():
    m = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 256)).cuda()
    return m, torch.optim.AdamW(m.parameters())


def train(m, o, steps: int = 5) -> float:
    loss = torch.zeros(())
    for _ in range(steps):
        o.zero_grad()
        loss = m(torch.randn(64, 256, device="cuda")).square().mean()
        loss.backward()
        o.step()
    return float(loss)


# ---- what is recorded ----

def attach():
    """Totals with tensors that were there before, training, random sizes."""
    keep = churn(1, 50)
    m, o = model()
    before = fresh()
    tidemark.start(path("a.tide"))
    tidemark.torch.attach()
    train(m, o)
    keep += churn(2)
    stats = counters()
    tidemark.stop()
    d = check(path("a.tide"), stats, before)
    tidemark.torch.detach()
    return f"{d['allocs']} allocations, peak {d['peak_bytes']} bytes"


def detach():
    """After detach() nothing is recorded, and results are those of a bare run."""
    tidemark.start(path("a.tide"))
    tidemark.torch.attach()
    tidemark.torch.attach()
    churn(3, 20)
    tidemark.torch.detach()
    events = tidemark.stats()["events"]
    churn(4, 20)
    same("events after detach", tidemark.stats()["events"], events)
    tidemark.stop()


def results():
    """The same numbers come out of a training with and without a recording."""
    def once() -> float:
        torch.manual_seed(7)
        m, o = model()
        return train(m, o, 10)

    bare = once()
    with tidemark.record(path("r.tide"), shapes=True):
        same("loss", once(), bare)


def threads():
    """Several threads allocate and free at once, and free what others made."""
    before = fresh()
    tidemark.start(path("t.tide"))
    tidemark.torch.attach()
    kept: list = []
    lock = threading.Lock()

    def work(seed: int) -> None:
        mine = churn(seed, 200, 1 << 18)
        with lock:
            kept.extend(mine)
            del kept[::2]

    many = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    [x.start() for x in many]
    [x.join() for x in many]
    stats = counters()
    tidemark.stop()
    d = check(path("t.tide"), stats, before)
    return f"{d['allocs']} allocations of 8 threads"


def streams():
    """Side streams, and tensors that a stream holds back."""
    before = fresh()
    tidemark.start(path("s.tide"))
    tidemark.torch.attach()
    side = [torch.cuda.Stream() for _ in range(3)]
    keep = []
    for i in range(60):
        s = side[i % 3]
        x = torch.randn(1 << 16, device="cuda")
        with torch.cuda.stream(s):
            s.wait_stream(torch.cuda.current_stream())
            y = x * 2
            x.record_stream(s)
            keep.append(y)
        del x
        if i % 4 == 0:
            keep.pop(0)
    stats = counters()
    tidemark.stop()
    check(path("s.tide"), stats, before)


def graphs():
    """A CUDA graph with a private pool, replayed."""
    m, _ = model()
    x = torch.randn(64, 256, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            m(x)
    torch.cuda.current_stream().wait_stream(side)
    before = fresh()
    tidemark.start(path("g.tide"))
    tidemark.torch.attach()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y = m(x)
    for _ in range(5):
        g.replay()
    keep = churn(5, 50)
    stats = counters()
    tidemark.stop()
    check(path("g.tide"), stats, before)
    del y, keep


def expandable():
    """Expandable segments (run sets PYTORCH_CUDA_ALLOC_CONF)."""
    if "expandable_segments:True" not in os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""):
        raise Skip("PYTORCH_CUDA_ALLOC_CONF is not set")
    return attach()


def oom():
    """Out of memory is recorded with the requested bytes; the program continues."""
    tidemark.start(path("o.tide"))
    tidemark.torch.attach()
    asked = 1 << 42
    try:
        torch.empty(asked, dtype=torch.uint8, device="cuda")
        raise AssertionError("4 TiB were there")
    except torch.cuda.OutOfMemoryError:
        held = torch.cuda.memory_reserved()
    keep = churn(6, 10)
    stats = counters()
    tidemark.stop()
    found = tidemark.open(path("o.tide")).ask("oom")["ooms"]
    same("out of memory", len(found), 1)
    same("reserved bytes then", found[0]["reserved_bytes"], held)
    if str(asked) not in json.dumps(found):
        raise AssertionError(f"the bytes asked for are not told: {json.dumps(found)[:400]}")
    same("live bytes", device_of(tidemark.open(path("o.tide")).memory())["totals"]["live_bytes"], stats["live"])
    del keep


def reserved():
    """Reserved bytes at the moments of samples, also after empty_cache(), as every view shows them."""
    fresh()
    keep: list = []
    told = []
    with tidemark.record(path("res.tide")):
        for i in range(12):
            keep += churn(40 + i, 20, 12 << 20)
            if i % 4 == 3:
                keep = keep[::3]
                torch.cuda.empty_cache()
            keep.append(torch.empty(3 << 20, device="cuda"))  # the total is reported with it
            told.append(torch.cuda.memory_reserved())
            tidemark.checkpoint(f"at {i}")
        keep.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda"))  # the peak
        last, most = torch.cuda.memory_reserved(), torch.cuda.max_memory_reserved()
        same("live() reserved bytes", device_of({"devices": tidemark.live().devices})["totals"]["reserved_bytes"], last)
    t = tidemark.open(path("res.tide"))
    times = {t.native.text(n): at for n, at in zip(t.native.view("marks", "name"), t.native.view("marks", "t"))}
    for i, want in enumerate(told):
        at = f"{times[f'at {i}']}ns"
        now = device_of(t.memory(at=at, device=DEVICE))["totals"]
        same(f"reserved bytes at {i}", (now["reserved_bytes"], now["reserved_source"]), (want, "samples"))
        same(f"reserved bytes of peak --at {i}", t.peak(at=at, device=DEVICE)["reserved_bytes"], want)
        same(f"reserved bytes of allocator --at {i}", t.ask("allocator", at=at, device=DEVICE, no_advice=True)["reserved_bytes"], want)
    end = device_of(t.memory(device=DEVICE))
    same("reserved bytes at the end", end["totals"]["reserved_bytes"], last)
    same("most reserved bytes", end["totals"]["reserved_peak_bytes"], most)
    same("highest of the series", max(v for v in end["reserved_series_bytes"] if v is not None), most)
    same("reserved bytes at the peak", t.peak(device=DEVICE)["reserved_bytes_at_peak"], last)
    with tidemark.record(path("res2.tide"), ops=False):  # nothing was allocated since
        held = device_of({"devices": tidemark.live().devices})["totals"]["reserved_bytes"]
        same("reserved bytes from attaching on", held, torch.cuda.memory_reserved())
    return f"{len(told)} moments, {len(set(told))} totals, {most} bytes at most"


# ---- ways to record ----

def run():
    """tidemark run: the counters of the program at its end."""
    program = ("import json, os, sys; sys.path.insert(0, %r); import torch, cases; torch.cuda.init(); m, o = cases.model(); cases.train(m, o)\n"
               "keep = cases.churn(9); print('STATS' + json.dumps(cases.counters()), flush=True); os._exit(0)") % os.path.dirname(__file__)
    out = path("run.tide")
    done = subprocess.run([_home.program(), "run", "-o", out, "--", sys.executable, "-c", program], capture_output=True, text=True,
                          check=False, timeout=600)
    if done.returncode:
        raise AssertionError(done.stderr[-2000:])
    stats = json.loads(done.stdout.split("STATS")[1].splitlines()[0])
    d = check(out, stats)
    return f"{d['allocs']} allocations, peak {d['peak_bytes']} bytes"


def record():
    """record() as a block and as a decorator; live() while it runs."""
    keep = churn(10, 30)
    before = fresh()
    with tidemark.record(path("r.tide")):
        more = churn(11, 60)
        stats = counters()
        now = tidemark.live()
        same("live() bytes", device_of({"devices": now.devices})["totals"]["live_bytes"], stats["live"])
        if "svg" not in now._repr_html_() or DEVICE not in repr(now):
            raise AssertionError("live() draws nothing")
    check(path("r.tide"), stats, before)

    @tidemark.record(path("d.tide"))
    def work():
        return churn(12, 20)

    kept = work()
    same("live bytes", device_of(tidemark.open(path("d.tide")).memory())["totals"]["live_bytes"], counters()["live"])
    del keep, more, kept


def track():
    """The tracker: totals at checkpoints, operations, ops with device times, reserved bytes."""
    keep = churn(13, 30)
    m, o = model()
    train(m, o, 1)
    t = tracker.initialize_memory_tracker(FOLDER, enabled=True, interval=0.05)
    t.track_model_with_hooks(m)
    told = {}
    with t.track_operation("training"):
        train(m, o, 3)
    for name in ("one", "two"):
        keep += churn(ord(name[0]), 20)
        t.checkpoint(name)
        told[name] = counters()["live"], torch.cuda.memory_reserved()
    with t.track_pytorch_ops():
        train(m, o, 2)
        torch.cuda.synchronize()
    saved = tracker.stop_memory_tracker()
    with open(saved, encoding="utf-8") as f:
        d = json.load(f)
    for s in d["snapshots"]:
        if s["checkpoint_name"] in told:
            here = s["device_breakdown"][DEVICE]
            same("snapshot bytes", here["total_bytes"], told[s["checkpoint_name"]][0])
            same("reserved bytes", here["reserved_bytes"], told[s["checkpoint_name"]][1])
    ops = {x["op_name"]: x for x in d["pytorch_operations"]}
    mm = ops["aten::addmm"]
    if not (mm["cuda_time_us"] > 0 and mm["cpu_time_us"] > 0 and mm["input_shapes"]):
        raise AssertionError(f"no device time: {mm}")
    if not any(s["checkpoint_name"].startswith("snapshot_") for s in d["snapshots"]):
        raise AssertionError("no periodic snapshot")
    if not d["operation_log"] or d["operation_summary"]["training"]["invocation_count"] != 1:
        raise AssertionError("operations are missing")
    page = path("gantt.html")
    subprocess.run([_home.program(), "gantt", saved, page], check=True, capture_output=True)
    return f"{len(d['snapshots'])} snapshots, {len(ops)} ops, page of {os.path.getsize(page)} bytes"


def snapshot_cost():
    """A snapshot of 10,000 tensors on the device; what it costs the trainer."""
    keep = [torch.empty(64, device="cuda") for _ in range(10_000)]
    t = tracker.initialize_memory_tracker(FOLDER, enabled=True, interval=1000.0)
    best = min(_time(lambda: t.checkpoint("x")) for _ in range(50))
    t.stop()
    if len(keep) != 10_000 or best > 2_000_000:
        raise AssertionError(f"{best} ns a snapshot")
    return f"{best} ns a snapshot"


def _time(f) -> int:
    t = time.perf_counter_ns()
    f()
    return time.perf_counter_ns() - t


def ends():
    """SIGTERM saves the profile; SIGKILL leaves a recording that gives one."""
    for sig in (signal.SIGTERM, signal.SIGKILL):
        folder = tempfile.mkdtemp(dir=FOLDER)
        program = ("import os, time, torch; from tidemark import tracker\n"
                   "tracker.initialize_memory_tracker('.', enabled=True)\n"
                   "x = torch.empty(1 << 20, device='cuda'); tracker.memory_checkpoint('here')\n"
                   f"os.kill(os.getpid(), {int(sig)}); time.sleep(60)")
        done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False, timeout=400)
        same("end", done.returncode, -sig)
        files = os.listdir(folder)
        if sig == signal.SIGTERM:
            with open(os.path.join(folder, next(f for f in files if f.endswith(".json"))), encoding="utf-8") as f:
                d = json.load(f)
        else:
            d = tracker.profile(os.path.join(folder, next(f for f in files if f.endswith(".tide"))))
        here = next(s for s in d["snapshots"] if s["checkpoint_name"] == "here")
        same(f"bytes after signal {int(sig)}", here["device_breakdown"][DEVICE]["total_bytes"], 4 << 20)


def plugin():
    """The pytest plugin's limit on a CUDA device."""
    if importlib.util.find_spec("pytest") is None:
        raise Skip("pytest is not there")
    with open(path("test_x.py"), "w", encoding="utf-8") as f:
        f.write("import pytest, torch\nbefore = torch.empty(1 << 26, dtype=torch.uint8, device='cuda')\n"
                "@pytest.mark.limit_device_memory('10 MB')\ndef test_small(): torch.empty(8 << 20, dtype=torch.uint8, device='cuda')\n"
                "@pytest.mark.limit_device_memory('10 MB')\ndef test_large(): torch.empty(12 << 20, dtype=torch.uint8, device='cuda')\n")
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--tidemark", "-rA", "test_x.py"],
                          cwd=FOLDER, capture_output=True, text=True, check=False, timeout=600)
    for line in ("PASSED test_x.py::test_small", "FAILED test_x.py::test_large",
                 f"cuda:0: {12 << 20:,} bytes above the start, the limit is 10,485,760"):
        if line not in done.stdout:
            raise AssertionError(f"{line!r} is missing:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")


def lightning():
    """The callback in Lightning's own loop."""
    if importlib.util.find_spec("pytorch_lightning") is None and importlib.util.find_spec("lightning") is None:
        raise Skip("Lightning is not there")
    try:
        import pytorch_lightning as pl
    except ImportError:
        import lightning.pytorch as pl

    class Net(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = model()[0]

        def training_step(self, batch, i):
            return self.net(batch[0]).square().mean()

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(256, 256)), batch_size=64)
    callback = tidemark.Callback(path("l.tide"))
    trainer = pl.Trainer(max_epochs=2, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
                         enable_progress_bar=False, callbacks=[callback], default_root_dir=FOLDER)
    trainer.fit(Net(), data)
    return steps_of(path("l.tide"), 8)


def transformers():
    """The callback in Transformers' own loop."""
    if importlib.util.find_spec("transformers") is None:
        raise Skip("Transformers is not there")
    from transformers import Trainer, TrainingArguments

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = model()[0]

        def forward(self, x=None, labels=None):
            return {"loss": (self.net(x) - labels).square().mean()}

    data = [{"x": torch.randn(256), "labels": torch.randn(256)} for _ in range(64)]
    args = TrainingArguments(output_dir=FOLDER, num_train_epochs=2, per_device_train_batch_size=16, report_to=[], save_strategy="no",
                             disable_tqdm=True)
    Trainer(model=Net(), args=args, train_dataset=data, callbacks=[tidemark.Callback(path("h.tide"))]).train()
    return steps_of(path("h.tide"), 8)


def steps_of(recording: str, steps: int) -> str:
    t = tidemark.open(recording)
    kinds, values = t.native.column("marks", "kind"), t.native.column("marks", "value")
    marks = [v for k, v in zip(kinds, values) if k == 3]
    same("step marks", marks, list(range(steps)))
    roles = set(t.native.column("tensors", "role"))
    if 1 not in roles:
        raise AssertionError(f"no parameter is labelled: {roles}")
    return f"{len(marks)} steps, peak {device_of(t.memory())['totals']['peak_bytes']} bytes"


# ---- PyTorch's own snapshots ----

def snapshot_plain(work=None):
    """_dump_snapshot beside a recording: peak and live bytes of both, and PyTorch's counters."""
    torch.cuda.memory._record_memory_history(max_entries=1_000_000)
    before = fresh()
    tidemark.start(path("p.tide"))
    tidemark.torch.attach()
    keep = (work or snapshot_work)()
    stats = counters()
    torch.cuda.memory._dump_snapshot(path("p.pickle"))
    tidemark.stop()
    torch.cuda.memory._record_memory_history(enabled=None)
    check(path("p.tide"), stats, before)
    t = tidemark.open(path("p.pickle"))
    peak = device_of(t.peak(device=DEVICE))
    same("peak of the snapshot", peak["peak_bytes"], stats["peak"])
    same("live bytes of the snapshot", device_of(t.memory())["totals"]["live_bytes"], stats["live"])
    del keep
    with open(path("p.pickle"), "rb") as f:
        events = sum(len(x) for x in pickle.load(f)["device_traces"])
    return f"{events} events, peak {peak['peak_bytes']} bytes"


def snapshot_work():
    m, o = model()
    train(m, o)
    return [m, o, churn(21)]


def snapshot_streams():
    """The same with side streams."""
    def work():
        side, keep = torch.cuda.Stream(), []
        for _ in range(40):
            x = torch.randn(1 << 15, device="cuda")
            with torch.cuda.stream(side):
                side.wait_stream(torch.cuda.current_stream())
                keep.append(x + 1)
                x.record_stream(side)
            del x
        return keep

    return snapshot_plain(work)


def snapshot_graph():
    """The same with a CUDA graph."""
    def work():
        m, _ = model()
        x = torch.randn(64, 256, device="cuda")
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                m(x)
        torch.cuda.current_stream().wait_stream(side)
        g = torch.cuda.CUDAGraph()
        with torch.cuda.graph(g):
            y = m(x)
        g.replay()
        return [g, y, m, churn(22, 50)]

    return snapshot_plain(work)


def snapshot_expandable():
    """The same with expandable segments."""
    if "expandable_segments:True" not in os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""):
        raise Skip("PYTORCH_CUDA_ALLOC_CONF is not set")
    return snapshot_plain()


CASES = [attach, detach, results, threads, streams, graphs, expandable, oom, reserved, run, record, track, snapshot_cost, ends, plugin, lightning,
         transformers, snapshot_plain, snapshot_streams, snapshot_graph, snapshot_expandable]


def main() -> int:
    case = next(c for c in CASES if c.__name__ == sys.argv[1])
    try:
        told = case()
    except Skip as why:
        print(f"skipped: {why}")
        return 77
    print(told or "")
    return 0


if __name__ == "__main__":
    sys.exit(main())
