# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Gives threads their Python names in the kernel, as CPython does itself from 3.14 on.

The recorder reads a thread's name from the kernel at its first event. The main thread keeps the name of the process. A name has at
most 15 bytes. Never raises into the program.
"""
from __future__ import annotations

import os
import sys
import threading
from _thread import get_native_id
from typing import Any

_own: Any = None  # the original Thread._bootstrap_inner; None = not replaced


def _set_name(thread: Any, task: str) -> None:
    try:
        with open(f"/proc/{task}/comm", "wb", buffering=0) as f:
            f.write(thread.name.encode("utf-8", "replace")[:15].decode("utf-8", "ignore").encode())
    except Exception:  # no /proc, or a name that is not a string: the thread keeps its name
        return


def _bootstrap_inner(self: Any) -> None:
    if get_native_id() != os.getpid():  # gevent runs threads on the main thread
        _set_name(self, "thread-self")
    _own(self)


def on() -> None:
    """Names the existing threads and all that start from now on."""
    global _own
    inner = getattr(threading.Thread, "_bootstrap_inner", None)
    if sys.version_info >= (3, 14) or inner is None or inner is _bootstrap_inner:
        return
    for thread in threading.enumerate():
        if thread.native_id and thread.native_id != os.getpid():
            _set_name(thread, f"self/task/{thread.native_id}")
    _own = inner
    threading.Thread._bootstrap_inner = _bootstrap_inner  # type: ignore[attr-defined]


def off() -> None:
    if getattr(threading.Thread, "_bootstrap_inner", None) is _bootstrap_inner:  # leave it if someone else has wrapped it
        threading.Thread._bootstrap_inner = _own  # type: ignore[attr-defined]
