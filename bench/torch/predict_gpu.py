#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Measures the error of `tidemark predict` on a GPU: a GPT is recorded at batches of 4 and 16, predicted for 8, 32 and 64, and
measured there.

    predict_gpu.py OUT [--cases f32,autocast+loader,bf16]

Needs out/gpu, which `bench/torch/gpu.sh pack` makes, and torch. Every training run is a separate process; recordings stay in OUT
(some 100 KB each), figures in OUT/figures.json. A minute a case.
"""
import argparse
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PACKED = os.path.join(HERE, "../../out/gpu")
KNOWN, TOLD = (4, 16), (8, 32, 64)
BEGAN = time.monotonic()


def train(a) -> None:
    import torch
    from torch.nn import functional as F

    import tidemark
    from gpt import GPT
    cuda = torch.cuda.is_available()
    device = "cuda" if cuda else "cpu"
    what = a.train.split("+")
    layers, width, heads, vocab, context = (4, 128, 4, 1024, 32) if a.small else (12, 768, 12, 50304, 256)
    path = os.path.join(a.out, f"{a.train}-{a.batch}.tide")
    torch.manual_seed(0)

    def steps(n):
        model = GPT(vocab, context, layers, width, heads).to(device)
        if "bf16" in what:
            model = model.to(torch.bfloat16)
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
        data = torch.randint(vocab, (n * a.batch, context + 1))
        loader = torch.utils.data.DataLoader(list(data), batch_size=a.batch, pin_memory=cuda, num_workers=0)
        for i, ids in enumerate(loader if "loader" in what else data.to(device).split(a.batch)):
            ids = ids.to(device, non_blocking=True)
            with torch.autocast(device, torch.bfloat16, enabled="autocast" in what):
                logits = model(ids[:, :-1])
                loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return float(loss)

    with tidemark.record(path, torch=True):
        steps(4)
        if cuda:
            torch.cuda.synchronize()
        real = {"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved(),
                "requested": torch.cuda.memory_stats()["requested_bytes.all.peak"], "segments": len(torch.cuda.memory_snapshot())} if cuda else {}
    print(json.dumps(real))


def command(*words: str) -> dict:
    return json.loads(subprocess.run([sys.executable, "-m", "tidemark", *words, "--json"], check=True, capture_output=True, text=True).stdout)


def case(a, name: str) -> dict:
    real = {}
    for n in sorted(KNOWN + TOLD):
        t0 = time.monotonic()
        done = subprocess.run([sys.executable, "-W", "ignore", os.path.abspath(__file__), a.out, "--train", name, "--batch", str(n)] + ["--small"] * a.small,
                              capture_output=True, text=True)
        if done.returncode:
            print(f"{name} batch {n}: {done.stderr[-1500:]}")
            return {}
        real[n] = json.loads(done.stdout.splitlines()[-1])
        for line in done.stderr.splitlines():
            print("   ", line[:200])
        peak = command("peak", os.path.join(a.out, f"{name}-{n}.tide"), "--device", a.device)
        real[n]["recorded"] = peak["peak_bytes"]
        print(f"  {name} batch {n}: {time.monotonic() - t0:.1f} s, recorded peak {peak['peak_bytes']:,}, torch {real[n]}", flush=True)
    files = [f"{n}={os.path.join(a.out, f'{name}-{n}.tide')}" for n in KNOWN]
    told = command("predict", *files, *[w for n in TOLD for w in ("--at", str(n))], "--device", a.device, "--capacity", "80GiB")
    rows = {r["size"]: r for r in told["sizes"]}
    print(f"\n{name}: told from batches {KNOWN}")
    print(f"{'batch':>6} {'told live':>16} {'real live':>16} {'off':>9} {'at most':>16} {'by':>8} {'told reserved':>16} {'real reserved':>16} {'off':>9}")
    for n in sorted(rows):
        r, x = rows[n], real[n]
        live = x.get("allocated", x["recorded"])
        kept, was = r["reserved_bytes"], x.get("reserved")
        print(f"{n:6} {r['peak_bytes']:16,} {live:16,} {100 * (r['peak_bytes'] / live - 1):+8.3f}% {r['most_bytes']:16,} {r['by']:>8} "
              + (f"{kept:16,} {was:16,} {100 * (kept / was - 1):+8.3f}%" if kept and was else f"{str(kept):>16} {str(was):>16}"), flush=True)
    print(f"80 GiB: fits {told['fits']} by live, {told['fits_reserved']} by reserved bytes ({told['reserved_by']}); {told['allocations']}")
    return {"real": real, "told": told}


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--train")
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--cases", default="f32", help="f32, autocast+loader, bf16 (55 s each)")
    p.add_argument("--small", action="store_true", help="for the CPU")
    p.add_argument("--device", default="cuda:0")
    p.add_argument("--seconds", type=float, default=85, help="begin no case that would not end by then")
    a = p.parse_args()
    if a.train:
        train(a)
        return
    os.makedirs(a.out, exist_ok=True)
    os.environ.update(PYTHONPATH=os.path.join(PACKED, "site"), LD_LIBRARY_PATH=os.path.join(PACKED, "lib") + os.pathsep + os.environ.get("LD_LIBRARY_PATH", ""),
                      XDG_CACHE_HOME=os.path.join(a.out, "cache"), PYTHONDONTWRITEBYTECODE="1")
    figures, took = {}, 0.0
    for name in a.cases.split(","):
        t0 = time.monotonic()
        if t0 - BEGAN + took > a.seconds:
            print(f"left out for time: {name}")
            continue
        figures[name] = case(a, name)
        took = time.monotonic() - t0
        with open(os.path.join(a.out, "figures.json"), "w", encoding="utf-8") as f:
            json.dump(figures, f)
    print(f"{time.monotonic() - BEGAN:.0f} s in all; recordings and figures.json in {a.out}")
    subprocess.run(["rm", "-rf", os.path.join(a.out, "cache")], check=False)


if __name__ == "__main__":
    main()
