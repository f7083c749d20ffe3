# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""UnifiedProfiler: time and memory of a block of code and a function, and the comparison of two sessions."""
import tempfile

import torch
from tidemark.profiling import UnifiedProfiler

model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))
x = torch.randn(64, 256)

profiler = UnifiedProfiler(output_dir=tempfile.mkdtemp())
with profiler.profile("step") as session:
    model(x).sum().backward()
print(f"{session.device_name}: {session.total_time_ms:.2f} ms, GPU busy {session.cuda_time_ms:.2f} ms, peak {session.peak_memory_mb:.2f} MB")
for kernel in session.kernels[:5]:
    print(f"  {kernel.name}: {kernel.cuda_time_us:.0f} us, grid {kernel.grid}, block {kernel.block}")
print("trace:", session.trace_path)

small = profiler.profile_function(model, x[:8], name="small", warmup=1, iterations=5)
large = profiler.profile_function(model, x, name="large", warmup=1, iterations=5)
change = profiler.compare_sessions(large, small)
print(f"8 rows against 64: {change['speedup']:.2f}x")
