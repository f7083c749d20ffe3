// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Putting spans in order and finding their parents.
 *
 * Importers push spans in whatever order the input has. tide__find_span_parents sorts them (start first; of
 * spans that start together the longer one, then the outer category, then input order), renumbers
 * everything that refers to them, and sets spans.parent to the innermost span of the same lane that
 * contains it. A span that only partly overlaps another is not inside it. A span of no length at
 * the very end of another one follows it. */
#ifndef TIDE_MODEL_SPAN_PARENTS_H
#define TIDE_MODEL_SPAN_PARENTS_H

#include "model/model.h"

typedef struct tide_parent_column { /* one more column of the caller's, row for row with spans */
	void *data;
	size_t size; /* bytes per element */
} tide_parent_column;

typedef struct
	tide_parent_ref { /* row numbers of spans that the caller keeps: renumbered in place */
	uint32_t *id;	  /* the first */
	size_t n;
	size_t stride; /* bytes from one to the next */
} tide_parent_ref;

/* spans.t0, t1, lane, cat must be set; other columns may still be NULL (an importer that fills them
 * later saves their memory during the sort), parent is made. Renumbered besides: spans.cause,
 * allocs.span, flows, attrs, span_src, span_raw; flows and attrs are then sorted (invariant T1). False when
 * memory is exhausted: the model must then be thrown away. O(n log runs), 12 bytes of scratch a
 * span. */
bool tide__find_span_parents(tide_model *m, const tide_parent_column *cols, size_t n_cols,
			     const tide_parent_ref *refs, size_t n_refs);

/* Only the sorting of flows, for who adds some afterwards. */
bool tide__sort_flows(tide_model *m);

#endif
