# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Ops that stay open across an `await`: each belongs to its task, not to the thread that runs the tasks alternately.

The recorder keeps one stack of open ops for each thread. So an op inside a running event loop is recorded in parts: a part ends when
the task is suspended, and another part, which does not count as a call, begins when the task resumes. The open ops are kept in a
context variable: a task created inside an op is inside it, and ops may end in another order than they began.

A loop runs a task as a series of callbacks. Ops are switched at each callback, which is noticed
  - in asyncio's own loops by Handle._run,
  - in other loops (uvloop) by call_soon,
  - at the creation of a task with an eager factory, which runs its first callback at once, by create_task,
  - in a loop whose class cannot be changed, at the next op that begins or ends.
Anything else that is open at the end of a callback (a record_function across an `await`) is ended.

Everything runs on the thread of the loop, with the GIL, and never raises into the program.
"""
from __future__ import annotations

import itertools
import sys
from _thread import _local, get_ident
from contextvars import Context, ContextVar
from typing import Any

from . import _native, _record

TASK = 0x7469_6465_4000_0000  # number attached to the first part: this + the op's own number
AGAIN = 0x2000_0000  # flag of the number: a further part
TRACKED = 0x1000_0000  # flag of the number: an op of track_operation
OWN = TRACKED - 1  # mask of the op's own number


class Here:
    """The state of a thread."""

    __slots__ = ("base", "parts", "running")

    def __init__(self) -> None:
        self.parts: list[tuple[Scope, int]] = []  # open parts, outermost first, with their tokens
        self.base = 0  # number of open parts when the callback began
        self.running = 0  # callbacks in progress: more than one if a loop runs inside a task

    def begin(self, scope: Scope, again: int = AGAIN) -> None:
        self.parts.append((scope, _native.op_begin(scope.name, scope.number | again)))

    def end_from(self, at: int) -> None:
        """Ends the parts from index `at` on."""
        if at < len(self.parts):
            _native.op_end(self.parts[at][1])  # also ends everything inside
            del self.parts[at:]

    def switch_to(self, scope: Scope | None) -> None:
        """Opens and ends parts so that this thread has the ops of a context whose innermost op is `scope`."""
        parts, base = self.parts, self.base
        if len(parts) <= base:
            if scope is None:
                return
        elif parts[-1][0] is scope:  # all outer ones match too
            return
        below = {id(s) for s, _ in parts[:base]}
        wanted = [s for s in _chain(scope) if id(s) not in below]
        same = 0
        for (have, _), want in zip(parts[base:], wanted):
            if have is not want:
                break
            same += 1
        self.end_from(base + same)
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
        """Ends this op, whichever task began it. Other ops stay open."""
        self.open = False
        here, inner = _here(), True
        parts = here.parts
        if parts and parts[-1][0] is self:
            _native.op_end(parts.pop()[1])
            inner = False
        else:
            at = next((i for i, (scope, _) in enumerate(parts) if scope is self), -1)
            inner = at >= 0
            here.end_from(at if inner else len(parts))
        here.base = min(here.base, len(parts))
        innermost = _now.get() is self  # False: another op began in this context since, or this is another context
        if innermost:
            _now.set(_live(self.parent))
        if inner or innermost:
            here.switch_to(_live(_now.get()))


_threads = _local()
_now: ContextVar[Scope | None] = ContextVar("tidemark", default=None)  # the innermost op
_numbers = itertools.count(1)
_handle: Any = None  # asyncio's Handle
_own: Any = None  # the original Handle._run
_seen = False  # Handle._run is replaced by ours
_kinds: set[Any] = set()  # classes of loops that were examined
_changed: list[tuple[Any, str, Any, Any]] = []  # class, method name, our method, the original (None: inherited)


def _here() -> Here:
    try:
        return _threads.here  # type: ignore[no-any-return]
    except AttributeError:
        _threads.here = here = Here()
        return here


def _live(scope: Scope | None) -> Scope | None:
    """Returns the innermost scope, from `scope` outwards, that is open, began in this recording and belongs to this thread (a context
    may be copied to another thread)."""
    while scope is not None and not (scope.open and scope.recording == _record._count and scope.thread == get_ident()):
        scope = scope.parent
    return scope


def _chain(scope: Scope | None) -> list[Scope]:
    """Returns all such scopes, outermost first."""
    found = []
    while (scope := _live(scope)) is not None:
        found.append(scope)
        scope = scope.parent
    return found[::-1]


def enter(name: str, flags: int = 0) -> Scope | int:
    """Begins an op in a running loop. Returns 0 if nothing is recorded."""
    if not _native.ready():
        return 0
    if not _seen:
        on()
    loop = _record.running_loop()
    if type(loop) not in _kinds:
        _watch(type(loop))
        _end_callback(loop)
    here, outer = _here(), _live(_now.get())
    while outer is not None and outer.parent is not None and not outer.parent.open:  # drop ended scopes: tasks that create tasks would grow the chain without limit
        outer.parent = outer.parent.parent
    here.switch_to(outer)
    scope = Scope(name, TASK | flags | (next(_numbers) & OWN), outer, get_ident())
    _now.set(scope)
    here.begin(scope, 0)
    return scope


def one_of(scopes: list[Any], last: Scope) -> Scope:
    """Returns this context's scope among `last` and `scopes` and leaves the others in `scopes`: several tasks may have entered one object."""
    scope = _now.get() if scopes else None
    while scope is not None and scope is not last and scope not in scopes:
        scope = scope.parent
    if scope is None or scope is last:
        return last
    scopes[scopes.index(scope)] = last
    return scope


