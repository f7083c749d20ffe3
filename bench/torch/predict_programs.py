# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Programs whose memory is hard to predict: generation, diffusion, volumes, dilated convolutions, padding masks.

    python predict_programs.py run NAME        one program, an ordinary script: `tidemark predict --steps 0 -- python ... run NAME` runs it unchanged
    python predict_programs.py measure NAME    the same on a GPU, with its peaks and the allocator's history
    python predict_programs.py list

`measure` prints one line of JSON. Needs torch, and transformers for the models with its name.
"""
from __future__ import annotations

import json
import math
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


# ---- text ----


def generate(kind: str, batch: int, prompt: int, new: int, dtype: str = "bf16", pad: bool = False, **how) -> None:
    import transformers as tf

    tf.logging.set_verbosity_error()
    if kind == "llama":
        model = tf.LlamaForCausalLM(tf.LlamaConfig(vocab_size=32000, hidden_size=1024, intermediate_size=2816, num_hidden_layers=16, num_attention_heads=16,
                                                   num_key_value_heads=4, max_position_embeddings=4096, bos_token_id=1, eos_token_id=2, pad_token_id=0))
    elif kind == "qwen":
        model = tf.Qwen2ForCausalLM(tf.Qwen2Config(vocab_size=50000, hidden_size=896, intermediate_size=4864, num_hidden_layers=12, num_attention_heads=14,
                                                   num_key_value_heads=2, bos_token_id=1, eos_token_id=2, pad_token_id=0))
    elif kind == "gpt2":
        model = tf.GPT2LMHeadModel(tf.GPT2Config(n_embd=768, n_layer=12, n_head=12, bos_token_id=1, eos_token_id=2, pad_token_id=0))
    else:
        model = tf.T5ForConditionalGeneration(tf.T5Config(vocab_size=32128, d_model=768, d_kv=64, d_ff=2048, num_layers=12, num_heads=12, decoder_start_token_id=0,
                                                          pad_token_id=0, eos_token_id=1, feed_forward_proj="gated-gelu"))
    model = model.to("cuda", DTYPES[dtype]).eval()
    ids = torch.randint(3, 30000, (batch, prompt), device="cuda")
    mask = torch.ones_like(ids)
    if pad:  # each sequence is shorter than the one before
        for i in range(batch):
            mask[i, :i * prompt // (2 * batch)] = 0
    with torch.no_grad():
        out = model.generate(ids, attention_mask=mask, min_new_tokens=new, max_new_tokens=new, **{"do_sample": False, **how})
    print("tokens", tuple(out.shape), file=sys.stderr)


def bert(dtype: str, batch: int, tokens: int, train: bool = False, amp: bool = False, layers: int = 12, width: int = 768) -> None:
    import transformers as tf

    tf.logging.set_verbosity_error()
    model = tf.BertModel(tf.BertConfig(hidden_size=width, num_hidden_layers=layers, num_attention_heads=width // 64, intermediate_size=4 * width)).to("cuda", DTYPES[dtype])
    ids = torch.randint(5, 30000, (batch, tokens), device="cuda")
    lengths = torch.arange(batch, device="cuda") * (tokens // 2) // batch + tokens // 2
    mask = (torch.arange(tokens, device="cuda")[None] < lengths[:, None]).long()
    if not train:
        model.eval()
        with torch.no_grad():
            for _ in range(3):
                model(ids, attention_mask=mask).last_hidden_state.mean(1)
        return
    opt = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for _ in range(3):
        with torch.autocast("cuda", torch.float16, enabled=amp):
            loss = model(ids, attention_mask=mask).last_hidden_state.float().pow(2).mean()
        loss.backward()
        opt.step()
        opt.zero_grad()


def encoder(dtype: str, batch: int, tokens: int, train: bool = False, width: int = 768, layers: int = 12) -> None:
    """nn.TransformerEncoder with a padding mask."""
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, width // 64, 4 * width, batch_first=True, activation="gelu"), layers,
                                  enable_nested_tensor=False).to("cuda", DTYPES[dtype])
    x = torch.randn(batch, tokens, width, device="cuda", dtype=DTYPES[dtype])
    lengths = torch.arange(batch, device="cuda") * (tokens // 2) // batch + tokens // 2
    pad = torch.arange(tokens, device="cuda")[None] >= lengths[:, None]
    if not train:
        model.eval()
        with torch.no_grad():
            for _ in range(3):
                model(x, src_key_padding_mask=pad)
        return
    opt = torch.optim.SGD(model.parameters(), lr=1e-5)
    for _ in range(3):
        model(x, src_key_padding_mask=pad).float().pow(2).mean().backward()
        opt.step()
        opt.zero_grad()


# ---- images ----


class Res(nn.Module):
    def __init__(self, a: int, b: int, time: int) -> None:
        super().__init__()
        self.n1, self.c1 = nn.GroupNorm(32, a), nn.Conv2d(a, b, 3, padding=1)
        self.t = nn.Linear(time, b)
        self.n2, self.c2 = nn.GroupNorm(32, b), nn.Conv2d(b, b, 3, padding=1)
        self.skip = nn.Conv2d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x, t):
        y = self.c1(F.silu(self.n1(x))) + self.t(F.silu(t))[:, :, None, None]
        return self.skip(x) + self.c2(F.silu(self.n2(y)))


class Attend(nn.Module):
    def __init__(self, width: int, context: int) -> None:
        super().__init__()
        self.norm, self.n1, self.n2, self.n3 = nn.GroupNorm(32, width), nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.into, self.out = nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        self.qkv, self.o = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.q, self.kv, self.o2 = nn.Linear(width, width, bias=False), nn.Linear(context or width, 2 * width, bias=False), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)
        self.heads, self.context = width // 40 if width % 40 == 0 else width // 64, context

    def attention(self, q, k, v):
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)

    def forward(self, x, c):
        b, w, h, _ = x.shape
        y = self.into(self.norm(x)).flatten(2).transpose(1, 2)
        y = y + self.o(self.attention(*self.qkv(self.n1(y)).chunk(3, -1)))
        if self.context:
            y = y + self.o2(self.attention(self.q(self.n2(y)), *self.kv(c).chunk(2, -1)))
        a, g = self.up(self.n3(y)).chunk(2, -1)
        y = y + self.down(a * F.gelu(g))
        return x + self.out(y.transpose(1, 2).reshape(b, w, h, -1))


class Diffusion(nn.Module):
    """The U-Net of latent diffusion."""

    def __init__(self, base: int = 320, mult=(1, 2, 4, 4), per: int = 2, attend=(0, 1, 2), channels: int = 4, context: int = 768) -> None:
        super().__init__()
        time = 4 * base
        self.base = base
        self.time = nn.Sequential(nn.Linear(base, time), nn.SiLU(), nn.Linear(time, time))
        self.into = nn.Conv2d(channels, base, 3, padding=1)
        widths, at = [base], base
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        for i, m in enumerate(mult):
            for _ in range(per):
                self.down.append(nn.ModuleList([Res(at, base * m, time), *([Attend(base * m, context)] if i in attend else [])]))
                at = base * m
                widths.append(at)
            if i + 1 < len(mult):
                self.down.append(nn.ModuleList([nn.Conv2d(at, at, 3, 2, 1)]))
                widths.append(at)
        self.mid = nn.ModuleList([Res(at, at, time), Attend(at, context), Res(at, at, time)])
        for i, m in reversed(list(enumerate(mult))):
            for k in range(per + 1):
                more = [Attend(base * m, context)] if i in attend else []
                more += [nn.Conv2d(base * m, base * m, 3, padding=1)] if i and k == per else []
                self.up.append(nn.ModuleList([Res(at + widths.pop(), base * m, time), *more]))
                at = base * m
        self.norm, self.out = nn.GroupNorm(32, at), nn.Conv2d(at, channels, 3, padding=1)

    def one(self, parts, x, t, c):
        for p in parts:
            if isinstance(p, Res):
                x = p(x, t)
            elif isinstance(p, Attend):
                x = p(x, c)
            elif p.stride[0] == 2:
                x = p(x)
            else:
                x = p(F.interpolate(x, scale_factor=2.0, mode="nearest"))
        return x

    def forward(self, x, t, c):
        f = torch.exp(-math.log(10000) * torch.arange(self.base // 2, device=x.device, dtype=torch.float32) / (self.base // 2))
        a = t[:, None].float() * f[None]
        t = self.time(torch.cat((a.cos(), a.sin()), -1).to(x.dtype))
        x = self.into(x)
        kept = [x]
        for parts in self.down:
            x = self.one(parts, x, t, c)
            kept.append(x)
        x = self.one(self.mid, x, t, c)
        for parts in self.up:
            x = self.one(parts, torch.cat((x, kept.pop()), 1), t, c)
        return self.out(F.silu(self.norm(x)))


def sample(dtype: str, batch: int, size: int, guided: bool = False, steps: int = 4, last: bool = False, **how) -> None:
    model = Diffusion(**how).to("cuda", DTYPES[dtype]).eval()
    if last:
        model = model.to(memory_format=torch.channels_last)
    n = how.get("channels", 4)
    x = torch.randn(batch, n, size, size, device="cuda", dtype=DTYPES[dtype])
    c = torch.randn(2 * batch if guided else batch, 77, how.get("context", 768) or 768, device="cuda", dtype=DTYPES[dtype])
    with torch.no_grad():
        for i in range(steps):
            both = torch.cat((x, x)) if guided else x
            noise = model(both, torch.full((both.shape[0],), 1000 - i, device="cuda"), c)
            if guided:
                a, b = noise.chunk(2)
                noise = a + 7.5 * (b - a)
            x = 0.99 * x - 0.01 * noise


def train_diffusion(amp: str, batch: int, size: int, **how) -> None:
    model = Diffusion(**how).cuda()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-5)
    n, context = how.get("channels", 4), how.get("context", 768)
    for _ in range(3):
        x = torch.randn(batch, n, size, size, device="cuda")
        with torch.autocast("cuda", DTYPES[amp], enabled=amp != "f32"):
            y = model(x, torch.zeros(batch, device="cuda"), torch.randn(batch, 77, context or 768, device="cuda"))
            loss = F.mse_loss(y.float(), x)
        loss.backward()
        opt.step()
        opt.zero_grad()


class Decoder(nn.Module):
    """Of an image autoencoder: latents to an image of 8 times the size."""

    def __init__(self, widths=(512, 512, 256, 128)) -> None:
        super().__init__()
        self.into = nn.Conv2d(4, widths[0], 3, padding=1)
        parts, at = [], widths[0]
        for i, w in enumerate(widths):
            for _ in range(2):
                parts += [nn.GroupNorm(32, at), nn.SiLU(), nn.Conv2d(at, w, 3, padding=1)]
                at = w
            if i + 1 < len(widths):
                parts += [nn.Upsample(scale_factor=2), nn.Conv2d(at, at, 3, padding=1)]
        self.body = nn.Sequential(*parts, nn.GroupNorm(32, at), nn.SiLU(), nn.Conv2d(at, 3, 3, padding=1))

    def forward(self, x):
        return self.body(self.into(x))


class VGG(nn.Module):
    def __init__(self, plan=(64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0), norm: bool = False, hidden: int = 4096) -> None:
        super().__init__()
        parts, at = [], 3
        for w in plan:
            parts += [nn.Conv2d(at, w, 3, padding=1), *([nn.BatchNorm2d(w)] if norm else []), nn.ReLU(inplace=True)] if w else [nn.MaxPool2d(2)]
            at = w or at
        self.body = nn.Sequential(*parts)
        self.head = nn.Sequential(nn.Linear(at * 49, hidden), nn.ReLU(True), nn.Dropout(), nn.Linear(hidden, hidden), nn.ReLU(True), nn.Dropout(), nn.Linear(hidden, 1000))

    def forward(self, x):
        return self.head(F.adaptive_avg_pool2d(self.body(x), 7).flatten(1))


class Bottleneck(nn.Module):
    def __init__(self, into: int, inner: int, stride: int = 1, dilation: int = 1) -> None:
        super().__init__()
        out = 4 * inner
        self.body = nn.Sequential(nn.Conv2d(into, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(True),
                                  nn.Conv2d(inner, inner, 3, stride, dilation, dilation, bias=False), nn.BatchNorm2d(inner), nn.ReLU(True),
                                  nn.Conv2d(inner, out, 1, bias=False), nn.BatchNorm2d(out))
        self.skip = nn.Sequential(nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out)) if stride > 1 or into != out else nn.Identity()

    def forward(self, x):
        return F.relu(self.body(x) + self.skip(x))


class DeepLab(nn.Module):
    def __init__(self, layers=(3, 4, 6, 3), rates=(12, 24, 36), classes: int = 21) -> None:
        super().__init__()
        parts, at = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)], 64
        for i, n in enumerate(layers):
            for k in range(n):
                parts.append(Bottleneck(at, 64 << i, 2 if i == 1 and not k else 1, (1, 1, 2, 4)[i]))
                at = 256 << i
        self.body = nn.Sequential(*parts)

        def norm(w):
            return nn.BatchNorm2d(w), nn.ReLU(True)

        self.heads = nn.ModuleList([nn.Sequential(nn.Conv2d(at, 256, 1, bias=False), *norm(256))] +
                                   [nn.Sequential(nn.Conv2d(at, 256, 3, padding=r, dilation=r, bias=False), *norm(256)) for r in rates])
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(at, 256, 1, bias=False), *norm(256))
        self.join = nn.Sequential(nn.Conv2d(256 * (2 + len(rates)), 256, 1, bias=False), *norm(256), nn.Dropout(0.5))
        self.out = nn.Sequential(nn.Conv2d(256, 256, 3, padding=1, bias=False), *norm(256), nn.Conv2d(256, classes, 1))

    def forward(self, x):
        y = self.body(x)
        parts = [h(y) for h in self.heads] + [F.interpolate(self.pool(y), size=y.shape[2:], mode="bilinear")]
        return F.interpolate(self.out(self.join(torch.cat(parts, 1))), size=x.shape[2:], mode="bilinear")


class UNet3(nn.Module):
    def __init__(self, base: int = 32, depth: int = 4, into: int = 1, norm=nn.InstanceNorm3d) -> None:
        super().__init__()
        w = [base << i for i in range(depth + 1)]

        def double(a, b):
            return nn.Sequential(nn.Conv3d(a, b, 3, padding=1), norm(b), nn.LeakyReLU(inplace=True), nn.Conv3d(b, b, 3, padding=1), norm(b), nn.LeakyReLU(inplace=True))

        self.into = double(into, w[0])
        self.down = nn.ModuleList(double(w[i], w[i + 1]) for i in range(depth))
        self.up = nn.ModuleList(nn.ConvTranspose3d(w[i + 1], w[i], 2, 2) for i in reversed(range(depth)))
        self.join = nn.ModuleList(double(2 * w[i], w[i]) for i in reversed(range(depth)))
        self.head = nn.Conv3d(w[0], 4, 1)

    def forward(self, x):
        kept, x = [], self.into(x)
        for d in self.down:
            kept.append(x)
            x = d(F.max_pool3d(x, 2))
        for u, j in zip(self.up, self.join):
            x = j(torch.cat((kept.pop(), u(x)), 1))
        return self.head(x)


class Video(nn.Module):
    """A small 3-D ResNet."""

    def __init__(self) -> None:
        super().__init__()
        parts, at = [nn.Conv3d(3, 64, (3, 7, 7), (1, 2, 2), (1, 3, 3), bias=False), nn.BatchNorm3d(64), nn.ReLU(True)], 64
        for i, w in enumerate((64, 128, 256, 512)):
            for k in range(2):
                parts += [nn.Conv3d(at, w, 3, 2 if i and not k else 1, 1, bias=False), nn.BatchNorm3d(w), nn.ReLU(True)]
                at = w
        self.body, self.head = nn.Sequential(*parts), nn.Linear(at, 400)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3, 4)))


class Wave(nn.Module):
    """Dilated 1-D convolutions."""

    def __init__(self, width: int = 128, layers: int = 20) -> None:
        super().__init__()
        self.into, self.out = nn.Conv1d(1, width, 1), nn.Conv1d(width, 256, 1)
        self.body = nn.ModuleList(nn.Conv1d(width, 2 * width, 3, padding=1 << i % 10, dilation=1 << i % 10) for i in range(layers))
        self.mix = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(layers))

    def forward(self, x):
        x = self.into(x)
        for c, m in zip(self.body, self.mix):
            a, b = c(x).chunk(2, 1)
            x = x + m(torch.tanh(a) * torch.sigmoid(b))
        return self.out(F.relu(x))


class Generator(nn.Module):
    """DCGAN's: transposed convolutions."""

    def __init__(self, base: int = 64) -> None:
        super().__init__()
        parts, at = [], 128
        for w in (16 * base, 8 * base, 4 * base, 2 * base, base):
            parts += [nn.ConvTranspose2d(at, w, 4, 2 if parts else 1, 1 if parts else 0, bias=False), nn.BatchNorm2d(w), nn.ReLU(True)]
            at = w
        self.body = nn.Sequential(*parts, nn.ConvTranspose2d(at, 3, 4, 2, 1), nn.Tanh())

    def forward(self, x):
        return self.body(x)


