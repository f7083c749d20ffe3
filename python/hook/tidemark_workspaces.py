# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Device memory that libraries take beside the tensors ops return: kept workspaces, and temporaries inside an op.

The rules follow what PyTorch's CUDA kernels do; their constants were read from allocator histories of real runs (H200, torch
2.11) and are listed in docs/analyses/predict.md. What cannot be known without the library (cuDNN's choice of algorithm) is named in
`unknown`, never guessed silently.
"""
from __future__ import annotations

import os
import threading
from typing import Any

MATMULS = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::_scaled_mm", "aten::addmv", "aten::mv"}
REDUCTIONS = {"aten::sum", "aten::mean", "aten::amax", "aten::amin", "aten::linalg_vector_norm", "aten::prod", "aten::var", "aten::std"}
CONVOLUTIONS = {"aten::convolution", "aten::convolution_backward", "aten::cudnn_convolution"}


def _config(text: str) -> int:
    """CUBLAS_WORKSPACE_CONFIG, ":4096:2:16:8": KiB and how many of each."""
    numbers = [int(x) for x in text.split(":") if x.isdigit()]
    return sum(a * b << 10 for a, b in zip(numbers[::2], numbers[1::2]))


def _up(a: int, b: int) -> int:
    return -(-a // b)


def _pow2(n: int) -> int:
    """The largest power of two up to n."""
    return 1 << (max(n, 1).bit_length() - 1)


def reduce_bytes(outputs: int, inputs: int, fast: bool, vector: int, processors: int, threads: int = 2048) -> int:
    """Bytes of the buffer through which the blocks of one reduction join their sums; 0 where each block has its own output.
    outputs: results; inputs: values each is made of; fast: reduced along the innermost dimension; vector: results a thread makes at once."""
    width_of, height_of = (inputs, outputs) if fast else (_up(outputs, vector), inputs)
    most = 512 // (1 if fast else vector)
    dim0, dim1 = min(_pow2(width_of), most), min(_pow2(height_of), most)
    width = min(dim0, 32)
    height = min(dim1, most // width)
    width = min(dim0, most // height)
    step_in, step_out = (width, 1) if fast else (1, width)
    split = _up(inputs, step_in) >= min(height * 16, 256)
    if split:
        step_in *= height
    else:
        step_out *= height
    values = _up(inputs, step_in)
    grid = _up(_up(outputs, 1 if fast else vector), step_out)
    target = processors * (threads // (width * height))
    if not split or values < 256 or grid > target:
        return 0
    ctas = max(min(_up(target, grid), _up(values, 16)), _up(values, 256))
    if ctas <= 1:
        return 0
    return 4 * outputs * ctas * (1 if fast else width * vector)


class Workspaces:
    def __init__(self, torch: Any, meter: Any, device: Any) -> None:
        self.torch, self.meter, self.device = torch, meter, device
        self.kept: set[tuple[Any, ...]] = set()
        self.unknown: dict[str, str] = {}
        given = os.environ.get("CUBLAS_WORKSPACE_CONFIG")
        own = device.pairs.get("cublas")
        self.cublas: int = _config(given) if given else int(own) if own else 32 << 20 if 9 <= device.major <= 12 else 8519680
        self.lt: int = int(device.pairs.get("cublaslt", 1 << 20))
        self.cudnn: int = 0  # bytes that convolutions may reserve beside their tensors, once there are any
        self.rules: dict[str, Any] = {
            "aten::embedding_dense_backward": self.embedding, "aten::_scaled_dot_product_efficient_attention_backward": self.efficient,
            "aten::_scaled_dot_product_cudnn_attention_backward": self.cudnn_attention,
            **dict.fromkeys(MATMULS, self.matmul), **dict.fromkeys(REDUCTIONS, self.reduction), **dict.fromkeys(CONVOLUTIONS, self.convolution),
        }

    def keep(self, index: int, what: str, size: int) -> None:
        """Taken once by each thread (a library's handle is its thread's own), never given back."""
        key = (index, what, threading.get_ident())
        if size and key not in self.kept:
            self.kept.add(key)
            addr = self.meter.take(index, size)
            self.meter.recorder.label(index, addr, 9, what)

    def passing(self, index: int, *sizes: int) -> None:
        """Taken inside an op, all at once, given back before it ends."""
        held = [(self.meter.take(index, s), s) for s in sizes if s]
        for addr, size in held:
            self.meter.give(index, addr, size)

    def before(self, func: Any, args: Any, kwargs: Any) -> Any:
        return None

    def after(self, func: Any, args: Any, kwargs: Any, out: Any, hold: Any) -> None:
        rule = self.rules.get(func._schema.name)
        if rule is None:
            return
        first: Any = out[0] if isinstance(out, (tuple, list)) and out else out
        if first is None:
            first = next((t for t in out if t is not None), None)
        if first is not None and first.device.type == "cuda":
            rule(func, args, kwargs, out, first.device.index or 0)

    # ---- rules ----

    def matmul(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        self.keep(index, "cuBLAS workspace", self.cublas)
        if func._schema.name == "aten::addmm" and args[0].dim() == 1:  # a bias in the epilogue
            self.keep(index, "cuBLASLt workspace", self.lt)

    def reduction(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        x = args[0]
        n, results = x.numel(), max(out.numel(), 1)
        if n <= results or not x.is_contiguous():
            return
        dims = kwargs.get("dim", args[1] if len(args) > 1 and isinstance(args[1], (list, tuple, int)) else None)
        dims = [dims] if isinstance(dims, int) else list(dims or range(x.dim()))
        fast = any(d % x.dim() == x.dim() - 1 for d in dims) if x.dim() else True
        vector = 1
        while not fast and vector < 4 and x.shape[-1] % (vector * 2) == 0:
            vector *= 2
        size = reduce_bytes(results, n // results, fast, vector, self.device.processors)
        if size:
            self.passing(index, size, 4 * _up(results, 32))

    def embedding(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        """Indices are sorted; rows of equal ones are summed in pieces of ten."""
        grad, indices, rows = args[0], args[1], args[2]
        n = indices.numel()
        if n <= 3072 and (len(args) < 4 or args[3] < 0):
            return
        pieces = min(n, rows) + n // 10
        self.passing(index, 8 * n, 8 * n, 8 * n, 8 * pieces, 4 * pieces * grad.shape[-1])

    def efficient(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        grad, query, heads = args[0], args[1], args[1].shape[1]
        b, m, k = query.shape[0], query.shape[2], query.shape[3]
        delta = 4 * b * heads * m
        self.passing(index, grad.numel() * grad.element_size(), delta, delta)
        self.passing(index, 4 * b * heads * (_up(m, 64) * 64 * _up(k, 32) * 32 + 32), delta)

    def cudnn_attention(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        """Sums of query gradients in f32, and one number a row."""
        q = args[1]
        self.passing(index, 4 * q.numel() + 4 * q.shape[0] * q.shape[1] * q.shape[2])

    def convolution(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        backward = func._schema.name == "aten::convolution_backward"
        weight, stride = (args[2], args[4]) if backward else (args[1], args[3] if len(args) > 3 else [1])
        if all(k <= s for k, s in zip(weight.shape[2:], list(stride) * 3)):
            return  # windows that do not overlap (a vision transformer's patches): a matrix product
        self.cudnn = int(self.device.pairs.get("cudnn", 184 << 20))
        self.unknown["cuDNN workspaces of convolutions"] = "cuDNN chooses algorithms on the device; reserved bytes are a range"


def attention(torch: Any, device: Any) -> Any:
    """scaled_dot_product_attention as a GPU of this capability chooses it: cuDNN, memory-efficient, or plain."""
    aten = torch.ops.aten
    plain = torch._C._nn.scaled_dot_product_attention

    def chosen(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, *,
               scale: float | None = None, enable_gqa: bool = False) -> Any:
        fused = query.device.type == "cuda" and query.dim() == 4 and query.shape[-1] % 8 == 0
        half = query.dtype in (torch.float16, torch.bfloat16)
        if not fused or enable_gqa and not half:
            return plain(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
        grad = torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
        mask = attn_mask
        if mask is not None and mask.dtype == torch.bool:
            mask = torch.zeros_like(mask, dtype=query.dtype).masked_fill_(mask.logical_not(), float("-inf"))
        if mask is not None:
            mask = mask.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
        if enable_gqa and key.shape[1] != query.shape[1]:
            key = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
            value = value.repeat_interleave(query.shape[1] // value.shape[1], 1)
        if half and device.major in (9, 10) and query.shape[-1] <= 128:
            return aten._scaled_dot_product_cudnn_attention(query, key, value, mask, grad, dropout_p, is_causal, False, scale=scale)[0]
        if half and device.major >= 8 and mask is None and query.shape[-1] <= 256:
            return aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, False, scale=scale)[0]
        return aten._scaled_dot_product_efficient_attention(query, key, value, mask, grad, dropout_p, is_causal, scale=scale)[0]

    return chosen


def lstm(torch: Any, meter: Any) -> Any:
    """nn.LSTM as cuDNN runs it: its outputs, what it keeps for the backward pass, its workspaces, one buffer for weights' gradients."""

    def sizes(x: Any, hidden: int, layers: int, ways: int) -> tuple[int, int]:
        """Bytes of the reserve and of the workspace; x is time, batch, features."""
        t, b, e = x.shape[0], x.shape[1], x.element_size()
        kept = (5 * layers + layers - 1) * t * b * hidden * ways * e
        return kept + 256, kept + 10 * layers * b * hidden * ways * e + 512

    class Function(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(ctx: Any, x: Any, hx: Any, cx: Any, how: Any, *weights: Any) -> Any:
            hidden, layers, ways, training, first = how
            y = x.transpose(0, 1).contiguous() if first else x.contiguous()
            out = y.new_empty(y.shape[0], y.shape[1], hidden * ways)
            hy, cy = torch.empty_like(hx), torch.empty_like(cx)
            kept, work = sizes(y, hidden, layers, ways)
            space = y.new_empty(work, dtype=torch.uint8)
            reserve = y.new_empty(kept if training else 0, dtype=torch.uint8)
            ctx.save_for_backward(x, hx, cx, out, reserve, *weights)
            ctx.how = how
            del space, y
            return out.transpose(0, 1) if first else out, hy, cy

        @staticmethod
        def backward(ctx: Any, grad: Any, ghy: Any, gcy: Any) -> Any:
            x, hx, cx, out, reserve, *weights = ctx.saved_tensors
            hidden, layers, ways, _, first = ctx.how
            y = x.transpose(0, 1).contiguous() if first else x.contiguous()
            g = grad.transpose(0, 1).contiguous() if first else grad.contiguous()
            dx, dhx, dcx = torch.empty_like(y), torch.empty_like(hx), torch.empty_like(cx)
            work = sizes(y, hidden, layers, ways)[1]
            space = y.new_empty(work, dtype=torch.uint8)
            del space, g
            flat = weights[0].new_empty(sum(w.numel() for w in weights))
            space = y.new_empty(work, dtype=torch.uint8)
            del space, y
            grads, at = [], 0
            for w in weights:
                grads.append(flat[at:at + w.numel()].view(w.shape))
                at += w.numel()
            return dx.transpose(0, 1) if first else dx, dhx, dcx, None, *grads

    plain = torch._VF.lstm

    def run(x: Any, *rest: Any) -> Any:
        if x.device.type != "cuda" or not isinstance(rest[0], (list, tuple)):  # packed sequences have sizes of their own
            return plain(x, *rest)
        (hx, cx), weights, bias, layers, dropout, training, both, first = rest[:8]
        ways = 2 if both else 1
        if torch.is_autocast_enabled("cuda"):
            to = torch.get_autocast_dtype("cuda")
            x, hx, cx, weights = x.to(to), hx.to(to), cx.to(to), [w.to(to) for w in weights]
        return Function.apply(x, hx, cx, (hx.shape[-1], layers, ways, training, first), *weights)

    return run
