# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""TorchCompileAnalyzer: graph breaks, fusion, time against eager. The compiler needs g++ on a CPU."""
import tempfile

import torch
from tidemark.profiling import TorchCompileAnalyzer


def model(x: torch.Tensor) -> torch.Tensor:
    y = (x * 2 + 1).relu()
    print("", end="")  # a graph break
    return (y - 3).sum()


analyzer = TorchCompileAnalyzer(output_dir=tempfile.mkdtemp())
report = analyzer.analyze(model, torch.randn(256, 256), warmup=2, iterations=5)
print(f"compiled in {report.compile_time_ms / 1000:.1f} s, {report.speedup:.2f}x, {report.total_graph_breaks} graph breaks, "
      f"{report.ops_before_fusion} ops in {report.ops_after_fusion} calls")
for b in report.graph_breaks:
    print(f"  {b.location}:{b.line_number}: {b.reason} -> {b.suggestion}")
for text in report.recommendations:
    print("-", text)
