# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Processes that multiprocessing starts anew (spawn, forkserver: a DataLoader's workers) record into files of their own, as forked ones do.

What multiprocessing sends such a process at its start carries a few words of ours, which the process runs as it reads them. It
records from its import of torch on; one that imports none writes no file. Never raises into the program.
"""
from __future__ import annotations

import os
import sys
from typing import Any

from . import _home, _native, _record

_own: Any = None  # multiprocessing.spawn.get_preparation_data as it was found; None = not changed

# Run where the path to packages may not be known yet: what is not found is not recorded.
WORDS = """
try:
    from tidemark._child_processes import begin
except ImportError:
    pass
else:
    begin({base!r}, {asked!r})
"""


class _Words:
    """Is run when it is unpickled, and leaves nothing."""

    def __init__(self, words: str) -> None:
        self._words = words

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (self._words,)


def _preparation(*args: Any, **kw: Any) -> Any:
    data = _own(*args, **kw)
    from . import torch as capture

    if isinstance(data, dict) and capture.attached() and _native.recording() and _record._follows:
        data["tidemark"] = _Words(WORDS.format(base=_record._base, asked=capture._asked))
    return data


def on() -> None:
    """From now on. `tidemark run` has every process record itself."""
    global _own
    if os.environ.get("TIDEMARK_RECORD"):
        return
    import multiprocessing.spawn as spawn

    if _own is None and spawn.get_preparation_data is not _preparation:
        _own = spawn.get_preparation_data
        spawn.get_preparation_data = _preparation


def off() -> None:
    global _own
    spawn: Any = sys.modules.get("multiprocessing.spawn")
    if _own is not None and spawn is not None and spawn.get_preparation_data is _preparation:  # not where another has wrapped it
        spawn.get_preparation_data, _own = _own, None


def begin(base: str, asked: dict[str, Any]) -> None:
    """In such a process: record into NAME.PID.tide once torch is there."""
    def start() -> None:
        try:
            if not _native.recording():
                _record.start(base, as_child=True, **_record.TORCH)
                from . import torch as capture

                capture.attach(**asked)
        except Exception as why:
            _home.say(f"this process is not recorded: {why}")

    try:
        if "torch" in sys.modules:  # a fork server may have it
            start()
        else:
            _home.hook("tidemark_watch").Watch(start)
    except Exception as why:
        _home.say(f"this process is not recorded: {why}")
