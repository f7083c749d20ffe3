# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Names the Python objects that refer to the memory of tensors: `history[17].grad_fn`, `x in train() (train.py:12)`.

A walk from the frames of all threads and from the variables of the program's modules, breadth first, so that the first path to a
tensor is the shortest. Nothing of the program is executed: attributes are read by the descriptors of C types, containers by the
methods of the built-in types, and names of other objects are never read. Types are compared by identity (their metaclass may define
== and hash), and only keys that are exactly a str are compared or printed. While it runs no other thread gets the GIL and no
garbage is collected. Afterwards nothing refers to the program's objects, and the walk ends after BUDGET seconds (at the end of the program AT_END), finished or not.
"""
from __future__ import annotations

import gc
import os
import sys
import threading
import time
import types
from typing import Any

BUDGET = 0.04  # seconds of a walk
AT_END = 1.0  # of the last one, while the program waits for nothing
THE_END = "the end"
MOST = 500  # storages that are named, the largest first
PATHS = 3  # paths of one storage
LONG = 200  # letters of a path
LARGE = 1000  # items of a container that waits until all others are read
NODES = 20_000  # of autograd graphs

_ATOMS = frozenset(map(id, {int, float, bool, str, bytes, bytearray, complex, type(None), types.CodeType, types.ModuleType, type, types.BuiltinFunctionType, range, slice,
                    type(Ellipsis), type(NotImplemented), memoryview, types.MappingProxyType, types.GetSetDescriptorType, types.MemberDescriptorType,
                    types.WrapperDescriptorType, types.MethodDescriptorType, property, staticmethod, classmethod}))
_PLAIN = frozenset(map(id, {list, tuple, dict, set, frozenset, types.FunctionType, types.MethodType, types.FrameType, types.TracebackType, types.GeneratorType}))
_mro_of = type.__dict__["__mro__"].__get__
_space_of = type.__dict__["__dict__"].__get__
_name_of = type.__dict__["__name__"].__get__
_trace_of = BaseException.__dict__["__traceback__"].__get__
_cause_of = BaseException.__dict__["__cause__"].__get__
_context_of = BaseException.__dict__["__context__"].__get__
_OPTIMIZED = 0x1  # co_flags: the variables of this code are not in a dict of their own
_HERE = os.path.dirname(os.path.abspath(__file__))


def _place(code: types.CodeType, line: int | None) -> str:
    return f"{code.co_name}() ({os.path.basename(code.co_filename)}:{line or code.co_firstlineno})"


def variables(frame: types.FrameType) -> list[tuple[str, Any]]:
    """The local variables of a frame. Before Python 3.13 reading them leaves a dict in the frame, which would keep them alive: it is
    emptied again unless the program has it, too."""
    found: Any = frame.f_locals
    items = list(found.items())
    if type(found) is dict and frame.f_code.co_flags & _OPTIMIZED and sys.getrefcount(found) <= 3:
        found.clear()
    return items


def _item(key: Any) -> str:
    """How a path names an item of a container."""
    of = type(key)
    if of is str:
        return f"[{key[:40]!r}]"
    short = of is bool or of is float or (of is int and key.bit_length() < 64)  # Python refuses to print very long ones
    return f"[{key}]" if short else "[…]"


class _Kind:
    """How to read objects of a type."""

    __slots__ = ("bases", "closed", "dictionary", "exception", "meta", "module", "of", "slots", "tensor")

    def __init__(self, of: type, tensor: type, module: type) -> None:
        mro = _mro_of(of)
        own = frozenset(map(id, mro))
        self.of = of  # keeps its id from another type
        self.tensor, self.module, self.exception, self.meta = (id(c) in own for c in (tensor, module, BaseException, type))
        self.bases = next((b for b in (dict, list, tuple) if id(b) in own), None)
        self.dictionary: Any = None
        self.slots: list[tuple[str, Any]] = []
        for c in mro:
            for name, value in _space_of(c).items():
                if type(name) is not str:
                    continue
                if name == "__dict__" and type(value) is types.GetSetDescriptorType and self.dictionary is None and c is not type:
                    self.dictionary = value.__get__
                elif type(value) is types.MemberDescriptorType and not name.startswith("__"):
                    self.slots.append((name, value.__get__))
        self.closed = not (self.dictionary or self.slots or self.bases or self.tensor or self.exception)  # a C type: only the collector knows


class Walk:
    """One walk. `address(tensor)` gives (address, bytes) of the tensor's storage, or None."""

    def __init__(self, torch: Any, address: Any, until: float) -> None:
        self.torch, self.address, self.until = torch, address, until
        self.base: type = torch._C.TensorBase if hasattr(torch._C, "TensorBase") else torch._C._TensorBase
        self.module: type = torch.nn.Module
        self.grad_of: Any = self.base.__dict__["grad"].__get__ if "grad" in self.base.__dict__ else None
        self.node_of: Any = self.base.__dict__["grad_fn"].__get__ if "grad_fn" in self.base.__dict__ else None
        self.objects: list[Any] = []
        self.parents: list[int] = []
        self.labels: list[str] = []
        self.seen: set[int] = set()
        self.kinds: dict[int, _Kind] = {}
        self.tensors: list[int] = []  # their places in objects
        self.later: list[tuple[Any, int, str]] = []  # large containers: after everything else
        self.complete = False

    def push(self, o: Any, parent: int, label: str) -> None:
        of = type(o)
        if id(of) in _ATOMS or id(o) in self.seen:
            return
        self.seen.add(id(o))
        if (of is list or of is tuple or of is dict) and len(o) > LARGE:
            self.later.append((o, parent, label))
            return
        if id(of) not in _PLAIN and self.kind(of).tensor:
            self.tensors.append(len(self.objects))
        self.objects.append(o)
        self.parents.append(parent)
        self.labels.append(label)

    # ---- roots ----

    def push_frame(self, frame: types.FrameType, parent: int, lead: str) -> None:
        if os.path.dirname(frame.f_code.co_filename) == _HERE:
            return
        place = _place(frame.f_code, frame.f_lineno)
        if frame.f_code.co_flags & _OPTIMIZED:  # others have the variables of a module or a class
            for name, value in variables(frame):
                if type(name) is str:
                    self.push(value, parent, f"{lead}{name} in {place}")

    def push_roots(self) -> None:
        frames: Any = list(sys._current_frames().values())
        try:
            while frames:
                at: Any = frames.pop()
                while at is not None:
                    self.push_frame(at, -1, "")
                    at = at.f_back
        finally:  # our own frame is one of them: a cycle would keep everything until the next collection
            at = frames = None
        for name, module in list(sys.modules.items()):
            if type(name) is str and type(module) is types.ModuleType and self.is_program(name, module):
                space = types.ModuleType.__getattribute__(module, "__dict__")
                file = space.get("__file__")
                where = "" if name == "__main__" else f" in {os.path.basename(file) if type(file) is str else name}"
                for key, value in list(space.items()):
                    if type(key) is str and not key.startswith("__"):
                        self.push(value, -1, key + where)

    @staticmethod
    def is_program(name: str, module: types.ModuleType) -> bool:
        if name == "__main__":
            return True
        file = types.ModuleType.__getattribute__(module, "__dict__").get("__file__")
        return type(file) is str and not any(part in file for part in ("/site-packages/", "/dist-packages/", "/lib/python", _HERE))

    # ---- steps ----

    def kind(self, of: type) -> _Kind:
        found = self.kinds.get(id(of))
        if found is None:
            found = self.kinds[id(of)] = _Kind(of, self.base, self.module)
        return found

    def items(self, o: Any, at: int) -> None:
        for key, value in dict.items(o):
            if id(type(value)) not in _ATOMS:
                self.push(value, at, _item(key))
                self.push(key, at, " (a key)")

    def attributes(self, space: Any, at: int, module: bool) -> None:
        for key, value in dict.items(space) if type(space) is dict else ():
            if type(key) is not str:
                continue
            if module and key in ("_parameters", "_buffers", "_modules") and type(value) is dict:
                for name, part in value.items():
                    self.push(part, at, f".{name}" if type(name) is str else "._")
            else:
                self.push(value, at, f".{key}")

    def function(self, o: Any, at: int) -> None:
        for name, cell in zip(o.__code__.co_freevars, o.__closure__ or ()):
            try:
                self.push(cell.cell_contents, at, f" closure of {o.__code__.co_name}(): {name}")
            except ValueError:  # empty
                continue
        for value in (o.__defaults__, o.__kwdefaults__):
            self.push(value, at, f" defaults of {o.__code__.co_name}()")

    def instance(self, o: Any, at: int, kind: _Kind) -> None:
        if kind.bases is dict:
            self.items(o, at)
        elif kind.bases is not None:
            for i, value in enumerate(kind.bases.__iter__(o)):
                self.push(value, at, f"[{i}]")
        if kind.exception:
            self.push(_trace_of(o), at, "")
            for part, name in ((_cause_of(o), ".__cause__"), (_context_of(o), ".__context__")):
                self.push(part, at, name)
        for name, get in kind.slots:
            try:
                self.push(get(o), at, f".{name}")
            except AttributeError:  # not set
                continue
        if kind.dictionary is not None:
            self.attributes(kind.dictionary(o), at, kind.module)

    def expand(self, at: int) -> None:
        o = self.objects[at]
        of = type(o)
        if of is dict:
            self.items(o, at)
        elif of is list or of is tuple:
            for i, value in enumerate(o):
                self.push(value, at, f"[{i}]")
        elif of is types.FunctionType:
            self.function(o, at)
        elif of is types.MethodType:
            self.push(o.__self__, at, "")
            self.push(o.__func__, at, "")
        elif of is types.TracebackType:
            self.push_frame(o.tb_frame, at, " traceback: ")
            self.push(o.tb_next, at, "")
        elif of is types.FrameType:
            self.push_frame(o, at, " frame: ")
        elif of is types.GeneratorType:
            self.push(o.gi_frame, at, " generator")
        elif of is types.CoroutineType:
            self.push(o.cr_frame, at, " coroutine")
        else:
            self.other(o, at, of)

    def other(self, o: Any, at: int, of: type) -> None:
        kind = self.kind(of)
        if kind.meta:  # a class with a metaclass of its own
            return
        if kind.tensor:
            if self.grad_of and self.node_of and self.node_of(o) is None:  # others warn
                self.push(self.grad_of(o), at, ".grad")
        if kind.closed:
            for value in gc.get_referents(o):
                self.push(value, at, f" (in a {_name_of(of)})")
        else:
            self.instance(o, at, kind)

    def large(self, o: Any, at: int) -> bool:
        """Pushes the content of a large container, and what is below it, piece by piece; False: time is up."""
        done = len(self.objects)
        pairs = dict.items(o) if type(o) is dict else enumerate(o)
        for i, (key, value) in enumerate(pairs):
            self.push(value, at, _item(key))
            if i % LARGE == LARGE - 1:
                if not self.follow(done):
                    return False
                done = len(self.objects)
        return self.follow(done)

    def follow(self, at: int) -> bool:
        while at < len(self.objects):
            if at % 64 == 0 and time.monotonic() > self.until:
                return False
            self.expand(at)
            at += 1
        return True

    def run(self) -> None:
        self.push_roots()
        if not self.follow(0):
            return
        while self.later:
            o, parent, label = self.later.pop(0)
            self.objects.append(o)
            self.parents.append(parent)
            self.labels.append(label)
            if not self.large(o, len(self.objects) - 1):
                return
        self.complete = True

    # ---- results ----

    def path(self, at: int) -> str:
        parts: list[str] = []
        while at >= 0:
            parts.append(self.labels[at])
            at = self.parents[at]
        parts.reverse()
        text = "".join([parts[0].split(" in ")[0], *parts[1:]])
        place = parts[0].partition(" in ")[2]
        if place:
            text += f" in {place}"
        return text if len(text) <= LONG else f"{text[:LONG // 2]}…{text[-LONG // 2:]}"

    def graphs(self) -> dict[int, str]:
        """The sequence numbers of the functions in living autograd graphs, with the path to the tensor that holds the graph."""
        found: dict[int, str] = {}
        nodes: set[int] = set()
        kept: list[Any] = []
        for at in self.tensors if self.node_of else ():
            stack = [self.node_of(self.objects[at])]
            while stack and len(nodes) < NODES and time.monotonic() < self.until + BUDGET / 2:
                node = stack.pop()
                if node is None or id(node) in nodes or not hasattr(type(node), "next_functions"):
                    continue
                nodes.add(id(node))
                kept.append(node)
                number = node._sequence_nr()
                if number not in found and number < 1 << 62:
                    found[number] = f"{self.path(at)}.grad_fn"
                stack += [n for n, _ in node.next_functions]
        return found

    def holders(self) -> list[tuple[int, int, str]]:
        """(address, bytes, path) of the largest storages, up to PATHS paths each."""
        storages: dict[int, tuple[int, list[str]]] = {}
        for at in self.tensors:
            try:
                place = self.address(self.objects[at])
            except Exception:  # a tensor without a storage
                place = None
            if place is None or not place[1]:
                continue
            paths = storages.setdefault(place[0], (place[1], []))[1]
            if len(paths) < PATHS:
                paths.append(self.path(at))
        largest = sorted(storages.items(), key=lambda s: -s[1][0])[:MOST]
        return [(address, size, ", ".join(paths)) for address, (size, paths) in largest]


