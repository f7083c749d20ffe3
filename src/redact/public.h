// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Names that everyone uses, so that they may stay.
 *
 * The lists are in public_names.c (written by tools/public-names) and public.c (by hand). Groups
 * other than ALWAYS are named by `tidemark redact --keep`. Thread-safe. */
#ifndef TIDE_REDACT_PUBLIC_H
#define TIDE_REDACT_PUBLIC_H

#include <stdbool.h>
#include <stddef.h>

extern const char tide__public_ops[], tide__public_nodes[], tide__public_keys[];

enum {			      /* groups */
       TIDE_PUBLIC_ATEN = 1,  /* ops of PyTorch: aten::mm */
       TIDE_PUBLIC_TORCH = 2, /* files and functions of PyTorch, its modules and autograd nodes */
       TIDE_PUBLIC_CUDA = 4,  /* calls of the CUDA and HIP libraries */
       TIDE_PUBLIC_KERNELS =
	       8, /* kernels of public libraries: cuBLAS, cuDNN, CUTLASS, Triton ... */
       TIDE_PUBLIC_DEFAULT = 7,
};

/* Returns true if a whole text is a key or a value of a format that we read or write, or one
 * letter. */
bool tide__public_is_key(const char *s, size_t n);
/* Returns true if an identifier always stays: a word of a format, or of Python. */
bool tide__public_is_word(const char *s, size_t n);
bool tide__public_is_op(const char *s, size_t n);   /* "mm" */
bool tide__public_is_node(const char *s, size_t n); /* "AddmmBackward0", "Linear" */
bool tide__public_is_call(const char *s, size_t n); /* "cudaLaunchKernel" */
/* Returns true if a name begins as kernels of public libraries do. */
bool tide__public_is_kernel(const char *s, size_t n);

/* Returns the length of the technical word at the start of s: one that reports sort kernels and ops
 * by ("gemm", "all_reduce"), in any case. 0 if there is none. */
size_t tide__public_part(const char *s, size_t n);

#endif
