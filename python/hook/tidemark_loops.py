# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Ends loops of the program that only a value can end which does not exist: `while not finished:` of a tensor.

An unknown value is the same for ever. When one place in a `while` loop has read it `PATIENCE` times in one run of the loop, it gets
the other value (true, or 1 instead of 0). If the loop then ends, it is named, and the result is not a prediction: how long the
loop runs on a device is unknown. If it does not end, the value is not what it waits for; it gets its old value back.
"""
from __future__ import annotations

import dis
import os
import sys
from typing import Any

PATIENCE = 1000  # reads at one place in one run of a loop
TRIES = 64  # reads that get the other value
DEPTH = 40  # frames in which a loop is looked for


class Reads:
    """Counts the reads of one call of a function by their places. Kept as the call's trace function, which is not called unless a debugger runs."""

    def __init__(self) -> None:
        self.of: dict[Any, int] = {}

    def __call__(self, *args: Any) -> None:
        return None


class Loops:
    def __init__(self, torch_folder: str) -> None:
        self.ours = (torch_folder + os.sep, os.path.dirname(os.path.abspath(__file__)) + os.sep)
        self.ranges: dict[Any, list[tuple[int, int]]] = {}  # of the while loops of a function's code
        self.ended: dict[Any, str] = {}  # place -> file and line of the loop

    def whiles(self, code: Any) -> list[tuple[int, int]]:
        """Returns begin and end of the code's loops except those over an iterator: jumps backwards to anything else than the next item."""
        known = self.ranges.get(code)
        if known is None:
            names = {i.offset: i.opname for i in dis.get_instructions(code)}
            known = self.ranges[code] = [(i.argval, i.offset) for i in dis.get_instructions(code)
                                         if "JUMP" in i.opname and isinstance(i.argval, int) and i.argval < i.offset and not names.get(i.argval, "").startswith(("FOR_ITER", "SEND"))]
        return known

    def answer(self, value: Any) -> Any:
        """Returns the value that the program gets when it reads an unknown one."""
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(self.ours):
            frame = frame.f_back
        if frame is None:
            return value
        place = frame.f_code, frame.f_lasti
        for _ in range(DEPTH):
            if frame is None:
                break
            if any(a <= frame.f_lasti <= b for a, b in self.whiles(frame.f_code)):
                return self.count(frame, place, value)
            frame = frame.f_back
        return value

    def count(self, frame: Any, place: Any, value: Any) -> Any:
        reads = frame.f_trace
        if reads is None:
            reads = frame.f_trace = Reads()
        if not isinstance(reads, Reads):  # a debugger's
            return value
        n = reads.of[place] = reads.of.get(place, 0) + 1
        if n <= PATIENCE:
            return value
        if n > PATIENCE + TRIES:  # it did not wait for this value
            self.ended.pop(place, None)
            return value
        self.ended[place] = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
        return not value if isinstance(value, bool) else type(value)(1 - value) if value in (0, 1) else value

    def note(self) -> str:
        """Returns a sentence that names the loops that were ended, or ""."""
        places = sorted(set(self.ended.values()))
        return f"a loop that only unknown values end was ended after {PATIENCE} rounds: {', '.join(places)}" if places else ""
