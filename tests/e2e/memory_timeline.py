#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Output of torch.profiler's export_memory_timeline is refused by its name, and the trace of the same profiler, which the message
names, has the allocations. Skipped without torch."""
import os
import subprocess
import sys
import tempfile

PROGRAM = """
import sys, warnings
warnings.simplefilter("ignore")
import torch
model = torch.nn.Linear(16, 16)
with torch.profiler.profile(profile_memory=True, record_shapes=True, with_stack=True) as p:
    model(torch.randn(4, 16)).sum().backward()
for end in ("json", "json.gz", "raw.json.gz"):
    p.export_memory_timeline(f"{sys.argv[1]}/m.{end}", device="cpu")
p.export_chrome_trace(f"{sys.argv[1]}/trace.json")
"""
WANT = {"m.json": "plot points of torch.profiler's export_memory_timeline", "m.json.gz": "plot points of torch.profiler's export_memory_timeline",
        "m.raw.json.gz": "raw points of torch.profiler's export_memory_timeline"}
python = os.environ.get("TIDE_TORCH_PYTHON") or os.path.join(os.environ["TIDE_SOURCE"], ".venv", "bin", "python")
if not os.path.exists(python):
    print("skipped: no Python with torch (TIDE_TORCH_PYTHON, tools/setup test)")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([python, "-c", PROGRAM, folder], check=True, timeout=600, capture_output=True)
    for name, want in WANT.items():
        done = subprocess.run([os.environ["TIDEMARK"], "info", f"{folder}/{name}"], capture_output=True, text=True, timeout=300)
        assert done.returncode == 1 and want in done.stderr and "snapshot" in done.stderr, done.stderr
    done = subprocess.run([os.environ["TIDEMARK"], "memory", f"{folder}/trace.json"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "Allocs" in done.stdout, done.stdout + done.stderr
print("timelines are refused by name, the trace is read")
