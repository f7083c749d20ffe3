# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Builds ops.cpp against the imported torch, once for each torch, and keeps the result in $XDG_CACHE_HOME/tidemark.

If that folder cannot be written, or others can write there, the result is kept in a private folder among temporary files.
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
from collections.abc import Iterator
from typing import Any


# The flags that meson.build uses for every other binary.
_HARDENING = ("-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack")


def _cache() -> str:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "tidemark")


def _aside() -> str:
    """Returns the folder among temporary files that is used if the cache cannot be written (a container's home)."""
    return os.path.join(tempfile.gettempdir(), f"tidemark-{os.getuid()}")


def _safe(st: os.stat_result) -> bool:
    """Returns whether this user or root owns it and no other user may write it."""
    return st.st_uid in (0, os.getuid()) and not st.st_mode & 0o022


class Folder:
    """A folder to load from, kept open, so that a user who may rename its parents cannot replace it. `name` is its path."""

    def __init__(self, name: str):
        self.name = name
        self.fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        if not _safe(os.fstat(self.fd)):
            os.close(self.fd)
            raise PermissionError(f"{name} belongs to another user, or others can write there")

    def path(self, file: str) -> str:
        """Returns the path of a file in the open folder, even if the folder was renamed; the plain path without /proc."""
        held = f"/proc/self/fd/{self.fd}"
        return os.path.join(held if os.path.isdir(held) else self.name, file)

    def found(self, stem: str) -> str | None:
        """Returns an existing stem-HASH.so whose content matches the hash, or None. Loading a truncated file would crash the program,
        and a file that another user may write could contain their code."""
        for name in os.listdir(self.fd):
            if not (name.startswith(stem + "-") and name.endswith(".so")):
                continue
            with contextlib.suppress(OSError):  # another process has renamed it, or it is a symbolic link
                fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.fd)
                with open(fd, "rb") as f:
                    st = os.fstat(fd)
                    if stat.S_ISREG(st.st_mode) and _safe(st) and name == f"{stem}-{_digest(f.read())}.so":
                        return self.path(name)
        return None


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _folder(name: str, make: bool) -> Folder | None:
    """Returns the folder if files in it may be loaded, else None. `make` creates a missing folder, for this user only."""
    try:
        if make:
            os.makedirs(os.path.dirname(name), exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700)
        return Folder(name)
    except OSError:
        return None


def _place() -> Folder:
    """Returns the first folder that can be written."""
    for name in _cache(), _aside():
        folder = _folder(name, make=True)
        if folder and os.access(folder.path("."), os.W_OK) and os.fstat(folder.fd).st_uid == os.getuid():
            return folder
        if folder:
            os.close(folder.fd)
    raise PermissionError(f"{_cache()} cannot be written, or others can write there")


def _compiler() -> list[str]:
    """Returns the compiler's command. CXX may consist of several words, such as ccache g++."""
    found = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    words = shlex.split(os.environ.get("CXX") or "") or ([found] if found else [])
    if not words or not shutil.which(words[0]):
        raise RuntimeError(f"no C++ compiler{f' ({words[0]} is not there)' if words else ''}; install g++ to record ops")
    if os.sep in words[0]:
        words[0] = os.path.abspath(words[0])  # it runs in another folder
    return words


def _build(torch: Any, source: str, stem: str, folder: Folder, say: Any) -> str:
    """Compiles ops.cpp in a private folder and renames the result, so that two processes may build at once. Returns its path.

    The compiler works in the private folder of the open folder, even if its parents are renamed meanwhile."""
    compiler = _compiler()
    root = os.path.abspath(os.path.dirname(torch.__file__))
    abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)
    say(f"building op recording for torch {torch.__version__} (once)")
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    with tempfile.TemporaryDirectory(prefix=stem, dir=folder.path("")) as private:  # 0700
        part = os.path.join(private, "ops.so")
        command = [
            *compiler, f"-std={_standard(torch)}", "-O2", "-fPIC", "-fno-plt", "-shared", "-DNDEBUG", f"-D_GLIBCXX_USE_CXX11_ABI={abi}",
            "-fvisibility=hidden", *_HARDENING, f"-I{os.path.abspath(os.environ['TIDEMARK_INCLUDE'])}", f"-I{root}/include",
            f"-I{root}/include/torch/csrc/api/include", *_known(root), os.path.abspath(source), "-o", "ops.so",
            f"-L{root}/lib", "-lc10", "-ltorch_cpu", f"-Wl,-rpath,{root}/lib",
        ]
        done = subprocess.run(command, cwd=private, capture_output=True, text=True, env=environment, check=False)
        if done.returncode or not os.path.exists(part):  # if the program ignores SIGCHLD, the exit status is unknown
            lines = [x for x in done.stderr.splitlines() if "error" in x] or done.stderr.splitlines()
            raise RuntimeError(f"{' '.join(compiler)} failed: {lines[0] if lines else done.returncode}")
        os.chmod(part, 0o700)  # regardless of the umask
        with open(part, "rb") as f:
            name = f"{stem}-{_digest(f.read())}.so"
        os.rename(part, name, dst_dir_fd=folder.fd)
    return folder.path(name)


def _known(root: str) -> list[str]:
    """Returns a flag if RecordFunction stores its schema in the field that ops.cpp reads; without it ops.cpp calls name() instead."""
    try:
        with open(os.path.join(root, "include", "ATen", "record_function.h"), encoding="utf-8") as f:
            return ["-DTIDE_SCHEMA_IN_FN"] if "  std::variant<std::string, schema_ref_t> fn_;" in f.read() else []
    except (OSError, ValueError):
        return []


def _standard(torch: Any) -> str:
    """Returns the C++ standard of torch's headers."""
    try:
        version = [int(x) for x in torch.__version__.split("+")[0].split(".")[:2]]
    except ValueError:
        version = [99]
    return "c++20" if version >= [2, 12] else "c++17"


def _which(torch: Any) -> str:
    """Returns a text that identifies this build of torch. A local rebuild keeps its version and path, but changes its contents."""
    library = os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so")
    size = os.path.getsize(library) if os.path.exists(library) else 0
    return f"{torch.__version__} {torch.__file__} {getattr(torch.version, 'git_version', None)} {size}"


@contextlib.contextmanager
def library(torch: Any, source: str, say: Any) -> Iterator[str]:
    """Yields the path of the library built from `source` for this torch; it must be loaded inside the `with`. Builds it if it is missing and reports that with `say`. Raises an exception if that fails."""
    key = hashlib.sha256(_which(torch).encode())
    include = os.path.join(os.environ["TIDEMARK_INCLUDE"], "tidemark")
    for file in source, *(os.path.join(include, h) for h in ("kinds.h", "record.h", "detail/quick.h", "detail/slot.h")):
        with open(file, "rb") as f:
            key.update(f.read())
    stem = f"ops-{torch.__version__}-{key.hexdigest()[:12]}"
    with contextlib.ExitStack() as held:
        for name in _cache(), _aside():
            folder = _folder(name, make=False)
            if folder:
                held.callback(os.close, folder.fd)
                found = folder.found(stem)
                if found:
                    yield found
                    return
        folder = _place()
        held.callback(os.close, folder.fd)
        yield _build(torch, source, stem, folder, say)
