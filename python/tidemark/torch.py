# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Records every allocation and every op of PyTorch in a process that is already running.

    tidemark.torch.attach()

redirects calls of the loaded torch libraries to Tidemark's recorder (no preload, no restart), and turns op recording on
by a small C++ file that is built once for the installed torch. `tidemark run` does the same from outside.
"""
from __future__ import annotations

import contextlib
import ctypes
import functools
import operator
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from . import _config, _home, _native, _record, _child_processes

_hook: Any = None  # tidemark_hook: loads the capture library, builds and loads the C++ side
_attached = False
_lock = threading.RLock()  # only one thread attaches or detaches at a time
_asked: dict[str, Any] = {}  # arguments of the last attach()
_adopted: tuple[str | None, int] | None = None  # the recording in which pre-existing tensors are recorded

# TIDE_DTYPE numbers
DTYPES = {
    "float32": 1, "float16": 2, "bfloat16": 3, "float64": 4, "int8": 5, "int16": 6, "int32": 7, "int64": 8, "uint8": 9,
    "uint16": 10, "uint32": 11, "uint64": 12, "bool": 13, "float8_e4m3fn": 14, "float8_e5m2": 15, "complex64": 16,
    "complex128": 17,
}
PARAMETER, GRADIENT, OPTIMIZER, BUFFER = 1, 2, 3, 7
Place = tuple[str, int, int]  # device type, device index, address


def _load() -> Any:
    """Returns libtidemark-torch as the hook loads it: the library preloaded by `tidemark run`, else the package's own."""
    global _hook
    if _hook is None:
        ctypes.CDLL(os.path.join(_home.LIBRARIES, "libtidemark-rt.so.0"), mode=ctypes.RTLD_GLOBAL)  # the op library needs its symbols
        hook = _home.hook("tidemark_hook")
        os.environ.setdefault("TIDEMARK_OPS_SOURCE", os.path.join(_home.SHARE, "ops.cpp"))
        os.environ.setdefault("TIDEMARK_INCLUDE", _home.INCLUDE)
        hook._load_capture(os.path.join(_home.LIBRARIES, "libtidemark-torch.so"))
        hook._capture.tide_torch_pool.argtypes = [ctypes.c_uint, ctypes.c_uint]
        hook._capture.tide_torch_pool.restype = ctypes.c_uint16
        _hook = hook
    return _hook._capture


def unseen() -> Any:
    """Returns a context in which the program's modes (a default device, fake tensors) neither see nor change our calls of PyTorch."""
    import torch

    return _home.hook("tidemark_model").unseen(torch)


# ---- tensors that exist already ----

def tensors(torch: Any) -> list[Any]:
    """Returns every tensor that Python can see, gradients included. Checks only the type of each object, which is cheap."""
    found: list[Any] = _native.instances(torch.Tensor)
    return found + _gradients(torch, found)


def _gradients(torch: Any, found: list[Any]) -> list[Any]:
    """Returns the gradients of leaf tensors. Returns none while another thread is inside PyTorch: it may be freeing a gradient at that
    moment, without the GIL. Most attributes are read in C, so that no other thread runs in between."""
    plain = [t for t in found if type(t) is torch.Tensor or type(t) is torch.nn.Parameter]
    leaves = [t for t, leaf in zip(plain, _each("is_leaf", plain)) if leaf]
    if _others_in(os.path.dirname(torch.__file__)):
        return []
    grads = _each("grad", leaves)
    grads += [_grad(t) for t in found if type(t) is not torch.Tensor and type(t) is not torch.nn.Parameter]
    return [g for g in grads if g is not None]


def _each(what: str, found: list[Any]) -> list[Any]:
    """Returns an attribute of each tensor; None for a tensor that has just become undefined, for which torch 1.13 raises an exception."""
    try:
        return list(map(operator.attrgetter(what), found))
    except Exception:
        return [_one(what, t) for t in found]


def _one(what: str, tensor: Any) -> Any:
    try:
        return getattr(tensor, what)
    except Exception:
        return None


def _others_in(folder: str) -> bool:
    """Returns whether another thread runs code of this folder. torch.utils (a DataLoader's threads) makes no gradients and is ignored."""
    frames = sys._current_frames()
    frames.pop(threading.get_ident(), None)  # our own frame would refer to itself and keep its callers' objects alive
    return any(_within(frame, folder) for frame in frames.values())


