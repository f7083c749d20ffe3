// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What the parts of the analysis of Tenstorrent runs share. */
#ifndef TIDE_ANALYZE_TENSTORRENT_TT_IMPL_H
#define TIDE_ANALYZE_TENSTORRENT_TT_IMPL_H

#include "analyze/tenstorrent/tt.h"

typedef struct keys { /* text ids of attributes, 0 = the trace has none of it */
	uint32_t line, mlir, type, graph, miss, session;
} keys;
keys tide__tt_keys(const tide_model *m);

/* False on exhaustion. */
bool tide__tt_find_weights(tide_tt *t);
bool tide__tt_find_graphs(tide_tt *t);

bool tide__tt_find_aliases(tide_tt *t);
/* The right side of "#name = ..."; absent = it is not defined. */
tide_slice tide__tt_alias(const tide_tt *t, tide_slice name);

#endif
