# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The memory tracker under the name that other trackers have: `from tidemark.memory_profiler import memory_checkpoint`. See tidemark.tracker."""
from __future__ import annotations

from . import tracker as _tracker
from .tracker import *  # noqa: F403

__all__ = _tracker.__all__


def __getattr__(name: str) -> object:  # also names that * leaves out, such as profile
    return getattr(_tracker, name)
