// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Floating-point operations of one call of an op, from the shapes of its inputs.
 *
 * A multiply and an add are 2 operations. The rules are those of torch.utils.flop_counter:
 *
 *   mm, addmm, _scaled_mm, bmm, baddbmm    2 * batch * rows * columns * inner
 *   convolution                            2 * batch * output points * kernel points * C_out * C_in / groups
 *   convolution_backward                   the same for each of the 2 gradients that is requested
 *   fused attention                        2 matrix products, backward 5
 *
 * Elements are the minimum that a call reads and writes: each input once, the result once. */
#ifndef TIDE_ANALYZE_DEVICE_FLOP_RULES_H
#define TIDE_ANALYZE_DEVICE_FLOP_RULES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tide_flop_text { /* arguments of a call as a trace has them; NULL = absent */
	const char *dims;	/* "[[8, 16], [16, 4]]" */
	const char *concrete;	/* "["", "", "[1, 1]"]" */
} tide_flop_text;

typedef struct tide_flop_cost {
	double flops, elements;
} tide_flop_cost;

typedef bool tide_flop_rule(const tide_flop_text *t, tide_flop_cost *out);

typedef struct tide_flop_op {
	const char *name;     /* aten::mm */
	tide_flop_rule *rule; /* returns false if the shapes do not fit the op */
} tide_flop_op;

/* Every op with a rule. */
extern const tide_flop_op tide__flop_ops[];
extern const size_t tide__flop_ops_count;

#endif
