# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""What pip asks to build the wheel: what the pages are built with, meson-python, and then the true tag.

The extensions use the stable ABI of CPython 3.10, so the wheel is one for 3.10 and later; meson-python names it after the Python
that builds it. The tag is in the file's name and in its WHEEL; nothing else of the wheel is touched.
"""
from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from typing import Any

from mesonpy import *  # noqa: F403: the other questions of PEP 517 and PEP 660 are answered by meson-python
from mesonpy import build_wheel as _build

PYTHON = "cp310"  # Py_LIMITED_API in native.h


def _record(text: str, name: str, data: bytes) -> str:
    """RECORD with the line of one file as it is now."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    line = f"{name},sha256={digest},{len(data)}"
    return "".join((line if row.startswith(name + ",") else row) + "\n" for row in text.splitlines())


def retag(path: str) -> str:
    """The wheel under its true tag, in the same folder; its name."""
    folder, name = os.path.split(path)
    renamed = re.sub(r"-cp3\d+-abi3-", f"-{PYTHON}-abi3-", name)
    part = os.path.join(folder, renamed + ".part")
    changed: dict[str, bytes] = {}
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():  # RECORD comes after what it lists
            data = old.read(entry)
            if entry.filename.endswith(".dist-info/WHEEL"):
                data = re.sub(rb"(?m)^Tag: cp3\d+-abi3-", f"Tag: {PYTHON}-abi3-".encode(), data)
                changed[entry.filename] = data
            elif entry.filename.endswith(".dist-info/RECORD"):
                text = data.decode()
                for file, content in changed.items():
                    text = _record(text, file, content)
                data = text.encode()
            new.writestr(entry, data)
    os.unlink(path)
    os.rename(part, os.path.join(folder, renamed))
    return renamed


def pages() -> None:
    """npm's packages for the pages, where they are not there yet; without npm the wheel has no pages, and the program says so."""
    npm = shutil.which("npm")
    if not npm or os.path.isdir("web/node_modules/esbuild"):
        return
    if subprocess.run([npm, "ci", "--silent", "--no-audit", "--no-fund"], cwd="web", capture_output=True, check=False).returncode:
        print("tidemark: npm ci failed in web/: the wheel will have no pages", file=sys.stderr)


def build_wheel(wheel_directory: str, config_settings: dict[Any, Any] | None = None, metadata_directory: str | None = None) -> str:
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise SystemExit("tidemark: free-threaded Python is not supported: it has no stable ABI yet. Use a Python with the GIL.")
    pages()
    return retag(os.path.join(wheel_directory, _build(wheel_directory, config_settings, metadata_directory)))
