# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Recording: the file, ops and marks. Every event is one call of the extension."""
from __future__ import annotations

import contextlib
import os
import re
import sys
from _thread import RLock, get_ident

from . import _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])
    Path = str | os.PathLike[str]

_count = 0  # recordings started so far
_made: dict[str, int] = {}  # path given to a decorator -> number of files written for it
_reported: set[str] = set()  # paths that were reported as not written
_lock = RLock()  # only one record() begins or ends at a time
_threads: Any = None  # tidemark_threads
_tasks: Any = None  # tidemark._tasks
_stepped = False  # the program marks its steps
_phased = False  # the program marks its phases, so none are added automatically (hook/tidemark_phases.py)
_base, _follows = "", False  # the requested file; whether children record too
_started_by_parent = False  # this process records because its parent does; a record() of its own takes over
ALREADY = 8  # code of the Error for a recording in progress
START = ("ring_bytes", "max_ring_bytes", "full_wait_us", "follow_fork")  # options of start()
COROUTINE, GENERATOR, STREAM = 0x80, 0x20, 0x200  # co_flags of a function; STREAM: an asynchronous generator
TORCH: dict[str, Any] = {"ring_bytes": 4 << 20, "full_wait_us": 1000}  # ops come in bursts: use larger rings, wait instead of losing events


def _in_child() -> None:
    global _lock
    _lock = RLock()  # the thread that held it does not exist in the child


def _say(text: str) -> None:
    with contextlib.suppress(ImportError):  # Python is shutting down
        from ._home import say

        say(text)


def path_now() -> str | None:
    """Returns the file of the recording in progress, or of the last one. A forked child has its own file, NAME.PID.tide."""
    return _native.path() or None


def _capture() -> Any:
    """Returns tidemark.torch if it has been imported completely, else None: another thread may be importing it."""
    module: Any = sys.modules.get("tidemark.torch")
    return module if getattr(module, "_imported", False) else None


def start(path: Path = "run.tide", *, ring_bytes: int = 0, max_ring_bytes: int = 0, full_wait_us: int = 0,
          follow_fork: bool = True, as_child: bool = False) -> None:
    """Start recording into `path`. If another process is recording into it, record into NAME.PID.tide and report that on stderr.

    If torch is attached, its live tensors are recorded too. as_child: record into NAME.PID.tide, as a forked child of the process
    that records into `path` would. Raises Error (code 8) if a recording is already in progress."""
    global _count, _stepped, _phased, _base, _follows, _started_by_parent
    capture, held = _capture(), None
    if capture is not None and capture.attached():
        ring_bytes, full_wait_us = ring_bytes or TORCH["ring_bytes"], full_wait_us or TORCH["full_wait_us"]
        held = capture.hold()
    into = _native.start(path, ring_bytes=ring_bytes, max_ring_bytes=max_ring_bytes, full_wait_us=full_wait_us,
                         follow_fork=follow_fork, as_child=as_child)
    asked = os.fsdecode(path)
    _base, _follows, _started_by_parent = os.path.join(os.path.dirname(into), os.path.basename(asked)), follow_fork, as_child
    if not as_child and re.search(rf"\.({os.getpid()}|rank\d+)\.", os.path.basename(into)) and os.path.basename(into) != os.path.basename(asked):
        _say(f"another process is recording into {asked}: this one records into {into}")
    if not _count:
        import atexit

        os.register_at_fork(after_in_child=_in_child)
        atexit.register(_at_exit)
    _name_threads()
    _count += 1
    if "asyncio" in sys.modules:
        tasks().on()
    _stepped = _phased = False
    if capture is not None and held is not None:
        capture._attach_again()


def _name_threads() -> None:
    """Records threads under their Python names. `tidemark run` does so itself."""
    global _threads
    if _threads is None and "tidemark_hook" not in sys.modules:
        from ._home import hook

        _threads = hook("tidemark_threads")
    if _threads is not None:
        _threads.on()


def _at_exit() -> None:
    """Reports a removed recording. The recorder ends the recording at process exit, but prints nothing."""
    if _native.removed():
        _say(f"{path_now()}: removed or replaced while recording: the recording is lost")


def stop() -> bool:
    """Stop recording and complete the file; does nothing if no recording is in progress. Returns False if the file is incomplete or was
    removed, and prints the reason on stderr."""
    capture = _capture()
    if capture is not None:
        capture._before_end()
    try:
        _native.stop()
        return True
    except _native.Error as why:
        _say(str(why))
        return False
    finally:
        if _threads is not None:
            _threads.off()
        if _tasks is not None:
            _tasks.off()


