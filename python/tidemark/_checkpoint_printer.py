# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Prints the totals of checkpoints from a separate thread. A checkpoint is one event; its totals are read from the recording.

The thread reads the recording so far, without the GIL, and prints its new checkpoints; then it sleeps REST times as long as that
took. The remaining checkpoints are printed when the tracker stops.
"""
from __future__ import annotations

import contextlib
import itertools
import os
import queue
import threading
import time
from typing import TYPE_CHECKING

from . import _native, _profile

if TYPE_CHECKING:
    from collections.abc import Callable

REST = 9  # sleeps this many times the duration of reading


class CheckpointPrinter:
    """Prints the checkpoints that carry a number beside their name: 1, 2, 3 ..."""

    def __init__(self, recording: str, say: Callable[..., None]) -> None:
        self._recording, self._say = recording, say
        self._numbers = itertools.count(1)
        self._waiting: set[int] = set()  # recorded, not yet printed
        self._wake: queue.SimpleQueue[bool] = queue.SimpleQueue()  # reentrant, for signal handlers; False = end
        self._lock = threading.RLock()
        self._owner = os.getpid()
        self._thread: threading.Thread | None = None

    def checkpoint(self, name: str) -> None:
        """Records a checkpoint now and prints it soon. A forked child has no such thread and prints none."""
        number = next(self._numbers)
        _native.mark(_native.CHECKPOINT, name, number)
        if os.getpid() != self._owner:
            return
        self._waiting.add(number)
        if self._thread is None:
            with self._lock:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._work, name="tidemark-tell", daemon=True)
                    self._thread.start()
        self._wake.put(True)

    def stop(self) -> None:
        """Prints the remaining checkpoints. The recording must be complete."""
        self._wake.put(False)
        if self._thread is not None and os.getpid() == self._owner:
            self._thread.join()
        self._tell()

    def _work(self) -> None:
        while self._wake.get():
            began = time.monotonic()
            self._tell()
            if not self._pause(REST * (time.monotonic() - began)):
                return

    def _pause(self, seconds: float) -> bool:
        """Sleeps, so that checkpoints of the meantime are printed together. Returns False if the printer must stop."""
        until = time.monotonic() + seconds
        last = True
        while last and seconds > 0:
            with contextlib.suppress(queue.Empty):
                last = self._wake.get(timeout=seconds)
            seconds = until - time.monotonic()
        if last and self._waiting:
            self._wake.put(True)
        return last

    def _tell(self) -> None:
        try:
            for lines in self._read() if self._waiting else ():
                self._say(*lines)
        except _native.Error:  # the file was renamed or removed meanwhile
            return

    def _read(self) -> list[list[str]]:
        t = _native.Trace(self._recording)
        kinds, values, names, positions = (t.view("marks", c) for c in ("kind", "value", "name", "position"))
        found: list[int] = []
        row = len(kinds) - 1
        while row > 0 and self._waiting:  # the latest checkpoints are at the end
            if kinds[row] == _native.CHECKPOINT and values[row] in self._waiting:
                self._waiting.discard(values[row])
                found.append(row)
            row -= 1
        found.sort(key=positions.__getitem__)
        devices = _profile.device_names(t)
        totals = t.totals([positions[r] for r in found])
        return [self._lines(t.text(names[r]), {devices[d]: n for d, n in at.items()}) for r, at in zip(found, totals)]

    @staticmethod
    def _lines(name: str, at: dict[str, tuple[int, int]]) -> list[str]:
        total, count = sum(n for n, _ in at.values()), sum(n for _, n in at.values())
        return [f"📊 Memory Checkpoint: {name}", f"   Total: {_profile.mb(total):.2f} MB across {count} tensors"] + [
            f"   {device}: {_profile.mb(n):.2f} MB ({c} tensors)" for device, (n, c) in at.items()]
