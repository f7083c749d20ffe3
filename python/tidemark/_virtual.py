# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Runs PyTorch without computing: between enter() and leave() tensors are fake (shapes without data), and the memory that they
would take is recorded.

Used by MemoryUsageTracker.begin_capture(RunMode.NO_DISPATCH). A dispatch mode sees every op. Each new storage that an op returns
becomes an allocation in a virtual pool of its device, which is freed with the storage. Older tensors stay real and are not counted.

Temporaries inside CPU kernels: those of a mask, of sums of another type and of attention are known (`Inside`); ops that are measured
to have none are in WITHOUT; all others are named, and the recording is a lower bound.
"""
from __future__ import annotations

import contextlib
import functools
import importlib
import weakref
from typing import Any

from . import _home, _native

KINDS = {"cpu": 1, "cuda": 2, "mps": 4, "xpu": 5, "mtia": 6}  # device kinds of record.h
DRAM, HEAP = 1, 5  # kinds of pools
SUMS = {"aten::sum", "aten::mean", "aten::prod"}
# ops of the CPU without temporaries of more than a few bytes: a real run allocates their results alone
WITHOUT = """_local_scalar_dense _softmax _log_softmax _softmax_backward_data _log_softmax_backward_data _to_copy _unsafe_view abs add addcdiv addcmul addmm alias all amax
amin any arange argmax argmin as_strided avg_pool2d avg_pool2d_backward baddbmm bernoulli bitwise_and bitwise_not bitwise_or bmm cat clamp clone constant_pad_nd copy cos
cumsum detach div dropout embedding empty empty_like empty_strided eq equal erf exp expand eye fill flip full full_like gather ge gelu gelu_backward gt index_add index_put
index_select isinf isnan le lerp lift_fresh linspace log logical_and logical_not logical_or lt masked_fill max maximum max_pool2d_with_indices max_pool2d_with_indices_backward min
minimum mm mul mv native_batch_norm native_dropout native_group_norm native_layer_norm native_layer_norm_backward ne neg new_empty new_empty_strided new_full new_ones new_zeros
nll_loss_forward nll_loss_backward normal norm ones ones_like permute pow rand randint randn randperm reciprocal relu repeat roll rsqrt rsub scalar_tensor scatter scatter_add
select select_backward set sigmoid sigmoid_backward sign silu silu_backward sin slice slice_backward split split_with_sizes sqrt squeeze stack sub t tan tanh tanh_backward
threshold_backward topk transpose tril triu unbind unfold uniform unsqueeze view where zero zeros zeros_like linalg_vector_norm _foreach_add _foreach_mul _foreach_div
_foreach_addcmul _foreach_addcdiv _foreach_sqrt _foreach_lerp _foreach_neg _foreach_sub _foreach_zero""".split()
MIXED = {f"aten::{name}" for name in "add sub rsub mul div pow maximum minimum eq ne lt le gt ge addcmul addcdiv lerp".split()}  # of operands of one type after casts
PRODUCTS = {f"aten::{name}" for name in "mm addmm bmm baddbmm mv".split()}  # another library multiplies half precision
FREE = {f"aten::{name}{end}" for name in WITHOUT for end in ("", "_")}


class Virtual:
    def __init__(self) -> None:
        import torch
        from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

        self.torch: Any = torch
        self.fake_type: Any = FakeTensor
        self.live: dict[int, tuple[int, int]] = {}  # storage -> pool, address
        self.pools: dict[tuple[str, int], int] = {}
        self.next = 1 << 40
        self.read = 0
        self.open = True
        self.values: Any = _home.hook("tidemark_values")
        self.modes: list[Any] = [FakeTensorMode(allow_non_fake_inputs=True), self._meter()]
        self.replaced: list[tuple[Any, str, Any]] = []
        self.unknown: dict[str, str] = {}  # op -> why its memory is not all known
        self.older: set[int] = set()  # storages of fake copies of real tensors
        files = _home.hook("tidemark_files").Checkpoints(torch, _home.say)
        files.real_load = torch.load
        self._replace(torch, "save", self._saver(files, torch.save))
        self._replace(torch, "load", files.load)
        self._replace(torch.utils, "swap_tensors", self.values.swap(torch))  # model.to(device)
        for name, then in ("numpy", lambda a: a), ("tolist", lambda a: a.tolist()), ("__array__", lambda a: a):
            self._replace(torch.Tensor, name, self._reader(getattr(torch.Tensor, name), then))
        plain = torch.Tensor.__format__
        self._replace(torch.Tensor, "__format__", lambda t, spec: format(t.item(), spec) if isinstance(t, FakeTensor) and t.dim() == 0 else plain(t, spec))
        for mode in self.modes:
            mode.__enter__()

    def _replace(self, place: Any, name: str, value: Any) -> None:
        self.replaced.append((place, name, getattr(place, name)))
        setattr(place, name, value)

    def _saver(self, files: Any, real: Any) -> Any:
        """torch.save: what has fake tensors stays in the process, where torch.load finds it; a file without values would replace a real one."""

        def save(value: Any, f: Any, *args: Any, **kw: Any) -> None:
            seen: list[Any] = []
            files.pack(value, seen)
            (files.save if any(isinstance(t, self.fake_type) for t in seen) else real)(value, f, *args, **kw)

        return save

    def _reader(self, real: Any, then: Any) -> Any:
        """A method that reads a tensor's values: those of a fake one are 0."""

        def read(tensor: Any, *args: Any, **kw: Any) -> Any:
            if not isinstance(tensor, self.fake_type):
                return real(tensor, *args, **kw)
            self.read += 1
            return then(self.values.array(self.torch, tensor, 0))

        return read

    def leave(self) -> None:
        for mode in reversed(self.modes):
            mode.__exit__(None, None, None)
        for place, name, value in reversed(self.replaced):
            setattr(place, name, value)
        self.open = False
        _native.annotate("predicted.values_read", str(self.read))
        for op, why in self.unknown.items():
            _native.annotate("predicted.unknown.more", f"{op}: {why}")

    def _meter(self) -> Any:
        torch = self.torch
        fake: Any = importlib.import_module("torch._subclasses.fake_tensor")
        dispatch: Any = importlib.import_module("torch.utils._python_dispatch")
        this = self

        class Meter(dispatch.TorchDispatchMode):  # type: ignore[misc]
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                name = func._schema.name
                copies: list[Any] = []  # alive until the op has returned views of them
                this.note_older(args, copies)
                try:
                    out = func(*args, **(kwargs or {}))
                except fake.DataDependentOutputException:  # .item(): a fake tensor has no value
                    this.read += 1
                    return this.values.read(torch, func, args[0], 0)
                except fake.DynamicOutputShapeException:  # x[x > 0]: as many as there can be
                    out, how = this.values.sized(torch, func, args, kwargs or {}, lambda mask: None)
                    this.unknown.setdefault(name, how)
                with this.inside(name, args, out):
                    this.see(out)
                copies.clear()
                return out

        return Meter()

    def note_older(self, value: Any, copies: list[Any]) -> None:
        """Makes and notes the fake copies of real tensors, which take no memory: views of them are older, too."""
        if isinstance(value, (list, tuple)):
            for v in value:
                self.note_older(v, copies)
        elif isinstance(value, self.torch.Tensor) and not isinstance(value, self.fake_type) and value.layout is self.torch.strided:
            mode = self.modes[0]
            copies.append(mode.fake_tensor_converter.from_real_tensor(mode, value))
            storage = copies[-1].untyped_storage()
            if storage._cdata not in self.older:
                self.older.add(storage._cdata)
                weakref.finalize(storage, self.older.discard, storage._cdata).atexit = False

    @contextlib.contextmanager
    def inside(self, name: str, args: Any, out: Any) -> Any:
        """Allocates the temporaries of a CPU kernel around its results."""
        first = next((t for t in (out if isinstance(out, (list, tuple)) else [out]) if isinstance(t, self.torch.Tensor)), None)
        held: list[tuple[int, int]] = []
        if first is not None and first.device.type == "cpu":
            held = [self._take(first.device, n) for n in self.temporaries(name, args, first) if n]
        try:
            yield
        finally:
            for row in held:
                _native.free(*row)

    def temporaries(self, name: str, args: Any, out: Any) -> list[int]:
        """Returns the bytes that the CPU's kernel of an op takes beside its results."""
        torch = self.torch
        if name == "aten::index":  # nonzero's rows
            return [8 * m.numel() * m.dim() for m in args[1] if isinstance(m, torch.Tensor) and m.dtype in (torch.bool, torch.uint8)]
        if name in SUMS:
            x = args[0]
            return [x.numel() * out.element_size()] if x.dtype != out.dtype and not (x.dtype in (torch.float16, torch.bfloat16) and out.dtype == torch.float32) else []
        if name == "aten::_scaled_dot_product_flash_attention_for_cpu":
            return self._flash(args)
        if name in MIXED:
            return self._casts(args)
        if name not in FREE or name in PRODUCTS and out.dtype not in (torch.float32, torch.float64):
            self.unknown.setdefault(name, "temporaries inside its CPU kernel are not counted")
        return []

    def _casts(self, args: Any) -> list[int]:
        """Operands of another type than the common one are cast, unless they are single numbers."""
        operands = [a for a in args if isinstance(a, self.torch.Tensor)]
        common = functools.reduce(self.torch.promote_types, (a.dtype for a in operands if a.dim())) if any(a.dim() for a in operands) else None
        return [a.numel() * common.itemsize for a in operands if common is not None and a.dim() and a.dtype != common]

    def _flash(self, args: Any) -> list[int]:
        """Each thread has one tile of scores, sums and outputs in f32; in half precision tiles of the input's type, too."""
        q, k = args[0], args[1]
        rows, columns, head = q.shape[2], k.shape[2], q.shape[3]
        tile = min(256 if rows >= 768 else 64 if rows >= 192 else 32, rows)
        wide = min(512, columns)
        threads, half = self.torch.get_num_threads(), q.element_size() == 2
        return [4 * threads * tile * (wide + 2 + head), 2 * threads * tile * wide if half else 0]

    def _take(self, device: Any, size: int) -> tuple[int, int]:
        pool = self._pool(device)
        addr, self.next = self.next, self.next + (size + 4095) // 4096 * 4096
        _native.alloc(pool, addr, size)
        return pool, addr

    def see(self, value: Any) -> None:
        if isinstance(value, self.fake_type):
            self._storage(value)
        elif isinstance(value, (list, tuple)):
            for v in value:
                self.see(v)

    def _storage(self, tensor: Any) -> None:
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if key in self.live or key in self.older or not size:
            return
        self.live[key] = self._take(tensor.device, size)
        weakref.finalize(storage, self._drop, key).atexit = False

    def _drop(self, key: int) -> None:
        row = self.live.pop(key, None)
        if row is not None and self.open:
            _native.free(*row)

    def _pool(self, device: Any) -> int:
        key = device.type, device.index or 0
        if key not in self.pools:
            made = _native.device(KINDS.get(device.type, 8), key[1], device.type)
            self.pools[key] = _native.pool(made, HEAP if device.type == "cpu" else DRAM, "heap" if device.type == "cpu" else "DRAM")
        return self.pools[key]


def enter() -> Virtual:
    return Virtual()
