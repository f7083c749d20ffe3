# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Predicts memory that cuDNN takes in addition to tensors: workspaces of convolutions, LSTMs, GRUs and RNNs.

Without a GPU, cuDNN's choice of algorithm is unknown. The rules below reproduce the workspaces that it requested on an H200
(cuDNN 9, torch 2.11, cudnn.benchmark off): two ResNets and two U-Nets, f32 (TF32) and bfloat16, then 508 convolutions, 783
convolutions of patches, 672 of 1 x 1, 150 dilated ones and 448 recurrent layers of bench/torch/cudnn_probe.py. Each rule gives three figures: the least, the
likely and the most bytes. Docs: docs/analyses/predict.md, "Convolutions".

Tensor cores want the channels last (NHWC). A convolution of NCHW tensors therefore takes one workspace that holds copies of its input,
its output and its filter in that layout, channels padded to 16 bytes. Filters of 1 x 1 are the same in both layouts and need no copy;
1 x 1 convolutions with stride 1 are matrix products, which also run on NCHW if a row of pixels is a multiple of 16 bytes.
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


def _patch_sums(rows: int, kernel: int, samples: int, pixels: int, element: int) -> int:
    """Returns the copies of the weights in the gradient of patches, from 783 shapes on an H200."""
    if element == 2:
        if kernel < 100:  # 8 x 8
            return 0 if pixels <= 2048 else 23 if pixels < 50_000 else 7 if rows >= 768 else 77
        return 0 if pixels < 3000 or kernel >= 1024 else 4 if pixels > 16_384 else 3
    if kernel < 100:
        return 11 if pixels >= 6000 else 4 if rows >= 768 else 8
    if rows >= 768 or rows <= 256:
        return 0
    if samples >= 128 and pixels > 8192:
        return 120 if rows <= 384 else 7
    return 0 if samples % 16 == 0 or samples < 24 else 3


def partial_sums(rows: int, kernel: int, channels: int, samples: int, pixels: int, element: int, processors: int) -> int:
    """Returns the bytes in which the thread blocks of a weight gradient (rows x kernel * channels) combine their sums: the sum
    over `pixels` of all samples is split."""
    weights = 4 * rows * kernel * channels
    if channels <= 8 and kernel > 49:  # patches of a vision transformer
        return _patch_sums(rows, kernel, samples, pixels, element) * weights
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
    """One convolution; x is the input of the forward pass, y its output."""
    x: tuple[int, ...]
    y: tuple[int, ...]
    weight: tuple[int, ...]
    stride: tuple[int, ...]
    element: int
    channels_last: bool
    transposed: bool = False
    pad: int = 16  # bytes that a few channels are padded to: 8 in float16
    dilation: int = 1
    groups: int = 1

    @property
    def pixels(self) -> int:
        return math.prod(self.x[2:])

    @property
    def narrow(self) -> bool:
        """Returns whether the channels are an image's colours."""
        return self.x[1] * self.element < 16

    @property
    def kernel(self) -> int:
        return math.prod(self.weight[2:])

    def copies(self, padded: bool = True) -> tuple[int, int, int]:
        """Returns the bytes of x, y and the filter with their channels last."""
        to = (self.pad if self.narrow and self.kernel <= 49 else 16) // self.element if padded else 1

        def one(shape: tuple[int, ...]) -> int:
            return shape[0] * _up(shape[1], to) * to * math.prod(shape[2:]) * self.element

        return one(self.x), one(self.y), 0 if self.kernel == 1 else one(self.weight)


def _pointwise(kind: int, s: Shape, copied: int) -> int:
    """Returns the workspace of a 1 x 1 convolution with stride 1: a matrix product, which also runs on NCHW. Layers of few pixels (7 x 7)
    and many channels are copied; which ones is as in 672 shapes on an H200."""
    rows, columns, samples, tall = s.x[1], s.y[1], s.x[0], s.x[1] > s.y[1]
    size, odd = rows * columns, s.pixels % 2
    if kind == WGRAD:
        return _pointwise_weights(s, copied)
    if kind == FORWARD and s.element == 4:
        copies = odd and size >= 1 << 20 and (samples >= 16 or tall)
    elif kind == FORWARD:
        copies = samples >= 8 if odd else s.pixels % 8 and samples > 16 and samples % 16 and size >= 112 * 672
    elif s.element == 4:
        copies = odd and max(rows, columns) >= 1280 and min(rows, columns) >= 320 and (tall or samples >= 16)
    elif odd:
        copies = samples >= 8 and (size >= 1 << 20 or columns >= 192 and samples <= 32 if tall else size >= 700_000)
    else:
        copies = samples > 16 and samples % 16 and s.pixels >= 3136 and rows >= columns >= 64
    return copied if copies else 400


