// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Sets of arguments: an op with the shapes, dtypes and strides of its inputs. Calls with the same
 * texts share one set. Shapes and strides that no tensor can have are unknown (shape_text.h). */
#ifndef TIDE_ANALYZE_OPS_OP_ARGUMENTS_H
#define TIDE_ANALYZE_OPS_OP_ARGUMENTS_H

#include "model/model.h"

typedef struct tide_argument_set {
	tide_str name, dims, types, strides; /* of the trace; none = unknown */
	tide_str concrete;		     /* scalars; none unless requested */
} tide_argument_set;

typedef struct tide_arguments {
	const tide_model *m;  /* borrowed */
	tide_argument_set *v; /* owned; moves when a set is added */
	size_t n, cap;
	tide_str dims, types, strides; /* names of attributes */
	tide_str concrete;	       /* the same; none = calls may differ in scalars */
	uint8_t *sound;		       /* per text: 1 = no shapes, 2 = shapes; 0 = not yet */
	uint32_t *of;		       /* per span: its set + 1; 0 = not yet */
	tide_map near, far, all;       /* (name, dims), (types, strides), both */
	tide_map whole;		       /* (all, concrete) */
} tide_arguments;

/* Needs a model loaded with TIDE_WANT_SHAPES: all sets are unknown otherwise. Returns false if
 * memory runs out. Release with tide__arguments_end in any case; it accepts a zeroed one. */
bool tide__arguments_begin(tide_arguments *x, const tide_model *m);
/* The same, where calls with other scalars are another set. */
bool tide__arguments_begin_with_scalars(tide_arguments *x, const tide_model *m);
void tide__arguments_end(tide_arguments *x);
/* Returns the set of an op's span, valid until the next call; NULL if memory runs out. */
const tide_argument_set *tide__arguments_of(tide_arguments *x, uint32_t span);

#endif
