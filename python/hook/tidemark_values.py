# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Chooses values and sizes that depend on data in a prediction: numbers that a program reads from tensors, and results of unknown
size.

A number that the program reads is 0 (or TIDEMARK_PREDICT_VALUE), except for checks whose result is known in a run that works:
values are finite, parameters of a distribution are valid. A result whose size depends on data gets the largest size that it can
have; if there is no largest size, a stated one.
"""
from __future__ import annotations

import copyreg
import sys
from typing import Any

SYNC_NORM = {"aten::batch_norm_stats", "aten::batch_norm_gather_stats_with_counts", "aten::batch_norm_elemt", "aten::batch_norm_backward_reduce", "aten::batch_norm_backward_elemt"}
CELLS = {"aten::_thnn_fused_lstm_cell", "aten::_thnn_fused_lstm_cell_backward_impl", "aten::_thnn_fused_gru_cell", "aten::_thnn_fused_gru_cell_backward"}
ANSWERED = SYNC_NORM | CELLS | {"aten::_use_cudnn_ctc_loss", "aten::_use_miopen_ctc_loss", "aten::_ctc_loss", "aten::_ctc_loss_backward", "aten::sparse_mask"}  # ops without a fake kernel
LARGEST = "its size depends on data; the largest it can be was taken"
LEAST = "its size depends on data; its minlength was taken"
ONE_EACH = "its size depends on data; one repetition each was taken, more need more memory"
EQUAL = "its sizes depend on data; equal parts were taken"
INSIDE = "temporaries inside it are not counted"
ONCE = "its elements are counted once; they need more memory"
MAY_BE = {LARGEST: ".less", **dict.fromkeys((LEAST, ONE_EACH, EQUAL, INSIDE, ONCE, "its memory is not counted"), ".more")}  # which bound of the peaks does not hold
SPARSE = {"aten::clone", "aten::_coalesce", "aten::_to_copy", "aten::mul", "aten::div", "aten::neg", "aten::abs", "aten::sqrt", "aten::pow", "aten::add_"}  # their fake kernels lose the elements


def read(torch: Any, func: Any, tensor: Any, value: int, known: Any = None) -> Any:
    """Returns the value that a program reads from a tensor without data. `known`: its value, if it has one."""
    kind = getattr(tensor, "dtype", torch.float32)
    if known is not None:
        return bool(known) if kind == torch.bool else float(known) if kind.is_floating_point else int(known)
    if str(func._schema.returns[0].type) == "bool":
        return False  # torch.equal
    if kind == torch.bool:
        return _from_distributions()  # `if not valid.all(): raise`
    return complex(value) if kind.is_complex else float(value) if kind.is_floating_point else value


def array(torch: Any, tensor: Any, value: int, known: Any = None) -> Any:
    """numpy() of a fake tensor: its known values, else `value` everywhere."""
    if known is not None:
        with torch.utils._mode_utils.no_dispatch():
            return known.numpy().copy()
    import numpy as np

    kind = str(tensor.dtype).rpartition(".")[2]
    return np.full(tuple(tensor.shape), value, dtype="float32" if kind == "bfloat16" else kind)


def swap(torch: Any) -> Any:
    """Returns torch.utils.swap_tensors without its check of weak references, which fake tensors have: a module's move keeps its parameters'
    identity, tied ones included."""

    def swap_tensors(a: Any, b: Any) -> None:
        a.__class__, b.__class__ = b.__class__, a.__class__
        a.__dict__, b.__dict__ = b.__dict__, a.__dict__
        for name in copyreg._slotnames(a.__class__):  # type: ignore[attr-defined]
            if hasattr(a, name) and hasattr(b, name):
                va, vb = getattr(a, name), getattr(b, name)
                setattr(a, name, vb)
                setattr(b, name, va)
        torch._C._swap_tensor_impl(a, b)

    return swap_tensors


def _from_distributions() -> bool:
    frame: Any = sys._getframe(2)
    for _ in range(12):
        if frame is None:
            return False
        if frame.f_code.co_filename.endswith("torch/distributions/distribution.py"):
            return True
        frame = frame.f_back
    return False


def sparse_answer(torch: Any, func: Any, args: Any, kwargs: Any, steals: bool) -> Any:
    """Returns a tuple with the result of an op on the elements of a sparse tensor, or None. `steals`: the autograd engine calls it, which
    copies no gradient whose parts are contiguous."""
    name, x = func._schema.name, args[0]
    if name == "aten::add_":  # to a dense tensor: makes no tensor
        return (x,) if x.layout is torch.strided else None
    if "layout" in kwargs or any(isinstance(a, torch.Tensor) and a.dim() for a in args[1:]):
        return None
    indices, elements = x._indices(), x._values()
    if name == "aten::_coalesce":  # all indices are assumed to differ
        indices, elements = indices.clone(), elements.clone()
    elif name != "aten::clone" or not (steals and indices.is_contiguous() and elements.is_contiguous()):
        indices, elements = indices.clone(), func(elements, *args[1:], **kwargs)
    return (_sparse(torch, x, indices, elements, name == "aten::_coalesce" or x.is_coalesced()),)


def _sparse(torch: Any, like: Any, indices: Any, elements: Any, coalesced: bool) -> Any:
    return torch.ops.aten._sparse_coo_tensor_with_dims_and_tensors(like.sparse_dim(), like.dense_dim(), like.shape, indices, elements, dtype=elements.dtype,
                                                                   layout=torch.sparse_coo, device=elements.device, is_coalesced=coalesced)


def known_answer(name: str, args: Any) -> Any:
    """Returns a tuple with the result of an op that has no fake kernel, or None."""
    if name.startswith("aten::_use_"):
        return (False,)
    if name == "aten::sparse_mask":
        dense, mask = args[:2]
        return (_sparse(sys.modules["torch"], mask, mask._indices().clone(), dense.new_empty(mask._values().shape), mask.is_coalesced()),)
    if name == "aten::_ctc_loss":
        probs, targets, lengths = args[0], args[1], args[3]
        longest = targets.shape[1] if targets.dim() == 2 else max(lengths) if isinstance(lengths, (list, tuple)) and lengths else targets.numel()
        return ((probs.new_empty((probs.shape[1],)), probs.new_empty((probs.shape[1], probs.shape[0], 2 * int(longest) + 1))),)
    if name == "aten::_ctc_loss_backward":
        return (args[1].new_empty(args[1].shape),)
    return _sync_norm(name, args) if name in SYNC_NORM else _cell(name, args)


def _cell(name: str, args: Any) -> Any:
    """Ops of LSTMCell and GRUCell: the new state, and the gates that the backward pass needs."""
    if name == "aten::_thnn_fused_lstm_cell":
        return ((args[2].new_empty(args[2].shape), args[2].new_empty(args[2].shape), args[0].new_empty(args[0].shape)),)
    if name == "aten::_thnn_fused_gru_cell":
        return ((args[2].new_empty(args[2].shape), args[2].new_empty((args[2].shape[0], 5 * args[2].shape[1]))),)
    if name == "aten::_thnn_fused_lstm_cell_backward_impl":
        cx, gates, bias = args[2], args[4], args[5]
        return ((gates.new_empty(gates.shape), cx.new_empty(cx.shape), gates.new_empty((gates.shape[1],)) if bias else None),)
    if name == "aten::_thnn_fused_gru_cell_backward":
        grad, bias = args[0], args[2]
        rows, wide = grad.shape[0], 3 * grad.shape[1]
        return ((*(grad.new_empty((rows, wide)) for _ in range(2)), grad.new_empty(grad.shape), *(grad.new_empty((wide,)) if bias else None for _ in range(2))),)
    return None


def _sync_norm(name: str, args: Any) -> Any:
    """Ops of SyncBatchNorm: statistics of each channel in f32, or a tensor like the input."""
    x = args[1] if "backward" in name else args[0]
    channel = sys.modules["torch"].empty(x.shape[1], device=x.device)
    if name.endswith("elemt"):
        return (sys.modules["torch"].empty_like(x),)
    if name.endswith("reduce"):
        like, (inputs, weights, biases) = channel.new_empty, args[5:8]
        return ((*(like(channel.shape) if inputs else None for _ in range(2)), like(channel.shape) if weights else None, like(channel.shape) if biases else None),)
    return ((channel, channel.new_empty(channel.shape)),)


def sized(torch: Any, func: Any, args: Any, kwargs: Any, count: Any) -> tuple[Any, str]:
    """Returns the result of an op whose size depends on data, and how its size was chosen ("": it is known). `count`: returns the number of true elements
    of a mask, or None."""
    name, x = func._schema.name, args[0]
    if name in ("aten::nonzero", "aten::argwhere"):
        return x.new_empty((x.numel(), x.dim()), dtype=torch.int64), LARGEST
    if name == "aten::masked_select":
        n = count(args[1]) if x.shape == args[1].shape else None
        return x.new_empty((x.numel() if n is None else n,)), LARGEST if n is None else ""
    if name == "aten::index":
        index: list[Any] = []
        how = ""
        for i in args[1]:
            if isinstance(i, torch.Tensor) and i.dtype in (torch.bool, torch.uint8):
                n = count(i)
                how = how or (LARGEST if n is None else "")
                index += [i.new_empty((i.numel() if n is None else n,), dtype=torch.int64) for _ in range(i.dim())]
            else:
                index.append(i)
        return func(x, index), how
    if name in ("aten::_unique2", "aten::unique_dim", "aten::unique_consecutive"):
        n = x.numel()
        return (x.new_empty((n,)), x.new_empty((n,), dtype=torch.int64), x.new_empty((n,), dtype=torch.int64)), LARGEST
    if name == "aten::bincount":
        weights = args[1] if len(args) > 1 else kwargs.get("weights")
        least = args[2] if len(args) > 2 else kwargs.get("minlength", 0)
        dtype = torch.int64 if weights is None else torch.float32 if weights.dtype == torch.float32 else torch.float64
        return x.new_empty((max(least, 1),), dtype=dtype), LEAST
    if name == "aten::repeat_interleave":
        return x.new_empty((x.numel(),), dtype=torch.int64), ONE_EACH
    raise RuntimeError(f"{func}: the size of its result depends on data; a prediction cannot know it")


def pack(torch: Any, meter: Any) -> None:
    """Replaces packed sequences (torch.nn.utils.rnn): each sequence is assumed to have the full length."""

    def packed(x: Any, lengths: Any, batch_first: bool) -> Any:
        y = x.transpose(0, 1) if batch_first else x
        steps, batch = y.shape[:2]
        meter.bound("pack_padded_sequence", LARGEST)
        return y.reshape(steps * batch, *y.shape[2:]) if batch_first else y.reshape(steps * batch, *y.shape[2:]).clone(), torch.full((steps,), batch)

    def padded(data: Any, sizes: Any, batch_first: bool, value: float = 0.0, total: int = -1) -> Any:
        steps = sizes.shape[0]
        batch = data.shape[0] // steps
        out = data.reshape(steps, batch, *data.shape[1:])
        more = max(total, steps) - steps
        out = torch.cat([out, out.new_full((more, *out.shape[1:]), value)]) if more else out.clone()
        return out.transpose(0, 1) if batch_first else out, torch.full((batch,), steps)

    torch._VF._pack_padded_sequence, torch._VF._pad_packed_sequence = packed, padded


def splits(torch: Any, meter: Any) -> None:
    """Replaces the sizes of a split that the program read from a tensor (tokens per expert): parts are assumed to be equal."""

    def shares(x: Any, sizes: Any, dim: int) -> Any:
        if not isinstance(sizes, (list, tuple)) or not sizes or not meter.read or any(n != meter.value for n in sizes):
            return sizes
        whole, n = x.shape[dim], len(sizes)
        if whole == sum(sizes):
            return sizes
        meter.bound("split", EQUAL)
        return [whole // n + (i < whole % n) for i in range(n)]

    def stand_in(plain: Any) -> Any:
        def split(x: Any, *args: Any, **kw: Any) -> Any:
            name = next((k for k in ("split_size_or_sections", "split_size", "split_sizes") if k in kw), None)
            sizes = kw.pop(name) if name else args[0]
            dim = kw.get("dim", args[1] if not name and len(args) > 1 else args[0] if name and args else 0)
            return plain(x, shares(x, sizes, dim), dim)

        return split

    for place in torch, torch.Tensor, torch.functional:
        for name in "split", "split_with_sizes":
            if hasattr(place, name):
                setattr(place, name, stand_in(getattr(place, name)))


def same_device(torch: Any) -> None:
    """Replaces torch.ctc_loss, which leaves the lengths of fake tensors on the host, although a mean divides by them on the
    device."""
    plain = torch.ctc_loss

    def ctc_loss(probs: Any, targets: Any, *rest: Any) -> Any:
        lengths = [x.to(probs.device) if isinstance(x, torch.Tensor) else x for x in rest[:2]]
        return plain(probs, targets, *lengths, *rest[2:])

    torch.ctc_loss = ctc_loss
