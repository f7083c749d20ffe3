// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One pass over the memory events. */
#include "analyze/memory/span_memory.h"

#include "base/mem.h"

/* Returns the span's row, created if needed; NULL if memory ran out. */
static struct tide_span_bytes *row_of(tide_span_memory *s, uint32_t span)
{
	if (s->at[span])
		return &s->v[s->at[span]];
	if (!TIDE_ROOM(s->v, s->cap, s->n + 1))
		return NULL;
	s->v[s->n] = (struct tide_span_bytes){ 0 };
	s->at[span] = s->n;
	return &s->v[s->n++];
}

bool tide__span_memory_find(const tide_model *m, tide_span_memory *out)
{
	const tide_allocs *a = &m->allocs;
	*out = (tide_span_memory){ .n = 1, .cap = 1024 };
	out->at = tide__calloc(m->spans.n, sizeof *out->at);
	out->v = tide__calloc(out->cap, sizeof *out->v);
	if (!out->at || !out->v)
		return false;
	for (size_t i = 0; i < m->memory_events.n; i++) {
		bool born;
		uint32_t row = tide__memory_event_life(m, i, &born);
		if (!row)
			continue;
		struct tide_span_bytes *v =
			row_of(out, born ? a->span[row].i : a->free_span[row].i);
		if (!v)
			return false;
		*(born ? &v->allocated : &v->freed) += a->size[row];
	}
	return true;
}

void tide__span_memory_free(tide_span_memory *s)
{
	tide__free(s->at);
	tide__free(s->v);
	*s = (tide_span_memory){ 0 };
}
