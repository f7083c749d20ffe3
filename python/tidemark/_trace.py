# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Reading: analyses as dicts (what the program prints with --json) and tables as Arrow streams."""
from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from . import _native
from ._home import program


def _words(options: dict[str, Any]) -> list[str]:
    """Keyword arguments as the program's options: group_by="op" is --group-by op, flat=True is --flat."""
    words: list[str] = []
    for key, value in options.items():
        name = "--" + key.replace("_", "-")
        if value is True:
            words.append(name)
        elif value is not None and value is not False:
            words += [name, str(value)]
    return words


def ask(command: str, *files: str, **options: Any) -> dict[str, Any]:
    """One command of the program, as a dict. What it complains of is raised as Error."""
    done = subprocess.run([program(), command, *files, *_words(options), "--json"], capture_output=True, check=False)
    if done.returncode not in (0, 3):
        line = done.stderr.decode(errors="replace").strip().split("\n")[0]
        raise _native.Error(line or f"tidemark {command}: ended with {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


class Table:
    """A table of a trace. polars, pandas, pyarrow and duckdb read it by the Arrow PyCapsule protocol, in place:

        polars.DataFrame(trace["allocs"]),  pyarrow.table(trace["allocs"])

    Texts are a dictionary column. A column named after another table (span, pool, stack ...) holds row numbers
    of it, counted from 1; 0 = none.
    """

    def __init__(self, trace: _native.Trace, name: str, rows: int) -> None:
        self._trace = trace
        self.name = name
        self._rows = rows

    def __len__(self) -> int:
        return self._rows

    def __repr__(self) -> str:
        return f"<table {self.name}: {self._rows} rows>"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._trace.arrow(self.name)


class Trace:
    """A trace of any format Tidemark reads. Analyses are asked of the program and are its --json."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.native = _native.Trace(self.path)

    @property
    def format(self) -> str:
        return self.native.format

    @property
    def tables(self) -> dict[str, int]:
        """Rows of each table."""
        return self.native.tables()

    def __getitem__(self, table: str) -> Table:
        return Table(self.native, table, self.tables[table])

    def __repr__(self) -> str:
        return f"<{self.format} trace {self.path}: {self.native.end / 1e9:.3f} s>"

    def ask(self, command: str, **options: Any) -> dict[str, Any]:
        """Any command with --json: trace.ask("leaks"), trace.ask("memory", at="peak")."""
        return ask(command, self.path, **options)

    def info(self, **options: Any) -> dict[str, Any]:
        return self.ask("info", **options)

    def peak(self, **options: Any) -> dict[str, Any]:
        return self.ask("peak", **options)

    def memory(self, **options: Any) -> dict[str, Any]:
        return self.ask("memory", **options)

    def phases(self, **options: Any) -> dict[str, Any]:
        return self.ask("phases", **options)

    def ops(self, **options: Any) -> dict[str, Any]:
        return self.ask("ops", **options)


def open(path: str | os.PathLike[str]) -> Trace:
    """Open a trace; its content decides what it is. Raises Error with one line of text."""
    return Trace(path)
