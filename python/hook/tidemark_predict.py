# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Runs a training script without a GPU and records the device memory that it would use.

Read by Python under `tidemark predict -- PROGRAM`. torch gets virtual CUDA devices (fake_cuda.cpp), every tensor is
fake (FakeTensorMode: shapes without data), and a dispatch mode records the storages that ops make and drop as allocations of
a virtual device, in the order a GPU would see them. tidemark_workspaces.py adds memory that libraries allocate in addition to
tensors. Nothing is computed: numbers that the script reads from a tensor (.item(), .numpy()) are 0.
"""
from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib.util
import json
import logging
import os
import signal
import sys
import threading
import time
import types
import weakref
from typing import Any

PHASE, STEP = 1, 3
PARAMETER, GRADIENT, OPTIMIZER, ACTIVATION, INPUT, TEMPORARY, BUFFER, WORKSPACE = 1, 2, 3, 4, 5, 6, 7, 9
DTYPES = {"float32": 1, "float16": 2, "bfloat16": 3, "float64": 4, "int8": 5, "int16": 6, "int32": 7, "int64": 8, "uint8": 9, "bool": 13}
PATIENCE = 8  # times --steps: steps of one optimizer, until others have made theirs (a critic steps more often)
PROGRESS_S = 10
LIBRARY_PATHS = ("/site-packages/", "/dist-packages/", "/torch/", os.path.dirname(os.path.abspath(__file__)) + os.sep, os.path.dirname(os.__file__) + os.sep)
LIBRARIES = "torch transformers accelerate peft trl diffusers timm torchvision lightning pytorch_lightning bitsandbytes".split()
MOST_INDICES = 1 << 22  # of one tensor, that are computed
NOT_COUNTED = "its memory is not counted"
MOST_VALUES = 1 << 16  # of one tensor on the host, that ops compute from known ones


class TensorInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_uint32), ("dtype", ctypes.c_uint8), ("role", ctypes.c_uint8), ("requires_grad", ctypes.c_uint8),
                ("ndim", ctypes.c_uint8), ("shape", ctypes.POINTER(ctypes.c_uint64))]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("ring_bytes", ctypes.c_size_t), ("max_ring_bytes", ctypes.c_size_t),
                ("full_wait_us", ctypes.c_uint32), ("tick_ms", ctypes.c_uint32), ("follow_fork", ctypes.c_bool), ("as_child", ctypes.c_bool)]


def _beside(name: str) -> Any:
    spec: Any = importlib.util.spec_from_file_location(name, os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _say(text: str) -> None:
    with contextlib.suppress(Exception):
        print(f"tidemark predict: {text}", file=sys.stderr, flush=True)


class Stop(SystemExit):
    """Raised after enough steps: ends the script as sys.exit() would, including its finally blocks and exit functions."""


class Device:
    """The device that the program sees, from the device table: TIDEMARK_PREDICT_DEVICE has name=value pairs."""

    def __init__(self, text: str) -> None:
        self.pairs: dict[str, str] = dict(p.split("=", 1) for p in text.split(";") if "=" in p)
        self.name: str = self.pairs.get("name", "predicted device")
        self.capacity: int = int(self.pairs.get("capacity", 0)) or 1 << 46
        self.major, self.minor = (int(x) for x in self.pairs.get("capability", "9.0").split("."))
        self.processors: int = int(self.pairs.get("processors", 132))
        self.count: int = int(self.pairs.get("count", 1))

    def properties(self) -> Any:
        return types.SimpleNamespace(name=self.name, major=self.major, minor=self.minor, total_memory=self.capacity, warp_size=32,
                                     multi_processor_count=self.processors, is_integrated=0, is_multi_gpu_board=0, gcnArchName="",
                                     max_threads_per_multi_processor=2048, max_threads_per_block=1024, regs_per_multiprocessor=65536,
                                     shared_memory_per_block=49152, shared_memory_per_block_optin=232448, L2_cache_size=62914560)


class Progress:
    """Prints a line on long runs: the steps, and ops a second."""

    def __init__(self) -> None:
        self.ops = 0
        self.start = self.said = time.monotonic()

    def note(self, steps: int) -> None:
        self.ops += 1
        if self.ops & 1023 or (now := time.monotonic()) < self.said + PROGRESS_S:
            return
        self.said = now
        _say(f"{steps} steps, {self.ops:,} ops, {self.ops / (now - self.start):,.0f} ops a second")


def versions() -> str:
    """Returns the versions of the libraries that the program uses and that may move its memory: another version is another program."""
    known = ((name, getattr(sys.modules.get(name), "__version__", None)) for name in LIBRARIES)
    return ", ".join(f"{name} {version}" for name, version in known if isinstance(version, str))


class Recorder:
    """Calls record.h through ctypes: one pool per virtual device; addresses are numbers that are never reused."""

    def __init__(self, library: str, path: str, device: Device) -> None:
        c: Any = ctypes.CDLL(library)
        for f in "tide_intern", "tide_op_begin":
            getattr(c, f).restype = ctypes.c_uint32
        for f in "tide_device_open", "tide_pool_open":
            getattr(c, f).restype = ctypes.c_uint16
        c.tide_intern.argtypes = [ctypes.c_char_p]
        c.tide_op_begin.argtypes = c.tide_op_end.argtypes = [ctypes.c_uint32]
        c.tide_device_open.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint64]
        c.tide_pool_open.argtypes = [ctypes.c_uint16, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint64]
        c.tide_alloc_full.argtypes = [ctypes.c_uint16, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64]
        c.tide_free.argtypes = c.tide_use.argtypes = [ctypes.c_uint16, ctypes.c_uint64]
        c.tide_mark.argtypes = [ctypes.c_int, ctypes.c_uint32, ctypes.c_int64]
        c.tide_annotate.argtypes = [ctypes.c_uint32, ctypes.c_char_p]
        c.tide_stack_push.restype, c.tide_stack_push.argtypes = ctypes.c_uint32, [ctypes.c_uint32] * 3 + [ctypes.c_uint32]
        c.tide_tensor.argtypes = [ctypes.c_uint16, ctypes.c_uint64, ctypes.POINTER(TensorInfo)]
        self.c = c
        self.names: dict[str, int] = {}
        self.lines: dict[tuple[Any, int], int] | None = {} if os.environ.get("TIDEMARK_PREDICT_LINES") else None
        options = Options(ctypes.sizeof(Options), 8 << 20, 0, 1_000_000, 0, False, False)
        if c.tide_start(os.fsencode(path), ctypes.byref(options), None):
            raise RuntimeError(f"cannot write {path}")
        self.pools: list[int] = []
        for i in range(device.count):
            d = c.tide_device_open(2, i, device.name.encode(), device.capacity)
            self.pools.append(c.tide_pool_open(d, 1, b"DRAM", device.capacity))
        self.next: int = 1 << 32

    def intern(self, text: str) -> int:
        known = self.names.get(text)
        if known is None:
            known = self.names[text] = self.c.tide_intern(text.encode(errors="replace"))
        return known

    def alloc(self, index: int, size: int) -> int:
        """Returns the address of a new block, with its size rounded as in the caching allocator. One of 0 bytes has an address of its own."""
        block = (size + 511) // 512 * 512
        addr = self.next
        self.next += block or 512
        self.c.tide_alloc_full(self.pools[index], addr, block, 0, 0 if self.lines is None else self.line(self.lines), size)
        return addr

    def line(self, known: dict[tuple[Any, int], int]) -> int:
        """Returns the stack of the innermost line that is neither PyTorch's nor another library's; 0 = there is none."""
        frame: Any = sys._getframe(2)
        while frame is not None and (any(part in frame.f_code.co_filename for part in LIBRARY_PATHS) or frame.f_code.co_filename.startswith("<")):
            frame = frame.f_back
        if frame is None:
            return 0
        key = frame.f_code, frame.f_lineno
        if key not in known:
            code = frame.f_code
            known[key] = self.c.tide_stack_push(0, self.intern(getattr(code, "co_qualname", code.co_name)), self.intern(code.co_filename), frame.f_lineno)
        return known[key]

    def free(self, index: int, addr: int) -> None:
        self.c.tide_free(self.pools[index], addr)

    def label(self, index: int, addr: int, role: int, name: str | None = None, tensor: Any = None) -> None:
        info = TensorInfo(self.intern(name) if name else 0, 0, role, 2, 0, None)
        if tensor is not None and tensor.dim() <= 16:
            shape = (ctypes.c_uint64 * max(tensor.dim(), 1))(*[int(s) for s in tensor.shape])
            info.dtype = DTYPES.get(str(tensor.dtype).rpartition(".")[2], 0)
            info.ndim = tensor.dim() if info.dtype else 0
            info.shape = ctypes.cast(shape, ctypes.POINTER(ctypes.c_uint64))
        self.c.tide_tensor(self.pools[index], addr, ctypes.byref(info))

    def mark(self, kind: int, name: str, value: int = 0) -> None:
        self.c.tide_mark(kind, self.intern(name), value)

    def note(self, key: str, text: str) -> None:
        self.c.tide_annotate(self.intern(key), text.encode(errors="replace")[:4000])


def tensors(value: Any) -> Any:
    """Yields the tensors among an op's arguments or results."""
    if value is None or isinstance(value, (int, float, str)):
        return
    if isinstance(value, (list, tuple)):
        for v in value:
            yield from tensors(v)
    elif isinstance(value, sys.modules["torch"].Tensor):
        yield value


