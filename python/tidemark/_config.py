# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Settings from tidemark.toml and the environment, read by the same code as in the program (`tidemark config show`)."""
from __future__ import annotations

import os
from typing import NamedTuple

from . import _native


class Config(NamedTuple):
    """The settings. None leaves the choice to the recording function. `where` maps each setting to the source of its value."""

    enable_memory_profiling: bool
    interval: float
    output_dir: str
    capture_ops: bool
    capture_shapes: bool | None
    capture_stacks: bool | None
    run_heap: str
    run_rate: str
    run_mmap: bool
    run_gpu: bool
    run_light: bool
    run_torch: bool
    run_modules: bool
    run_duration: str
    run_max_size: str
    run_signal: str
    where: dict[str, str]


def config(file: str | os.PathLike[str] | None = None, backend: str | None = None) -> Config:
    """Returns the current settings. Raises Error, with the file and line or the variable, if one is wrong."""
    found = _native.config(os.fspath(file) if file is not None else None, backend)
    return Config(**{k: v for k, (v, _) in found.items()}, where={k: w for k, (_, w) in found.items()})
