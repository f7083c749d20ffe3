// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Internals shared by the parts of the Tenstorrent analysis. */
#ifndef TIDE_ANALYZE_TENSTORRENT_TT_IMPL_H
#define TIDE_ANALYZE_TENSTORRENT_TT_IMPL_H

#include "analyze/tenstorrent/tt.h"

typedef struct keys { /* text ids of attributes, 0 = not in the trace */
	uint32_t line, mlir, type, graph, miss, session;
} keys;
keys tide__tt_find_keys(const tide_model *m);

/* Returns false if memory runs out. */
bool tide__tt_find_weights(tide_tt *t);
bool tide__tt_find_graphs(tide_tt *t);

/* Corrects t->module_of and the modules of operations by the arguments that runs use. */
bool tide__tt_match_modules(tide_tt *t);
/* Returns the row of the argument of that name in the module whose arguments begin at row `first` -
 * 1; -1 = none. */
int64_t tide__tt_argument_row(const tide_tt *t, uint32_t first, tide_slice ssa);

/* Iterates over the values among an operation's operands, including those in brackets ([%arg1,
 * %arg2]):
 *
 *     for (tide__tt_arguments_begin(&a, &p); tide__tt_arguments_next(&a);) use(a.ssa); */
typedef struct tide_tt_argument {
	tide_slice ssa, shape; /* shape: if typed */
	bool typed;	       /* its type is a tensor */
	tide_slice rest, inner, types;
} tide_tt_argument;
void tide__tt_arguments_begin(tide_tt_argument *a, const tide_mlir_op *p);
bool tide__tt_arguments_next(tide_tt_argument *a);

bool tide__tt_find_aliases(tide_tt *t);
/* Calls use(t, op, row in documents + 1) for each operation with the last document of a kind before
 * it: of its rank or without a rank, else of any rank. Returns false if memory runs out. */
bool tide__tt_visit_modules(tide_tt *t, const char *kind, void (*use)(tide_tt *, size_t, size_t));
/* Returns "@main_const_eval_0" of a load_cached; absent for other operations. */
tide_slice tide__tt_function(const tide_mlir_op *p);
/* Returns the right side of "#name = ..."; absent = not defined. */
tide_slice tide__tt_alias(const tide_tt *t, uint32_t module, tide_slice name);

#endif
