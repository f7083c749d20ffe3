# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Handles exceptions of measured objects. Their code (`__sizeof__`, `__eq__`, properties) may raise anything, even SystemExit. That is reported.

An exception from a signal handler belongs to the user: Ctrl-C still ends a measurement. Inside `signals_told_apart()` the two are
distinguished. Outside of it, a KeyboardInterrupt in the main thread counts as the user's.
"""
from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGUSR2") if hasattr(signal, name))


class _State:
    active = False
    raised: BaseException | None = None  # raised by a signal handler


def is_signals(e: BaseException) -> bool:
    """Returns whether the exception comes from a signal handler, not from an object's own code."""
    if e is _State.raised:
        return True
    return isinstance(e, KeyboardInterrupt) and not _State.active and threading.current_thread() is threading.main_thread()


def pass_signals(e: BaseException) -> None:
    """Raises `e` again if it comes from a signal, or if memory ran out."""
    if isinstance(e, MemoryError) or is_signals(e):
        raise e


def _noting(handler: Any) -> Any:
    def run(number: int, frame: Any) -> None:
        try:
            handler(number, frame)
        except BaseException as e:
            _State.raised = e
            raise

    return run


@contextlib.contextmanager
def signals_told_apart() -> Iterator[None]:
    """Wraps signal handlers written in Python until the end of the block. Does nothing outside of the main thread."""
    if _State.active or threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = {}
    try:
        for s in _SIGNALS:
            theirs = signal.getsignal(s)
            if callable(theirs):
                ours[s] = _noting(theirs), theirs
                signal.signal(s, ours[s][0])
        _State.active = True
        yield
    finally:
        for s, (mine, theirs) in ours.items():
            if signal.getsignal(s) is mine:  # an object's code may have set another one
                signal.signal(s, theirs)
        _State.active, _State.raised = False, None
