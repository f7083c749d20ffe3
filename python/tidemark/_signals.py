# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Delays SIGINT and SIGTERM until a piece of work is complete; keeps data when SIGTERM ends the process."""
from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from typing import Any


class Afterwards:
    """`with Afterwards():` delivers a signal that arrives inside the block at its end. A second Ctrl+C does not wait.

    Only the main thread runs handlers. Nothing changes in another thread, or for a signal that is ignored or not handled by Python.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._came: list[int] = []

    def _note(self, number: int, frame: object) -> None:
        if number == signal.SIGINT and number in self._came:
            raise KeyboardInterrupt
        self._came.append(number)

    def __enter__(self) -> Afterwards:
        if threading.current_thread() is not threading.main_thread():
            return self
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if handler is not None and handler != signal.SIG_IGN:
                with contextlib.suppress(ValueError):  # the main thread of another interpreter
                    signal.signal(number, self._note)
                    self._before[number] = handler
        return self

    def __exit__(self, *what: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
        if self._came:  # send all of them before the first is handled, since its handler may raise
            before = signal.pthread_sigmask(signal.SIG_BLOCK, self._came)
            for number in dict.fromkeys(self._came):
                signal.pthread_kill(threading.get_ident(), number)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


_endings: list[tuple[int, Callable[[], None]]] = []  # (process, what SIGTERM calls before it ends that process), the newest last


def _on_term(number: int, frame: object) -> None:
    for process, call in reversed(list(_endings)):
        if process == os.getpid():
            with contextlib.suppress(Exception):  # the next one has data, too
                call()
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def at_term(call: Callable[[], None]) -> Callable[[], None]:
    """Makes SIGTERM call `call` before it ends this process, the newest first. Returns a function that cancels this. A handler of the
    program is not replaced: then `call` is never called."""
    entry = os.getpid(), call
    _endings.append(entry)
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        with contextlib.suppress(ValueError):  # the main thread of another interpreter
            signal.signal(signal.SIGTERM, _on_term)

    def cancel() -> None:
        if entry in _endings:
            _endings.remove(entry)
        if not _endings and threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is _on_term:
            with contextlib.suppress(ValueError):
                signal.signal(signal.SIGTERM, signal.SIG_DFL)

    return cancel
