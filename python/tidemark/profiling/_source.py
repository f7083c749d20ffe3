# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Shared by the profiling classes: opening a trace from any input, timing with synchronised devices, pages."""
from __future__ import annotations

import collections
import contextlib
import gzip
import html
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from .._home import program
from .._trace import Trace

MB = 1024 * 1024
_LONGEST = 180  # bytes of a name in a file name: stamps and suffixes follow


_exported: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()  # torch saves a trace only once: kept as long as its profiler


def _export(profiler: Any) -> str:
    path = _exported.get(profiler)
    if path is None:
        folder = tempfile.mkdtemp(prefix="tidemark-")
        weakref.finalize(profiler, shutil.rmtree, folder, ignore_errors=True)
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        _exported[profiler] = path
    return path


def file_name(name: str) -> str:
    """Returns the name of a session as a part of a file name: no folders, not hidden, no longer than file systems allow."""
    return re.sub(r"[^\w.-]+", "_", name).lstrip(".").encode(errors="replace")[:_LONGEST].decode(errors="ignore") or "profile"


@contextlib.contextmanager
def trace_of(source: Any) -> Iterator[str]:
    """Returns the path of a trace, given a path, a Trace or a torch.profiler object (which exports a file that lives as long as it)."""
    if isinstance(source, Trace):
        yield source.path
    elif isinstance(source, (str, os.PathLike)):
        yield os.fspath(source)
    elif hasattr(source, "export_chrome_trace"):
        yield _export(source)
    else:
        raise TypeError(f"expected a path, a trace or a torch.profiler object, got {type(source).__name__}")


def events_of(path: str) -> list[dict[str, Any]]:
    """Returns the complete events of a Chrome trace; an empty list for other formats."""
    with open(path, "rb") as file:
        head = file.read(2)
    reading: Any = gzip.open if head == b"\x1f\x8b" else open
    try:
        with reading(path, "rt", encoding="utf-8", errors="replace") as file:
            document = json.load(file)
    except ValueError:
        return []
    rows = document.get("traceEvents") if isinstance(document, dict) else document
    if not isinstance(rows, list):
        raise ValueError(f"expected traceEvents list, got {type(rows).__name__}")
    return [e for e in rows if isinstance(e, dict) and e.get("ph") == "X"]


def write_page(command: str, path: str, out: str, *options: str) -> None:
    """Writes the program's own offline page."""
    done = subprocess.run([program(), command, *options, "-o", out, "--", path], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().split("\n")[0] or f"tidemark {command} failed")


def device(torch: Any) -> Any:
    """Returns torch.cuda if there is a device, else None."""
    return torch.cuda if torch.cuda.is_available() else None


def synchronize(torch: Any) -> None:
    cuda = device(torch)
    if cuda is not None:
        cuda.synchronize()


def finished(result: Any) -> Any:
    """Completes the value that a call returned: runs a generator to its end, also an asynchronous one, a coroutine until it is done.
    Returns the result."""
    if isinstance(result, types.GeneratorType):
        collections.deque(result, maxlen=0)
    elif isinstance(result, types.AsyncGeneratorType):
        finished(_exhaust(result))
    elif isinstance(result, types.CoroutineType):
        import asyncio

        if asyncio._get_running_loop() is None:  # get_running_loop() would raise, and its exception would be shown with the coroutine's own
            return asyncio.run(result)
        result.close()  # no warning that it was never awaited
        raise RuntimeError("an event loop is running, so this coroutine cannot be run to its end: await it inside a session instead "
                           "(`with profiler.profile(...)` or `with profiler.track(...)`)")
    return result


async def _exhaust(generator: types.AsyncGeneratorType[Any, None]) -> None:
    async for _ in generator:
        pass


def timed(torch: Any, fn: Callable[[], Any], times: int) -> list[float]:
    """Returns the milliseconds of each call, including the device's work."""
    spent = []
    for _ in range(times):
        synchronize(torch)
        begin = time.perf_counter()
        finished(fn())
        synchronize(torch)
        spent.append((time.perf_counter() - begin) * 1000)
    return spent


def spread(values: list[float]) -> dict[str, float]:
    return {"mean": statistics.fmean(values), "median": statistics.median(values), "min": min(values), "max": max(values),
            "std": statistics.stdev(values) if len(values) > 1 else 0.0, "n": len(values)}


def report_page(title: str, rows: list[tuple[str, str]], tables: list[tuple[str, list[str], list[list[Any]]]], notes: list[str]) -> str:
    """Returns a small offline page of facts and tables; everything is escaped."""
    def cell(v: Any) -> str:
        kind = " class=n" if isinstance(v, (int, float)) else ""
        return f"<td{kind}>" + html.escape(f"{v:,.1f}" if isinstance(v, float) else "unknown" if v is None else str(v))

    parts = [f"<!doctype html><html lang=en><meta charset=utf-8><title>{html.escape(title)}</title>",
             "<style>body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1c2430;background:#fff}"
             "table{border-collapse:collapse;margin:1rem 0}td,th{padding:.25rem .8rem;border-bottom:1px solid #d8dee8;text-align:left;vertical-align:top}"
             "td.n{text-align:right;font-variant-numeric:tabular-nums}"
             ".green{color:#1a7f37}.amber{color:#9a6700}.red{color:#cf222e}@media(prefers-color-scheme:dark){body{color:#d8dee8;background:#12161c}}</style>",
             f"<h1>{html.escape(title)}</h1><table>"]
    parts += [f"<tr><th>{html.escape(k)}<td>{v}" for k, v in rows]
    parts.append("</table>")
    if notes:
        parts.append("<h2>Recommendations</h2><ul>" + "".join(f"<li>{html.escape(n)}" for n in notes) + "</ul>")
    for name, heads, lines in tables:
        parts.append(f"<h2>{html.escape(name)}</h2><table><tr>" + "".join(f"<th>{html.escape(h)}" for h in heads))
        parts += ["<tr>" + "".join(cell(v) for v in line) for line in lines]
        parts.append("</table>")
    return "\n".join(parts) + "</html>\n"
