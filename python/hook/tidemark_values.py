# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Values and sizes that depend on data, in a prediction: what a program reads from tensors, and results whose size cannot be known.

A number that the program reads is 0 (or TIDEMARK_PREDICT_VALUE), except for questions whose answer is known in a run that works: values
are finite, parameters of a distribution are valid. A result whose size depends on data gets the largest size that it can have; where
there is no largest size, a stated one.
"""
from __future__ import annotations

import math
import sys
from typing import Any

ANSWERED = {"aten::_use_cudnn_ctc_loss", "aten::_use_miopen_ctc_loss", "aten::_ctc_loss", "aten::_ctc_loss_backward"}  # ops without a fake kernel
LARGEST = "its size depends on data; the largest it can be was taken"


class Truths:
    """Booleans of tensors that are known without data: which comparisons ask for NaN and infinity, and what follows from them."""

    def __init__(self) -> None:
        self.rules: dict[str, Any] = {
            "aten::eq": lambda a, b: True if a is b else self.infinite(b, False), "aten::ne": lambda a, b: False if a is b else self.infinite(b, True),
            "aten::lt": self.infinite, "aten::le": self.infinite, "aten::logical_not": self.no, "aten::bitwise_not": self.no,
            **dict.fromkeys(("aten::all", "aten::any", "aten::view", "aten::squeeze", "aten::_to_copy", "aten::clone"), lambda a, *rest: self.of(a)),
            **dict.fromkeys(("aten::mul", "aten::logical_and", "aten::bitwise_and"), self.both),
            **dict.fromkeys(("aten::logical_or", "aten::bitwise_or"), self.either),
        }

    @staticmethod
    def of(tensor: Any) -> bool | None:
        return getattr(tensor, "_tide_truth", None)

    @staticmethod
    def infinite(*args: Any) -> bool | None:
        """A comparison with infinity: `x < inf` and `x != inf` are true, `x == inf` is false."""
        bound, answer = args if isinstance(args[1], bool) else (args[1], True)
        return answer if isinstance(bound, float) and math.isinf(bound) else None

    def no(self, a: Any) -> bool | None:
        known = self.of(a)
        return None if known is None else not known

    def both(self, a: Any, b: Any) -> bool | None:
        x, y = self.of(a), self.of(b)
        return None if x is None or y is None else x and y

    def either(self, a: Any, b: Any) -> bool | None:
        x, y = self.of(a), self.of(b)
        return True if x or y else None

    def note(self, rule: Any, args: Any, out: Any) -> None:
        """Keeps the answer with the result of an op, if it is known."""
        try:
            known = rule(*args)
            if known is not None:
                out._tide_truth = known
        except (TypeError, AttributeError, IndexError):
            return  # other arguments than the rule is for


def read(torch: Any, func: Any, tensor: Any, value: int) -> Any:
    """The value that a program gets from a tensor without data."""
    known = Truths.of(tensor)
    kind = getattr(tensor, "dtype", torch.float32)
    if known is not None:
        return known if kind == torch.bool else kind.is_floating_point and float(known) or int(known)
    if str(func._schema.returns[0].type) == "bool":
        return False  # torch.equal
    if kind == torch.bool:
        return _from_distributions()  # `if not valid.all(): raise`
    return complex(value) if kind.is_complex else float(value) if kind.is_floating_point else value


def _from_distributions() -> bool:
    frame: Any = sys._getframe(2)
    for _ in range(12):
        if frame is None:
            return False
        if frame.f_code.co_filename.endswith("torch/distributions/distribution.py"):
            return True
        frame = frame.f_back
    return False


def known_answer(name: str, args: Any) -> Any:
    """Results of ops that have no fake kernel: a tuple with the result, or None."""
    if name.startswith("aten::_use_"):
        return (False,)
    if name == "aten::_ctc_loss":
        probs, targets, lengths = args[0], args[1], args[3]
        longest = targets.shape[1] if targets.dim() == 2 else max(lengths) if isinstance(lengths, (list, tuple)) and lengths else targets.numel()
        return ((probs.new_empty((probs.shape[1],)), probs.new_empty((probs.shape[1], probs.shape[0], 2 * int(longest) + 1))),)
    if name == "aten::_ctc_loss_backward":
        return (args[1].new_empty(args[1].shape),)
    return None


def sized(torch: Any, func: Any, args: Any, kwargs: Any) -> tuple[Any, str]:
    """The result of an op whose size depends on data, and how its size was chosen."""
    name, x = func._schema.name, args[0]
    if name in ("aten::nonzero", "aten::argwhere"):
        return x.new_empty((x.numel(), x.dim()), dtype=torch.int64), LARGEST
    if name == "aten::masked_select":
        return x.new_empty((x.numel(),)), LARGEST
    if name == "aten::index":
        index: list[Any] = []
        for i in args[1]:
            if isinstance(i, torch.Tensor) and i.dtype in (torch.bool, torch.uint8):
                index += [i.new_empty((i.numel(),), dtype=torch.int64) for _ in range(i.dim())]
            else:
                index.append(i)
        return func(x, index), LARGEST
    if name in ("aten::_unique2", "aten::unique_dim", "aten::unique_consecutive"):
        n = x.numel()
        return (x.new_empty((n,)), x.new_empty((n,), dtype=torch.int64), x.new_empty((n,), dtype=torch.int64)), LARGEST
    if name == "aten::bincount":
        weights = args[1] if len(args) > 1 else kwargs.get("weights")
        least = args[2] if len(args) > 2 else kwargs.get("minlength", 0)
        dtype = torch.int64 if weights is None else torch.float32 if weights.dtype == torch.float32 else torch.float64
        return x.new_empty((max(least, 1),), dtype=dtype), "its size depends on data; its minlength was taken"
    if name == "aten::repeat_interleave":
        return x.new_empty((x.numel(),), dtype=torch.int64), "its size depends on data; one repetition each was taken, more need more memory"
    raise RuntimeError(f"{func}: the size of its result depends on data; a prediction cannot know it")


def pack(torch: Any, meter: Any) -> None:
    """Packed sequences (torch.nn.utils.rnn): each sequence is taken to have the full length."""

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


def same_device(torch: Any) -> None:
    """torch.ctc_loss of fake tensors leaves lengths where they are, although a mean divides by them on the device."""
    plain = torch.ctc_loss

    def ctc_loss(probs: Any, targets: Any, *rest: Any) -> Any:
        lengths = [x.to(probs.device) if isinstance(x, torch.Tensor) else x for x in rest[:2]]
        return plain(probs, targets, *lengths, *rest[2:])

    torch.ctc_loss = ctc_loss
