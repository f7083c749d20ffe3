# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Checkpoints in a prediction: torch.save writes no file, torch.load returns tensors without data.

A prediction has no values, so a file that it wrote would replace a real checkpoint by nothing. What the program saves is kept in this
process instead: torch.load, os.rename, shutil.copy and their like find it there. Files that exist are read for their shapes alone.
Tensors go to the device that map_location chooses, and count there.
"""
from __future__ import annotations

import importlib
import importlib.util
import io
import json
import os
import pickle
import shutil
import sys
import threading
import types
from typing import Any

SAFE_TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
              "U8": "uint8", "BOOL": "bool", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2"}
MARK = b"tidemark predict: a checkpoint without data, number "


class _Place:
    """Stands for the storage that a map_location function gets: `storage`, `storage.cuda(1)`."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def cuda(self, device: Any = None, *args: Any, **kw: Any) -> _Place:
        return _Place(f"cuda:{device}" if isinstance(device, int) else device or "cuda")

    def cpu(self) -> _Place:
        return _Place("cpu")


def place(location: Any, map_location: Any) -> Any:
    """Returns the device of a storage that was saved at `location`."""
    location = str(location or "cpu")
    if map_location is None:
        return location
    if isinstance(map_location, dict):
        return map_location.get(location, location)
    if callable(map_location):
        found = map_location(_Place("cpu"), location)
        return location if found is None else getattr(found, "device", found)
    return map_location


