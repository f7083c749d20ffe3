// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Inside the builder: what build.c (ops, allocations, the rest) and segments.c both write. */
#ifndef TIDE_IMPORT_TIDE_BUILD_ROWS_H
#define TIDE_IMPORT_TIDE_BUILD_ROWS_H

#include "import/tide/build.h"

/* Row of the event's pool; pools that are not defined are one, the none pool. */
static inline uint32_t tide__build_pool(const tide_build *b, const tide_event *e)
{
	const tide_ids *ids = &b->defs->pools;
	return e->pool < ids->n ? ids->v[e->pool] : 0;
}

static inline void tide__build_move(tide_model *m, uint32_t row, uint8_t kind)
{
	size_t i = m->moves.n++;
	m->moves.row[i] = row;
	m->moves.kind[i] = kind;
}

/* segments.c: false when memory ran out. */
bool tide__build_segment_alloc(tide_build *b, const tide_event *e, int64_t t);
bool tide__build_segment_free(tide_build *b, const tide_event *e, int64_t t);

/* views.c: false when memory ran out. */
bool tide__build_view(tide_build *b, const tide_event *e);
/* Gives allocations without a role of their own that of most bytes of their views. */
bool tide__build_view_roles(tide_build *b);

#endif
