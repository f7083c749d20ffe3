# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""FlameGraphGenerator: from a profiler object and from a list of kernels."""
import os
import tempfile

import torch
from tidemark.profiling import FlameGraphGenerator

with torch.profiler.profile() as prof:
    torch.nn.Linear(256, 256)(torch.randn(64, 256)).relu()

generator = FlameGraphGenerator(min_duration_us=1.0, max_depth=50)
flame = generator.from_profiler(prof)
print(flame["name"], f"{flame['value']:.0f} us,", len(flame["children"]), "children")
print(generator.export(flame, os.path.join(tempfile.mkdtemp(), "flame.json")))

kernels = generator.from_kernel_list([{"name": "ampere_sgemm_128x64", "time_us": 900}, {"name": "softmax_forward", "time_us": 80}])
print({child["name"]: child["value"] for child in kernels["children"]})
