# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Runs PyTorch without computing: between enter() and leave() tensors are fake (shapes without data), and the memory that they
would take is recorded.

Used by MemoryUsageTracker.begin_capture(RunMode.NO_DISPATCH). A dispatch mode sees every op. Each new storage that an op returns
becomes an allocation in a virtual pool of its device, which is freed with the storage. Older tensors stay real and are not counted.
"""
from __future__ import annotations

import importlib
import weakref
from typing import Any

from . import _home, _native

KINDS = {"cpu": 1, "cuda": 2, "mps": 4, "xpu": 5, "mtia": 6}  # device kinds of record.h
DRAM, HEAP = 1, 5  # kinds of pools


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

    def _meter(self) -> Any:
        torch = self.torch
        fake: Any = importlib.import_module("torch._subclasses.fake_tensor")
        dispatch: Any = importlib.import_module("torch.utils._python_dispatch")
        this = self

        class Meter(dispatch.TorchDispatchMode):  # type: ignore[misc]
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                try:
                    out = func(*args, **(kwargs or {}))
                except fake.DataDependentOutputException:  # .item(): a fake tensor has no value
                    this.read += 1
                    return this.values.read(torch, func, args[0], 0)
                except fake.DynamicOutputShapeException:  # x[x > 0]: as many as there can be
                    out, _ = this.values.sized(torch, func, args, kwargs or {}, lambda mask: None)
                this.see(out)
                return out

        return Meter()

    def see(self, value: Any) -> None:
        if isinstance(value, self.fake_type):
            self._storage(value)
        elif isinstance(value, (list, tuple)):
            for v in value:
                self.see(v)

    def _storage(self, tensor: Any) -> None:
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if key in self.live or not size:
            return
        pool = self._pool(tensor.device)
        addr, self.next = self.next, self.next + (size + 4095) // 4096 * 4096
        self.live[key] = pool, addr
        _native.alloc(pool, addr, size)
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
