# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Measures the overhead of a wrapper over the plain array by the number of elements: a table and a plot."""
from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _kinds, _plot, _stats, _walk
from ._advice import size

SIZES = (10, 1_000, 1_000_000, 1_000_000_000)
LARGE = 100_000_000  # elements from which on arrays are mapped from an empty file, and tensors have no memory


@dataclass
class SizeRow:
    """Bytes at one size; None = unknown on this machine."""
    elements: int
    data_bytes: int
    overhead_bytes: int
    numpy_bytes: int | None  # header and elements of the plain array
    torch_bytes: int | None  # a plain tensor: object and elements
    gpu_bytes: int | None  # bytes that the device's allocator returned for the wrapper
    gpu_plain_bytes: int | None  # bytes that it returned for a plain tensor

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

    def series(self) -> list[_plot.Series]:
        """Returns the overhead in percent of the data: that of the wrapper, and that of a plain array beyond its elements."""
        every = (("wrapper", "data_bytes", "without data"), ("plain NumPy array", "numpy_bytes", "NumPy is not installed"), ("plain torch tensor", "torch_bytes", "torch is not imported"),
                 ("wrapper on the GPU", "gpu_bytes", "not measured: no CUDA device, or no wrap_tensor"), ("plain tensor on the GPU", "gpu_plain_bytes", "not measured: no CUDA device"))
        return [self._one(name, key, why) for name, key, why in every]

    def _one(self, name: str, key: str, why: str) -> _plot.Series:
        points = []
        for r in self.rows:
            n = r.data_bytes + r.overhead_bytes if key == "data_bytes" else getattr(r, key)
            if n is not None and r.elements and r.data_bytes:
                points.append((float(r.elements), max(n - r.data_bytes, 0) / r.data_bytes * 100))
        return _plot.Series(name, points, "" if points else why)

    def svg(self) -> str:
        """Returns a plot of the overhead in percent of the data over elements, both axes logarithmic, one line per series;
        missing series are named."""
        return _plot.Plot(self.series()).svg("elements; overhead in percent of the data")


def _known(n: int | None) -> str:
    return "unknown" if n is None else size(n)


def _array(n: int, folder: str) -> Any:
    """Returns a NumPy array of zeros; without NumPy a tensor."""
    try:
        import numpy
    except ImportError:
        import torch

        return torch.empty(n, dtype=torch.float64, device="meta" if n >= LARGE else "cpu")
    return numpy.zeros(n) if n < LARGE else numpy.memmap(f"{folder}/{n}", dtype="f8", mode="w+", shape=(n,))  # a file without blocks


def _numpy_bytes(array: Any, data: int) -> int | None:
    if not isinstance(array, _kinds.ndarray()):
        return None
    return data + (sum(b for _, _, b in _walk.walk([array])["types"]) if array.size < LARGE else _kinds.shallow(array))


def _tensor_bytes(n: int) -> int | None:
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    tensor = torch.empty(n, dtype=torch.float64, device="meta" if n >= LARGE else "cpu")
    data, _ = _kinds.array_size(tensor)
    return data + _kinds.shallow(tensor)


def _gpu_bytes(make: Callable[[Any], Any], n: int, device: str) -> int | None:
    """Returns the bytes that make(tensor) allocates on a CUDA device; None without one, or if it does not fit."""
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
    """Measures a wrapper at several sizes. `wrap` wraps a NumPy array of float64, `wrap_tensor` a tensor on `device`, for the GPU's columns."""
    table = SizeTable()
    with tempfile.TemporaryDirectory(prefix="tidemark-") as folder:
        for n in sizes:
            array = _array(n, folder)
            wrapped = wrap(array)
            s = _stats.memory_stats(wrapped)
            gpu = _gpu_bytes(wrap_tensor, n, device) if wrap_tensor else None
            plain = _gpu_bytes(lambda t: t, n, device)
            table.rows.append(SizeRow(n, s.data_bytes, s.metadata_bytes + s.uncertainty_bytes, _numpy_bytes(array, s.data_bytes), _tensor_bytes(n), gpu, plain))
            del wrapped, array
    return table
