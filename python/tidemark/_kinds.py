# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Tidemark authors
"""Names of kinds, by number: include/tidemark/kinds.h and the causes of idle time. Made by tools/generate."""
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
