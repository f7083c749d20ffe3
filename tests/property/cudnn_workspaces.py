#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The bounds of cuDNN's workspaces (python/hook/tidemark_cudnn.py) hold for what cuDNN requested on an H200: 2,500 of the 20,000 random convolutions of
`bench/torch/cudnn_probe.py --any`."""
import gzip
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python/hook"))
import tidemark_cudnn as rules  # noqa: E402

MIB, H200 = 1 << 20, 132
BYTES = {"f32": 4, "f16": 2, "bf16": 2}
NEAR = {("forward", 2): 0.86, ("dgrad", 2): 0.87, ("wgrad", 2): 0.52, ("forward", 4): 0.68, ("dgrad", 4): 0.72, ("wgrad", 4): 0.41}  # within 1 MiB of the likely size


def main() -> int:
    with gzip.open(ROOT / "tests/data/cudnn_workspaces.json.gz", "rt", encoding="utf-8") as f:
        rows = json.load(f)["rows"]
    near, all_, outside = {}, {}, []
    for x, w, y, stride, dilation, transposed, dtype, last, *taken in rows:
        shape = rules.Shape(tuple(x), tuple(y), tuple(w), (stride,) * (len(x) - 2), BYTES[dtype], last, transposed, 8 if dtype == "f16" else 16, dilation)
        for name, kind, took in zip(("forward", "dgrad", "wgrad"), (rules.FORWARD, rules.DGRAD, rules.WGRAD), taken):
            told = rules.convolution(kind, shape, H200)
            assert 0 <= told.least <= told.likely <= told.most, (shape, told)
            if not told.least - 512 <= took <= told.most + 512:
                outside.append((name, shape, took, told))
            key = name, BYTES[dtype]
            all_[key] = all_.get(key, 0) + 1
            near[key] = near.get(key, 0) + (abs(told.likely - took) <= MIB)
    assert len(rows) > 2000 and len(outside) <= 3, outside
    for key, n in all_.items():
        assert near[key] / n >= NEAR[key], (key, near[key], n)
    print(f"{sum(all_.values())} workspaces, {len(outside)} outside their bounds")
    return 0


if __name__ == "__main__":
    sys.exit(main())
