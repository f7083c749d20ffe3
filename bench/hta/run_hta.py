# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""The four analyses with Holistic Trace Analysis, from its public package: prints wall s, CPU s, peak RSS MB, and kernel time.

    VENV/bin/python run_hta.py TRACE
"""
import logging
import resource
import sys
import time

logging.disable(logging.CRITICAL)
start = time.time()
from hta.trace_analysis import TraceAnalysis  # noqa: E402  (loading it is part of using it, and small)

analyzer = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="/")
loaded = time.time()
temporal = analyzer.get_temporal_breakdown(visualize=False)
analyzer.get_comm_comp_overlap(visualize=False)
analyzer.get_gpu_kernel_breakdown(visualize=False)
analyzer.get_idle_time_breakdown(ranks=[0], visualize=False)
end = time.time()
usage = resource.getrusage(resource.RUSAGE_SELF)
print(f"{end - start:.1f} {usage.ru_utime + usage.ru_stime:.1f} {usage.ru_maxrss / 1024:.0f} "
      f"{loaded - start:.1f} {int(temporal['kernel_time(us)'][0])}")