def _pointwise_weights(s: Shape, copied: int) -> int:
    """The gradient of weights is one filter per image, summed afterwards, unless the filter is large and the image small."""
    rows, columns, samples = s.x[1], s.y[1], s.x[0]
    size = rows * columns
    if s.element == 4:
        copies = rows <= 24 and 8 <= samples <= 32 or s.pixels < 64 and (size >= 1 << 20 or samples >= 16 and size >= 320 * 1280)
    elif s.pixels < 64:
        copies = size >= 1 << 20 or rows > columns >= 192 and samples >= 32
    else:
        copies = s.pixels < 256 and min(rows, columns) >= 256 and samples >= 24
    return copied if copies else 4 * samples * size


def _patches(s: Shape, copied: int) -> int:
    """The forward pass of a vision transformer's patches: the first convolution, with kernels of 8 x 8 and more."""
    rows, samples = s.weight[0], s.x[0]
    if s.element == 2:
        return 0 if rows <= 384 and s.kernel < 1024 or s.x[3] * s.element % 8 else copied
    if s.kernel < 100:  # 8 x 8: the output is written as it is
        x, _, w = s.copies()
        return x + w + 16
    if samples > 48:
        return copied
    return 0 if rows < 960 else sum(s.copies(padded=False)) + 16


def _narrow(kind: int, s: Shape, copied: int) -> int:
    """Three channels: the first convolution of a network for images."""
    if kind == DGRAD:
        return copied if s.element == 2 and s.kernel <= 49 else 0
    if kind == WGRAD and s.kernel <= 9 and s.element == 4:
        return 0
    if kind == WGRAD:
        return 4 * math.prod(s.weight) if s.element == 2 and s.kernel >= 1024 and s.weight[0] <= 768 and s.x[0] >= 16 else copied
    if s.kernel > 49:
        return _patches(s, copied)
    if s.kernel <= 9 or s.kernel == 16 and s.pixels <= 32 * 32:  # patches of 4 x 4 of small images
        return 0
    return sum(s.copies(padded=False)) + 16 if s.element == 4 and s.kernel <= 49 else copied