def _within(frame: Any, folder: str) -> bool:
    aside = os.path.join(folder, "utils", "")
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(folder) and not file.startswith(aside):
            return True
        frame = frame.f_back
    return False


def _grad(tensor: Any) -> Any:
    try:
        return tensor.grad if tensor.is_leaf else None
    except Exception:  # fake, functional or custom tensor types
        return None


def _storage(tensor: Any) -> Any:
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()  # before 2.0


def _data(storage: Any) -> int:
    """Returns the address of a storage, 0 if it has no memory. Does not read that of a fake tensor, for which PyTorch would warn the user."""
    return 0 if storage.device.type == "meta" else int(storage.data_ptr())


def address(tensor: Any) -> int:
    """Returns the address of the tensor's storage, 0 if it has none of its own."""
    try:
        return _data(_storage(tensor))
    except Exception:  # sparse, functional ... tensors
        return 0


def _place(tensor: Any) -> tuple[str, int, int, int] | None:
    """Returns device type, device index, address and bytes of the tensor's storage; None if it has none of its own."""
    try:
        storage, device = _storage(tensor), tensor.device
        return device.type, device.index or 0, _data(storage), storage.nbytes()
    except Exception:  # sparse, functional ... tensors
        return None


def _borrowed(tensor: Any) -> bool:
    """Returns whether the memory is not PyTorch's own (from_numpy, frombuffer; pinned by CUDA): its CPU allocator will not report the free."""
    try:
        storage = _storage(tensor)
        return not (_own(tensor, storage) or storage.is_shared())
    except Exception:  # a custom tensor type
        return False


def _own(tensor: Any, storage: Any) -> bool:
    """Returns whether PyTorch's allocators own the memory. On the CPU we compare the deleter: that needs no dispatched call, which a
    profiler would count as the program's. Resizability does not help: storages of torch.load() and borrowed memory both lack it."""
    if storage.device.type == "cpu":
        with contextlib.suppress(LookupError):
            word, own = _deleters()
            return _words(storage)[word] == own
        if tensor.is_pinned():
            return False
    return bool(storage.resizable()) if hasattr(storage, "resizable") else True


def _words(storage: Any) -> list[int]:
    """Returns the first 6 words of its StorageImpl: vtable, reference counts, then the data pointer, its deleter and the deleter's context."""
    return list((ctypes.c_size_t * 6).from_address(getattr(storage, "_storage", storage)._cdata))  # before 2.0 typed storages wrap it


@functools.lru_cache(None)
def _deleters() -> tuple[int, int]:
    """Returns the index of the deleter in _words(), and the CPU allocator's deleter. Python has no API for the owner of a storage.

    Compares storages of both kinds: only in this word all of PyTorch's own agree and differ from those of borrowed memory.
    """
    import torch

    own = [_new_storage(torch, n) for n in (3, 70, 5000)]
    lent = [_storage(torch.frombuffer(bytearray(n), dtype=torch.uint8)) for n in (8, 99)]
    mine, theirs = ([_words(s) for s in storages] for storages in (own, lent))
    found = [i for i, w in enumerate(mine[0]) if 4096 < w < 2**63 and all(m[i] == w for m in mine) and all(t[i] != w for t in theirs)]
    if len(found) != 1 or not all(map(_data, own)):  # fake tensors
        raise LookupError("this torch has an unknown storage layout")
    return found[0], mine[0][found[0]]


def _new_storage(torch: Any, n: int) -> Any:
    """Returns a storage of n bytes from the CPU allocator. If torch has untyped storages, no op is dispatched."""
    return torch.UntypedStorage(n, device="cpu") if hasattr(torch, "UntypedStorage") else _storage(torch.empty(n, device="cpu"))


_types: dict[str, int] = {}  # name of a device type -> c10::DeviceType


def _type_of(device: str) -> int:
    if device not in _types:
        _types[device] = _load().tide_torch_device_type(device.encode())
    return _types[device]


def pool_of(device: str, index: int) -> int:
    return int(_load().tide_torch_pool(_type_of(device), index))


