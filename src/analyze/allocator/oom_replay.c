// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/allocator/oom_replay.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/allocator/sim/serve.h"
#include "analyze/live/reserved.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/ordered.h"

enum { MOST_EMPTIED = 64 };

struct replay {
	const tide_model *m;
	tide_requests *q;  /* owned */
	tide_reserved r;   /* owned: what was recorded */
	size_t step;	   /* in r.steps: those before are past */
	uint64_t expected; /* the last recorded reserved bytes; TIDE_RESERVED_NONE = none yet */
	tide_sim *sim;	   /* owned */
	size_t now;	   /* the request being served */
	tide_ordered held; /* owned: plain segments, (address, size) */
	uint64_t next;	   /* made-up addresses, for ranges of failed requests */
	bool failed;	   /* memory ran out */
	uint32_t device;
	size_t emptied[MOST_EMPTIED]; /* requests before which empty_cache() was called */
	size_t n_emptied;
	tide_oom_replayed *out;
};

/* ---- the device: every segment begins where the block it was taken for was recorded ---- */

/* Returns the recorded address; 0, out of memory, for a request that failed, and in a recording that
 * contradicts itself. */
static uint64_t take(void *user, tide_sim_where where, uint64_t size)
{
	struct replay *x = user;
	uint64_t addr = x->q->addr[x->now];

	if (!addr || addr > UINT64_MAX - size || tide__ordered_overlaps(&x->held, addr, size))
		return 0;
	if (!tide__ordered_put2(&x->held, addr, size, 1))
		x->failed = true;
	return addr;
}

/* Ranges are larger here than the device's, so they may overlap: each serves one half of one pool. A
 * range without a recorded place is put elsewhere, and its blocks then differ. */
static uint64_t range(void *user, tide_sim_where where, uint64_t size)
{
	struct replay *x = user;
	uint64_t addr = x->q->addr[x->now];

	return addr && addr <= UINT64_MAX - size ? addr : tide__sim_invent(&x->next, size);
}

static bool map(void *user, tide_sim_where where, uint64_t addr, uint64_t size)
{
	const struct replay *x = user;

	return x->q->r[x->now].kind != TIDE_REQ_OOM;
}

static void give(void *user, tide_sim_where where, uint64_t addr, uint64_t size)
{
	struct replay *x = user;

	tide__ordered_del2(&x->held, addr, size);
}

/* ---- comparing ---- */

static bool differs(const struct replay *x)
{
	return x->out->first.what != TIDE_OOM_SAME;
}

static void differ(struct replay *x, tide_oom_differs what, uint64_t here, uint64_t recorded)
{
	if (!differs(x))
		x->out->first = (tide_oom_difference){ what, x->now + 1, x->q->n, here, recorded };
}

/* Finds the reserved bytes recorded at the time of a request: PyTorch reports them with each. */
static void expect(struct replay *x, const tide_request *r)
{
	int64_t t = r->event < x->m->memory_events.n ? tide__memory_event_time(x->m, r->event)
						     : INT64_MAX;

	if (r->kind == TIDE_REQ_OOM)
		t = x->m->marks.t[r->id];
	for (; x->step < x->r.n && x->r.steps[x->step].t <= t; x->step++)
		if (x->r.steps[x->step].device == x->device)
			x->expected = x->r.steps[x->step].bytes;
}

static bool is_above(const struct replay *x)
{
	return x->expected != TIDE_RESERVED_NONE && tide__sim_stats(x->sim)->reserved > x->expected;
}

/* Calls of empty_cache() are not recorded, and neither is the release of the cache for a request that
 * the device refused at first. Both leave less reserved than the simulator has, unless the request
 * takes as much as they released: then its block is elsewhere, and replay_all() tries one there. */
static tide_code release_if_above(struct replay *x)
{
	return is_above(x) ? tide__sim_empty_cache(x->sim) : TIDE_OK;
}

static bool is_emptied(const struct replay *x)
{
	for (size_t i = 0; i < x->n_emptied; i++)
		if (x->emptied[i] == x->now)
			return true;
	return false;
}

