# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Values that a prediction knows although it computes nothing.

`Known` has all values of small tensors that the program made from numbers. `Truths` has one value for a whole tensor of any size:
what follows from constants (`full`, `zeros`), and what holds in a run that works (values are finite). Both follow through ops; a
write makes them unknown, in every view of the memory, unless the written values are known.
"""
from __future__ import annotations

import contextlib
import math
import operator
from typing import Any

FAR = 1e8  # values that are computed are closer to 0 than such constants, which mean infinity in masks and scores
NONE_IN = "no unknown value is assumed to be in the set: a generated sequence gets its greatest length"
UNEQUAL = "an unknown integer is assumed to differ from every constant: a generated sequence gets its greatest length"
ODD = (TypeError, AttributeError, IndexError, NotImplementedError, RuntimeError, OverflowError, ValueError)  # other arguments than a rule is for; no storage
READ = "read"  # a truth that is the value which the program would read: it counts as a read

SAME = ("clone detach alias lift_fresh view _unsafe_view reshape _reshape_alias squeeze unsqueeze expand permute transpose t slice select repeat flip roll split unbind chunk "
        "split_with_sizes max min amax amin gather index_select index take mean _to_copy contiguous view_as diagonal as_strided unfold").split()
FILLS: dict[str, Any] = {  # the value, from the op's arguments
    **dict.fromkeys(("aten::zeros_like", "aten::new_zeros", "aten::zeros", "aten::zero"), lambda args: 0),
    **dict.fromkeys(("aten::ones_like", "aten::new_ones", "aten::ones"), lambda args: 1),
    **dict.fromkeys(("aten::full_like", "aten::full", "aten::fill"), lambda args: args[1]), "aten::new_full": lambda args: args[2], "aten::scalar_tensor": lambda args: args[0]}


def known_values(tensor: Any) -> Any:
    """The values of a fake tensor as a real one on the host, or None."""
    if tensor.constant is not None:
        return tensor.constant
    real = getattr(tensor, "_tide_known", None)
    return None if real is None or hasattr(real.untyped_storage(), "_tide_written") else real


def written(func: Any, args: Any, kwargs: Any) -> Any:
    """Yields the tensors that an op writes to."""
    for i, a in enumerate(func._schema.arguments):
        if a.alias_info is not None and a.alias_info.is_write:
            value = args[i] if i < len(args) else kwargs.get(a.name)
            yield from (t for t in (value if isinstance(value, (list, tuple)) else (value,)) if hasattr(t, "untyped_storage"))


class Known:
    """Values of small tensors that the program made from numbers: they follow to the device and back, through ops on such tensors alone.

    The real tensor of a view is a view, so that a write to one is a write to all."""

    MOST = 1 << 16  # elements of a tensor on a device

    def __init__(self, torch: Any, fake_type: Any) -> None:
        self.torch, self.fake_type = torch, fake_type

    def of(self, tensor: Any) -> Any:
        """Returns the values as a real tensor, or None."""
        if not isinstance(tensor, self.fake_type):
            return tensor
        return known_values(tensor)

    def follow(self, func: Any, args: Any, kwargs: Any, inputs: list[Any], out: Any) -> None:
        """Computes the values of an op's result, if all its inputs are known."""
        if func._schema.is_mutable:
            self.write(func, args, kwargs, inputs)
            return
        results = [t for t in (out if isinstance(out, (list, tuple)) else (out,)) if isinstance(t, self.fake_type)]
        if not inputs or not results or self.torch.Tag.nondeterministic_seeded in func.tags or any(self.of(t) is None for t in inputs):
            return
        if sum(t.numel() for t in results) > self.MOST or any(t.constant is not None or t.device.type == "meta" for t in results):
            return
        real = self.compute(func, args, kwargs)
        for t, r in zip(results, real if isinstance(real, (list, tuple)) else (real,)):
            self.keep(t, r)

    def write(self, func: Any, args: Any, kwargs: Any, inputs: list[Any]) -> None:
        """Writes known values to known tensors; forgets tensors to which others are written. (The fake mode does so on the host.)"""
        places = [t for t in written(func, args, kwargs) if getattr(t, "_tide_known", None) is not None]
        if not places:
            return
        known = self.torch.Tag.nondeterministic_seeded not in func.tags and all(self.of(t) is not None for t in inputs)
        if not known or self.compute(func, args, kwargs) is None:
            for t in places:
                t._tide_known.untyped_storage()._tide_written = True

    def fill(self, func: Any, args: Any, out: Any) -> None:
        """Keeps the values of integers that an op fills a tensor with, such as ones_like: a mask that hides nothing is known to do so."""
        of = FILLS.get(func._schema.name)
        if of is None or not isinstance(out, self.fake_type) or out.dtype.is_floating_point or out.dtype.is_complex or out.numel() > self.MOST or func._schema.is_mutable:
            return
        value = of(args)
        if isinstance(value, (bool, int)):
            with self.torch.utils._mode_utils.no_dispatch():
                real = self.torch.full(tuple(out.shape), value, dtype=out.dtype)
            self.keep(out, real)

    def keep(self, tensor: Any, real: Any) -> None:
        if not isinstance(real, self.torch.Tensor) or real.shape != tensor.shape or real.dtype != tensor.dtype:
            return
        if tensor.device.type == "cpu":
            tensor.constant = real
            tensor.fake_mode.fake_tensor_converter.add_constant_storage_mapping(tensor)
        else:
            tensor._tide_known = real

    def compute(self, func: Any, args: Any, kwargs: Any) -> Any:
        def known(x: Any) -> Any:
            return type(x)(map(known, x)) if type(x) in (list, tuple) else self.of(x) if isinstance(x, self.torch.Tensor) else x

        try:
            with self.torch.utils._mode_utils.no_dispatch(), self.torch.no_grad():
                return func(*known(args), **{k: known(v) for k, v in kwargs.items() if k != "device"})
        except Exception:  # an op without a CPU kernel for them: not known
            return None

    def sized(self, func: Any, args: Any, kwargs: Any, inputs: list[Any]) -> Any:
        """Returns the results of an op whose size depends on data, if all its data are known: nonzero() of a mask. Else None."""
        if any(self.of(t) is None or t.numel() > self.MOST for t in inputs):
            return None
        real = self.compute(func, args, kwargs)
        if real is None:
            return None
        made = []
        for r in real if isinstance(real, (list, tuple)) else (real,):
            made.append(inputs[0].new_empty(tuple(r.shape), dtype=r.dtype))
            self.keep(made[-1], r)
        return type(real)(made) if isinstance(real, (list, tuple)) else made[0]

    def count(self, mask: Any) -> int | None:
        """Returns the number of true elements of a mask, or None if its values are unknown."""
        real = self.of(mask)
        with self.torch.utils._mode_utils.no_dispatch():
            return None if real is None else int(real.count_nonzero())

    def uniform(self, tensor: Any) -> Any:
        """Returns the value of all elements of a known tensor, or None if they differ."""
        real = self.of(tensor)
        if real is None or not 0 < real.numel() <= self.MOST:
            return None
        with self.torch.utils._mode_utils.no_dispatch():
            first = real.reshape(-1)[0]
            return first.item() if bool((real == first).all()) else None


