// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Running requests through the simulator against two devices: `script`, which answers what the
 * recording answered and notices the first difference, and `room`, which has so many bytes. */
#include "analyze/sim/replay.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/sim/ordset.h"
#include "base/mem.h"

#define FIRST_ADDR 0x100000000000ull /* where invented addresses begin */

/* ---- a device that has so many bytes ----------------------------------------------------- */

struct room {
	const tide_requests *q;
	uint64_t capacity, used; /* capacity 0 = without end */
	uint64_t next;		 /* next invented address */
	size_t at, now;		 /* in q->taken; the request being served */
	tide_ordset held;	 /* plain segments: (address, size) */
	bool failed;
};

static bool has(const struct room *d, uint64_t size)
{
	return !d->capacity || (size <= d->capacity && d->used <= d->capacity - size);
}

static uint64_t invent(struct room *d, uint64_t size)
{
	uint64_t a = d->next;

	d->next += (size + TIDE_SIM_LARGE_ROUND - 1) / TIDE_SIM_LARGE_ROUND * TIDE_SIM_LARGE_ROUND;
	return a;
}

static bool overlaps(const struct room *d, uint64_t addr, uint64_t size)
{
	tide_ord_pos p = tide__ord_lower(&d->held, addr, 0);
	const tide_ord *e = tide__ord_at(&d->held, p), *b = tide__ord_before(&d->held, p);

	return (e && e->major < addr + size) || (b && b->major + b->minor > addr);
}

/* The address the recording got for this request, if it took a segment of this size and the
 * place is empty here too: then best fit meets the same ties. */
static uint64_t recorded_addr(struct room *d, uint64_t size)
{
	const tide_requests *q = d->q;

	while (d->at < q->n_taken && q->taken[d->at].req < d->now)
		d->at++;
	for (size_t i = d->at; i < q->n_taken && q->taken[i].req == d->now; i++)
		if (!q->taken[i].freed && q->taken[i].size == size && !q->taken[i].expandable &&
		    q->taken[i].addr && !overlaps(d, q->taken[i].addr, size))
			return q->taken[i].addr;
	return 0;
}

static uint64_t room_take(void *user, tide_sim_where where, uint64_t size)
{
	struct room *d = user;

	if (!has(d, size))
		return 0;
	uint64_t addr = recorded_addr(d, size);

	if (!addr)
		addr = invent(d, size);
	if (!tide__ord_add(&d->held, addr, size, 1))
		d->failed = true;
	d->used += size;
	return addr;
}

static uint64_t room_range(void *user, tide_sim_where where, uint64_t size)
{
	return invent(user, size);
}

static bool room_map(void *user, tide_sim_where where, uint64_t addr, uint64_t size)
{
	struct room *d = user;

	if (!has(d, size))
		return false;
	d->used += size;
	return true;
}

static void room_give(void *user, tide_sim_where where, uint64_t addr, uint64_t size)
{
	struct room *d = user;

	tide__ord_del(&d->held, addr, size);
	d->used -= size;
}

static uint64_t above_recorded(const tide_requests *q)
{
	uint64_t top = FIRST_ADDR;

	for (size_t i = 0; i < q->n_taken; i++)
		if (q->taken[i].addr + q->taken[i].size > top)
			top = q->taken[i].addr + q->taken[i].size;
	for (size_t i = 0; i < q->n_before; i++)
		if (q->before[i].addr + q->before[i].size > top)
			top = q->before[i].addr + q->before[i].size;
	return (top / TIDE_SIM_LARGE_SEG + 1) * TIDE_SIM_LARGE_SEG;
}

/* ---- a device that answers what it answered ---------------------------------------------- */

struct script {
	tide_requests *q;
	size_t at;  /* next recorded event */
	size_t now; /* the request being served */
	uint64_t next;
	tide_sim_result *out;
};

