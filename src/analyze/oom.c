// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Out of memory: the allocator's state at the event, and the same state with one group's blocks
 * counted as free. */
#include "analyze/oom.h"

#include <string.h>

#include "analyze/sim/config.h"
#include "base/error.h"
#include "base/mem.h"

static bool is_oom(const tide_model *m, uint32_t device, size_t i)
{
	return m->marks.kind[i] == TIDE_MARK_OOM &&
	       (device == TIDE_ANY || m->pools.device[m->marks.pool[i].i].i == device);
}

tide_code tide__oom_marks(const tide_model *m, uint32_t device, uint32_t **rows, size_t *n,
			  tide_error *err)
{
	*n = 0;
	for (size_t i = 1; i < m->marks.n; i++)
		*n += is_oom(m, device, i);
	*rows = tide__alloc(*n, sizeof **rows);
	if (!*rows)
		return tide__nomem(err);
	*n = 0;
	for (size_t i = 1; i < m->marks.n; i++)
		if (is_oom(m, device, i))
			(*rows)[(*n)++] = (uint32_t)i;
	return TIDE_OK;
}

/* ---- room -------------------------------------------------------------------------------- */

/* One segment without the group's blocks: is it all free, and what is its largest free stretch? */
static uint64_t largest_without(const tide_state *s, const tide_state_segment *g, const uint8_t *in,
				bool *all)
{
	uint64_t run = 0, best = 0;

	*all = true;
	for (size_t i = g->first; i < g->first + g->n; i++) {
		const tide_state_block *b = &s->blocks[i];

		if (b->alloc && !in[b->alloc]) {
			run = 0;
			*all = false;
			continue;
		}
		run += b->size;
		if (run > best)
			best = run;
	}
	return best;
}

static void try_row(const tide_model *m, const tide_state *s, const uint8_t *in, tide_oom *o,
		    tide_oom_room *r)
{
	bool all;

	for (size_t g = 0; g < s->n_segments; g++) {
		uint64_t best = largest_without(s, &s->segments[g], in, &all);

		if (all)
			r->released += s->segments[g].size;
		if (best > r->largest)
			r->largest = best;
	}
	uint64_t left =
		o->cause == TIDE_OOM_LIMITED || o->device_free < 0 ? 0 : (uint64_t)o->device_free;
	r->enough =
		r->largest >= o->asked || (o->device_free >= 0 && r->released + left >= o->needed);
}

static tide_code try_rooms(const tide_model *m, const tide_state *s, const tide_alive *a,
			   size_t top, tide_oom *o, tide_error *err)
{
	uint8_t *in = tide__calloc(m->allocs.n + 1, 1);

	o->n_room = o->groups.n < top ? o->groups.n : top;
	o->room = tide__calloc(o->n_room, sizeof *o->room);
	if (!in || !o->room) {
		tide__free(in);
		return tide__nomem(err);
	}
	for (size_t r = 0; r < o->n_room; r++) {
		uint64_t key = o->groups.rows[r].key;

		for (size_t i = 0; i < a->n; i++)
			in[a->rows[i]] = tide__groups_key(&o->groups, m, a->rows[i]) == key;
		o->room[r].row = r;
		try_row(m, s, in, o, &o->room[r]);
	}
	tide__free(in);
	return TIDE_OK;
}

/* ---- the event --------------------------------------------------------------------------- */

void tide__oom_begin(const tide_model *m, uint32_t mark, tide_oom *out)
{
	memset(out, 0, sizeof *out);
	out->mark = mark;
	out->t = m->marks.t[mark];
	out->asked = m->marks.value[mark] > 0 ? (uint64_t)m->marks.value[mark] : 0;
	out->needed = tide__sim_segment(out->asked);
	out->device_free = m->marks.extra[mark];
}

void tide__oom_judge(tide_oom *o)
{
	bool known = o->reserved != TIDE_RESERVED_NONE;

	o->unallocated = !known				 ? TIDE_RESERVED_NONE
			 : o->reserved > o->at.allocated ? o->reserved - o->at.allocated
							 : 0;
	if (known && !o->segments_known) /* sampled */
		o->at.free = o->reserved > o->at.active ? o->reserved - o->at.active : 0;
	if (!known || o->device_free < 0)
		return;
	if ((uint64_t)o->device_free >= o->needed) {
		o->cause = TIDE_OOM_LIMITED;
		o->below = o->reserved + o->needed;
		return;
	}
	o->capacity = o->reserved + (uint64_t)o->device_free;
	if (!o->segments_known)
		return; /* which of the reserved bytes were free is not known */
	uint64_t free = (uint64_t)o->device_free + o->at.free;

	o->cause = free >= o->asked ? TIDE_OOM_FRAGMENTED : TIDE_OOM_FULL;
	o->missing = free >= o->asked ? 0 : o->asked - free;
}

/* Of an event that names no device: of all, where there are segments. */
static tide_code find_reserved(const tide_model *m, uint32_t device, tide_oom *o, tide_error *err)
{
	tide_reserved r;

	if (device == TIDE_ANY) {
		o->source = o->segments_known ? TIDE_RESERVED_SEGMENTS : TIDE_RESERVED_UNKNOWN;
		o->reserved = o->segments_known ? o->at.reserved : TIDE_RESERVED_NONE;
		return TIDE_OK;
	}
	tide_code rc = tide__reserved(m, &r, err);

	if (rc != TIDE_OK)
		return rc;
	o->source = r.devices[device];
	o->reserved = tide__reserved_at(&r, device, m->marks.move[o->mark], o->t);
	tide__reserved_free(&r);
	return TIDE_OK;
}

tide_code tide__oom(const tide_model *m, uint32_t mark, tide_group_by by, size_t top, tide_oom *out,
		    tide_error *err)
{
	uint32_t pool = m->marks.pool[mark].i;
	uint32_t device = pool ? m->pools.device[pool].i : TIDE_ANY;
	tide_alive a = { 0 };
	tide_state s;

	tide__oom_begin(m, mark, out);
	tide_code rc = tide__state_at(m, m->marks.move[mark], device, &s, err);

	if (rc != TIDE_OK)
		return rc;
	out->at = s.total;
	out->segments_known = s.known;
	rc = find_reserved(m, device, out, err);
	tide__oom_judge(out);
	if (rc == TIDE_OK)
		rc = tide__alive_at(m, m->marks.move[mark], device, TIDE_ANY, &a, err);
	if (rc == TIDE_OK)
		rc = tide__groups(m, &a, by, &out->groups, err);
	if (rc == TIDE_OK)
		rc = try_rooms(m, &s, &a, top, out, err);
	tide__alive_free(&a);
	tide__state_free(&s);
	return rc;
}

void tide__oom_free(tide_oom *o)
{
	tide__groups_free(&o->groups);
	tide__free(o->room);
	memset(o, 0, sizeof *o);
}
