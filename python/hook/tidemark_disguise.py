# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Makes a prediction take the code paths of a real device: libraries do not notice fake tensors, and ops that are one kernel on
CUDA stay whole.
"""
from __future__ import annotations

import importlib
import sys
import types
from typing import Any

OWN = ("torch", "tidemark")


class NoTensor:
    """The FakeTensor that other packages get: no tensor is an instance of it."""


def _hide(module: Any) -> None:
    """Gives `module.FakeTensor` to PyTorch and Tidemark alone. transformers, for example, builds attention masks for fake tensors that it
    leaves out for real ones."""
    real = module.FakeTensor

    class Hiding(types.ModuleType):
        @property
        def FakeTensor(self) -> Any:  # noqa: N802 (the name that callers use)
            asking = sys._getframe(1).f_globals.get("__name__") or ""
            return real if asking.partition(".")[0].startswith(OWN) else NoTensor

        @FakeTensor.setter
        def FakeTensor(self, value: Any) -> None:  # noqa: N802
            self.__dict__["FakeTensor"] = value

    module.__class__ = Hiding


def _keep_whole(torch: Any) -> Any:
    """Registers ops for CUDA that PyTorch without CUDA would make of other ops, such as silu_backward: on a device they have a kernel of
    their own and no temporary tensors. Returns what holds the registrations."""
    has, library = torch._C._dispatch_has_kernel_for_dispatch_key, torch.library.Library("aten", "IMPL")
    for name in torch._C._dispatch_get_registrations_for_dispatch_key("CompositeImplicitAutograd"):
        if name.startswith("aten::") and has(name, "CPU") and not has(name, "CUDA"):
            library.impl(name[len("aten::"):], lambda *args, **kw: NotImplemented, "CUDA")  # never called: the fake mode answers before
    return library


def install(torch: Any) -> Any:
    """Returns a value to keep as long as the prediction runs."""
    for name in "torch._subclasses", "torch._subclasses.fake_tensor":
        _hide(importlib.import_module(name))
    return _keep_whole(torch)
