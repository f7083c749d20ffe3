// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One pass over the moves. */
#include "analyze/spanmem.h"

#include "base/mem.h"

bool tide__span_memory(const tide_model *m, tide_span_memory *out)
{
	const tide_allocs *a = &m->allocs;
	out->allocated = tide__calloc(m->spans.n, sizeof *out->allocated);
	out->freed = tide__calloc(m->spans.n, sizeof *out->freed);
	if (!out->allocated || !out->freed)
		return false;
	for (size_t i = 0; i < m->moves.n; i++) {
		uint32_t ends = tide__move_ends(m, i), row = m->moves.row[i];
		if (m->moves.kind[i] == TIDE_MOVE_ALLOC)
			out->allocated[a->span[row].i] += a->size[row];
		else if (ends)
			out->freed[a->free_span[ends].i] += a->size[ends];
	}
	return true;
}

void tide__span_memory_free(tide_span_memory *s)
{
	tide__free(s->allocated);
	tide__free(s->freed);
	*s = (tide_span_memory){ 0 };
}
