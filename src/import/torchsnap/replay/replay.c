// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds the order and times of a snapshot's events, and the state before the first of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/torchsnap/exported.h"
#include "import/torchsnap/pickle/huge_pages.h"
#include "import/torchsnap/reader.h"
#include "import/torchsnap/replay/replay_impl.h"

typedef tide_replay replay;
typedef tide_replay_device device;

static tide_code nomem(replay *r)
{
	return tide__nomem(r->err);
}

/* ---- order and time ---- */

enum { SLICE = 4096 }; /* events between two checks for the end of the program */

/* Returns the time of a device's next event, or its number without times. */
static int64_t key_of(const replay *r, const device *d)
{
	const tide_snap_event *e = &r->s->events.v[tide__snap_event(&d->trace, d->next)];
	if (!r->timed)
		return (int64_t)d->next;
	int64_t t = e->time_us == TIDE_SNAP_NO_TIME ? d->last_t : (e->time_us - r->base_us) * 1000;
	return t < d->last_t ? d->last_t : t;
}

static bool before(const replay *r, uint32_t a, uint32_t b)
{
	int64_t x = key_of(r, &r->devices[a]), y = key_of(r, &r->devices[b]);
	return x < y || (x == y && a < b);
}

static void sift(replay *r, size_t i)
{
	for (;;) {
		size_t least = i, c = 2 * i + 1;
		for (size_t k = c; k < c + 2 && k < r->n_heap; k++)
			if (before(r, r->heap[k], r->heap[least]))
				least = k;
		if (least == i)
			return;
		uint32_t t = r->heap[i];
		r->heap[i] = r->heap[least];
		r->heap[least] = t;
		i = least;
	}
}

static void set_now(replay *r, device *d, const tide_snap_event *e)
{
	if (!r->timed) {
		r->now = (int64_t)r->events;
		return;
	}
	if (e->time_us != TIDE_SNAP_NO_TIME) {
		int64_t t = (e->time_us - r->base_us) * 1000;
		r->clamped += t < d->last_t;
		d->last_t = t > d->last_t ? t : d->last_t;
	}
	if (d->last_t > r->now)
		r->now = d->last_t;
}

static tide_code step(replay *r, device *d)
{
	uint32_t event = tide__snap_event(&d->trace, d->next++);
	const tide_snap_event *e = &r->s->events.v[event];
	set_now(r, d, e);
	r->events++;
	return tide__replay_event(r, d, event);
}

static tide_code all_events(replay *r)
{
	for (size_t i = r->n_heap; i-- > 0;)
		sift(r, i);
	while (r->n_heap) {
		device *d = &r->devices[r->heap[0]];
		tide_code rc = step(r, d);
		if (!rc && r->events % SLICE == 0 && tide__mem_stopped())
			rc = nomem(r);
		if (rc)
			return rc;
		if (d->next == d->trace.n)
			r->heap[0] = r->heap[--r->n_heap];
		if (r->n_heap > 1)
			sift(r, 0);
	}
	return TIDE_OK;
}

/* ---- the state before the first event ---- */

static tide_code old_segment(replay *r, device *d, const tide_base_segment *g)
{
	const tide_snap_segment *f = g->final ? &r->s->segments.v[g->final - 1] : NULL;
	r->wrapped += f && f->has_frames;
	return tide__replay_segment(r, d, g->addr, g->size, g->mapped, g->event, f ? f->stack : 0,
				    TIDE_SEGMENT_BEFORE);
}

static tide_code old_block(replay *r, device *d, const tide_base_block *b, uint64_t next)
{
	const tide_snap_block *f = b->final ? &r->s->blocks.v[b->final - 1] : NULL;
	const tide_snap_event *e = f ? NULL : &r->s->events.v[b->event];
	uint64_t asked = f ? f->requested : e->size;
	uint32_t id = (uint32_t)r->m->allocs.n;
	tide_geo_taken t;
	if (!tide__geo_place(&d->geo, b->addr, f ? f->size : tide__geo_round(d->geo.set, asked), !f,
			     next, id, &t))
		return nomem(r);
	struct tide_replay_row a = { .addr = b->addr,
				     .size = t.size,
				     .requested = asked,
				     .pool = tide__replay_pool_in(r, d, t.area, b->event),
				     .stack = f ? f->stack : 0,
				     .flags = (uint8_t)(TIDE_ALLOC_BEFORE |
							(t.overlaps ? TIDE_ALLOC_OVERLAPS : 0)) };
	a.stream =
		t.area ? d->geo.areas.v[t.area].stream : tide__replay_lane(r, d, e ? e->stream : 0);
	r->wrapped += f && f->has_frames;
	tide_code rc = a.pool.i && a.stream.i ? tide__replay_alloc(r, &a) : nomem(r);
	return !rc && b->asked ? tide__replay_ask(r, id) : rc;
}

