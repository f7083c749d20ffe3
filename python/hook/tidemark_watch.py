# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Calls a function after torch has been imported, and prints lines without ever raising an exception.

Many programs only look for torch (importlib.util.find_spec) long before they import it. That does not count as an import.
"""
from __future__ import annotations

import importlib.abc
import importlib.util
import os
import sys
from _thread import _local
from typing import Any


def put(stream: Any, text: str) -> None:
    """Writes a line to sys.stdout or sys.stderr and never raises: the stream may be None, closed, or a log on a full disk.

    Python's own streams are written past their buffer. A line that cannot be written would stay there, and the interpreter, which
    flushes it at its end, would exit with status 120."""
    try:
        if stream is None:
            return
        if any(stream is own for own in (sys.__stderr__, sys.__stdout__)):
            stream.flush()
            os.write(stream.fileno(), f"{text}\n".encode(stream.encoding, "replace"))
        else:
            print(text, file=stream, flush=True)
    except Exception:
        return


def say(text: str) -> None:
    """Prints one line on stderr."""
    put(sys.stderr, f"tidemark: {text}")


class _Loader(importlib.abc.Loader):
    """Runs torch's own loader, then a function."""

    def __init__(self, own: Any, then: Any) -> None:
        self._own, self._then = own, then

    def create_module(self, spec: Any) -> Any:
        return self._own.create_module(spec)

    def exec_module(self, module: Any) -> None:
        module.__spec__.loader = module.__loader__ = self._own  # torch finds its files through its loader
        self._own.exec_module(module)
        self._then()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)


class Watch(importlib.abc.MetaPathFinder):
    """Calls `then` once torch has been imported, unless cancel() is called before that."""

    def __init__(self, then: Any) -> None:
        self._then = then
        self._here: Any = _local()
        sys.meta_path.insert(0, self)

    def cancel(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "torch" or getattr(self._here, "asking", False) or self not in sys.meta_path:
            return None
        self._here.asking = True  # find_spec below asks the other finders only
        try:
            spec = importlib.util.find_spec("torch")
        finally:
            self._here.asking = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._imported)
        return spec

    def _imported(self) -> None:
        if self in sys.meta_path:
            self.cancel()
            self._then()
