# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Draws lines over two logarithmic axes, as SVG. Text has the colour of the surrounding page."""
from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

WIDTH, LEFT, RIGHT, TOP, HIGH, LINE = 560, 64, 24, 16, 230, 16  # of the plot; HIGH without the axis and the legend
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccaa22", "#aa3377")
_FONT = "font-size='11' font-family='sans-serif' fill='currentColor'"


@dataclass
class Series:
    name: str
    points: list[tuple[float, float]]  # x above 0; a y of 0 is drawn on the lowest line
    absent: str = ""  # reason if it has no points


def _short(n: float) -> str:
    for unit, name in ((1e9, " B"), (1e6, " M"), (1e3, " K")):
        if n >= unit:
            return f"{n / unit:g}{name}"
    return f"{n:g}"


class Plot:
    def __init__(self, series: list[Series]) -> None:
        self.series = series
        xs = [x for s in series for x, _ in s.points]
        ys = [math.log10(y) for s in series for _, y in s.points if y > 0]
        self.ticks = sorted(set(xs))
        self.x0, self.x1 = (math.log10(min(xs)), math.log10(max(xs))) if xs else (0.0, 1.0)
        self.x1 = max(self.x1, self.x0 + 1)
        self.y0, self.y1 = (math.floor(min(ys)), math.ceil(max(ys))) if ys else (-1, 1)
        self.y1 = max(self.y1, self.y0 + 1)

    def x(self, v: float) -> float:
        return LEFT + (math.log10(v) - self.x0) / (self.x1 - self.x0) * (WIDTH - LEFT - RIGHT)

    def y(self, v: float) -> float:
        at = math.log10(v) if v > 0 else self.y0
        return TOP + (self.y1 - at) / (self.y1 - self.y0) * (HIGH - TOP)

    def _grid(self) -> Iterator[str]:
        for p in range(self.y0, self.y1 + 1, max(1, (self.y1 - self.y0) // 6)):
            y = self.y(10.0**p)
            yield f"<line x1='{LEFT}' x2='{WIDTH - RIGHT}' y1='{y:.1f}' y2='{y:.1f}' stroke='currentColor' stroke-opacity='0.15'/>"
            yield f"<text x='{LEFT - 6}' y='{y + 4:.1f}' text-anchor='end' {_FONT}>{10.0**p:g}%</text>"
        for v in self.ticks:
            yield f"<text x='{self.x(v):.1f}' y='{HIGH + 18}' text-anchor='middle' class='tick' {_FONT}>{_short(v)}</text>"

    def _line(self, s: Series, colour: str) -> Iterator[str]:
        yield f"<polyline points='{' '.join(f'{self.x(a):.1f},{self.y(b):.1f}' for a, b in s.points)}' fill='none' stroke='{colour}' stroke-width='1.5'/>"
        for a, b in s.points:  # an empty circle: 0
            yield (f"<circle cx='{self.x(a):.1f}' cy='{self.y(b):.1f}' r='3' fill='{colour if b > 0 else 'none'}' stroke='{colour}'>"
                   f"<title>{escape(s.name)}, {a:,.0f}: {b:.3g}%</title></circle>")

    def _legend(self, i: int, s: Series, colour: str) -> str:
        y = HIGH + 54 + i * LINE
        return (f"<line x1='{LEFT}' x2='{LEFT + 20}' y1='{y - 4}' y2='{y - 4}' stroke='{colour}' stroke-width='2' stroke-opacity='{1 if s.points else 0.3}'/>"
                f"<text x='{LEFT + 28}' y='{y}' class='legend' {_FONT}>{escape(s.name + (f': {s.absent}' if s.absent else ''))}</text>")

    def svg(self, label: str) -> str:
        height = HIGH + 62 + len(self.series) * LINE
        parts = list(self._grid())
        for i, s in enumerate(self.series):
            colour = COLOURS[i % len(COLOURS)]
            parts += [*(self._line(s, colour) if s.points else ()), self._legend(i, s, colour)]
        return (f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{height}' viewBox='0 0 {WIDTH} {height}' role='img' aria-label='{escape(label)}'>{''.join(parts)}"
                f"<text x='{WIDTH / 2}' y='{HIGH + 34}' text-anchor='middle' {_FONT}>{escape(label)}</text></svg>")
