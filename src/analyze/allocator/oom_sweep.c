// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Explains all out-of-memory events in one sweep. Memory events and out-of-memory events are
 * both in order: each allocator with such events is tracked from one to the next
 * (free_blocks.h), and so are the reserved bytes of all devices. */
#include <string.h>

#include "analyze/allocator/free_blocks.h"
#include "analyze/allocator/oom.h"
#include "base/error.h"
#include "base/mem.h"

struct sweep {
	const tide_model *m;
	tide_gap_rows rows;
	tide_free_blocks *gaps; /* allocators that are tracked */
	uint32_t *which;	/* per device: its place in `gaps` + 1 */
	size_t n_gaps;
	tide_gap_rows all_rows; /* of: */
	tide_free_blocks all;	/* all devices as one, for events that name none; m = NULL:
	                         * unused */
	size_t event;
	tide_reserved r;
	size_t taken,
		sampled; /* changes of reserved bytes applied so far: by memory event, by time */
	uint64_t *held;	 /* per device: reserved bytes */
};

static uint32_t device_of(const tide_model *m, uint32_t mark)
{
	uint32_t pool = m->marks.pool[mark].i;
	return pool ? m->pools.device[pool].i : TIDE_ANY;
}

/* ---- tracked allocators ---- */

static bool follow_all(struct sweep *x)
{
	bool has = false;
	if (x->all.m)
		return true;
	for (size_t d = 0; d < x->m->devices.n; d++)
		has |= x->rows.has[d];
	x->all = tide__free_blocks_begin(x->m, &x->all_rows, has);
	return tide__gap_rows_init(&x->all_rows, x->m);
}

static bool follow(struct sweep *x, const uint32_t *marks, size_t n)
{
	bool ok = true;
	for (size_t i = 0; ok && i < n; i++) {
		uint32_t d = device_of(x->m, marks[i]);
		if (d == TIDE_ANY) {
			ok = follow_all(x);
		} else if (!x->which[d]) {
			x->gaps[x->n_gaps] =
				tide__free_blocks_begin(x->m, &x->rows, x->rows.has[d]);
			x->which[d] = (uint32_t)++x->n_gaps;
		}
	}
	return ok;
}

/* ---- advancing ---- */

static bool apply_to(struct sweep *x, uint64_t position)
{
	bool ok = true;
	for (; ok && x->event < position; x->event++) {
		uint32_t at = x->which[tide__free_blocks_device(x->m, x->event)];
		if (at)
			tide__free_blocks_apply(&x->gaps[at - 1], x->event);
		if (x->all.m)
			tide__free_blocks_apply(&x->all, x->event);
		ok = !x->all.failed && !(at && x->gaps[at - 1].failed);
	}
	return ok;
}

/* Segments count by events before the position, samples by time: like tide__reserved_at. */
static void reserve_to(struct sweep *x, uint64_t position, int64_t t)
{
	const tide_reserved *r = &x->r;
	for (; x->taken < r->n && r->steps[x->taken].event < position; x->taken++) {
		const tide_reserved_step *k = &r->steps[x->taken];
		if (r->devices[k->device] == TIDE_RESERVED_SEGMENTS)
			x->held[k->device] = k->bytes;
	}
	for (; x->sampled < r->n && r->steps[x->sampled].t <= t; x->sampled++) {
		const tide_reserved_step *k = &r->steps[x->sampled];
		if (r->devices[k->device] != TIDE_RESERVED_SEGMENTS)
			x->held[k->device] = k->bytes;
	}
}

static void state_of(const tide_free_blocks *g, tide_oom *o)
{
	const tide_fragmentation_point *p = &g->now;
	o->at = (tide_state_totals){ .reserved = p->reserved,
				     .active = p->active,
				     .allocated = p->allocated,
				     .requested = p->requested,
				     .waste = p->active > p->requested ? p->active - p->requested
								       : 0 };
	o->segments_known = g->has && !g->odd && !g->kept;
	if (!o->segments_known)
		return;
	o->at.cached = p->cached;
	o->at.inactive_split = p->inactive_split;
	o->at.expandable_free = p->expandable_free;
	o->at.free = p->cached + p->inactive_split + p->expandable_free;
	o->at.largest_free = tide__free_blocks_largest(g);
}

static void explain(struct sweep *x, uint32_t mark, tide_oom *o)
{
	uint32_t d = device_of(x->m, mark);
	tide__oom_begin(x->m, mark, o);
	state_of(d == TIDE_ANY ? &x->all : &x->gaps[x->which[d] - 1], o);
	if (d == TIDE_ANY) {
		o->source = x->all.has ? TIDE_RESERVED_SEGMENTS : TIDE_RESERVED_UNKNOWN;
		o->reserved = x->all.has ? o->at.reserved : TIDE_RESERVED_NONE;
	} else {
		o->source = x->r.devices[d];
		o->reserved = x->held[d];
	}
	tide__oom_add_recorded(x->m, d, o);
	tide__oom_judge(o);
}

/* ---- all ---- */

static bool begin(struct sweep *x, const uint32_t *marks, size_t n)
{
	size_t devices = x->m->devices.n;
	x->gaps = tide__calloc(devices, sizeof *x->gaps);
	x->which = tide__calloc(devices, sizeof *x->which);
	x->held = tide__alloc(devices, sizeof *x->held);
	if (!x->gaps || !x->which || !x->held || !tide__gap_rows_init(&x->rows, x->m) ||
	    tide__find_reserved(x->m, &x->r, NULL) != TIDE_OK)
		return false;
	for (size_t d = 0; d < devices; d++)
		x->held[d] = x->r.devices[d] == TIDE_RESERVED_SEGMENTS ? 0 : TIDE_RESERVED_NONE;
	return follow(x, marks, n);
}

static void end(struct sweep *x)
{
	for (size_t i = 0; i < x->n_gaps; i++)
		tide__free_blocks_free(&x->gaps[i]);
	tide__free_blocks_free(&x->all);
	tide__gap_rows_free(&x->rows);
	tide__gap_rows_free(&x->all_rows);
	tide__reserved_free(&x->r);
	tide__free(x->gaps);
	tide__free(x->which);
	tide__free(x->held);
}

tide_code tide__find_ooms(const tide_model *m, uint32_t device, tide_oom_fn *fn, void *user,
			  tide_error *err)
{
	struct sweep x = { .m = m };
	uint32_t *marks;
	size_t n;
	tide_code rc = tide__oom_marks_find(m, device, &marks, &n, err);
	bool ok = rc == TIDE_OK && begin(&x, marks, n), go = true;
	for (size_t i = 0; ok && go && i < n; i++) {
		uint64_t position = m->marks.position[marks[i]];
		tide_oom o;
		ok = apply_to(&x, position < m->memory_events.n ? position : m->memory_events.n);
		reserve_to(&x, position, m->marks.t[marks[i]]);
		explain(&x, marks[i], &o);
		go = ok && fn(user, &o);
	}
	end(&x);
	tide__free(marks);
	return ok ? TIDE_OK : rc != TIDE_OK ? rc : tide__nomem(err);
}
