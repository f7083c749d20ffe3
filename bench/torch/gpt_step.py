#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""One training process of a GPT (124M parameters by default): step times in ms and torch's own counters, as JSON.

    gpt_step.py [--small] [--batch N] [--context N] [--steps N] [--profiler] [--history] [--dispatch] [--empty]

Run bare, under `tidemark run`, or with one of PyTorch's own tools on; compare.py does that in turn.
"""
import argparse
import json
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).split(c, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, vocab: int, context: int, layers: int, width: int, heads: int):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocab, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.tokens.weight.t()


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--small", action="store_true", help="4 layers of width 128 (for the CPU)")
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--context", type=int, default=128)
    p.add_argument("--steps", type=int, default=40)
    for tool in ("profiler", "history", "dispatch"):
        p.add_argument("--" + tool, action="store_true")
    a = p.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    layers, width, heads, vocab = (4, 128, 4, 1024) if a.small else (12, 768, 12, 50304)
    model = GPT(vocab, a.context, layers, width, heads).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    ids = torch.randint(vocab, (a.batch, a.context + 1), device=device)

    def step() -> float:
        logits = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    def sync() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    for _ in range(5):
        step()
    sync()
    context = None
    if a.history:
        torch.cuda.memory._record_memory_history(max_entries=1_000_000)
    if a.profiler:
        kinds = [torch.profiler.ProfilerActivity.CPU] + ([torch.profiler.ProfilerActivity.CUDA] if device == "cuda" else [])
        context = torch.profiler.profile(activities=kinds, profile_memory=True)
    if a.dispatch:
        from torch.utils._python_dispatch import TorchDispatchMode

        class Nothing(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))

        context = Nothing()
    if context:
        context.__enter__()
    times = []
    for _ in range(a.steps):
        t0 = time.perf_counter_ns()
        loss = step()
        sync()
        times.append((time.perf_counter_ns() - t0) / 1e6)
    if context:
        context.__exit__(None, None, None)
    stats = torch.cuda.memory_stats() if device == "cuda" else {}
    keys = ("allocated_bytes.all.peak", "allocated_bytes.all.current", "reserved_bytes.all.peak", "allocation.all.allocated", "allocation.all.freed")
    q = statistics.quantiles(times, n=10)
    json.dump({"device": device, "torch": torch.__version__, "median_ms": statistics.median(times), "p10_ms": q[0], "p90_ms": q[-1],
               "loss": float(loss), **{k: stats[k] for k in keys if k in stats}}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