# ---- callbacks of loops ----

def _run_callback(scope: Scope | None, first: bool, call: Any, *args: Any) -> Any:
    """Runs a callback with the ops of `scope` open, and ends everything that it leaves open. first: the first callback of a task that is
    created inside another callback."""
    here, depth = _here(), _native.depth()
    if not (here.running or first) and here.parts:  # left by a callback whose end was not noticed
        here.end_from(0)
        depth = _native.depth()
    base, here.base = here.base, len(here.parts)
    here.running += 1
    try:
        if scope is not None:
            here.switch_to(scope)
        return call(*args)
    finally:
        here.running -= 1
        if here.parts:
            del here.parts[here.base :]
        here.base = min(base, len(here.parts))
        _native.end_above(depth)


def _run(self: Any) -> Any:
    """Replaces Handle._run, which runs one callback of a loop."""
    return _run_callback(self._context.get(_now), False, _own, self)


def _inside(call: Any, *args: Any) -> Any:
    """Runs a callback whose context is the current one already."""
    return _run_callback(_now.get(), False, call, *args)


def _call_soon(found: Any) -> Any:
    def call_soon(self: Any, callback: Any, *args: Any, **kw: Any) -> Any:
        return found(self, _inside, callback, *args, **kw)

    return call_soon


def _create_task(found: Any) -> Any:
    def create_task(self: Any, coro: Any, **kw: Any) -> Any:
        return _run_callback(None, True, lambda: found(self, coro, **kw))

    return create_task


def _watch(kind: Any) -> None:
    """Replaces the methods of a loop's class through which callbacks are noticed."""
    _kinds.add(kind)
    asyncios = issubclass(kind, sys.modules["asyncio.base_events"].BaseEventLoop)
    for name, make in ("create_task", _create_task), *(() if asyncios else (("call_soon", _call_soon),)):
        found = getattr(kind, name, None)
        if found is None or any(found is ours for _, _, ours, _ in _changed):
            continue
        ours, before = make(found), vars(kind).get(name)
        try:
            setattr(kind, name, ours)
        except TypeError:  # a class implemented in C
            continue
        _changed.append((kind, name, ours, before))


def _unwatch() -> None:
    for kind, name, ours, before in _changed:
        if vars(kind).get(name) is not ours:  # someone else has wrapped it
            continue
        if before is None:
            delattr(kind, name)
        else:
            setattr(kind, name, before)
    _changed.clear()


def _end_callback(loop: Any) -> None:
    """Schedules an empty callback, which ends the current one, whose end is not noticed, before the loop waits for anything."""
    loop.call_soon(int, context=Context())


def on() -> None:
    """Starts noticing the callbacks of asyncio's loops, if asyncio has been imported."""
    global _handle, _own, _seen
    events: Any = sys.modules.get("asyncio.events")
    base: Any = getattr(sys.modules.get("asyncio.base_events"), "BaseEventLoop", None)
    if _seen or base is None or not hasattr(events, "_get_running_loop"):  # another thread is importing it
        return
    _handle, _own, _seen = events.Handle, events.Handle._run, True
    _handle._run = _run
    for kind in {base, getattr(sys.modules.get("uvloop"), "Loop", base)} | _kinds:
        _watch(kind)
    loop = events._get_running_loop()
    if loop is not None:
        _end_callback(loop)


def off() -> None:
    global _seen
    if _seen and getattr(_handle, "_run", None) is _run:  # leave it if someone else has wrapped it, or at Python's exit, where module globals are None
        _handle._run = _own
        _seen = False
        _unwatch()
