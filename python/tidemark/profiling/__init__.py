# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Profiles in one call: shows what is slow, what is large and what to change.

    from tidemark.profiling import UnifiedProfiler

    with UnifiedProfiler("profiles").profile("step") as session:
        loss.backward()
    print(session.cuda_time_ms, session.peak_memory_mb, session.recommendations)

This package is a thin layer: Tidemark's recorder, or torch.profiler, records; Tidemark's analyses compute the figures. An unknown
figure is UNKNOWN: its text is "unknown" in every format, every comparison with it is false; data_of() makes it None for documents.
"""
from __future__ import annotations

from typing import TYPE_CHECKING

from .._unknown import UNKNOWN, Unknown, data_of, known

if TYPE_CHECKING:
    from ._documents import read_report as read_report
    from .flame_graph import FlameGraphGenerator as FlameGraphGenerator
    from .hta import HTAAnalyzer as HTAAnalyzer
    from .hta import HTAReport as HTAReport
    from .memory import MemoryProfiler as MemoryProfiler
    from .memory import MemorySnapshot as MemorySnapshot
    from .memory import profile_memory as profile_memory
    from .profiler import KernelInfo as KernelInfo
    from .profiler import ProfileSession as ProfileSession
    from .profiler import UnifiedProfiler as UnifiedProfiler
    from .timeline import TimelineData as TimelineData
    from .timeline import TimelineEvent as TimelineEvent
    from .timeline import TimelineGenerator as TimelineGenerator
    from .torch_compile import CompileBreak as CompileBreak
    from .torch_compile import CompileReport as CompileReport
    from .torch_compile import TorchCompileAnalyzer as TorchCompileAnalyzer

_LATER = {
    "read_report": "_documents",
    "FlameGraphGenerator": "flame_graph", "HTAAnalyzer": "hta", "HTAReport": "hta", "MemoryProfiler": "memory", "MemorySnapshot": "memory",
    "profile_memory": "memory", "KernelInfo": "profiler", "ProfileSession": "profiler", "UnifiedProfiler": "profiler", "TimelineData": "timeline",
    "TimelineEvent": "timeline", "TimelineGenerator": "timeline", "CompileBreak": "torch_compile", "CompileReport": "torch_compile",
    "TorchCompileAnalyzer": "torch_compile",
}
__all__ = ["CompileBreak", "CompileReport", "FlameGraphGenerator", "HTAAnalyzer", "HTAReport", "KernelInfo", "MemoryProfiler", "MemorySnapshot",
           "ProfileSession", "TimelineData", "TimelineEvent", "TimelineGenerator", "TorchCompileAnalyzer", "UNKNOWN", "UnifiedProfiler", "Unknown", "data_of", "known",
           "profile_memory", "read_report"]


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'tidemark.profiling' has no attribute '{name}'")
    import importlib

    value = getattr(importlib.import_module(f"tidemark.profiling.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
