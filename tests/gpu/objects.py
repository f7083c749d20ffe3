#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""tidemark.objects on a real device: needs Python 3.10 and PyTorch only, nothing that is built.

    python3 tests/gpu/objects.py      # anywhere in the checkout, on the machine with the device

Checks devices, views, deltas and PyTorch's counters, then prints overhead by size (10, 1 K, 1 M, 1 B elements); $OUT/objects-overhead.svg
is the plot and $OUT/objects.json has the figures. Exit status 1: a check failed, 77: no device. Where the package is not installed, the
sources of the checkout are used, with the walk in Python.
"""
import importlib.machinery
import json
import os
import sys
import tempfile
import types

try:
    import torch
except ImportError:
    print("skipped: no PyTorch")
    sys.exit(77)
if not torch.cuda.is_available():
    print("skipped: no CUDA device")
    sys.exit(77)
try:
    import tidemark
except ImportError:  # the extension is not built: a package with the sources alone
    tidemark = types.ModuleType("tidemark")
    tidemark.__path__ = [os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "python", "tidemark")]
    tidemark.__spec__ = importlib.machinery.ModuleSpec("tidemark", None, is_package=True)
    sys.modules["tidemark"] = tidemark
from tidemark import objects  # noqa: E402

OUT = os.environ.get("OUT") or tempfile.mkdtemp()
MIB = 1 << 20
failed = []


class Unit:
    __slots__ = ("scale", "symbol")

    def __init__(self, symbol, scale=1.0):
        self.symbol, self.scale = symbol, scale


class Quantity(objects.MemoryStatsMixin):
    __slots__ = ("unit", "values")

    def __init__(self, values, unit):
        self.values, self.unit = values, unit


objects.register(Quantity, data="values", metadata="unit")
metre = Unit("m")


def check(what, found, wanted):
    good = found == wanted
    print(f"{'ok' if good else 'FAILED'}: {what}: {found}{'' if good else f', not {wanted}'}")
    if not good:
        failed.append(what)


def devices_and_views():
    x = Quantity(torch.zeros(MIB, device="cuda"), metre)
    s = x.memory_stats()
    check("device and bytes of a CUDA tensor", (s.device, s.data_bytes), ("cuda:0", 4 * MIB))
    view = Quantity(x.values[MIB // 2:], metre)
    check("a view counts its own elements", view.memory_stats().data_bytes, 2 * MIB)
    check("an expanded tensor counts its buffer", objects.memory_stats(Quantity(torch.zeros(1, device="cuda").expand(MIB), metre)).data_bytes, 4)
    f = objects.footprint([x, view, x.values.t()])
    check("three owners, one buffer", f.by_device, {"cuda:0": 4 * MIB})
    host = Quantity(torch.zeros(MIB), metre)
    check("host and device apart", objects.footprint([x, host]).by_device, {"cuda:0": 4 * MIB, "cpu": 4 * MIB})
    grad = torch.zeros(MIB, device="cuda", requires_grad=True)
    grad.sum().backward()
    check("a gradient has a buffer of its own", objects.footprint([grad]).by_device, {"cuda:0": 8 * MIB})
    return x, view


def counters(x, view):
    s = objects.gpu_memory_stats(0, [x, view])
    check("PyTorch's counters", (s.device, s.allocated_bytes, s.reserved_bytes, s.peak_bytes),
          ("cuda:0", torch.cuda.memory_allocated(0), torch.cuda.memory_reserved(0), torch.cuda.max_memory_allocated(0)))
    check("estimate: storages of the arrays, each once", s.dimtensor_estimate, 4 * MIB)
    check("estimate of all live wrappers", objects.gpu_memory_stats("cuda").dimtensor_estimate >= 4 * MIB, True)
    check("names", [objects.gpu_memory_stats(d, []).device for d in (0, "cuda", "cuda:0")], ["cuda:0"] * 3)
    print("    " + "; ".join(objects.gpu_recommendations(s) or ["no recommendations"]))


def sessions():
    with objects.MemoryProfiler() as p:
        kept = torch.zeros(MIB, device="cuda")
        p.mark("kept")
        del kept
        p.mark("dropped")
    check("growth of the device by mark", p.device_growth, [("kept", {"cuda:0": 4 * MIB}), ("dropped", {"cuda:0": -4 * MIB})])
    check("delta of the block", p.device_bytes, {"cuda:0": 0})


def sizes():
    wrap = lambda a: Quantity(a, metre)  # noqa: E731
    table = objects.overhead_by_size(wrap, wrap_tensor=wrap)
    print(table)
    check("sizes", [r.elements for r in table.rows], [10, 1000, 10**6, 10**9])
    check("the wrapper costs the device nothing", [r.gpu_bytes for r in table.rows], [r.gpu_plain_bytes for r in table.rows])
    check("every size was measured on the device", [r.elements for r in table.rows if r.gpu_bytes is None], [])
    with open(os.path.join(OUT, "objects-overhead.svg"), "w", encoding="utf-8") as f:
        f.write(table.svg())
    with open(os.path.join(OUT, "objects.json"), "w", encoding="utf-8") as f:
        json.dump({"device": torch.cuda.get_device_name(), "torch": torch.__version__, "python": sys.version.split()[0], "rows": [vars(r) for r in table.rows], "failed": failed}, f, indent=1)


print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, Python {sys.version.split()[0]}; the walk in {'C' if 'tidemark._objects' in sys.modules else 'Python'}")
counters(*devices_and_views())
sessions()
sizes()
print(f"{len(failed)} checks failed" if failed else "all checks passed")
sys.exit(bool(failed))
