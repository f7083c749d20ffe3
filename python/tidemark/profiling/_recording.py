# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Records one block of code: ops and allocations by Tidemark's recorder, kernels through CUPTI.

torch.profiler records instead if it was requested or if ours cannot record: a recording is in progress, no compiler for the op
hook, no CUPTI. `Recording.why` has the reason. Setup happens before the clock starts, cleanup after it has stopped.
"""
from __future__ import annotations

import contextlib
import ctypes
import datetime
import functools
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

from .. import _home, _native
from .._signals import at_term
from ._source import device

RECORDERS = ("auto", "tidemark", "torch")
# Launches link a kernel to the op that started it. Triton launches through the driver; recording driver calls adds 3 to 4 % to
# code that only launches. Callbacks cost less than CUPTI's records of calls, which are used if another profiler has subscribed to
# CUPTI (torch.profiler, once it has run).
EAGER, COMPILED = "kernels,runtime,callbacks", "kernels,launches,callbacks"
_WHY = {1: "no recording is in progress", 2: "libcupti was not found", 3: "CUPTI refused: another profiler may be using it"}
_inject: Any = None
starting = threading.RLock()  # one recording begins or ends at a time
_torch_runs = False  # torch.profiler records one of our blocks, in any thread


def rescue(paths: Iterable[str], name: str) -> None:
    """Runs before SIGTERM ends the process: ends the recording, moves temporary ones into the working directory, says where they are."""
    from .. import _record

    whole = not _native.recording() or _record.stop()
    for path in paths:
        if not os.path.exists(path):
            continue
        if path.startswith(os.path.join(tempfile.gettempdir(), "tidemark-")):
            stem = f"{name}_{datetime.datetime.now(datetime.timezone.utc).strftime('%Y%m%d_%H%M%S')}_{os.getpid()}"
            kept = next(n for i in range(1, 1 << 30) if not os.path.exists(n := os.path.abspath(f"{stem}{f'_{i}' if i > 1 else ''}.tide")))
            for ending in "", "-rings":
                with contextlib.suppress(OSError):
                    shutil.move(path + ending, kept + ending)
            shutil.rmtree(os.path.dirname(path), ignore_errors=True)
            path = kept
        use = f"`tidemark report {path}` shows it" if whole else f"`tidemark recover {path}` writes a clean copy"
        _home.say(f"SIGTERM ended the recording {path}: {use}")


class Recording:
    """The result of a recording, after the block has ended."""

    def __init__(self, path: str) -> None:
        self.path = path  # .tide, or .json of torch.profiler
        self.recorder = "tidemark"
        self.why: str | None = None  # the reason why torch.profiler recorded
        self.wall_ms = 0.0
        self.began_ns = 0  # Unix time at which the block began; 0: with the recording
        self.flops: dict[str, int] | None = None  # by op; only from torch.profiler


class _Unable(Exception):
    """Our recorder cannot record this; the text has the reason."""


def _gpu() -> Any:
    global _inject
    if _inject is None:
        _inject = ctypes.CDLL(os.path.join(_home.LIBRARIES, "libtidemark-inject.so"))
        _inject.tide_gpu_begin.argtypes = [ctypes.c_char_p]
        _inject.tide_gpu_end.restype = _inject.tide_gpu_leave.restype = None
    return _inject


def _make_way(torch: Any, on: bool) -> None:
    """While on, releases CUPTI's only subscription before torch.profiler begins, which would otherwise record no device work."""
    module = torch.autograd.profiler
    now = getattr(module, "_prepare_profiler", None)
    before = getattr(now, "_tidemark", None)  # the original, if ours is there
    if now is None or on == (before is not None):
        return
    if not on:
        module._prepare_profiler = before
        return

    def prepare(*args: Any, **kw: Any) -> Any:
        _gpu().tide_gpu_leave()
        return now(*args, **kw)

    prepare._tidemark = now  # type: ignore[attr-defined]
    module._prepare_profiler = prepare


def _profiled(torch: Any) -> bool:
    """Returns whether torch.profiler is running: then it owns CUPTI's buffers, and a second one ends the process."""
    return _torch_runs or bool(getattr(torch.autograd, "_profiler_enabled", lambda: False)())


def models_of(torch: Any, fn: Any, args: Iterable[Any]) -> list[Any]:
    """Returns the modules that a call of fn reaches directly: itself, its object, its arguments, its closure and its globals."""
    seen = [fn, getattr(fn, "__self__", None), *args]
    if isinstance(fn, functools.partial):
        seen += [*models_of(torch, fn.func, fn.args), *fn.keywords.values()]
    for cell in getattr(fn, "__closure__", None) or ():
        with contextlib.suppress(ValueError):  # the cell is still empty
            seen.append(cell.cell_contents)
    names = getattr(getattr(fn, "__code__", None), "co_names", ())
    seen += [getattr(fn, "__globals__", {}).get(name) for name in names]
    return [m for m in seen if isinstance(m, torch.nn.Module)]


