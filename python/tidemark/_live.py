# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The recording in progress, read while it grows: numbers and the memory curve, for a prompt or a notebook."""
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


def spark(values: list[int], width: int = 60) -> str:
    """The highest value of each of `width` equal parts, as blocks."""
    if not values or not max(values):
        return ""
    parts = [max(values[i * len(values) // width : max((i + 1) * len(values) // width, i * len(values) // width + 1)])
             for i in range(min(width, len(values)))] if len(values) > width else values
    top = max(parts)
    return "".join(_BLOCKS[min(7, v * 8 // (top + 1))] for v in parts)


class Live:
    """What the recording says at this moment. `devices` are those of `tidemark memory --json`."""

    def __init__(self) -> None:
        self.recording = _native.recording()
        self.stats = _native.stats()
        self.path = _record._path
        self.devices: list[dict[str, Any]] = []
        if self.path:
            from ._trace import ask

            try:
                self.devices = ask("memory", self.path)["devices"]
            except _native.Error:  # moved or removed meanwhile: the recorder's own numbers are left
                pass

    def _head(self) -> str:
        lost = sum(self.stats[k] for k in ("lost_full", "lost_signal", "lost_other"))
        state = "recording" if self.recording else "not recording"
        return f"{state} {self.path or ''}: {self.stats['events']} events, {lost} lost, {size(self.stats['written'])}"

    def __repr__(self) -> str:
        lines = [self._head()]
        for d in self.devices:
            t = d["totals"]
            lines.append(f"  {d['device']}: {size(t['live_bytes'])} in {t['live_count']}, peak {size(t['peak_bytes'])}  "
                         + spark(d["live_series_bytes"]))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [f"<p>{html.escape(self._head())}</p>"]
        for d in self.devices:
            t, series = d["totals"], d["live_series_bytes"]
            top, last = max([*series, 1]), max(len(series) - 1, 1)
            points = " ".join(f"{i * 400 / last:.1f},{60 - v * 58 / top:.1f}" for i, v in enumerate(series))
            rows.append(f"<p><b>{html.escape(d['device'])}</b> {size(t['live_bytes'])} in {t['live_count']}, peak "
                        f"{size(t['peak_bytes'])}<br><svg width='400' height='60' viewBox='0 0 400 60' role='img' "
                        f"aria-label='memory over time'><polyline points='{points}' fill='none' stroke='currentColor'/></svg></p>")
        return "".join(rows)


def live() -> Live:
    """Numbers of the recording in progress (or of the last one)."""
    return Live()