def _likely(kind: int, s: Shape, processors: int) -> int:
    x, y, w = s.copies()
    if s.channels_last:
        x, y, w = x if s.narrow else 0, 0, w if s.narrow else 0
    channels = _up(s.weight[1], 16 // s.element) * (16 // s.element)
    partial = 0 if kind != WGRAD else partial_sums(s.weight[0], s.kernel, channels, s.x[0], s.x[0] * math.prod(s.y[2:]), s.element, processors)
    if kind == WGRAD and s.dilation >= 12 and s.element == 4:  # the wide branches of DeepLab: the sum is split more often
        partial = (18 if s.pixels >= 2048 else 4) * 4 * math.prod(s.weight)
    copied = x + y + w + partial + 147
    if s.channels_last:
        return copied
    if s.kernel == 1 and set(s.stride) == {1}:
        return _pointwise(kind, s, copied)
    if s.narrow:
        return _narrow(kind, s, copied)
    if kind == FORWARD and s.element == 4 and (s.kernel == 1 and s.x[1] <= 256 or s.x[1] == 64 and (
            s.y[1] == 128 and s.pixels >= 128 * 128 or s.y[1] == 64 and s.pixels <= 56 * 56 and s.x[0] <= 32)):
        return x + 4 * math.prod(s.weight) + 16  # these kernels write the output as it is
    return copied


def _least(s: Shape) -> int:
    """Returns the bytes that every algorithm needs: copies of input and filter where no kernel reads NCHW, else 0. No plain convolution of
    two or three dimensions whose widths are multiples of 32 took less (6,500 large ones in half precision, 4,600 in f32)."""
    plain = len(s.x) > 3 and set(s.stride) == {1} and not s.transposed and not s.channels_last and s.kernel > 1
    if not plain or any(c % 32 for c in s.weight[:2]) or min(s.weight[:2]) <= 32 or s.dilation >= (12 if s.element == 2 else 2):
        return 0
    x, y, w = s.copies()
    return 0 if x + y + w < 16 * MIB or s.element == 4 and s.x[0] * s.pixels < 2048 else x + w


def _most(kind: int, s: Shape, processors: int) -> int:
    """Returns the bytes that no algorithm exceeded: the copies, also of a filter of 1 x 1, and more for the shapes that PyTorch's list of
    algorithms serves by others: few channels, wide dilations, transforms of whole images."""
    x, y, w = s.copies()
    copies, filters, unit = x + y + w, 4 * math.prod(s.weight), 3 * processors * TILE  # unit: partial sums of a full device
    few, far, full = min(s.weight[:2]) <= 40, s.dilation >= 12, s.element == 4
    most = [copies + unit]
    if kind != WGRAD:
        if few:
            most.append((1 if full else 2) * copies + 4 * unit)
        if far:
            most.append(2 * copies + 2 * unit)
        if far and full and kind == FORWARD:
            most.append(copies + 10 * (x + y) + unit)
        if full and s.kernel >= 5 and len(s.x) == 3:
            most.append(4 * copies)
        return max(most)
    most.append(copies + (8 if full or s.kernel == 64 else 4) * filters)
    if s.kernel == 1:
        most += [copies + s.x[0] * filters + 2 * unit, 2 * copies + 2 * unit]
    elif full:
        most.append(copies + min(11 * min(x, y) + 2 * unit, 464 * MIB))
        if s.kernel == 9 and set(s.stride) == {1}:  # tiles of 4 x 4 as 6 x 6
            most.append(9 * (x + y) // 4 + 4 * filters + unit)
    if few or s.kernel >= 49:
        most += [copies + min(180 * filters, 600 * MIB), 2 * copies + 4 * unit]
    if not full:
        most.append(copies + min(120 * filters, 160 * MIB))
    if far:
        most.append(copies + 16 * filters + 2 * unit)
    return max(most)


@functools.lru_cache(maxsize=4096)
def convolution(kind: int, s: Shape, processors: int) -> Bytes:
    """Returns the workspace of a forward pass, a gradient of the input (DGRAD) or of the weights (WGRAD)."""
    if s.transposed and kind != WGRAD:  # its forward pass is the gradient of a plain convolution, and the other way round
        least, likely, most = convolution(DGRAD - kind, s._replace(x=s.y, y=s.x, transposed=False), processors)
        return Bytes(0, likely, most)
    if s.groups > 1:
        x, y, w = s.copies()
        return Bytes(0, 512, 2 * (x + y) + w)
    likely = _likely(kind, s, processors)
    return Bytes(min(_least(s), likely), likely, max(_most(kind, s, processors), likely))


# ---- LSTM, GRU, RNN ----

LSTM, GRU, RNN = 4, 3, 1  # by their number of gates
KEPT = {LSTM: 6, GRU: 7, RNN: 2}  # outputs per layer that the reserve holds; the last layer has one less


class Recurrent(NamedTuple):
    """One call of nn.LSTM, nn.GRU or nn.RNN; time, batch and features are those of its input."""
    gates: int
    time: int
    batch: int
    features: int
    hidden: int
    layers: int
    ways: int
    element: int

    @property
    def state(self) -> int:
        return self.batch * self.hidden * self.ways * self.element

    @property
    def steps(self) -> int:
        """Returns the bytes of the output."""
        return self.time * self.state

    @property
    def inputs(self) -> int:
        return self.time * self.batch * self.features * self.element

    @property
    def weights(self) -> int:
        return self.ways * self.gates * self.hidden * (self.features + self.hidden + (self.layers - 1) * (self.ways + 1) * self.hidden) * self.element

    def small(self, backward: bool) -> bool:
        """Returns whether PyTorch requests cuDNN's algorithm for a small hidden size."""
        if self.gates != RNN and self.ways == 2:
            return False
        return self.hidden <= ((256 if backward else 384) if self.gates == RNN else 128 if backward else 192)

    @property
    def persistent(self) -> bool:
        """Returns whether PyTorch requests the persistent algorithm; a GRU has no other workspace for it."""
        return (self.element == 2 and self.layers == self.ways == 1 and self.hidden <= 1024 and self.hidden % 128 == 0 and self.features % 128 == 0
                and self.time >= 40 and self.batch <= 128 and self.gates != GRU)


def _sequences(r: Recurrent, backward: bool) -> int:
    """Returns the bytes of copies of the input, outputs and gates in the workspace: the largest that a pass needs."""
    t, i, layers = r.steps, r.inputs, r.layers
    if r.ways == 2:
        plain = max((r.gates + 3) * t + i, (5 if layers == 1 else 6) * t + 2 * i) + 2 * layers * r.state
        return plain + (9 * t // 2 if r.small(backward) else 0)
    if r.persistent or r.small(backward):
        if r.gates == LSTM:
            return max(21 * t + i - 2 * layers * r.state, 15 * t + 3 * i)
        most = {RNN: 13 if layers == 1 else 14, GRU: 19}[r.gates]
        return max(most * t + 2 * i, (most - 1) * t + 3 * i) + layers * r.state
    more = layers if r.gates == LSTM else 0
    if layers == 1:
        return max((r.gates + 1) * t + i, max(4 * t + 2 * i, 3 * t + 3 * i) + more * r.state)
    chunk = 16 * (layers + 1) if r.batch < 16 else 8 * (layers + 1) if r.time >= 128 or r.batch == 16 else 4 * (layers + 2)
    return max((r.gates + 1) * t + i, max(3 * t + 2 * i, 2 * t + 3 * i) + (chunk + more) * r.state)


def recurrent_sizes(r: Recurrent, backward: bool = False) -> tuple[int, Bytes]:
    """Returns the bytes of the reserve and of the workspace, as in 406 calls of bench/torch/cudnn_probe.py on an H200."""
    kept = (KEPT[r.gates] * r.layers - 1) * r.steps + 256
    states = (10 if r.gates == LSTM else 5) * r.layers * r.state
    work = _sequences(r, backward) + states + r.weights + 8 * MIB * r.layers * r.ways + 512
    return kept, Bytes(max(work - 8 * MIB * r.layers * r.ways, 512), work, work + 8 * MIB * r.layers)


def transformed(torch: Any) -> bool:
    """Returns whether the code runs inside a transform of torch.func (grad, vmap)."""
    level = getattr(getattr(torch._C, "_functorch", None), "maybe_current_level", None)
    return level is not None and level() is not None


def recurrent(torch: Any, spaces: Any, gates: int) -> Any:
    """Returns a replacement of torch._VF.lstm, gru or rnn_tanh, given the original: nn.LSTM (4 gates), nn.GRU (3) or nn.RNN (1)
    as cuDNN runs it, with its outputs, its reserve for the backward pass, its workspaces and one buffer for the weights'
    gradients."""
    name = {4: "LSTM", 3: "GRU"}.get(gates, "RNN")

    def sizes(x: Any, hidden: int, layers: int, ways: int, backward: bool) -> tuple[int, Bytes]:
        time, batch, features = x.shape
        return recurrent_sizes(Recurrent(gates, time, batch, features, hidden, layers, ways, x.element_size()), backward)

    class Function(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any, hx: Any, cx: Any, how: Any, *weights: Any) -> Any:
            hidden, layers, ways, training, first = how
            y = x.transpose(0, 1).contiguous() if first else x.contiguous()
            out = y.new_empty(y.shape[0], y.shape[1], hidden * ways)
            hy, cy = torch.empty_like(hx), torch.empty_like(cx) if cx is not None else None
            kept, work = sizes(y, hidden, layers, ways, False)
            with spaces.space(y.device.index or 0, work, name):
                reserve = y.new_empty(kept if training else 0, dtype=torch.uint8)
            ctx.save_for_backward(x, hx, cx, out, reserve, *weights)
            ctx.how = how
            if spaces.meter.cost is not None:
                spaces.meter.cost.recurrent(name, y, weights, 1)
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
            work = sizes(y, hidden, layers, ways, True)[1]
            if spaces.meter.cost is not None:
                spaces.meter.cost.recurrent(name, y, weights, 2)
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
        """Autocast's copy of the weights: one buffer in half precision, regardless of the program's type."""

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
            if transformed(torch):
                spaces.less[f"{name} under torch.func"] = "it ran step by step, which needs more memory than cuDNN does"
                with torch.backends.cudnn.flags(enabled=False):
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
    """Returns a replacement of nn.RNNBase.flatten_parameters as on a GPU: the weights move into one buffer."""

    def flatten_parameters(self: Any) -> None:
        weights = [w for w in getattr(self, "_flat_weights", []) if isinstance(w, torch.Tensor)]
        if not weights or len(weights) != len(self._flat_weights) or any(w.device.type != "cuda" or w.dtype != weights[0].dtype for w in weights):
            return
        if transformed(torch):
            return  # weights of a torch.func transform have no storage
        if len({w.untyped_storage()._cdata for w in weights}) != len(weights):
            return  # already flat, or shared
        with torch.no_grad():
            flat, at = weights[0].new_empty(sum(w.numel() for w in weights)), 0
            for w in weights:
                w.data = flat[at:at + w.numel()].view(w.shape)
                at += w.numel()

    return flatten_parameters
