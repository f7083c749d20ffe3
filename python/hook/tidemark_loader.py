# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Records what a DataLoader's workers do, and which of them the program waits for.

In a worker (or in the program, without workers) each batch is an op DataLoader.fetch. Inside it are the dataset's function and the
collate function as ops, each with 4 figures of its thread, in ns, as empty ops with a number: computed, starved (ready to run, but no
processor was free), read and waited. In the program each wait is an op DataLoader.wait with the process that made the batch.
`tidemark waits` reads them; docs/analyses/waits.md defines the figures. Costs about 0.1 ms a batch. Never raises into the program.
"""
from __future__ import annotations

import ctypes
import functools
import os
import resource
import time
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
FIGURES = b"DataLoader.computed", b"DataLoader.starved", b"DataLoader.read", b"DataLoader.waited"
SMALL = 64 << 10  # system time counts as reading from here on
SLOWEST = 4_000_000 / 1e9  # bytes per ns: a slower store is not believed
FAULT = 10_000_000  # ns that a page fault from a store takes at most


def _proc(name: str) -> bytes:
    try:
        with open(f"/proc/thread-self/{name}", "rb", buffering=0) as f:
            return f.read(400)
    except OSError:
        return b""


class Moment:
    """Counters that the kernel keeps for this thread."""

    __slots__ = "wall", "user", "system", "starved", "called", "stored", "faults"

    def __init__(self) -> None:
        self.wall = time.monotonic_ns()
        use = resource.getrusage(resource.RUSAGE_THREAD)
        self.user, self.system, self.faults = use.ru_utime * 1e9, use.ru_stime * 1e9, use.ru_majflt
        words = _proc("schedstat").split()
        self.starved = int(words[1]) if len(words) > 1 else 0
        io = dict(line.split(b": ") for line in _proc("io").splitlines() if b": " in line)
        self.called, self.stored = int(io.get(b"rchar", 0)), int(io.get(b"read_bytes", 0))

    def since(self, before: Moment) -> list[int]:
        """Divides the time since another moment into the 4 figures."""
        wall = self.wall - before.wall
        user, system = self.user - before.user, self.system - before.system
        reads = self.called - before.called >= SMALL
        computed, read = (user, system) if reads else (user + system, 0)
        starved = min(self.starved - before.starved, max(wall - user - system, 0))
        away = max(wall - user - system - starved, 0)
        stored = min((self.stored - before.stored) / SLOWEST + (self.faults - before.faults) * FAULT, away)
        return [int(x) for x in (computed, starved, read + stored, away - stored)]


def _name_of(function: Any, fallback: str) -> str:
    """Returns "Images.__getitem__ (data.py:12)"."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__qualname__", None) or fallback
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})" if code else name


def _dataset_function(dataset: Any, iterated: bool) -> str:
    """Names the function that makes an item; torch's datasets around others (Subset) pass on to them."""
    for _ in range(16):
        inner = getattr(dataset, "dataset", None)
        if inner is None or inner is dataset or not type(dataset).__module__.startswith("torch.utils.data"):
            break
        dataset = inner
    kind = type(dataset)
    for name in ("__iter__",) if iterated else ("__getitems__", "__getitem__"):
        function = getattr(kind, name, None)
        if function is not None:
            return _name_of(function, f"{kind.__qualname__}.{name}")
    return kind.__qualname__


