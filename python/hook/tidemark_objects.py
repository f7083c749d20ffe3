# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`tidemark objects -- PROGRAM`: the first Python that the program starts writes what is alive in it at its end.

TIDEMARK_OBJECTS names the file. Processes that this one starts do not write: the variable is theirs no more.
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
    if os.getpid() != pid:  # a fork that ends as Python does
        return
    try:
        from tidemark.objects import _snapshot
    except ImportError as why:
        _say(f"the package tidemark cannot be imported in {sys.executable} ({why}): nothing was measured. `pip install tidemark` there.")
        return
    try:
        _snapshot.finish(path)
    except Exception as why:  # never the program's failure
        _say(f"the live objects could not be measured: {type(why).__name__}: {why}")


def install() -> None:
    path = os.environ.pop("TIDEMARK_OBJECTS")
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError:  # another Python of the same command line was first
        return
    os.environ["TIDEMARK_OBJECTS_FILE"] = path
    atexit.register(_at_exit, path, os.getpid())  # registered first: runs after all of the program's own
