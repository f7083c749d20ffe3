# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""MemoryProfiler: memory over time, with exact peaks between samples."""
import os
import tempfile

import torch
from tidemark.profiling import MemoryProfiler

model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10))
optimizer = torch.optim.Adam(model.parameters())
memory = MemoryProfiler(sample_interval_ms=1.0)

with memory.track("training"):
    for step in range(3):
        with memory.track(f"step {step}"):
            model(torch.randn(256, 512)).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

peak = memory.get_peak_analysis()
print(f"peak {peak['peak_allocated_mb']:.2f} MB at {peak['peak_time_ms']:.1f} ms on {peak['device']}")
print("by role:", {k: round(v, 2) for k, v in peak["breakdown"].items()})
for name, when in memory.markers().items():
    print(f"  {name}: {when['start_ms']:.1f} to {when['end_ms']:.1f} ms")
print(len(memory.get_timeline()), "points, written to", memory.export(os.path.join(tempfile.mkdtemp(), "memory.json")))
