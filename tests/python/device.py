# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""A device of our own, "tidal", registered with PyTorch as makers of accelerators register theirs (device.cpp; needs torch 2.9)."""
import ctypes
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import types
import unittest

import torch

HERE = pathlib.Path(__file__).parent
ROOT = pathlib.Path(torch.__file__).parent


def build(source: pathlib.Path, *command: str) -> ctypes.CDLL:
    """Made once for this torch."""
    key = hashlib.sha256(source.read_bytes() + f"{torch.__version__} {ROOT} {command}".encode()).hexdigest()[:12]
    target = os.path.join(os.environ.get("XDG_CACHE_HOME", tempfile.gettempdir()), f"{source.stem}-{key}.so")
    if not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        part = f"{target}.{os.getpid()}"  # tests that run at the same time build it at the same time
        subprocess.run([*command, "-fPIC", "-shared", str(source), "-o", part, f"-L{ROOT}/lib", "-lc10", "-ltorch_cpu",
                        f"-Wl,-rpath,{ROOT}/lib"], check=True)
        os.rename(part, target)
    return ctypes.CDLL(target)


def load() -> ctypes.CDLL:
    """A device whose allocator reports nothing. Its module has no counters."""
    header = ROOT / "include" / "c10" / "core" / "CachingDeviceAllocator.h"
    if not shutil.which("g++") or not header.exists() or "DeviceAllocator :" not in header.read_text(encoding="utf-8"):
        raise unittest.SkipTest("needs g++ and torch 2.9")
    library = build(HERE / "device.cpp", "g++", "-std=c++20", "-O0", "-fvisibility=hidden", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
                    f"-I{ROOT}/include", f"-I{ROOT}/include/torch/csrc/api/include")
    torch.utils.rename_privateuse1_backend("tidal")
    torch._register_device_module("tidal", types.SimpleNamespace(is_available=lambda: True, device_count=lambda: 2, current_device=lambda: 0))
    assert torch.accelerator.current_accelerator().type == "tidal"
    return library


def teller() -> ctypes.CDLL:
    """Returns the library through which it can report to c10: telling(library, teller()) starts reporting."""
    return build(HERE / "device_tell.c", "gcc", "-O1")


def telling(library: ctypes.CDLL, by: ctypes.CDLL) -> None:
    library.tell_by(ctypes.cast(by.tell, ctypes.c_void_p), ctypes.cast(by.tell_oom, ctypes.c_void_p))