static void compare(struct replay *x, const tide_request *r)
{
	uint64_t addr, size, reserved = tide__sim_stats(x->sim)->reserved;

	if (x->expected != TIDE_RESERVED_NONE && reserved != x->expected)
		differ(x, TIDE_OOM_RESERVED, reserved, x->expected);
	if (r->kind != TIDE_REQ_ALLOC || !r->size)
		return;
	if (!tide__sim_block(x->sim, r->id, &addr, &size))
		differ(x, TIDE_OOM_ADDRESS, 0, x->q->addr[x->now]);
	else if (addr != x->q->addr[x->now])
		differ(x, TIDE_OOM_ADDRESS, addr, x->q->addr[x->now]);
	else if (size != x->m->allocs.size[r->id])
		differ(x, TIDE_OOM_SIZE, size, x->m->allocs.size[r->id]);
	x->out->blocks++;
}

static tide_code serve(struct replay *x, const tide_request *r)
{
	tide_sim_result unused = { 0 };

	expect(x, r);
	tide_code rc = is_emptied(x) ? tide__sim_empty_cache(x->sim) : release_if_above(x);
	if (rc == TIDE_OK)
		rc = tide__sim_serve(x->sim, x->q, r, &unused);
	if (rc == TIDE_ELIMIT || rc == TIDE_EUSAGE) {
		differ(x, TIDE_OOM_FAILS, 0, r->size);
		rc = TIDE_OK;
	}
	if (rc == TIDE_OK)
		rc = release_if_above(x);
	if (rc == TIDE_OK && unused.oom_fit)
		differ(x, TIDE_OOM_SUCCEEDS, 0, r->size);
	if (rc == TIDE_OK)
		compare(x, r);
	return rc;
}

/* Serves all requests up to the failed one, or to the first difference. */
static tide_code serve_all(struct replay *x, uint32_t mark)
{
	for (x->now = 0; x->now < x->q->n; x->now++) {
		const tide_request *r = &x->q->r[x->now];
		tide_code rc = serve(x, r);

		if (rc != TIDE_OK || differs(x) || (r->kind == TIDE_REQ_OOM && r->id == mark))
			return rc;
	}
	if (!differs(x))
		x->out->first.what = TIDE_OOM_NO_REQUEST;
	return TIDE_OK;
}

/* Replays from the beginning; again with one more empty_cache() where the last replay differed. */
static tide_code replay_all(struct replay *x, uint32_t mark)
{
	tide_sim_device d = { x, take, range, map, give };
	tide_sim_config c = x->q->recorded;

	memset(c.roundup, 0,
	       sizeof c.roundup); /* PyTorch reports bytes of blocks, which are rounded */
	for (;;) {
		tide__sim_free_all(x->sim);
		tide__ordered_free(&x->held);
		x->sim = tide__sim_new(&c, &d, x->q->n_ids);
		x->step = 0;
		x->expected = TIDE_RESERVED_NONE;
		x->next = TIDE_SIM_TOP_ADDR;
		x->out->blocks = 0;
		x->out->first = (tide_oom_difference){ .what = TIDE_OOM_SAME };
		tide_code rc = x->sim ? serve_all(x, mark) : TIDE_ENOMEM;
		if (x->failed)
			return TIDE_ENOMEM;
		if (rc != TIDE_OK || !differs(x) || x->now >= x->q->n || is_emptied(x) ||
		    x->n_emptied == MOST_EMPTIED)
			return rc;
		x->emptied[x->n_emptied++] = x->now;
	}
}

/* ---- the result ---- */

