# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Supports common features of training scripts in a prediction: threads, processes of other ranks, torch.jit, CUDA graphs, old
tensor types, memory snapshots.

Each has a replacement that needs no device. Those that change the predicted memory are listed as unknown in the report.
"""
from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
from typing import Any

LAUNCHERS = {"torchrun", "accelerate", "deepspeed", "torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch"}
TYPES = {"FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16", "BFloat16Tensor": "bfloat16", "ByteTensor": "uint8", "CharTensor": "int8",
         "ShortTensor": "int16", "IntTensor": "int32", "LongTensor": "int64", "BoolTensor": "bool"}


def is_launcher(argv: list[str]) -> bool:
    """Returns whether this process only starts the ranks of a job (torchrun or a similar launcher)."""
    for i, word in enumerate(argv[1:], 1):
        if word == "-m":
            return i + 1 < len(argv) and argv[i + 1] in LAUNCHERS
        if not word.startswith("-"):
            return os.path.basename(word) in LAUNCHERS
    return False


def is_other_rank() -> bool:
    """Returns whether a launcher started this process as another rank than 0: rank 0 is the one that is predicted."""
    return os.environ.get("RANK", "0") != "0" and "WORLD_SIZE" in os.environ


def install(torch: Any, device: Any, spaces: Any, modes: Any, say: Any) -> None:
    _threads(torch, modes)
    _processes(torch, say)
    _jit(torch, spaces.less)
    _graphs(torch, spaces.more)
    _history(torch, say)
    _old_types(torch)
    if device.count == 1:
        torch.nn.DataParallel.forward = lambda self, *args, **kw: self.module(*args, **kw)


def make_lists_on_host(torch: Any) -> None:
    """Makes tensors from Python lists on the host first, in this thread. PyTorch would make an index such as x[[0, 1]] on the device
    without calling a mode."""
    getattr(torch._C, "_set_only_lift_cpu_tensors", lambda on: None)(True)


def _threads(torch: Any, modes: Any) -> None:
    """Gives the modes, which belong to a thread, to threads that the program starts, such as data prefetchers."""
    dispatch: Any = importlib.import_module("torch.utils._python_dispatch")
    inner: Any = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def bootstrap(self: Any) -> None:
        for mode in modes:
            dispatch._push_mode(mode)
        make_lists_on_host(torch)
        try:
            inner(self)
        finally:
            for mode in reversed(modes):
                dispatch._pop_mode(getattr(mode, "_mode_key", None))

    threading.Thread._bootstrap_inner = bootstrap  # type: ignore[attr-defined]


def _processes(torch: Any, say: Any) -> None:
    """Replaces torch.multiprocessing.spawn: this process is the first one, the others are not started."""

    def spawn(fn: Any, args: Any = (), nprocs: int = 1, *rest: Any, **kw: Any) -> None:
        if nprocs > 1:
            say(f"torch.multiprocessing.spawn: process 0 of {nprocs} runs, the others are not started")
        fn(0, *args)

    multi: Any = importlib.import_module("torch.multiprocessing")
    multi.spawn = spawn
    importlib.import_module("torch.multiprocessing.spawn").spawn = spawn  # type: ignore[attr-defined]


def _jit(torch: Any, less: dict[str, str]) -> None:
    """Replaces torch.jit: functions and modules run as Python code."""

    def same(what: Any = None, *args: Any, **kw: Any) -> Any:
        less["torch.jit"] = "scripted and traced code ran as Python; its fusions need less memory"
        return what if what is not None else same

    for name in "script", "trace", "freeze", "optimize_for_inference", "trace_module":
        setattr(torch.jit, name, same)


def _graphs(torch: Any, more: dict[str, str]) -> None:
    """Replaces CUDA graphs: captured code runs once; a replay allocates nothing."""

    class CUDAGraph:
        def __init__(self, *args: Any, **kw: Any) -> None:
            more["CUDA graphs"] = "memory that a graph keeps in its own pool after capture is not simulated"

        def pool(self) -> tuple[int, int]:
            return 0, 0

        def __getattr__(self, name: str) -> Any:
            return lambda *args, **kw: None

    def graphed(callables: Any, *args: Any, **kw: Any) -> Any:
        CUDAGraph()
        return callables

    for place in torch.cuda, torch.cuda.graphs:
        place.CUDAGraph, place.make_graphed_callables, place.graph_pool_handle = CUDAGraph, graphed, lambda: (0, 0)
        place.graph = lambda *args, **kw: contextlib.nullcontext()


def _history(torch: Any, say: Any) -> None:
    """Replaces torch.cuda.memory's snapshots, which are empty; `tidemark predict --keep` has their content."""

    def dump(*args: Any, **kw: Any) -> None:
        say("torch.cuda.memory._dump_snapshot: no snapshot is written; --keep FILE keeps the predicted recording")

    answers: dict[str, Any] = {"_record_memory_history": lambda *args, **kw: None, "_dump_snapshot": dump, "memory_snapshot": lambda *args, **kw: [],
               "_snapshot": lambda *args, **kw: {"segments": [], "device_traces": [[]], "allocator_settings": {}},
               "memory_summary": lambda *args, **kw: "", "list_gpu_processes": lambda *args, **kw: "", "reset_accumulated_memory_stats": lambda *args, **kw: None}
    for name, value in answers.items():
        for place in torch.cuda, torch.cuda.memory:
            setattr(place, name, value)