__attribute__((format(printf, 2, 3))) static void differ(struct script *d, const char *fmt, ...)
{
	va_list ap;

	if (d->out->diverged)
		return;
	d->out->diverged = true;
	d->out->diverged_req = d->now;
	va_start(ap, fmt);
	vsnprintf(d->out->why, sizeof d->out->why, fmt, ap);
	va_end(ap);
}

static const tide_taken *upcoming(const struct script *d)
{
	const tide_requests *q = d->q;

	return d->at < q->n_taken && q->taken[d->at].req == d->now ? &q->taken[d->at] : NULL;
}

static uint64_t invent_script(struct script *d, uint64_t size)
{
	uint64_t a = d->next;

	d->next += (size + TIDE_SIM_LARGE_ROUND - 1) / TIDE_SIM_LARGE_ROUND * TIDE_SIM_LARGE_ROUND;
	return a;
}

static bool refused(const struct script *d, const tide_taken *t)
{
	if (t)
		return t->freed; /* something had to be given back first */
	return d->now < d->q->n && d->q->r[d->now].kind == TIDE_REQ_OOM;
}

static uint64_t script_take(void *user, tide_sim_where where, uint64_t size)
{
	struct script *d = user;
	const tide_taken *t = upcoming(d);

	if (refused(d, t))
		return 0;
	if (!t || t->size != size || t->stream != where.stream || t->pool != where.pool) {
		differ(d, "takes a segment of %llu bytes where the recording took %s%llu",
		       (unsigned long long)size,
		       t ? "" : "none: ", t ? (unsigned long long)t->size : 0ull);
		return invent_script(d, size);
	}
	d->at++;
	d->out->checked++;
	return t->addr;
}

static uint64_t script_range(void *user, tide_sim_where where, uint64_t size)
{
	struct script *d = user;
	const tide_taken *t = upcoming(d);

	for (size_t i = d->at; t && i < d->q->n_taken && d->q->taken[i].req == d->now; i++)
		if (!d->q->taken[i].freed)
			return d->q->taken[i].addr; /* memory is first mapped at its beginning */
	return invent_script(d, size);
}

static bool script_map(void *user, tide_sim_where where, uint64_t addr, uint64_t size)
{
	struct script *d = user;
	const tide_taken *t = upcoming(d);
	uint64_t done = 0;

	if (refused(d, t))
		return false;
	for (; done < size && (t = upcoming(d)) && !t->freed && t->addr == addr + done; d->at++) {
		done += t->size;
		d->out->checked++;
	}
	if (done != size)
		differ(d, "maps %llu bytes at 0x%llx where the recording mapped %llu",
		       (unsigned long long)size, (unsigned long long)addr,
		       (unsigned long long)done);
	return true;
}

static void script_give(void *user, tide_sim_where where, uint64_t addr, uint64_t size)
{
	struct script *d = user;
	const tide_taken *t;
	uint64_t done = 0;

	for (; done < size && (t = upcoming(d)) && t->freed && t->addr == addr + done; d->at++) {
		done += t->size;
		d->out->checked++;
	}
	if (done != size)
		differ(d, "gives back %llu bytes at 0x%llx where the recording gave back %llu",
		       (unsigned long long)size, (unsigned long long)addr,
		       (unsigned long long)done);
}

/* ---- running ----------------------------------------------------------------------------- */

static tide_code seed_kept(tide_sim *s, const tide_requests *q)
{
	for (size_t i = 0; i < q->n_before; i++) {
		const tide_before *b = &q->before[i];
		tide_code rc = tide__sim_seed_segment(
			s, (tide_sim_where){ b->pool, b->stream, b->small }, b->addr, b->size,
			b->expandable, q->blocks + b->first, b->n);

		if (rc == TIDE_ENOMEM)
			return rc;
	}
	return TIDE_OK;
}

static tide_code seed_again(tide_sim *s, const tide_requests *q, size_t from)
{
	for (size_t i = from; i < q->n_blocks; i++) {
		tide_code rc = tide__sim_alloc(s, q->blocks[i].id,
					       q->blocks[i].requested ? q->blocks[i].requested
								      : q->blocks[i].size,
					       q->block_stream[i], q->block_pool[i]);

		if (rc == TIDE_ENOMEM || rc == TIDE_ELIMIT)
			return rc;
	}
	return TIDE_OK;
}