def _allocator_segments(torch: Any, kind: str) -> list[dict[str, Any]] | None:
    """Returns the segments of a caching allocator with their blocks; None if it is not in use or does not report them."""
    module: Any = getattr(torch, kind, None)
    try:
        if module is None or not module.is_available() or not module.is_initialized():
            return None
        found: list[dict[str, Any]] = module.memory_snapshot()
    except Exception:  # this torch has no snapshots, or uses another allocator (cudaMallocAsync)
        return None
    return found


def _blocks(segments: list[dict[str, Any]]) -> Iterator[tuple[int, int, int]]:
    """Yields device, address and bytes of each allocated block."""
    for segment in segments:
        at = segment["address"]
        for block in segment["blocks"]:
            at = block.get("address", at)
            if block["state"] == "active_allocated":
                yield segment["device"], at, block["size"]
            at += block["size"]


def _held(torch: Any, reported: dict[str, list[dict[str, Any]]], places: Iterable[Place]) -> dict[tuple[str, int], int]:
    """Returns the reserved bytes of each device: the sum of its segments if the allocator reports them, else torch's figure for an
    accelerator that has tensors. An unused accelerator is not queried, since that would initialize it."""
    held: dict[tuple[str, int], int] = {}
    for kind, segments in reported.items():
        for segment in segments:
            key = kind, segment["device"]
            held[key] = held.get(key, 0) + int(segment["total_size"])
    accelerator = getattr(torch, "accelerator", None)
    for kind, index in {(kind, index) for kind, index, _ in places if kind != "cpu" and kind not in reported}:
        with contextlib.suppress(Exception):  # before 2.9, not the current accelerator, or not supported by it
            if accelerator is not None and accelerator.current_accelerator().type == kind:
                held[kind, index] = int(accelerator.memory_reserved(index))
    return held


def _alive(found: list[Any], reported: dict[str, list[dict[str, Any]]]) -> dict[Place, int]:
    """Returns the bytes of each live storage by device and address."""
    out: dict[Place, int] = {}
    for kind, segments in reported.items():
        out.update({(kind, device, at): size for device, at, size in _blocks(segments)})
    for t in found:
        place = _place(t)
        if place and place[0] not in reported and place[2] and place[3] and place[:3] not in out and not _borrowed(t):
            out[place[:3]] = place[3]
    return out


def _recorded() -> tuple[dict[Place, int], dict[Place, int]]:
    """Returns the same from the recording in progress, and the number of allocations at each place. (Times would not do: those of
    the same allocation differ by some ns between two readings, because the clock is fitted to what was recorded until then.)"""
    from ._profile import device_names

    alive: dict[Place, int] = {}
    given: dict[Place, int] = {}
    with contextlib.suppress(_native.Error):  # the file was renamed or removed meanwhile
        t = _native.Trace(str(_record.path_now()))
        devices = [name.partition(":") for name in device_names(t)]
        pools = [devices[d] if t.text(n) in ("heap", "DRAM") else None for d, n in zip(t.view("pools", "device"), t.view("pools", "name"))]
        for pool, at, size, died in zip(*(t.view("allocs", c) for c in ("pool", "addr", "size", "died"))):
            device = pools[pool] if pool else None
            if device:
                place = device[0], int(device[2] or 0), at
                given[place] = given.get(place, 0) + 1
                if died == 2**63 - 1:
                    alive[place] = size
    return alive, given


def _segments(torch: Any) -> dict[str, list[dict[str, Any]]]:
    return {kind: segments for kind in ("cuda", "xpu") if (segments := _allocator_segments(torch, kind)) is not None}


def hold() -> list[Any]:
    """Returns all live tensors. The caller keeps them until they are recorded, so that none is freed before that."""
    import torch

    with contextlib.suppress(Exception):
        with unseen(), contextlib.suppress(LookupError):
            _deleters()  # allocates temporary tensors, which should not be in the recording
        return tensors(torch)
    return []


def _settle(torch: Any, found: list[Any]) -> dict[Place, int]:
    """Runs before the hooks are installed again: frees in the recording the storages that no longer exist. Returns the number of
    recorded allocations at each place."""
    now = _alive(found, _segments(torch))
    known, given = _recorded()
    for (kind, index, at), size in known.items():
        if now.get((kind, index, at)) != size:
            _native.free(pool_of(kind, index), at)
    return given


def adopted() -> bool:
    """Returns whether the recording in progress has allocations so far."""
    return bool(_recorded()[0])


