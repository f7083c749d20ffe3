# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""`%%tidemark` in notebooks: records a cell and prints its peak.

    %load_ext tidemark

    %%tidemark --group-by op
    model(x).sum().backward()
"""
from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import tempfile
from typing import Any

from . import _home


class _Wrong(Exception):
    """Wrong arguments of the magic. Raised in place of argparse's exit, which would end the notebook."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise _Wrong(f"%%tidemark: {message}")


def _parser() -> _Parser:
    p = _Parser(prog="%%tidemark", description="Record a cell; print what was alive at its peak.", add_help=False)
    p.add_argument("-o", "--output", metavar="FILE", help="keep the recording")
    p.add_argument("-g", "--group-by", default=None, help="as in tidemark peak: op, stack, role, module, tensor, dtype, size")
    p.add_argument("-v", "--into", metavar="NAME", help="a variable for the trace (needs --output)")
    p.add_argument("--ops", action="store_true", help="print the ops, too")
    p.add_argument("--stacks", action="store_true", help="record Python stacks")
    p.add_argument("--shapes", action="store_true", help="record shapes")
    return p


def _print(command: str, path: str, *options: str) -> None:
    done = subprocess.run([_home.program(), command, path, *options], capture_output=True, text=True, errors="replace", check=False)
    print((done.stdout + done.stderr).rstrip())


def cell(shell: Any, line: str, text: str) -> None:
    """Runs the cell in a recording, as the notebook would. An error of the cell is raised as usual."""
    import tidemark

    try:
        given = _parser().parse_args(shlex.split(line))
        if given.into and not given.output:
            raise _Wrong("%%tidemark: --into needs --output FILE")
    except _Wrong as why:
        print(why)
        return
    with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
        path = os.path.abspath(given.output) if given.output else os.path.join(folder, "cell.tide")
        with tidemark.record(path, stacks=given.stacks or None, shapes=given.shapes or None):
            result = shell.run_cell(text, store_history=False)
        _print("peak", path, *(["--group-by", given.group_by] if given.group_by else []))
        if given.ops:
            _print("ops", path, "--flat", "--top", "20")
        if given.into:
            shell.user_ns[given.into] = tidemark.open(path)
    if not result.success and result.error_in_exec is None:
        result.raise_error()


def register(shell: Any) -> None:
    shell.register_magic_function(lambda line, text: cell(shell, line, text), "cell", "tidemark")