def _storage(torch: Any) -> Any:
    is_lazy = getattr(torch._C, "_is_cow_tensor", None)  # a lazy copy: data_ptr() would make it, in new memory
    place = getattr(torch._C, "_data_address", None)

    def address(t: Any) -> tuple[int, int] | None:
        s = torch._C.TensorBase.untyped_storage(t)
        if is_lazy is None or not is_lazy(t):
            return s.data_ptr(), s.nbytes()
        return (place(t), s.nbytes()) if place else None
    return address


_running = threading.Lock()


def find(torch: Any, address: Any = None, budget: float = BUDGET) -> tuple[list[tuple[int, int, str]], dict[int, str], bool]:
    """Returns the holders, the graphs, and whether the walk was complete. Never raises; nothing if one runs already."""
    if not _running.acquire(blocking=False):
        return [], {}, False
    interval, collecting = sys.getswitchinterval(), gc.isenabled()
    walk: Any = None
    try:
        gc.disable()
        sys.setswitchinterval(1000)
        with torch._C.DisableTorchFunctionSubclass():
            walk = Walk(torch, address or _storage(torch), time.monotonic() + budget)
            walk.run()
            return walk.holders(), walk.graphs(), walk.complete
    except Exception:
        return [], {}, False
    finally:
        walk = None
        sys.setswitchinterval(interval)
        if collecting:
            gc.enable()
        _running.release()


def record(torch: Any, note: Any, why: str, address: Any = None) -> int:
    """Records the holders by note(key, text); returns their number."""
    begun = time.monotonic()
    found, graphs, complete = find(torch, address, AT_END if why == THE_END else BUDGET)
    for at, _, path in found:
        note("holder", f"{at:#x} {path}")
    by_path: dict[str, list[int]] = {}
    for number, path in graphs.items():
        by_path.setdefault(path, []).append(number)
    for path, numbers in list(by_path.items())[:MOST]:
        note("holder.graph", f"{','.join(map(str, sorted(numbers)[:300]))} {path}")
    note("holders.end", f"{why}: {len(found)} storages, {(time.monotonic() - begun) * 1e3:.1f} ms{'' if complete else ', incomplete'}")
    return len(found)