/* A request that failed when recorded: does it fit now? What it got is free again at once. */
static tide_code try_oom(tide_sim *s, const tide_requests *q, const tide_request *r,
			 tide_sim_result *out)
{
	uint32_t id = q->n_ids - 1;
	tide_code rc = tide__sim_alloc(s, id, r->size, r->stream, r->pool);

	if (rc == TIDE_OK && out->oom_seen < 64)
		out->oom_fit_mask |= 1ull << out->oom_seen;
	out->oom_seen++;
	out->oom_fit += rc == TIDE_OK;
	if (rc == TIDE_OK)
		rc = tide__sim_free(s, id);
	return rc == TIDE_ELIMIT ? TIDE_OK : rc;
}

static tide_code serve(tide_sim *s, const tide_requests *q, const tide_request *r,
		       tide_sim_result *out)
{
	switch (r->kind) {
	case TIDE_REQ_ALLOC:
		return tide__sim_alloc(s, r->id, r->size, r->stream, r->pool);
	case TIDE_REQ_FREE:
		return tide__sim_free(s, r->id);
	case TIDE_REQ_FREE_ASKED:
		tide__sim_free_asked(s, r->id);
		return TIDE_OK;
	case TIDE_REQ_OOM:
		return try_oom(s, q, r, out);
	case TIDE_REQ_POOL_DONE:
		return tide__sim_pool_done(s, r->pool);
	}
	return TIDE_OK;
}

static void finish(const tide_sim *s, tide_sim_result *out)
{
	out->st = *tide__sim_stats(s);
	tide__sim_free_blocks(s, &out->largest_free, &out->inactive_split);
}

static tide_code run_all(tide_sim *s, struct room *d, tide_sim_result *out)
{
	const tide_requests *q = d->q;
	size_t e = 0;

	for (size_t i = 0; i < q->n; i++) {
		while (e < q->n_empty && q->empty[e] <= i) {
			tide__sim_empty_cache(s);
			e++;
		}
		d->now = i;
		tide_code rc = serve(s, q, &q->r[i], out);

		if (rc == TIDE_ENOMEM || d->failed)
			return TIDE_ENOMEM;
		if (rc == TIDE_ELIMIT) {
			out->out = true;
			out->out_req = i;
			out->out_free = d->capacity ? d->capacity - d->used : 0;
			return TIDE_OK;
		}
	}
	while (e++ < q->n_empty)
		tide__sim_empty_cache(s);
	return TIDE_OK;
}

static tide_code seed(tide_sim *s, const tide_requests *q, tide_sim_before before)
{
	if (before == TIDE_BEFORE_AGAIN)
		return seed_again(s, q, 0);
	tide_code rc = seed_kept(s, q);

	return rc == TIDE_OK ? seed_again(s, q, q->n_blocks - q->n_loose) : rc;
}

static void hold_kept(struct room *d)
{
	for (size_t i = 0; i < d->q->n_before; i++) {
		if (!tide__ord_add(&d->held, d->q->before[i].addr, d->q->before[i].size, 1))
			d->failed = true;
		d->used += d->q->before[i].size;
	}
}

tide_code tide__sim_run(const tide_requests *q, const tide_sim_config *c, tide_sim_before before,
			tide_sim_result *out)
{
	struct room room = { .q = q, .capacity = c->capacity, .next = above_recorded(q) };
	tide_sim_device dev = { &room, room_take, room_range, room_map, room_give };
	tide_sim *s = tide__sim_new(c, &dev, q->n_ids);
	tide_code rc = s ? TIDE_OK : TIDE_ENOMEM;

	memset(out, 0, sizeof *out);
	out->config = *c;
	out->anew = before == TIDE_BEFORE_AGAIN && q->n_blocks;
	if (s && before == TIDE_BEFORE_KEEP)
		hold_kept(&room);
	if (s)
		rc = seed(s, q, before);
	if (rc == TIDE_ELIMIT) { /* not even what was there before fits */
		out->out = true;
		out->out_free = room.capacity - room.used;
		rc = TIDE_OK;
	} else if (rc == TIDE_OK) {
		rc = run_all(s, &room, out);
	}
	if (s)
		finish(s, out);
	tide__sim_free_all(s);
	tide__ord_free(&room.held);
	return room.failed ? TIDE_ENOMEM : rc;
}