static tide_code begin(replay *r, device *d)
{
	tide_code rc = TIDE_OK;
	const tide_base_block *b = d->base.blocks.v;
	size_t n = d->base.blocks.n;
	for (size_t i = 0; i < d->base.segments.n && !rc && !r->s->settings.bare; i++)
		rc = old_segment(r, d, &d->base.segments.v[i]);
	for (int asked = 1; asked >= 0; asked--) /* these first, because they do not add to each
	                                          * other */
		for (size_t i = 0; i < n && !rc; i++)
			if (b[i].asked == asked)
				rc = old_block(r, d, &b[i], i + 1 < n ? b[i + 1].addr : UINT64_MAX);
	return rc;
}

/* ---- setting up ---- */

enum { MOST_DEVICES = 4096 }; /* their numbers are below it: schema_walk.c */

static uint16_t *place(replay *r, uint32_t number)
{
	return &r->places[number < MOST_DEVICES ? number : MOST_DEVICES];
}

static device *device_of(replay *r, uint32_t number)
{
	bool possible = number < MOST_DEVICES || number == TIDE_SNAP_HOST;
	uint16_t at = possible ? *place(r, number) : 0;
	return at ? &r->devices[at - 1] : NULL;
}

static bool new_device(replay *r, uint32_t number)
{
	if (!TIDE_RESIZE(r->devices, r->n + 1))
		return false;
	device *d = &r->devices[r->n++];
	*place(r, number) = (uint16_t)r->n;
	*d = (device){ .number = number, .trace.device = number };
	tide__geo_init(&d->geo, &r->s->settings);
	d->id = tide__snap_get_device(r->m, number);
	d->lanes = tide__calloc(r->s->streams.n + 1, sizeof *d->lanes);
	return d->id.i && d->lanes && tide__replay_pool(r, d, 0).i;
}

/* Finds the devices with a segment or an event, in order of their numbers. */
static bool find_devices(replay *r)
{
	uint8_t *seen = tide__calloc(MOST_DEVICES + 1, 1);
	r->places = tide__calloc(MOST_DEVICES + 1, sizeof *r->places);
	bool ok = seen && r->places, host = false;
	for (size_t i = 0; ok && i < r->s->segments.n; i++) {
		uint32_t number = r->s->segments.v[i].device;
		host |= number == TIDE_SNAP_HOST;
		seen[number < MOST_DEVICES ? number : MOST_DEVICES] = 1;
	}
	for (size_t i = 0; ok && i < r->s->traces.n; i++) {
		uint32_t number = r->s->traces.v[i].device;
		if (!r->s->traces.v[i].n)
			continue;
		host |= number == TIDE_SNAP_HOST;
		seen[number < MOST_DEVICES ? number : MOST_DEVICES] = 1;
	}
	for (uint32_t i = 0; ok && i < MOST_DEVICES; i++)
		ok = !seen[i] || new_device(r, i);
	tide__free(seen);
	return ok && (!host || new_device(r, TIDE_SNAP_HOST));
}

/* Groups segments by device: counts, then places them. */
static bool share_out(replay *r)
{
	const tide_snap *s = r->s;
	size_t at = 0;
	r->order = tide__alloc(s->segments.n, sizeof *r->order);
	if (!r->order)
		return false;
	for (size_t i = 0; i < s->segments.n; i++)
		device_of(r, s->segments.v[i].device)->own.n++;
	for (size_t i = 0; i < r->n; i++) {
		r->devices[i].own.v = r->order + at;
		at += r->devices[i].own.n;
		r->devices[i].own.n = 0;
	}
	for (size_t i = 0; i < s->segments.n; i++) {
		device *d = device_of(r, s->segments.v[i].device);
		r->order[(size_t)(d->own.v - r->order) + d->own.n++] = (uint32_t)i;
	}
	return true;
}

