# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Prints what checkpoints found, behind the program's back: a checkpoint is one event, its totals are read from the recording.

A thread reads what has been recorded so far, without the GIL, and prints the checkpoints in it; then it rests nine times as long as
that took. What is left is printed when the tracker stops.
"""
from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

from . import _native, _profile

if TYPE_CHECKING:
    from collections.abc import Callable

REST = 9  # times what reading took


class Teller:
    """For the checkpoints that carry a number beside their name: 1, 2, 3 ..."""

    def __init__(self, recording: str, say: Callable[..., None]) -> None:
        self._recording, self._say = recording, say
        self._asked = self._told = 0
        self._lock = threading.RLock()  # a signal handler may checkpoint inside a checkpoint
        self._wake = threading.Event()
        self._owner = os.getpid()
        self._thread: threading.Thread | None = None
        self._stop = False

    def checkpoint(self, name: str) -> None:
        """Record it now, print it soon."""
        with self._lock:
            self._asked += 1
            _native.mark(_native.CHECKPOINT, name, self._asked)
            if self._thread is None and not self._stop and os.getpid() == self._owner:
                self._thread = threading.Thread(target=self._work, name="tidemark-tell", daemon=True)
                self._thread.start()
        self._wake.set()

    def stop(self) -> None:
        """Print what is left; the recording is complete."""
        self._stop = True
        self._wake.set()
        if self._thread is not None and os.getpid() == self._owner:
            self._thread.join()
        self._tell()

    def _work(self) -> None:
        while not self._stop:
            self._wake.wait()
            self._wake.clear()
            began = time.monotonic()
            if not self._stop:
                self._tell()
            rest = REST * (time.monotonic() - began)
            while rest > 0 and not self._stop:
                time.sleep(min(rest, 0.05))
                rest -= 0.05

    def _tell(self) -> None:
        if self._told >= self._asked:
            return
        try:
            for lines in self._read():
                self._say(*lines)
        except _native.Error:  # moved or removed meanwhile
            return

    def _read(self) -> list[list[str]]:
        t = _native.Trace(self._recording)
        kinds, values, names, moves = (t.view("marks", c) for c in ("kind", "value", "name", "move"))
        found: list[int] = []
        row = len(kinds) - 1
        while row > 0 and len(found) < self._asked - self._told:  # the latest are at the end
            if kinds[row] == _native.CHECKPOINT and values[row] > self._told:
                found.append(row)
            row -= 1
        found.reverse()
        devices = _profile.device_names(t)
        totals = t.totals([moves[r] for r in found])
        self._told += len(found)
        return [self._lines(t.text(names[r]), {devices[d]: n for d, n in at.items()}) for r, at in zip(found, totals)]

    @staticmethod
    def _lines(name: str, at: dict[str, tuple[int, int]]) -> list[str]:
        total, count = sum(n for n, _ in at.values()), sum(n for _, n in at.values())
        return [f"📊 Memory Checkpoint: {name}", f"   Total: {_profile.mb(total):.2f} MB across {count} tensors"] + [
            f"   {device}: {_profile.mb(n):.2f} MB ({c} tensors)" for device, (n, c) in at.items()]
