# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Makes torch.compile use the mode of TIDEMARK_COMPILE_MODE instead of the program's, and records the calls.

`tidemark compile --mode` sets it. "eager" turns the compiler off. Options of the program take precedence over a mode, because torch
allows only one of the two. Each outermost call of a compiled function or module is an op of the recording, between two synchronisations
of the device. An op inside it marks that the compiler ran (src/analyze/compile/compile_calls.h).
"""
from __future__ import annotations

import ctypes
import functools
import os
import sys
import threading
from typing import Any

CALL, RAN = b"torch.compile call", b"torch.compile compiler ran"


def _recorder() -> Any:
    """Returns the recorder that `tidemark run` preloaded, or None."""
    try:
        c = ctypes.PyDLL("libtidemark-torch.so", mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return None
    c.tide_intern.argtypes = [ctypes.c_char_p]
    c.tide_intern.restype = c.tide_op_begin.restype = ctypes.c_uint32
    c.tide_op_begin.argtypes = c.tide_op_end.argtypes = [ctypes.c_uint32]
    c.tide_op_end.restype = None
    return c


class _Calls:
    def __init__(self, torch: Any, recorder: Any) -> None:
        self._torch = torch
        self._recorder = recorder
        self._call, self._ran = recorder.tide_intern(CALL), recorder.tide_intern(RAN)
        self._thread = threading.local()

    def _frames(self) -> int:
        """Returns the number of frames passed to the compiler so far."""
        utils = sys.modules.get("torch._dynamo.utils")
        return int(utils.counters["frames"]["total"]) if utils is not None else 0

    def _synchronize(self) -> None:
        if self._torch.cuda.is_initialized():
            self._torch.cuda.synchronize()

    def _run(self, inner: Any, args: Any, kwargs: Any) -> Any:
        frames = self._frames()
        self._synchronize()
        op = self._recorder.tide_op_begin(self._call)
        try:
            result = inner(*args, **kwargs)
            self._synchronize()
            return result
        finally:
            if self._frames() != frames:
                self._recorder.tide_op_end(self._recorder.tide_op_begin(self._ran))
            self._recorder.tide_op_end(op)

    def of(self, inner: Any) -> Any:
        """Returns `inner` wrapped so that each outermost call is recorded. While torch compiles the caller, the wrapper only calls `inner`."""
        torch, thread = self._torch, self._thread

        @functools.wraps(inner)
        def call(*args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():
                return inner(*args, **kwargs)
            if getattr(thread, "inside", False):
                return inner(*args, **kwargs)
            thread.inside = True
            try:
                return self._run(inner, args, kwargs)
            finally:
                thread.inside = False

        return call

    def watch(self, compiled: Any) -> Any:
        if isinstance(compiled, self._torch.nn.Module):
            module: Any = compiled
            module.forward = self.of(module.forward)
            return module
        return self.of(compiled) if callable(compiled) else compiled


def _force(torch: Any, mode: str) -> None:
    own = torch.compile
    recorder = _recorder()
    calls = _Calls(torch, recorder) if recorder is not None else None

    @functools.wraps(own)
    def compile(model: Any = None, **kwargs: Any) -> Any:
        if mode == "eager":
            kwargs["disable"] = True
        elif not kwargs.get("options") and kwargs.get("backend", "inductor") == "inductor":
            kwargs["mode"] = mode
        if model is None:  # used as a decorator with arguments
            return lambda function: compile(function, **kwargs)
        made = own(model, **kwargs)
        return made if calls is None else calls.watch(made)

    torch.compile = compile


def install(watch: Any) -> None:
    """Forces the mode once torch has been imported. `watch` is tidemark_watch.Watch."""
    mode = os.environ["TIDEMARK_COMPILE_MODE"]
    watch(lambda: _force(sys.modules["torch"], mode))