def _streaming(function: Any, inside: Callable[[], Any]) -> Any:
    """Returns an asynchronous generator that runs `function` in a `with inside():`. It forwards sent values and exceptions itself:
    asynchronous generators have no `yield from`."""

    async def stream(*args: Any, **kw: Any) -> Any:
        with inside(), contextlib.suppress(StopAsyncIteration):
            its = function(*args, **kw)
            value = await its.asend(None)
            while True:
                try:
                    got = yield value
                except GeneratorExit:
                    await its.aclose()
                    raise
                except BaseException as what:
                    value = await its.athrow(what)
                else:
                    value = await its.asend(got)

    return stream


def _wrap(function: F, inside: Callable[[], Any], call: Callable[..., Any] | None = None) -> F:
    """Returns `function` with each call in a `with inside():`, which covers the whole life of a coroutine or a generator.
    `call` is a faster wrapper for a plain function."""
    import functools

    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)

    async def wait(*args: Any, **kw: Any) -> Any:
        with inside():
            return await function(*args, **kw)

    def generate(*args: Any, **kw: Any) -> Any:
        with inside():
            return (yield from function(*args, **kw))

    def plain(*args: Any, **kw: Any) -> Any:
        with inside():
            return function(*args, **kw)

    kinds = ((COROUTINE, wait), (GENERATOR, generate), (STREAM, _streaming(function, inside)))
    wrapper = next((made for flag, made in kinds if flags & flag), call or plain)
    return functools.wraps(function)(wrapper)  # type: ignore[return-value]


def running() -> bool:
    """Returns whether a recording is in progress. Under `tidemark run` it begins with the first tensor or with this call."""
    if os.environ.get("TIDEMARK_RECORD") and not _count and not _native.recording():
        _begin_run()
    return _native.recording()