class Meter:
    """Tracks the live storages of virtual devices. Called with the GIL held."""

    def __init__(self, torch: Any, device: Device, recorder: Recorder, allocator: Any) -> None:
        self.torch = torch
        self.device = device
        self.recorder = recorder
        self.live: dict[int, list[Any]] = {}  # storage -> [index, address, bytes, role]
        self.allocators: list[Any] = [allocator() for _ in range(device.count)]
        self.read: int = 0  # values that the script read, which do not exist
        self.on_read: Any = None  # called for each
        self.value: int = int(os.environ.get("TIDEMARK_PREDICT_VALUE", "0"))  # their replacements
        self.holders = _beside("tidemark_holders")
        self.loops = _beside("tidemark_loops").Loops(os.path.dirname(torch.__file__))
        self.bounds: dict[tuple[str, str], int] = {}  # ops whose result has a size that depends on data, how it was chosen, how often
        self.closed = False
        self.paused = 0  # > 0: results of ops are shapes without memory
        self.in_place = 0  # > 0: inside code that adds in place unless tensors are of a subclass, as fake ones are: the bias of linear()
        self.role_now = 0  # role of new tensors; 0 = unknown yet
        self.progress: Any = None
        self.steps = 0
        self.cost: Any = None  # estimates times (tidemark_cost.py), if asked to
        dispatch: Any = importlib.import_module("torch.utils._python_dispatch")
        self.wraps: Any = dispatch.is_traceable_wrapper_subclass
        self.wraps_type: Any = dispatch.is_traceable_wrapper_subclass_type

    def note_read(self) -> None:
        self.read += 1
        if self.on_read is not None:
            self.on_read()

    def bound(self, what: str, how: str) -> None:
        self.bounds[what, how] = self.bounds.get((what, how), 0) + 1

    def see(self, tensor: Any) -> None:
        """Notes a tensor that an op returned: its storage may be new."""
        if tensor.device.type != "cuda" or self.wraps(tensor):
            return
        if tensor.layout is not self.torch.strided:  # a sparse tensor is made of two others
            for part in self.parts(tensor):
                self.see(part)
            return
        storage = tensor.untyped_storage()
        key = storage._cdata
        known = self.live.get(key)
        size = storage.nbytes()
        if known is not None:
            if known[2] == size:
                return
            self.drop(key)
        if not size:
            return
        index = tensor.device.index or 0
        if index >= len(self.allocators):
            raise RuntimeError(f"CUDA error: invalid device ordinal (the prediction has {len(self.allocators)})")
        addr = self.take(index, size)
        self.live[key] = [index, addr, size, 0]
        if self.role_now:
            self.recorder.label(index, addr, self.role_now)  # a more specific role may follow
        if self.cost is not None:
            self.cost.born(key, addr)
        if known is None:
            weakref.finalize(storage, self.drop, key).atexit = False

    def use(self, *values: Any) -> None:
        """Notes that the op that is open reads or writes the tensors, each storage once."""
        used = set()
        for tensor in tensors(values):
            if tensor.device.type == "cuda" and tensor.layout is self.torch.strided and not self.wraps(tensor):
                key = tensor.untyped_storage()._cdata
                row = self.live.get(key)
                if row is not None and key not in used:
                    used.add(key)
                    self.recorder.c.tide_use(self.recorder.pools[row[0]], row[1])

    def parts(self, tensor: Any) -> list[Any]:
        """Returns indices and values of a sparse tensor."""
        if tensor.layout is self.torch.sparse_coo:
            return [tensor._indices(), tensor._values()]
        self.bound(f"a tensor of layout {tensor.layout}", NOT_COUNTED)
        return []

    def note_holders(self, why: str) -> None:
        """Records what Python objects refer to the memory of tensors."""
        def address(tensor: Any) -> tuple[int, int] | None:
            if tensor.device.type != "cuda" or tensor.layout is not self.torch.strided or self.wraps(tensor):
                return None
            row = self.live.get(tensor.untyped_storage()._cdata)
            return (row[1], row[2]) if row else None
        self.holders.record(self.torch, self.recorder.note, why, address)

    def see_all(self, value: Any) -> None:
        for tensor in tensors(value):
            self.see(tensor)

    def take(self, index: int, size: int) -> int:
        addr = self.recorder.alloc(index, size)
        if size:
            self.allocators[index].take(addr, size)
        return addr

    def give(self, index: int, addr: int, size: int) -> None:
        self.recorder.free(index, addr)
        if size:
            self.allocators[index].give(addr)

    def drop(self, key: int) -> None:
        row = self.live.pop(key, None)
        if row is not None and not self.closed:
            self.give(row[0], row[1], row[2])

    def label(self, tensor: Any, role: int, name: str | None = None) -> None:
        if self.wraps(tensor):  # for example a shard: its parts have the memory
            for part in (getattr(tensor, n) for n in tensor.__tensor_flatten__()[0]):
                if isinstance(part, self.torch.Tensor):
                    self.label(part, role, name)
            return
        try:
            row = self.live.get(tensor.untyped_storage()._cdata) if tensor.device.type == "cuda" else None
        except NotImplementedError:  # a sparse tensor, or one inside torch.func
            row = None
        if row is not None and row[3] != role:
            row[3] = role
            self.recorder.label(row[0], row[1], role, name, tensor)

    def unlabelled(self, role: int) -> None:
        """Gives a role to all live tensors without one."""
        for row in self.live.values():
            if not row[3]:
                row[3] = role
                self.recorder.label(row[0], row[1], role)


