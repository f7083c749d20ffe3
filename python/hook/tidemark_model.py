# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""What a model is, for the recording: names of modules, roles of tensors, steps.

Works at first sight of a module (its names, its parameters and buffers) and after an optimizer's step (the state it has
made, the gradients there are); between the two it costs one C call a module. Never raises into the program.
"""
from __future__ import annotations

import importlib
import sys
import weakref
from typing import Any

PARAMETER, OPTIMIZER, BUFFER = 1, 3, 7
STEP = 3
ROOM = 1000


class Model:
    """torch: the module; capture: libtidemark-torch; ops: the library built from ops.cpp, or None: then nothing is labelled.
    Both are called with the GIL held. learn_rank: asked where a model runs for the first time and after steps, until it knows.
    devices: whom to tell of tensors and steps (tidemark_devices.Devices)."""

    def __init__(self, torch: Any, capture: Any, learn_rank: Any = bool, devices: Any = None) -> None:
        self.torch: Any = torch
        self.capture: Any = capture
        self.learn_rank: Any = learn_rank
        self.devices: Any = devices
        self.ops: Any = None
        self.refs: dict[int, weakref.ref[Any]] = {}  # modules that have a name
        self.roots: list[weakref.ref[Any]] = []  # modules that were not known as part of another
        self.names: dict[int, str] = {}  # of tensors that have a label, by their address
        self.room: int = ROOM  # for both, before what is no more is looked for
        self.states: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # optimizer -> size of its state when last looked at
        self.steps: int = -1  # before the first forward
        self.stepper: weakref.ref[Any] | None = None  # the optimizer whose steps are the steps
        self.hook: Any = None
        self.namer: Any = self.name

    # ---- modules ----

    def name(self, module: Any) -> None:
        """A module that C does not know runs: name it and everything inside it."""
        try:
            root = type(module).__name__
            for path, m in module.named_modules():
                key = id(m)
                if key not in self.refs:
                    self.refs[key] = weakref.ref(m, self._forgetter(key))
                text = f"nn.Module: {root}.{path}" if path else f"nn.Module: {root}"
                self.capture.tide_torch_module_name(key, self.intern(text))
            self.tidy()
            self.roots.append(weakref.ref(module))
            self.label(module)
            self.learn_rank()
            if self.steps < 0:
                self.steps = 0 if self.stepped() else -1
                if self.steps < 0:
                    self.next_step()
        except Exception as why:
            self.say(f"a module has no name: {why}")

    def _forgetter(self, key: int) -> Any:
        return lambda _: self.forget(key)

    def forget(self, key: int) -> None:
        self.refs.pop(key, None)
        if self.capture is not None:
            self.capture.tide_torch_module_name(key, 0)

    def tidy(self) -> None:
        """Every now and then: a program may make modules as it goes, and have no optimizer."""
        if len(self.roots) + len(self.names) < self.room:
            return
        self.roots = [r for r in self.roots if r() is not None]
        if self.ops and self.ops.tide_torch_labels(False):
            self.clear()
            self.relabel()
        self.room = ROOM + 2 * (len(self.roots) + len(self.names))

    def label(self, module: Any) -> None:
        if not self.ops:
            return
        for name, p in module.named_parameters():
            self.watch(p, name, PARAMETER)
        for name, b in module.named_buffers():
            self.watch(b, name, BUFFER)

    def watch(self, tensor: Any, name: str, role: int) -> None:
        key = tensor._cdata
        if key in self.names:
            return
        if self.devices is not None:
            self.devices.seen(tensor)
        self.names[key] = name
        grad = self.intern(name + ".grad") if role == PARAMETER else 0
        self.ops.tide_torch_label(key, self.intern(name), grad, role)

    def intern(self, text: str) -> int:
        return int(self.capture.tide_intern(text.encode("utf-8", "replace")))

    # ---- steps ----

    def after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self.compiling():
            return
        try:
            self.learn_rank()
            self.mark_step(optimizer)
            if self.devices is not None:
                self.devices.look()
            if self.ops:
                if self.ops.tide_torch_labels(False):  # some tensors are no more: others may have taken their place
                    self.clear()
                    self.relabel()
                if self.states.get(optimizer) != len(optimizer.state):
                    self.label_state(optimizer)
        except Exception as why:
            self.say(f"a step is not marked: {why}")

    def compiling(self) -> bool:
        compiler = getattr(self.torch, "compiler", None)
        return bool(compiler and getattr(compiler, "is_compiling", bool)())

    @staticmethod
    def stepped() -> bool:
        """The program says itself where its steps are."""
        return bool(getattr(sys.modules.get("tidemark._record"), "_stepped", False))

    def mark_step(self, optimizer: Any) -> None:
        if self.stepped():
            return
        if self.stepper is None or self.stepper() is None:
            self.stepper = weakref.ref(optimizer)
        if self.stepper() is optimizer:
            self.next_step()

    def next_step(self) -> None:
        self.steps += 1
        self.capture.tide_mark(STEP, self.intern("step"), self.steps)

    def label_state(self, optimizer: Any) -> None:
        """State that an optimizer keeps for its parameters, under their names."""
        self.states[optimizer] = len(optimizer.state)
        for p, state in optimizer.state.items():
            name = self.names.get(getattr(p, "_cdata", 0), "parameter")
            for key, value in state.items() if isinstance(state, dict) else ():
                if isinstance(value, self.torch.Tensor):
                    self.watch(value, f"{name}.{key}", OPTIMIZER)

    # ---- on and off ----

    def on(self, ops: Any) -> None:
        self.ops = ops
        why = self.capture.tide_torch_modules_on(self.torch.nn.Module.__call__, self.namer)
        if why:
            self.say(f"modules are not recorded: this Python calls functions in an unknown way (question {why})")
        optimizers = importlib.import_module("torch.optim.optimizer")
        register = getattr(optimizers, "register_optimizer_step_post_hook", None)  # since 2.0
        if register and self.hook is None:
            self.hook = register(self.after_step)
            self.relabel()

    def again(self) -> None:
        """Another recording has begun: say everything once more."""
        self.steps = -1
        self.clear()
        self.relabel()

    def relabel(self) -> None:
        if not self.ops:
            return
        self.roots = [r for r in self.roots if r() is not None]
        for root in self.roots:
            module = root()
            if module is not None:
                self.label(module)
        for optimizer in list(self.states):
            self.label_state(optimizer)

    def clear(self) -> None:
        if self.ops:
            self.ops.tide_torch_labels_clear()
        self.names.clear()

    def off(self) -> None:
        self.capture.tide_torch_modules_off()
        if self.hook is not None:
            self.hook.remove()
            self.hook = None
        self.clear()

    @staticmethod
    def say(text: str) -> None:
        print(f"tidemark: {text}", file=sys.stderr, flush=True)
