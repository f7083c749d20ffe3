# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Turns on recording of PyTorch's ops once torch has been imported.

The C++ side (ops.cpp) is built against the torch that was imported, once per torch version, and kept in
$XDG_CACHE_HOME/tidemark. Without a compiler one line says so and everything else is recorded.
"""
from __future__ import annotations

import ctypes
import hashlib
import importlib.abc
import os
import shutil
import subprocess
import sys
import tempfile

_library = None  # keeps the callback's code loaded


def _say(text: str) -> None:
    print(f"tidemark: {text}", file=sys.stderr, flush=True)


def _cache() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "tidemark")


def _build(torch, source: str, target: str) -> None:
    """Compile ops.cpp beside the target and rename: two processes at once do no harm."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        raise RuntimeError("no C++ compiler; install g++ to record ops")
    root = os.path.dirname(torch.__file__)
    abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    fd, part = tempfile.mkstemp(suffix=".so", dir=os.path.dirname(target))
    os.close(fd)
    _say(f"building op recording for torch {torch.__version__} (once)")
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    command = [
        compiler, "-std=c++17", "-O2", "-fPIC", "-shared", "-DNDEBUG", f"-D_GLIBCXX_USE_CXX11_ABI={abi}",
        "-fvisibility=hidden", f"-I{os.environ['TIDEMARK_INCLUDE']}", f"-I{root}/include",
        f"-I{root}/include/torch/csrc/api/include", source, "-o", part,
        f"-L{root}/lib", "-lc10", "-ltorch_cpu", f"-Wl,-rpath,{root}/lib",
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        os.unlink(part)
        lines = [x for x in done.stderr.splitlines() if "error" in x] or done.stderr.splitlines()
        raise RuntimeError(f"{compiler} failed: {lines[0] if lines else done.returncode}")
    os.rename(part, target)


def _attach(torch) -> None:
    global _library
    source = os.environ["TIDEMARK_OPS_SOURCE"]
    with open(source, "rb") as f:
        key = hashlib.sha256(f.read() + torch.__version__.encode() + torch.__file__.encode()).hexdigest()[:12]
    target = os.path.join(_cache(), f"ops-{torch.__version__}-{key}.so")
    if not os.path.exists(target):
        _build(torch, source, target)
    _library = ctypes.CDLL(target)
    _library.tide_torch_ops_on()


class _Watch(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Lets torch be imported as always, then attaches."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        import importlib.util

        spec = importlib.util.find_spec("torch")
        if spec and spec.loader:
            self.inner = spec.loader
            spec.loader = self
        return spec

    def create_module(self, spec):
        return self.inner.create_module(spec)

    def exec_module(self, module):
        self.inner.exec_module(module)
        try:
            _attach(module)
        except Exception as why:
            _say(f"ops are not recorded: {why}")


def install() -> None:
    sys.meta_path.insert(0, _Watch())
