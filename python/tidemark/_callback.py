# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A callback for Lightning's Trainer and Transformers' Trainer.

    Trainer(..., callbacks=[tidemark.Callback("run.tide")])

This module imports neither. If one of them is loaded already, the object is also an instance of its callback class, which
Lightning requires: create the callback after importing them. on_train_end has the same name in both and accepts the arguments of either.
"""
from __future__ import annotations

import os
import sys
from typing import Any

from . import _native, _record
from ._home import say

_BASES = (("lightning.pytorch.callbacks.callback", "Callback"), ("pytorch_lightning.callbacks.callback", "Callback"),
          ("transformers.trainer_callback", "TrainerCallback"))
_mixed: dict[tuple[type, ...], type] = {}


def _with_bases(cls: type) -> type:
    """Returns `cls`, or a subclass of it that also derives from the callback classes of the loaded frameworks."""
    found = [getattr(sys.modules[m], name, None) for m, name in _BASES if m in sys.modules]
    bases = tuple(b for b in found if isinstance(b, type) and not issubclass(cls, b))
    if not bases:
        return cls
    key = (cls, *bases)
    if key not in _mixed:
        _mixed[key] = type(cls.__name__, key, {"__module__": cls.__module__, "__doc__": cls.__doc__})
    return _mixed[key]


def _nothing(*args: Any, **kw: Any) -> None:
    pass


class Callback:
    """Records a training run: tensors, ops, a mark for every step, epochs and evaluations. Tensors carry the model's names.

    path: the file of the recording (with several ranks, .rankN is inserted before its extension); None uses the configured path.
    Options are those of record(). A recording that is already in progress continues and gets the marks.
    """

    _class: type

    def __new__(cls, *args: Any, **kw: Any) -> Callback:
        made: Callback = object.__new__(_with_bases(cls))
        made._class = cls
        return made

    def __init__(self, path: str | os.PathLike[str] | None = None, **options: Any) -> None:
        _record.record(path, torch=True, **options)  # reports a wrong option here, not after the data have been loaded
        self.path = path
        self._options = options
        self._record: _record.record | None = None
        self._step: int | None = None  # the last marked step

    def __reduce__(self) -> tuple[Any, ...]:  # other processes get the settings, not the recording
        return _again, (self._class, self.path, self._options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_"):  # events that do not concern memory
            return _nothing
        raise AttributeError(name)

    # ---- begin and end of the recording ----

    def _begin(self, rank: int, world: int, model: Any, optimizers: list[Any]) -> None:
        self._end()  # the recording of a training run that failed
        path = self.path
        if path is not None and world > 1:
            stem, ending = os.path.splitext(os.fspath(path))
            path = f"{stem}.rank{rank}{ending}"
        self._step = None
        self._record = _record.record(path, torch=True, **self._options)
        self._record.__enter__()
        _record._phased = True  # epochs and evaluations are the phases
        try:
            self._label(model, optimizers)
        except Exception as why:  # custom optimizers and tensor types must not stop the training
            say(f"not every tensor of the model has its name: {why}")

    @staticmethod
    def _label(model: Any, optimizers: list[Any]) -> None:
        from . import torch as capture

        for optimizer in optimizers or [None]:
            capture.label(model, getattr(optimizer, "optimizer", optimizer) if optimizer is not None else None)

    def _end(self) -> None:
        if self._record is not None:
            self._record.__exit__(None, None, None)
            self._record = None

    # ---- Transformers: (args, state, control, **everything) ----

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, optimizer: Any = None, **kw: Any) -> None:
        self._begin(getattr(args, "process_index", 0), getattr(args, "world_size", 1), model,
                    [optimizer] if optimizer is not None else [])

    def on_step_begin(self, args: Any, state: Any, control: Any, **kw: Any) -> None:
        _record.step(int(state.global_step))

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kw: Any) -> None:
        _record.checkpoint(f"epoch {int(state.epoch or 0)}")

    def on_step_end(self, args: Any, state: Any, control: Any = None, **kw: Any) -> None:
        if getattr(control, "should_evaluate", False):  # evaluation comes next
            _record.phase("train")

    on_epoch_end = on_step_end

    def on_evaluate(self, args: Any, state: Any, control: Any, **kw: Any) -> None:
        _record.phase("evaluate")

    # ---- Lightning: (trainer, module, ...) ----

    def on_train_start(self, trainer: Any, module: Any) -> None:
        self._begin(getattr(trainer, "global_rank", 0), getattr(trainer, "world_size", 1), module,
                    list(getattr(trainer, "optimizers", ()) or ()))

    def on_train_batch_start(self, trainer: Any, module: Any, batch: Any, batch_idx: int, *more: Any) -> None:
        step = int(getattr(trainer, "global_step", batch_idx))
        if step != self._step:  # with gradient accumulation a step has several batches
            self._step = step
            _record.step(step)

    def on_train_epoch_start(self, trainer: Any, module: Any) -> None:
        _record.checkpoint(f"epoch {int(getattr(trainer, 'current_epoch', 0))}")

    def on_validation_start(self, trainer: Any, module: Any) -> None:
        if _native.recording():
            _record.phase("train")

    def on_validation_end(self, trainer: Any, module: Any) -> None:
        if _native.recording():
            _record.phase("validation")

    def on_exception(self, trainer: Any, module: Any, exception: BaseException) -> None:
        self._end()

    # ---- both ----

    def on_train_end(self, *args: Any, **kw: Any) -> None:
        self._end()


def _again(cls: type, path: Any, options: dict[str, Any]) -> Callback:
    return cls(path, **options)  # type: ignore[no-any-return]
