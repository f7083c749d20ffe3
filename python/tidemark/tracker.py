# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A memory tracker for PyTorch: snapshots every few seconds, operations and tensor lifecycles, saved as JSON.

    initialize_memory_tracker(output_dir="./profiles", enabled=True)
    memory_checkpoint("after_model_load")
    with get_memory_tracker().track_operation("forward"):
        ...
    stop_memory_tracker()

The tracker writes a recording (memory_profile_*.tide beside the JSON). A snapshot is one event in it. The recording survives
kill -9: `profile(path)` makes the document from it. A disabled tracker, the default, does nothing in every call.
"""
from __future__ import annotations

import atexit
import collections
import contextlib
import datetime
import importlib
import itertools
import marshal
import os
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

from . import _home, _native, _profile, _record, _tasks
from ._config import config
from ._home import say
from ._signals import Afterwards, at_term
from ._unknown import UNKNOWN
from ._checkpoint_printer import CheckpointPrinter

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [  # without `profile`: `from tidemark.tracker import *` must not hide the program's own
    "MemoryTracker", "create_hook_tracker", "get_hook_data", "get_memory_summary", "get_memory_tracker", "initialize_memory_tracker", "memory_checkpoint",
    "save_memory_profile", "stop_memory_tracker", "track_model_with_hooks", "track_operation", "track_pytorch_ops",
]

LOG = 1_000_000  # the operation log keeps this many entries, the latest


_aside = False  # started by `tidemark run`: stdout belongs to the program, so lines go to stderr


def _say(*lines: str) -> None:
    """Prints lines. Never raises: stdout may be closed, unable to encode emoji, or in the middle of a print when a signal arrives."""
    for line in lines:
        _home.hook("tidemark_watch").put(sys.stderr if _aside else sys.stdout, line)


def _first_line(why: Exception) -> str:
    return (str(why).splitlines() or [type(why).__name__])[0]


def _names(folder: str, which: str, ending: str) -> Iterator[str]:
    """Yields memory_profile_YYYYMMDD_HHMMSS, then the same with suffixes, for files made within the same second."""
    stem = os.path.join(folder, f"memory_profile_{datetime.datetime.now(datetime.timezone.utc).strftime('%Y%m%d_%H%M%S')}")
    more = itertools.chain([which, f"_{os.getpid()}"], (f"_{os.getpid()}_{n}" for n in itertools.count(2)))
    return (f"{stem}{m}{ending}" for m in more)


def _taken_name(folder: str) -> str:
    """Returns a new profile's name and creates the file, because ranks of a job save in the same second."""
    for path in _names(folder, "", ".json"):
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            return path
    raise AssertionError  # there are infinitely many names


class _Once:
    """The result of checkpoint(). The checkpoint is recorded already; `with` adds nothing."""

    def __enter__(self) -> _Once:
        return self

    def __exit__(self, *what: object) -> None:
        pass


class _Hooks:
    """Hooks on a model's leaf modules, which stay until remove() or the end of a `with`."""

    def __init__(self, handles: list[Any]) -> None:
        self._handles = handles

    def remove(self) -> None:
        for h in self._handles:
            h.remove()
        self._handles = []

    def __enter__(self) -> _Hooks:
        return self

    def __exit__(self, *what: object) -> None:
        self.remove()


def _no_hook(*args: Any, **kw: Any) -> None:
    """Replaces a hook in a copy of a module made by pickle."""


def _unhooked() -> Any:
    return _no_hook


class _Hook:
    """A hook that does not prevent its module from being pickled, as torch.save(model) and other processes need."""

    __slots__ = ("_function",)

    def __init__(self, function: Any) -> None:
        self._function = function

    def __call__(self, *args: Any, **kw: Any) -> None:
        self._function(*args, **kw)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unhooked, ()

    def __deepcopy__(self, memo: object) -> _Hook:
        return self


def _tensors_in(value: Any, kind: type, depth: int = 0) -> list[Any]:
    """Returns the tensors in a module's arguments or results, also those in containers and dataclasses."""
    if isinstance(value, kind):
        return [value]
    if depth > 20:  # the value may contain itself
        return []
    if isinstance(value, dict):
        value = list(value.values())
    elif hasattr(value, "__dataclass_fields__"):
        value = [getattr(value, name, None) for name in value.__dataclass_fields__]
    return [t for v in value for t in _tensors_in(v, kind, depth + 1)] if isinstance(value, (list, tuple, set, frozenset)) else []


