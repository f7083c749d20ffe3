# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Ops that are held open over an `await`: each belongs to its task, not to the thread on which tasks take turns.

The recorder keeps one stack of open ops a thread, which is what a thread is. So an op inside a running event loop is recorded in
parts: it is open while its task runs, ends where the task is suspended and goes on, as a part that is not counted again, where that
runs on. Which ops are open around a piece of code is a variable of its context: a task that was made inside an op is inside it, and an
op ends by what it is, not by what was begun last. Turns are seen where asyncio's own loops take them (Handle._run), in other loops
(uvloop) where one is asked for (call_soon), and where a task takes its first one as soon as it is made (create_task with an eager
factory); in a loop whose class cannot be changed at the next op that begins or ends. What else is open at the end of a turn (a
record_function over an `await`) is ended.

Everything runs on the thread of the loop, with the GIL, and never raises into the program.
"""
from __future__ import annotations

import itertools
import sys
from _thread import _local, get_ident
from contextvars import Context, ContextVar
from typing import Any

from . import _native, _record

TASK = 0x7469_6465_4000_0000  # number beside the first part: this + the op's own number
AGAIN = 0x2000_0000  # in it: a part that goes on
TRACKED = 0x1000_0000  # in it: of track_operation
OWN = TRACKED - 1


class Here:
    """What a thread keeps."""

    __slots__ = ("base", "parts", "turns")

    def __init__(self) -> None:
        self.parts: list[tuple[Scope, int]] = []  # that are open, outermost first, with their tokens
        self.base = 0  # how many of them were there when the turn began
        self.turns = 0  # in progress: more than one where a loop runs inside a task

    def begin(self, scope: Scope, again: int = AGAIN) -> None:
        self.parts.append((scope, _native.op_begin(scope.name, scope.number | again)))

    def cut(self, at: int) -> None:
        """Parts from the `at`-th on end."""
        if at < len(self.parts):
            _native.op_end(self.parts[at][1])  # and all that is inside
            del self.parts[at:]

    def turn_to(self, scope: Scope | None) -> None:
        """What is open on this thread becomes what is open in a context whose innermost op is `scope`."""
        parts, base = self.parts, self.base
        if len(parts) <= base:
            if scope is None:
                return
        elif parts[-1][0] is scope:  # in it from the outermost on
            return
        below = {id(s) for s, _ in parts[:base]}
        wanted = [s for s in _chain(scope) if id(s) not in below]
        same = 0
        for (have, _), want in zip(parts[base:], wanted):
            if have is not want:
                break
            same += 1
        self.cut(base + same)
        for s in wanted[same:]:
            self.begin(s)


class Scope:
    """An op of a task."""

    __slots__ = ("name", "number", "open", "parent", "recording", "thread")

    def __init__(self, name: str, number: int, parent: Scope | None, thread: int) -> None:
        self.name, self.number, self.parent, self.thread = name, number, parent, thread
        self.recording = _record._count
        self.open = True

    def leave(self) -> None:
        """It ends, wherever it was begun; others go on."""
        self.open = False
        here, inner = _here(), True
        parts = here.parts
        if parts and parts[-1][0] is self:
            _native.op_end(parts.pop()[1])
            inner = False
        else:
            at = next((i for i, (scope, _) in enumerate(parts) if scope is self), -1)
            inner = at >= 0
            here.cut(at if inner else len(parts))
        here.base = min(here.base, len(parts))
        innermost = _now.get() is self  # else another was begun in this context since, or it is another context
        if innermost:
            _now.set(_live(self.parent))
        if inner or innermost:
            here.turn_to(_live(_now.get()))


_threads = _local()
_now: ContextVar[Scope | None] = ContextVar("tidemark", default=None)  # the innermost op
_numbers = itertools.count(1)
_handle: Any = None  # asyncio's Handle
_own: Any = None  # its _run as it was found
_seen = False  # turns are: it is ours
_kinds: set[Any] = set()  # classes of loops that were looked at
_changed: list[tuple[Any, str, Any, Any]] = []  # class, method, ours, its own before (None: inherited)


def _here() -> Here:
    try:
        return _threads.here  # type: ignore[no-any-return]
    except AttributeError:
        _threads.here = here = Here()
        return here


def _live(scope: Scope | None) -> Scope | None:
    """The innermost that is open, in the recording that has its beginning, and this thread's: a context may be copied to another."""
    while scope is not None and not (scope.open and scope.recording == _record._count and scope.thread == get_ident()):
        scope = scope.parent
    return scope