/* ---- checking ---------------------------------------------------------------------------- */

/* Segments that were given back just before this request: did the program empty the cache, or did
 * the device refuse the request? It emptied the cache if the request could be served without. */
static bool emptied(tide_sim *s, const struct script *d, const tide_taken *t)
{
	const tide_requests *q = d->q;
	const tide_request *r = d->now < q->n ? &q->r[d->now] : NULL;

	if (!t->freed)
		return false;
	if (!r || (r->kind != TIDE_REQ_ALLOC && r->kind != TIDE_REQ_OOM))
		return true;
	if (tide__sim_fits(s, r->size, r->stream, r->pool))
		return true;
	if (r->kind == TIDE_REQ_OOM || q->recorded.gc_threshold > 0)
		return false;
	uint64_t limit = q->limit ? q->limit : q->reserved_max;
	uint64_t bytes = tide__sim_segment(tide__sim_round(&q->recorded, r->size));

	return tide__sim_stats(s)->reserved + bytes <= limit;
}

static bool note_empty(tide_requests *q, size_t *cap, size_t at)
{
	if (q->n_empty == *cap) {
		size_t want = *cap ? 2 * *cap : 16;
		uint32_t *p = tide__realloc(q->empty, want, sizeof *p);

		if (!p)
			return false;
		q->empty = p;
		*cap = want;
	}
	q->empty[q->n_empty++] = (uint32_t)at;
	return true;
}

static tide_code check_all(tide_sim *s, struct script *d)
{
	tide_requests *q = d->q;
	size_t cap = 0;

	for (size_t i = 0; i <= q->n; i++) {
		d->now = i;
		const tide_taken *t = upcoming(d);

		if (t && emptied(s, d, t)) {
			if (!note_empty(q, &cap, i))
				return TIDE_ENOMEM;
			tide__sim_empty_cache(s);
		}
		tide_code rc = i < q->n ? serve(s, q, &q->r[i], d->out) : TIDE_OK;

		if (rc == TIDE_ENOMEM)
			return rc;
		if (rc == TIDE_ELIMIT)
			differ(d, "runs out of memory where the recording did not");
		if ((t = upcoming(d)))
			differ(d, "does not %s the segment of %llu bytes at 0x%llx as recorded",
			       t->freed ? "give back" : "take", (unsigned long long)t->size,
			       (unsigned long long)t->addr);
		while (upcoming(d))
			d->at++;
	}
	return TIDE_OK;
}

tide_code tide__sim_check(tide_requests *q, tide_sim_result *out)
{
	struct script script = { .q = q, .next = above_recorded(q), .out = out };
	tide_sim_device dev = { &script, script_take, script_range, script_map, script_give };
	tide_sim_config c = q->recorded;
	tide_sim *s = tide__sim_new(&c, &dev, q->n_ids);
	tide_code rc = s ? TIDE_OK : TIDE_ENOMEM;

	memset(out, 0, sizeof *out);
	out->config = c;
	tide__free(q->empty);
	q->empty = NULL;
	q->n_empty = 0;
	if (s)
		rc = seed_kept(s, q);
	if (rc == TIDE_OK)
		rc = seed_again(s, q, q->n_blocks - q->n_loose);
	if (rc == TIDE_ELIMIT)
		rc = TIDE_OK;
	if (rc == TIDE_OK)
		rc = check_all(s, &script);
	if (s)
		finish(s, out);
	tide__sim_free_all(s);
	return rc;
}