def _flag(value: object) -> bool:
    """Returns a switch, which may come from a file or an argument as text, by the words of tidemark.toml."""
    if isinstance(value, str):
        known = next((flag for flag, words in ((True, ("true", "yes", "on", "1")), (False, ("false", "no", "off", "0", ""))) if value.strip().lower() in words), None)
        if known is None:
            raise ValueError(f"enabled is true or false, not {value!r}")
        return known
    return bool(value)


class MemoryTracker:
    def __init__(self, output_dir: str | os.PathLike[str] = ".", enabled: bool = False, interval: float = 5.0) -> None:
        self.output_dir: str = os.path.abspath(os.fspath(output_dir))
        self.enabled: bool = _flag(enabled)
        self.interval: float = float(interval)
        self._lock = threading.RLock()  # reentrant: SIGTERM's handler saves at any point of the program
        self._ids = itertools.count(1)
        self._log: collections.deque[tuple[int, bytes]] = collections.deque(maxlen=LOG)
        self._pytorch: dict[str, dict[str, Any]] = {}
        self._profiling: list[tuple[Any, bool, int]] = []  # running torch profilers: (profiler, with CUDA, thread)
        self._ended = threading.Event()  # stop() has saved
        self._stopped = not self.enabled
        self.recording: str | None = None
        self._mine = self._attached = False
        if self.enabled:
            self._start()

    def _start(self) -> None:
        os.makedirs(self.output_dir, exist_ok=True)
        self._owner = os.getpid()
        itself = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _forked(itself()))
        importlib.import_module("torch")  # fails before anything is created if torch is missing
        with _record._lock:
            self._mine = not _record.running()
            if self._mine:
                names = _names(self.output_dir, f"_{os.getpid()}", ".tide")
                _record.start(next(n for n in names if not os.path.exists(n)), **_record.TORCH)
        try:
            self._begin()
        except BaseException:  # for instance a wrong interval: leave nothing running, and no file
            self._release()
            if self._mine:
                with contextlib.suppress(OSError):
                    os.unlink(_record.path_now() or "")
            raise
        _say("✅ Memory tracking enabled", f"   Snapshots will be saved to: {self.output_dir}", f"   Snapshot interval: {self.interval}s",
             "   Operation tracking: ON (use track_operation() context manager)")

    def _begin(self) -> None:
        self.recording = _record.path_now()
        assert self.recording
        self._teller = CheckpointPrinter(self.recording, _say)
        from . import torch as capture

        settings = config()
        self._attached = not capture.attached()  # set before attach(), so that detach() also undoes a failed one
        shapes = settings.capture_ops if settings.capture_shapes is None else settings.capture_shapes  # shapes follow ops by default
        capture.attach(ops=settings.capture_ops, shapes=shapes, stacks=bool(settings.capture_stacks))
        _native.snapshots_every(self.interval)
        atexit.register(self.stop)
        self._calm = at_term(self._on_term)

    def _release(self) -> None:
        """Restores PyTorch and the recorder."""
        if self._attached:
            from . import torch as capture

            capture.detach()
        if self._mine:
            _record.stop()

    def _on_term(self) -> None:
        """Saves the profile before SIGTERM ends the process."""
        self.stop()
        self._ended.wait()  # another thread may be saving

    # ---- while it runs ----

    def checkpoint(self, name: str) -> _Once:
        """Take a snapshot now: one event in the recording. Its totals are printed soon after."""
        if not self._stopped:
            self._teller.checkpoint(str(name))
        return _Once()

    @contextlib.contextmanager
    def track_operation(self, name: str) -> Iterator[None]:
        """Measure the memory of a block of code. Blocks nest; those of different threads or tasks do not mix; exceptions pass through."""
        if self._stopped:
            yield
            return
        _native.mark(_native.CHECKPOINT, f"{name}_pre")
        in_loop = _record.running_loop() is not None
        token = _tasks.enter(str(name), _tasks.TRACKED) if in_loop else _native.op_begin(str(name), _profile.OPERATION)
        try:
            yield
        finally:
            if isinstance(token, int):
                _native.op_end(token)
            else:
                token.leave()

    @contextlib.contextmanager
    def track_pytorch_ops(self) -> Iterator[Any]:
        """Profile every PyTorch op, with times, memory and input shapes. Yields torch's profiler (None when disabled)."""
        if self._stopped:
            yield None
            return
        running = self._start_profiler()
        try:
            yield running[0] if running else None
        finally:
            self._finish(running)

    def _start_profiler(self) -> tuple[Any, bool, int] | None:
        import torch
        from torch.profiler import ProfilerActivity, profile

        device = torch.cuda.is_available()
        with self._lock:  # torch has one profiler: starting a second would end the first, or crash if that is on another thread
            if self._profiling:
                _say("⚠️  PyTorch ops are not tracked here: they are tracked elsewhere at the moment")
                return None
            enabled = getattr(torch.autograd, "_profiler_enabled", bool)
            if enabled() or getattr(torch.autograd.profiler, "_is_profiler_enabled", False):
                _say("⚠️  PyTorch ops are not tracked: the program runs torch's profiler itself")
                return None
            return self._profiler(profile, [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * device, device)

    def _profiler(self, profile: Any, activities: list[Any], device: bool) -> tuple[Any, bool, int] | None:
        p = profile(activities=activities, record_shapes=True, profile_memory=True)
        try:
            p.start()
        except Exception as why:
            _say(f"⚠️  PyTorch ops are not tracked: {_first_line(why)}")
            return None
        running = p, device, threading.get_ident()
        self._profiling.append(running)
        return running

    def _finish(self, running: tuple[Any, bool, int] | None) -> None:
        """Ends a profiler and collects its events, once."""
        if running not in self._profiling or running is None:
            return
        try:
            if running[2] != threading.get_ident():  # only its own thread can end it
                raise RuntimeError("torch's profiler still runs, on another thread")
            with self._lock:  # no other profiler starts before this one has ended
                self._profiling.remove(running)
                running[0].stop()
            self._extract(running[0], running[1])
        except Exception as why:  # torch's profiler failing must not fail the program
            _say(f"⚠️  Failed to extract PyTorch ops: {_first_line(why)}")

    def _extract(self, p: Any, device: bool) -> None:
        with self._lock:
            for e in p.key_averages(group_by_input_shape=True):
                if "profiler" in e.key.lower():
                    continue
                o = self._pytorch.setdefault(e.key, {
                    "op_name": e.key, "count": 0, "cpu_time_us": 0, "cuda_time_us": 0 if device else None, "cpu_memory_mb": 0.0,
                    "cuda_memory_mb": 0.0 if device else None, "input_shapes": [], "_most": 0})
                o["count"] += e.count
                o["cpu_time_us"] += e.cpu_time_total
                o["cpu_memory_mb"] += e.cpu_memory_usage / _profile.MB
                if device:  # the names differ between torch versions
                    o["cuda_time_us"] += getattr(e, "device_time_total", getattr(e, "cuda_time_total", 0))
                    o["cuda_memory_mb"] += getattr(e, "device_memory_usage", getattr(e, "cuda_memory_usage", 0)) / _profile.MB
                if e.count > o["_most"]:  # the shapes it was called with most often
                    o["_most"] = e.count
                    o["input_shapes"] = [list(s) for s in e.input_shapes or []]

    def track_model_with_hooks(self, model: Any) -> _Hooks:
        """Log every forward of the model's leaf modules: measured start and end, tensors in and out."""
        if self._stopped:
            return _Hooks([])
        handles = []
        for name, module in model.named_modules():
            if not any(True for _ in module.children()):
                handles += self._hook(name, module)
        from . import torch as capture

        capture.label(model)
        return _Hooks(handles)

    def _hook(self, name: str, module: Any) -> list[Any]:
        label = _native.intern(f"{type(module).__name__}.{name}")
        running = threading.local()
        from torch import Tensor
        from torch._C import DisableTorchFunction as quiet

        from .torch import address

        def known(value: Any) -> list[tuple[int, list[int]]]:
            try:
                with quiet():  # hides our calls from the program's modes
                    return [(address(t), list(t.shape)) for t in _tensors_in(value, Tensor)]
            except Exception:  # objects whose fields cannot be read, tensors without a shape: must not fail the program
                return []

        def before(m: Any, args: Any, kwargs: Any = None) -> None:
            if self._stopped:
                return
            if not hasattr(running, "stack"):
                running.stack = []
            number = next(self._ids)
            inputs = known([args, kwargs])
            running.stack.append((_native.op_begin(label, _profile.MODULE | number), number, inputs))

        def after(m: Any, *args: Any) -> None:  # arguments, with kwargs or not, then the result
            if not getattr(running, "stack", None):  # hooked in the middle of a forward
                return
            token, number, inputs = running.stack.pop()
            _native.op_end(token)
            with contextlib.suppress(ValueError):  # symbolic shapes (torch.export) are not logged
                self._log.append((number, marshal.dumps((inputs, known(args[-1])))))  # bytes: nothing for the garbage collector to walk

        first, last = _Hook(before), _Hook(after)
        try:
            return [module.register_forward_pre_hook(first, with_kwargs=True), module.register_forward_hook(last, always_call=True)]
        except TypeError:  # torch 1 does not pass keyword arguments to hooks
            return [module.register_forward_pre_hook(first), module.register_forward_hook(last)]

    def get_hook_data(self) -> list[dict[str, Any]]:
        """Return the operation log so far."""
        return self._read().log(_profile.Known(self._log)) if self.recording else []

    def reset(self) -> None:
        """Discard the snapshots so far. Operations and tensor lifecycles stay."""
        if not self._stopped:
            _native.mark(_native.CHECKPOINT, _profile.RESET)

    # ---- results ----

    def _read(self) -> _profile.Profile:
        from . import torch as capture

        path = self.recording if os.getpid() == self._owner else _record.path_now()  # a forked child has its own
        assert path
        return _profile.Profile(path, capture.module_types())

    def document(self) -> dict[str, Any]:
        """Return the whole profile as a dict; {} when disabled."""
        if not self.recording:
            return {}
        p = self._read()
        with self._lock:
            ops = [{k: v for k, v in o.items() if k != "_most"} for o in self._pytorch.values()]
        return _profile.document(p, ops, _profile.Known(self._log))

    def save_snapshot(self, filename: str | None = None) -> str:
        """Write the profile. Returns its absolute path, or "" when disabled."""
        if not self.recording:
            return ""
        with Afterwards():
            return self._save(filename)

    def _save(self, filename: str | None) -> str:
        if not self._stopped:
            self._sweep()
        found = self.document()
        os.makedirs(self.output_dir, exist_ok=True)
        target = os.path.join(self.output_dir, filename) if filename else _taken_name(self.output_dir)
        part = f"{target}.{os.getpid()}.part"
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(part, "w", encoding="utf-8") as f:
                _profile.write(found, f.write)
            os.replace(part, target)
        except BaseException:
            for made in [part] if filename else [part, target]:
                with contextlib.suppress(OSError):
                    os.unlink(made)
            raise
        lines = [f"💾 Memory profile saved to: {target}"]
        for key, text in (("operation_summary", "{} operations tracked"), ("operation_graph", "Operation graph with {} nodes"),
                          ("tensor_lifecycle", "Lifecycle tracked for {} tensors"),
                          ("pytorch_operations", "{} PyTorch operations captured"), ("operation_log", "Operation log with {} entries")):
            if found[key]:
                lines.append("   • " + text.format(len(found[key])))
        told = found["metadata"]
        if told["borrowed_bytes"]:
            lines.append(f"   • {told['borrowed_storages']} tensors over memory that is not PyTorch's: {_profile.mb(told['borrowed_bytes']):.2f} MB, in no total")
        _say(*lines)
        return target

    def _sweep(self) -> None:
        """Records requires_grad and parameters, which only Python knows. Runs once for each save."""
        from . import torch as capture

        try:
            capture.sweep()
            for key, n in zip(("borrowed.storages", "borrowed.bytes"), capture.borrowed()):
                _native.annotate(key, str(n))
        except Exception as why:  # custom tensor types must not prevent the profile
            say(f"not every tensor could be described: {why}")

    def get_summary(self) -> dict[str, Any]:
        """Return the number of snapshots, the highest and the last one; {} when disabled."""
        if not self.recording:
            return {}
        p = self._read()
        totals = [(p.bytes[min(position, len(p.bytes) - 1)], name) for name, _, position in p.checkpoints]
        highest = max(totals, default=None, key=lambda x: x[0])
        out: dict[str, Any] = {
            "num_snapshots": len(totals), "checkpoints": [n for _, n in totals],
            "peak_memory_mb": _profile.mb(highest[0]) if highest else UNKNOWN, "peak_memory_checkpoint": highest[1] if highest else None,
            "final_memory_mb": _profile.mb(totals[-1][0]) if totals else UNKNOWN, "true_peak_memory_mb": _profile.mb(max(p.bytes)),
        }
        names = p.by_operation()
        if names:
            out["operations"] = {n: len(s) for n, s in names.items()}
        return out

    def stop(self) -> str:
        """Take a last snapshot and save everything. Returns the path of the profile; a second call does nothing and returns ""."""
        with Afterwards():
            with self._lock:
                if self._stopped or os.getpid() != self._owner:
                    return ""
                self._stopped = True
            atexit.unregister(self.stop)
            try:
                return self._end()
            except Exception as why:  # at exit or in a signal handler: report where the recording is
                say(f"the profile could not be written ({why}); the recording is {self.recording}")
                return ""
            finally:
                self._ended.set()
                self._calm()

    def _end(self) -> str:
        _native.snapshots_every(0)
        _native.mark(_native.CHECKPOINT, "final")
        self._sweep()
        self._release()
        self._teller.stop()
        path = self.save_snapshot()
        if self._profiling:  # stopped inside track_pytorch_ops(): save first, because torch may need long for its events
            for running in list(self._profiling):
                self._finish(running)
            path = self.save_snapshot(os.path.basename(path))
        return path


def _forked(tracker: MemoryTracker | None) -> None:
    """Resets a tracker in a forked child, which continues in its own recording: releases the lock and drops the parent's profiler data."""
    if tracker is not None:
        tracker._lock = threading.RLock()
        tracker._pytorch, tracker._profiling = {}, []


# ---- module functions ----

_tracker: MemoryTracker | None = None


def initialize_memory_tracker(output_dir: str | os.PathLike[str] | None = None, enabled: bool | None = None,
                              interval: float | None = None) -> MemoryTracker:
    """Start tracking. An earlier tracker is stopped and saved first.

    Arguments that are not given come from the configuration (`tidemark config show`). The defaults are ".", False and 5.0 seconds.
    """
    global _tracker, _aside
    settings = config()
    if _tracker is not None:
        _tracker.stop()
    _aside = False
    _tracker = MemoryTracker(settings.output_dir if output_dir is None else output_dir,
                             settings.enable_memory_profiling if enabled is None else enabled,
                             settings.interval if interval is None else interval)
    return _tracker


def start_aside() -> None:
    """Start tracking for `tidemark run`: with the configured settings, and with every line on stderr."""
    global _tracker, _aside
    settings = config()
    if _tracker is None:
        _aside = True
        _tracker = MemoryTracker(settings.output_dir, settings.enable_memory_profiling, settings.interval)


def get_memory_tracker() -> MemoryTracker:
    """Return the tracker; a disabled one before initialize_memory_tracker()."""
    global _tracker
    if _tracker is None:
        _tracker = MemoryTracker()
    return _tracker


def memory_checkpoint(name: str) -> _Once:
    """Take a snapshot now, as a call or in a `with`."""
    return get_memory_tracker().checkpoint(name)


def save_memory_profile(filename: str | None = None) -> str:
    return get_memory_tracker().save_snapshot(filename)


def get_memory_summary() -> dict[str, Any]:
    return get_memory_tracker().get_summary()


def stop_memory_tracker() -> str:
    """Stop and save. Returns the path of the profile, or ""."""
    return get_memory_tracker().stop()


def track_operation(name: str) -> contextlib.AbstractContextManager[None]:
    return get_memory_tracker().track_operation(name)


def track_pytorch_ops() -> contextlib.AbstractContextManager[Any]:
    return get_memory_tracker().track_pytorch_ops()


def track_model_with_hooks(model: Any) -> _Hooks:
    return get_memory_tracker().track_model_with_hooks(model)


def get_hook_data() -> list[dict[str, Any]]:
    return get_memory_tracker().get_hook_data()


def create_hook_tracker(base: MemoryTracker | None = None) -> MemoryTracker:
    """Return a tracker with track_model_with_hooks() and get_hook_data(). The base itself has both."""
    return base if base is not None else get_memory_tracker()


def profile(recording: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the document of a recording whose profile was not saved, for instance after kill -9. It lacks the data that only the
    Python process had (pytorch_operations; tensors and shapes of the operation log)."""
    return _profile.document(_profile.Profile(os.fspath(recording)), [], {})
