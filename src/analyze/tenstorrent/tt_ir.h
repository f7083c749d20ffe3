// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A module dump and the lines of operations in it, by location. */
#ifndef TIDE_ANALYZE_TENSTORRENT_TT_IR_H
#define TIDE_ANALYZE_TENSTORRENT_TT_IR_H

#include "base/mlir.h"
#include "model/model.h"

typedef struct tide_tt_ir_line {
	tide_slice loc; /* of the module's text */
	uint32_t line;	/* from 1 */
	uint64_t rank;	/* which line wins if several have one location */
} tide_tt_ir_line;

typedef struct tide_tt_ir {
	tide_slice text;	/* borrowed from the model; empty = no such module */
	tide_tt_ir_line *lines; /* owned; by location */
	size_t n;
} tide_tt_ir;

/* Finds the first document of `kind` ("mlir.ttnn"). Returns false if memory runs out. Release in
 * any case. */
bool tide__tt_ir_find(const tide_model *m, const char *kind, tide_tt_ir *out);
void tide__tt_ir_free(tide_tt_ir *ir);
/* Returns the line of a location, 0 = absent. */
uint32_t tide__tt_ir_line_of(const tide_tt_ir *ir, tide_slice loc);

#endif