def _adopt(torch: Any, before: dict[Place, int], gap: bool) -> None:
    """Records pre-existing storages, so that their frees match. The hooks are installed: meanwhile, allocations and frees of other
    threads are recorded. So a storage that the recording already has is skipped, and so is one at a place where the recording has
    more allocations than `before`. Without a `gap`, they are from before the recording. The tensors in `found` cannot end meanwhile; a block counts only if two allocator snapshots have it."""
    found = tensors(torch)
    reported = _segments(torch)
    now = _alive(found, reported)
    known, given = _recorded()
    still = _alive([], _segments(torch)) if reported else {}
    for place, size in now.items():
        kind, index, at = place
        pool = pool_of(kind, index)
        if not pool:  # its free would not be reported
            continue
        _hook.devices(torch).adopted(kind, at, pool)
        if place not in known and given.get(place, 0) <= before.get(place, 0) and (kind not in reported or still.get(place) == size):
            (_native.alloc if gap else _native.alloc_before)(pool, at, size)
    for (kind, index), total in _held(torch, reported, now).items():
        _load().tide_torch_reserved(_type_of(kind), index, total)
    sweep(found)


def sweep(found: list[Any] | None = None) -> None:
    """Describe every storage that Python can see by the tensor that covers it: whether it is a parameter, and requires_grad.

    Scans every object of the garbage collector: call it for a save, not for a step.
    """
    import torch

    with unseen():
        _sweep(torch, tensors(torch) if found is None else found)


def borrowed() -> tuple[int, int]:
    """Returns the number and the bytes of live storages whose memory is not PyTorch's (from_numpy, frombuffer): no total has them, because
    PyTorch does not allocate them. Scans every object of the garbage collector."""
    import torch

    with unseen():
        known: dict[Place, int] = {}
        for t in tensors(torch):
            place = _place(t)
            if place and place[0] == "cpu" and place[2] and place[3] and place[:3] not in known and _borrowed(t):
                known[place[:3]] = place[3]
    return len(known), sum(known.values())


def _sweep(torch: Any, found: list[Any]) -> None:
    done: set[tuple[str, int, int]] = set()
    for t in found:
        place = _place(t)
        if not place or not place[2] or place[:3] in done:
            continue
        try:
            if t._base is None and t.numel() * t.element_size() == place[3]:
                done.add(place[:3])
                _describe(t, role=PARAMETER if isinstance(t, torch.nn.Parameter) else 0)
        except Exception:  # a custom tensor type is not described
            continue


def module_types() -> dict[str, str]:
    """Return the classes of the modules that ran, by the names of their ops."""
    return dict(_hook._model.types) if _hook is not None and _hook._model is not None else {}


def _before_end() -> None:
    """Runs before the recording ends: records the rank of this process if it was unknown, and devices that did not report."""
    if _hook is not None and _native.recording():
        _hook.before_end()


def _interval() -> float:
    """Returns the seconds between samples of devices that do not report."""
    try:
        return _config.config().interval
    except _native.Error:  # config() reports the error to its callers
        return 5.0


# ---- public functions ----

def attached() -> bool:
    return _attached


def attach(*, ops: bool = True, shapes: bool = False, stacks: bool | int = False, modules: bool = True) -> int:
    """Record every allocation and, with `ops`, every op of PyTorch from now on, whenever a recording is in progress.

    shapes: also shape, dtype and requires_grad of the results of ops (slower).
    stacks: also the Python stack of every op, or with a number N of every N-th.
    modules: module calls as ops under their names, parameters, buffers, gradients and optimizer state labelled, and a step
    marked after every optimizer.step().

    Pre-existing tensors are recorded once in each recording; after a detach() inside it, they are compared and corrected. Returns
    the number of replaced call slots. Attaching twice is harmless. Raises RuntimeError if torch's libraries cannot be found.
    """
    with _lock, unseen():
        return _attach(ops, shapes, stacks, modules)


