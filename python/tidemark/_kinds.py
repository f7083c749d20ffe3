# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Names of kinds, by number (include/tidemark/kinds.h, causes of idle time), and colours (src/render/picture/colors.c). Made by tools/generate."""
from __future__ import annotations

DEVICES = {0: "unknown", 1: "cpu", 2: "cuda", 3: "hip", 4: "mps", 5: "xpu", 6: "mtia", 7: "tt", 8: "other"}
POOLS = {0: "unknown", 1: "DRAM", 2: "L1", 3: "L1_SMALL", 4: "TRACE", 5: "heap", 6: "pinned", 7: "private"}
ROLES = {0: "unknown", 1: "parameter", 2: "gradient", 3: "optimizer", 4: "activation", 5: "input", 6: "temporary", 7: "buffer",
    8: "kv_cache", 9: "workspace"}
DTYPES = {0: "unknown", 1: "float32", 2: "float16", 3: "bfloat16", 4: "float64", 5: "int8", 6: "int16", 7: "int32", 8: "int64", 9: "uint8",
    10: "uint16", 11: "uint32", 12: "uint64", 13: "bool", 14: "float8_e4m3", 15: "float8_e5m2", 16: "complex64", 17: "complex128",
    18: "bfp8", 19: "bfp4"}
IDLE_CAUSES = {0: "sync", 1: "allocation", 2: "data_loading", 3: "compile", 4: "runtime", 5: "op", 6: "python", 7: "annotation",
    8: "unrecorded", 9: "launch"}
GROUP_COLORS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#f0e442", "#00466e", "#8a5f00", "#00573f", "#7f3800",
    "#a9b4bf")
ROLE_COLORS = {"unknown": "#a9b4bf", "parameter": "#0072b2", "gradient": "#009e73", "optimizer": "#e69f00", "activation": "#56b4e9",
    "input": "#f0e442", "temporary": "#cc79a7", "buffer": "#00466e", "kv_cache": "#00573f", "workspace": "#8a5f00"}
IDLE_CAUSE_COLORS = {"sync": "#5a2d00", "allocation": "#e69f00", "data_loading": "#009e73", "compile": "#d55e00", "runtime": "#cc79a7",
    "op": "#56b4e9", "python": "#f0e442", "annotation": "#00466e", "unrecorded": "#606a74", "launch": "#0072b2"}
WORK_COLORS = {"compute": "#009e73", "communication": "#cc79a7", "memory": "#d55e00", "other": "#606a74",
    "compute + communication": "#0072b2", "communication + memory": "#e69f00", "compute + memory": "#f0e442",
    "compute + communication + memory": "#00466e"}
CATEGORY_COLORS = {"op": "#0072b2", "user_annotation": "#cc79a7", "python_function": "#56b4e9", "runtime": "#e69f00", "driver": "#c07f00",
    "kernel": "#009e73", "memcpy": "#d55e00", "memset": "#f0e442", "mtia": "#009e73", "gpu_user_annotation": "#dba3c3", "sync": "#9aa4ad",
    "overhead": "#b3aca2"}
BOUND_COLORS = {"cpu_bound": "#0072b2", "data_loading": "#e69f00", "gpu_compute_bound": "#009e73", "gpu_communication_bound": "#cc79a7",
    "gpu_memory_bound": "#606a74", "gpu_kernel_kernel_overhead": "#d55e00", "gpu_kernel_launch_overhead": "#56b4e9",
    "gpu_queued_behind_earlier_work": "#f0e442", "gpu_work_from_before_window": "#00466e"}
PART_COLORS = {"other": "#cccccc", "model": "#4da6b8", "gradients": "#e789ab", "optimizer": "#cec0fa", "activations": "#e38a42"}
