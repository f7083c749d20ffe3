// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Internals of the builder, shared by build.c (ops, allocations, the rest) and segments.c. */
#ifndef TIDE_IMPORT_TIDE_BUILD_ROWS_H
#define TIDE_IMPORT_TIDE_BUILD_ROWS_H

#include "import/tide/build.h"

/* Returns the row of the event's pool; all undefined pools map to the none pool. */
static inline uint32_t tide__build_pool(const tide_build *b, const tide_event *e)
{
	const tide_ids *ids = &b->defs->pools;
	return e->pool < ids->n ? ids->v[e->pool] : 0;
}

static inline void tide__build_memory_event(tide_model *m, uint32_t row, uint8_t kind)
{
	size_t i = m->memory_events.n++;
	m->memory_events.row[i] = row;
	m->memory_events.kind[i] = kind;
}

/* segments.c: return false if memory runs out. */
bool tide__build_segment_alloc(tide_build *b, const tide_event *e, int64_t t);
bool tide__build_segment_free(tide_build *b, const tide_event *e, int64_t t);

/* views.c: returns false if memory runs out. */
bool tide__build_view(tide_build *b, const tide_event *e);
/* Gives allocations without a role the role of most bytes of their views. */
bool tide__build_view_roles(tide_build *b);

#endif
