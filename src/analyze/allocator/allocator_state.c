// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Allocator state at a moment: live segments and live allocations sorted by address, merged. */
#include "analyze/allocator/allocator_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

double tide__fragmentation_ratio(const tide_state_totals *t)
{
	return t->free ? 1.0 - (double)t->largest_free / (double)t->free : 0.0;
}

/* ---- live segments ----------------------------------------------------------------------- */

static int by_segment_addr(const void *a, const void *b)
{
	const tide_state_segment *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->segment > y->segment) - (x->segment < y->segment);
}

static bool continues(const tide_model *m, const tide_state_segment *s,
		      const tide_state_segment *next)
{
	const tide_segments *t = &m->segments;

	return s->addr + s->size == next->addr && t->kind[s->segment] == TIDE_SEGMENT_EXPANDABLE &&
	       t->kind[next->segment] == TIDE_SEGMENT_EXPANDABLE &&
	       t->pool[s->segment].i == t->pool[next->segment].i &&
	       t->stream[s->segment].i == t->stream[next->segment].i;
}

/* Merges adjacent mapped parts of an expandable segment. */
static size_t join_stretches(const tide_model *m, tide_state_segment *s, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		if (k && continues(m, &s[k - 1], &s[i])) {
			s[k - 1].size += s[i].size;
			s[k - 1].stretches++;
		} else {
			s[k++] = s[i];
		}
	}
	return k;
}

static bool live_segments(const tide_model *m, uint32_t device, tide_state *out)
{
	const tide_segments *t = &m->segments;
	uint8_t *live = tide__calloc(t->n + 1, 1);
	size_t n = 0;

	if (!live)
		return false;
	for (size_t i = 0; i < out->position; i++)
		if (m->memory_events.kind[i] >= TIDE_MEMORY_SEG_ALLOC)
			live[m->memory_events.row[i]] =
				m->memory_events.kind[i] == TIDE_MEMORY_SEG_ALLOC;
	for (size_t i = 1; i < t->n; i++) {
		if (device != TIDE_ANY && m->pools.device[t->pool[i].i].i != device)
			live[i] = 0;
		else
			out->known = true;
		n += live[i];
	}
	out->segments = tide__alloc(n, sizeof *out->segments);
	for (size_t i = 1; out->segments && i < t->n; i++)
		if (live[i])
			out->segments[out->n_segments++] =
				(tide_state_segment){ .addr = t->addr[i],
						      .size = t->size[i],
						      .segment = (uint32_t)i,
						      .stretches = 1 };
	tide__free(live);
	if (!out->segments)
		return false;
	if (n)
		qsort(out->segments, n, sizeof *out->segments, by_segment_addr);
	out->n_segments = join_stretches(m, out->segments, n);
	return true;
}

/* ---- blocks ------------------------------------------------------------------------------ */

struct used {
	uint64_t addr, size;
	uint32_t alloc;
};

static int by_used_addr(const void *a, const void *b)
{
	const struct used *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return (x->alloc > y->alloc) - (x->alloc < y->alloc);
}

static struct used *sorted_used(const tide_model *m, const tide_live_set *a)
{
	struct used *u = tide__alloc(a->n, sizeof *u);

	for (size_t i = 0; u && i < a->n; i++)
		u[i] = (struct used){ m->allocs.addr[a->rows[i]], m->allocs.size[a->rows[i]],
				      a->rows[i] };
	if (u && a->n)
		qsort(u, a->n, sizeof *u, by_used_addr);
	return u;
}

static void add_block(tide_state *s, tide_state_segment *g, uint64_t addr, uint64_t size,
		      uint32_t alloc)
{
	if (!size)
		return;
	s->blocks[s->n_blocks++] = (tide_state_block){ addr, size, alloc, false };
	g->n++;
	if (alloc) {
		g->used += size;
		g->n_used++;
	} else {
		s->total.n_free++;
		if (size > s->total.largest_free)
			s->total.largest_free = size;
	}
}

/* Divides a segment at the blocks in use. Returns the first block beyond it. */
static size_t cut(tide_state *s, tide_state_segment *g, const struct used *u, size_t i, size_t n)
{
	uint64_t at = g->addr, end = g->addr + g->size;

	g->first = s->n_blocks;
	for (; i < n && u[i].addr < end; i++) {
		if (!u[i].size)
			continue; /* zero bytes: divides nothing */
		if (u[i].addr < at || u[i].size > end - u[i].addr) {
			s->total.loose += u[i].size; /* in no segment, or overlapping */
			continue;
		}
		add_block(s, g, at, u[i].addr - at, 0);
		add_block(s, g, u[i].addr, u[i].size, u[i].alloc);
		at = u[i].addr + u[i].size;
	}
	add_block(s, g, at, end - at, 0);
	return i;
}

