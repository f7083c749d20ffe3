# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""TimelineGenerator: active time of CPU and GPU, and their overlap."""
import os
import tempfile

import torch
from tidemark.profiling import TimelineGenerator

with torch.profiler.profile() as prof:
    torch.nn.Linear(256, 256)(torch.randn(64, 256)).sum().backward()

generator = TimelineGenerator(min_duration_us=1.0)
timeline = generator.from_profiler(prof)
print(f"total {timeline.total_time_us / 1000:.2f} ms, CPU {timeline.cpu_active_time_us / 1000:.2f} ms")
if timeline.has_gpu_time:
    print(f"GPU {timeline.gpu_active_time_us / 1000:.2f} ms, overlap {timeline.overlap_time_us / 1000:.2f} ms")
else:
    print("no device rows: GPU time and overlap are unknown")
print(generator.export_chrome_trace(timeline, os.path.join(tempfile.mkdtemp(), "timeline.json")))
