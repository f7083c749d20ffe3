# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A memory usage tracker: measures memory between snapshots and prints it as a table.

    guard = tidemark.MemoryUsageTracker.begin_capture()
    ...
    tidemark.MemoryUsageTracker.snapshot("MODEL_CREATION")
    tidemark.MemoryUsageTracker.end_capture("ITERATION_COMPLETE")
    tidemark.MemoryUsageTracker.print_memory_usage()
    guard.release()

A capture is a recording, of PyTorch's memory too if torch can be imported. If a recording is in progress, the phases go into it; else
the capture makes one among temporary files, which clear() removes.
"""
from __future__ import annotations

import contextlib
import enum
import os
import sys
import tempfile
from typing import Any

from . import _native, _record


BEFORE = "(before the capture)"  # ends the part of a recording in progress that is not in the capture
NO_MEMORY = dict.fromkeys(
    [f"{name}_bytes" for name in ("allocations", "deallocations", "segment_peak", "segment_change", "cumulative_peak", "cumulative_current")], 0
)


def _capture() -> Any:
    from . import torch

    return torch


class RunMode(enum.Enum):
    """NO_DISPATCH: PyTorch's ops compute and allocate nothing between begin and end; the memory that they would need is recorded."""

    NORMAL = 0
    NO_DISPATCH = 1


class Guard:
    """Ends the capture and discards it when this object is deleted, unless release() was called."""

    def __init__(self, capture: int) -> None:
        self._held = True
        self._capture = capture

    def release(self) -> None:
        self._held = False

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, *why: object) -> None:
        self.__del__()

    def __del__(self) -> None:
        if self._held:
            self._held = False
            if self._capture == MemoryUsageTracker._captures:  # in `guard = begin_capture()` the old guard goes after the new capture began
                with contextlib.suppress(Exception):
                    MemoryUsageTracker.clear()


class MemoryUsageTracker:
    _active = False
    _path: str | None = None
    _own = _temporary = _attached = False
    _virtual: Any = None
    _unknown: dict[str, str] = {}  # of the last capture: ops whose memory a prediction does not know
    _captures = 0

    @classmethod
    def begin_capture(cls, mode: RunMode = RunMode.NORMAL, path: str | os.PathLike[str] | None = None) -> Guard:
        if cls._active:
            raise RuntimeError("MemoryUsageTracker: Capture already active")
        cls.clear()
        cls._own = not _record.running()
        cls._temporary = cls._own and path is None
        if cls._own:
            if path is None:
                fd, name = tempfile.mkstemp(".tide", "tidemark-usage-")
                os.close(fd)
                path = name
            _record.start(path, **_record.TORCH)
        else:
            _record.phase(BEFORE)
        _record._phased = True  # snapshots are the phases
        cls._path = _record.path_now()
        if mode is RunMode.NO_DISPATCH:
            _native.annotate("predicted.device", "NO_DISPATCH")
            cls._virtual = cls._enter_virtual()
        else:
            cls._attached = cls._attach()
            if cls._own and cls._attached and _capture().adopted():
                _record.phase(BEFORE)
        cls._active = True
        cls._captures += 1
        return Guard(cls._captures)

    @staticmethod
    def _enter_virtual() -> Any:
        """Turns fake tensors on, if torch can be imported and `tidemark predict` has not done so already."""
        import importlib.util

        if os.environ.get("TIDEMARK_PREDICT") or importlib.util.find_spec("torch") is None:
            return None
        from . import _virtual

        return _virtual.enter()

    @staticmethod
    def _attach() -> bool:
        """Attaches to PyTorch if the program has imported it and it is not recorded yet. Returns whether it did."""
        if "torch" not in sys.modules:
            return False
        if _capture().attached():
            return False
        _capture().attach(ops=False)
        return True

    @classmethod
    def snapshot(cls, name: str) -> None:
        if not cls._active:
            raise RuntimeError("MemoryUsageTracker: snapshot without an active capture")
        _record.phase(name)

    @classmethod
    def end_capture(cls, name: str = "END_TRACE") -> None:
        if not cls._active:
            return
        cls.snapshot(name)
        cls._active = False
        if cls._virtual is not None:
            cls._virtual.leave()
            cls._unknown = dict(cls._virtual.unknown)
            cls._virtual = None
        if cls._attached:
            _capture().detach()
        if cls._own:
            _record.stop()

    @classmethod
    def print_memory_usage(cls, file: Any = None) -> None:
        if cls._path is None:
            print("WARNING: No traces captured", file=file)
            return
        from ._reports import text

        trace = _native.Trace(cls._path)
        print(text("phases", [trace.model()], {"tracker": True}, _native.Error), end="", file=file, flush=True)
        if cls._unknown:
            print("Not exact:", "; ".join(f"{op}: {why}" for op, why in sorted(cls._unknown.items())), file=file, flush=True)

    @classmethod
    def clear(cls) -> None:
        cls.end_capture()
        if cls._temporary and cls._path:
            with contextlib.suppress(OSError):
                os.unlink(cls._path)
        cls._path = None
        cls._unknown = {}
        cls._own = cls._temporary = cls._attached = False

    @classmethod
    def get_memory_usage_all(cls) -> list[tuple[str, dict[str, int]]]:
        """Return (name, figures in bytes) of every snapshot, in order; names may repeat."""
        if cls._path is None:
            return []
        from ._trace import report_of

        out: list[tuple[str, dict[str, int]]] = []
        for p in report_of("phases", cls._path)["phases"]:
            if p["name"] == BEFORE:
                out = []
            elif p["name"] is not None:
                rows = [m for m in p["memory"] if m["scope"] == "device"]
                best = next((m for m in rows if m["device"] != "cpu"), rows[0] if rows else NO_MEMORY)
                out.append((p["name"], {k: v for k, v in best.items() if k.endswith("_bytes")}))
        return out

    @classmethod
    def get_memory_usage(cls, name: str) -> dict[str, int]:
        """Return the figures of the snapshot with that name. Raises KeyError without one, ValueError if there are several."""
        found = [figures for n, figures in cls.get_memory_usage_all() if n == name]
        if not found:
            raise KeyError(f"no snapshot '{name}'")
        if len(found) > 1:
            raise ValueError(f"the name '{name}' is ambiguous: {len(found)} snapshots have it; ask for all")
        return found[0]

    get_dram_usage = get_l1_usage = get_memory_usage
    get_dram_usage_all = get_l1_usage_all = get_memory_usage_all
