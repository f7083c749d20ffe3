// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Memory of each span: bytes of the allocations whose innermost span it is, bytes of the frees
 * done in it. Self only; nested spans carry their own figures (docs/analyses/ops.md). */
#ifndef TIDE_ANALYZE_MEMORY_SPAN_MEMORY_H
#define TIDE_ANALYZE_MEMORY_SPAN_MEMORY_H

#include "model/model.h"

typedef struct tide_span_memory {
	uint32_t *at; /* owned; per span: its row of v, 0 = nothing. Span 0: memory outside any
		       * span */
	struct tide_span_bytes {
		uint64_t allocated, freed;
	} * v; /* owned; row 0 is zero */
	uint32_t n;
	size_t cap;
} tide_span_memory;

static inline struct tide_span_bytes tide__span_bytes(const tide_span_memory *s, uint32_t span)
{
	return s->v[s->at[span]];
}

/* O(events) time, 4 bytes per span and 16 per span with memory events. Returns false if memory
 * runs out. */
bool tide__span_memory_find(const tide_model *m, tide_span_memory *out);
void tide__span_memory_free(tide_span_memory *s); /* accepts a zeroed one */

#endif
