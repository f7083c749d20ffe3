# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Builds ops.cpp against the torch that was imported: once per torch, kept in $XDG_CACHE_HOME/tidemark.

Where that cannot be written it is kept among temporary files, in a folder of this user's alone.
"""
from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import shutil
import stat
import subprocess
import tempfile
from typing import Any


def _cache() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "tidemark")


def _aside() -> str:
    """Where the cache cannot be written (a container's home): a folder among temporary files."""
    return os.path.join(tempfile.gettempdir(), f"tidemark-{os.getuid()}")


def _ours(folder: str) -> bool:
    """It is this user's alone: what is in there may be loaded."""
    try:
        st = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(st.st_mode) and st.st_uid == os.getuid() and not st.st_mode & 0o022


def _trusted(path: str) -> bool:
    """This user's or root's, and not for everybody to write: a cache may lie where others write too ($XDG_CACHE_HOME on a scratch disk)."""
    st = os.stat(path)
    return st.st_uid in (0, os.getuid()) and not st.st_mode & 0o002


def _found(folder: str, stem: str) -> str | None:
    """What was built for it before: stem-SIZE.so of that very size. One that a crash cut short would end the program, one that
    somebody else put there would be theirs."""
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = os.listdir(folder) if _trusted(folder) else []
    for name in names:
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):  # another process's, just renamed
            if name.startswith(stem) and name == f"{stem}-{os.path.getsize(path) or None}.so" and os.access(path, os.R_OK) and _trusted(path):
                return path
    return None


def _part(stem: str) -> str:
    """An empty file to build into, in the first folder that takes one."""
    try:
        os.makedirs(_cache(), exist_ok=True)
        if not _trusted(_cache()):
            raise PermissionError(f"{_cache()} is another's, or anybody may write there")
        fd, part = tempfile.mkstemp(".part", stem, _cache())
    except OSError as why:
        with contextlib.suppress(OSError):
            os.mkdir(_aside(), 0o700)
        if not _ours(_aside()):
            raise why
        fd, part = tempfile.mkstemp(".part", stem, _aside())
    os.close(fd)
    return part


def _compiler() -> list[str]:
    """CXX may be several words: ccache g++."""
    found = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    words = shlex.split(os.environ.get("CXX") or "") or ([found] if found else [])
    if not words or not shutil.which(words[0]):
        raise RuntimeError(f"no C++ compiler{f' ({words[0]} is not there)' if words else ''}; install g++ to record ops")
    return words


def _build(torch: Any, source: str, stem: str, say: Any) -> str:
    """Compile ops.cpp beside its place and rename: two processes at once do no harm. Returns its path."""
    compiler = _compiler()
    root = os.path.dirname(torch.__file__)
    abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)
    part = _part(stem)
    say(f"building op recording for torch {torch.__version__} (once)")
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    command = [
        *compiler, f"-std={_standard(torch)}", "-O2", "-fPIC", "-fno-plt", "-shared", "-DNDEBUG", f"-D_GLIBCXX_USE_CXX11_ABI={abi}",
        "-fvisibility=hidden", f"-I{os.environ['TIDEMARK_INCLUDE']}", f"-I{root}/include",
        f"-I{root}/include/torch/csrc/api/include", *_known(root), source, "-o", part,
        f"-L{root}/lib", "-lc10", "-ltorch_cpu", f"-Wl,-rpath,{root}/lib",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        if done.returncode or not os.path.getsize(part):  # a program that ignores SIGCHLD is not told how it went
            lines = [x for x in done.stderr.splitlines() if "error" in x] or done.stderr.splitlines()
            raise RuntimeError(f"{' '.join(compiler)} failed: {lines[0] if lines else done.returncode}")
        target = os.path.join(os.path.dirname(part), f"{stem}-{os.path.getsize(part)}.so")
        os.rename(part, target)
        return target
    except BaseException:  # Ctrl+C too
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


def _known(root: str) -> list[str]:
    """RecordFunction keeps what it was given as ops.cpp knows it; else that asks for the name instead."""
    try:
        with open(os.path.join(root, "include", "ATen", "record_function.h"), encoding="utf-8") as f:
            return ["-DTIDE_SCHEMA_IN_FN"] if "  std::variant<std::string, schema_ref_t> fn_;" in f.read() else []
    except (OSError, ValueError):
        return []


def _standard(torch: Any) -> str:
    """The C++ that torch's headers are written in."""
    try:
        version = [int(x) for x in torch.__version__.split("+")[0].split(".")[:2]]
    except ValueError:
        version = [99]
    return "c++20" if version >= [2, 12] else "c++17"


def _which(torch: Any) -> str:
    """This very torch: one that somebody builds himself keeps its version and its place, but not its insides."""
    library = os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so")
    size = os.path.getsize(library) if os.path.exists(library) else 0
    return f"{torch.__version__} {torch.__file__} {getattr(torch.version, 'git_version', None)} {size}"


def library(torch: Any, source: str, say: Any) -> str:
    """Path of what `source` becomes for this torch; built if it is not there, and said. Raises where it cannot be."""
    key = hashlib.sha256(_which(torch).encode())
    include = os.path.join(os.environ["TIDEMARK_INCLUDE"], "tidemark")
    for file in source, *(os.path.join(include, h) for h in ("record.h", "quick.h", "slot.h")):
        with open(file, "rb") as f:
            key.update(f.read())
    stem = f"ops-{torch.__version__}-{key.hexdigest()[:12]}"
    return _found(_cache(), stem) or (_found(_aside(), stem) if _ours(_aside()) else None) or _build(torch, source, stem, say)
