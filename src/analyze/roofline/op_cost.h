// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Floating-point operations and bytes of one call of an op, from the shapes of its inputs.
 *
 * A multiply and an add are 2 operations. Matrix products, convolutions and attention are counted as
 * torch.utils.flop_counter does, but without the scores that a causal mask leaves out, unless
 * `masked` is set. Other ops have a number of operations per element (op_cost.c).
 *
 * Bytes are the least that a call moves: each input once, the result once. What expands a tensor
 * (stride 0) moves nothing. A look-up reads the rows that it looks up, at most the table.
 *
 * What the shapes do not show is NaN. docs/analyses/roofline.md has every rule. */
#ifndef TIDE_ANALYZE_ROOFLINE_OP_COST_H
#define TIDE_ANALYZE_ROOFLINE_OP_COST_H

#include "analyze/device/op_category.h"
#include "analyze/roofline/op_inputs.h"

typedef struct tide_op_cost {
	double flops, bytes_read, bytes_written; /* NaN = unknown; else whole, at most 2^53 */
	double batch, m, n, k;			 /* of a matrix product; 0 = none */
	uint8_t type;				 /* TIDE_NUM_*: what it computes in */
	uint8_t category;			 /* TIDE_OPS_OF_* */
	bool matrix; /* its peak is that of matrix units, else of vector units */
} tide_op_cost;

/* Facts beyond the texts of the call. */
typedef struct tide_cost_context {
	bool masked;	 /* count scores that a causal mask leaves out */
	bool in_place;	 /* its name ends with '_': the first input is the result */
	double elements; /* of one list of an optimizer's tensors; 0 = unknown */
	double bytes;	 /* of one such list */
	uint8_t type;	 /* of these tensors */
} tide_cost_context;

typedef struct tide_op_rule tide_op_rule;
typedef bool tide_cost_function(const tide_op_rule *r, const tide_op_inputs *x,
				const tide_cost_context *c, tide_op_cost *out);
struct tide_op_rule {
	const char *name; /* "aten::mm" */
	tide_cost_function *cost;
	uint8_t category;
	int8_t a, b; /* as `cost` takes them */
	float per;   /* operations per element */
	bool again;  /* "aten::mm_" too: it writes its first input */
};

/* Every op with a rule. */
extern const tide_op_rule tide__op_rules[];
extern const size_t tide__op_rules_count;

/* Computes what one call costs. Returns false if nothing is known about it. */
bool tide__op_cost(const tide_op_rule *r, const tide_op_inputs *x, const tide_cost_context *c,
		   tide_op_cost *out);
/* Returns true if the call works on lists of tensors whose shapes the trace leaves out. */
bool tide__op_has_hidden_list(const tide_op_inputs *x);

/* cost_matrix.c, cost_attention.c, cost_memory.c */
tide_cost_function tide__cost_matmul, tide__cost_grouped, tide__cost_vector, tide__cost_convolution,
	tide__cost_convolution_backward, tide__cost_attention, tide__cost_attention_backward,
	tide__cost_pointwise, tide__cost_copy, tide__cost_fill, tide__cost_reduce,
	tide__cost_softmax, tide__cost_softmax_backward, tide__cost_norm, tide__cost_norm_backward,
	tide__cost_lookup, tide__cost_lookup_backward, tide__cost_scatter, tide__cost_loss,
	tide__cost_loss_backward, tide__cost_lists, tide__cost_adam, tide__cost_cat,
	tide__cost_pool, tide__cost_pool_backward, tide__cost_index, tide__cost_arguments;

#endif
