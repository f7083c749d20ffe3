# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Describes a model to the recording: names of modules, roles of tensors, steps.

It works when a module first runs (names, parameters and buffers), after an optimizer's step (new state and gradients), and
occasionally when a model runs (tensors that were moved or replaced since). Otherwise it costs one C call for each module call.
Never raises into the program.
"""
from __future__ import annotations

import collections
import contextlib
import ctypes
import importlib
import itertools
import sys
import threading
import time
import weakref
from typing import Any

PARAMETER, GRADIENT, OPTIMIZER, BUFFER = 1, 2, 3, 7
STEP = 3
ROOM = 1000  # minimum number of names before dead ones are removed
CONTAINERS = (list, tuple, dict, collections.deque)  # of tensors in an optimizer's state
DEPTH = 8  # of containers in containers; one may contain itself
SHARE = 50  # examining a model's tensors again takes at most 1/SHARE of the time


def inner(tensor: Any) -> list[Any]:
    """Returns the tensors that hold the memory of a wrapper (a DTensor's local shard); a plain tensor itself."""
    flatten = getattr(tensor, "__tensor_flatten__", None)
    if flatten is None:
        return [tensor]
    try:
        return [t for name in flatten()[0] for t in inner(getattr(tensor, name)) if hasattr(t, "_cdata")]
    except Exception:  # the wrapper cannot be flattened
        return [tensor]


def unseen(torch: Any) -> Any:
    """Returns a context in which the program's modes (a default device, fake tensors) neither see nor change our calls of PyTorch."""
    modes: Any = sys.modules.get("torch.utils._python_dispatch")
    stack = contextlib.ExitStack()
    for place, name in (torch._C, "DisableTorchFunction"), (modes, "_disable_current_modes"):
        if hasattr(place, name):  # not in every version
            stack.enter_context(getattr(place, name)())
    return stack


class Model:
    """torch: the module. capture: libtidemark-torch. ops: the library built from ops.cpp; without it (None) nothing is labelled.
    Both are called with the GIL held. say: prints one line for the user. learn_rank: called when a model first runs and after steps.
    devices: a tidemark_devices.Devices, notified of tensors and steps. phases: a tidemark_phases.Phases, notified of models and steps."""

    def __init__(self, torch: Any, capture: Any, say: Any, learn_rank: Any = bool, devices: Any = None, phases: Any = None) -> None:
        self.torch: Any = torch
        self.capture: Any = capture
        self.say: Any = say
        self.learn_rank: Any = learn_rank
        self.devices: Any = devices
        self.ops: Any = None
        self.lock: Any = threading.RLock()  # protects labels: several threads may each train a model
        self.refs: dict[int, weakref.ref[Any]] = {}  # modules that have a name
        self.holders: Any = None  # records what refers to tensors; at steps 1, 2, 4 ...
        self.types: dict[str, str] = {}  # name of a module's op -> class of the module
        self.roots: list[tuple[weakref.ref[Any], str]] = []  # modules without a parent, and their names
        self.several: bool = False  # more than one root has tensors: labels include the root's name
        self.due: float = 0.0  # earliest time for the next examination of a model's tensors
        self.names: dict[int, str] = {}  # address of a labelled tensor -> name
        self.room: int = ROOM  # number of roots and names at which dead ones are removed
        self.states: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # optimizer -> size of its state when last examined
        self.containers: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()  # optimizer -> parameters whose state has lists or dicts
        self.said: dict[int, weakref.ref[Any]] = {}  # tensors in such lists that have their label
        self.said_room: int = ROOM  # number of them at which dead ones are removed
        self.owners: weakref.WeakKeyDictionary[Any, list[int]] = weakref.WeakKeyDictionary()  # optimizer -> number, parameters and labels when last examined
        self.numbers: itertools.count[int] = itertools.count(1)
        self.labelled: int = 0  # labels given so far
        self.steps: int = -1  # before the first forward
        self.stepper: weakref.ref[Any] | None = None  # the optimizer whose steps are marked
        self.hook: Any = None
        self.phases: Any = phases
        self.namer: Any = self.name
        self.runner: Any = self.run

    # ---- modules ----

    def name(self, module: Any) -> None:
        """Names a module and everything inside it. Called by C when a module without a name runs."""
        try:
            root = self.enter(module)
            for path, m in module.named_modules():
                key = id(m)
                if key not in self.refs:
                    self.refs[key] = weakref.ref(m, self._forgetter(key))
                text = f"nn.Module: {root}.{path}" if path else f"nn.Module: {root}"
                self.types[text] = type(m).__name__
                self.capture.tide_torch_module_name(key, self.intern(text))
            with self.lock, unseen(self.torch):
                self.tidy()
                several = sum(self.has_tensors(r()) for r, _ in self.roots) > 1
                if several != self.several:
                    self.several = several
                    self.relabel()
                else:
                    self.label(module, root)
            self.learn_rank()
            if self.phases is not None:
                self.phases.model_runs()
            if self.steps < 0:
                self.steps = 0 if self.stepped() else -1
                if self.steps < 0:
                    self.next_step()
        except Exception as why:
            self.say(f"a module has no name: {why}")

    def expect(self, models: Any) -> None:
        """Prepares a measurement: names the models that are about to run and updates the labels of known ones."""
        for module in models:
            if id(module) not in self.refs:
                self.name(module)
        self.due = time.monotonic() + 0.1

    def enter(self, module: Any) -> str:
        """Adds a root and returns its name: its class, with #2 for the second of the same class. It replaces its parts among the roots."""
        parts = {id(m) for m in module.modules()}
        self.roots = [(r, n) for r, n in self.roots if r() is not None and id(r()) not in parts]
        taken, kind = {n for _, n in self.roots}, type(module).__name__
        name = next(n for n in itertools.chain([kind], (f"{kind}#{i}" for i in itertools.count(2))) if n not in taken)
        self.roots.append((weakref.ref(module), name))
        return name

    @staticmethod
    def has_tensors(module: Any) -> bool:
        return module is not None and next(itertools.chain(module.parameters(), module.buffers()), None) is not None

    def run(self, module: Any) -> None:
        """Labels tensors that were moved, converted or replaced, when a model begins to run and the last examination is long enough ago."""
        now = time.monotonic()
        if now < self.due or self.compiling():
            return
        try:
            with self.lock, unseen(self.torch):
                self.refresh(module)
        except Exception as why:
            self.say(f"labels are not up to date: {why}")
        after = time.monotonic()
        self.due = after + max(0.1, SHARE * (after - now))

    def last(self) -> None:
        """Updates the labels of all models before the recording ends."""
        with contextlib.suppress(Exception), self.lock, unseen(self.torch):
            self.refresh()

    def refresh(self, module: Any = None) -> None:
        if not self.ops:
            return
        if self.ops.tide_torch_labels(0):  # some labelled tensors were freed
            self.relabel()
        for root, name in self.roots:
            if module is None or root() is module:
                self.label(root(), name)

    def _forgetter(self, key: int) -> Any:
        return lambda _: self.forget(key)

    def forget(self, key: int) -> None:
        self.refs.pop(key, None)
        if self.capture is not None:
            self.capture.tide_torch_module_name(key, 0)

    def tidy(self) -> None:
        """Removes dead roots and names occasionally: a program may create modules all the time and have no optimizer."""
        if len(self.roots) + len(self.names) < self.room:
            return
        self.roots = [(r, n) for r, n in self.roots if r() is not None]
        if self.ops and self.ops.tide_torch_labels(0):
            self.relabel()
        self.room = ROOM + 2 * (len(self.roots) + len(self.names))

    def label(self, module: Any, root: str) -> None:
        if not self.ops or module is None:
            return
        front = f"{root}." if self.several else ""
        for name, p in module.named_parameters():
            self.watch(p, front + name, PARAMETER)
        for name, b in module.named_buffers():
            self.watch(b, front + name, BUFFER)

    def watch(self, tensor: Any, name: str, role: int) -> None:
        """Labels a tensor. The newest name counts: a part that ran alone gets its parent's name for it when the parent runs."""
        key = tensor._cdata
        known = self.names.get(key)
        if known == name:
            return
        self.names[key] = name
        self.labelled += 1
        grad = self.intern(name + ".grad") if role == PARAMETER else 0
        for t in inner(tensor):
            if self.devices is not None:
                self.devices.seen(t)
            self.ops.tide_torch_label(t._cdata, self.intern(name), grad, role, known is not None)

    def intern(self, text: str) -> int:
        return int(self.capture.tide_intern(text.encode("utf-8", "replace")))

    # ---- steps ----

    def after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self.compiling():
            return
        try:
            self.learn_rank()
            if self.phases is not None:
                self.phases.stepped(optimizer)
            self.mark_step(optimizer)
            if self.devices is not None:
                self.devices.look()
            with self.lock, unseen(self.torch):
                self.label_step(optimizer)
            if self.holders is not None and self.steps > 0 and not self.steps & (self.steps - 1):
                self.holders(f"step {self.steps}")
        except Exception as why:
            self.say(f"a step is not marked: {why}")

    def label_step(self, optimizer: Any) -> None:
        """Labels an optimizer's state and gradients after its step."""
        if not self.ops:
            return
        if self.ops.tide_torch_labels(self.own(optimizer)):  # some labelled tensors were freed: others may have their addresses
            self.relabel()
        if self.states.get(optimizer) != self.size_of(optimizer.state):
            self.label_state(optimizer)
        elif self.containers.get(optimizer):
            self.label_containers(optimizer)
        self.label_wrapped(optimizer)

    def label_wrapped(self, optimizer: Any) -> None:
        """Labels gradients of wrapped parameters (shards of FSDP2): C sees only the shard, which has no gradient."""
        for p in (p for g in optimizer.param_groups for p in g["params"] if hasattr(p, "__tensor_flatten__") and p.grad is not None):
            name = self.names.get(p._cdata)
            for t in inner(p.grad) if name else ():
                self.ops.tide_torch_say(t._cdata, self.intern(f"{name}.grad"), GRADIENT)

    def compiling(self) -> bool:
        compiler = getattr(self.torch, "compiler", None)
        return bool(compiler and getattr(compiler, "is_compiling", bool)())

    @staticmethod
    def stepped() -> bool:
        """Returns whether the program marks its steps itself."""
        return bool(getattr(sys.modules.get("tidemark._record"), "_stepped", False))

    def mark_step(self, optimizer: Any) -> None:
        if self.stepped():
            return
        if self.stepper is None or self.stepper() is None:
            self.stepper = weakref.ref(optimizer)
        if self.stepper() is optimizer:
            self.steps = max(self.steps, 0)  # no run of a model was noticed
            self.next_step()

    def next_step(self) -> None:
        """Marks a step with the name optimizer.step (analyze/common/step_marks.h): the program may mark its own steps later."""
        self.steps += 1
        self.capture.tide_mark(STEP, self.intern("optimizer.step"), self.steps)

    def own(self, optimizer: Any) -> int:
        """Returns the number of an optimizer and passes its parameters to C if they have changed."""
        owner = self.owners.setdefault(optimizer, [0, 0, 0])
        owner[0] = owner[0] or next(self.numbers)
        many = sum(len(g["params"]) for g in optimizer.param_groups)
        if owner[1:] != [many, self.labelled]:
            owner[1:] = many, self.labelled
            cdata = [p._cdata for g in optimizer.param_groups for p in g["params"]]
            self.ops.tide_torch_owner(owner[0], (ctypes.c_void_p * many)(*cdata), many)
        return owner[0]

    @staticmethod
    def size_of(state: Any) -> int:
        return len(state) + sum(len(s) for s in list(state.values()) if isinstance(s, dict))

    def label_state(self, optimizer: Any) -> None:
        """Labels the state that an optimizer keeps for its parameters with their names."""
        if not self.ops:
            return
        self.states[optimizer] = self.size_of(optimizer.state)
        kept: list[Any] = []
        for p, state in list(optimizer.state.items()):  # another thread's optimizer may be adding to it
            values = list(state.items()) if isinstance(state, dict) else ()
            for key, value in values:
                if isinstance(value, self.torch.Tensor):
                    self.watch(value, f"{self.owner_name(p)}.{key}", OPTIMIZER)
            if any(isinstance(value, CONTAINERS) for _, value in values):
                kept.append(self.reference(p))
        self.containers[optimizer] = kept
        if kept:
            self.label_containers(optimizer)

    def owner_name(self, p: Any) -> str:
        return self.names.get(getattr(p, "_cdata", 0), "parameter")

    @staticmethod
    def reference(key: Any) -> Any:
        """Returns a function that returns a key of a state as long as it exists: a reference of ours must not keep a parameter."""
        try:
            return weakref.ref(key)
        except TypeError:  # a text
            return lambda: key

    def label_containers(self, optimizer: Any) -> None:
        """Labels the tensors in lists and dicts of an optimizer's state (the history of LBFGS, factors for each dimension). They may be others after
        every step, so we keep references to tensors only, and weak ones."""
        for reference in self.containers[optimizer]:
            p = reference()
            state = optimizer.state.get(p) if p is not None else None
            for key, value in list(state.items()) if isinstance(state, dict) else ():
                if isinstance(value, CONTAINERS):
                    self.label_in(value, f"{self.owner_name(p)}.{key}", 0)
        if len(self.said) > self.said_room:
            self.said = {key: r for key, r in self.said.items() if r() is not None}
            self.said_room = ROOM + 2 * len(self.said)

    def label_in(self, value: Any, name: str, depth: int) -> None:
        if isinstance(value, self.torch.Tensor):
            known = self.said.get(id(value))
            if known is None or known() is not value:
                self.said[id(value)] = weakref.ref(value)
                for t in inner(value):
                    self.ops.tide_torch_say(t._cdata, self.intern(name), OPTIMIZER)
        elif isinstance(value, CONTAINERS) and depth < DEPTH:
            for key, v in list(value.items() if isinstance(value, dict) else enumerate(value)):
                self.label_in(v, f"{name}.{key}", depth + 1)

    # ---- on and off ----

    def on(self, ops: Any) -> None:
        self.ops = ops
        why = self.capture.tide_torch_modules_on(self.torch.nn.Module.__call__, self.namer, self.runner)
        if why:
            self.say(f"modules are not recorded: this Python has an unknown calling convention (question {why})")
        if self.phases is not None:
            self.phases.on()
        optimizers = importlib.import_module("torch.optim.optimizer")
        register = getattr(optimizers, "register_optimizer_step_post_hook", None)  # since 2.0
        if register and self.hook is None:
            self.hook = register(self.after_step)
            self.relabel()

    def again(self) -> None:
        """Labels everything again for another recording."""
        self.steps = -1
        if self.phases is not None:
            self.phases.again()
        self.relabel()

    def relabel(self) -> None:
        with self.lock, unseen(self.torch):
            self.clear()
            self.roots = [(r, n) for r, n in self.roots if r() is not None]
            for root, name in self.roots:
                self.label(root(), name)
            for optimizer in list(self.states):
                self.label_state(optimizer)

    def clear(self) -> None:
        with self.lock:
            if self.ops:
                self.ops.tide_torch_labels_clear()
            self.names.clear()
            self.said.clear()

    def in_child(self) -> None:
        self.lock = threading.RLock()  # the thread that held it does not exist in the child

    def off(self) -> None:
        self.capture.tide_torch_modules_off()
        if self.phases is not None:
            self.phases.off()
        if self.hook is not None:
            self.hook.remove()
            self.hook = None
        self.clear()
