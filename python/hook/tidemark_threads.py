# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Names that threads have in Python, for the recording: the kernel is told them, as CPython does itself from 3.14 on.

The recorder asks the kernel for a thread's name at its first event. The main thread keeps its own, which is the process's. At
most 15 bytes. Never raises into the program.
"""
from __future__ import annotations

import os
import sys
import threading
from _thread import get_native_id
from typing import Any

_own: Any = None  # Thread._bootstrap_inner as it was found; None = not changed


def _tell(thread: Any, task: str) -> None:
    try:
        with open(f"/proc/{task}/comm", "wb", buffering=0) as f:
            f.write(thread.name.encode("utf-8", "replace")[:15].decode("utf-8", "ignore").encode())
    except Exception:  # no /proc, a name that is no text: it keeps the one it has
        return


def _bootstrap_inner(self: Any) -> None:
    if get_native_id() != os.getpid():  # gevent has threads run on the main one
        _tell(self, "thread-self")
    _own(self)


def on() -> None:
    """Threads that are there, and those that start from now on."""
    global _own
    inner = getattr(threading.Thread, "_bootstrap_inner", None)
    if sys.version_info >= (3, 14) or inner is None or inner is _bootstrap_inner:
        return
    for thread in threading.enumerate():
        if thread.native_id and thread.native_id != os.getpid():
            _tell(thread, f"self/task/{thread.native_id}")
    _own = inner
    threading.Thread._bootstrap_inner = _bootstrap_inner  # type: ignore[attr-defined]


def off() -> None:
    if getattr(threading.Thread, "_bootstrap_inner", None) is _bootstrap_inner:  # not where another has wrapped it
        threading.Thread._bootstrap_inner = _own  # type: ignore[attr-defined]