static bool prepare(replay *r)
{
	if (!share_out(r))
		return false;
	for (size_t i = 0; i < r->s->traces.n; i++) {
		device *d = device_of(r, r->s->traces.v[i].device);
		if (d)
			d->trace = r->s->traces.v[i];
	}
	for (size_t i = 0; i < r->s->segments.n; i++) {
		device *d = device_of(r, r->s->segments.v[i].device);
		if (!tide__ordered_put(&d->final, r->s->segments.v[i].addr, (uint32_t)i))
			return false;
	}
	r->heap = tide__alloc(r->n + 1, sizeof *r->heap);
	if (!r->heap)
		return false;
	bool seg = false;
	for (unsigned a = TIDE_SNAP_SEGMENT_ALLOC; a <= TIDE_SNAP_SEGMENT_UNMAP; a++)
		seg |= r->actions[a] != 0;
	for (size_t i = 0; i < r->n; i++) {
		device *d = &r->devices[i];
		if (!tide__find_baseline(r->s, &d->trace, d->own, seg, &d->base))
			return false;
		if (d->trace.n)
			r->heap[r->n_heap++] = (uint32_t)i;
	}
	return true;
}

/* ---- room ---- */

static void *fault_in(void *arg)
{
	struct tide_replay_faults *f = arg;
	tide__table_fault_in(&f->allocs, &tide_allocs_desc, f->allocs.n, f->allocs.cap);
	tide__table_fault_in(&f->memory_events, &tide_memory_events_desc, f->memory_events.n,
			     f->memory_events.cap);
	return NULL;
}

static void end_faults(replay *r)
{
	if (r->faults.runs)
		pthread_join(r->faults.thread, NULL);
	r->faults.runs = false;
}

/* Reserves that many more rows. Columns do not move if they suffice. */
static bool room(replay *r, size_t allocs, size_t memory_events)
{
	tide_allocs *t = &r->m->allocs;
	if (t->cap - t->n >= allocs &&
	    r->m->memory_events.cap - r->m->memory_events.n >= memory_events)
		return true;
	end_faults(r);
	if (!tide__table_reserve(t, &tide_allocs_desc, allocs) ||
	    !tide__table_reserve(&r->m->memory_events, &tide_memory_events_desc, memory_events))
		return false;
	for (size_t i = 0; i < tide_allocs_desc.n_columns; i++) {
		const tide_column *c = &tide_allocs_desc.columns[i];
		void *at;
		memcpy(&at, (const char *)t + c->at, sizeof at);
		tide__huge_pages_advise(at, t->cap * c->size);
	}
	return true;
}

/* Reserves the rows of all events, so that nothing is moved later; a thread faults in their
 * pages while the initial state is computed. */
static bool reserve(replay *r, bool threads)
{
	enum { WORTH_IT = 1 << 16 };
	size_t allocs = r->actions[TIDE_SNAP_ALLOC], memory_events = allocs;
	for (unsigned a = TIDE_SNAP_FREE_COMPLETED; a <= TIDE_SNAP_SEGMENT_UNMAP; a++)
		memory_events += r->actions[a];
	for (size_t i = 0; i < r->s->blocks.n; i++) { /* rows of allocations older than the
	                                               * history */
		allocs += r->s->blocks.v[i].state != 0;
		memory_events += r->s->blocks.v[i].state != 0;
	}
	if (!room(r, allocs, memory_events + r->s->segments.n))
		return false;
	r->faults.allocs = r->m->allocs;
	r->faults.memory_events = r->m->memory_events;
	r->faults.allocs.cap = r->m->allocs.n + allocs; /* only pages that will be used */
	r->faults.memory_events.cap = r->m->memory_events.n + memory_events;
	r->faults.runs = threads && allocs > WORTH_IT &&
			 !pthread_create(&r->faults.thread, NULL, fault_in, &r->faults);
	return true;
}

/* Reserves the rows of the state before the history, once it is known. */
static bool reserve_old(replay *r)
{
	size_t allocs = r->actions[TIDE_SNAP_ALLOC], memory_events = 0;
	for (size_t i = 0; i < r->n; i++) {
		allocs += r->devices[i].base.blocks.n;
		memory_events += r->devices[i].base.segments.n;
	}
	r->end_allocs = r->m->allocs.n + allocs;
	return room(r, allocs, allocs + memory_events);
}

static void cover(replay *r, int64_t us)
{
	if (!r->timed || us < r->base_us)
		r->base_us = us;
	if (!r->timed || us > r->end_us)
		r->end_us = us;
	r->timed = true;
}