def _chain(scope: Scope | None) -> list[Scope]:
    """Those of which that is true, outermost first."""
    found = []
    while (scope := _live(scope)) is not None:
        found.append(scope)
        scope = scope.parent
    return found[::-1]


def enter(name: str, flags: int = 0) -> Scope | int:
    """An op begins, in a running loop; 0: nothing is recorded."""
    if not _native.ready():
        return 0
    if not _seen:
        on()
    loop = _record.running_loop()
    if type(loop) not in _kinds:
        _watch(type(loop))
        _end_turn(loop)
    here, outer = _here(), _live(_now.get())
    while outer is not None and outer.parent is not None and not outer.parent.open:  # tasks that make tasks: no endless line behind
        outer.parent = outer.parent.parent
    here.turn_to(outer)
    scope = Scope(name, TASK | flags | (next(_numbers) & OWN), outer, get_ident())
    _now.set(scope)
    here.begin(scope, 0)
    return scope


def one_of(scopes: list[Any], last: Scope) -> Scope:
    """Several tasks have entered the same object: which of `last` and the others, which stay, is this context's."""
    scope = _now.get() if scopes else None
    while scope is not None and scope is not last and scope not in scopes:
        scope = scope.parent
    if scope is None or scope is last:
        return last
    scopes[scopes.index(scope)] = last
    return scope


# ---- turns ----

def _turn(scope: Scope | None, first: bool, call: Any, *args: Any) -> Any:
    """What is open in it is what `scope` says, if that says anything; what it leaves open is ended. first: of a task that is made in another's turn."""
    here, depth = _here(), _native.depth()
    if not (here.turns or first) and here.parts:  # of a turn whose end was not seen
        here.cut(0)
        depth = _native.depth()
    base, here.base = here.base, len(here.parts)
    here.turns += 1
    try:
        if scope is not None:
            here.turn_to(scope)
        return call(*args)
    finally:
        here.turns -= 1
        if here.parts:
            del here.parts[here.base :]
        here.base = min(base, len(here.parts))
        _native.end_above(depth)


def _run(self: Any) -> Any:
    """Handle._run: a step of a task, or a callback."""
    return _turn(self._context.get(_now), False, _own, self)


def _inside(call: Any, *args: Any) -> Any:
    """The same, where its context is the current one already."""
    return _turn(_now.get(), False, call, *args)


def _call_soon(found: Any) -> Any:
    def call_soon(self: Any, callback: Any, *args: Any, **kw: Any) -> Any:
        return found(self, _inside, callback, *args, **kw)

    return call_soon


def _create_task(found: Any) -> Any:
    def create_task(self: Any, coro: Any, **kw: Any) -> Any:
        return _turn(None, True, lambda: found(self, coro, **kw))

    return create_task


def _watch(kind: Any) -> None:
    """Turns of loops of this class."""
    _kinds.add(kind)
    asyncios = issubclass(kind, sys.modules["asyncio.base_events"].BaseEventLoop)
    for name, make in ("create_task", _create_task), *(() if asyncios else (("call_soon", _call_soon),)):
        found = getattr(kind, name, None)
        if found is None or any(found is ours for _, _, ours, _ in _changed):
            continue
        ours, before = make(found), vars(kind).get(name)
        try:
            setattr(kind, name, ours)
        except TypeError:  # a class of C
            continue
        _changed.append((kind, name, ours, before))


def _unwatch() -> None:
    for kind, name, ours, before in _changed:
        if vars(kind).get(name) is not ours:  # another has wrapped it
            continue
        if before is None:
            delattr(kind, name)
        else:
            setattr(kind, name, before)
    _changed.clear()


def _end_turn(loop: Any) -> None:
    """Its turn in progress is not seen: the next one ends that, before the loop waits for anything."""
    loop.call_soon(int, context=Context())


def on() -> None:
    """Turns of asyncio's loops are seen from now on, where it has been imported."""
    global _handle, _own, _seen
    events: Any = sys.modules.get("asyncio.events")
    base: Any = getattr(sys.modules.get("asyncio.base_events"), "BaseEventLoop", None)
    if _seen or base is None or not hasattr(events, "_get_running_loop"):  # half imported, by another thread
        return
    _handle, _own, _seen = events.Handle, events.Handle._run, True
    _handle._run = _run
    for kind in {base, getattr(sys.modules.get("uvloop"), "Loop", base)} | _kinds:
        _watch(kind)
    loop = events._get_running_loop()
    if loop is not None:
        _end_turn(loop)


def off() -> None:
    global _seen
    if _seen and getattr(_handle, "_run", None) is _run:  # not where another has wrapped it; nor at Python's end, where all is None
        _handle._run = _own
        _seen = False
        _unwatch()
