# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark objects -- PROGRAM`: the first Python that the program starts writes its live objects at exit.

TIDEMARK_OBJECTS names the file. Child processes do not write, because the variable is removed from their environment.
"""
import atexit
import os
import sys


def _say(text: str) -> None:
    try:
        os.write(2, f"tidemark objects: {text}\n".encode("utf-8", "replace"))
    except OSError:
        return


def _at_exit(path: str, pid: int) -> None:
    if os.getpid() != pid:  # a forked child that exits normally
        return
    before = set(sys.modules)
    try:
        from tidemark.objects import _snapshot
    except ImportError as why:
        _say(f"the package tidemark cannot be imported in {sys.executable} ({why}): nothing was measured. Run `{sys.executable} -m pip install tidemark-profiler`.")
        return
    _snapshot.imported |= set(sys.modules) - before
    try:
        _snapshot.measure(path, "end")
    except BaseException as why:  # must not fail the program
        _say(f"the live objects could not be measured: {type(why).__name__}: {why}")


def install() -> None:
    path = os.environ.pop("TIDEMARK_OBJECTS")
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:  # another Python of the same command line was first
        return
    os.environ["TIDEMARK_OBJECTS_FILE"] = f"{os.getpid()} {path}"
    atexit.register(_at_exit, path, os.getpid())  # registered first, so it runs after all exit functions of the program