class Truths:
    """Tracks the one value of tensors that is known without data: constants, comparisons of constants, and what holds in a run that works.

    Assumed: values are finite, floats are below 1e8, unknown integers differ from constants, so a generated sequence does not end early. A single
    number, such as a loss, compares with a Python number as the value does that the program would read from it."""

    def __init__(self, meter: Any, known: Known) -> None:
        self.meter, self.known = meter, known  # the meter's `value` replaces values that do not exist
        self.writes: dict[int, int] = {}  # storage -> number of writes since it has had a truth
        self.reason = ""
        both, either = self.both, self.either
        self.rules: dict[str, Any] = {
            **{f"aten::{name}": self.compare(name, getattr(operator, name)) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
            "aten::logical_not": self.no, "aten::bitwise_not": self.no, "aten::isin": self.isin, "aten::where": self.where, "aten::masked_fill": self.masked,
            **{f"aten::{name}": lambda args, kw: self.of(args[0]) for name in SAME}, "aten::copy": lambda args, kw: self.of(args[1]),
            **dict.fromkeys(("aten::cat", "aten::stack"), self.join), **dict.fromkeys(("aten::all", "aten::any"), lambda args, kw: self.truth(args[0])),
            **dict.fromkeys(("aten::mul", "aten::logical_and", "aten::bitwise_and", "aten::__and__", "aten::__iand__"), both),
            **dict.fromkeys(("aten::logical_or", "aten::bitwise_or", "aten::__or__", "aten::__ior__"), either),
            "aten::add": self.plus(1), "aten::sub": self.plus(-1),
            **{name: lambda args, kw, of=of: self.of(of(args)) for name, of in FILLS.items()},
        }

    def rule(self, func: Any) -> Any:
        name = func._schema.name
        return self.rules.get(name) or (self.rules.get(name[:-1]) if name.endswith("_") and func._schema.is_mutable else None)

    def of(self, x: Any) -> Any:
        if isinstance(x, (bool, int, float)):
            return x
        found = getattr(x, "_tide_truth", None)
        if found is not None and self.writes.get(found[1], 0) == found[2]:
            self.reason = self.reason or found[3]
            return found[0]
        return self.known.uniform(x) if isinstance(x, self.known.fake_type) else None

    def truth(self, x: Any) -> bool | None:
        known = self.of(x)
        return None if known is None or not x.numel() else bool(known)

    def compare(self, name: str, how: Any) -> Any:
        def rule(args: Any, kw: Any) -> bool | None:
            a, b = args
            if a is b:
                return bool(how(0, 0))
            x, y = self.of(a), self.of(b)
            if x is not None and y is not None:
                return bool(how(x, y))
            if y is None:
                return None
            if math.isinf(y) or a.dtype.is_floating_point and abs(y) >= FAR:
                return bool(how(0, y))
            if isinstance(b, (int, float)) and a.numel() == 1 and a.dtype.is_floating_point:
                self.reason = READ
                return bool(how(self.meter.value, b))
            if name in ("eq", "ne") and not a.dtype.is_floating_point and a.dtype != self.known.torch.bool:
                self.reason = UNEQUAL
                return name == "ne"
            return None

        return rule

    def no(self, args: Any, kw: Any) -> Any:
        known = self.of(args[0])
        return None if known is None else not known if args[0].dtype == self.known.torch.bool else ~known

    def isin(self, args: Any, kw: Any) -> bool:
        self.reason = NONE_IN
        return bool(kw.get("invert", args[3] if len(args) > 3 else False))

    def where(self, args: Any, kw: Any) -> Any:
        if len(args) < 3:
            return None
        which, a, b = map(self.of, args)
        return (a if a == b else None) if which is None else a if which else b

    def masked(self, args: Any, kw: Any) -> Any:
        which = self.of(args[1])
        return None if which is None else self.of(args[2] if which else args[0])

    def join(self, args: Any, kw: Any) -> Any:
        found = [self.of(t) for t in args[0] if t.numel()]
        return found[0] if found and all(v is not None and v == found[0] for v in found) else None

    def plus(self, sign: int) -> Any:
        def rule(args: Any, kw: Any) -> Any:
            a, b = map(self.of, args[:2])
            return None if a is None or b is None else a + sign * kw.get("alpha", 1) * b

        return rule

    def both(self, args: Any, kw: Any) -> Any:
        x, y = map(self.of, args[:2])
        floats = any(getattr(getattr(a, "dtype", None), "is_floating_point", False) for a in args[:2])
        if x is None or y is None:
            return 0 if not floats and (x == 0 or y == 0) else None
        return x * y if not isinstance(x, int) or not isinstance(y, int) or {x, y} <= {0, 1} or floats else None

    def either(self, args: Any, kw: Any) -> Any:
        x, y = map(self.of, args[:2])
        if x is True or y is True:
            return True
        return x | y if isinstance(x, int) and isinstance(y, int) else None

    def note(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        """Keeps the value of the result of an op."""
        rule, value, self.reason = self.rule(func), None, ""
        with contextlib.suppress(*ODD):
            value = None if rule is None else rule(args, kwargs)
        if func._schema.is_mutable:
            for t in written(func, args, kwargs):
                with contextlib.suppress(*ODD):
                    key = t.untyped_storage()._cdata
                    if key in self.writes:
                        self.writes[key] += 1
        if value is not None:
            results = out if isinstance(out, (list, tuple)) else (out,)
            for t in results[:1] if func._schema.name in ("aten::max", "aten::min") else results:  # their second result has indices
                with contextlib.suppress(*ODD):
                    self.set(t, value)

    def set(self, tensor: Any, value: Any) -> None:
        kind = tensor.dtype
        value = bool(value) if kind == self.known.torch.bool else float(value) if kind.is_floating_point else int(value)
        key = tensor.untyped_storage()._cdata
        tensor._tide_truth = value, key, self.writes.setdefault(key, 0), self.reason

    def read(self, tensor: Any) -> Any:
        """Returns the value that a program reads from a tensor, and notes the assumption that it follows from; None if it is unknown."""
        self.reason = ""
        value = self.of(tensor)
        if value is not None and self.reason == READ:
            self.meter.note_read()
        elif value is not None and self.reason:
            self.meter.bound("a value that the program reads", self.reason)
        return value
