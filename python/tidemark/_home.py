# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Paths of the files installed with the package: the program, the libraries, the sources from which the op hook is built."""
from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from typing import Any

HOME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "home")
PROGRAM = os.path.join(HOME, "bin", "tidemark")
LIBRARIES = os.path.join(HOME, "lib")
SHARE = os.path.join(HOME, "share", "tidemark")
INCLUDE = os.path.join(HOME, "include")
_hooks: dict[str, Any] = {}


def program() -> str:
    """Returns the path of the program and makes it executable: pip keeps its mode, some unpackers do not."""
    if not os.access(PROGRAM, os.X_OK):
        os.chmod(PROGRAM, 0o755)
    return PROGRAM


def hook(name: str) -> Any:
    """Returns a module of share/tidemark/hook: the one that `tidemark run` has loaded, else a copy for this package."""
    found = sys.modules.get(name) or _hooks.get(name)
    if found is None:
        spec = importlib.util.spec_from_file_location(name, os.path.join(SHARE, "hook", name + ".py"))
        assert spec and spec.loader
        found = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
        _hooks[name] = found
    return found


def say(text: str) -> None:
    """Prints one line on stderr. Never fails, even if stderr is closed or the package's files are gone."""
    with contextlib.suppress(OSError):
        hook("tidemark_watch").say(text)
