# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Predicts device memory that libraries take in addition to the tensors that ops return: kept workspaces, and temporaries inside
an op.

The rules follow what PyTorch's CUDA kernels do; their constants were read from allocator histories of real runs (H200, torch
2.11) and are listed in docs/analyses/predict.md. cuDNN's own memory is in tidemark_cudnn.py. Sizes that are unknown without the
library (cuDNN's choice of algorithm) are listed in `unknown` and recorded with their least and most bytes, never guessed
silently.
"""
from __future__ import annotations

import contextlib
import os
import threading
from typing import Any

MATMULS = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::_scaled_mm", "aten::addmv", "aten::mv"}
SUMS = {"aten::sum", "aten::mean", "aten::prod"}
LONG_ROWS = (20, 20_000), (40, 10_000), (79, 8000), (199, 5000), (799, 3000), (4000, 800), (1 << 62, 400)  # up to so many rows: topk's several blocks from this length
REDUCTIONS = {"aten::sum", "aten::mean", "aten::amax", "aten::amin", "aten::linalg_vector_norm", "aten::prod", "aten::var", "aten::std"}


def _config(text: str) -> int:
    """Returns the bytes of CUBLAS_WORKSPACE_CONFIG, such as ":4096:2:16:8": KiB and number of each."""
    numbers = [int(x) for x in text.split(":") if x.isdigit()]
    return sum(a * b << 10 for a, b in zip(numbers[::2], numbers[1::2]))


def _up(a: int, b: int) -> int:
    return -(-a // b)


def _pow2(n: int) -> int:
    """Returns the largest power of two up to n."""
    return 1 << (max(n, 1).bit_length() - 1)


def reduce_bytes(outputs: int, inputs: int, fast: bool, vector: int, processors: int, threads: int = 2048) -> tuple[int, int]:
    """Returns the bytes of the buffer in which the blocks of one reduction combine their sums, and of their counters; 0, 0 if
    each block has its own output. outputs: results; inputs: values each is made of; fast: reduced along the innermost dimension;
    vector: results a thread makes at once."""
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
        return 0, 0
    ctas = max(min(_up(target, grid), _up(values, 16)), _up(values, 256))
    if ctas <= 1:
        return 0, 0
    return 4 * outputs * ctas * (1 if fast else width * vector), 4 * grid


class Workspaces:
    def __init__(self, torch: Any, meter: Any, device: Any, cudnn: Any) -> None:
        self.torch, self.meter, self.device, self.library = torch, meter, device, cudnn
        self.kept: set[tuple[Any, ...]] = set()
        self.unknown: dict[str, str] = {}  # what a prediction cannot know; the range covers it
        self.less: dict[str, str] = {}  # the same, for which peaks may be lower than any bound
        self.more: dict[str, str] = {}  # ... or higher
        given = os.environ.get("CUBLAS_WORKSPACE_CONFIG")
        own = device.pairs.get("cublas")
        self.cublas: int = _config(given) if given else int(own) if own else 32 << 20 if 9 <= device.major <= 12 else 8519680
        self.lt: int = int(device.pairs.get("cublaslt", 1 << 20))
        self.rules: dict[str, Any] = {  # after the results
            "aten::_scaled_dot_product_efficient_attention_backward": self.efficient,
            "aten::_scaled_dot_product_cudnn_attention_backward": self.cudnn_attention,
            "aten::_scaled_dot_product_flash_attention_backward": self.flash_attention,
            "aten::topk": self.topk, "aten::isin": self.isin, "aten::_safe_softmax": self.safe_softmax,
            **dict.fromkeys(MATMULS, self.matmul), **dict.fromkeys(REDUCTIONS, self.reduction),
        }
        self.orders: dict[str, Any] = {  # the results among the workspaces, in the kernel's own order
            "aten::native_dropout": self.dropout, "aten::embedding_dense_backward": self.embedding,
            "aten::convolution": self.convolution, "aten::convolution_backward": self.convolution_backward,
            "aten::_scaled_dot_product_efficient_attention": self.efficient_forward,
            "aten::_scaled_dot_product_cudnn_attention": self.cudnn_attention_forward,
        }

    def keep(self, index: int, what: str, size: int) -> None:
        """Allocates a workspace once per thread, because a library's handle belongs to a thread; never frees it."""
        key = (index, what, threading.get_ident())
        if size and key not in self.kept:
            self.kept.add(key)
            addr = self.meter.take(index, size)
            self.meter.recorder.label(index, addr, 9, what)

    def passing(self, index: int, *sizes: int) -> None:
        """Allocates inside an op, all at once, and frees before the op ends."""
        held = [(self.meter.take(index, s), s) for s in sizes if s]
        for addr, size in held:
            self.meter.give(index, addr, size)

    @contextlib.contextmanager
    def held(self, index: int, *sizes: int, last_first: bool = False) -> Any:
        """Allocates inside an op, and frees at the end of the block: in the order of allocation, or as C++ destroys its variables."""
        taken = [(self.meter.take(index, s), s) for s in sizes if s]
        yield
        for addr, size in reversed(taken) if last_first else taken:
            self.meter.give(index, addr, size)

    @contextlib.contextmanager
    def space(self, index: int, size: Any, what: str) -> Any:
        """Allocates a workspace whose size cuDNN chooses (least, likely, most bytes) with the likely size; its label has the
        other two."""
        addr = self.meter.take(index, size.likely) if size.most else 0
        if addr and size.least != size.most:
            self.meter.recorder.label(index, addr, 9, f"cuDNN workspace of {what}: {size.least} to {size.most} bytes")
            self.unknown["cuDNN workspaces"] = "cuDNN chooses algorithms on the device; the peaks have a range"
        yield
        if addr:
            self.meter.give(index, addr, size.likely)

    def results(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        """Records the results of an op, and its workspaces."""
        name = func._schema.name
        order, rule = self.orders.get(name), self.rules.get(name)
        first: Any = None
        if order or rule:
            first = next((t for t in out if t is not None), None) if isinstance(out, (tuple, list)) else out
        index = first.device.index or 0 if first is not None and first.device.type == "cuda" else None
        if order and index is not None:
            order(func, args, kwargs, out, index)
            return
        self.meter.see_all(out)
        if rule and index is not None:
            rule(func, args, kwargs, out, index)

    def contiguous(self, tensor: Any, channels_last: bool = False) -> int:
        """Returns the bytes of the copy that a kernel makes of a tensor with gaps; 0 if it needs none."""
        if channels_last and tensor.dim() == 4:
            return 0 if tensor.is_contiguous(memory_format=self.torch.channels_last) else tensor.numel() * tensor.element_size()
        return 0 if tensor.is_contiguous() else tensor.numel() * tensor.element_size()

    # ---- rules ----

    def matmul(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        self.keep(index, "cuBLAS workspace", self.cublas)
        if func._schema.name == "aten::addmm" and args[0].dim() == 1:  # a bias in the epilogue
            self.keep(index, "cuBLASLt workspace", self.lt)

    def reduction(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        """A sum of another type than its input casts the input first, except from half precision to f32."""
        x, half = args[0], (self.torch.float16, self.torch.bfloat16)
        cast = func._schema.name in SUMS and x.dtype != out.dtype and not (x.dtype in half and out.dtype == self.torch.float32)
        with self.held(index, x.numel() * out.element_size() if cast else 0):
            self.join_blocks(func, args, kwargs, out, index)

    def join_blocks(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        x = args[0]
        n, results = x.numel(), max(out.numel(), 1)
        if n <= results or not x.is_contiguous():
            return
        at = 2 if func._schema.name == "aten::linalg_vector_norm" else 1  # its first argument is the order
        dims = kwargs.get("dim", args[at] if len(args) > at and isinstance(args[at], (list, tuple, int)) else None)
        dims = [dims] if isinstance(dims, int) else list(dims or range(x.dim()))
        fast = any(d % x.dim() == x.dim() - 1 for d in dims) if x.dim() else True
        vector = 1
        while not fast and vector < 4 and x.shape[-1] % (vector * 2) == 0:
            vector *= 2
        size, counters = reduce_bytes(results, n // results, fast, vector, self.device.processors)
        if size:
            self.passing(index, size, counters)

    def safe_softmax(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        """Finds the rows without a finite score, which become zeros."""
        rows = out.numel() // max(out.shape[-1], 1) if out.dim() else 1
        with self.held(index, out.numel(), rows, out.element_size(), last_first=True):
            pass

    def isin(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        """Compares each element with each of a few; many are sorted, which needs more."""
        n, among = out.numel(), args[1].numel() if isinstance(args[1], self.torch.Tensor) else 1
        if among < 10 * n ** 0.145:
            with self.held(index, n * among, n, last_first=True):
                pass
        else:
            self.more["torch.isin of many elements"] = "temporaries of its sort are not counted"

    def topk(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        """Few long rows are counted by several blocks each, which have digits to join."""
        x = args[0]
        dim = args[2] if len(args) > 2 else kwargs.get("dim", -1)
        length = x.shape[dim] if x.dim() else 1
        rows = x.numel() // max(length, 1)
        if not rows or length < next(least for most, least in LONG_ROWS if rows <= most):
            return
        threads = 256
        per = max(4, min(64, _up(x.numel(), self.device.processors * 6 * threads))) * threads
        blocks, digits = rows * _up(length, per), 256
        with self.held(index, rows * x.element_size(), 8 * rows, 8 * rows * max(x.element_size() // 4, 1), blocks * digits * 2, rows * digits * 4, 4 * blocks, 4 * blocks, last_first=True):
            self.passing(index, 1279)
            self.passing(index, 1279)

    def dropout(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        self.meter.see_all(out[::-1])  # the mask first

    def embedding(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        """Indices are sorted; rows of equal ones are summed in pieces of ten."""
        grad, indices, rows = args[0], args[1], args[2]
        n = indices.numel()
        copy = 0 if grad.is_contiguous() else grad.numel() * grad.element_size()
        if n <= 3072 and (len(args) < 4 or args[3] < 0):
            with self.held(index, copy):
                self.meter.see_all(out)
            return
        pieces = min(n, rows) + n // 10
        with self.held(index, copy, 8 * n, 8 * n):
            self.passing(index, 8 * n, 16 * n + 18943)  # a range, and the room of the sort
            self.meter.see_all(out)
            with self.held(index, 8 * n, 8):
                self.passing(index, 8 * n, 1279)
                with self.held(index, 8 * n, 8 * n):
                    self.passing(index, 1279)
                    self.passing(index, 8, 8 * pieces, 4 * pieces * grad.shape[-1])

    def efficient_forward(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        self.meter.see_all(out[:2])  # seed and offset of dropout are on the host

    def efficient(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        """Allocates sums of query gradients in f32, in blocks of 64 x 64 with a lock each."""
        grad, query, heads = args[0], args[1], args[1].shape[1]
        b, m, k = query.shape[0], query.shape[2], query.shape[3]
        delta = 4 * b * heads * m
        self.passing(index, grad.numel() * grad.element_size(), delta, delta)
        self.passing(index, 4 * b * heads * _up(m, 64) * _up(k, 64) * (64 * 64 + 4), delta)

    def cudnn_attention_forward(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        """Allocates seed and offset of dropout, the output, one number per row if there are gradients, and a workspace."""
        seeds = [t for t in out[6:8] if t.device.type == "cuda"]
        self.meter.see_all(seeds)
        with self.held(index, *[8] * (2 - len(seeds))):
            self.meter.see(out[0])
            if args[4]:
                self.meter.see(out[1])
            self.passing(index, 256 if args[0].shape[2] > 1 else 0)

    def cudnn_attention(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        """Allocates sums of query gradients in f32, and one number per row; gradients of each head, where heads share keys."""
        q, k, v = args[1:4]
        shared = sum(t.numel() // t.shape[1] * q.shape[1] * t.element_size() for t in (k, v) if t.shape[1] != q.shape[1])
        self.passing(index, 4 * q.numel() + 4 * q.shape[0] * q.shape[1] * q.shape[2] + 256 + shared)

    def flash_attention(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        """Allocates gradients of each head, where heads share keys."""
        q, k, v = args[1:4]
        self.passing(index, *(t.numel() // t.shape[1] * q.shape[1] * t.element_size() for t in (k, v) if t.shape[1] != q.shape[1]))

    def shape_of(self, x: Any, y: Any, weight: Any, stride: Any, dilation: Any, transposed: bool, groups: int) -> tuple[Any, bool]:
        """Returns the convolution as cuDNN sees it (None: another library runs it, or one without tensor cores), and whether
        channels come last."""
        last = x.dim() == 4 and any(t.is_contiguous(memory_format=self.torch.channels_last) and not t.is_contiguous() for t in (x, weight))
        half = x.dtype in (self.torch.float16, self.torch.bfloat16)
        tf32 = x.dtype == self.torch.float32 and self.torch.backends.cudnn.allow_tf32 and self.device.major >= 8
        if not (half and self.device.major >= 7 or tf32):
            self.more["cuDNN workspaces of convolutions without tensor cores"] = "taken to need none"
            return None, last
        if groups > 1:
            self.unknown["cuDNN workspaces of grouped convolutions"] = "taken to need none; at most 2 copies of input and output"
        if self.torch.backends.cudnn.benchmark:
            self.more["cudnn.benchmark"] = "trials of algorithms take more workspace, which is not known"
        return self.library.Shape(tuple(x.shape), tuple(y.shape), tuple(weight.shape), tuple(stride), x.element_size(), last, transposed,
                                  8 if x.dtype == self.torch.float16 else 16, max(dilation, default=1), groups), last

    def convolve(self, index: int, kind: int, shape: Any) -> None:
        if shape is not None:
            with self.space(index, self.library.convolution(kind, shape, self.device.processors), "a convolution"):
                pass

    def convolution(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        x, weight, stride = args[0], args[1], args[3]
        shape, last = self.shape_of(x, out, weight, stride, args[5], args[6], args[8])
        with self.held(index, self.contiguous(x, last), self.contiguous(weight, last)):
            self.meter.see_all(out)
            self.convolve(index, self.library.FORWARD, shape)

    def convolution_backward(self, func: Any, args: Any, kwargs: Any, out: Any, index: int) -> None:
        grad, x, weight, stride = args[0], args[1], args[2], args[4]
        shape, last = self.shape_of(x, grad, weight, stride, args[6], args[7], args[9])
        with self.held(index, self.contiguous(grad, last)):
            for t, other, kind in (out[0], weight, self.library.DGRAD), (out[1], x, self.library.WGRAD):
                if t is not None:
                    with self.held(index, self.contiguous(other, last)):
                        self.meter.see_all(t)
                        self.convolve(index, kind, shape)
        if out[2] is not None:
            self.meter.see_all(out[2])
            outer = grad.stride(1) == 1
            self.passing(index, *reduce_bytes(grad.shape[1], grad.numel() // grad.shape[1], not outer, 4 if outer and grad.shape[1] % 4 == 0 else 1, self.device.processors))


def attention(torch: Any, device: Any, meter: Any) -> Any:
    """Returns a replacement of scaled_dot_product_attention with the kernel that a GPU of this capability uses: cuDNN,
    memory-efficient, or plain."""
    aten = torch.ops.aten
    products = torch._C._nn.scaled_dot_product_attention

    def plain(*args: Any, **kw: Any) -> Any:
        """All products. A mask is added in place, unless tensors are of a subclass, as fake ones are."""
        meter.in_place += 1
        try:
            return products(*args, **kw)
        finally:
            meter.in_place -= 1

    def in_rows(*given: Any) -> bool:
        """Returns whether the last dimension of all is contiguous, which every fused kernel needs."""
        return all(t is None or t.stride(-1) == 1 or t.shape[-1] == 1 for t in given)

    def cast(t: Any) -> Any:
        """Returns what autocast gives to the original function."""
        return t.to(torch.get_autocast_dtype("cuda")) if t is not None and t.dtype.is_floating_point and t.dtype != torch.float64 else t

    def chosen(query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, *,
               scale: float | None = None, enable_gqa: bool = False) -> Any:
        if query.device.type == "cuda" and torch.is_autocast_enabled("cuda"):
            query, key, value, attn_mask = map(cast, (query, key, value, attn_mask))
        fused = query.device.type == "cuda" and query.dim() == 4 and query.shape[-1] % 8 == 0 and in_rows(query, key, value, attn_mask)
        half = query.dtype in (torch.float16, torch.bfloat16)
        if not fused or enable_gqa and not half:
            return plain(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
        grad = torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
        mask = attn_mask
        if mask is not None and mask.dtype == torch.bool:
            mask = torch.where(mask, torch.full((), 0.0, dtype=query.dtype, device=mask.device), torch.full((), float("-inf"), dtype=query.dtype, device=mask.device))
        if mask is not None:
            mask = mask.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
        if half and device.major in (9, 10) and query.shape[-1] <= 128 and key.shape[2] > 1:
            return aten._scaled_dot_product_cudnn_attention(query, key, value, mask, grad, dropout_p, is_causal, False, scale=scale)[0]
        if half and device.major >= 8 and mask is None and query.shape[-1] <= 256:
            return aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, False, scale=scale)[0]
        if enable_gqa and key.shape[1] != query.shape[1] or mask is not None and mask.stride(-1) != 1:
            # the memory-efficient kernel needs as many keys as queries, and rows of a mask
            return plain(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=True)
        return aten._scaled_dot_product_efficient_attention(query, key, value, mask, grad, dropout_p, is_causal, scale=scale)[0]

    return chosen
