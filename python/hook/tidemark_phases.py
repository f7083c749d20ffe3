# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Marks phases of a training loop automatically: creation of an optimizer, first run of a model, begin and end of a backward pass,
step of an optimizer. It marks the first STEPS steps only, because thousands of equal phases are of no use. Once a program marks
phases of its own (tidemark.phase), this module marks none. Never raises into the program."""
from __future__ import annotations

import sys
import weakref
from typing import Any

PHASE = 1
STEPS = 3


class Phases:
    """mark: a function that ends a phase with a name."""

    def __init__(self, torch: Any, mark: Any) -> None:
        self.torch = torch
        self.mark = mark
        self.before = "MODEL_CREATION"  # the phase that ends next; "" from the first forward on
        self.steps = self.depth = 0
        self.inner: Any = None
        self.make: Any = None
        self.first: Any = None  # a weak reference to the optimizer whose steps are counted

    @staticmethod
    def own() -> bool:
        """Returns whether the program marks phases itself."""
        return bool(getattr(sys.modules.get("tidemark._record"), "_phased", False))

    def done(self) -> bool:
        return self.steps >= STEPS or self.own()

    def end(self, name: str) -> None:
        if not self.done():
            self.mark(name)

    def optimizer_made(self) -> None:
        if self.before == "MODEL_CREATION":
            self.end("MODEL_CREATION")
            self.before = "OPTIMIZER_CREATION"

    def model_runs(self) -> None:
        """Called when a model runs for the first time."""
        if self.before:
            self.end(self.before)
            self.before = ""

    def stepped(self, optimizer: Any) -> None:
        """Counts steps of the first optimizer: a program may have several, and each steps once per iteration."""
        if self.before:
            return
        self.end("OPTIMIZER_STEP")
        if self.first is None or self.first() is None:
            self.first = weakref.ref(optimizer)
        self.steps += self.first() is optimizer

    def backward(self, *args: Any, **kw: Any) -> Any:
        outer = self.depth == 0 and not self.before
        if outer:
            self.end("FORWARD_PASS")
        self.depth += 1
        try:
            return self.inner(*args, **kw)
        finally:
            self.depth -= 1
            if outer:
                self.end("BACKWARD_PASS")
                if self.done():
                    self.off()

    def on(self) -> None:
        if self.inner is not None or self.own():
            return
        autograd, optimizer = self.torch.autograd, self.torch.optim.Optimizer
        self.inner, self.make = autograd.backward, optimizer.__init__
        phases, make = self, optimizer.__init__

        def backward(*args: Any, **kw: Any) -> Any:
            return phases.backward(*args, **kw)

        def init(this: Any, *args: Any, **kw: Any) -> None:
            make(this, *args, **kw)
            phases.optimizer_made()

        backward.__doc__, init.__doc__ = autograd.backward.__doc__, make.__doc__
        backward.__wrapped__, init.__wrapped__ = autograd.backward, make  # type: ignore[attr-defined]
        autograd.backward, optimizer.__init__ = backward, init

    def again(self) -> None:
        """Starts again for another recording."""
        self.steps = 0
        self.on()

    def off(self) -> None:
        """Restores PyTorch's functions, unless someone else has wrapped them since."""
        if self.inner is None:
            return
        autograd, optimizer = self.torch.autograd, self.torch.optim.Optimizer
        if getattr(autograd.backward, "__wrapped__", None) is self.inner:
            autograd.backward = self.inner
        if getattr(optimizer.__init__, "__wrapped__", None) is self.make:
            optimizer.__init__ = self.make
        self.inner = self.inner if autograd.backward is not self.inner else None
