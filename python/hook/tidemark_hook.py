# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Turns on recording of PyTorch's ops, modules and steps once torch has been imported.

TIDEMARK_CAPTURE lists what to record besides ops: modules, stacks (stacks=N: of every N-th op), shapes; unset means modules.
The C++ side (ops.cpp) is built against the imported torch (tidemark_build.py). Without a compiler it prints one line, and
everything except ops is recorded.
"""
from __future__ import annotations

import atexit
import ctypes
import os
import sys
from typing import Any

_library: Any = None  # built from ops.cpp; keeps the callback's code loaded
_capture: Any = None  # libtidemark-torch, called with the GIL held
_model: Any = None  # tidemark_model.Model: names of modules, labels, steps
_devices: Any = None  # tidemark_devices.Devices: devices that do not report
_at_exit_registered = False  # an exit function stops reading threads' frames
_ranked = False  # the recording has the rank of this process
_settings: dict[str, str] = {}  # of CUDA's allocator: name -> value
SHAPES, STACKS, USES = 1, 2, 8
_holders: list[Any] = []  # the function that records what refers to tensors
_graphs: list[bool] = []  # CUDA graphs were captured
_graphs_watched: list[bool] = []


def _beside(name: str) -> Any:
    import importlib.util

    spec: Any = importlib.util.spec_from_file_location(name, os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_watch: Any = _beside("tidemark_watch")
_say: Any = _watch.say


def _load_ops(torch: Any) -> None:
    """Builds ops.cpp if necessary, loads it, and passes it the addresses of the capture library's functions."""
    global _library
    source = os.environ["TIDEMARK_OPS_SOURCE"]
    with _beside("tidemark_build").library(torch, source, _say) as path:
        library = ctypes.PyDLL(path)
    library.tide_torch_label.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_int, ctypes.c_bool]
    library.tide_torch_label.restype = None
    library.tide_torch_say.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int]
    library.tide_torch_say.restype = None
    library.tide_torch_labels.argtypes = [ctypes.c_uint64]
    library.tide_torch_owner.argtypes = [ctypes.c_uint64, ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
    library.tide_torch_owner.restype = None
    library.tide_torch_ops_host(*(ctypes.cast(getattr(_capture, f), ctypes.c_void_p) for f in (
        "tide_torch_fresh", "tide_torch_pool", "tide_torch_stack", "tide_torch_stack_end", "tide_torch_streams_by",
        "tide_torch_describes", "tide_torch_begin")))
    _library = library


def _load_capture(path: str | None = None) -> None:
    """Loads libtidemark-torch: the library that is loaded already (preloaded), else the one at `path`."""
    global _capture
    if _capture is not None:
        return
    try:
        c = ctypes.PyDLL("libtidemark-torch.so", mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        if path is None:
            raise
        c = ctypes.PyDLL(path)
    c.tide_torch_modules_on.argtypes = [ctypes.py_object] * 3
    c.tide_torch_module_name.argtypes = [ctypes.c_size_t, ctypes.c_uint32]
    c.tide_torch_module_name.restype = None
    c.tide_intern.argtypes = [ctypes.c_char_p]
    c.tide_intern.restype = ctypes.c_uint32
    c.tide_mark.argtypes = [ctypes.c_int, ctypes.c_uint32, ctypes.c_int64]
    c.tide_mark.restype = None
    c.tide_annotate.argtypes = [ctypes.c_uint32, ctypes.c_char_p]
    c.tide_annotate.restype = None
    c.tide_torch_frames_on.argtypes = [ctypes.c_bool]
    c.tide_stop.argtypes = [ctypes.c_void_p]
    c.tide_free.argtypes = [ctypes.c_uint16, ctypes.c_uint64]
    c.tide_free.restype = None
    c.tide_torch_device_type.argtypes = [ctypes.c_char_p]
    for name in "tide_torch_reserved", "tide_torch_allocated", "tide_torch_peak":
        getattr(c, name).argtypes = [ctypes.c_uint, ctypes.c_uint, ctypes.c_uint64]
        getattr(c, name).restype = None
    c.tide_recording.restype = ctypes.c_bool
    c.tide_recording_removed.restype = ctypes.c_bool
    c.tide_torch_reports.restype = ctypes.c_bool
    c.tide_torch_silence.restype = None
    _capture = c
    _complete_workers()
    os.register_at_fork(after_in_child=_in_child)
    atexit.register(_at_exit)


def _at_exit() -> None:
    before_end()
    if _devices is not None:
        _devices.stop()
    if not getattr(sys.modules.get("tidemark._record"), "_count", 0) and _capture.tide_recording_removed():  # else _record reports it
        path = ctypes.create_string_buffer(4096)
        _capture.tide_recording_path(path, ctypes.c_size_t(len(path)))
        _say(f"{os.fsdecode(path.value)}: removed or replaced while recording: the recording is lost")


def note_holders(why: str) -> None:
    """Records what Python objects refer to the memory of tensors, if that is on."""
    for note in _holders:
        note(why)


def _watch_holders(torch: Any, wanted: bool) -> None:
    """Records the holders when CUDA runs out of memory; with --holders also at steps and at the end."""
    names = _beside("tidemark_holders")

    def note(why: str) -> None:
        if _capture.tide_recording():
            names.record(torch, lambda key, text: _capture.tide_annotate(_capture.tide_intern(key.encode()), text.encode("utf-8", "replace")[:4000]), why)

    def out_of_memory(device: int, size: int, total: int, free: int) -> None:
        try:
            note("out of memory")
        except Exception:  # the program sees its own error
            return

    if wanted and not _holders:
        _holders.append(note)
    attach = getattr(torch._C, "_cuda_attachOutOfMemoryObserver", None)
    if attach is not None and not _watched:
        _watched.append(True)
        torch.cuda._lazy_call(lambda: attach(out_of_memory))


_watched: list[bool] = []


def before_end() -> None:
    """Runs before the recording ends: records the rank, labels, holders and a last sample of devices."""
    note_holders("the end")
    learn_rank()
    _record_settings()
    _note_unseen_uses()
    if _model is not None:
        _model.last()
    look(last=True)


def look(last: bool = False) -> None:
    """Samples devices that do not report: at the program's steps and checkpoints, for live(), and at the end."""
    if _devices is not None:
        _devices.look(last)


def devices(torch: Any, interval: float | None = None) -> Any:
    """Returns the tidemark_devices.Devices object; the first call makes it."""
    global _devices
    if _devices is None:
        if interval is None:  # `tidemark run` passes it by the environment
            interval = float(os.environ.get("TIDEMARK_INTERVAL") or 5)
        aside = _is_worker() or os.environ.get("TIDEMARK_RECORD_PID", str(os.getpid())) != str(os.getpid())  # for instance a compiler's worker
        _devices = _beside("tidemark_devices").Devices(torch, _capture, _say, interval, aside)
    return _devices


def _in_child() -> None:
    forget_rank()
    if _model is not None:
        _model.in_child()
    _complete_workers()


def learn_rank() -> bool:
    """Records rank and world size of this process once torch.distributed is initialized: a launcher's variables may be missing
    (multiprocessing.spawn). Returns whether they are recorded. Cheap to call repeatedly; imports nothing, never raises."""
    global _ranked
    if not _ranked:
        group: Any = sys.modules.get("torch.distributed")
        try:
            if group is None or not group.is_available() or not group.is_initialized():
                return False
            for key, number in ("process.rank", group.get_rank()), ("process.world_size", group.get_world_size()):
                _capture.tide_annotate(_capture.tide_intern(key.encode()), str(number).encode())
        except Exception:  # the group is being created or was destroyed
            return False
        _ranked = True
    return True


def forget_rank() -> None:
    """Makes learn_rank() record the rank again, for another recording."""
    global _ranked
    _ranked = False


def _is_worker() -> bool:
    """Returns whether this is a worker process of multiprocessing."""
    return getattr(sys.modules.get("multiprocessing.process"), "parent_process", lambda: None)() is not None


def _complete_workers() -> None:
    """Completes the file of a multiprocessing worker (for instance a DataLoader's) at the end of its work, since it ends by _exit."""
    util: Any = sys.modules.get("multiprocessing.util")
    if util is None:
        return

    def at_end(capture: Any) -> None:
        util.Finalize(None, capture.tide_stop, args=(None,), exitpriority=-1000)

    util.register_after_fork(_capture, at_end)  # for future workers, which drop earlier Finalizes
    if _is_worker():
        at_end(_capture)  # for this process


def _stacks(every: int) -> bool:
    """Learns the frame layout of this Python from three nested functions, and turns stacks on. Returns False if it is unknown."""
    global _at_exit_registered

    class Nest:
        def outer(self) -> int:
            return self.inner()

        def inner(self) -> int:
            def innermost() -> int:
                return int(_capture.tide_torch_frames_learn())

            return innermost()

    why = Nest().outer()
    if why:
        _say(f"Python stacks are not recorded: this Python has an unknown frame layout (question {why})")
        return False
    _capture.tide_torch_stack_every(every)
    _capture.tide_torch_frames_on(True)
    if not _at_exit_registered:
        _at_exit_registered = True
        atexit.register(_capture.tide_torch_frames_on, False)  # frames are freed before their threads end
    return True


def _phases_of(torch: Any) -> Any:
    def mark(name: str) -> None:
        _capture.tide_mark(1, _capture.tide_intern(name.encode()), 0)

    return _beside("tidemark_phases").Phases(torch, mark)


def on(torch: Any, *, ops: bool = True, modules: bool = True, stacks: int = 0, shapes: bool = False, light: bool = False, holders: bool = False) -> bool:
    """Starts recording. Returns False if ops cannot be recorded; the reason was printed in one line."""
    global _model
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        if modules or stacks:
            _say("modules and Python stacks are not recorded: a Python without the GIL is not supported")
        modules, stacks = False, 0
    _load_capture()
    if light and _stacks(1):  # records every allocation with its Python stack, but no ops
        _capture.tide_torch_alloc_stacks(ctypes.c_bool(True))
    if _library is None and ops:
        try:
            _load_ops(torch)
        except Exception as why:  # no compiler or no headers: memory is still recorded
            _say(f"ops are not recorded: {why}")
    if _library is not None and ops:
        want = USES | (SHAPES if shapes else 0) | (STACKS if stacks and _stacks(stacks) else 0)
        _library.tide_torch_ops_on(want)
        if not _graphs_watched:
            _graphs_watched.append(True)
            _watch_graphs(torch)
    if not light:
        _beside("tidemark_loader").on(_capture, torch)
    if modules:
        _model = _model or _beside("tidemark_model").Model(torch, _capture, _say, learn_rank, devices(torch), _phases_of(torch))
        _model.on(_library)
        _model.holders = note_holders if holders else None
    _watch_holders(torch, holders)
    return _library is not None or not ops


def off() -> None:
    look(last=True)
    if _library is not None:
        _library.tide_torch_ops_off()
        _note_unseen_uses()
        if _capture.tide_recording():
            _capture.tide_annotate(_capture.tide_intern(b"uses.off"), b"")
    if _capture is not None:
        _capture.tide_torch_alloc_stacks(ctypes.c_bool(False))
        _capture.tide_torch_frames_on(False)
    if _model is not None:
        _model.off()
    if _devices is not None:
        _devices.stop()


def wants(text: str | None) -> dict[str, Any]:
    """Returns TIDEMARK_CAPTURE as arguments of on()."""
    parts = [w.partition("=") for w in (text if text is not None else "modules").split(",") if w]
    words = {name: value for name, _, value in parts}
    every = int(words.get("stacks") or 1) if "stacks" in words else 0
    return {"ops": "no-ops" not in words, "modules": "modules" in words, "stacks": every, "shapes": "shapes" in words, "holders": "holders" in words, "light": "light" in words}


def _track() -> None:
    """Starts the tracker if enable_memory_profiling is set and this Python has the package."""
    if os.environ.get("TIDEMARK_ENABLE_MEMORY_PROFILING", "").lower() not in ("1", "true", "yes", "on"):
        return
    try:
        from tidemark import tracker
    except ImportError:
        _say(f"the memory tracker is not started: this Python has no package tidemark; run `{sys.executable} -m pip install tidemark-profiler`")
        return
    tracker.start_aside()


# Packages whose kernels read tensors by their addresses, without an op: uses of memory are then unknown.
UNSEEN = ("triton", "torch._inductor.codecache", "flash_attn", "apex", "transformer_engine", "xformers", "bitsandbytes", "deepspeed", "cupy", "numba.cuda",
          "vllm", "sglang", "causal_conv1d", "mamba_ssm", "flashinfer", "tensorrt", "onnxruntime")


def _note_unseen_uses() -> None:
    """Records why uses of memory may be missing."""
    found = [name for name in UNSEEN if name in sys.modules]
    if _graphs:
        found.append("a CUDA graph")
    if found and _library is not None and _capture.tide_recording():
        _capture.tide_annotate(_capture.tide_intern(b"uses.unseen"), f"the program uses {', '.join(found)}".encode())


def _watch_graphs(torch: Any) -> None:
    """Notes the first capture of a CUDA graph: its replays run no ops."""
    graph = getattr(torch.cuda, "CUDAGraph", None)
    plain = getattr(graph, "capture_begin", None)
    if graph is None or plain is None or not (getattr(torch.version, "cuda", None) or getattr(torch.version, "hip", None)):
        return

    def capture_begin(self: Any, *args: Any, **kw: Any) -> Any:
        _graphs.append(True)
        return plain(self, *args, **kw)

    graph.capture_begin = capture_begin


def _record_settings() -> None:
    """Records them; at the end, too, because the recording may begin after the program has set them."""
    for key, text in _settings.items() if _capture.tide_recording() else ():
        _capture.tide_annotate(_capture.tide_intern(key.encode()), text.encode())


def _allocator(torch: Any) -> None:
    """Records the settings of CUDA's allocator, and each limit that the program sets: `tidemark oom` needs them."""
    if not (getattr(torch.version, "cuda", None) or getattr(torch.version, "hip", None)):
        return

    def note(key: str, text: str) -> None:
        _settings[key] = text
        _record_settings()

    note("allocator.conf", os.environ.get("PYTORCH_ALLOC_CONF") or os.environ.get("PYTORCH_CUDA_ALLOC_CONF") or "")
    plain = torch.cuda.memory.set_per_process_memory_fraction

    def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
        plain(fraction, device)
        index = torch.device(device).index if device is not None and not isinstance(device, int) else device
        note(f"allocator.fraction.cuda:{torch.cuda.current_device() if index is None else index}", repr(float(fraction)))

    torch.cuda.set_per_process_memory_fraction = torch.cuda.memory.set_per_process_memory_fraction = set_per_process_memory_fraction


def _imported() -> None:
    """Attaches after the import of torch. A failure must not fail that import."""
    try:
        torch = sys.modules["torch"]
        on(torch, **wants(os.environ.get("TIDEMARK_CAPTURE")))
        devices(torch).begin()
        _allocator(torch)
        _track()
    except Exception as why:
        _say(f"ops are not recorded: {why}")


def _heap_stacks() -> None:
    """Adds Python frames to the stacks of a recorded host heap, with or without torch."""
    if os.environ.get("TIDEMARK_HEAP") and getattr(sys, "_is_gil_enabled", lambda: True)():
        _load_capture()
        _stacks(1)


def install() -> None:
    _heap_stacks()
    _watch.Watch(_imported)
    _beside("tidemark_threads").on()