def _attach(ops: bool, shapes: bool, stacks: bool | int, modules: bool) -> int:
    global _attached, _adopted, _asked
    import torch

    library = _load()
    devices = _hook.devices(torch, _interval())
    recording = (_record.path_now(), _record._count) if _native.recording() else None
    fresh = recording and _adopted != recording
    gap = recording and not fresh and not _attached and _record._count  # `tidemark run` leaves no gap
    if fresh:
        _adopted = recording
        _hook.forget_rank()
        devices.again()
    devices.prepare()
    held = hold() if (fresh or gap) and not _attached else []  # start() while attached already holds them
    before = _settle(torch, held) if gap else {}
    slots = library.tide_torch_attach()
    if slots <= 0:
        raise RuntimeError("tidemark: libc10.so is not loaded, or does not export its allocation functions")
    if fresh or gap:
        _adopt(torch, before, bool(gap))
    del held
    devices.begin(slots)
    _attached, _asked = True, {"ops": ops, "shapes": shapes, "stacks": stacks, "modules": modules}
    _child_processes.on()
    _record.tasks().on()
    wants_ops = ops or shapes or bool(stacks)
    if wants_ops:
        _hook.on(torch, modules=modules, stacks=int(stacks), shapes=shapes)
        if fresh and _hook._model is not None:
            _hook._model.again()
    return int(slots)


def _attach_again() -> None:
    """Attaches again for a recording that begins while torch is attached, so that it gets the live tensors and their descriptions."""
    try:
        attach(**_asked)
    except Exception as why:  # the recording continues
        _home.say(f"tensors from before are not recorded: {why}")


def detach() -> int:
    """Restore everything that attach() changed. Returns the number of restored call slots."""
    global _attached
    with _lock:
        if not _attached:
            return 0
        _hook.off()
        _child_processes.off()
        _attached = False
        return int(_load().tide_torch_detach())


def _in_child() -> None:
    global _lock
    _lock = threading.RLock()  # the thread that held it does not exist in the child


os.register_at_fork(after_in_child=_in_child)


def describe(tensor: Any, *, name: str | None = None, role: int = 0) -> None:
    """Record shape, dtype, requires_grad (and name, role) of the storage that `tensor` covers."""
    with unseen():
        _describe(tensor, name, role)


def _describe(tensor: Any, name: str | None = None, role: int = 0) -> None:
    place = _place(tensor)
    pool = pool_of(place[0], place[1]) if place and place[2] and not (place[0] == "cpu" and _borrowed(tensor)) else 0
    if place and pool:
        bytes_each = tensor.element_size()
        whole = tensor.numel() * bytes_each >= place[3]  # False: one of several tensors that share the storage
        _native.tensor(pool, place[2], tuple(tensor.shape), DTYPES.get(str(tensor.dtype)[6:], 0), role,
                       int(tensor.requires_grad), name, -1 if whole else tensor.storage_offset() * bytes_each)


def label(model: Any = None, optimizer: Any = None) -> None:
    """Label parameters, gradients, buffers and optimizer state, with the names that the model gives them."""
    import torch

    with unseen():
        _label(torch, model, optimizer)


def _label(torch: Any, model: Any, optimizer: Any) -> None:
    names: dict[int, str] = {}
    for name, p in model.named_parameters() if model is not None else ():
        names[id(p)] = name
        _describe(p, name, PARAMETER)
        if p.grad is not None:
            _describe(p.grad, f"{name}.grad", GRADIENT)
    for name, b in model.named_buffers() if model is not None else ():
        _describe(b, name, BUFFER)
    for p, state in optimizer.state.items() if optimizer is not None else ():
        for key, value in state.items():
            if isinstance(value, torch.Tensor):
                _describe(value, f"{names.get(id(p), 'parameter')}.{key}", OPTIMIZER)


def role(value: Any, role: str, name: str | None = None) -> int:
    """Give tensors a role: role(cache, "kv_cache"). `value` is a tensor, or a list, tuple, dict or dataclass of tensors; `role` is one
    of parameter, gradient, optimizer, activation, input, temporary, buffer, kv_cache, workspace. The role applies to the whole
    life of the tensors' storage, until another role is set. Returns the number of tensors; 0 without a recording."""
    import torch

    from ._profile import ROLES
    from .tracker import _tensors_in

    number = next((n for n, text in ROLES.items() if text == role), 0)
    if not number:
        raise ValueError(f"there is no role {role!r}: there are {', '.join(ROLES.values())}")
    if not _native.recording():
        return 0
    with unseen():
        found = _tensors_in(value, torch.Tensor)
        for i, tensor in enumerate(found):
            _describe(tensor, name if name is None or len(found) == 1 else f"{name}.{i}", number)
    return len(found)


_imported = True  # the last line: another thread that sees it can use the whole module