def _fake_mode(torch: Any, meter: Meter, spaces: Any, values: Any, known: Any) -> tuple[Any, Any]:
    from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensor, FakeTensorMode, UnsupportedOperatorException
    from torch.utils._python_dispatch import TorchDispatchMode

    aten, encoder = torch.ops.aten, _beside("tidemark_encoder")
    Tensor = torch.Tensor

    def hide_values(func: Any, args: Any, kwargs: Any) -> list[Any]:
        """Known values of a tensor that is copied to a device: the fake mode would compute there. Returns them, to be restored after the op."""
        device = kwargs.get("device")
        if func is not aten.copy_.default and (device is None or torch.device(device).type == "cpu"):
            return []
        hidden = [(a, a.constant) for a in tensors(args) if isinstance(a, FakeTensor) and a.constant is not None]
        for a, _ in hidden:
            a.constant = None
        return [h for h in hidden if func is not aten.copy_.default or h[0] is not args[0]]

    tracing = torch._guards.TracingContext.try_get  # while a compiler captures a graph, ops only compute shapes
    added, added_in_place = aten.add.Tensor, aten.add_.Tensor

    def _alone(args: Any) -> bool:
        a, b = args
        return (isinstance(a, Tensor) and isinstance(b, Tensor) and a.shape == b.shape and a.dtype == b.dtype and a.device.type == "cuda"
                and torch._C._storage_Use_Count(a.untyped_storage()._cdata) <= 2)  # the fake tensor and its wrapper

    indices = {"aten::randint", "aten::randperm", "aten::arange", "aten::full", "aten::ones", "aten::zeros"}

    def compute_indices(func: Any, args: Any, kwargs: Any, out: Any) -> None:
        """Computes indices on the host, because a script slices its data by them, and small ones of a device."""
        if not isinstance(out, FakeTensor) or out.dtype.is_floating_point or next(tensors(args), None) is not None:
            return
        if out.device.type == "cpu" and out.numel() <= MOST_INDICES:
            with torch.utils._mode_utils.no_dispatch():
                out.constant = func(*args, **kwargs)
            out.fake_mode.fake_tensor_converter.add_constant_storage_mapping(out)  # an op that writes makes it unknown
        elif out.device.type == "cuda" and out.numel() <= known_values.MOST and torch.Tag.nondeterministic_seeded not in func.tags:
            known_values.keep(out, known_values.compute(func, args, kwargs))  # positions, masks of ones

    begin, end = meter.recorder.c.tide_op_begin, meter.recorder.c.tide_op_end
    known_values, one_at_a_time = known.Known(torch, FakeTensor), threading.RLock()
    truths = known.Truths(meter, known_values)
    names: dict[Any, int] = {}
    composite: dict[Any, bool] = {}

    def name_of(func: Any) -> int:
        n = names.get(func)
        if n is None:
            n = names[func] = meter.recorder.intern(func._schema.name)
        return n

    class MeterMode(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types_: Any, args: Any = (), kwargs: Any = None) -> Any:
            with one_at_a_time:  # the fake mode has a state that threads share
                return self.count(func, types_, args, kwargs or {})

        def run_inner(self, func: Any, args: Any, kwargs: Any) -> Any:
            """An op that runs others, such as flex attention: its results count, temporaries inside it do not."""
            name = func.name()
            if name == "run_dtensor_rng_op":  # sets a random state, then runs one op
                with self:
                    return args[2](*args[3:], **kwargs)
            out = func(*args, **kwargs)
            if not meter.paused and tracing() is None:
                meter.bound(name, values.INSIDE)
                meter.see_all(out)
            return out

        supports_higher_order_operators = True

        def take_apart(self, func: Any, args: Any, kwargs: Any) -> Any:
            """In inference mode ops come whole that are made of others (linear, to): runs those. Returns NotImplemented for other ops."""
            made = composite.get(func)
            if made is None:
                made = composite[func] = func.namespace == "aten" and torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")
            if not made:
                return NotImplemented
            with self:
                return func.decompose(*args, **kwargs)

        def count(self, func: Any, types_: Any, args: Any, kwargs: Any) -> Any:
            if isinstance(func, torch._ops.HigherOrderOperator):
                return self.run_inner(func, args, kwargs)
            if meter.paused or tracing() is not None:
                return func(*args, **kwargs)
            meter.progress.note(meter.steps)
            if types_ and any(map(meter.wraps_type, types_)):
                return NotImplemented  # a tensor made of others: it calls ops on those
            if torch.is_inference_mode_enabled():
                out = self.take_apart(func, args, kwargs)
                if out is not NotImplemented:
                    return out
            if func is aten._transformer_encoder_layer_fwd.default and args[0].device.type == "cuda" and not args[0].is_nested:
                with self:
                    return encoder.layer(torch, args)
            hidden = hide_values(func, args, kwargs)
            if func is added and not kwargs and (meter.in_place or _by_engine() and _alone(args)):
                func = added_in_place  # gradients of one tensor are summed in place if nothing else holds the first; so is a bias
            if func._schema.name.startswith("aten::_fused_") and not func._schema.returns:
                meter.use(args, list(kwargs.values()))
                if meter.cost is not None:
                    meter.cost.add(func, args, kwargs, None, False)
                return None  # a fused optimizer step changes tensors and makes none; not all of them have a fake kernel
            token = begin(name_of(func))
            try:
                answer = values.known_answer(func._schema.name, args) if func._schema.name in values.ANSWERED else None
                if func._schema.name in values.SPARSE and any(isinstance(a, Tensor) and a.layout is torch.sparse_coo for a in args[:2]):
                    answer = values.sparse_answer(torch, func, args, kwargs, func is aten.clone.default and _by_engine())
                out = answer[0] if answer else func(*args, **kwargs)
                if func is aten._coalesce.default:
                    meter.bound(str(func), values.LARGEST)
                elif func is added_in_place and args[0].layout is torch.sparse_coo:
                    meter.bound("the sum of two sparse tensors", values.ONCE)
            except DataDependentOutputException:
                end(token)
                value = known_values.compute(func, args, kwargs)
                return self.read(func, args[0]) if value is None else value
            except DynamicOutputShapeException:
                out, how = known_values.sized(func, args, kwargs, list(tensors(args))), ""
                if out is None:
                    out, how = values.sized(torch, func, args, kwargs, known_values.count)
                if how:
                    meter.bound(str(func), how)
            except (NotImplementedError, UnsupportedOperatorException):
                raise RuntimeError(f"{func}: PyTorch has no fake kernel for this op; a prediction cannot know the shape of its result") from None
            for tensor, constant in hidden:
                tensor.constant = constant
            truths.note(func, args, kwargs, out)
            known_values.follow(func, args, kwargs, list(tensors(args)), out)
            known_values.fill(func, args, out)
            if func._schema.name in indices:
                compute_indices(func, args, kwargs, out)
            spaces.results(func, args, kwargs, out)
            if meter.cost is not None:
                meter.cost.add(func, args, kwargs, out, _by_engine())
            meter.use(args, list(kwargs.values()), out)
            end(token)
            return out

        def read(self, func: Any, tensor: Any) -> Any:
            """Returns the value that the program reads from a tensor without known values."""
            single = str(func._schema.returns[0].type) != "bool"  # torch.equal has two tensors
            truth = truths.read(tensor) if single else None
            if truth is not None:
                return values.read(torch, func, tensor, meter.value, truth)
            meter.note_read()
            return meter.loops.answer(values.read(torch, func, tensor, meter.value))

        @classmethod
        def is_infra_mode(cls) -> bool:
            return True

    foreach: Any = importlib.import_module("torch.utils._foreach_utils")
    optimizer: Any = importlib.import_module("torch.optim.optimizer")
    for types_ in getattr(foreach, "_foreach_supported_types", None), getattr(optimizer, "_foreach_supported_types", None):
        if isinstance(types_, list) and FakeTensor not in types_:
            types_.append(FakeTensor)
    importlib.import_module("torch._subclasses.fake_tensor").CONSTANT_NUMEL_LIMIT = MOST_VALUES  # type: ignore[attr-defined]
    for place in FakeTensorMode, FakeTensor, MeterMode:
        _plain(place.__torch_dispatch__)
    return FakeTensorMode(allow_non_fake_inputs=True), MeterMode()


