# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A recording that began before torch was imported: wait for that, let it happen as always, then attach."""
from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class _Loader(importlib.abc.Loader):
    """torch's own loader, and something to do after it."""

    def __init__(self, own: Any, then: Callable[[], None]) -> None:
        self._own, self._then = own, then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._own.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._own
        module.__loader__ = self._own
        self._own.exec_module(module)
        self._then()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)


class Watch(importlib.abc.MetaPathFinder):
    """Calls `then` once torch has been imported; cancel() before that and nothing happens."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        sys.meta_path.insert(0, self)

    def cancel(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "torch" or self not in sys.meta_path:
            return None
        self.cancel()
        spec = importlib.util.find_spec("torch")
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._then)
        return spec