class Loader:
    def __init__(self, capture: Any, torch: Any) -> None:
        self.torch = torch
        self.pid = 0
        self.c = capture
        self.c.tide_op_begin.restype = self.c.tide_op_begin_arg.restype = ctypes.c_uint32
        self.c.tide_op_begin.argtypes = self.c.tide_op_end.argtypes = [ctypes.c_uint32]
        self.c.tide_op_begin_arg.argtypes = [ctypes.c_uint32, ctypes.c_uint64]
        self.c.tide_op_end.restype = None

    def awake(self) -> None:
        """Begins the recording of a process whose first batch this is: PyTorch's first allocation does it."""
        if self.pid != os.getpid():
            self.pid = os.getpid()
            if not self.c.tide_recording():
                self.torch.empty(1, device="cpu")

    def begin(self, name: str) -> int:
        return int(self.c.tide_op_begin(self.c.tide_intern(name.encode(errors="replace"))))

    def note(self, name: bytes, number: int) -> None:
        self.c.tide_op_end(self.c.tide_op_begin_arg(self.c.tide_intern(name), max(number, 0)))

    def started(self, name: str, now: Moment | None = None) -> tuple[int, Moment]:
        """Begins a function's op. What the kernel counts for it counts from now on."""
        return self.begin(name), now or Moment()

    def measured(self, part: tuple[int, Moment] | None) -> Moment | None:
        """Ends a function's op with its figures. Returns the moment."""
        if not part:
            return None
        now = Moment()
        for name, ns in zip(FIGURES, now.since(part[1])):
            self.note(name, ns)
        self.c.tide_op_end(part[0])
        return now

    def fetch(self, plain: Any, fetcher: Any, index: Any) -> Any:
        """Runs a fetch. Its collate function, which comes last, ends the dataset's part."""
        _quietly(self.awake)
        if not self.c.tide_recording():
            return plain(fetcher, index)
        collate = fetcher.collate_fn
        outer = _quietly(self.begin, "DataLoader.fetch")
        part = [_quietly(lambda: self.started(_dataset_function(fetcher.dataset, hasattr(fetcher, "dataset_iter"))))]

        def measured_collate(data: Any) -> Any:
            now = _quietly(self.measured, part[0])
            part[0] = _quietly(lambda: self.started(_name_of(collate, "collate"), now))
            return collate(data)

        fetcher.collate_fn = measured_collate
        try:
            return plain(fetcher, index)
        finally:
            fetcher.collate_fn = collate
            _quietly(self.measured, part[0])
            self.c.tide_op_end(outer or 0)

    def wait(self, plain: Any, loader: Any) -> Any:
        op = _quietly(self.begin, "DataLoader.wait")
        try:
            return plain(loader)
        finally:
            self.c.tide_op_end(op or 0)

    def maker(self, loader: Any, args: tuple[Any, ...]) -> None:
        """Notes the process that made a batch."""
        worker = loader._workers[args[1]].pid if len(args) > 1 and isinstance(args[1], int) else 0  # before torch 2.6: unknown
        self.note(b"DataLoader.worker", worker or 0)

    def process(self, plain: Any, loader: Any, *args: Any) -> Any:
        """Runs _process_data(data, worker), the end of a wait."""
        _quietly(self.maker, loader, args)
        return plain(loader, *args)


def _quietly(f: Callable[..., T], *args: Any) -> T | None:
    """Calls our own code, which must not fail the program's."""
    try:
        return f(*args)
    except Exception:
        return None


_on = False


def on(capture: Any, torch: Any) -> None:
    """Wraps the DataLoader's functions, once in a process; workers that are forked inherit that."""
    global _on
    data = getattr(getattr(torch, "utils", None), "data", None)
    fetch, loader = getattr(getattr(data, "_utils", None), "fetch", None), getattr(data, "dataloader", None)
    if _on or fetch is None or loader is None:
        return
    _on = True
    own = Loader(capture, torch)
    places = [(fetch, "_MapDatasetFetcher", "fetch", own.fetch), (fetch, "_IterableDatasetFetcher", "fetch", own.fetch),
              (loader, "_MultiProcessingDataLoaderIter", "_next_data", own.wait), (loader, "_SingleProcessDataLoaderIter", "_next_data", own.wait),
              (loader, "_MultiProcessingDataLoaderIter", "_process_data", own.process)]
    for module, kind, name, then in places:
        _wrap(getattr(module, kind, None), name, then)


def _wrap(kind: Any, name: str, then: Any) -> None:
    plain = vars(kind).get(name) if kind is not None else None
    if plain is None:
        return

    @functools.wraps(plain)
    def wrapped(self: Any, *args: Any) -> Any:
        return then(plain, self, *args)

    setattr(kind, name, wrapped)