def _by_engine() -> bool:
    """Returns whether the autograd engine itself called the op, not Python code (such as a recomputed forward pass)."""
    frame = sys._getframe(3)
    while frame is not None and frame.f_code.co_filename.endswith(("torch/_compile.py", "torch/_dynamo/eval_frame.py")):
        frame = frame.f_back
    return frame is None or frame.f_code.co_name == "_engine_run_backward"


def _plain(function: Any) -> None:
    """Fills the cache of a wrapper that disables the compiler, so that the compiler, which is not active here, is not imported."""
    function = getattr(function, "__func__", function)
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
        function.__dynamo_disable = function


# ---- functions of torch.cuda ----


class Stream:
    """Replaces streams and events: work that never runs has no order."""

    def __init__(self, device: Any = None, priority: int = 0, **kw: Any) -> None:
        self.device, self.priority, self.stream_id, self.device_index, self.cuda_stream = device, priority, 0, 0, 0

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *why: object) -> None:
        pass

    def query(self) -> bool:
        return True

    def record_event(self, event: Any = None) -> Any:
        return event or Event()

    def wait_stream(self, other: Any) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

    def synchronize(self) -> None:
        pass


class Event:
    def __init__(self, *args: Any, **kw: Any) -> None:
        pass

    def record(self, stream: Any = None) -> None:
        pass

    def wait(self, stream: Any = None) -> None:
        pass

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: Any) -> float:
        return 0.0

    def synchronize(self) -> None:
        pass


