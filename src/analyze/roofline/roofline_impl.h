// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Shared by the sources of the roofline: calls (roofline.c) and what is made of them
 * (roofline_sums.c). */
#ifndef TIDE_ANALYZE_ROOFLINE_ROOFLINE_IMPL_H
#define TIDE_ANALYZE_ROOFLINE_ROOFLINE_IMPL_H

#include "analyze/roofline/list_sizes.h"
#include "analyze/roofline/roofline.h"
#include "analyze/ops/modules.h"
#include "analyze/ops/op_arguments.h"
#include "base/mem.h"

typedef struct tide_roof_cost {
	tide_op_cost cost;
	uint32_t set; /* of arguments, + 1; 0 = a copy outside ops */
	tide_str name;
} tide_roof_cost;

typedef struct tide_roof_call {
	uint32_t span, cost; /* cost: index + 1; 0 = a list whose sizes are not known yet */
	uint32_t list;	     /* of gradients, + 1; 0 = none */
	uint32_t device_rows;
	int64_t ns;
	double blocks; /* of its kernels */
	bool again;
} tide_roof_call;

typedef struct tide_roof_work {
	const tide_model *m;
	const tide_roof_options *opt;
	tide_roofline *out;
	tide_steps steps, marks; /* of the window; of the table */
	tide_span_window window;
	tide_gpu_rows rows;
	tide_arguments arguments;
	tide_modules modules; /* passes */
	uint32_t *inner;      /* per span: the op in which it began */
	uint32_t *owner;      /* per span that is an op: its call + 1; 0 = none */
	uint8_t *again;	      /* per span: it is recomputation */
	uint16_t *rule;	      /* per text: its rule + 1; 0 = none */
	uint32_t *cost_of;    /* per set: its cost + 1; 0 = not yet, UINT32_MAX = none */
	size_t cap_cost_of;
	TIDE_VEC(tide_roof_cost, costs);
	TIDE_VEC(tide_roof_call, calls);
	TIDE_VEC(tide_list_sizes, lists);
	bool list_used; /* an optimizer ran after the last gradient */
	tide_map gaps;	/* (name, why) -> gap + 1 */
	tide_map own;	/* (set or name, elements) -> cost + 1 */
	tide_op_inputs inputs;
} tide_roof_work;

/* Adds up calls. Return false if memory runs out. */
bool tide__roofline_make_rows(tide_roof_work *w);
bool tide__roofline_make_steps(tide_roof_work *w);

#endif
