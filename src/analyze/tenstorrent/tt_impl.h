// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Internals shared by the parts of the Tenstorrent analysis. */
#ifndef TIDE_ANALYZE_TENSTORRENT_TT_IMPL_H
#define TIDE_ANALYZE_TENSTORRENT_TT_IMPL_H

#include "analyze/tenstorrent/tt.h"

typedef struct keys { /* text ids of attributes, 0 = not in the trace */
	uint32_t line, mlir, type, graph, miss, session;
} keys;
keys tide__tt_keys(const tide_model *m);

/* Returns false if memory runs out. */
bool tide__tt_find_weights(tide_tt *t);
bool tide__tt_find_graphs(tide_tt *t);

bool tide__tt_find_aliases(tide_tt *t);
/* For each operation the last document of a kind that its rank, or nobody in particular, had before
 * it, else the last of any rank: use(t, op, row in documents + 1). False on exhaustion. */
bool tide__tt_each_module(tide_tt *t, const char *kind, void (*use)(tide_tt *, size_t, size_t));
/* Returns the right side of "#name = ..."; absent = not defined. */
tide_slice tide__tt_alias(const tide_tt *t, uint32_t module, tide_slice name);

#endif