def _patch_cuda(torch: Any, device: Device, meter: Meter) -> None:
    cuda = torch.cuda
    current = [0]

    def index(d: Any = None) -> int:
        if d is None:
            return current[0]
        if isinstance(d, int):
            return d
        i = torch.device(d).index
        return current[0] if i is None else i

    def set_device(d: Any) -> None:
        current[0] = index(d)

    def figure(kind: str, what: str) -> Any:
        return lambda d=None: getattr(meter.allocators[index(d)].figures[kind], what)

    allocated, highest, reserved, highest_reserved = (figure(kind, what) for kind in ("allocated_bytes", "reserved_bytes") for what in ("now", "peak"))

    def reset(d: Any = None) -> None:
        meter.allocators[index(d)].reset()

    def stats(d: Any = None) -> dict[str, int]:
        return dict(meter.allocators[index(d)].answer())

    def information(d: Any = None) -> tuple[int, int]:
        """The device's free and total bytes: what neither the allocator nor the context has."""
        room = meter.allocators[index(d)].room or device.capacity
        return max(room - reserved(d), 0), device.capacity

    def empty_cache() -> None:
        meter.recorder.note("torch.cuda.empty_cache", "")
        for allocator in meter.allocators:
            allocator.empty_cache()

    def nothing(*args: Any, **kw: Any) -> None:
        return None

    def seeds(*args: Any, **kw: Any) -> Any:
        return torch.zeros(16, dtype=torch.uint8)

    answers: dict[str, Any] = {
        "is_available": lambda: True, "device_count": lambda: device.count, "current_device": lambda: current[0], "set_device": set_device,
        "get_device_name": lambda d=None: device.name, "get_device_capability": lambda d=None: (device.major, device.minor),
        "get_device_properties": lambda d=None: device.properties(), "is_bf16_supported": lambda *a, **k: device.major >= 8,
        "is_initialized": lambda: True, "init": nothing, "_lazy_init": nothing, "_lazy_call": lambda f, **k: None, "synchronize": nothing,
        "empty_cache": empty_cache, "ipc_collect": nothing, "memory_allocated": allocated, "max_memory_allocated": highest,
        "memory_reserved": reserved, "max_memory_reserved": highest_reserved, "reset_peak_memory_stats": reset, "reset_max_memory_allocated": reset,
        "reset_max_memory_cached": reset, "memory_cached": reserved, "max_memory_cached": highest_reserved, "mem_get_info": information, "memory_stats": stats,
        "manual_seed": nothing, "manual_seed_all": nothing, "seed": nothing, "seed_all": nothing, "initial_seed": lambda: 0,
        "get_rng_state": seeds, "set_rng_state": nothing, "get_rng_state_all": lambda: [seeds()], "set_rng_state_all": nothing,
        "is_current_stream_capturing": lambda: False, "current_stream": lambda d=None: Stream(d), "default_stream": lambda d=None: Stream(d),
        "set_stream": nothing, "stream": lambda s: contextlib.nullcontext(s), "Stream": Stream, "Event": Event,
        "get_arch_list": lambda: [f"sm_{device.major}{device.minor}"], "set_per_process_memory_fraction": nothing, "utilization": lambda d=None: 0,
        "_is_compiled": lambda: True, "memory_summary": lambda *a, **k: "",
    }
    for name, value in answers.items():
        if value is nothing:  # a separate function each: the compiler looks functions up
            answers[name] = value = lambda *args, **kw: None
        setattr(cuda, name, value)
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "reset_peak_memory_stats", "empty_cache",
                 "mem_get_info", "memory_stats", "memory_cached", "max_memory_cached", "reset_max_memory_allocated", "reset_max_memory_cached"):
        if hasattr(cuda.memory, name):
            setattr(cuda.memory, name, answers[name])
    for name in ("get_rng_state", "set_rng_state", "manual_seed", "manual_seed_all"):
        setattr(cuda.random, name, answers[name])
    for name in ("range_push", "range_pop", "mark"):
        setattr(cuda.nvtx, name, lambda *args, **kw: None)
    torch.version.cuda = "12.8"
    torch.backends.cuda.is_built = lambda: True
    torch.backends.cudnn.is_available = lambda: True
    torch.backends.cudnn.version = lambda: 91900
    torch._C._cuda_getDeviceCount = lambda: device.count
    torch._C._cuda_isCurrentStreamCapturing = lambda: False
    if hasattr(torch, "accelerator"):
        torch.accelerator.is_available = lambda: True
        torch.accelerator.device_count = lambda: device.count
        torch.accelerator.synchronize = nothing
        for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "reset_peak_memory_stats", "empty_cache", "memory_stats"):
            if hasattr(torch.accelerator, name):
                setattr(torch.accelerator, name, answers[name])


def _patch_tensors(torch: Any, meter: Meter, values: Any, known: Any) -> None:
    """Replaces reads of numbers that do not exist, and calls that the fake mode refuses although they change no memory."""
    from torch._subclasses.fake_tensor import FakeTensor

    torch.utils.swap_tensors = values.swap(torch)
    Tensor = torch.Tensor
    real_numpy, real_tolist = Tensor.numpy, Tensor.tolist

    def numpy(self: Any, *args: Any, **kw: Any) -> Any:
        if not isinstance(self, FakeTensor):
            return real_numpy(self, *args, **kw)
        found = known.known_values(self)
        if found is None:
            meter.note_read()
        return values.array(torch, self, meter.value, found)

    def tolist(self: Any) -> Any:
        return numpy(self).tolist() if isinstance(self, FakeTensor) else real_tolist(self)

    def pin(self: Any, *args: Any, **kw: Any) -> Any:
        return self

    Tensor.numpy, Tensor.tolist, Tensor.pin_memory = numpy, tolist, pin
    setattr(FakeTensor, "tolist", tolist)
    Tensor.__array__ = lambda self, dtype=None: numpy(self) if dtype is None else numpy(self).astype(dtype)
    Tensor.record_stream = lambda self, stream: None
    real_format = Tensor.__format__

    def text(self: Any, spec: str) -> str:
        """f"{loss:.3f}": a tensor of one value is formatted as that value."""
        return format(self.item(), spec) if isinstance(self, FakeTensor) and self.dim() == 0 else real_format(self, spec)

    Tensor.__format__ = text
    real_resize = torch.UntypedStorage.resize_

    def resize(self: Any, size: int) -> Any:
        out = real_resize(self, size)
        row = meter.live.get(self._cdata)
        if row is not None and row[2] != size:  # FSDP frees and refills its buffers this way
            meter.give(row[0], row[1], row[2])
            del meter.live[self._cdata]
            if size:
                meter.live[self._cdata] = [row[0], meter.take(row[0], size), size, row[3]]
        return out

    torch.UntypedStorage.resize_ = resize
    _patch_makers(torch)
    linear, transformed = torch.nn.functional.linear, _beside("tidemark_cudnn").transformed

    def linear_(*args: Any, **kw: Any) -> Any:
        before = meter.in_place
        meter.in_place += not transformed(torch)  # torch.func adds a bias out of place, to the batch's shape
        try:
            return linear(*args, **kw)
        finally:
            meter.in_place = before

    torch.nn.functional.linear = linear_
    data: Any = importlib.import_module("torch.utils.data")
    make = data.DataLoader.__init__

    def loader(self: Any, *args: Any, **kw: Any) -> None:
        """Runs a DataLoader without workers, because separate processes have no fake tensors. The data are the same for any
        number of workers."""
        args = args[:5] + (0,) + args[6:] if len(args) > 5 else args
        for name in "num_workers", "prefetch_factor", "persistent_workers", "pin_memory", "timeout", "multiprocessing_context":
            kw.pop(name, None)
        make(self, *args, **kw)
        if meter.cost is not None and (self.batch_size or 0) > 1:
            meter.cost.loaders.append(self.batch_size)

    data.DataLoader.__init__ = loader