static int by_addr(const void *a, const void *b)
{
	const tide_state_segment *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static void add_piece(tide_state *s, const tide_sim_piece *p)
{
	if (p->begins)
		s->segments[s->n_segments++] = (tide_state_segment){ .addr = p->addr,
								     .stretches = 1,
								     .first = s->n_blocks };
	tide_state_segment *g = &s->segments[s->n_segments - 1];

	s->blocks[s->n_blocks++] =
		(tide_state_block){ p->addr, p->size, p->used ? p->id : 0, false };
	g->size += p->size;
	g->n++;
	if (p->used) {
		g->used += p->size;
		g->n_used++;
		return;
	}
	s->total.n_free++;
	s->total.free += p->size;
	if (p->size > s->total.largest_free)
		s->total.largest_free = p->size;
	if (p->expandable)
		s->total.expandable_free += p->size;
}

/* Divides the free bytes of plain segments. */
static void add_segment(tide_state *s, const tide_state_segment *g, bool expandable)
{
	s->total.reserved += g->size;
	if (expandable)
		return;
	*(g->n_used ? &s->total.inactive_split : &s->total.cached) += g->size - g->used;
}

static bool list(const tide_sim *sim, tide_state *s)
{
	size_t n = tide__sim_count_blocks(sim), from = 0;
	tide_sim_piece *p = tide__alloc(n, sizeof *p);

	s->segments = tide__alloc(n, sizeof *s->segments);
	s->blocks = tide__alloc(n, sizeof *s->blocks);
	bool ok = p && s->segments && s->blocks;

	n = ok ? tide__sim_list_blocks(sim, p) : 0;
	for (size_t i = 0; i < n; i++) {
		add_piece(s, &p[i]);
		if (i + 1 < n && !p[i + 1].begins)
			continue;
		add_segment(s, &s->segments[s->n_segments - 1], p[from].expandable);
		from = i + 1;
	}
	tide__free(p);
	if (s->n_segments)
		qsort(s->segments, s->n_segments, sizeof *s->segments, by_addr);
	return ok;
}

static bool fill(struct replay *x, tide_state *s)
{
	const tide_sim_stats *st = tide__sim_stats(x->sim);

	if (!list(x->sim, s))
		return false;
	s->total.active = st->active;
	s->total.allocated = st->allocated;
	s->total.requested = st->requested;
	s->total.waste = st->active > st->requested ? st->active - st->requested : 0;
	s->total.n_segments = s->n_segments;
	s->total.n_blocks = s->n_blocks;
	s->known = true;
	return true;
}

static void compare_end(struct replay *x, uint64_t reserved, uint64_t allocated)
{
	const tide_sim_stats *st = tide__sim_stats(x->sim);

	if (st->reserved != reserved)
		differ(x, TIDE_OOM_RESERVED, st->reserved, reserved);
	if (allocated != TIDE_RESERVED_NONE && st->allocated != allocated)
		differ(x, TIDE_OOM_ALLOCATED, st->allocated, allocated);
}

static void end(struct replay *x)
{
	tide__sim_free_all(x->sim);
	tide__ordered_free(&x->held);
	tide__reserved_free(&x->r);
	tide__requests_free(x->q);
}

tide_code tide__oom_replay(const tide_model *m, uint32_t device, uint32_t mark, uint64_t reserved,
			   uint64_t allocated, tide_oom_replayed *out, tide_error *err)
{
	struct replay x = { .m = m, .device = device, .out = out };

	memset(out, 0, sizeof *out);
	tide_code rc = tide__requests_new(m, (tide_device_id){ device }, &x.q, err);
	if (rc == TIDE_ENOTFOUND || rc == TIDE_ELIMIT) {
		out->first.what = TIDE_OOM_NOT_REPLAYED;
		return TIDE_OK;
	}
	if (rc == TIDE_OK)
		rc = tide__find_reserved(m, &x.r, err);
	if (rc == TIDE_OK)
		rc = replay_all(&x, mark);
	if (rc == TIDE_OK && !differs(&x))
		compare_end(&x, reserved, allocated);
	out->known = rc == TIDE_OK && !differs(&x);
	if (out->known && !fill(&x, &out->state))
		rc = TIDE_ENOMEM;
	end(&x);
	if (rc == TIDE_OK)
		return TIDE_OK;
	tide__state_free(&out->state);
	out->known = false;
	return rc == TIDE_ENOMEM ? tide__nomem(err) : rc;
}
