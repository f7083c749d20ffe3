# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Reading traces: reports as dicts (the program's --json) and tables as Arrow streams."""
from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

from . import _home, _native
from ._report_methods import ReportMethods


def _words(options: dict[str, Any]) -> list[str]:
    """Returns keyword arguments as options of the program: group_by="op" is --group-by op, flat=True is --flat, a list repeats its option."""
    words: list[str] = []
    for key, value in options.items():
        name = "--" + key.replace("_", "-")
        if value is True:
            words.append(name)
        elif isinstance(value, (list, tuple)):
            words += [w for one in value for w in (name, str(one))]
        elif value is not None and value is not False:
            words += [name, f"{value}B" if name == "--capacity" and isinstance(value, int) else str(value)]
    return words


def report(name: str, traces: list[Any], options: dict[str, Any]) -> dict[str, Any]:
    """Returns a report of the library on open traces."""
    from ._reports import find

    if options.get("output") is not None or options.get("json") is not None:
        raise _native.Error(f"{name}: --output and --json are for the program itself")
    natives = [(size, t.native.model()) for size, t in traces] if name == "predict" else [t.native.model() for t in traces]
    found = find(name, natives, options, _native.Error)
    if found is NotImplemented:
        files = [f"{size}={t.path}" for size, t in traces] if name == "predict" else [t.path for t in traces]
        found = _of_program(name, files, options)
    answer: dict[str, Any] = found
    return answer


def report_of(name: str, path: str | os.PathLike[str], **options: Any) -> dict[str, Any]:
    """Opens a trace and returns a report of the library on it. For a folder of ranks it runs the program."""
    if os.path.isdir(path) and name in ("hta", "kernels", "hang"):
        return _of_program(name, [os.fspath(path)], options)
    return report(name, [Trace(path)], options)


def _of_program(name: str, files: list[str], options: dict[str, Any]) -> dict[str, Any]:
    """Runs the program on the files, for reports that the library does not have (HTA's own figures, kernel sequences, several ranks at once)."""
    if not hasattr(Trace, name.replace("-", "_")) or name in ("ask", "export", "report"):
        raise _native.Error(f"tidemark {name}: there is no such analysis")
    done = subprocess.run([_home.program(), name, *_words(options), "--json", "--", *files], capture_output=True, text=True, errors="replace", check=False)
    if done.returncode not in (0, 3):
        raise _native.Error((done.stderr.strip().split("\n") or [""])[0] or f"tidemark {name}: exit status {done.returncode}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


class Table:
    """A table of a trace. polars, pandas, pyarrow and duckdb read it in place by the Arrow PyCapsule protocol:

        polars.DataFrame(trace["allocs"]),  pyarrow.table(trace["allocs"])

    Texts, roles, kinds, categories and dtypes are dictionary columns. A column named after another table (span, pool, stack ...)
    holds row numbers of that table, counted from 1; 0 = none.
    """

    def __init__(self, trace: _native.Trace, name: str, rows: int) -> None:
        self._trace = trace
        self.name: str = name
        self._rows = rows

    def __len__(self) -> int:
        return self._rows

    def __repr__(self) -> str:
        return f"<table {self.name}: {self._rows} rows>"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._trace.arrow(self.name)


class Rows:
    """The result of a query. polars, pandas, pyarrow and duckdb read it by the Arrow PyCapsule protocol; rows() has tuples."""

    def __init__(self, result: object) -> None:
        from . import _sql

        self._sql = _sql
        self._result = result
        self.columns: list[str] = _sql.columns(result)

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows as tuples."""
        return self._sql.rows(self._result)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._sql.stream(self._result)


class Trace(ReportMethods):
    """A trace of any format that Tidemark reads. Reports are computed in this process; their members are those of the program's --json."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: str = os.fspath(path)
        self.native: _native.Trace = _native.Trace(self.path)

    @property
    def format(self) -> str:
        return self.native.format

    @property
    def tables(self) -> dict[str, int]:
        """Return the number of rows of each table."""
        return self.native.tables()

    def __getitem__(self, table: str) -> Table:
        if table not in self.tables:
            raise KeyError(f"no table {table!r}: there are {', '.join(self.tables)}")
        return Table(self.native, table, self.tables[table])

    def __repr__(self) -> str:
        return f"<{self.format} trace {self.path}: {self.native.end / 1e9:.3f} s>"

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *failure: object) -> None:
        """Does nothing: a trace holds only memory, which is freed with its last reference."""

    def sql(self, query: str, *others: Trace | str | os.PathLike[str], limit: float = 0) -> Rows:
        """Run a query over the tables of this trace and of every report (docs/guide/sql.md); `others` are traces 2, 3, ... of it.
        `limit`: seconds after which it ends with Error; 0 = never."""
        try:
            from . import _sql
        except ImportError:
            raise _native.Error("this build has no SQLite") from None
        return Rows(_sql.run([self.native.model(), *(_trace(t).native.model() for t in others)], query, limit, _native.Error))

    def report(self, output: str | os.PathLike[str]) -> str:
        """Write the report page (`tidemark report`). Returns its path."""
        return self._write("report", output)

    def export(self, output: str | os.PathLike[str]) -> str:
        """Write the trace for another tool (`tidemark export`). The extension selects the format: .pftrace, .json.gz, .pb.gz,
        .speedscope.json, .folded, .pickle. Returns its path."""
        return self._write("export", output)

    def _write(self, command: str, output: str | os.PathLike[str]) -> str:
        done = subprocess.run([_home.program(), command, "-o", os.fspath(output), "--", self.path], capture_output=True, text=True, errors="replace",
                              check=False)
        if done.returncode:
            raise _native.Error((done.stderr.strip().split("\n") or [""])[0] or f"tidemark {command}: exit status {done.returncode}")
        return os.fspath(output)

    def _find_report(self, name: str, options: dict[str, Any], **traces: Any) -> Any:
        if "other" in traces:
            return report(name, [self, _trace(traces["other"])], options)
        if "size" in traces:
            return report(name, [(traces["size"], self), *((n, _trace(t)) for n, t in traces["others"].items())], options)
        return report(name, [self], options)

    def ask(self, command: str, **options: Any) -> dict[str, Any]:
        """Return any report by its name: trace.ask("leaks"), trace.ask("memory", at="peak")."""
        return report(command, [self], options)


def _trace(trace: Trace | str | os.PathLike[str]) -> Trace:
    return trace if isinstance(trace, Trace) else Trace(trace)


def open(path: str | os.PathLike[str]) -> Trace:
    """Open a trace; its content determines the format. Raises Error with one line of text."""
    return Trace(path)