def _patch_makers(torch: Any) -> None:
    """Handles torch.tensor and similar functions, which fill memory themselves and bypass the fake mode: makes the tensor on the
    host, then moves it."""

    overrides, contexts = importlib.import_module("torch.overrides"), importlib.import_module("torch.utils._device")

    def default() -> Any:
        """The device of `with torch.device(...)` or set_default_device. torch.get_default_device makes a tensor to find an index."""
        return next((m.device for m in reversed(overrides._get_current_function_mode_stack()) if isinstance(m, contexts.DeviceContext)), torch.device("cpu"))

    def maker(real: Any) -> Any:
        def make(data: Any, *args: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **kw: Any) -> Any:
            to = torch.device(device) if device is not None else default()
            if to.type != "cuda" or isinstance(data, torch.Tensor) and real is not torch.tensor and not args:
                if isinstance(data, torch.Tensor) and to.type == "cuda":
                    return data.to(to, dtype=dtype) if device is not None or dtype is not None else data
                more = {"requires_grad": requires_grad} if requires_grad else {}
                return real(data, *args, dtype=dtype, device=device if isinstance(data, torch.Tensor) else to, **more, **kw)
            kw.pop("pin_memory", None)
            out = real(data, *args, dtype=dtype, device="cpu", **kw).to(to)
            return out.requires_grad_() if requires_grad else out

        return make

    new = torch.Tensor.new_tensor

    def new_tensor(self: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **kw: Any) -> Any:
        to = torch.device(device) if device is not None else self.device
        if to.type != "cuda":
            return new(self, data, dtype=dtype, device=device, requires_grad=requires_grad, **kw)
        return torch.tensor(data, dtype=dtype or self.dtype, device=to, requires_grad=requires_grad)

    torch.tensor, torch.as_tensor, torch.asarray = maker(torch.tensor), maker(torch.as_tensor), maker(torch.asarray)
    torch.Tensor.new_tensor = new_tensor


# ---- modules, backward passes, optimizers ----


class Watch:
    """Records ops, roles and phases: MODEL_CREATION, OPTIMIZER_CREATION, FORWARD_PASS, BACKWARD_PASS, OPTIMIZER_STEP."""

    def __init__(self, torch: Any, meter: Meter, steps: int) -> None:
        self.torch, self.meter, self.recorder = torch, meter, meter.recorder
        self.limit = steps
        self.steps = 0
        self.forwards = self.backwards = 0
        self.depth = 0
        self.names: dict[int, tuple[Any, str]] = {}  # by id, with a weak reference: an id may come again
        self.roots: dict[int, Any] = {}  # weak references: a model that the program drops is freed
        self.open: list[tuple[int, int]] = []
        self.stepper: Any = None
        self.counts: Any = weakref.WeakKeyDictionary()  # steps of each optimizer
        self.phase = "MODEL_CREATION"
        self.hooked = True
        self.tables: Any = ()

    @contextlib.contextmanager
    def without_hooks(self) -> Any:
        """Turns the hooks of the prediction off for modules called inside the block."""
        kept = [dict(t) for t in self.tables]
        self.hooked = False
        for t in self.tables:
            t.clear()
        try:
            yield
        finally:
            self.hooked = True
            for t, k in zip(self.tables, kept):
                t.update(k)

    def end(self, phase: str) -> None:
        """Ends a phase of that name here."""
        self.recorder.mark(PHASE, phase)

    def install(self) -> None:
        torch = self.torch
        modules: Any = importlib.import_module("torch.nn.modules.module")
        modules.register_module_forward_pre_hook(self.enter)
        modules.register_module_forward_hook(self.leave, always_call=True)
        self.tables = (modules._global_forward_pre_hooks, modules._global_forward_hooks, modules._global_forward_hooks_always_called)
        inner = torch.autograd.backward
        gradients = torch.autograd.grad

        def backward(*args: Any, **kw: Any) -> Any:
            return self.around(inner, args, kw)

        def grad(*args: Any, **kw: Any) -> Any:
            return self.around(gradients, args, kw)

        torch.autograd.backward = backward
        torch.autograd.grad = grad
        optimizer: Any = importlib.import_module("torch.optim.optimizer")
        optimizer.register_optimizer_step_pre_hook(self.before_step)
        optimizer.register_optimizer_step_post_hook(self.after_step)
        make = torch.optim.Optimizer.__init__

        def init(this: Any, *args: Any, **kw: Any) -> None:
            make(this, *args, **kw)
            self.counts[this] = 0
            if self.meter.cost is not None:
                self.meter.cost.optimizers.append(_beside("tidemark_cost").optimizer_row(this))
            if self.phase == "MODEL_CREATION":
                self.end("MODEL_CREATION")
                self.phase = "OPTIMIZER_CREATION"

        torch.optim.Optimizer.__init__ = init

    def path(self, module: Any) -> str:
        known = self.names.get(id(module))
        if known is not None and known[0]() is module:
            return known[1]
        root = type(module).__name__
        for path, m in module.named_modules():
            self.names[id(m)] = weakref.ref(m), f"nn.Module: {root}.{path}" if path else f"nn.Module: {root}"
        self.roots[id(module)] = weakref.ref(module)
        for n, p in module.named_parameters():
            self.meter.label(p, PARAMETER, n)
        for n, b in module.named_buffers():
            self.meter.label(b, BUFFER, n)
        return self.names[id(module)][1]

    def begin(self) -> None:
        """Begins a forward pass, unless one has begun."""
        if not self.depth and not self.backwards and self.phase != "TRAINING":
            self.end(self.phase)
            self.phase = "TRAINING"
            self.recorder.mark(STEP, "step", self.steps)
        if not self.depth:
            self.meter.unlabelled(INPUT)

    def enter(self, module: Any, args: Any) -> None:
        self.begin()
        self.depth += 1
        self.forwards += 1
        if self.meter.cost is not None:
            self.meter.cost.enter()
        self.open.append((id(module), self.recorder.c.tide_op_begin(self.recorder.intern(self.path(module)))))

    def leave(self, module: Any, args: Any, out: Any) -> None:
        while self.open:
            key, token = self.open.pop()
            self.depth -= 1
            self.recorder.c.tide_op_end(token)
            if self.meter.cost is not None:
                self.meter.cost.leave(self.path(module), module, out, tensors)
            if key == id(module):
                break

    def around(self, function: Any, args: Any, kw: Any) -> Any:
        if self.torch._guards.TracingContext.try_get() is not None:
            return function(*args, **kw)
        outer = self.backwards == 0
        if outer:
            if self.phase == "TRAINING":
                self.end("FORWARD_PASS")
            self.meter.unlabelled(ACTIVATION)
            self.meter.role_now = TEMPORARY
        self.backwards += 1
        token = self.recorder.c.tide_op_begin(self.recorder.intern("backward"))
        try:
            return function(*args, **kw)
        finally:
            self.recorder.c.tide_op_end(token)
            self.backwards -= 1
            if outer:
                self.meter.role_now = 0
                for root in [m for m in (r() for r in list(self.roots.values())) if m is not None]:
                    for n, p in root.named_parameters():
                        if p.grad is not None:
                            self.meter.label(p.grad, GRADIENT, n + ".grad")
                self.end("BACKWARD_PASS")

    def before_step(self, optimizer: Any, args: Any, kw: Any) -> None:
        self.open.append((id(optimizer), self.recorder.c.tide_op_begin(self.recorder.intern(f"Optimizer.step#{type(optimizer).__name__}.step"))))

    def after_step(self, optimizer: Any, args: Any, kw: Any) -> None:
        while self.open:
            key, token = self.open.pop()
            self.recorder.c.tide_op_end(token)
            if key == id(optimizer):
                break
        for group in optimizer.param_groups:
            for p in group["params"]:
                self.meter.label(p, PARAMETER)
        for state in optimizer.state.values():
            for name, value in state.items() if isinstance(state, dict) else ():
                for tensor in tensors(value):  # LBFGS and others keep lists
                    self.meter.label(tensor, OPTIMIZER, name)
        self.end("OPTIMIZER_STEP")
        self.counts[optimizer] = self.counts.get(optimizer, 0) + 1
        if self.stepper is None or self.stepper() is None:
            self.stepper = weakref.ref(optimizer)
        if self.stepper() is optimizer:
            self.steps = self.meter.steps = self.steps + 1
            if self.meter.cost is not None:
                self.meter.cost.step()
            self.recorder.mark(STEP, "step", self.steps)
            if not self.steps & (self.steps - 1):  # 1, 2, 4 ...
                self.meter.note_holders(f"step {self.steps}")
        if self.limit and (min(self.counts.values()) >= self.limit or self.counts[optimizer] >= PATIENCE * self.limit):
            raise Stop(0)

    def without_step(self) -> list[str]:
        """Names optimizers whose state does not exist yet, although others have stepped."""
        return [type(o).__name__ for o, n in list(self.counts.items()) if not n] if self.steps else []