def infer(model, shape, dtype: str, last: bool = False, benchmark: bool = False) -> None:
    torch.backends.cudnn.benchmark = benchmark
    model = model().to("cuda", DTYPES[dtype]).eval()
    x = torch.randn(*shape, device="cuda", dtype=DTYPES[dtype])
    if last:
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    with torch.no_grad():
        for _ in range(3):
            model(x)


def train(model, shape, amp: str = "f32", opt: str = "sgd", benchmark: bool = False) -> None:
    torch.backends.cudnn.benchmark = benchmark
    model = model().cuda()
    opt = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9) if opt == "sgd" else torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(3):
        x = torch.randn(*shape, device="cuda")
        with torch.autocast("cuda", DTYPES[amp], enabled=amp != "f32"):
            y = model(x)
            loss = F.cross_entropy(y, torch.zeros((y.shape[0], *y.shape[2:]), dtype=torch.long, device="cuda"))
        loss.backward()
        opt.step()
        opt.zero_grad()


SMALL = dict(base=128, mult=(1, 2, 2, 2), attend=(1,), channels=3, context=0)
PROGRAMS = {
    "llama-greedy": lambda: generate("llama", 8, 256, 64), "llama-greedy-2": lambda: generate("llama", 24, 512, 96),
    "llama-eos-f16-pad": lambda: generate("llama", 8, 200, 48, "f16", pad=True),
    "llama-sample": lambda: generate("llama", 8, 256, 64, do_sample=True, top_k=50, top_p=0.9), "llama-beam": lambda: generate("llama", 4, 256, 48, num_beams=4),
    "llama-beam-2": lambda: generate("llama", 6, 384, 40, "f16", num_beams=5), "llama-static": lambda: generate("llama", 8, 256, 48, cache_implementation="static"),
    "qwen-greedy": lambda: generate("qwen", 12, 300, 50), "qwen-beam": lambda: generate("qwen", 3, 300, 50, num_beams=3),
    "gpt2-pad": lambda: generate("gpt2", 16, 256, 64, "f16", pad=True), "t5-greedy": lambda: generate("t5", 16, 384, 64), "t5-beam": lambda: generate("t5", 8, 384, 48, num_beams=4),
    "t5-beam-2": lambda: generate("t5", 12, 256, 64, "f32", num_beams=4), "t5-sample": lambda: generate("t5", 16, 200, 40, do_sample=True),
    "bert-f16": lambda: bert("f16", 32, 384), "bert-f16-2": lambda: bert("f16", 64, 256, layers=6), "bert-bf16-big": lambda: bert("bf16", 16, 512, width=1024),
    "bert-f32": lambda: bert("f32", 16, 256), "bert-amp": lambda: bert("f32", 16, 256, True, True), "bert-f16-train": lambda: bert("f16", 16, 384, True),
    "encoder-f16": lambda: encoder("f16", 32, 256), "encoder-f16-2": lambda: encoder("f16", 24, 512, width=512), "encoder-f16-train": lambda: encoder("f16", 16, 256, True),
    "encoder-f32-train": lambda: encoder("f32", 8, 256, True, layers=6),
    "diffusion-f16": lambda: sample("f16", 16, 64, **SMALL), "diffusion-f16-2": lambda: sample("f16", 4, 64, True), "diffusion-f16-3": lambda: sample("f16", 1, 96, True),
    "diffusion-f16-4": lambda: sample("f16", 32, 32, **SMALL), "diffusion-bf16": lambda: sample("bf16", 2, 64, True), "diffusion-f32": lambda: sample("f32", 8, 64, **SMALL),
    "diffusion-f16-last": lambda: sample("f16", 8, 64, last=True, **SMALL), "diffusion-train-amp": lambda: train_diffusion("f16", 8, 64, **SMALL),
    "diffusion-train-f32": lambda: train_diffusion("f32", 8, 32, **SMALL), "diffusion-f16-5": lambda: sample("f16", 8, 128, base=64, mult=(1, 2, 4), attend=(2,), channels=3, context=0),
    "decoder-f16": lambda: infer(Decoder, (2, 4, 64, 64), "f16"), "decoder-f32": lambda: infer(Decoder, (1, 4, 48, 48), "f32"),
    "vgg": lambda: train(VGG, (32, 3, 224, 224)), "vgg-2": lambda: train(VGG, (48, 3, 160, 160), opt="adamw"), "vgg-amp": lambda: train(lambda: VGG(norm=True), (64, 3, 224, 224), "bf16"),
    "vgg-infer": lambda: infer(VGG, (32, 3, 224, 224), "f16"), "vgg-benchmark": lambda: train(VGG, (32, 3, 224, 224), benchmark=True),
    "deeplab": lambda: train(DeepLab, (4, 3, 384, 384)), "deeplab-2": lambda: train(lambda: DeepLab((3, 4, 23, 3), (6, 12, 18)), (6, 3, 320, 320)),
    "deeplab-amp": lambda: train(DeepLab, (8, 3, 384, 384), "f16"), "deeplab-infer": lambda: infer(DeepLab, (8, 3, 512, 512), "f16"),
    "unet3": lambda: train(UNet3, (1, 1, 96, 96, 96), opt="adamw"), "unet3-2": lambda: train(UNet3, (2, 1, 96, 96, 96), opt="adamw"),
    "unet3-3": lambda: train(lambda: UNet3(24, 3, 2, nn.BatchNorm3d), (4, 2, 64, 64, 64)), "unet3-amp": lambda: train(UNet3, (2, 1, 96, 96, 96), "f16"),
    "unet3-bf16": lambda: train(lambda: UNet3(16, 4, 4), (2, 4, 128, 128, 64), "bf16"), "unet3-infer": lambda: infer(UNet3, (2, 1, 128, 128, 128), "f16"),
    "video": lambda: train(Video, (4, 3, 16, 112, 112)), "video-amp": lambda: train(Video, (8, 3, 16, 112, 112), "bf16"),
    "wave": lambda: train(Wave, (8, 1, 16000)), "wave-amp": lambda: train(lambda: Wave(256), (4, 1, 16000), "bf16"),
    "generator": lambda: train_generator(64, "f32"), "generator-amp": lambda: train_generator(128, "bf16"),
}
PROGRAMS |= {  # predicted before they were measured, by rules that were not changed after
    "blind-unet3": lambda: train(lambda: UNet3(40, 3, 2), (2, 2, 80, 80, 80), opt="adamw"), "blind-unet3-f16": lambda: infer(lambda: UNet3(24, 4), (1, 1, 160, 160, 160), "f16"),
    "blind-video": lambda: train(Video, (6, 3, 8, 160, 160), "f16", "adamw"), "blind-diffusion": lambda: sample("f16", 24, 64, **{**SMALL, "base": 192}),
    "blind-diffusion-2": lambda: sample("f16", 2, 128, True, base=256, mult=(1, 2, 3), attend=(1, 2)),
    "blind-deeplab": lambda: train(lambda: DeepLab((2, 2, 2, 2), (8, 16, 24)), (6, 3, 288, 416)), "blind-deeplab-bf16": lambda: train(lambda: DeepLab((3, 4, 6, 3), (12, 24, 36)), (5, 3, 320, 480), "bf16", "adamw"),
    "blind-vgg": lambda: train(lambda: VGG(norm=True, hidden=2048), (24, 3, 192, 192)), "blind-bert": lambda: bert("f16", 24, 320), "blind-bert-large": lambda: bert("f16", 12, 448, layers=8, width=1024),
    "blind-bert-train": lambda: bert("f16", 12, 320, True, layers=6), "blind-llama-beam": lambda: generate("llama", 5, 200, 24, num_beams=3), "blind-t5-beam": lambda: generate("t5", 6, 300, 24, num_beams=3),
    "blind-qwen-sample": lambda: generate("qwen", 10, 220, 24, "f16", do_sample=True, top_p=0.8), "blind-decoder": lambda: infer(Decoder, (3, 4, 56, 56), "bf16"),
    "blind-wave": lambda: train(lambda: Wave(192, 12), (6, 1, 24000), "f16"),
}


