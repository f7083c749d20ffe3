#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Takes real memory snapshots of a CUDA device under many allocator settings, each with PyTorch's own counters beside it.

    python3 tests/gpu/snapshots.py FOLDER         # every row of CASES, each in a process of its own

FOLDER/NAME.pickle.gz is what _dump_snapshot wrote, FOLDER/NAME.json the counters at that moment. check_snapshots.py holds our
answers to them, on any machine.
"""
import concurrent.futures
import gzip
import json
import os
import random
import subprocess
import sys

# name: allocator settings, history, device limit (share of the device), what runs
CASES = {
    "plain": dict(),
    "cpp_stacks": dict(history=dict(stacks="all")),
    "no_stacks": dict(history=dict(context=None)),
    "wrapped": dict(history=dict(max_entries=400)),
    "late": dict(late=True),
    "expandable": dict(conf="expandable_segments:True"),
    "expandable_oom": dict(conf="expandable_segments:True", limit=0.004),
    "max_split": dict(conf="max_split_size_mb:32"),
    "max_split_oom": dict(conf="max_split_size_mb:32", limit=0.004),
    "roundup": dict(conf="roundup_power2_divisions:4"),
    "roundup_by_size": dict(conf="roundup_power2_divisions:[16:8,64:4,256:2,>:1]"),
    "collecting": dict(conf="garbage_collection_threshold:0.6", limit=0.006),
    "oom": dict(limit=0.004),
    "streams": dict(work="streams"),
    "graph": dict(work="graph"),
    "graph_expandable": dict(work="graph", conf="expandable_segments:True"),
    "own_pool": dict(work="own_pool"),
    "pinned": dict(work="pinned"),
    "emptied": dict(work="emptied"),
}


def lines(torch, seed, rounds=30):
    """Training on batches of changing length: blocks are split, cached and joined again."""
    rng = random.Random(seed)
    net = torch.nn.Sequential(*[torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True) for _ in range(4)]).cuda()
    opt = torch.optim.AdamW(net.parameters())
    keep = []
    for i in range(rounds):
        x = torch.randn(8, rng.randrange(16, 400), 256, device="cuda")
        net(x).square().mean().backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
        if i % 4 == 0:
            keep.append(torch.empty(rng.randrange(1, 1 << 20), device="cuda"))
    return [net, opt, keep]


def streams(torch):
    side, keep = torch.cuda.Stream(), []
    for i in range(200):
        x = torch.randn((i % 37 + 1) << 12, device="cuda")
        with torch.cuda.stream(side):
            side.wait_stream(torch.cuda.current_stream())
            y = x + 1
            x.record_stream(side)
            if i % 9 == 0:
                keep.append(y)
    return [keep, lines(torch, 2, 6)]


def graph(torch):
    net = torch.nn.Sequential(torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.Linear(2048, 512)).cuda()
    x = torch.randn(256, 512, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            net(x).sum().backward()
    torch.cuda.current_stream().wait_stream(side)
    net.zero_grad(set_to_none=True)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        loss = net(x).sum()
        loss.backward()
    for _ in range(5):
        g.replay()
    return [g, net, loss, lines(torch, 3, 6)]


def own_pool(torch):
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        keep = [torch.empty(n << 16, device="cuda") for n in range(1, 40)]
    del keep[::3]
    return [pool, keep, lines(torch, 4, 6)]


def pinned(torch):
    keep = [torch.empty(n << 14, pin_memory=True) for n in range(1, 30)]
    moved = [k.cuda(non_blocking=True) for k in keep]
    del keep[::2]
    return [keep, moved, lines(torch, 5, 4)]


def emptied(torch):
    a = lines(torch, 6, 6)
    del a[2]
    torch.cuda.empty_cache()
    return [a, lines(torch, 7, 6)]


def one(name: str, folder: str) -> None:
    case = CASES[name]
    if "conf" in case:
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = case["conf"]
    import torch
    torch.cuda.init()
    if "limit" in case:
        torch.cuda.set_per_process_memory_fraction(case["limit"])
    early = lines(torch, 1, 3) if case.get("late") else None
    torch.cuda.memory._record_memory_history(**{"max_entries": 1_000_000, **case.get("history", {})})
    work = {"streams": streams, "graph": graph, "own_pool": own_pool, "pinned": pinned, "emptied": emptied}.get(case.get("work"))
    told, keep = None, None
    try:
        keep = work(torch) if work else lines(torch, 8, 40)
        if "limit" in case:
            hoard = []
            for i in range(2000):
                hoard.append(torch.empty((i % 13 + 1) << 20, device="cuda"))
                if i % 5 == 3:
                    del hoard[-2]
    except torch.OutOfMemoryError as why:
        told = str(why)
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    torch.cuda.memory._dump_snapshot(os.path.join(folder, name + ".pickle"))
    with open(os.path.join(folder, name + ".pickle"), "rb") as f:
        data = f.read()
    with gzip.open(os.path.join(folder, name + ".pickle.gz"), "wb", 6) as f:
        f.write(data)
    os.remove(os.path.join(folder, name + ".pickle"))
    with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as f:
        json.dump({"torch": torch.__version__, "case": case, "oom": told, "stats": stats}, f, indent=1)
    print(f"{name}: {len(data)} bytes, peak {stats['allocated_bytes.all.peak']}, reserved {stats['reserved_bytes.all.peak']}"
          + (f", {told.splitlines()[0][:160]}" if told else ""), flush=True)
    del keep, early


def start(name: str, folder: str) -> bool:
    done = subprocess.run([sys.executable, "-W", "ignore", __file__, folder, name], capture_output=True, text=True, check=False, timeout=600)
    print(done.stdout.strip() or f"{name}: {done.stderr.strip()[-400:]}", flush=True)
    return done.returncode != 0


def main() -> int:
    folder = sys.argv[1]
    if len(sys.argv) > 2:
        one(sys.argv[2], folder)
        return 0
    os.makedirs(folder, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(6) as several:
        bad = sum(several.map(lambda name: start(name, folder), CASES))
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
