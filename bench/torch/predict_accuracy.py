# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Measures peaks of real training runs on a GPU, to compare predictions with.

    python predict_accuracy.py                      run every configuration, write $OUT/predict_measured.json
    python predict_accuracy.py --half development   one part only (or held-out, blind, blind2 ... blind4)
    python predict_accuracy.py train gpt-s-f32      one configuration, as an ordinary training script
    python predict_accuracy.py compare FILE         blind predictions (predict_blind*.json) against FILE, as a table
    python predict_accuracy.py sizes --out DIR      snapshots of an LSTM and a ResNet at five batches, for predictions from recordings

`train` does not use Tidemark: it is the script that `tidemark predict ... -- python predict_accuracy.py train NAME`
runs unchanged. Each configuration runs in a separate process. The development half also gets the allocator's history
(sizes of allocations and frees, in order), from a second run, to look into where a prediction is off. The part `blind` was
predicted and the prediction kept before anything was measured; four of its processes share the GPU at a time, and each keeps its
history in $OUT/blind_histories.json.gz. `--half blind2` to `blind4` are such parts, too: blind3.jsonl, blind3_histories.json.gz.
"""
from __future__ import annotations

import argparse
import concurrent.futures
import gzip
import json
import os
import subprocess
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

# ---- models ----


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, kv_heads: int | None = None, bias: bool = True) -> None:
        super().__init__()
        self.heads, self.kv, self.head = heads, kv_heads or heads, width // heads
        self.q = nn.Linear(width, width, bias=bias)
        self.k = nn.Linear(width, self.kv * self.head, bias=bias)
        self.v = nn.Linear(width, self.kv * self.head, bias=bias)
        self.o = nn.Linear(width, width, bias=bias)

    def forward(self, x, causal=True, rope=None):
        b, t, c = x.shape
        q = self.q(x).view(b, t, self.heads, self.head).transpose(1, 2)
        k = self.k(x).view(b, t, self.kv, self.head).transpose(1, 2)
        v = self.v(x).view(b, t, self.kv, self.head).transpose(1, 2)
        if rope is not None:
            q, k = rotate(q, rope), rotate(k, rope)
        if self.kv != self.heads:
            k = k.repeat_interleave(self.heads // self.kv, 1)
            v = v.repeat_interleave(self.heads // self.kv, 1)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return self.o(y.transpose(1, 2).reshape(b, t, c))


def rotate(x, rope):
    cos, sin = rope
    a, b = x.chunk(2, -1)
    return x * cos.to(x.dtype) + torch.cat((-b, a), -1) * sin.to(x.dtype)


class Block(nn.Module):
    """GPT's."""

    def __init__(self, width: int, heads: int, dropout: float = 0.0, causal: bool = True) -> None:
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout))
        self.causal = causal

    def forward(self, x):
        x = x + self.attention(self.n1(x), self.causal)
        return x + self.mlp(self.n2(x))