/* Scans all events for their time range and the number of rows that they need. */
static void survey(replay *r, const tide_snap_trace *t)
{
	for (size_t k = 0; k < t->n; k++) {
		const tide_snap_event *e = &r->s->events.v[tide__snap_event(t, k)];
		r->actions[e->action]++;
		if (e->time_us != TIDE_SNAP_NO_TIME)
			cover(r, e->time_us);
	}
}

static void find_start(replay *r)
{
	for (size_t i = 0; i < r->s->traces.n; i++) {
		survey(r, &r->s->traces.v[i]);
		/* torch writes one event if only the state is recorded */
		r->history |= r->s->traces.v[i].n > 1;
	}
	for (size_t i = 0; i < r->s->notes.n && !r->s->events.n; i++)
		cover(r, r->s->notes.v[i].time_us);
}

/* ---- facts ---- */

static bool fact(replay *r, const char *key, uint64_t n)
{
	return !n || tide__fact_set_number(r->m, key, n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

static tide_code facts(replay *r)
{
	uint64_t repairs = 0, differ = 0, old = 0;
	bool ok = true;
	for (size_t i = 0; i < r->n; i++) {
		repairs += r->devices[i].geo.mismatches;
		old += r->devices[i].base.blocks.n;
		if (r->devices[i].final.n ||
		    (r->s->segments.n && r->devices[i].number != TIDE_SNAP_HOST))
			differ += tide__geo_compare(&r->devices[i].geo, r->s, r->devices[i].own);
	}
	for (unsigned a = 0; a < TIDE_SNAP_N_ACTIONS; a++) {
		char key[64];
		snprintf(key, sizeof key, "snapshot.events.%s", tide__snap_action_text[a]);
		ok = ok && fact(r, key, r->actions[a]);
	}
	ok = ok && fact(r, "snapshot.events", r->events) &&
	     fact(r, "snapshot.allocs_before", old) &&
	     fact(r, "loss.times_unknown", r->timed ? 0 : r->events) &&
	     fact(r, "time.clamped", r->clamped) &&
	     fact(r, r->history ? "loss.history_wrapped" : "loss.no_history",
		  r->history ? r->wrapped : old) &&
	     fact(r, "loss.unknown_actions", r->unknown_actions) &&
	     fact(r, "loss.geometry_repairs", repairs) && fact(r, "loss.geometry_mismatch", differ);
	return ok ? TIDE_OK : nomem(r);
}

static void finish(replay *r)
{
	tide_model *m = r->m;
	end_faults(r);
	if (r->now > m->t_end)
		m->t_end = r->now;
	m->wall_known = r->timed;
	m->wall0_ns = r->timed ? r->base_us * 1000 : 0;
	for (size_t i = 0; i < r->n; i++) {
		device *d = &r->devices[i];
		tide__geo_free(&d->geo);
		tide__baseline_free(&d->base);
		tide__ordered_free(&d->segments);
		tide__ordered_free(&d->final);
		tide__free(d->lanes);
		tide__map_free(&d->pools);
	}
	tide__free(r->devices);
	tide__free(r->places);
	tide__free(r->order);
	tide__free(r->heap);
}

tide_code tide__snap_replay(const tide_snap *s, bool threads, tide_model *m, tide_error *err)
{
	replay r = { .s = s, .m = m, .err = err };
	tide_code rc = TIDE_OK;
	find_start(&r);
	if (!reserve(&r, threads) || !find_devices(&r) || !prepare(&r) || !reserve_old(&r))
		rc = nomem(&r);
	if (!rc && r.timed)
		rc = tide__snap_add_notes(s, m, r.base_us, (r.end_us - r.base_us) * 1000,
					  r.actions[TIDE_SNAP_USER_DEFINED] != 0, err);
	else if (!rc && s->notes.n &&
		 !tide__fact_set_number(m, "loss.annotations", (int64_t)s->notes.n))
		rc = nomem(&r);
	for (size_t i = 0; i < r.n && !rc; i++) {
		for (uint32_t l = 1; l < m->lanes.n && !r.devices[i].spans.lane.i; l++)
			if (m->lanes.kind[l] == TIDE_LANE_OTHER &&
			    m->lanes.device[l].i == r.devices[i].id.i)
				r.devices[i].spans = (tide_snap_spans){ { l }, 1, 0 };
		rc = begin(&r, &r.devices[i]);
	}
	if (!rc)
		rc = all_events(&r);
	if (!rc)
		rc = facts(&r);
	finish(&r);
	if (!rc && !tide__snap_restore_exported(s, m, r.base_us))
		rc = nomem(&r);
	return rc;
}
