# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Shared by the profiling classes: opening a trace from any input, timing with synchronised devices, pages."""
from __future__ import annotations

import atexit
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
from .._native import Error
from .._trace import Trace

MB = 1024 * 1024
_LONGEST = 180  # bytes of a name in a file name: stamps and suffixes follow


def _events_of_profiler(profiler: Any) -> list[Any]:
    """Returns the events of a torch.profiler object, or of one of torch.autograd.profiler. Raises Error while it has none."""
    inner = getattr(profiler, "profiler", profiler)
    if inner is None or getattr(inner, "function_events", None) is None and getattr(inner, "kineto_results", None) is None:
        raise Error("torch.profiler has recorded nothing yet")
    if getattr(inner, "kineto_results", profiler) is None:
        raise Error("torch.profiler is still running: its events are there after its block")
    return list(profiler.events() if hasattr(profiler, "events") else profiler.function_events)


def _category(e: Any) -> str:
    """Returns the category that torch's own export gives an event; torch before 2.9 does not say."""
    known = getattr(e, "activity_type", None)
    if known:
        return str(known)
    if "CPU" not in str(e.device_type):
        return "gpu_memcpy" if e.name.startswith("Memcpy") else "gpu_memset" if e.name.startswith("Memset") else "kernel"
    runtime = e.name.startswith(("cuda", "hip"))
    return "cuda_runtime" if runtime else "user_annotation" if getattr(e, "is_user_annotation", False) else "cpu_op"


def _arguments(e: Any) -> dict[str, Any]:
    """Returns the arguments of an event in a Chrome trace: torch's own, and the ids that link a kernel with its op."""
    given_text = getattr(e, "event_metadata", None) or ("" if hasattr(e, "event_metadata") else getattr(e, "metadata_json", ""))
    given: Any = given_text
    if isinstance(given_text, str) and given_text:
        with contextlib.suppress(ValueError):
            given = json.loads(given_text if given_text.lstrip().startswith("{") else f"{{{given_text}}}")
    args: dict[str, Any] = dict(given) if isinstance(given, dict) else {}
    if _category(e) == "cpu_op":
        args["External id"] = e.id
    elif "External id" not in args and getattr(e, "linked_correlation_id", None):
        args["External id"] = e.linked_correlation_id
    if _category(e) not in ("cpu_op", "user_annotation", "python_function"):
        args.setdefault("correlation", e.id)
    if "CPU" not in str(e.device_type):
        args |= {"stream": getattr(e, "device_resource_id", e.thread), "device": e.device_index}
    if getattr(e, "input_shapes", None):
        args["Input Dims"] = [list(s) for s in e.input_shapes]
    return args


def _export(profiler: Any) -> str:
    """Writes the events of a profiler as a Chrome trace, in a file that lives as long as the profiler. torch's own export stays the
    user's: torch saves a trace only once."""
    rows = []
    for e in _events_of_profiler(profiler):
        if e.name == "[memory]" or getattr(e, "is_async", False):
            continue
        host = "CPU" in str(e.device_type)
        rows.append({"ph": "X", "cat": _category(e), "name": e.name, "ts": e.time_range.start, "dur": e.time_range.end - e.time_range.start, "pid": os.getpid() if host else e.device_index,
                     "tid": getattr(e, "device_resource_id", 0) or e.thread, "args": _arguments(e)})
    folder = tempfile.mkdtemp(prefix="tidemark-")
    weakref.finalize(profiler, shutil.rmtree, folder, ignore_errors=True)
    path = os.path.join(folder, "trace.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"traceEvents": rows}, file)
    return path


def remove(folder: str, process: int) -> None:
    """Removes a folder of a process; its forked children leave it alone."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def output_folder(given: str | os.PathLike[str] | None, name: str) -> str:
    """Returns the folder for files: the given one, else a temporary one that is removed when the process ends."""
    if given is not None:
        return os.fspath(given)
    folder = tempfile.mkdtemp(prefix=f"tidemark-{name}-")
    atexit.register(remove, folder, os.getpid())
    return folder


def kept_as(report: str) -> dict[str, str]:
    """Returns the first members of a document: read_report() and the program know it by them."""
    return {"format": "tidemark-profiling", "report": report}


def file_name(name: str) -> str:
    """Returns the name of a session as a part of a file name: no folders, not hidden, no longer than file systems allow."""
    return re.sub(r"[^\w.-]+", "_", name).lstrip(".").encode(errors="replace")[:_LONGEST].decode(errors="ignore") or "profile"


@contextlib.contextmanager
def trace_of(source: Any) -> Iterator[str]:
    """Returns the path of a trace, given a path, a Trace or a torch.profiler object that has ended (its file lives as long as it)."""
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
        return f"<td{kind}>" + html.escape(f"{v:,.1f}" if isinstance(v, float) else str(v))

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