def _begin(torch: Any, path: str, name: str, gpu: str, shapes: bool, stacks: bool, modules: bool, models: Iterable[Any]) -> bool:
    """Attaches torch. Returns True if it was attached for this recording and must be detached. Names `models` before the clock starts."""
    from .. import _record
    from .. import torch as capture

    if _native.recording():
        raise _Unable("a recording is in progress")
    fresh = not capture.attached()
    try:
        capture.attach(ops=True, shapes=shapes, stacks=stacks, modules=modules)
        if capture._hook._library is None:
            raise _Unable("ops cannot be recorded: no C++ compiler or no headers of torch")
        _record.start(path, follow_fork=False)
        if name:
            _native.annotate("session.name", name)
        if modules and capture._hook._model is not None:
            capture._hook._model.expect(models)
        if gpu and device(torch) and not _profiled(torch):
            rc = _gpu().tide_gpu_begin(gpu.encode())
            if rc in _WHY:
                raise _Unable(_WHY[rc])
            _make_way(torch, True)
    except BaseException as why:
        _end(fresh)
        with contextlib.suppress(OSError):
            os.unlink(path)
        if isinstance(why, (RuntimeError, OSError, _native.Error)):
            raise _Unable(str(why)) from why
        raise
    return fresh


def _end(fresh: bool) -> None:
    from .. import _record
    from .. import torch as capture

    if _inject is not None:
        _inject.tide_gpu_end()
        _make_way(sys.modules["torch"], False)
    if _native.recording():
        _record.stop()
    if fresh:
        capture.detach()


@contextlib.contextmanager
def _own(torch: Any, r: Recording, fresh: bool, cuda: Any) -> Iterator[Recording]:
    calm = at_term(lambda: rescue([r.path], "profile"))
    r.began_ns = time.time_ns()
    begin = time.perf_counter()
    try:
        yield r
    finally:
        if cuda:
            cuda.synchronize()
        r.wall_ms = (time.perf_counter() - begin) * 1000
        with starting:
            _end(fresh)
        calm()


@contextlib.contextmanager
def _torchs(torch: Any, r: Recording, cuda: Any, memory: bool, how: dict[str, Any]) -> Iterator[Recording]:
    from torch.profiler import ProfilerActivity, profile

    global _torch_runs
    r.recorder, r.path = "torch.profiler", os.path.splitext(r.path)[0] + ".json"
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if cuda else [])
    with starting:
        if _profiled(torch):
            raise _native.Error(f"torch.profiler is running already{f', and ours cannot record: {r.why}' if r.why else ''}; end one of them first")
        prof = profile(activities=activities, profile_memory=memory, **how)
        prof.start()
        _torch_runs = True
    begin = time.perf_counter()
    try:
        yield r
    finally:
        if cuda:
            cuda.synchronize()
        r.wall_ms = (time.perf_counter() - begin) * 1000
        with starting:
            _torch_runs = False
            prof.stop()
        prof.export_chrome_trace(r.path)
        if how.get("with_flops"):
            r.flops = {e.key: int(e.flops) for e in prof.key_averages() if e.flops}


@contextlib.contextmanager
def record_block(path: str, *, name: str = "", recorder: str = "auto", memory: bool = True, record_shapes: bool = False, with_stack: bool = False,
                 with_flops: bool = False, with_modules: bool = True, gpu: str | None = None, models: Iterable[Any] = ()) -> Iterator[Recording]:
    """`path` ends in .tide. name: the name of the session, kept in the recording. with_flops is an option of torch.profiler, ours
    ignores it. models: those that are about to run. gpu: the kinds of events that CUPTI records, by default with the calls that
    start kernels; driver calls if torch.compile has been used."""
    import torch

    if recorder not in RECORDERS:
        raise ValueError(f"recorder is one of {', '.join(RECORDERS)}, not {recorder!r}")
    r, cuda = Recording(path), device(torch)
    if gpu is None:
        gpu = COMPILED if "torch._inductor.compile_fx" in sys.modules else EAGER
    if cuda:
        cuda.synchronize()
    if recorder != "torch":
        try:
            with starting:
                fresh = _begin(torch, path, name, gpu, record_shapes, with_stack, with_modules, models)
        except _Unable as why:
            if recorder == "tidemark":
                raise _native.Error(str(why)) from why
            r.why = str(why)
        else:
            with _own(torch, r, fresh, cuda):
                yield r
            return
    with _torchs(torch, r, cuda, memory, {"record_shapes": record_shapes, "with_stack": with_stack, "with_flops": with_flops, "with_modules": with_modules}):
        yield r
