# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""What a wrapper costs beside the plain array, by the number of elements: a table and a plot."""
from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _kinds, _stats, _walk
from ._advice import size

SIZES = (10, 1_000, 1_000_000, 1_000_000_000)
LARGE = 100_000_000  # elements from which on arrays are mapped from an empty file, and tensors have no memory


@dataclass
class SizeRow:
    """Bytes at one size; None: not known here."""
    elements: int
    data_bytes: int
    overhead_bytes: int
    numpy_bytes: int | None  # header and elements of the plain array
    torch_bytes: int | None  # a plain tensor: object and elements
    gpu_bytes: int | None  # what the device's allocator gave for the wrapper
    gpu_plain_bytes: int | None  # what it gave for a plain tensor

    @property
    def overhead_percent(self) -> float:
        return self.overhead_bytes / self.data_bytes * 100 if self.data_bytes else math.inf


@dataclass
class SizeTable:
    rows: list[SizeRow] = field(default_factory=list)

    def __str__(self) -> str:
        head = ["elements", "data", "overhead", "% of data", "NumPy", "torch", "GPU", "GPU, plain"]
        lines = [[f"{r.elements:,}", size(r.data_bytes), size(r.overhead_bytes), f"{r.overhead_percent:.3g}%", *map(_known, (r.numpy_bytes, r.torch_bytes, r.gpu_bytes, r.gpu_plain_bytes))]
                 for r in self.rows]
        widths = [max(map(len, column)) for column in zip(head, *lines)]
        return "\n".join("  ".join(cell.rjust(w) for cell, w in zip(line, widths)) for line in [head, *lines])

    def svg(self, width: int = 480, height: int = 240) -> str:
        """Overhead in percent of the data over elements, both axes logarithmic. Colours are the reader's own."""
        points = [(math.log10(r.elements), math.log10(max(r.overhead_percent, 1e-12)), r) for r in self.rows if r.elements and r.overhead_bytes and r.data_bytes]
        if not points:
            return f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}'/>"
        x0, x1 = points[0][0], max(points[-1][0], points[0][0] + 1)
        y0, y1 = math.floor(min(p[1] for p in points)), math.ceil(max(p[1] for p in points)) or 1
        y1 = max(y1, y0 + 1)

        def x(v: float) -> float:
            return 60 + (v - x0) / (x1 - x0) * (width - 90)

        def y(v: float) -> float:
            return 20 + (y1 - v) / (y1 - y0) * (height - 60)

        text = "font-size='11' font-family='sans-serif' fill='currentColor'"
        grid = "".join(f"<line x1='60' x2='{width - 30}' y1='{y(v):.1f}' y2='{y(v):.1f}' stroke='currentColor' stroke-opacity='0.15'/>"
                       f"<text x='54' y='{y(v) + 4:.1f}' text-anchor='end' {text}>{10.0 ** v:g}%</text>" for v in range(y0, y1 + 1, max(1, (y1 - y0) // 6)))
        line = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b, _ in points)
        dots = "".join(f"<circle cx='{x(a):.1f}' cy='{y(b):.1f}' r='3' fill='currentColor'><title>{r.elements:,}: {r.overhead_percent:.3g}%</title></circle>"
                       f"<text x='{x(a):.1f}' y='{height - 22}' text-anchor='middle' {text}>{_short(r.elements)}</text>" for a, b, r in points)
        return (f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' viewBox='0 0 {width} {height}' role='img' aria-label='overhead by elements'>"
                f"{grid}<polyline points='{line}' fill='none' stroke='currentColor' stroke-width='1.5'/>{dots}"
                f"<text x='{width / 2}' y='{height - 6}' text-anchor='middle' {text}>elements; overhead in percent of the data</text></svg>")


def _known(n: int | None) -> str:
    return "unknown" if n is None else size(n)


def _short(n: int) -> str:
    for unit, name in ((10**9, " B"), (10**6, " M"), (10**3, " K")):
        if n >= unit:
            return f"{n // unit}{name}"
    return str(n)


def _array(n: int, folder: str) -> Any:
    import numpy

    return numpy.zeros(n) if n < LARGE else numpy.memmap(f"{folder}/{n}", dtype="f8", mode="w+", shape=(n,))  # a file without blocks


def _tensor_bytes(n: int) -> int | None:
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    tensor = torch.empty(n, dtype=torch.float64, device="meta" if n >= LARGE else "cpu")
    data, _ = _kinds.array_size(tensor)
    return data + _kinds.shallow(tensor)


def _gpu_bytes(make: Callable[[Any], Any], n: int, device: str) -> int | None:
    """What the allocator gives for make(tensor) on a CUDA device; None without one, or if it does not fit."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    before = int(torch.cuda.memory_allocated(device))
    try:
        kept = make(torch.empty(n, dtype=torch.float64, device=device))
    except (torch.cuda.OutOfMemoryError, TypeError):
        return None
    after = int(torch.cuda.memory_allocated(device))
    del kept
    return after - before


def overhead_by_size(wrap: Callable[[Any], Any], sizes: Sequence[int] = SIZES, *, wrap_tensor: Callable[[Any], Any] | None = None, device: str = "cuda:0") -> SizeTable:
    """`wrap` makes the wrapper of a NumPy array of float64; `wrap_tensor` that of a tensor on `device`, for the GPU's columns."""
    table = SizeTable()
    with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
        for n in sizes:
            array = _array(n, folder)
            wrapped = wrap(array)
            s = _stats.memory_stats(wrapped)
            header = sum(b for _, _, b in _walk.walk([array])["types"]) if n < LARGE else _kinds.shallow(array)
            gpu = _gpu_bytes(wrap_tensor, n, device) if wrap_tensor else None
            plain = _gpu_bytes(lambda t: t, n, device)
            table.rows.append(SizeRow(n, s.data_bytes, s.metadata_bytes + s.uncertainty_bytes, s.data_bytes + header, _tensor_bytes(n), gpu, plain))
            del wrapped, array
    return table