class GPT(nn.Module):
    def __init__(self, width: int, layers: int, heads: int, tokens: int, vocab: int = 50257, dropout: float = 0.0, ckpt: bool = False) -> None:
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, width), nn.Embedding(tokens, width)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)
        self.head.weight = self.tok.weight
        self.ckpt = ckpt

    def forward(self, ids, targets):
        x = self.drop(self.tok(ids) + self.pos(torch.arange(ids.shape[1], device=ids.device)))
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=False) if self.ckpt else b(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        y = x.float()
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * self.weight


class LlamaBlock(nn.Module):
    def __init__(self, width: int, heads: int, kv: int, hidden: int) -> None:
        super().__init__()
        self.n1, self.n2 = RMSNorm(width), RMSNorm(width)
        self.attention = Attention(width, heads, kv, bias=False)
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x, cos, sin):
        x = x + self.attention(self.n1(x), True, (cos, sin))
        y = self.n2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, width: int, layers: int, heads: int, kv: int, hidden: int, tokens: int, vocab: int = 32000, ckpt: bool = False) -> None:
        super().__init__()
        self.tok = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, kv, hidden) for _ in range(layers))
        self.norm = RMSNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)
        angles = torch.outer(torch.arange(tokens).float(), 1e4 ** (-torch.arange(0, width // heads, 2).float() / (width // heads)))
        angles = torch.cat((angles, angles), -1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        self.ckpt = ckpt

    def forward(self, ids, targets):
        x = self.tok(ids)
        for b in self.blocks:
            x = checkpoint(b, x, self.cos, self.sin, use_reentrant=False) if self.ckpt else b(x, self.cos, self.sin)
        logits = self.head(self.norm(x)).float()
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


class ViT(nn.Module):
    def __init__(self, width: int = 768, layers: int = 12, heads: int = 12, patch: int = 16, size: int = 224, ckpt: bool = False) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, width, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        self.pos = nn.Parameter(torch.zeros(1, (size // patch) ** 2 + 1, width))
        self.blocks = nn.ModuleList(Block(width, heads, 0.1, causal=False) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)
        self.ckpt = ckpt

    def forward(self, images, targets):
        x = self.patch(images).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls.expand(x.shape[0], -1, -1), x), 1) + self.pos
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=False) if self.ckpt else b(x)
        return F.cross_entropy(self.head(self.norm(x)[:, 0]), targets)


class Bottleneck(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int, into: int) -> None:
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(into, inner, 1, bias=False), nn.BatchNorm2d(inner)
        self.c2, self.b2 = nn.Conv2d(inner, inner, 3, stride, 1, bias=False), nn.BatchNorm2d(inner)
        self.c3, self.b3 = nn.Conv2d(inner, outer, 1, bias=False), nn.BatchNorm2d(outer)
        self.relu = nn.ReLU(inplace=True)
        self.down = None
        if stride != 1 or into != outer:
            self.down = nn.Sequential(nn.Conv2d(into, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))

    def forward(self, x):
        y = self.relu(self.b1(self.c1(x)))
        y = self.relu(self.b2(self.c2(y)))
        y = self.b3(self.c3(y))
        y += x if self.down is None else self.down(x)
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self, layers: tuple[int, ...] = (3, 4, 6, 3)) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        into, stages = 64, []
        for i, n in enumerate(layers):
            inner = 64 << i
            stages.append(nn.Sequential(*[Bottleneck(inner, inner * 4, 2 if i and not k else 1, into if not k else inner * 4) for k in range(n)]))
            into = inner * 4
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(into, 1000)

    def forward(self, images, targets):
        x = self.stages(self.stem(images)).mean((2, 3))
        return F.cross_entropy(self.head(x), targets)


def double_conv(a: int, b: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
                         nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, base: int = 64, depth: int = 4) -> None:
        super().__init__()
        w = [base << i for i in range(depth + 1)]
        self.into = double_conv(3, w[0])
        self.down = nn.ModuleList(double_conv(w[i], w[i + 1]) for i in range(depth))
        self.up = nn.ModuleList(nn.ConvTranspose2d(w[i + 1], w[i], 2, 2) for i in reversed(range(depth)))
        self.join = nn.ModuleList(double_conv(2 * w[i], w[i]) for i in reversed(range(depth)))
        self.head = nn.Conv2d(w[0], 2, 1)

    def forward(self, images, targets):
        x, skips = self.into(images), []
        for d in self.down:
            skips.append(x)
            x = d(F.max_pool2d(x, 2))
        for u, j in zip(self.up, self.join):
            x = j(torch.cat((skips.pop(), u(x)), 1))
        return F.cross_entropy(self.head(x), targets)


class LSTM(nn.Module):
    kind = nn.LSTM

    def __init__(self, width: int = 1024, layers: int = 2, vocab: int = 10000, dropout: float = 0.0) -> None:
        super().__init__()
        self.tok = nn.Embedding(vocab, width)
        self.rnn = self.kind(width, width, layers, batch_first=True, dropout=dropout)
        self.head = nn.Linear(width, vocab)

    def forward(self, ids, targets):
        y, _ = self.rnn(self.tok(ids))
        logits = self.head(y)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


class GRU(LSTM):
    kind = nn.GRU


class RNN(LSTM):
    kind = nn.RNN


class ConvBlock(nn.Module):
    """ConvNeXt's: a depthwise convolution, then two linear layers over channels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width,), 1e-6))

    def forward(self, x):
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.scale * self.down(F.gelu(self.up(y)))
        return x + y.permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    def __init__(self, widths: tuple[int, ...] = (96, 192, 384, 768), layers: tuple[int, ...] = (3, 3, 9, 3)) -> None:
        super().__init__()
        into, parts = 3, []
        for i, (w, n) in enumerate(zip(widths, layers)):
            parts += [nn.Conv2d(into, w, 2 if i else 4, 2 if i else 4), *[ConvBlock(w) for _ in range(n)]]
            into = w
        self.body, self.norm, self.head = nn.Sequential(*parts), nn.LayerNorm(into), nn.Linear(into, 1000)

    def forward(self, images, targets):
        return F.cross_entropy(self.head(self.norm(self.body(images).mean((2, 3)))), targets)


# ---- configurations ----

GPT_S = dict(width=768, layers=12, heads=12, tokens=512)
GPT_M = dict(width=1024, layers=24, heads=16, tokens=1024)
GPT_L = dict(width=1280, layers=36, heads=20, tokens=1024)
LLAMA_S = dict(width=1024, layers=12, heads=16, kv=16, hidden=2816, tokens=1024)
LLAMA_M = dict(width=2048, layers=22, heads=32, kv=4, hidden=5632, tokens=1024)  # TinyLlama's 1.1 billion
LLAMA_L = dict(width=2560, layers=32, heads=32, kv=8, hidden=6912, tokens=1024)

# name: (half, model, its arguments, input, batch, options). Options: amp (f16 has a scaler), ckpt, opt, fused, foreach, accum, clip, set_none, last, compile
D, H, B, B2, B3, B4 = "development", "held-out", "blind", "blind2", "blind3", "blind4"
CONFIGS = {
    "gpt-s-f32": (D, GPT, GPT_S, "text", 8, dict(opt="adamw")),
    "gpt-s-bf16-fused": (D, GPT, GPT_S, "text", 16, dict(amp="bf16", opt="adamw", fused=True)),
    "gpt-m-bf16-ckpt": (D, GPT, dict(GPT_M, ckpt=True), "text", 8, dict(amp="bf16", opt="adamw", ckpt=True)),
    "llama-s-f32": (D, Llama, LLAMA_S, "text", 4, dict(opt="adamw")),
    "llama-s-bf16": (D, Llama, LLAMA_S, "text", 16, dict(amp="bf16", opt="adamw")),
    "llama-m-bf16-ckpt": (D, Llama, dict(LLAMA_M, ckpt=True), "text", 8, dict(amp="bf16", opt="adamw", fused=True, clip=True)),
    "resnet50-f32-sgd": (D, ResNet, {}, "image", 32, dict(opt="sgd")),
    "resnet50-bf16": (D, ResNet, {}, "image", 64, dict(amp="bf16", opt="sgd")),
    "unet-f16": (D, UNet, {}, "mask", 4, dict(amp="f16", opt="adamw")),
    "lstm-f32": (D, LSTM, {}, "short", 32, dict(opt="adamw")),
    "vit-b-bf16": (D, ViT, {}, "image", 32, dict(amp="bf16", opt="adamw")),
    "gpt-s-sgd-accum": (D, GPT, dict(GPT_S, dropout=0.1), "text", 8, dict(opt="sgd", accum=2)),
    "gpt-s-bf16": (H, GPT, GPT_S, "text", 24, dict(amp="bf16", opt="adamw")),
    "gpt-m-f32-fused": (H, GPT, dict(GPT_M, dropout=0.1), "text", 4, dict(opt="adamw", fused=True)),
    "gpt-l-bf16": (H, GPT, GPT_L, "text", 4, dict(amp="bf16", opt="adamw")),
    "llama-s-f32-ckpt": (H, Llama, dict(LLAMA_S, ckpt=True), "text", 8, dict(opt="adamw")),
    "llama-m-bf16": (H, Llama, LLAMA_M, "text", 6, dict(amp="bf16", opt="adamw", fused=True)),
    "llama-l-bf16-ckpt": (H, Llama, dict(LLAMA_L, ckpt=True), "text", 4, dict(amp="bf16", opt="adamw", clip=True)),
    "resnet50-f32-adamw": (H, ResNet, {}, "image", 48, dict(opt="adamw")),
    "resnet101-bf16-sgd": (H, ResNet, dict(layers=(3, 4, 23, 3)), "image", 48, dict(amp="bf16", opt="sgd")),
    "unet-f32": (H, UNet, dict(base=48), "mask", 6, dict(opt="sgd")),
    "lstm-bf16": (H, LSTM, dict(width=1536, layers=3), "short", 48, dict(amp="bf16", opt="adamw")),
    "vit-b-f32-sgd": (H, ViT, {}, "image", 48, dict(opt="sgd")),
    "vit-l-bf16-ckpt": (H, ViT, dict(width=1024, layers=24, heads=16, ckpt=True), "image", 64, dict(amp="bf16", opt="adamw", fused=True)),
    "gpt-xs-f32-sgd": (B, GPT, dict(width=512, layers=8, heads=8, tokens=256), "text", 32, dict(opt="sgd")),
    "gpt-896-bf16-fused": (B, GPT, dict(width=896, layers=16, heads=14, tokens=768, dropout=0.1), "text", 6, dict(amp="bf16", opt="adamw", fused=True)),
    "gpt-xl-bf16-ckpt": (B, GPT, dict(width=1600, layers=48, heads=25, tokens=512, ckpt=True), "text", 4, dict(amp="bf16", opt="adamw")),
    "llama-768-f32-fused": (B, Llama, dict(width=768, layers=10, heads=12, kv=4, hidden=2048, tokens=512), "text", 16, dict(opt="adamw", fused=True, clip=True)),
    "llama-1536-bf16-ckpt": (B, Llama, dict(width=1536, layers=20, heads=24, kv=8, hidden=4096, tokens=2048, ckpt=True), "text", 4, dict(amp="bf16", opt="adamw")),
    "llama-2304-bf16-sgd": (B, Llama, dict(width=2304, layers=24, heads=36, kv=6, hidden=6144, tokens=512), "text", 8, dict(amp="bf16", opt="sgd")),
    "resnet26-f32-sgd": (B, ResNet, dict(layers=(2, 2, 2, 2)), "image", 96, dict(opt="sgd")),
    "resnet152-bf16-fused": (B, ResNet, dict(layers=(3, 8, 36, 3)), "image", 24, dict(amp="bf16", opt="adamw", fused=True)),
    "unet-32x5-bf16": (B, UNet, dict(base=32, depth=5), "mask", 8, dict(amp="bf16", opt="adamw")),
    "unet-64x3-f32": (B, UNet, dict(base=64, depth=3), "mask", 3, dict(opt="adamw")),
    "lstm-768-f32-sgd": (B, LSTM, dict(width=768, layers=1), "short", 64, dict(opt="sgd")),
    "lstm-2048-bf16": (B, LSTM, dict(width=2048, layers=2), "short", 40, dict(amp="bf16", opt="adamw", fused=True)),
    "vit-s-bf16-fused": (B, ViT, dict(width=384, layers=12, heads=6), "image", 128, dict(amp="bf16", opt="adamw", fused=True)),
    "vit-32-f32-ckpt": (B, ViT, dict(patch=32, ckpt=True), "image", 64, dict(opt="adamw")),
    "gpt-640-f32-ckpt": (B2, GPT, dict(width=640, layers=10, heads=10, tokens=384, ckpt=True), "text", 20, dict(opt="adamw")),
    "gpt-1152-f16-sgd": (B2, GPT, dict(width=1152, layers=18, heads=18, tokens=512, dropout=0.1), "text", 6, dict(amp="f16", opt="sgd", clip=True)),
    "gpt-1408-bf16-fused": (B2, GPT, dict(width=1408, layers=30, heads=22, tokens=640), "text", 5, dict(amp="bf16", opt="adamw", fused=True)),
    "gpt-960-bf16-accum": (B2, GPT, dict(width=960, layers=14, heads=15, tokens=1024, dropout=0.1, ckpt=True), "text", 4, dict(amp="bf16", opt="adamw", accum=3, clip=True)),
    "llama-640-bf16": (B2, Llama, dict(width=640, layers=16, heads=10, kv=5, hidden=1792, tokens=768), "text", 12, dict(amp="bf16", opt="adamw")),
    "llama-1280-f32-ckpt": (B2, Llama, dict(width=1280, layers=14, heads=20, kv=4, hidden=3456, tokens=640, ckpt=True), "text", 6, dict(opt="sgd")),
    "llama-1792-bf16-fused": (B2, Llama, dict(width=1792, layers=26, heads=28, kv=7, hidden=4864, tokens=896), "text", 5, dict(amp="bf16", opt="adamw", fused=True, accum=2)),
    "resnet38-bf16-adamw": (B2, ResNet, dict(layers=(2, 3, 4, 3)), "image", 80, dict(amp="bf16", opt="adamw")),
    "resnet77-f32-fused": (B2, ResNet, dict(layers=(3, 4, 15, 3)), "image", 40, dict(opt="sgd", fused=True)),
    "resnet50-f16-sgd": (B2, ResNet, {}, "image", 56, dict(amp="f16", opt="sgd")),
    "unet-32x4-f32-sgd": (B2, UNet, dict(base=32), "mask", 10, dict(opt="sgd")),
    "unet-64x4-bf16-fused": (B2, UNet, {}, "mask", 6, dict(amp="bf16", opt="adamw", fused=True)),
    "lstm-1280-f32": (B2, LSTM, dict(width=1280, layers=3), "short", 24, dict(opt="adamw")),
    "lstm-512-bf16-sgd": (B2, LSTM, dict(width=512), "short", 96, dict(amp="bf16", opt="sgd")),
    "vit-640-f32-fused": (B2, ViT, dict(width=640, layers=10, heads=10), "image", 40, dict(opt="sgd", fused=True)),
    "vit-512-32-bf16-ckpt": (B2, ViT, dict(width=512, layers=8, heads=8, patch=32, ckpt=True), "image", 192, dict(amp="bf16", opt="adamw")),
    "gpt-704-f32-fused": (B3, GPT, dict(width=704, layers=9, heads=11, tokens=320), "text", 14, dict(opt="adamw", fused=True)),
    "gpt-1088-bf16-ckpt": (B3, GPT, dict(width=1088, layers=20, heads=17, tokens=896, ckpt=True), "text", 5, dict(amp="bf16", opt="adamw", clip=True)),
    "gpt-1472-bf16-sgd": (B3, GPT, dict(width=1472, layers=28, heads=23, tokens=384), "text", 7, dict(amp="bf16", opt="sgd")),
    "gpt-832-f16-clip": (B3, GPT, dict(width=832, layers=11, heads=13, tokens=640, dropout=0.1), "text", 9, dict(amp="f16", opt="adamw", clip=True)),
    "llama-896-f32-sgd": (B3, Llama, dict(width=896, layers=12, heads=14, kv=7, hidden=2432, tokens=448), "text", 10, dict(opt="sgd")),
    "llama-1408-bf16-ckpt": (B3, Llama, dict(width=1408, layers=18, heads=22, kv=11, hidden=3840, tokens=1280, ckpt=True), "text", 3, dict(amp="bf16", opt="adamw", fused=True, accum=2)),
    "llama-2176-bf16": (B3, Llama, dict(width=2176, layers=20, heads=34, kv=17, hidden=5888, tokens=768), "text", 4, dict(amp="bf16", opt="adamw")),
    "resnet50-f32-fused": (B3, ResNet, {}, "image", 72, dict(opt="adamw", fused=True)),
    "resnet86-bf16-adamw": (B3, ResNet, dict(layers=(3, 4, 18, 3)), "image", 36, dict(amp="bf16", opt="adamw")),
    "resnet35-f32-sgd": (B3, ResNet, dict(layers=(2, 4, 3, 2)), "image", 60, dict(opt="sgd")),
    "unet-40x4-f32": (B3, UNet, dict(base=40), "mask", 5, dict(opt="adamw")),
    "unet-56x3-bf16-sgd": (B3, UNet, dict(base=56, depth=3), "mask", 7, dict(amp="bf16", opt="sgd")),
    "lstm-896-f32-fused": (B3, LSTM, dict(width=896), "short", 56, dict(opt="adamw", fused=True)),
    "lstm-1152-bf16-clip": (B3, LSTM, dict(width=1152, layers=3), "short", 36, dict(amp="bf16", opt="sgd", clip=True)),
    "vit-576-bf16-fused": (B3, ViT, dict(width=576, layers=11, heads=9), "image", 72, dict(amp="bf16", opt="adamw", fused=True)),
    "vit-896-f32-ckpt": (B3, ViT, dict(width=896, layers=9, heads=14, ckpt=True), "image", 36, dict(opt="sgd")),
    # beyond the six families: rules for these were never measured
    "more-resnet50-bf16-last": (B3, ResNet, {}, "image", 40, dict(amp="bf16", opt="sgd", last=True)),
    "more-convnext-f32": (B3, ConvNeXt, {}, "image", 24, dict(opt="adamw")),
    "more-convnext-bf16": (B3, ConvNeXt, {}, "image", 48, dict(amp="bf16", opt="adamw", fused=True)),
    "more-gru-768-f32": (B3, GRU, dict(width=768), "short", 48, dict(opt="adamw")),
    "more-gpt-768-bf16-compiled": (B3, GPT, dict(width=768, layers=12, heads=12, tokens=512), "text", 12, dict(amp="bf16", opt="adamw", fused=True, compile=True)),
    "more-llama-1024-bf16-compiled": (B3, Llama, dict(width=1024, layers=10, heads=16, kv=4, hidden=2816, tokens=768), "text", 6, dict(amp="bf16", opt="adamw", compile=True)),
    # after rules for patches, GRUs and RNNs were probed
    "gpt-576-bf16": (B4, GPT, dict(width=576, layers=8, heads=9, tokens=448), "text", 11, dict(amp="bf16", opt="adamw")),
    "llama-960-f32-fused": (B4, Llama, dict(width=960, layers=9, heads=15, kv=5, hidden=2560, tokens=384), "text", 6, dict(opt="adamw", fused=True)),
    "resnet50-bf16-fused": (B4, ResNet, {}, "image", 52, dict(amp="bf16", opt="adamw", fused=True)),
    "unet-32x4-bf16": (B4, UNet, dict(base=32), "mask", 9, dict(amp="bf16", opt="adamw")),
    "vit-896-f32": (B4, ViT, dict(width=896, layers=7, heads=14), "image", 44, dict(opt="sgd")),
    "vit-704-f32-ckpt": (B4, ViT, dict(width=704, layers=10, heads=11, ckpt=True), "image", 60, dict(opt="adamw")),
    "vit-1088-f32-ckpt": (B4, ViT, dict(width=1088, layers=8, heads=17, ckpt=True), "image", 28, dict(opt="sgd")),
    "lstm-704-f32": (B4, LSTM, dict(width=704, layers=3), "short", 40, dict(opt="adamw")),
    "lstm-1280-bf16-sgd": (B4, LSTM, dict(width=1280, layers=2), "short", 52, dict(amp="bf16", opt="sgd")),
    "gru-960-f32": (B4, GRU, dict(width=960, layers=3), "short", 44, dict(opt="adamw")),
    "gru-1152-bf16": (B4, GRU, dict(width=1152, layers=2), "short", 60, dict(amp="bf16", opt="adamw", fused=True)),
    "rnn-832-f32-sgd": (B4, RNN, dict(width=832, layers=2), "short", 72, dict(opt="sgd")),
    "rnn-320-f32": (B4, RNN, dict(width=320, layers=2), "short", 96, dict(opt="adamw")),
}


def batch_of(kind: str, n: int, kw: dict, device: str):
    if kind == "text":
        ids = torch.randint(0, 32000, (n, kw["tokens"] + 1))
        return ids[:, :-1].contiguous().to(device), ids[:, 1:].contiguous().to(device)
    if kind == "short":
        ids = torch.randint(0, 10000, (n, 129))
        return ids[:, :-1].contiguous().to(device), ids[:, 1:].contiguous().to(device)
    images = torch.randn(n, 3, 224, 224) if kind == "image" else torch.randn(n, 3, 256, 256)
    targets = torch.randint(0, 1000, (n,)) if kind == "image" else torch.randint(0, 2, (n, 256, 256))
    return images.to(device), targets.to(device)


def train(name: str, steps: int = 3, batch: int = 0, report=None) -> None:
    _, cls, kw, kind, n, o = CONFIGS[name]
    device = "cuda"
    torch.manual_seed(0)
    model = cls(**kw).to(device, memory_format=torch.channels_last if o.get("last") else torch.preserve_format)
    run = torch.compile(model) if o.get("compile") else model
    params = list(model.parameters())
    if o["opt"] == "sgd":
        optimizer = torch.optim.SGD(params, lr=1e-3, momentum=0.9, fused=o.get("fused"))
    else:
        optimizer = torch.optim.AdamW(params, lr=1e-4, fused=o.get("fused"))
    amp = {"bf16": torch.bfloat16, "f16": torch.float16}.get(o.get("amp", ""))
    scaler = torch.amp.GradScaler("cuda", enabled=amp is torch.float16)
    for _ in range(steps):
        for _ in range(o.get("accum", 1)):
            x, y = batch_of(kind, batch or n, kw, device)
            if o.get("last"):
                x = x.to(memory_format=torch.channels_last)
            with torch.autocast("cuda", dtype=amp or torch.bfloat16, enabled=amp is not None):
                loss = run(x, y) / o.get("accum", 1)
            scaler.scale(loss).backward()
        if o.get("clip"):
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(params, 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        if report:
            report(loss)
    if not report:
        print(f"{name}: loss {loss.item():.3f}")


# ---- measuring ----


def history(name: str, path: str) -> None:
    """Allocations and frees of one run in order: [action, size, number of the address]."""
    torch.cuda.memory._record_memory_history(context=None, max_entries=2_000_000)
    train(name, report=lambda loss: None)
    torch.cuda.synchronize()
    events = torch.cuda.memory._snapshot()["device_traces"][0]
    base = min((e["addr"] for e in events), default=0)
    with gzip.open(path, "wt") as f:
        json.dump([[e["action"], e["size"], (e["addr"] - base) // 512] for e in events], f)


def measure(name: str, keep: bool = False) -> dict:
    after = []

    def report(loss):
        torch.cuda.synchronize()
        after.append([torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved(), torch.cuda.memory_allocated()])

    free, total = torch.cuda.mem_get_info()
    if keep:
        torch.cuda.memory._record_memory_history(context=None, max_entries=2_000_000)
    train(name, report=report)
    stats = torch.cuda.memory_stats()
    half, cls, kw, kind, n, o = CONFIGS[name]
    with torch.device("meta"):
        parameters = sum(p.numel() for p in cls(**kw).parameters())
    return {"name": name, "half": half, "batch": n, "options": o, "parameters": parameters,
            "peak_allocated": torch.cuda.max_memory_allocated(), "peak_reserved": torch.cuda.max_memory_reserved(),
            "peak_requested": stats.get("requested_bytes.all.peak"), "peak_active": stats.get("active_bytes.all.peak"),
            "after_step": after, "free_before": free, "total": total, "retries": stats.get("num_alloc_retries"),
            "torch": torch.__version__, "device": torch.cuda.get_device_name(0), **({"history": events(name)} if keep else {})}


def one(args: list[str], seconds: float | None = None) -> dict:
    p = subprocess.run([sys.executable, os.path.abspath(__file__), *args], capture_output=True, text=True, timeout=seconds)
    if p.returncode:
        return {"name": args[1], "error": (p.stderr.strip().splitlines() or ["?"])[-1]}
    return json.loads(p.stdout.strip().splitlines()[-1])


def events(name: str) -> list:
    """Returns the allocator's history as kept by history()."""
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    base = min((e["addr"] for e in trace), default=0)
    return [[e["action"], e["size"], (e["addr"] - base) // 512] for e in trace]


def run_blind(out: str, half: str, seconds: float) -> None:
    """Every configuration of a blind part with its history, five at a time; a line of JSON each. Those that compile begin first: they take longest.
    Processes that are not done after this many seconds are ended and noted as errors."""
    names = sorted((n for n, c in CONFIGS.items() if c[0] == half), key=lambda n: "compile" not in CONFIGS[n][5])
    stem, until, histories = "blind_measured" if half == B else half, time.monotonic() + seconds, {}
    os.makedirs(out, exist_ok=True)

    def measured(name: str) -> dict:
        try:
            return one(["measure", name, "--history"], max(until - time.monotonic(), 1))
        except subprocess.TimeoutExpired:
            return {"name": name, "error": f"not done after {seconds:.0f} s"}

    with concurrent.futures.ThreadPoolExecutor(5) as pool, open(os.path.join(out, stem + ".jsonl"), "w", encoding="utf-8") as f:
        for done in concurrent.futures.as_completed([pool.submit(measured, n) for n in names]):
            got = done.result()
            histories[got["name"]] = got.pop("history", None)
            print(json.dumps(got), flush=True)
            f.write(json.dumps(got) + "\n")
            f.flush()
    with gzip.open(os.path.join(out, half + "_histories.json.gz"), "wt") as f:
        json.dump(histories, f)


SIZES = {"lstm-f32": (8, 16, 32, 64, 128), "resnet50-f32-sgd": (8, 16, 32, 64, 128)}


def run_sizes(out: str) -> None:
    """Memory snapshots (with Python stacks) of two configurations at five batches, for `tidemark predict N=FILE...`: sizes.tar."""
    import tarfile
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        running = [subprocess.Popen([sys.executable, os.path.abspath(__file__), "snapshot", name, os.path.join(folder, f"{name}-{n}.pickle"), "--batch", str(n)])
                   for name, sizes in SIZES.items() for n in sizes]
        failed = [p.wait() for p in running]
        with tarfile.open(os.path.join(out, "sizes.tar.gz"), "w:gz") as t:
            t.add(folder, "sizes")
    print(f"snapshots: {failed.count(0)} of {len(failed)}")


def snapshot(name: str, path: str, batch: int) -> None:
    torch.cuda.memory._record_memory_history(context="all", stacks="python", max_entries=1_000_000)
    train(name, batch=batch, report=lambda loss: None)
    torch.cuda.synchronize()
    torch.cuda.memory._dump_snapshot(path)
    with open(path + ".json", "w", encoding="utf-8") as f:
        json.dump({"name": name, "batch": batch, "peak_allocated": torch.cuda.max_memory_allocated(), "peak_reserved": torch.cuda.max_memory_reserved()}, f)


def run_all(half: str | None, only: list[str], out: str) -> None:
    names = [n for n, c in CONFIGS.items() if (not half or c[0] == half) and (not only or n in only)]
    names = [n for n in names if CONFIGS[n][0] not in (B, B2, B3, B4)]
    device = torch.cuda.get_device_properties(0)
    result = {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(), "python": sys.version.split()[0],
              "device": device.name, "total_memory": device.total_memory, "sm": f"{device.major}.{device.minor}",
              "multi_processors": device.multi_processor_count, "configurations": []}
    os.makedirs(out, exist_ok=True)
    for name in names:
        got = one(["measure", name])
        if CONFIGS[name][0] == D and "error" not in got:
            one(["history", name, os.path.join(out, f"history-{name}.json.gz")])
        result["configurations"].append(got)
        print(name, got.get("error") or f"allocated {got['peak_allocated'] / 2**20:.1f} MiB, reserved {got['peak_reserved'] / 2**20:.1f} MiB", flush=True)
        with open(os.path.join(out, "predict_measured.json"), "w") as f:  # after each: what was measured is not lost
            json.dump(result, f, indent=1)


def compare(path: str) -> None:
    told, here = {}, os.path.dirname(os.path.abspath(__file__))
    for name in "predict_blind.json", "predict_blind2.json", "predict_blind3.json", "predict_blind4.json":
        with open(os.path.join(here, name), encoding="utf-8") as f:
            told.update(json.load(f)["predicted"])
    with open(path, encoding="utf-8") as f:
        rows = [json.loads(line) for line in f if line.strip()]
    within = [0, 0]
    print("| configuration | allocated, predicted | measured | off | reserved, predicted | measured | off |\n|---|---|---|---|---|---|---|")
    for r in rows:
        if "error" in r:
            print(f"| {r['name']} | | {r['error']} | | | | |")
            continue
        cells = []
        for i, (key, most) in enumerate((("allocated", 1), ("reserved", 3))):
            a, b = told[r["name"]][f"peak_{key}_bytes"], r[f"peak_{key}"]
            off = 100 * (a / b - 1)
            within[i] += abs(off) <= most
            cells += [f"{a / 2**20:,.1f}", f"{b / 2**20:,.1f}", f"{off:+.2f} %"]
        if "most_reserved_bytes" in told[r["name"]]:
            low, high = told[r["name"]]["least_reserved_bytes"], told[r["name"]]["most_reserved_bytes"]
            held = "" if low == high else f" ({low / 2**20:,.0f} to {high / 2**20:,.0f}{'' if low <= r['peak_reserved'] <= high else ', missed'})"
            cells[3] += held
        print(f"| {r['name']} | {' | '.join(cells)} |")
    print(f"\nAllocated: {within[0]} of {len(rows)} within 1 %. Reserved: {within[1]} of {len(rows)} within 3 %.")


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("what", nargs="?", choices=("train", "measure", "history", "snapshot", "sizes", "list", "compare"))
    p.add_argument("name", nargs="?")
    p.add_argument("path", nargs="?")
    p.add_argument("--half", choices=(D, H, B, B2, B3, B4))
    p.add_argument("--history", action="store_true", help="measure: with the allocator's history")
    p.add_argument("--only", action="append", default=[])
    p.add_argument("--steps", type=int, default=3)
    p.add_argument("--batch", type=int, default=0, help="instead of the configuration's")
    p.add_argument("--seconds", type=float, default=230, help="blind parts: end what is not done by then")
    p.add_argument("--out", default=os.environ.get("OUT", "."))
    a = p.parse_args()
    if a.what in ("train", "measure", "history", "snapshot") and a.name not in CONFIGS:
        p.error(f"no configuration {a.name}")
    if a.what == "compare":
        compare(a.name)
    elif a.what == "train":
        train(a.name, a.steps, a.batch)
    elif a.what == "measure":
        print(json.dumps(measure(a.name, a.history)))
    elif a.what == "history":
        history(a.name, a.path)
        print("{}")
    elif a.what == "snapshot":
        snapshot(a.name, a.path, a.batch)
    elif a.what == "list":
        print("\n".join(f"{c[0]:12} {n}" for n, c in CONFIGS.items()))
    elif a.half in (B, B2, B3, B4):
        run_blind(a.out, a.half, a.seconds)
    elif a.what == "sizes":
        run_sizes(a.out)
    else:
        run_all(a.half, a.only, a.out)


if __name__ == "__main__":
    main()