def _begin_run() -> None:
    """Begins the recording of `tidemark run`. Its preloaded library has the name of the file and checks whether the recording has ended."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):  # the library was not preloaded
        ctypes.PyDLL("libtidemark-torch.so", mode=os.RTLD_NOLOAD | os.RTLD_LAZY).tide_torch_begin()


class record:  # noqa: N801: reads as a verb
    """`with tidemark.record("run.tide"):`, or a decorator: records while the block or the function runs.

    If torch is loaded, or as soon as it is, its tensors and ops are recorded too; `torch=True` loads it, `torch=False` leaves it out.
    `shapes`, `stacks` and `modules` are options of tidemark.torch.attach(), the others those of start().
    Options that are not given come from the configuration (`tidemark config show`). The defaults are run.tide, with ops, without
    shapes and stacks. If a recording is already in progress, it continues and this one does nothing; stderr reports that once.
    With a decorated function, the first call writes run.tide, the second run.2.tide. Raises Error if the file cannot be written,
    before the block or the function runs.
    """

    def __init__(self, path: Path | None = None, *, torch: bool | None = None, ops: bool | None = None, shapes: bool | None = None,
                 stacks: bool | int | None = None, modules: bool = True, **options: Any) -> None:
        if callable(path):
            raise TypeError('record() wants its brackets, with a path or without: @tidemark.record("run.tide")')
        if stacks is not None and (not isinstance(stacks, int) or stacks < 0):
            raise TypeError(f"stacks is True, False or a number of ops, not {stacks!r}")
        if wrong := options.keys() - START:
            raise TypeError(f"record() has no option {sorted(wrong)[0]!r}: there are torch, ops, shapes, stacks, modules, {', '.join(START)}")
        self.path: str | None = None if path is None else os.fsdecode(path)
        self._torch = torch
        self._what: dict[str, Any] = {"ops": ops, "shapes": shapes, "stacks": stacks, "modules": modules}
        self._options = options
        self._mine = 0  # number of the recording that this object began
        self._entered = 0  # how many times it was entered
        self._decorates = False
        self._attached = False
        self._watch: Any = None  # tidemark_watch.Watch

    def __enter__(self) -> record:
        with _lock:
            if _started_by_parent and running():
                stop()
            if running():
                self._tell()
            else:
                self._begin()
            self._entered += 1
        return self

    def _begin(self) -> None:
        from ._config import config

        settings = config()
        with_torch = self._torch or (self._torch is None and "torch" in sys.modules)
        if self.path is None:
            with contextlib.suppress(OSError):  # start() reports the error
                os.makedirs(settings.output_dir, exist_ok=True)
        path = os.path.abspath(os.path.join(settings.output_dir, "run.tide") if self.path is None else self.path)
        number = _made.get(path, 0) + 1 if self._decorates else 1
        try:
            start(path if number == 1 else f"{path.removesuffix('.tide')}.{number}.tide",
                  **{**(TORCH if with_torch else {}), **self._options})
        except _native.Error as why:
            if why.code != ALREADY:  # another thread has called start() meanwhile
                raise
            self._tell()
            return
        if self._decorates:
            _made[path] = number
        self._mine = _count
        if with_torch:
            try:
                self._attach()
            except BaseException:
                self._end()
                raise
        elif self._torch is None:
            from ._home import hook

            self._watch = hook("tidemark_watch").Watch(self._attach_later)

    def _tell(self) -> None:
        """Reports, once for each path, that this file is not written: the events go into the recording in progress."""
        path = self.path and os.path.abspath(self.path)
        now = path_now()
        if path and path != now and path not in _reported and path not in _made:
            _reported.add(path)
            _say(f"{self.path} is not written: a recording is in progress, into {now}")

    def _attach(self) -> None:
        from . import torch as capture
        from ._config import config

        settings = config()
        self._attached = not capture.attached()
        set_by = {"ops": settings.capture_ops, "shapes": bool(settings.capture_shapes), "stacks": bool(settings.capture_stacks)}
        capture.attach(**set_by | {k: v for k, v in self._what.items() if v is not None})

    def _attach_later(self) -> None:
        """Attaches when torch is imported inside the block. A failure must not fail that import."""
        try:
            if self._mine == _count and _native.recording():
                self._attach()
        except Exception as why:
            _say(f"torch is not recorded: {why}")

    def _end(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        if self._attached and not sys.is_finalizing():  # a generator may be closed at Python's exit, when nothing can be imported
            from . import torch as capture

            capture.detach()
        begun, self._mine, self._attached = self._mine, 0, False
        if begun == _count:  # no other recording was started inside
            stop()

    def __exit__(self, kind: type[BaseException] | None, what: BaseException | None, where: TracebackType | None) -> None:
        with _lock:
            self._entered -= 1
            if self._mine and self._entered <= 0:
                self._end()

    def __call__(self, function: F) -> F:
        def again() -> record:
            one = record(self.path, torch=self._torch, **self._what, **self._options)
            one._decorates = True
            return one

        return _wrap(function, again)


def _look() -> Any:
    """Returns the asyncio event loop that runs on this thread, or None. With a loop, ops belong to its tasks."""
    global running_loop
    running = getattr(sys.modules.get("asyncio.events"), "_get_running_loop", None)
    if running is None:
        return None
    running_loop = running
    return running()


running_loop: Any = _look  # returns None if no loop runs


def tasks() -> Any:
    """Returns tidemark._tasks, which is imported only if a loop exists."""
    global _tasks
    if _tasks is None:
        import importlib

        _tasks = importlib.import_module("tidemark._tasks")
    return _tasks


class op:  # noqa: N801
    """`with tidemark.op("forward"):`, or a decorator: records an op of this thread or task, nested in the open op."""

    __slots__ = ("_tokens", "name")

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError('an op has a name: tidemark.op("forward")')
        self.name: str = name
        self._tokens: dict[int, list[Any]] = {}  # by thread, since several may use this object; a task's token is its scope

    def __enter__(self) -> op:
        token = _native.op_begin(self.name) if running_loop() is None else tasks().enter(self.name)
        self._tokens.setdefault(get_ident(), []).append(token)
        return self

    def __exit__(self, kind: type[BaseException] | None, what: BaseException | None, where: TracebackType | None) -> None:
        thread = get_ident()
        mine = self._tokens.get(thread) or next(filter(None, self._tokens.values()))  # entered on another thread: ends nothing there
        token = mine.pop()
        if isinstance(token, int):
            _native.op_end(token)
        else:
            (tasks().one_of(mine, token) if mine else token).leave()  # several tasks may use this object
        if not mine:
            self._tokens.pop(thread, None)

    def __call__(self, function: F) -> F:
        name = self.name

        def call(*args: Any, **kw: Any) -> Any:
            token = _native.op_begin(name)
            try:
                return function(*args, **kw)
            finally:
                _native.op_end(token)

        return _wrap(function, lambda: op(name), call)


def _text(name: str) -> str:
    if not isinstance(name, str):  # the extension would take a number as an id
        raise TypeError(f"a name is a text, not {type(name).__name__}")
    return name


def phase(name: str) -> None:
    """Mark the end of a phase: everything since the previous phase mark is called `name`."""
    global _phased
    _phased = True
    _native.mark(_native.PHASE, _text(name))


def step(number: int, name: str = "step") -> None:
    """Mark step `number`, once in each iteration: at its begin, or at its end as torch.profiler's step(). Optimizers then mark no steps."""
    global _stepped
    _stepped = True
    _native.mark(_native.STEP, _text(name), number)
    look()


def checkpoint(name: str) -> None:
    """Mark a named point in time."""
    _native.mark(_native.CHECKPOINT, _text(name))
    look()


def look() -> None:
    """Sample the memory of devices whose allocators do not report."""
    capture = _capture()
    hook = capture._hook if capture is not None else sys.modules.get("tidemark_hook")
    if hook is not None:
        hook.look()
