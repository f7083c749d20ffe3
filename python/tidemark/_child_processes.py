# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Processes that multiprocessing starts by spawn or forkserver (a DataLoader's workers) record into separate files, as forked
ones do.

multiprocessing sends such a process its preparation data. We add a short script to them, which the process runs when it unpickles
them. The process records from its import of torch on; without torch it writes no file. Never raises into the program.
"""
from __future__ import annotations

import os
import sys
from typing import Any

from . import _home, _native, _record

_own: Any = None  # the original multiprocessing.spawn.get_preparation_data; None = not replaced

# The path to packages may not be set up yet when this runs. If tidemark cannot be imported, nothing is recorded.
WORDS = """
try:
    from tidemark._child_processes import begin
except ImportError:
    pass
else:
    begin({base!r}, {asked!r})
"""


class _Words:
    """Runs a script when it is unpickled; the unpickled value is None."""

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
    """Starts adding the script to preparation data. Does nothing under `tidemark run`, where every process records itself."""
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
    if _own is not None and spawn is not None and spawn.get_preparation_data is _preparation:  # leave it if someone else has wrapped it
        spawn.get_preparation_data, _own = _own, None


def begin(base: str, asked: dict[str, Any]) -> None:
    """Runs in the started process: records into NAME.PID.tide once torch has been imported."""
    def start() -> None:
        try:
            if not _native.recording():
                _record.start(base, as_child=True, **_record.TORCH)
                from . import torch as capture

                capture.attach(**asked)
        except Exception as why:
            _home.say(f"this process is not recorded: {why}")

    try:
        if "torch" in sys.modules:  # a fork server may have imported it
            start()
        else:
            _home.hook("tidemark_watch").Watch(start)
    except Exception as why:
        _home.say(f"this process is not recorded: {why}")
