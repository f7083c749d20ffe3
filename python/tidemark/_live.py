# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Reads the recording in progress while it grows: figures and the memory curve, for a prompt or a notebook."""
from __future__ import annotations

import html
from typing import Any

from . import _native, _record

_BLOCKS = "▁▂▃▄▅▆▇█"


def size(n: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(n) < 1024 or unit == "TiB":
            return f"{n:.0f} {unit}" if unit == "B" else f"{n:.2f} {unit}"
        n /= 1024
    raise AssertionError


def counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def spark(values: list[int], width: int = 60) -> str:
    """Returns the highest value of each of `width` equal parts as block characters."""
    if not values or not max(values):
        return ""
    parts = [max(values[i * len(values) // width : max((i + 1) * len(values) // width, i * len(values) // width + 1)])
             for i in range(min(width, len(values)))] if len(values) > width else values
    top = max(parts)
    return "".join(_BLOCKS[min(7, v * 8 // (top + 1))] for v in parts)


def svg(values: list[int], seconds: float, width: int = 480, height: int = 96) -> str:
    """Returns the curve of values at equal intervals as SVG, with its highest point marked. Colours are the notebook's own."""
    top, last = max([*values, 1]), max(len(values) - 1, 1)
    x0, floor, roof = 4, height - 16, 16

    def x(i: int) -> float:
        return x0 + i * (width - 2 * x0) / last

    def y(v: float) -> float:
        return floor - v * (floor - roof) / top

    line = " ".join(f"{x(i):.1f},{y(v):.1f}" for i, v in enumerate(values))
    peak = values.index(max(values)) if values else 0
    anchor = "start" if peak < last / 3 else "end" if peak > 2 * last / 3 else "middle"
    text = "font-size='10' font-family='sans-serif' fill='currentColor'"
    return (f"<svg width='{width}' height='{height}' viewBox='0 0 {width} {height}' role='img' aria-label='memory over time, highest {size(top)}'>"
            f"<polygon points='{x(0):.1f},{floor} {line} {x(last):.1f},{floor}' fill='currentColor' fill-opacity='0.15'/>"
            f"<polyline points='{line}' fill='none' stroke='currentColor'/>"
            f"<line x1='{x0}' y1='{floor}' x2='{width - x0}' y2='{floor}' stroke='currentColor' stroke-opacity='0.4'/>"
            f"<circle cx='{x(peak):.1f}' cy='{y(values[peak] if values else 0):.1f}' r='2.5' fill='currentColor'/>"
            f"<text x='{x(peak):.1f}' y='{roof - 5}' text-anchor='{anchor}' {text}>{size(top)}</text>"
            f"<text x='{x0}' y='{height - 4}' {text}>0 s</text>"
            f"<text x='{width - x0}' y='{height - 4}' text-anchor='end' {text}>{seconds:.1f} s</text></svg>")


class Live:
    """The state of the recording at this moment. `devices` is the member of `tidemark memory --json`."""

    def __init__(self) -> None:
        self.recording: bool = _native.recording()
        if self.recording:
            _record.look()
        self.removed: bool = _native.removed()
        self.stats: dict[str, int] = _native.stats()
        self.path: str | None = _record.path_now()
        self.seconds: float = 0.0
        self.devices: list[dict[str, Any]] = []
        if self.path:
            from ._trace import Trace

            try:
                found = Trace(self.path).ask("memory")
                self.devices, self.seconds = found["devices"], found["duration_ns"] / 1e9
            except _native.Error:  # the file was renamed or removed: only the recorder's own figures remain
                pass

    def _head(self) -> str:
        lost = sum(self.stats[k] for k in ("lost_full", "lost_signal", "lost_other"))
        state = "recording" if self.recording else "recorded" if self.path else "not recording"
        gone = " (removed: what is recorded is lost)" if self.removed else ""
        return f"{state}{' ' + self.path if self.path else ''}{gone}: {self.stats['events']} events, {lost} lost, {size(self.stats['written'])}"

    @staticmethod
    def _numbers(device: dict[str, Any]) -> str:
        t = device["totals"]
        held = "unknown" if t["reserved_bytes"] is None else size(t["reserved_bytes"])
        told = " (sampled)" if t["reserved_source"] == "samples" and t["reserved_bytes"] is not None else ""
        reserved = "" if t["reserved_bytes"] is None and device["device"] == "cpu" else f", reserved {held}{told}"  # a heap has no reserved bytes
        if device["sampled"] is not None:  # its allocator reports nothing: show the samples of its own counter
            s = device["sampled"]
            own = s["own_peak_bytes"] or 0
            told = f" {size(own)} by its own counter," if own > (s["peak_bytes"] or 0) else ""
            return f"sampled {size(s['allocated_bytes'])}, at most{told} {size(s['peak_bytes'])} in {counted(s['samples'], 'sample')}{reserved}"
        return f"{size(t['live_bytes'])} in {counted(t['live_count'], 'allocation')}, peak {size(t['peak_bytes'])}{reserved}"

    @staticmethod
    def _curve(device: dict[str, Any]) -> list[int]:
        s = device["sampled"]
        return [v or 0 for v in s["series_bytes"]] if s is not None else list(device["live_series_bytes"])

    def __repr__(self) -> str:
        lines = [self._head()]
        lines += [f"  {d['device']}: {self._numbers(d)}  " + spark(self._curve(d)) for d in self.devices]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [f"<p>{html.escape(self._head())}</p>"]
        rows += [f"<p><b>{html.escape(d['device'])}</b> {html.escape(self._numbers(d))}<br>{svg(self._curve(d), self.seconds)}</p>"
                 for d in self.devices]
        return "".join(rows)


def live() -> Live:
    """Returns figures of the recording in progress, or of the last one."""
    return Live()
