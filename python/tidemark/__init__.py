# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Records and explains the memory and time of accelerators.

    with tidemark.record("run.tide"):
        with tidemark.op("forward"):
            ...
    tidemark.open("run.tide").peak(group_by="op")

Importing this package imports neither torch nor anything slow. A call imports the modules that it needs.
"""
from __future__ import annotations

from ._native import Error, annotate, counter, intern, recording, stats
from ._record import checkpoint, op, phase, record, start, step, stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    __version__: str
    from . import loggers as loggers
    from . import torch as torch
    from . import tracker as tracker
    from ._callback import Callback as Callback
    from ._config import Config as Config
    from ._config import config as config
    from ._live import Live as Live
    from ._live import live as live
    from ._trace import Table as Table
    from ._trace import Trace as Trace
    from ._trace import open as open
    from ._usage import MemoryUsageTracker as MemoryUsageTracker
    from ._usage import RunMode as RunMode
    from ._virtual_tests import Fit as Fit
    from ._virtual_tests import fits as fits
    from .tracker import get_memory_summary as get_memory_summary
    from .tracker import get_memory_tracker as get_memory_tracker
    from .tracker import initialize_memory_tracker as initialize_memory_tracker
    from .tracker import memory_checkpoint as memory_checkpoint
    from .tracker import save_memory_profile as save_memory_profile
    from .tracker import stop_memory_tracker as stop_memory_tracker

__all__ = [  # without `torch`: `from tidemark import *` must not hide PyTorch
    "Callback", "Config", "Error", "Fit", "Live", "MemoryUsageTracker", "RunMode", "Table", "Trace", "annotate", "checkpoint", "config", "counter", "fits", "get_memory_summary",
    "get_memory_tracker", "initialize_memory_tracker", "intern", "live", "loggers", "memory_checkpoint", "op", "open", "phase", "record", "recording",
    "save_memory_profile", "start", "stats", "step", "stop", "stop_memory_tracker", "tracker",
]

_LATER = {
    "Callback": "_callback", "MemoryUsageTracker": "_usage", "RunMode": "_usage", "Config": "_config", "config": "_config", "Live": "_live", "live": "_live", "Fit": "_virtual_tests", "fits": "_virtual_tests", "Table": "_trace", "Trace": "_trace", "open": "_trace",
    "initialize_memory_tracker": "tracker", "get_memory_tracker": "tracker", "memory_checkpoint": "tracker",
    "save_memory_profile": "tracker", "get_memory_summary": "tracker", "stop_memory_tracker": "tracker",
}


def _later(name: str) -> object:
    import importlib

    if name in ("loggers", "torch", "tracker"):
        return importlib.import_module(f"tidemark.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("tidemark-profiler")
    if name in _LATER:
        value = getattr(importlib.import_module(f"tidemark.{_LATER[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'tidemark' has no attribute '{name}'")


if not TYPE_CHECKING:  # type checkers see only the names above
    __getattr__ = _later


def load_ipython_extension(shell: object) -> None:
    """Registers the magic %%tidemark; `%load_ext tidemark` calls this."""
    from ._magic import register

    register(shell)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER, "loggers", "torch", "tracker", "__version__"})
