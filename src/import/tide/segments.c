// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Segments of a .tide file: taken, and released completely or in part. */
#include "import/tide/build_rows.h"

static bool begin_segment(tide_build *b, uint32_t pool, uint64_t addr, uint64_t size, int64_t t,
			  uint32_t *row)
{
	tide_segments *s = &b->m->segments;
	tide_claim c;
	*row = tide__push(s, &tide_segments_desc);
	if (!*row || !tide__table_reserve(&b->m->memory_events, &tide_memory_events_desc, 2))
		return false;
	s->addr[*row] = addr;
	s->size[*row] = size;
	s->born[*row] = t;
	s->died[*row] = TIDE_T_NEVER;
	if (!tide__live_put(&b->segments, pool, addr, size, *row, &c))
		return false;
	if (c.before) {
		s->died[c.before] = t;
		tide__build_memory_event(b->m, c.before, TIDE_MEMORY_SEG_FREE);
		b->seg_reused++;
	}
	tide__build_memory_event(b->m, *row, TIDE_MEMORY_SEG_ALLOC);
	return true;
}

bool tide__build_segment_alloc(tide_build *b, const tide_event *e, int64_t t)
{
	tide_segments *s = &b->m->segments;
	uint32_t row;
	if (!begin_segment(b, tide__build_pool(b, e), e->addr, e->size, t, &row))
		return false;
	s->pool[row] = (tide_pool_id){ tide__ids_get(&b->defs->pools, e->pool, &b->undefined) };
	s->stream[row] =
		(tide_lane_id){ tide__ids_get(&b->defs->streams, e->stream, &b->undefined) };
	s->kind[row] = e->kind <= TIDE_SEGMENT_HOST ? e->kind : TIDE_SEGMENT_UNKNOWN;
	return true;
}

/* Keeps the remainder of segment `old` after a partial free as a new segment. */
static bool keep_part(tide_build *b, uint32_t pool, uint32_t old, uint64_t addr, uint64_t size,
		      int64_t t)
{
	tide_segments *s = &b->m->segments;
	uint32_t row;
	if (!begin_segment(b, pool, addr, size, t, &row))
		return false;
	s->pool[row] = s->pool[old];
	s->stack[row] = s->stack[old];
	s->stream[row] = s->stream[old];
	s->kind[row] = s->kind[old];
	s->flags[row] = s->flags[old] | TIDE_SEGMENT_PART;
	return true;
}

/* Releases the part of segment `row` in [addr, addr + size); the remainder continues. */
static bool cut_segment(tide_build *b, uint32_t pool, uint32_t row, uint64_t addr, uint64_t size,
			int64_t t)
{
	tide_segments *s = &b->m->segments;
	uint64_t a0 = s->addr[row], n = s->size[row];
	if (!tide__table_reserve(&b->m->memory_events, &tide_memory_events_desc, 1))
		return false;
	tide__live_drop(&b->segments, pool, a0);
	s->died[row] = t;
	tide__build_memory_event(b->m, row, TIDE_MEMORY_SEG_FREE);
	uint64_t front = addr > a0 ? addr - a0 : 0;
	uint64_t back = a0 + n > addr + size ? a0 + n - (addr + size) : 0;
	if (front && !keep_part(b, pool, row, a0, front, t))
		return false;
	return !back || keep_part(b, pool, row, addr + size, back, t);
}

/* Handles a segment free: removes its whole range, that is whole segments or parts of them. */
bool tide__build_segment_free(tide_build *b, const tide_event *e, int64_t t)
{
	const tide_segments *s = &b->m->segments;
	uint64_t size = e->size;
	uint32_t pool = tide__build_pool(b, e);
	uint32_t row = tide__live_find(&b->segments, pool, e->addr);
	bool hit = row;
	if (row && (!size || size == s->size[row]))
		return cut_segment(b, pool, row, e->addr, s->size[row], t);
	if (size > UINT64_MAX - e->addr)
		size = UINT64_MAX - e->addr;
	row = tide__live_below(&b->segments, pool, e->addr);
	if (row && s->addr[row] + s->size[row] > e->addr) {
		hit = true;
		if (!cut_segment(b, pool, row, e->addr, size, t))
			return false;
	}
	row = tide__live_find(&b->segments, pool, e->addr);
	if (!row)
		row = tide__live_above(&b->segments, pool, e->addr);
	while (row && s->addr[row] - e->addr < size) {
		hit = true;
		if (!cut_segment(b, pool, row, e->addr, size, t))
			return false;
		row = tide__live_above(&b->segments, pool, e->addr);
	}
	b->seg_free_unknown += !hit;
	return true;
}
