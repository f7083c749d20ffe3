// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Kinds of work of device rows: matrix products, attention, norms ...
 *
 * One table (op_category.c) has rules for names of ops and of kernels. The first of these decides:
 *
 *   1. the row's own type: communication; copies and fills
 *   2. an op around the launch whose kind includes everything that it calls: the outermost
 *      attention, MoE routing or optimizer op
 *   3. the innermost op around the launch that has a rule
 *   4. the kernel's name; else the row is "other"
 *
 * docs/analyses/categories.md lists them. */
#ifndef TIDE_ANALYZE_DEVICE_OP_CATEGORY_H
#define TIDE_ANALYZE_DEVICE_OP_CATEGORY_H

#include "model/model.h"

/* clang-format off */
#define TIDE_OP_CATEGORIES(X)              \
	X(OTHER, "other")                  \
	X(GEMM, "gemm")                    \
	X(ATTENTION, "attention")          \
	X(CONVOLUTION, "convolution")      \
	X(NORM, "norm")                    \
	X(ELEMENTWISE, "elementwise")      \
	X(REDUCTION, "reduction")          \
	X(INDEXING, "indexing")            \
	X(COPY, "copy")                    \
	X(COMMUNICATION, "communication")  \
	X(OPTIMIZER, "optimizer")          \
	X(MOE, "moe_routing")
/* clang-format on */

typedef enum tide_op_category {
#define X(name, text) TIDE_OPS_OF_##name,
	TIDE_OP_CATEGORIES(X)
#undef X
		TIDE_OP_CATEGORY_COUNT
} tide_op_category;

extern const char *const tide__op_category_text[TIDE_OP_CATEGORY_COUNT];

/* Returns the category of an op or of a kernel by its name; OTHER: no rule has it. `whole`: it
 * includes everything that the op calls. */
tide_op_category tide__op_category_of_op(const char *name, bool *whole);
tide_op_category tide__op_category_of_kernel(const char *name);

/* Returns per span the category of the work that an op launches there (rules 2 and 3), OTHER where
 * no op decides. Owned by the caller: tide__free; NULL if memory runs out. `op_of` is the result of
 * tide__innermost_ops_find. */
uint8_t *tide__op_categories_find(const tide_model *m, const uint32_t *op_of);

#endif
