#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Measures the error of `tidemark predict` on real training runs: recorded at batches of 8 and 32, predicted for 16, 64 and 128,
and recorded there.

    predict.py OUT [--program PATH] [--only CASES] [--keep]     all cases, as a table
    predict.py --train CASE --batch N                           one training

PyTorch on the CPU is enough. Every training run is a separate process under `tidemark run`.
"""
import argparse
import contextlib
import json
import os
import subprocess
import sys

SMALL, LARGE, TOLD = 8, 32, (16, 64, 128)
# model, and what its loop does
CASES = {
    "mlp sgd": "mlp sgd",
    "mlp adamw": "mlp adamw",
    "mlp loader": "mlp adamw loader",
    "mlp loader, last batch, eval": "mlp adamw loader ragged eval",
    "mlp loader, accumulate": "mlp adamw loader accumulate",
    "mlp 2 workers": "mlp sgd loader workers",
    "cnn sgd": "cnn sgd",
    "cnn loader, eval": "cnn momentum loader eval",
    "cnn loader, last batch": "cnn adamw loader ragged",
    "cnn 2 workers, eval": "cnn momentum loader workers eval",
    "cnn loader, autocast": "cnn adamw loader autocast",
    "cnn big samples": "cnn momentum loader big",
    "gpt adamw": "gpt adamw",
    "gpt loader, last batch, eval": "gpt adamw loader ragged eval",
    "gpt 2 workers": "gpt adamw loader workers",
    "gpt accumulate": "gpt adamw accumulate",
    "gpt checkpoints": "gpt adamw checkpoints",
    "gpt autocast": "gpt adamw autocast",
    "gpt plain attention": "gpt sgd plain",
    "gpt all": "gpt adamw loader ragged eval accumulate checkpoints autocast",
}


# ---- trainings ----

def mlp(torch, nn, what):
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.GELU(), nn.Dropout(0.1), nn.Linear(256, 10)), (64,), None


def cnn(torch, nn, what):
    edge = 64 if "big" in what else 24

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2d(3, 16, 3, padding=1)
            self.a, self.b = nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.Conv2d(32, 32, 3, padding=1)
            self.na, self.nb = nn.BatchNorm2d(32), nn.BatchNorm2d(32)
            self.head = nn.Linear(32, 10)

        def forward(self, x):
            x = torch.relu(self.stem(x))
            x = torch.relu(self.na(self.a(x)))
            x = nn.functional.max_pool2d(x + torch.relu(self.nb(self.b(x))), 2)
            return self.head(x.mean((2, 3)))

    return Net(), (3, edge, edge), None


def gpt(torch, nn, what):
    from torch.utils.checkpoint import checkpoint
    width, heads, vocab, context = 64, 4, 512, 32

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = (y.view(b, t, heads, -1).transpose(1, 2) for y in self.qkv(self.n1(x)).split(c, 2))
            if "plain" in what:
                y = (q @ k.transpose(2, 3) / 4 + torch.full((t, t), float("-inf")).triu(1)).softmax(3) @ v
            else:
                y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(y.transpose(1, 2).reshape(b, t, c))
            return x + self.down(nn.functional.gelu(self.up(self.n2(x))))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(vocab, width), nn.Embedding(context, width)
            self.blocks = nn.ModuleList(Block() for _ in range(3))
            self.norm = nn.LayerNorm(width)

        def forward(self, ids):
            x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False) if "checkpoints" in what and self.training else block(x)
            return self.norm(x) @ self.tokens.weight.t()

    return GPT(), (context,), vocab


def samples(torch, shape, vocab):
    class Made(torch.utils.data.Dataset):
        """Every sample is made on request: a tensor, and a short-lived one."""

        def __init__(self, n):
            self.n = n

        def __len__(self):
            return self.n

        def __getitem__(self, i):
            if vocab:
                return torch.arange(i, i + shape[0] + 1) % vocab
            noise = torch.randn(shape, generator=torch.Generator().manual_seed(i))
            return noise.mul(0.5).add(1), i % 10

    return Made


def train(case: str, batch: int) -> None:
    import torch
    from torch import nn
    what = CASES[case].split()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, shape, vocab = {"mlp": mlp, "cnn": cnn, "gpt": gpt}[what[0]](torch, nn, what)
    optimizer = {"sgd": lambda p: torch.optim.SGD(p, lr=0.01), "momentum": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
                 "adamw": lambda p: torch.optim.AdamW(p, lr=0.001)}[what[1]](model.parameters())
    made = samples(torch, shape, vocab)
    rows = 768 if "workers" in what else 300 if "ragged" in what else 256  # at 128, workers still have all they prefetch

    def fixed():
        for _ in range(4):
            yield torch.randint(vocab, (batch, shape[0] + 1)) if vocab else [torch.randn(batch, *shape), torch.randint(10, (batch,))]

    def loader(n):
        return torch.utils.data.DataLoader(made(n), batch_size=batch, shuffle=True, num_workers=2 if "workers" in what else 0)

    def loss_of(data):
        x, y = (data[:, :-1], data[:, 1:]) if vocab else data
        with torch.autocast("cpu", torch.bfloat16) if "autocast" in what else contextlib.nullcontext():
            out = model(x)
            return nn.functional.cross_entropy(out.flatten(0, 1), y.flatten()) if vocab else nn.functional.cross_entropy(out, y)

    every = 2 if "accumulate" in what else 1
    for _ in range(2):
        model.train()
        for i, data in enumerate(loader(rows) if "loader" in what else fixed()):
            (loss_of(data) / every).backward()
            if (i + 1) % every == 0:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
        if "eval" in what:
            model.eval()
            with torch.no_grad():
                print(sum(float(loss_of(data)) for data in loader(rows // 2)))


# ---- the table ----

def record(a, case: str, batch: int) -> str:
    path = os.path.join(a.out, f"{case.replace(' ', '-').replace(',', '')}-{batch}.tide")
    if not (a.keep and os.path.exists(path)):
        subprocess.run([a.program, "run", "-o", path, "--", sys.executable, "-W", "ignore", os.path.abspath(__file__), "--train", case, "--batch", str(batch)],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return path


def peak(a, path: str) -> int:
    return json.loads(subprocess.run([a.program, "peak", path, "--device", "cpu", "--json"], check=True, capture_output=True).stdout)["peak_bytes"]


def ask(a, case: str) -> tuple[dict, dict[int, int]]:
    files = {n: record(a, case, n) for n in (SMALL, LARGE, *TOLD)}
    at = [w for n in TOLD for w in ("--at", str(n))]
    told = json.loads(subprocess.run([a.program, "predict", f"{SMALL}={files[SMALL]}", f"{LARGE}={files[LARGE]}", *at, "--device", "cpu", "--json"],
                                     check=True, capture_output=True).stdout)
    return told, {n: peak(a, files[n]) for n in files}


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("out", nargs="?", default="/tmp/tidemark-predict")
    p.add_argument("--program", default="tidemark")
    p.add_argument("--only", default="", help="cases, with ; between them")
    p.add_argument("--keep", action="store_true", help="use the recordings that are there")
    p.add_argument("--train", choices=list(CASES))
    p.add_argument("--batch", type=int, default=SMALL)
    a = p.parse_args()
    if a.train:
        train(a.train, a.batch)
        return
    os.makedirs(a.out, exist_ok=True)
    print(f"{'training':30} {'by':>7} {'same':>8} {'for each':>9} {'more':>6} {'alone':>6}" + "".join(f" {'real ' + str(n):>12} {'off':>9}" for n in TOLD))
    for case in a.only.split(";") if a.only else CASES:
        told, real = ask(a, case)
        rest = told["allocations"]
        peaks = {r["size"]: r["peak_bytes"] for r in told["sizes"]}
        print(f"{case:30} {told['sizes'][-1]['by']:>7} {rest['same']:8,} {rest['for_each']:9,} {rest['more_in_one']:6,} {rest['in_one_alone']:6,}"
              + "".join(f" {real[n]:12,} {'0' if peaks[n] == real[n] else f'{100 * (peaks[n] / real[n] - 1):+.3f}%':>9}" for n in TOLD), flush=True)


if __name__ == "__main__":
    main()
