# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The training loop of a small GPT in PyTorch with a memory usage tracker.

    python train_gpt.py [--track_memory] [--steps N] [--device cpu]

With --track_memory it prints memory phase by phase after the first iteration; `tidemark phases` reads that text from a log.
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.heads = heads

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.n1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c)
        x = x + self.out(y)
        return x + self.mlp(self.n2(x))


class GPT(nn.Module):
    def __init__(self, vocab: int = 512, width: int = 128, layers: int = 4, heads: int = 4, context: int = 64) -> None:
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.head = nn.Linear(width, vocab, bias=False)

    def forward(self, ids: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        x = self.tok(ids) + self.pos.weight[: ids.shape[1]]
        return F.cross_entropy(self.head(self.blocks(x)).flatten(0, 1), targets.flatten())


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("--track_memory", action="store_true")
    p.add_argument("--steps", type=int, default=3)
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    a = p.parse_args()

    if a.track_memory:
        from tidemark import MemoryUsageTracker

        guard = MemoryUsageTracker.begin_capture()
        snapshot = MemoryUsageTracker.snapshot
    else:
        snapshot = lambda name: None  # noqa: E731

    torch.manual_seed(0)
    model = GPT().to(a.device)
    snapshot("MODEL_CREATION")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    snapshot("OPTIMIZER_CREATION")
    print("Total parameters:", sum(q.numel() for q in model.parameters()))
    for step in range(a.steps):
        ids = torch.randint(0, 512, (8, 65), device=a.device)
        loss = model(ids[:, :-1], ids[:, 1:])
        if not step:
            snapshot("FORWARD_PASS")
        loss.backward()
        if not step:
            snapshot("BACKWARD_PASS")
        optimizer.step()
        optimizer.zero_grad()
        if a.track_memory and not step:
            MemoryUsageTracker.end_capture("FIRST_ITERATION_COMPLETE")
            MemoryUsageTracker.print_memory_usage()
            MemoryUsageTracker.clear()
            guard.release()
        print(f"step {step + 1}, loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