class Checkpoints:
    """Holds what the program saved: pickled, with shapes instead of tensors."""

    def __init__(self, torch: Any, say: Any) -> None:
        self.torch, self.say = torch, say
        self.files: dict[str, bytes] = {}  # by absolute path
        self.buffers: list[bytes] = []  # those saved into objects such as io.BytesIO
        self.local: Any = threading.local()
        self.told = False

    # ---- save ----

    def pack(self, value: Any, seen: list[Any] | None = None) -> bytes:
        """Returns the pickled value. `seen`: gets its tensors."""
        torch, out = self.torch, io.BytesIO()

        class Pickler(pickle.Pickler):
            def persistent_id(self, x: Any) -> Any:
                if not isinstance(x, torch.Tensor):
                    return None
                if seen is not None:
                    seen.append(x)
                plain = x.layout is torch.strided and not _wraps(x)
                storage = (x.untyped_storage()._cdata, x.untyped_storage().nbytes(), x.storage_offset(), tuple(x.stride())) if plain else None
                return isinstance(x, torch.nn.Parameter), x.dtype, tuple(x.shape), storage, str(x.device), x.requires_grad

        Pickler(out, protocol=4).dump(value)
        return out.getvalue()

    def save(self, value: Any, f: Any, *args: Any, **kw: Any) -> None:
        data = self.pack(value)
        if not self.told:
            self.told = True
            self.say("checkpoints are not written: a prediction has no values")
        if hasattr(f, "write"):
            self.buffers.append(data)
            f.write(MARK + b"%d\n" % (len(self.buffers) - 1))
        else:
            self.files[os.path.abspath(os.fspath(f))] = data

    # ---- load ----

    def find(self, f: Any) -> bytes | None:
        """Returns what the program saved there, or None if it is a real file."""
        if not hasattr(f, "read"):
            return self.files.get(os.path.abspath(os.fspath(f)))
        at = f.tell()
        head = f.read(len(MARK) + 20)
        if isinstance(head, bytes) and head.startswith(MARK):
            return self.buffers[int(head[len(MARK):])]
        f.seek(at)
        return None

    def tensor(self, storages: dict[Any, Any], shape: Any, stride: Any, offset: int, dtype: Any, key: Any, size: int, device: Any) -> Any:
        """A tensor without data; those of one storage share theirs."""
        base = storages.get((key, dtype))
        if base is None:
            base = storages[key, dtype] = self.torch.empty(size // dtype.itemsize, dtype=dtype, device=device)
        return base.as_strided(shape, stride, offset)

    def unpack(self, data: bytes, map_location: Any) -> Any:
        checkpoints, torch = self, self.torch
        storages: dict[Any, Any] = {}

        class Unpickler(pickle.Unpickler):
            def persistent_load(self, pid: Any) -> Any:
                parameter, dtype, shape, storage, location, grad = pid
                device = place(location, map_location)
                if storage is None:
                    out = torch.empty(shape, dtype=dtype, device=device)
                else:
                    key, size, offset, stride = storage
                    out = checkpoints.tensor(storages, shape, stride, offset, dtype, key, size, device)
                return torch.nn.Parameter(out, grad) if parameter else out.requires_grad_(grad)

        return Unpickler(io.BytesIO(data)).load()

    def load(self, f: Any, map_location: Any = None, *args: Any, **kw: Any) -> Any:
        data = self.find(f)
        if data is not None:
            return self.unpack(data, map_location)
        outer = getattr(self.local, "now", None)
        self.local.now = map_location, {}
        try:
            return self.real_load(f, map_location, *args, **kw)
        finally:
            self.local.now = outer

    def restored(self, tensor: Any) -> Any:
        """Takes a tensor that torch.load made (its storage has no device yet) to its device."""
        now = getattr(self.local, "now", None)
        if now is None:
            return self.real_restored(tensor)
        storage = tensor.untyped_storage()
        device = place(getattr(storage, "_fake_device", None), now[0])
        out = self.tensor(now[1], tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset(), tensor.dtype, storage._cdata, storage.nbytes(), device)
        now[1][storage._cdata] = storage  # keeps it, so that no other gets its address
        return out.requires_grad_(tensor.requires_grad)

    # ---- copies ----

    def deepcopy(self, tensor: Any, memo: dict[Any, Any]) -> Any:
        """copy.deepcopy of a fake tensor. PyTorch's own would copy its attributes, the fake mode among them."""
        torch = self.torch
        if id(tensor) in memo:
            return memo[id(tensor)]
        if not tensor.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment")
        with torch.no_grad():
            if isinstance(tensor, torch.nn.Parameter) or tensor.layout is not torch.strided:
                out = tensor.detach().clone()
            else:
                storage = tensor.untyped_storage()
                storages = memo.setdefault("tidemark storages", {})
                out = self.tensor(storages, tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset(), tensor.dtype, storage._cdata, storage.nbytes(), tensor.device)
                out.constant = tensor.constant  # of a small tensor whose values are known
        if isinstance(tensor, torch.nn.Parameter):
            out = torch.nn.Parameter(out, tensor.requires_grad)
        else:
            out.requires_grad_(tensor.requires_grad)
            out.grad = None if tensor.grad is None else self.deepcopy(tensor.grad, memo)
        memo[id(tensor)] = out
        return out

    def reduce(self, tensor: Any, protocol: Any) -> Any:
        """pickle of a fake tensor: its shape."""
        return _again, (self.pack(tensor),)

    def install(self, fake_type: Any) -> None:
        global _unpack
        torch, utils = self.torch, importlib.import_module("torch._utils")
        self.real_load = torch.load
        self.real_restored: Any = getattr(utils, "_restore_device_fake_mode", None)
        if self.real_restored is not None:
            setattr(utils, "_restore_device_fake_mode", self.restored)
        for where in torch, torch.serialization:
            where.save, where.load = self.save, self.load
        seeds = torch.set_rng_state
        torch.set_rng_state = torch.random.set_rng_state = lambda state: None if hasattr(state, "fake_device") else seeds(state)
        _files(self.files)
        sys.modules.setdefault(__name__, types.ModuleType(__name__)).__dict__["_again"] = _again  # where pickle looks for it
        _unpack = self.unpack
        fake_type.__deepcopy__ = lambda tensor, memo: self.deepcopy(tensor, memo)
        fake_type.__reduce_ex__ = lambda tensor, protocol: self.reduce(tensor, protocol)
        self.addresses(fake_type)
        if importlib.util.find_spec("safetensors") is not None:
            self.safetensors()

    def addresses(self, fake_type: Any) -> None:
        """data_ptr() of fake storages: a number for each, by which programs find tensors that share memory."""
        storage = self.torch.UntypedStorage
        real = storage.data_ptr
        storage.data_ptr = lambda this: this._cdata if this.device.type == "meta" else real(this)
        fake_type.data_ptr = lambda tensor: tensor.untyped_storage()._cdata + tensor.storage_offset() * tensor.element_size() if tensor.numel() else 0

    def safetensors(self) -> None:
        package, module = importlib.import_module("safetensors"), importlib.import_module("safetensors.torch")
        checkpoints = self

        def load_file(filename: Any, device: Any = "cpu", *args: Any, **kw: Any) -> Any:
            with SafeFile(filename, "pt", device) as f:
                return {name: f.get_tensor(name) for name in f.keys()}

        def save_model(model: Any, filename: Any, *args: Any, **kw: Any) -> None:
            self.save(model.state_dict(), filename)

        class SafeFile(_SafeFile):
            owner = checkpoints

        setattr(package, "safe_open", SafeFile)
        for name, value in {"safe_open": SafeFile, "load_file": load_file, "save_file": self.save, "save_model": save_model}.items():
            setattr(module, name, value)


class _SafeFile:
    """safetensors.safe_open without data: the file's head has every shape."""

    owner: Any

    def __init__(self, filename: Any, framework: Any = "pt", device: Any = "cpu", *args: Any, **kw: Any) -> None:
        self.device = f"cuda:{device}" if isinstance(device, int) else device
        saved = self.owner.find(filename)
        self.saved: Any = None if saved is None else self.owner.unpack(saved, self.device)
        self.head: dict[str, Any] = {}
        if saved is None:
            with open(filename, "rb") as f:
                self.head = json.loads(f.read(int.from_bytes(f.read(8), "little")))
        self.about: Any = self.head.pop("__metadata__", {"format": "pt"})

    def __enter__(self) -> _SafeFile:
        return self

    def __exit__(self, *why: object) -> None:
        pass

    def keys(self) -> list[str]:
        return list(self.head if self.saved is None else self.saved)

    offset_keys = keys

    def metadata(self) -> Any:
        return self.about

    def get_tensor(self, name: str) -> Any:
        if self.saved is not None:
            return self.saved[name]
        row = self.head[name]
        return self.owner.torch.empty(row["shape"], dtype=getattr(self.owner.torch, SAFE_TYPES[row["dtype"]]), device=self.device)

    def get_slice(self, name: str) -> Any:
        return _Slice(self, name)


class _Slice:
    def __init__(self, file: _SafeFile, name: str) -> None:
        self.file, self.name = file, name

    def get_shape(self) -> list[int]:
        row = self.file.head.get(self.name)
        return list(row["shape"] if row else self.file.saved[self.name].shape)

    def get_dtype(self) -> str:
        row = self.file.head.get(self.name)
        return row["dtype"] if row else next(k for k, v in SAFE_TYPES.items() if str(self.file.saved[self.name].dtype) == "torch." + v)

    def __getitem__(self, index: Any) -> Any:
        whole = self.file.get_tensor(self.name)
        part = whole[index]
        return part if part.shape == whole.shape else part.clone()


_unpack: Any = None


def _again(data: bytes) -> Any:
    """A tensor from its pickled shape."""
    return _unpack(data, None)


def _wraps(tensor: Any) -> bool:
    return hasattr(tensor, "__tensor_flatten__")


def _files(saved: dict[str, bytes]) -> None:
    """Files that were saved but not written: os and shutil find, rename, copy and remove them."""

    def path(f: Any) -> str:
        try:
            return os.path.abspath(os.fsdecode(f))
        except (TypeError, ValueError):  # a descriptor
            return ""

    stat = os.stat

    def stat_(f: Any, *args: Any, **kw: Any) -> Any:
        data = saved.get(path(f)) if saved else None
        return stat(f, *args, **kw) if data is None else os.stat_result((0o100644, 0, 0, 1, os.getuid(), os.getgid(), len(data), 0, 0, 0))

    def moved(real: Any, keep: bool) -> Any:
        def run(a: Any, b: Any, *args: Any, **kw: Any) -> Any:
            data = saved.get(path(a)) if saved else None
            if data is None:
                return real(a, b, *args, **kw)
            to = os.path.join(path(b), os.path.basename(path(a))) if os.path.isdir(b) else path(b)
            if not keep:
                del saved[path(a)]
            saved[to] = data
            return b

        return run

    def removed(real: Any) -> Any:
        def run(f: Any, *args: Any, **kw: Any) -> None:
            if not saved or saved.pop(path(f), None) is None:
                real(f, *args, **kw)

        return run

    setattr(os, "stat", stat_)
    os.rename, os.replace, shutil.move = moved(os.rename, False), moved(os.replace, False), moved(shutil.move, False)
    shutil.copy, shutil.copy2, shutil.copyfile = moved(shutil.copy, True), moved(shutil.copy2, True), moved(shutil.copyfile, True)
    os.remove, os.unlink = removed(os.remove), removed(os.unlink)
