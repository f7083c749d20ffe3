// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The requests with other frees: an allocation that leaves is freed there, one that comes back is
 * requested again. Everything else stays in its place, so the two replays differ by that alone. */
#include "analyze/allocator/stale_reserved.h"

#include <string.h>

#include "analyze/allocator/sim/replay.h"
#include "base/error.h"
#include "base/mem.h"

#define ALL UINT32_MAX

struct edit {
	const tide_requests *from;
	tide_requests to; /* shares what does not change */
	uint32_t *id;	  /* owned: per alloc its present id */
	uint8_t *gone;	  /* owned: per alloc */
	uint32_t *made;	  /* owned: per alloc, the request that made it + 1; 0 = before */
	uint32_t *place;  /* owned: per request of `from` its place in `to`; [n] the end */
	size_t cap;
};

static bool put(struct edit *e, tide_request r)
{
	if (!TIDE_ROOM(e->to.r, e->cap, e->to.n + 1))
		return false;
	e->to.r[e->to.n++] = r;
	return true;
}

/* Applies an absence before request i. */
static bool apply(struct edit *e, const tide_absence *a, uint32_t event)
{
	uint32_t made = e->made[a->alloc];
	if (!a->back == e->gone[a->alloc] || (a->back && !made))
		return true;
	e->gone[a->alloc] = !a->back;
	if (!a->back)
		return put(e, (tide_request){ .id = e->id[a->alloc],
					      .event = event,
					      .kind = TIDE_REQ_FREE });
	tide_request again = e->from->r[made - 1];
	e->id[a->alloc] = again.id = e->to.n_ids++;
	again.event = event;
	return put(e, again);
}

static bool put_request(struct edit *e, size_t i)
{
	tide_request r = e->from->r[i];
	if (r.kind == TIDE_REQ_ALLOC)
		e->made[r.id] = (uint32_t)i + 1;
	if (r.kind == TIDE_REQ_FREE || r.kind == TIDE_REQ_FREE_ASKED) {
		if (e->gone[r.id])
			return true;
		r.id = e->id[r.id];
	}
	return put(e, r);
}

static bool put_all(struct edit *e, const tide_stale_part *p, uint32_t group)
{
	size_t k = 0;
	bool ok = true;
	for (size_t i = 0; ok && i < e->from->n; i++) {
		uint32_t event = e->from->r[i].event;
		for (; ok && k < p->n_absences && p->absences[k].position <= event; k++)
			if (group == ALL || p->absences[k].group == group)
				ok = apply(e, &p->absences[k], event);
		e->place[i] = (uint32_t)e->to.n;
		ok = ok && put_request(e, i);
	}
	e->place[e->from->n] = (uint32_t)e->to.n;
	return ok;
}

/* Moves what names requests by their place. */
static bool move_places(struct edit *e)
{
	const tide_requests *q = e->from;
	e->to.taken = tide__calloc(q->n_taken + 1, sizeof *q->taken);
	e->to.done = tide__calloc(q->n_done + 1, sizeof *q->done);
	e->to.empty = tide__calloc(q->n_empty + 1, sizeof *q->empty);
	if (!e->to.taken || !e->to.done || !e->to.empty)
		return false;
	for (size_t i = 0; i < q->n_taken; i++) {
		e->to.taken[i] = q->taken[i];
		e->to.taken[i].req = e->place[q->taken[i].req];
	}
	for (size_t i = 0; i < q->n_done; i++) {
		e->to.done[i] = q->done[i];
		e->to.done[i].req = e->place[q->done[i].req];
	}
	for (size_t i = 0; i < q->n_empty; i++)
		e->to.empty[i] = e->place[q->empty[i]];
	return true;
}

static void free_edit(struct edit *e)
{
	tide__free(e->to.r);
	tide__free(e->to.taken);
	tide__free(e->to.done);
	tide__free(e->to.empty);
	tide__free(e->id);
	tide__free(e->gone);
	tide__free(e->made);
	tide__free(e->place);
}

static tide_code run(const tide_requests *q, uint64_t *reserved)
{
	tide_sim_result r = { 0 };
	tide_sim_config c = q->recorded;
	c.capacity = 0; /* how much it would take, not whether it fits */
	c.gc_threshold = 0;
	tide_code rc = tide__sim_run(q, &c, TIDE_BEFORE_KEEP, &r);
	*reserved = r.st.reserved_peak;
	return rc;
}

/* Replays without the absences of a group; *saving gets what the reserved peak falls by. */
static tide_code replay(const tide_stale *x, const tide_requests *q, const tide_stale_part *p,
			uint32_t group, int64_t *saving)
{
	struct edit e = { .from = q, .to = *q };
	size_t n = x->m->allocs.n + 1;
	uint64_t reserved = 0;
	e.to.r = NULL;
	e.to.n = 0;
	e.to.taken = NULL;
	e.to.done = NULL;
	e.to.empty = NULL;
	e.to.addr = NULL;
	e.id = tide__calloc(n, sizeof *e.id);
	e.gone = tide__calloc(n, sizeof *e.gone);
	e.made = tide__calloc(n, sizeof *e.made);
	e.place = tide__calloc(q->n + 1, sizeof *e.place);
	bool ok = e.id && e.gone && e.made && e.place;
	for (size_t a = 0; ok && a < n; a++)
		e.id[a] = (uint32_t)a;
	ok = ok && put_all(&e, p, group) && move_places(&e);
	e.to.n_ids++; /* the last one is that of failed requests */
	tide_code rc = ok ? run(&e.to, &reserved) : TIDE_ENOMEM;
	if (rc == TIDE_OK)
		*saving = (int64_t)(x->reserved_peak - reserved);
	free_edit(&e);
	return rc;
}

static tide_code replay_part(const tide_stale *x, const tide_requests *q, tide_stale_part *p,
			     size_t *left)
{
	if (!p->n_absences)
		return TIDE_OK;
	tide_code rc = replay(x, q, p, ALL, &p->reserved_saving);
	for (size_t i = 0; rc == TIDE_OK && i < p->n_rows && *left >= q->n; i++, *left -= q->n)
		rc = replay(x, q, p, (uint32_t)i, &p->rows[i].reserved_saving);
	return rc;
}

tide_code tide__stale_replay(tide_stale *x, tide_error *err)
{
	tide_requests *q = NULL;
	tide_sim_result check = { 0 };
	size_t left = TIDE_STALE_REQUESTS;
	uint8_t kind = x->m->devices.kind[x->device];
	if (!x->known || kind == TIDE_DEVICE_TT || kind == TIDE_DEVICE_HOST || !x->level->allocs)
		return TIDE_OK;
	tide_code rc = tide__requests_new(x->m, (tide_device_id){ x->device }, &q, err);
	if (rc == TIDE_ENOTFOUND || rc == TIDE_ELIMIT)
		return TIDE_OK;
	if (rc == TIDE_OK)
		rc = tide__sim_check(q, &check);
	if (rc == TIDE_OK)
		rc = run(q, &x->reserved_peak);
	if (rc == TIDE_OK)
		rc = replay_part(x, q, &x->stale, &left);
	if (rc == TIDE_OK)
		rc = replay_part(x, q, &x->waiting, &left);
	tide__requests_free(q);
	return rc == TIDE_ENOMEM ? tide__nomem(err) : rc;
}
