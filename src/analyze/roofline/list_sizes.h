// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Sizes of the lists of tensors that an optimizer works on.
 *
 * A trace leaves out the shapes of a list of more than 30 tensors. The ops
 * "torch::autograd::AccumulateGrad" have the shape of each gradient; PyTorch's kernels on lists run
 * one block per chunk of 65,536 elements of a tensor. So the gradients of the last backward pass
 * are the list if their chunks are as many as the blocks; the same is tried for those with at least
 * two dimensions (which decay) and for the others. With gradients accumulated over k passes the
 * chunks are k times the blocks, and k divides tensors and elements. Anything else is unknown. */
#ifndef TIDE_ANALYZE_ROOFLINE_LIST_SIZES_H
#define TIDE_ANALYZE_ROOFLINE_LIST_SIZES_H

#include "analyze/roofline/op_inputs.h"

enum { TIDE_LIST_ALL, TIDE_LIST_MATRICES, TIDE_LIST_VECTORS, TIDE_LISTS };
#define TIDE_LIST_CHUNK 65536.0

typedef struct tide_list_sizes { /* gradients of one backward pass */
	double elements[TIDE_LISTS], bytes[TIDE_LISTS], chunks[TIDE_LISTS], tensors[TIDE_LISTS];
	tide_number type; /* of all; UNKNOWN = several */
	bool any;
} tide_list_sizes;

/* Adds the shape of one gradient. */
void tide__list_sizes_add(tide_list_sizes *s, const tide_op_tensor *t, tide_number type);
/* Finds the list whose chunks are the blocks. Returns false if none is. */
bool tide__list_sizes_find(const tide_list_sizes *s, double blocks, double *elements,
			   double *bytes);

#endif