# ---- the start ----


def _torch_place() -> Any:
    """Returns the properties of the torch that will be imported that can be read from its files."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin:
        return None
    told: dict[str, Any] = {}
    with open(os.path.join(os.path.dirname(spec.origin), "version.py"), encoding="utf-8") as f:
        exec(f.read(), told)  # noqa: S102: torch's own file, which the import runs too
    version = [int(x) for x in told["__version__"].split("+")[0].split(".")[:2]]
    return types.SimpleNamespace(__file__=spec.origin, __version__=told["__version__"], release=version, cuda=told.get("cuda"),
                                 version=types.SimpleNamespace(git_version=told.get("git_version")),
                                 _C=types.SimpleNamespace(_GLIBCXX_USE_CXX11_ABI=version >= [2, 6]))


def _imported() -> None:
    import torch

    os.environ["TIDEMARK_PREDICT_OWNER"] = str(os.getpid())  # processes that it starts record nothing
    device = Device(os.environ.get("TIDEMARK_PREDICT_DEVICE", ""))
    _fake.tide_fake_devices(device.count)
    recorder = Recorder(os.environ["TIDEMARK_PREDICT_LIBRARY"], os.environ["TIDEMARK_PREDICT"], device)
    allocators = _beside("tidemark_allocator")
    settings, room = os.environ.get("TIDEMARK_PREDICT_CONF", ""), int(device.pairs.get("room", 0))
    meter = Meter(torch, device, recorder, lambda: allocators.Allocator(os.environ["TIDEMARK_PREDICT_SIMULATOR"], settings, room))
    recorder.note("predicted.device", device.name)
    recorder.note("predicted.torch", torch.__version__)
    meter.progress = Progress()
    recorder.note("predicted.settings", settings)
    recorder.note("predicted.room", str(room))
    if os.environ.get("TIDEMARK_PREDICT_COST"):
        meter.cost = _beside("tidemark_cost").Cost(torch, device, meter)
    rules = _beside("tidemark_workspaces")
    cudnn = _beside("tidemark_cudnn")
    spaces = rules.Workspaces(torch, meter, device, cudnn)
    chosen = rules.attention(torch, device, meter)
    for name, gates in ("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1):
        setattr(torch._VF, name, cudnn.recurrent(torch, spaces, gates)(getattr(torch._VF, name)))
    torch.nn.RNNBase.flatten_parameters = cudnn.flatten(torch, meter)
    getattr(torch._C, "_nn").scaled_dot_product_attention = torch.nn.functional.scaled_dot_product_attention = chosen
    torch._C._cuda_getCurrentRawStream = lambda i: 0  # read by imports of the fake mode, which use the original torch.cuda
    values, known, scripts = _beside("tidemark_values"), _beside("tidemark_known"), _beside("tidemark_scripts")
    fake, mode = _fake_mode(torch, meter, spaces, values, known)
    kept = _beside("tidemark_disguise").install(torch)
    _patch_cuda(torch, device, meter)
    linear = torch.nn.functional.linear
    _patch_tensors(torch, meter, values, known)
    watch = Watch(torch, meter, int(os.environ.get("TIDEMARK_PREDICT_STEPS", "2")))
    watch.install()
    world = int(os.environ.get("TIDEMARK_PREDICT_WORLD") or os.environ.get("WORLD_SIZE") or 0)  # or as a launcher set it
    if world > 1 or "TIDEMARK_PREDICT_WORLD" in os.environ:
        _beside("tidemark_world").install(torch, world, meter)
    optimizers = _beside("tidemark_optimizers")
    optimizers.install(torch, meter, spaces.less)
    meter.on_read = lambda: optimizers.name_reader(torch, spaces.more)
    values.pack(torch, meter)
    values.splits(torch, meter)
    logging.getLogger("torch._subclasses.fake_tensor").setLevel(logging.CRITICAL)  # an op that fails also raises
    values.same_device(torch)
    scripts.install(torch, device, spaces, (fake, mode), _say)
    _beside("tidemark_files").Checkpoints(torch, _say).install(importlib.import_module("torch._subclasses.fake_tensor").FakeTensor)
    again = scripts.restart_on_value(meter.value, lambda: meter.read, _say)
    compiler = _beside("tidemark_graphs").Compiler(torch, watch)
    compiler.linear = linear
    used: list[bool] = []

    def compile_(model: Any = None, **kw: Any) -> Any:
        used.append(True)
        return compiler.compile(model, **kw)

    torch.compile = compile_
    _plain(importlib.import_module("torch.utils.checkpoint").checkpoint)
    planned = _apply_plan(torch, recorder)
    fake.__enter__()
    mode.__enter__()
    scripts.make_lists_on_host(torch)

    def finish(kept: Any = kept, why: str = "") -> None:
        why = meter.loops.note() or why or scripts.failure()
        if why:
            recorder.note("predicted.unended", why)
        recorder.note("predicted.steps", str(watch.steps))
        recorder.note("predicted.versions", versions())
        recorder.note("predicted.forwards", str(watch.forwards))
        recorder.note("predicted.values_read", str(meter.read))
        if used:
            recorder.note(*compiler.note())
        for key, notes in ("", spaces.unknown), (".less", spaces.less), (".more", spaces.more):
            for what, text in notes.items():
                recorder.note("predicted.unknown" + key, f"{what}: {text}")
        for (op, how), n in meter.bounds.items():
            recorder.note("predicted.unknown" + values.MAY_BE.get(how, ""), f"{op}: {how}, {n} times")
        for name in watch.without_step():
            recorder.note("predicted.unknown.more", f"{name}: this optimizer made no step; its state is not counted")
        recorder.note("predicted.value", str(meter.value))
        meter.note_holders("the end")
        _finish_fit(recorder, meter.cost, planned)
        meter.closed = True
        recorder.c.tide_stop(None)
        again()

    atexit.register(finish)
    _finish_on_terminate(finish)


def _apply_plan(torch: Any, recorder: Recorder) -> Any:
    """Applies the plan of --plan, if there is one, and notes it in the recording. Returns its modules."""
    path = os.environ.get("TIDEMARK_PLAN")
    if not path:
        return None
    import tidemark_plan

    try:
        changes = tidemark_plan.read(path)
        modules = tidemark_plan.apply(torch, changes)
    except tidemark_plan.PlanError as why:
        _say(f"--plan: {why}")
        recorder.note("fit.failed", str(why))
        recorder.c.tide_stop(None)
        os._exit(2)
    rows = tidemark_plan.changes_module().CHANGES
    text = tidemark_plan.text_of(changes)
    for at in range(0, len(text), 3000):
        recorder.note("fit.plan", text[at : at + 3000])
    for change in changes:
        row = rows[change["kind"]]
        recorder.note("fit.change", row.title(change))
        if row.same:
            recorder.note("fit.differs", row.same)
        lines = row.lines(change)
        for at in range(0, len(lines), 3000):
            recorder.note("fit.lines", lines[at : at + 3000])
    return modules


def _finish_fit(recorder: Recorder, cost: Any, planned: Any) -> None:
    """Notes the estimated time, and writes the survey of modules for `tidemark fit`."""
    for path in planned.missing() if planned is not None else ():
        recorder.note("fit.missing", f"the program called no module {path}")
    if cost is None:
        return
    found = cost.survey()
    recorder.note("fit.basis", cost.basis())
    rows = _beside("tidemark_changes").CHANGES
    for kind, row in rows.items() if planned is None else ():
        if why := row.lacks(found):
            recorder.note("fit.untried", f"{kind}: {why}")
    if cost.known:
        recorder.note("fit.step_ns", str(int(found["step_ns"])))
    with contextlib.suppress(OSError), open(os.environ["TIDEMARK_PREDICT_COST"], "w", encoding="utf-8") as f:
        json.dump(found, f)


def _finish_on_terminate(finish: Any) -> None:
    """Completes the recording of a program that is ended by SIGTERM (--timeout), unless the program handles that itself."""

    def ended(number: int, frame: Any) -> None:
        signal.signal(number, signal.SIG_DFL)
        finish(why=f"it was ended by signal {number}")
        os.kill(os.getpid(), number)

    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, ended)


_fake: Any = None


def install() -> None:
    global _fake
    scripts = _beside("tidemark_scripts")
    owner = os.environ.get("TIDEMARK_PREDICT_OWNER", str(os.getpid()))
    if scripts.is_launcher(sys.orig_argv) or owner != str(os.getpid()):
        return  # another process trains
    if scripts.is_other_rank():
        os._exit(0)
    place = _torch_place()
    if place is None:
        return  # a Python without torch: nothing to predict, which the command reports
    if place.release < [2, 6]:
        _say(f"torch {place.__version__} is too old: virtual CUDA devices need PyTorch 2.6 or newer")
        os._exit(2)
    if place.cuda:
        _say(f"torch {place.__version__} is built for CUDA {place.cuda}: it brings device guards and hooks of its own, which ask the driver and cannot be "
             f"replaced from outside. Predict with a build without CUDA of the same version (torch {place.__version__.split('+')[0]}+cpu) in another environment; "
             "memory does not depend on the build")
        os._exit(2)
    with _beside("tidemark_build").library(place, os.environ["TIDEMARK_PREDICT_SOURCE"], _say) as path:
        _fake = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    _beside("tidemark_watch").Watch(_imported)
