// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Sorts spans and finds their parents.
 *
 * Importers push spans in input order. tide__find_span_parents sorts them (by start; on equal start
 * the longer first, then the outer category, then input order), renumbers everything that refers to
 * them, and sets spans.parent to the innermost span of the same lane that contains each. A span that
 * only partly overlaps another is not inside it; overhead that does contains nothing, because reports
 * leave it out. A zero-length span contains nothing. One at the very
 * end of another span follows it; a zero-length op that begins with another op and precedes it in the
 * input comes before it. */
#ifndef TIDE_MODEL_SPAN_PARENTS_H
#define TIDE_MODEL_SPAN_PARENTS_H

#include "model/model.h"

typedef struct tide_parent_column { /* an extra column of the caller, row for row with spans */
	void *data;
	size_t size; /* bytes per element */
} tide_parent_column;

typedef struct tide_parent_ref { /* span row numbers of the caller: renumbered in place */
	uint32_t *id;		 /* the first */
	size_t n;
	size_t stride; /* bytes from one to the next */
} tide_parent_ref;

/* spans.t0, t1, lane and cat must be set; other columns may still be NULL (an importer that fills
 * them later saves their memory during the sort); parent is allocated. Also renumbers spans.cause,
 * allocs.span, flows, attrs, span_src and span_raw; flows and attrs are then sorted (invariant T1).
 * Returns false if memory runs out: the model must then be discarded. O(n log runs), 12 bytes of
 * scratch per span. */
bool tide__find_span_parents(tide_model *m, const tide_parent_column *cols, size_t n_cols,
			     const tide_parent_ref *refs, size_t n_refs);

/* Sorts flows only, for callers that add some afterwards. */
bool tide__sort_flows(tide_model *m);

#endif