def train_generator(batch: int, amp: str) -> None:
    model = Generator().cuda()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(3):
        with torch.autocast("cuda", DTYPES[amp], enabled=amp != "f32"):
            y = model(torch.randn(batch, 128, 1, 1, device="cuda"))
        y.float().pow(2).mean().backward()
        opt.step()
        opt.zero_grad()


def history() -> dict:
    """The allocator's history: "sizes" of allocations, frees and segments in order, with the index of the Python frame that allocated."""
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    base, frames, rows = min((e["addr"] for e in trace), default=0), {}, []
    for e in trace:
        if e["action"] not in ("alloc", "free_completed", "segment_alloc", "segment_free"):
            continue
        at = -1
        if e["action"] == "alloc":
            found = [f for f in e.get("frames", []) if f["filename"].endswith(".py") and "/nn/modules/module.py" not in f["filename"]][:3]
            text = " < ".join(f"{f['filename'].rsplit('/', 1)[-1]}:{f['line']} {f['name']}" for f in found)
            at = frames.setdefault(text, len(frames))
        rows.append([{"alloc": 1, "free_completed": -1, "segment_alloc": 2, "segment_free": -2}[e["action"]], e["size"], (e["addr"] - base) // 512, at])
    return {"frames": list(frames), "rows": rows}


def measure(name: str) -> dict:
    with_frames = True
    try:
        torch.cuda.memory._record_memory_history(enabled="all", context="alloc", stacks="python", max_entries=400_000)
    except Exception:
        with_frames = False
    PROGRAMS[name]()
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    out = {"name": name, "allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved(), "requested": stats["requested_bytes.all.peak"],
           "active": stats["active_bytes.all.peak"], "now": torch.cuda.memory_allocated(), "info": list(torch.cuda.mem_get_info()),
           "stats": {k: v for k, v in stats.items() if v}}
    out["history"] = history() if with_frames else None
    return out


def main() -> None:
    what, name = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    if what == "list":
        print("\n".join(PROGRAMS))
    elif what == "run":
        PROGRAMS[name]()
        print(name, torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
    else:
        print(json.dumps(measure(name)))


if __name__ == "__main__":
    main()