def _old_types(torch: Any) -> None:
    """Defines torch.cuda.FloatTensor and similar types, which scripts for older PyTorch use."""

    class Kind(type):
        dtype: Any

        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, torch.Tensor) and value.is_cuda and value.dtype == cls.dtype

    def make(cls: Any, *args: Any, **kw: Any) -> Any:
        if len(args) == 1 and not isinstance(args[0], int):
            return torch.tensor(args[0], dtype=cls.dtype, device="cuda")
        return torch.empty(args or (0,), dtype=cls.dtype, device="cuda")

    kinds = {name: Kind(name, (), {"__new__": make, "dtype": getattr(torch, dtype)}) for name, dtype in TYPES.items()}
    for name, kind in kinds.items():
        setattr(torch.cuda, name, kind)
    named = {f"torch.cuda.{name}": kind for name, kind in kinds.items()}
    plain = torch.Tensor.type
    default = torch.set_default_tensor_type

    def type_(self: Any, dtype: Any = None, *args: Any, **kw: Any) -> Any:
        kind = named.get(dtype) if isinstance(dtype, str) else dtype if isinstance(dtype, Kind) else None
        return self.to("cuda", kind.dtype) if kind is not None else plain(self, *(() if dtype is None else (dtype,)), *args, **kw)

    def set_default(kind: Any) -> None:
        found = named.get(kind) if isinstance(kind, str) else kind if isinstance(kind, Kind) else None
        if found is None:
            default(kind)
            return
        torch.set_default_device("cuda")
        torch.set_default_dtype(found.dtype)

    torch.Tensor.type, torch.set_default_tensor_type = type_, set_default


_failed: list[str] = []


def failure() -> str:
    """Returns a sentence with the error that ended the program, or ""."""
    return f"it failed: {_failed[0]}" if _failed else ""


def restart_on_value(value: int, was_read: Any, say: Any) -> Any:
    """Watches for an error that values of 0 cause, such as a division by a loss: returns a function that starts the program once more with 1, or does
    nothing; it is called when everything else has ended."""
    found: list[str] = []
    inner = sys.excepthook

    def hook(kind: Any, why: Any, trace: Any) -> None:
        of_zero = issubclass(kind, (ZeroDivisionError, AssertionError)) or kind is ValueError and "math domain" in str(why)
        if of_zero and not value and was_read():
            found.append(f"{kind.__name__}: {why}" if str(why) else kind.__name__)
            return
        _failed.append(kind.__name__)
        inner(kind, why, trace)
        if "RANK expected" in str(why):
            say("the program is one rank of a job: add --world N, or run it by torchrun")
        if was_read() and not issubclass(kind, KeyboardInterrupt):
            say(f"values that the program reads from tensors are {value} in a prediction: the error above may follow from that")

    def again() -> None:
        if found:
            say(f"{found[0]}. Values that the program reads are 0 in a prediction; it runs once more with 1")
            sys.stdout.flush()
            os.environ["TIDEMARK_PREDICT_VALUE"] = "1"
            os.execvp(sys.orig_argv[0], sys.orig_argv)

    sys.excepthook = hook
    return again
