# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Memory that cuDNN takes beside tensors: workspaces of convolutions and of LSTMs.

Without a GPU cuDNN's choice of algorithm cannot be asked for. The rules below reproduce what it asked for on an H200 (cuDNN 9, torch
2.11, cudnn.benchmark off): two ResNets and two U-Nets, f32 (TF32) and bfloat16, then 508 convolutions and 42 LSTMs of
bench/torch/cudnn_probe.py. Each rule gives three figures: the least, the likely and the most bytes. Docs: docs/analyses/predict.md, "Convolutions".

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


def partial_sums(rows: int, kernel: int, channels: int, samples: int, pixels: int, element: int, processors: int) -> int:
    """Bytes that the thread blocks of a weight gradient (rows x kernel * channels) join through: the sum over `pixels` of all samples is split."""
    weights = 4 * rows * kernel * channels
    if channels <= 8 and kernel > 49:  # patches of a vision transformer
        return 0 if element == 4 and rows >= 768 else (4 if samples >= 128 else 3) * weights
    if channels <= 32:
        return min((120 if element == 4 else 78) * weights, 6 * MIB)
    if kernel == 4 and rows >= 384:  # up-sampling, 2 x 2
        return 0
    if element == 4:
        tiles = _up(rows, 64 if rows <= 64 else 128) * _up(kernel * channels, 64 if channels <= 64 else 128)
        pieces = processors // tiles
        if pieces > 1:
            return pieces * weights if kernel > 1 or pixels >= 4096 else 0
        return min(weights, processors * TILE) if kernel > 1 and pixels >= 3072 and tiles < 2 * processors else 0
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
    transposed: bool = False
    pad: int = 16  # bytes that a few channels are padded to: 8 in float16

    @property
    def pixels(self) -> int:
        return math.prod(self.x[2:])

    @property
    def narrow(self) -> bool:
        """An image's colours."""
        return self.x[1] * self.element < 16

    @property
    def kernel(self) -> int:
        return math.prod(self.weight[2:])

    def copies(self, padded: bool = True) -> tuple[int, int, int]:
        """Bytes of x, y and the filter with their channels last."""
        to = (self.pad if self.narrow else 16) // self.element if padded else 1

        def one(shape: tuple[int, ...]) -> int:
            return shape[0] * _up(shape[1], to) * to * math.prod(shape[2:]) * self.element

        return one(self.x), one(self.y), 0 if self.kernel == 1 else one(self.weight)


def _pointwise(kind: int, s: Shape, copied: int) -> int:
    """1 x 1 with stride 1: a matrix product, on NCHW where rows are aligned."""
    samples, odd = s.x[0], s.x[0] % 16 != 0
    if kind == WGRAD:
        if s.element == 4 and s.weight[0] < 8:
            return copied
        one_each = s.pixels % 8 == 0 or s.element == 4 and samples <= 16 and s.pixels % 4 == 0
        return 4 * samples * math.prod(s.weight) if one_each else copied  # one filter an image, summed afterwards
    if s.element == 2 and odd and (s.pixels % 8 if kind == FORWARD else s.x[1] > s.y[1] and 1024 <= s.pixels < 65536):
        return copied
    if s.element == 2 and s.pixels % 8 and samples >= 64 and min(s.x[1], s.y[1]) >= 512:
        return copied
    return 400 if s.pixels * s.element % 8 == 0 else copied


def _narrow(kind: int, s: Shape, copied: int) -> int:
    """Three channels: the first convolution of a network for images."""
    if kind == DGRAD:
        return copied if s.element == 2 and s.kernel <= 49 else 0
    if kind == WGRAD and s.kernel <= 9 and s.element == 4:
        return 0
    if kind == WGRAD:
        return 4 * math.prod(s.weight) if s.element == 2 and s.kernel >= 1024 else copied
    if s.kernel <= 9 or s.kernel > 49 and (s.weight[0] <= 384 if s.element == 2 else s.x[0] < 32):
        return 0
    return sum(s.copies(padded=False)) + 16 if s.element == 4 and s.kernel <= 49 else copied


