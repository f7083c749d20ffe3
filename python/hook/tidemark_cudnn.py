# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Memory that cuDNN takes beside tensors: workspaces of convolutions and of LSTMs.

Without a GPU cuDNN's choice of algorithm cannot be asked for. The rules below reproduce what it asked for on an H200 (cuDNN 9, torch
2.11, cudnn.benchmark off): every request of two ResNets and two U-Nets, f32 (TF32) and bfloat16. Each rule gives three figures: the
least, the likely and the most bytes. Docs: docs/analyses/predict.md, "Convolutions".

Tensor cores want the channels last (NHWC). A convolution of NCHW tensors therefore takes one workspace that holds copies of its input,
its output and its filter in that layout, channels padded to 16 bytes. Filters of 1 x 1 are the same in both layouts and need no copy;
1 x 1 convolutions with stride 1 are matrix products, which also run on NCHW where a row of pixels is a multiple of 16 bytes.
A gradient of weights adds partial sums in f32 that thread blocks join.
"""
from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

MIB = 1 << 20
TILE = 128 * 128 * 4  # partial sums of one thread block, f32
FORWARD, DGRAD, WGRAD = 0, 1, 2


class Bytes(NamedTuple):
    least: int
    likely: int
    most: int


def _up(a: int, b: int) -> int:
    return -(-a // b)


def partial_sums(rows: int, kernel: int, channels: int, pixels: int, element: int, processors: int) -> int:
    """Bytes that the thread blocks of a weight gradient (rows x kernel * channels) join through: the sum over `pixels` is split among them."""
    weights = 4 * rows * kernel * channels
    if channels <= 32:
        return min((120 if element == 4 else 78) * weights, 6 * MIB)
    if element == 4:
        tiles = _up(rows, 64 if rows <= 64 else 128) * _up(kernel * channels, 64 if channels <= 64 else 128)
        pieces = processors // tiles
        return pieces * weights if pieces > 1 else min(weights, processors * TILE) if kernel > 1 and pixels >= 4096 else 0
    pieces = 26 if weights < 64 * 64 * 9 * 4 else 13 if weights <= 64 * 128 * 9 * 4 else 4 if weights <= 128 * 256 * 9 * 4 and pixels >= 16384 else 0
    return pieces * weights


class Shape(NamedTuple):
    """One convolution; x is what the forward pass reads, y what it makes."""
    x: tuple[int, ...]
    y: tuple[int, ...]
    weight: tuple[int, ...]
    stride: tuple[int, ...]
    element: int
    channels_last: bool

    @property
    def pixels(self) -> int:
        return math.prod(self.x[2:])

    @property
    def kernel(self) -> int:
        return math.prod(self.weight[2:])

    def copies(self, padded: bool = True) -> tuple[int, int, int]:
        """Bytes of x, y and the filter with their channels last."""
        to = 16 // self.element if padded else 1

        def one(shape: tuple[int, ...]) -> int:
            return shape[0] * _up(shape[1], to) * to * math.prod(shape[2:]) * self.element

        return one(self.x), one(self.y), 0 if self.kernel == 1 else one(self.weight)


@functools.lru_cache(maxsize=4096)
def convolution(kind: int, s: Shape, processors: int) -> Bytes:
    """The workspace of a forward pass, a gradient of the input (DGRAD) or of the weights (WGRAD)."""
    x, y, w = s.copies()
    narrow = s.x[1] * s.element < 16  # an image's colours
    if s.channels_last:
        x, y, w = x if narrow else 0, 0, w if narrow else 0
    to = 16 // s.element
    partial = 0 if kind != WGRAD else partial_sums(s.weight[0], s.kernel, _up(s.weight[1], to) * to, s.x[0] * math.prod(s.y[2:]), s.element, processors)
    copied = x + y + w + partial + 147
    most = x + y + w + max(2 * processors * TILE, partial)
    if s.kernel == 1 and set(s.stride) == {1} and not s.channels_last:
        if kind == WGRAD and s.pixels % 8 == 0:  # one filter an image, summed afterwards
            native = 4 * s.x[0] * math.prod(s.weight)
            return Bytes(0, native, max(native, most))
        plain = s.pixels * s.element % (8 if kind == DGRAD else 16) == 0
        if kind == DGRAD and s.element == 2 and s.x[1] > s.y[1] and s.pixels >= 1024:
            plain = False
        return Bytes(0, 400 if plain and kind != WGRAD else copied, most)
    if narrow and not s.channels_last:
        if kind == FORWARD and (s.kernel <= 9 or s.element == 2 and s.kernel > 49) or kind == WGRAD and s.kernel <= 9 and s.element == 4:
            return Bytes(0, 0, most)
        if kind == FORWARD and s.element == 4 and s.kernel <= 49:
            return Bytes(0, sum(s.copies(padded=False)) + 16, most)
        return Bytes(0, copied, most)
    odd = any(c % 32 for c in s.weight[:2])  # widths that fill no tile: other kernels may be faster
    return Bytes(0 if odd else min(x + w, copied), copied, most)


# ---- LSTM ----


def lstm_sizes(shape: Any, hidden: int, layers: int, ways: int, element: int) -> tuple[int, Bytes]:
    """Bytes of the reserve, and of the workspace; shape is time, batch, features. Batches above 32 had copies of the input and the output in the
    workspace, one of 32 had not."""
    t, b = shape[0], shape[1]
    one = b * hidden * ways * element
    kept = (5 * layers + layers - 1) * t * one
    least = kept + 10 * layers * one + 512
    copied = least + t * b * (hidden * ways + shape[2]) * element + layers * 2 * MIB + (one + 256 if layers == 1 else 64)
    return kept + 256, Bytes(least, copied if b > 32 else least, 2 * copied - least)


def lstm(torch: Any, spaces: Any) -> Any:
    """nn.LSTM as cuDNN runs it: its outputs, what it keeps for the backward pass, its workspaces, one buffer for weights' gradients."""

    class Function(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any, hx: Any, cx: Any, how: Any, *weights: Any) -> Any:
            hidden, layers, ways, training, first = how
            y = x.transpose(0, 1).contiguous() if first else x.contiguous()
            out = y.new_empty(y.shape[0], y.shape[1], hidden * ways)
            hy, cy = torch.empty_like(hx), torch.empty_like(cx)
            kept, work = lstm_sizes(y.shape, hidden, layers, ways, y.element_size())
            with spaces.space(y.device.index or 0, work, "LSTM"):
                reserve = y.new_empty(kept if training else 0, dtype=torch.uint8)
            ctx.save_for_backward(x, hx, cx, out, reserve, *weights)
            ctx.how = how
            del y
            return out.transpose(0, 1) if first else out, hy, cy

        @staticmethod
        def backward(ctx: Any, grad: Any, ghy: Any, gcy: Any) -> Any:
            x, hx, cx, out, reserve, *weights = ctx.saved_tensors
            hidden, layers, ways, _, first = ctx.how
            y = x.transpose(0, 1).contiguous() if first else x.contiguous()
            g = grad.transpose(0, 1).contiguous() if first else grad.contiguous()
            dx, dhx, dcx = torch.empty_like(y), torch.empty_like(hx), torch.empty_like(cx)
            index = y.device.index or 0
            work = lstm_sizes(y.shape, hidden, layers, ways, y.element_size())[1]
            with spaces.space(index, work, "LSTM"):
                pass
            del g, y  # the gradient of the weights transposes the input again
            y = x.transpose(0, 1).contiguous() if first else x.contiguous()
            flat = weights[0].new_empty(sum(w.numel() for w in weights))
            with spaces.space(index, work, "LSTM"):
                pass
            del y
            grads, at = [], 0
            for w in weights:
                grads.append(flat[at:at + w.numel()].view(w.shape))
                at += w.numel()
            return dx.transpose(0, 1) if first else dx, dhx, dcx, None, *grads

    class Flat(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """Autocast's copy of the weights: one buffer in half precision, whatever type the program chose."""

        @staticmethod
        def forward(ctx: Any, *weights: Any) -> Any:
            ctx.dtype = weights[0].dtype
            flat, at, out = weights[0].new_empty(sum(w.numel() for w in weights), dtype=torch.float16), 0, []
            for w in weights:
                out.append(flat[at:at + w.numel()].view(w.shape))
                at += w.numel()
            return tuple(out)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return tuple(None if g is None else g.to(ctx.dtype) for g in grads)

    plain = torch._VF.lstm

    def run(x: Any, *rest: Any) -> Any:
        if x.device.type != "cuda" or not isinstance(rest[0], (list, tuple)):  # packed sequences have sizes of their own
            return plain(x, *rest)
        (hx, cx), weights, bias, layers, dropout, training, both, first = rest[:8]
        if torch.is_autocast_enabled("cuda"):
            weights = Flat.apply(*weights) if weights[0].dtype != torch.float16 else weights
            cx, hx, x = cx.to(torch.float16), hx.to(torch.float16), x.to(torch.float16)
        return Function.apply(x, hx, cx, (hx.shape[-1], layers, 2 if both else 1, training, first), *weights)

    return run


def flatten(torch: Any, meter: Any) -> Any:
    """nn.RNNBase.flatten_parameters on a GPU: the weights move into one buffer."""

    def flatten_parameters(self: Any) -> None:
        weights = [w for w in getattr(self, "_flat_weights", []) if isinstance(w, torch.Tensor)]
        if not weights or len(weights) != len(self._flat_weights) or any(w.device.type != "cuda" or w.dtype != weights[0].dtype for w in weights):
            return
        if len({w.untyped_storage()._cdata for w in weights}) != len(weights):
            return  # flat already, or shared
        with torch.no_grad():
            flat, at = weights[0].new_empty(sum(w.numel() for w in weights)), 0
            for w in weights:
                w.data = flat[at:at + w.numel()].view(w.shape)
                at += w.numel()

    return flatten_parameters
