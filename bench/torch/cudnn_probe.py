# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Lists the memory that cuDNN requests from the allocator on a GPU, for convolutions and recurrent layers of many shapes; one
line of JSON each.

    python cudnn_probe.py OUT.jsonl [--seconds 60]
    python cudnn_probe.py OUT.jsonl --more [--seconds 60]   grouped and plain f32 convolutions, one and three dimensions, GRUs and RNNs
    python cudnn_probe.py OUT.jsonl --wide [--seconds 60]   1 x 1 convolutions of many widths, dilated ones
    python cudnn_probe.py OUT.jsonl --any [--part 0/6]      random shapes of one to three dimensions: plain, strided, dilated, transposed
    python cudnn_probe.py OUT.jsonl --fine [--seconds 60]   patches of vision transformers, LSTMs, GRUs and RNNs, one size varied at a time

Rules of python/hook/tidemark_cudnn.py come from such lines. A convolution has the bytes that its forward pass, the gradient of its
input and that of its weights allocate, in order (results first, then workspaces); an LSTM those of its forward and backward pass.
Needs torch alone.
"""
from __future__ import annotations

import argparse
import json
import random
import time

import torch

MARK = 3_333_331  # bytes of an allocation that separates one call from the next
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


def recorded(calls) -> list[list[int]]:
    """Returns the bytes that each call allocates, in order."""
    memory = torch.cuda.memory
    memory._record_memory_history(context=None, max_entries=100_000)
    kept = []
    for call in calls:
        torch.empty(MARK, dtype=torch.uint8, device="cuda")
        kept.append(call())
    torch.empty(MARK, dtype=torch.uint8, device="cuda")
    trace = memory._snapshot()["device_traces"][0]
    memory._record_memory_history(enabled=None)
    parts: list[list[int]] = []
    for e in trace:
        if e["action"] == "alloc":
            if e["size"] == MARK:
                parts.append([])
            elif parts:
                parts[-1].append(e["size"])
    return parts[:len(calls)]


def convolution(x, w, stride, padding, transposed, dtype, last, groups=1, tf32=True, dilation=1) -> dict:
    aten, d, dims = torch.ops.aten, DTYPES[dtype], len(x) - 2
    form = torch.channels_last if last else torch.contiguous_format
    torch.backends.cudnn.allow_tf32 = tf32
    a = torch.empty(x, dtype=d, device="cuda", memory_format=form).normal_()
    b = torch.empty(w, dtype=d, device="cuda", memory_format=form).normal_()
    how = (None, [stride] * dims, [padding] * dims, [dilation] * dims, transposed, [0] * dims, groups)
    y = aten.convolution(a, b, *how)
    g = torch.ones_like(y)

    def gradient(mask):
        return lambda: aten.convolution_backward(g, a, b, None, *how[1:], mask)

    parts = recorded([lambda: aten.convolution(a, b, *how), gradient([True, False, False]), gradient([False, True, False])])
    return {"what": "convolution", "x": x, "w": w, "y": list(y.shape), "stride": stride, "padding": padding, "transposed": transposed, "groups": groups,
            "dilation": dilation, "dtype": dtype, "tf32": tf32, "channels_last": last, "forward": parts[0], "dgrad": parts[1], "wgrad": parts[2]}


def recurrent(kind, hidden, features, layers, batch, time_, dtype, both) -> dict:
    model = getattr(torch.nn, kind)(features, hidden, layers, batch_first=True, bidirectional=both).to("cuda", DTYPES[dtype])
    x = torch.randn(batch, time_, features, dtype=DTYPES[dtype], device="cuda", requires_grad=True)
    g = torch.ones_like(model(x)[0])
    out = []
    parts = recorded([lambda: out.append(model(x)[0]), lambda: out[-1].backward(g)])
    return {"what": kind.lower(), "hidden": hidden, "features": features, "layers": layers, "batch": batch, "time": time_, "dtype": dtype, "both": both,
            "forward": parts[0], "backward": parts[1]}


def unet(base, depth, batch, dtype, size=256):
    w = [base << i for i in range(depth + 1)]
    yield (batch, 3, size, size), (w[0], 3, 3, 3), 1, 1, False, dtype, False
    for i in range(depth + 1):
        s = size >> i
        yield (batch, w[i], s, s), (w[i], w[i], 3, 3), 1, 1, False, dtype, False
        if i < depth:
            yield (batch, w[i], s // 2, s // 2), (w[i + 1], w[i], 3, 3), 1, 1, False, dtype, False
            yield (batch, 2 * w[i], s, s), (w[i], 2 * w[i], 3, 3), 1, 1, False, dtype, False
            yield (batch, w[i + 1], s // 2, s // 2), (w[i + 1], w[i], 2, 2), 2, 0, True, dtype, False
    yield (batch, w[0], size, size), (2, w[0], 1, 1), 1, 0, False, dtype, False


def resnet(batch, dtype, last=False):
    yield (batch, 3, 224, 224), (64, 3, 7, 7), 2, 3, False, dtype, last
    into = 64
    for i in range(4):
        inner, s = 64 << i, 56 >> i
        first = s * 2 if i else s
        yield (batch, into, first, first), (inner, into, 1, 1), 1, 0, False, dtype, last
        yield (batch, inner, first, first), (inner, inner, 3, 3), 2 if i else 1, 1, False, dtype, last
        yield (batch, into, first, first), (inner * 4, into, 1, 1), 2 if i else 1, 0, False, dtype, last
        yield (batch, inner, s, s), (inner * 4, inner, 1, 1), 1, 0, False, dtype, last
        yield (batch, inner * 4, s, s), (inner, inner * 4, 1, 1), 1, 0, False, dtype, last
        yield (batch, inner, s, s), (inner, inner, 3, 3), 1, 1, False, dtype, last
        into = inner * 4


def convolutions():
    for dtype in "f32", "bf16":
        for base, depth, batch in (64, 4, 4), (48, 4, 6), (32, 5, 4), (64, 4, 8), (40, 3, 3):
            yield from unet(base, depth, batch, dtype)
        for batch in 16, 32, 64, 96:
            yield from resnet(batch, dtype)
        yield from resnet(32, dtype, True)
        for width, patch in (384, 16), (768, 16), (768, 32), (1024, 14):
            for batch in 16, 64, 128:
                yield (batch, 3, 224, 224), (width, 3, patch, patch), patch, 0, False, dtype, False
    yield from unet(64, 4, 4, "f16")
    yield from resnet(32, "f16")


def lstms():
    for dtype in "f32", "f16":
        for hidden, layers, batch, time_ in ((1024, 2, 32, 128), (1024, 2, 33, 128), (1024, 2, 40, 128), (1024, 2, 64, 128), (768, 1, 64, 128), (768, 1, 32, 128),
                                             (1536, 3, 48, 128), (1536, 3, 24, 128), (512, 2, 96, 128), (512, 2, 16, 128), (2048, 2, 40, 128), (2048, 2, 16, 128),
                                             (1024, 2, 32, 64), (1024, 2, 32, 256), (1024, 1, 128, 128), (256, 1, 32, 128), (256, 4, 256, 64), (640, 2, 20, 100)):
            yield hidden, hidden, layers, batch, time_, dtype, False
        yield 512, 256, 2, 64, 128, dtype, False
        yield 512, 512, 2, 64, 128, dtype, True
        yield 1024, 1024, 1, 32, 128, dtype, True


def more_convolutions():
    for dtype in "f32", "bf16", "f16":
        for last in False, True:
            for batch in 24, 64:
                for width, size in (96, 56), (192, 28), (384, 14), (768, 7):  # ConvNeXt
                    yield (batch, width, size, size), (width, 1, 7, 7), 1, 3, False, dtype, last, width
                for width, size, kernel, stride in (96, 112, 3, 2), (144, 56, 3, 1), (240, 28, 5, 1), (672, 14, 5, 2), (1152, 7, 3, 1):  # EfficientNet
                    yield (batch, width, size, size), (width, 1, kernel, kernel), stride, kernel // 2, False, dtype, last, width
                for width, size in (128, 56), (256, 28), (512, 14):  # ResNeXt
                    yield (batch, width, size, size), (width, width // 32, 3, 3), 1, 1, False, dtype, last, 32
    for dtype in "f32", "bf16":
        for batch, width, length, kernel in (16, 80, 3000, 3), (16, 512, 1500, 3), (32, 256, 4096, 9), (8, 512, 800, 1):  # sound
            yield (batch, width, length), (width, width, kernel), 1, kernel // 2, False, dtype, False
        for batch, width, size in (2, 32, 64), (4, 64, 32), (2, 128, 16):  # volumes
            yield (batch, width, size, size, size), (width, width, 3, 3, 3), 1, 1, False, dtype, False
    for shape in list(resnet(32, "f32")) + list(unet(32, 4, 4, "f32")):
        yield *shape, 1, False


def wide_convolutions():
    """1 x 1 convolutions of EfficientNet, MobileNet, DenseNet and others, whose widths are no powers of two; dilated ones of DeepLab."""
    pairs = [(16, 96, 112), (24, 144, 56), (48, 288, 28), (88, 528, 14), (120, 720, 14), (208, 1248, 7), (352, 1408, 7), (352, 2112, 7),  # EfficientNet-B2
             (40, 240, 28), (80, 480, 14), (112, 672, 14), (192, 1152, 7), (320, 1280, 7), (40, 120, 28), (80, 200, 14), (160, 960, 7),  # B0, MobileNetV3
             (256, 128, 28), (512, 256, 14), (1024, 512, 7), (128, 128, 56), (992, 128, 7), (96, 128, 56),  # DenseNet
             (256, 1024, 14), (512, 2048, 7), (64, 256, 56), (1280, 256, 48), (2048, 256, 48), (256, 21, 48)]
    for dtype in "f32", "bf16":
        for batch in 6, 8, 16, 24, 32, 64:
            for a, b, size in pairs:
                yield (batch, a, size, size), (b, a, 1, 1), 1, 0, False, dtype, False
                yield (batch, b, size, size), (a, b, 1, 1), 1, 0, False, dtype, False
        for batch in 2, 4, 6, 8, 16:
            for a, b, size, dilation in (256, 256, 48, 2), (512, 512, 48, 2), (512, 512, 48, 4), (2048, 256, 48, 12), (2048, 256, 48, 24), (2048, 256, 48, 36), \
                    (2048, 256, 48, 1), (512, 512, 48, 1), (256, 256, 33, 2), (512, 512, 33, 4), (2048, 256, 33, 12), (2048, 256, 65, 6), (64, 64, 64, 2), (128, 128, 64, 4), (320, 128, 40, 6):
                yield (batch, a, size, size), (b, a, 3, 3), 1, dilation, False, dtype, False, 1, True, dilation


WIDTHS = 16, 24, 32, 40, 48, 64, 64, 96, 128, 128, 160, 192, 256, 256, 320, 384, 512, 512, 640, 768, 960, 1024, 1280, 1920, 2560
FEW = 1, 2, 3, 3, 4, 4, 8
MOST_BYTES, MOST_WORK = 1 << 31, 1 << 41  # of input and output; multiplications


def any_convolutions(seed):
    """Yields random convolutions without end, as in image and video networks: a pair of widths, a size, a batch, a kernel."""
    r = random.Random(seed)
    while True:
        kind = r.choice("2222332222331t")
        dims = int(kind) if kind != "t" else r.choice((2, 2, 3))
        into, out = r.choice(WIDTHS), r.choice(WIDTHS)
        if r.random() < 0.4:
            out = into
        elif r.random() < 0.15:
            into = r.choice(FEW)
        elif r.random() < 0.15:
            out = r.choice(FEW + (21,))
        size = {1: [r.choice((500, 1500, 3000, 4096, 8000, 16000, 32000))], 2: [r.choice((4, 7, 8, 14, 16, 20, 24, 28, 32, 33, 40, 48, 56, 64, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512))] * 2,
                3: [r.choice((4, 6, 8, 12, 16, 16, 24, 32, 32, 48, 64, 96, 128))] * 3}[dims]
        if dims == 3 and r.random() < 0.3:
            size[0] = max(2, size[0] // r.choice((2, 4)))
        batch = r.choice((1, 1, 2, 2, 4, 4, 6, 8, 12, 16, 24, 32, 48, 64))
        kernel, stride, dilation = r.choice((3, 3, 3, 3, 1) if dims > 1 else (1, 3, 3, 5, 9)), 1, 1
        if kind == "t":
            kernel, stride, padding = r.choice(((2, 2, 0), (4, 2, 1)))
        else:
            if kernel == 3 and r.random() < 0.25:
                dilation = r.choice((2, 4, 6, 12, 18, 24, 36) if dims == 2 else (2, 4, 16, 64) if dims == 1 else (2, 4))
            elif r.random() < 0.15:
                stride = 2
            if into in FEW and dims > 1 and r.random() < 0.3:
                kernel, stride, dilation = 7, 2, 1
            padding = dilation * (kernel // 2)
        pixels = batch
        for n in size:
            pixels *= n
        dtype = r.choice(("f32", "f32", "f16", "f16", "bf16"))
        element = 4 if dtype == "f32" else 2
        outs = pixels * stride ** dims if kind == "t" else pixels // stride ** dims
        if element * (pixels * into + outs * out) > MOST_BYTES or outs * into * out * kernel ** dims > MOST_WORK or min(size) <= padding and dilation == 1:
            continue
        x, w = (batch, into, *size), ((into, out) if kind == "t" else (out, into)) + (kernel,) * dims
        yield x, w, stride, padding, kind == "t", dtype, dims == 2 and r.random() < 0.08, 1, r.random() > 0.03, dilation


def recurrents():
    for kind in "GRU", "RNN":
        for dtype in "f32", "f16":
            for hidden, layers, batch, time_ in (768, 2, 48, 128), (1024, 1, 32, 128), (512, 3, 96, 64), (256, 1, 64, 256), (1536, 2, 16, 100):
                yield kind, hidden, hidden, layers, batch, time_, dtype, False
            yield kind, 512, 256, 2, 64, 128, dtype, False
            yield kind, 512, 512, 2, 64, 128, dtype, True


def patch(batch, width, size, image, dtype) -> dict:
    aten, d = torch.ops.aten, DTYPES[dtype]
    torch.backends.cudnn.allow_tf32 = True
    a = torch.empty(batch, 3, image, image, dtype=d, device="cuda").normal_()
    b = torch.empty(width, 3, size, size, dtype=d, device="cuda").normal_()
    how = (None, [size] * 2, [0] * 2, [1] * 2, False, [0] * 2, 1)
    g = torch.ones_like(aten.convolution(a, b, *how))
    parts = recorded([lambda: aten.convolution(a, b, *how), lambda: aten.convolution_backward(g, a, b, None, *how[1:], [False, True, False])])
    return {"what": "patch", "batch": batch, "width": width, "patch": size, "size": image, "dtype": dtype, "forward": parts[0], "wgrad": parts[1]}


def patches():
    for dtype in "f32", "bf16", "f16":
        for width in 192, 384, 512, 576, 640, 768, 832, 896, 960, 1024, 1152, 1280:
            for batch in 8, 16, 24, 28, 32, 36, 40, 44, 48, 56, 64, 96, 128:
                yield batch, width, 16, 224, dtype
        for width in 384, 768, 1024:
            for batch in 8, 16, 32, 64, 128:
                for size, image in (14, 224), (32, 224), (8, 224), (16, 384), (16, 256), (4, 32), (8, 64), (14, 518):
                    if batch * image * image <= 128 * 256 * 256:
                        yield batch, width, size, image, dtype


def fine_recurrents():
    shapes = [(512, 512, 2, 64, t, False) for t in (16, 32, 48, 64, 96, 100, 128, 200, 256)]
    shapes += [(512, 512, n, 64, t, False) for n in (1, 3, 4, 6) for t in (64, 128)]
    shapes += [(512, 512, 2, b, 128, False) for b in (8, 16, 24, 32, 48, 96, 128)]
    shapes += [(h, h, 2, 64, 128, False) for h in (128, 256, 384, 640, 768, 1024, 1536, 2048)]
    shapes += [(512, f, n, 64, 128, False) for f in (64, 128, 256, 384, 768, 1024, 2048) for n in (1, 2)]
    shapes += [(512, f, 3, 48, 100, False) for f in (128, 1024)] + [(512, 256, 2, 64, 128, True)]
    shapes += [(h, h, n, b, t, True) for h, n, b, t in ((512, 1, 64, 128), (512, 2, 32, 128), (256, 2, 64, 128), (768, 2, 48, 100), (512, 3, 64, 64), (512, 2, 64, 64))]
    shapes += [(h, h, n, b, t, False) for h, n, b, t in ((256, 1, 64, 64), (1024, 1, 32, 64), (768, 1, 64, 128), (384, 1, 32, 200), (1536, 1, 32, 64), (200, 1, 20, 35),
                                                         (650, 2, 20, 35), (300, 2, 30, 50))]
    for kind in "LSTM", "GRU", "RNN":
        for dtype in "f32", "f16":
            for h, f, n, b, t, both in shapes:
                yield kind, h, f, n, b, t, dtype, both


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--more", action="store_true", help="the shapes that the rules do not cover")
    p.add_argument("--wide", action="store_true", help="1 x 1 convolutions of many widths, dilated ones")
    p.add_argument("--any", action="store_true", help="random convolutions until the time is up")
    p.add_argument("--part", default="0/1", help="with --any: of several processes, this one")
    p.add_argument("--fine", action="store_true", help="patches and recurrent layers, one size varied at a time")
    p.add_argument("--seconds", type=float, default=60)
    a = p.parse_args()
    began, n = time.monotonic(), 0
    if a.any:
        part, parts = map(int, a.part.split("/"))
        shapes = [s for _, s in zip(range(20_000), any_convolutions(7))][part::parts]
    shapes = shapes if a.any else list(more_convolutions() if a.more else wide_convolutions() if a.wide else convolutions())
    random.Random(1).shuffle(shapes if not a.any else [])  # if time runs out, the file has some of each kind
    todo = [(recurrent, s) for s in (recurrents() if a.more else () if a.wide or a.any else (("LSTM", *s) for s in lstms()))] + [(convolution, s) for s in shapes]
    if a.fine:
        todo = [(recurrent, s) for s in fine_recurrents()] + [(patch, s) for s in patches()]
    with open(a.out, "w", encoding="utf-8") as f:
        for what, shape in todo:
            if time.monotonic() - began > a.seconds:
                break
            try:
                row = what(*shape)
            except Exception as e:  # noqa: BLE001: the other shapes are still of use
                row = {"what": what.__name__, "shape": repr(shape), "error": str(e).splitlines()[0][:200]}
            f.write(json.dumps(row) + "\n")
            n += 1
            torch.cuda.empty_cache() if n % 50 == 0 else None
    print(f"{n} of {len(todo)} shapes in {time.monotonic() - began:.0f} s, cuDNN {torch.backends.cudnn.version()}, torch {torch.__version__}", flush=True)


if __name__ == "__main__":
    main()