static void add_totals(const tide_model *m, tide_state *s, const tide_state_segment *g)
{
	uint64_t free = g->size - g->used;

	s->total.reserved += g->size;
	s->total.free += free;
	if (m->segments.kind[g->segment] == TIDE_SEGMENT_EXPANDABLE)
		s->total.expandable_free += free;
	else if (g->n_used)
		s->total.inactive_split += free;
	else
		s->total.cached += free;
}

static bool cut_all(const tide_model *m, const tide_live_set *a, tide_state *s)
{
	struct used *u = sorted_used(m, a);
	size_t i = 0;

	s->blocks = tide__alloc(2 * a->n + s->n_segments + 1, sizeof *s->blocks);
	if (!u || !s->blocks) {
		tide__free(u);
		return false;
	}
	for (size_t g = 0; g < s->n_segments; g++) {
		i = cut(s, &s->segments[g], u, i, a->n);
		add_totals(m, s, &s->segments[g]);
	}
	for (; i < a->n; i++)
		s->total.loose += u[i].size;
	tide__free(u);
	return true;
}

/* Sums bytes of blocks in use; those whose free was requested before the position are not
 * allocated. */
static bool sum_active(const tide_model *m, const tide_live_set *a, tide_state *s)
{
	uint8_t *asked = m->pendings.n > 1 ? tide__calloc(m->allocs.n + 1, 1) : NULL;

	if (m->pendings.n > 1 && !asked)
		return false;
	for (size_t i = 0; asked && i < s->position; i++)
		if (m->memory_events.kind[i] == TIDE_MEMORY_FREE_ASKED)
			asked[m->pendings.alloc[m->memory_events.row[i]].i] = 1;
	for (size_t i = 0; asked && i < s->n_blocks; i++)
		s->blocks[i].pending = asked[s->blocks[i].alloc];
	for (size_t i = 0; i < a->n; i++) {
		uint32_t row = a->rows[i];

		s->total.active += m->allocs.size[row];
		s->total.requested += m->allocs.requested[row];
		s->total.allocated += asked && asked[row] ? 0 : m->allocs.size[row];
	}
	s->total.waste =
		s->total.active > s->total.requested ? s->total.active - s->total.requested : 0;
	tide__free(asked);
	return true;
}

/* Finds the blocks in use at `position`. A block whose free waits for a stream is in use. */
static bool active_at(const tide_model *m, uint64_t position, uint32_t device, tide_live_set *out)
{
	uint8_t *live = tide__calloc(m->allocs.n + 1, 1);
	size_t n = 0;

	*out = (tide_live_set){ 0 };
	if (!live)
		return false;
	for (uint64_t i = 0; i < position; i++)
		if (m->memory_events.kind[i] <= TIDE_MEMORY_FREE)
			live[m->memory_events.row[i]] =
				m->memory_events.kind[i] == TIDE_MEMORY_ALLOC;
	for (size_t a = 1; a < m->allocs.n; a++) {
		if (device != TIDE_ANY && m->pools.device[m->allocs.pool[a].i].i != device)
			live[a] = 0;
		n += live[a];
	}
	out->rows = tide__alloc(n, sizeof *out->rows);
	for (size_t a = 1; out->rows && a < m->allocs.n; a++)
		if (live[a])
			out->rows[out->n++] = (uint32_t)a;
	tide__free(live);
	return out->rows != NULL;
}

tide_code tide__state_find_at(const tide_model *m, uint64_t position, uint32_t device,
			      tide_state *out, tide_error *err)
{
	tide_live_set a;
	tide_code rc = TIDE_OK;

	memset(out, 0, sizeof *out);
	out->position = position < m->memory_events.n ? position : m->memory_events.n;
	out->t = out->position ? tide__memory_event_time(m, out->position - 1) : 0;
	if (!active_at(m, out->position, device, &a) || !live_segments(m, device, out) ||
	    !cut_all(m, &a, out) || !sum_active(m, &a, out)) {
		tide__state_free(out);
		rc = tide__nomem(err);
	} else {
		out->total.n_segments = out->n_segments;
		out->total.n_blocks = out->n_blocks;
	}
	tide__live_set_free(&a);
	return rc;
}

void tide__state_free(tide_state *s)
{
	tide__free(s->segments);
	tide__free(s->blocks);
	memset(s, 0, sizeof *s);
}
