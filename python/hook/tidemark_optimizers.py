# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Supports optimizers whose steps depend on values in a prediction: LBFGS, gradient scalers; names others that read values.

LBFGS stops when a gradient or a change is small, and keeps two vectors of all parameters per iteration. A prediction has no values:
it makes a few iterations with as long a history as the program can get, and states that this is an upper bound.
"""
from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

SEARCHES = 5  # evaluations of a line search: enough to bracket and to zoom, which keep the most gradients
ITERATIONS = 3  # in a row: an iteration holds vectors of the previous one


def install(torch: Any, meter: Any, unknown: dict[str, str]) -> None:
    _lbfgs(torch, meter, unknown)
    _scaler(torch)


def _scaler(torch: Any) -> None:
    """A gradient scaler skips no step: gradients are finite, regardless of the value that other tensors read as."""

    def step(self: Any, optimizer: Any, state: Any, *args: Any, **kw: Any) -> Any:
        return optimizer.step(*args, **kw)

    torch.amp.grad_scaler.GradScaler._maybe_opt_step = step


def _lbfgs(torch: Any, meter: Any, unknown: dict[str, str]) -> None:
    plain, module = torch.optim.LBFGS.step, sys.modules[torch.optim.LBFGS.__module__]

    @contextlib.contextmanager
    def value(n: int) -> Any:
        before, meter.value = meter.value, n
        try:
            yield
        finally:
            meter.value = before

    def fill(self: Any, most: int) -> None:
        """Extends the history to `most` iterations: a direction, a step and their product."""
        state = self.state[self._params[0]]
        old = state.get("old_dirs")
        while old is not None and len(old) < most:
            old.append(torch.empty_like(state["d"]))
            state["old_stps"].append(torch.empty_like(state["d"]))
            state["ro"].append(state["d"].new_empty(()))

    def step(self: Any, closure: Any) -> Any:
        group, program = self.param_groups[0], meter.value
        kept, iterations, history = dict(group), group["max_iter"], group["history_size"]
        before = meter.read
        read: list[int] = []
        first = not self.state[self._params[0]].get("n_iter", 0)

        def own() -> Any:
            before = meter.read
            with value(program):
                try:
                    return closure()
                finally:
                    read.append(meter.read - before)

        def iterate(n: int) -> Any:
            """With values of 1 and these tolerances no condition ends the loop, and each iteration is kept in the history."""
            group.update(max_iter=n, max_eval=min(kept["max_eval"], 2 + n * (SEARCHES + 1)), tolerance_grad=-1, tolerance_change=-2)
            with value(1):
                return plain(self, own)

        try:
            if first and iterations <= 1 + ITERATIONS:
                out = iterate(iterations)
            elif first:
                out = iterate(1)
                fill(self, min(history, iterations - 1 - ITERATIONS))
                iterate(ITERATIONS)
            else:
                fill(self, history)
                out = iterate(min(iterations, ITERATIONS))
        finally:
            group.update({name: kept[name] for name in ("max_iter", "max_eval", "tolerance_grad", "tolerance_change")})
            meter.read = before + sum(read)  # those of the closure; LBFGS's own are covered by the rule
        n = len(self.state[self._params[0]].get("old_dirs") or ())
        unknown[type(self).__name__] = f"values decide how many iterations it makes; this is an upper bound, with {n} of at most {history} in its history"
        return out

    def search(*args: Any, max_ls: int = 25, **kw: Any) -> Any:
        return searched(*args, max_ls=min(max_ls, SEARCHES), **kw)

    searched, module.__dict__["_strong_wolfe"] = module._strong_wolfe, search
    step.__doc__ = plain.__doc__
    torch.optim.LBFGS.step = step


def name_reader(torch: Any, unknown: dict[str, str]) -> None:
    """Called when a value is read: names the optimizer whose own code reads it, because the next branch is a guess. LBFGS has a rule."""
    frame, torch_folder, here = sys._getframe(1), os.path.dirname(torch.__file__) + os.sep, os.path.dirname(os.path.abspath(__file__))
    optim = os.path.join(torch_folder, "optim")
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(here) and (not name.startswith(torch_folder) or name.startswith(optim)):
            break
        frame = frame.f_back
    owner = frame.f_locals.get("self") if frame is not None else None
    if isinstance(owner, torch.optim.Optimizer) and not isinstance(owner, torch.optim.LBFGS):
        unknown[f"{type(owner).__name__}.{frame.f_code.co_name}"] = "it reads values, which a prediction lacks; its state and temporaries may differ"
