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

/* Names of the last version; they go with the next one. */
#define TIDE_ON_HOST	   TIDE_DEVICE_HOST
#define TIDE_ON_CUDA	   TIDE_DEVICE_CUDA
#define TIDE_ON_HIP	   TIDE_DEVICE_HIP
#define TIDE_ON_MPS	   TIDE_DEVICE_MPS
#define TIDE_ON_XPU	   TIDE_DEVICE_XPU
#define TIDE_ON_MTIA	   TIDE_DEVICE_MTIA
#define TIDE_ON_TT	   TIDE_DEVICE_TT
#define TIDE_ON_OTHER	   TIDE_DEVICE_OTHER
#define TIDE_MEM_DRAM	   TIDE_POOL_DRAM
#define TIDE_MEM_L1	   TIDE_POOL_L1
#define TIDE_MEM_L1_SMALL  TIDE_POOL_L1_SMALL
#define TIDE_MEM_TRACE	   TIDE_POOL_TRACE
#define TIDE_MEM_HEAP	   TIDE_POOL_HEAP
#define TIDE_MEM_PINNED	   TIDE_POOL_PINNED
#define TIDE_MEM_PRIVATE   TIDE_POOL_PRIVATE
#define TIDE_AS_PARAMETER  TIDE_ROLE_PARAMETER
#define TIDE_AS_GRADIENT   TIDE_ROLE_GRADIENT
#define TIDE_AS_OPTIMIZER  TIDE_ROLE_OPTIMIZER
#define TIDE_AS_ACTIVATION TIDE_ROLE_ACTIVATION
#define TIDE_AS_INPUT	   TIDE_ROLE_INPUT
#define TIDE_AS_TEMPORARY  TIDE_ROLE_TEMPORARY
#define TIDE_AS_BUFFER	   TIDE_ROLE_BUFFER
#define TIDE_AS_KV_CACHE   TIDE_ROLE_KV_CACHE
#define TIDE_AS_WORKSPACE  TIDE_ROLE_WORKSPACE
#define TIDE_F32	   TIDE_DTYPE_F32
#define TIDE_F16	   TIDE_DTYPE_F16
#define TIDE_BF16	   TIDE_DTYPE_BF16
#define TIDE_F64	   TIDE_DTYPE_F64
#define TIDE_I8		   TIDE_DTYPE_I8
#define TIDE_I16	   TIDE_DTYPE_I16
#define TIDE_I32	   TIDE_DTYPE_I32
#define TIDE_I64	   TIDE_DTYPE_I64
#define TIDE_U8		   TIDE_DTYPE_U8
#define TIDE_U16	   TIDE_DTYPE_U16
#define TIDE_U32	   TIDE_DTYPE_U32
#define TIDE_U64	   TIDE_DTYPE_U64
#define TIDE_BOOL	   TIDE_DTYPE_BOOL
#define TIDE_F8E4M3	   TIDE_DTYPE_F8E4M3
#define TIDE_F8E5M2	   TIDE_DTYPE_F8E5M2
#define TIDE_C64	   TIDE_DTYPE_C64
#define TIDE_C128	   TIDE_DTYPE_C128
#define TIDE_BFP8	   TIDE_DTYPE_BFP8
#define TIDE_BFP4	   TIDE_DTYPE_BFP4

#endif
