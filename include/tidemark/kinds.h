// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Kinds of devices, pools and tensors: one list for the recorder, the files and the reports. A row
 * is the name in C (TIDE_DEVICE_CUDA, TIDE_POOL_DRAM, TIDE_ROLE_PARAMETER, TIDE_DTYPE_F32), the
 * number in files, and the name in reports. 0 is unknown. Numbers never change; new ones go to the
 * end. */
#ifndef TIDEMARK_KINDS_H
#define TIDEMARK_KINDS_H

#define TIDE_DEVICE_KINDS(X) /* number, name in files and JSON */ \
	X(UNKNOWN, 0, "unknown")                                  \
	X(HOST, 1, "cpu")                                         \
	X(CUDA, 2, "cuda")                                        \
	X(HIP, 3, "hip")                                          \
	X(MPS, 4, "mps")                                          \
	X(XPU, 5, "xpu")                                          \
	X(MTIA, 6, "mtia")                                        \
	X(TT, 7, "tt")                                            \
	X(OTHER, 8, "other")

#define TIDE_POOL_KINDS(X)                                     \
	X(UNKNOWN, 0, "unknown")                               \
	X(DRAM, 1, "DRAM") /* an accelerator's main memory */  \
	X(L1, 2, "L1")	   /* on-chip, per core */             \
	X(L1_SMALL, 3, "L1_SMALL")                             \
	X(TRACE, 4, "TRACE")                                   \
	X(HEAP, 5, "heap")	 /* host heap */               \
	X(PINNED, 6, "pinned")	 /* page-locked host memory */ \
	X(PRIVATE, 7, "private") /* a CUDA-graph or user pool */

#define TIDE_ROLES(X)                  \
	X(UNKNOWN, 0, "unknown")       \
	X(PARAMETER, 1, "parameter")   \
	X(GRADIENT, 2, "gradient")     \
	X(OPTIMIZER, 3, "optimizer")   \
	X(ACTIVATION, 4, "activation") \
	X(INPUT, 5, "input")           \
	X(TEMPORARY, 6, "temporary")   \
	X(BUFFER, 7, "buffer")         \
	X(KV_CACHE, 8, "kv_cache")     \
	X(WORKSPACE, 9, "workspace")

#define TIDE_DTYPES(X)               \
	X(UNKNOWN, 0, "unknown")     \
	X(F32, 1, "float32")         \
	X(F16, 2, "float16")         \
	X(BF16, 3, "bfloat16")       \
	X(F64, 4, "float64")         \
	X(I8, 5, "int8")             \
	X(I16, 6, "int16")           \
	X(I32, 7, "int32")           \
	X(I64, 8, "int64")           \
	X(U8, 9, "uint8")            \
	X(U16, 10, "uint16")         \
	X(U32, 11, "uint32")         \
	X(U64, 12, "uint64")         \
	X(BOOL, 13, "bool")          \
	X(F8E4M3, 14, "float8_e4m3") \
	X(F8E5M2, 15, "float8_e5m2") \
	X(C64, 16, "complex64")      \
	X(C128, 17, "complex128")    \
	X(BFP8, 18, "bfp8")          \
	X(BFP4, 19, "bfp4")

enum {
#define X(name, number, text) TIDE_DEVICE_##name = number,
	TIDE_DEVICE_KINDS(X)
#undef X
};
enum {
#define X(name, number, text) TIDE_POOL_##name = number,
	TIDE_POOL_KINDS(X)
#undef X
};
enum {
#define X(name, number, text) TIDE_ROLE_##name = number,
	TIDE_ROLES(X)
#undef X
};
enum {
#define X(name, number, text) TIDE_DTYPE_##name = number,
	TIDE_DTYPES(X)
#undef X
};

#endif
