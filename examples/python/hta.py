# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""HTAAnalyzer: a breakdown of device time. `hta.py trace.json[.gz]` reads a trace; without one it profiles a model."""
import sys
import tempfile

import torch
from tidemark.profiling import HTAAnalyzer

analyzer = HTAAnalyzer(output_dir=tempfile.mkdtemp())
if len(sys.argv) > 1:
    report = analyzer.analyze_trace(sys.argv[1])
else:
    report = analyzer.profile_and_analyze(torch.nn.Linear(256, 256), torch.randn(64, 256), warmup=1, iterations=5)
print(f"idle {report.gpu_idle_time_pct:.1f} %, compute {report.compute_time_pct:.1f} %, communication {report.communication_time_pct:.1f} %")
for kernel in report.top_kernels[:5]:
    print(f"  {kernel['name'][:60]}: {kernel['time_us']:.0f} us")
for text in report.recommendations:
    print("-", text)
