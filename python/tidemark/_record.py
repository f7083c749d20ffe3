# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Recording: the file, ops, moments. Thin: every event is one call of the extension."""
from __future__ import annotations

import os
import sys

from . import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])
    Path = str | os.PathLike[str]

_path: str | None = None  # of the recording in progress, or of the last one
_count = 0  # recordings started so far
_stepped = False  # the program says where its steps are
TORCH: dict[str, Any] = {"ring_bytes": 4 << 20, "full_wait_us": 1000}  # ops come in bursts: more room, and rather wait than lose


def start(path: Path = "run.tide", *, ring_bytes: int = 0, max_ring_bytes: int = 0, full_wait_us: int = 0,
          follow_fork: bool = True) -> None:
    """Start recording into `path`. Raises Error (code 8) when a recording is already in progress."""
    global _path, _count
    _native.start(path, ring_bytes=ring_bytes, max_ring_bytes=max_ring_bytes, full_wait_us=full_wait_us,
                  follow_fork=follow_fork)
    _path = os.path.abspath(os.fspath(path))
    _count += 1


def stop() -> None:
    """Stop and complete the file. Not recording is fine."""
    _native.stop()


class record:  # noqa: N801: reads as a verb
    """`with tidemark.record("run.tide"):`, or a decorator: records while the block, or the function, runs.

    With torch loaded (or `torch=True`) its tensors and ops are recorded too; `torch=False` leaves it alone. `shapes`, `stacks`
    and `modules` are those of tidemark.torch.attach(); other options those of start().
    What is not given is as configured (`tidemark config show`); by default run.tide, with ops, without shapes and stacks.
    A recording that is already in progress goes on, and this one does nothing.
    """

    def __init__(self, path: Path | None = None, *, torch: bool | None = None, ops: bool | None = None, shapes: bool | None = None,
                 stacks: bool | int | None = None, modules: bool = True, **options: Any) -> None:
        self.path = path
        self._torch = torch
        self._what: dict[str, Any] = {"ops": ops, "shapes": shapes, "stacks": stacks, "modules": modules}
        self._options = options
        self._mine = False
        self._attached = False

    def __enter__(self) -> record:
        if _native.recording():
            return self
        from ._config import config

        settings = config()
        with_torch = self._torch or (self._torch is None and "torch" in sys.modules)
        if self.path is None:
            os.makedirs(settings.output_dir, exist_ok=True)
        start(os.path.join(settings.output_dir, "run.tide") if self.path is None else self.path,
              **{**(TORCH if with_torch else {}), **self._options})
        self._mine = True
        if with_torch:
            from . import torch as capture

            try:
                self._attached = not capture.attached()
                set_by = {"ops": settings.capture_ops, "shapes": bool(settings.capture_shapes), "stacks": bool(settings.capture_stacks)}
                capture.attach(**set_by | {k: v for k, v in self._what.items() if v is not None})
            except BaseException:
                self._end()
                raise
        return self

    def _end(self) -> None:
        if self._attached:
            from . import torch as capture

            capture.detach()
        self._mine = self._attached = False
        stop()

    def __exit__(self, kind: type[BaseException] | None, what: BaseException | None, where: TracebackType | None) -> None:
        if self._mine:
            self._end()

    def __call__(self, function: F) -> F:
        import functools

        @functools.wraps(function)
        def recorded(*args: Any, **kw: Any) -> Any:
            with record(self.path, torch=self._torch, **self._what, **self._options):
                return function(*args, **kw)

        return recorded  # type: ignore[return-value]


class op:  # noqa: N801
    """`with tidemark.op("forward"):`, or a decorator: an op on this thread, inside the one that is open."""

    __slots__ = ("_tokens", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._tokens: list[int] = []

    def __enter__(self) -> op:
        self._tokens.append(_native.op_begin(self.name))
        return self

    def __exit__(self, kind: type[BaseException] | None, what: BaseException | None, where: TracebackType | None) -> None:
        _native.op_end(self._tokens.pop())

    def __call__(self, function: F) -> F:
        import functools

        name = self.name

        @functools.wraps(function)
        def inside(*args: Any, **kw: Any) -> Any:
            token = _native.op_begin(name)
            try:
                return function(*args, **kw)
            finally:
                _native.op_end(token)

        return inside  # type: ignore[return-value]


def phase(name: str) -> None:
    """A phase ends: everything since the previous one is called `name`."""
    _native.mark(_native.PHASE, name)


def step(number: int, name: str = "step") -> None:
    """Step `number` begins. Optimizers then mark none."""
    global _stepped
    _stepped = True
    _native.mark(_native.STEP, name, number)


def checkpoint(name: str) -> None:
    """A named moment."""
    _native.mark(_native.CHECKPOINT, name)