@functools.lru_cache(maxsize=4096)
def convolution(kind: int, s: Shape, processors: int) -> Bytes:
    """The workspace of a forward pass, a gradient of the input (DGRAD) or of the weights (WGRAD)."""
    if s.transposed and kind != WGRAD:  # its forward pass is the gradient of a plain convolution, and the other way round
        return convolution(DGRAD - kind, s._replace(x=s.y, y=s.x, transposed=False), processors)
    x, y, w = s.copies()
    if s.channels_last:
        x, y, w = x if s.narrow else 0, 0, w if s.narrow else 0
    channels = _up(s.weight[1], 16 // s.element) * (16 // s.element)
    partial = 0 if kind != WGRAD else partial_sums(s.weight[0], s.kernel, channels, s.x[0], s.x[0] * math.prod(s.y[2:]), s.element, processors)
    copied = x + y + w + partial + 147
    most = x + y + w + max(3 * processors * TILE, partial)
    if s.channels_last:
        return Bytes(0, copied, most)
    if s.kernel == 1 and set(s.stride) == {1}:
        likely = _pointwise(kind, s, copied)
    elif s.narrow:
        likely = _narrow(kind, s, copied)
    else:
        least = 0 if any(c % 32 for c in s.weight[:2]) or s.element == 4 and min(s.weight[:2]) <= 32 else x + w
        if kind == FORWARD and s.element == 4 and (s.kernel == 1 and s.x[1] <= 256 or s.x[1] == 64 and (
                s.y[1] == 128 and s.pixels >= 128 * 128 or s.y[1] == 64 and s.pixels <= 56 * 56 and s.x[0] <= 32)):
            copied = x + 4 * math.prod(s.weight) + 16  # these kernels write the output as it is
        return Bytes(min(least, copied), copied, most)
    return Bytes(0, likely, max(likely, most))


# ---- LSTM ----


def lstm_sizes(shape: Any, hidden: int, layers: int, ways: int, element: int) -> tuple[int, Bytes]:
    """Bytes of the reserve, and of the workspace; shape is time, batch, features. As 42 LSTMs had them on an H200 (bench/torch/cudnn_probe.py)."""
    t, b, features = shape
    one = b * hidden * ways * element  # a state
    steps = t * one
    weights = ways * 4 * hidden * (features + hidden + (layers - 1) * (ways + 1) * hidden) * element
    inputs = t * b * features * element
    kept = (6 * layers - 1) * steps + 256
    if ways == 2:
        work = 8 * steps + 12 * layers * one + weights + 16 * MIB * (layers - 1) + (8 * MIB if element == 2 else 0)
    elif element == 2 and layers == 1 and hidden <= 1024 and hidden % 128 == 0 and features % 128 == 0 and t >= 40 and b <= 128:
        work = 22 * steps + 8 * one + weights + 8 * MIB  # PyTorch asks for the persistent algorithm
    else:
        work = 5 * steps + inputs + (10 * layers + (layers == 1)) * one + weights + 8 * MIB * layers
    return kept, Bytes(max(work - 8 * MIB * layers, 512), work + 512, work + 8 * MIB * layers)


def gated_sizes(shape: Any, hidden: int, layers: int, ways: int, element: int, gates: int) -> tuple[int, Bytes]:
    """The same of a GRU (3 gates) or a plain RNN (1), in proportion to an LSTM's: not measured, hence a wide range."""
    kept, work = lstm_sizes(shape, hidden, layers, ways, element)
    part = max(gates + 1, 2) / 5
    likely = int(work.likely * part)
    return int(kept * part), Bytes(likely // 2, likely, 2 * likely)


def recurrent(torch: Any, spaces: Any, gates: int) -> Any:
    """nn.LSTM (4 gates), nn.GRU (3) or nn.RNN (1) as cuDNN runs it: its outputs, what it keeps for the backward pass, its workspaces, one buffer for
    weights' gradients. Returns a stand-in for torch._VF.lstm, gru or rnn_tanh, given the original."""
    name = {4: "LSTM", 3: "GRU"}.get(gates, "RNN")

    def sizes(shape: Any, hidden: int, layers: int, ways: int, element: int) -> tuple[int, Bytes]:
        if gates == 4:
            return lstm_sizes(shape, hidden, layers, ways, element)
        spaces.unknown[f"cuDNN's memory of a {name}"] = "taken in proportion to an LSTM's, not measured"
        return gated_sizes(shape, hidden, layers, ways, element, gates)

    class Function(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any, hx: Any, cx: Any, how: Any, *weights: Any) -> Any:
            hidden, layers, ways, training, first = how
            y = x.transpose(0, 1).contiguous() if first else x.contiguous()
            out = y.new_empty(y.shape[0], y.shape[1], hidden * ways)
            hy, cy = torch.empty_like(hx), torch.empty_like(cx) if cx is not None else None
            kept, work = sizes(y.shape, hidden, layers, ways, y.element_size())
            with spaces.space(y.device.index or 0, work, name):
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
            dx, dhx, dcx = torch.empty_like(y), torch.empty_like(hx), torch.empty_like(cx) if cx is not None else None
            index = y.device.index or 0
            work = sizes(y.shape, hidden, layers, ways, y.element_size())[1]
            with spaces.space(index, work, name):
                pass
            del g, y  # the gradient of the weights transposes the input again
            y = x.transpose(0, 1).contiguous() if first else x.contiguous()
            flat = weights[0].new_empty(sum(w.numel() for w in weights))
            with spaces.space(index, work, name):
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

    def stand_in(plain: Any) -> Any:
        def run(x: Any, *rest: Any) -> Any:
            packed = not isinstance(rest[0], (list, tuple)) if gates == 4 else isinstance(rest[1], torch.Tensor)
            if x.device.type != "cuda":
                return plain(x, *rest)
            if packed:  # every sequence has the full length (tidemark_values.py)
                y, *states = run(x.view(rest[0].shape[0], -1, x.shape[-1]), *rest[1:8], False)
                return y.reshape(x.shape[0], -1), *states
            state, weights, bias, layers, dropout, training, both, first = rest[:8]
            hx, cx = state if gates == 4 else (state, None)
            if torch.is_autocast_enabled("cuda"):
                weights = Flat.apply(*weights) if weights[0].dtype != torch.float16 else weights
                cx = cx.to(torch.float16) if cx is not None else None
                hx, x = hx.to(torch.float16), x.to(torch.float16)
            out = Function.apply(x, hx, cx, (hx.shape[-1], layers, 2 if both else 1, training, first), *weights)
            return out if gates == 4 else out[:2]

        return run

    return stand_in


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
