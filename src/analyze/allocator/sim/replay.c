// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Runs requests through the simulator on a device of a given capacity. */
#include "analyze/allocator/sim/replay.h"

#include <string.h>

#include "analyze/allocator/sim/serve.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/ordered.h"

#define FIRST_ADDR 0x100000000000ull /* made-up addresses of tide__sim_above begin here */

/* ---- a device of a given capacity --------------------------------------------------------- */

struct room {
	const tide_requests *q;
	uint64_t capacity, used; /* capacity 0 = unlimited */
	uint64_t next;		 /* end of the next made-up segment */
	uint32_t scattered;	 /* made-up segments at random addresses */
	size_t at, now;		 /* in q->taken; the request being served */
	tide_ordered held;	 /* plain segments: (address, size) */
	bool failed;
};

static bool has(const struct room *d, uint64_t size)
{
	return !d->capacity || (size <= d->capacity && d->used <= d->capacity - size);
}

uint64_t tide__sim_invent(uint64_t *next, uint64_t size)
{
	size = (size + TIDE_SIM_LARGE_ROUND - 1) / TIDE_SIM_LARGE_ROUND * TIDE_SIM_LARGE_ROUND;
	if (*next <= size) /* after 64 TiB of segments: continue above all, downwards again */
		*next = UINT64_MAX / TIDE_SIM_LARGE_ROUND * TIDE_SIM_LARGE_ROUND;
	*next -= size;
	return *next;
}

/* Returns a made-up address: below the last, as the driver's mostly are, or at random. */
static uint64_t invent(struct room *d, uint64_t size)
{
	enum { APART = 38, NUMBERS = 14, RANDOM = 9 }; /* bits: 256 GiB for each of 16,384 */
	if (!d->q->scatter || d->scattered >> NUMBERS || size >> APART)
		return tide__sim_invent(&d->next, size);
	uint64_t at = tide__mix(d->q->scatter + d->scattered) >> (64 - RANDOM);
	return (UINT64_C(1) << 62) + ((at << NUMBERS | d->scattered++) << APART);
}

/* Returns the address the recording got for this request, if it took a segment of this size and
 * that place is empty here too, so that best fit resolves ties in the same way. */
static uint64_t recorded_addr(struct room *d, uint64_t size)
{
	const tide_requests *q = d->q;

	while (d->at < q->n_taken && q->taken[d->at].req < d->now)
		d->at++;
	for (size_t i = d->at; i < q->n_taken && q->taken[i].req == d->now; i++)
		if (!q->taken[i].freed && q->taken[i].size == size && !q->taken[i].expandable &&
		    q->taken[i].addr && !tide__ordered_overlaps(&d->held, q->taken[i].addr, size))
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
	if (!tide__ordered_put2(&d->held, addr, size, 1))
		d->failed = true;
	d->used += size;
	return addr;
}

static uint64_t room_range(void *user, tide_sim_where where, uint64_t size)
{
	struct room *d = user;

	return invent(d, size);
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

	tide__ordered_del2(&d->held, addr, size);
	d->used -= size;
}

uint64_t tide__sim_above(const tide_requests *q)
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

/* Returns the end of the made-up addresses: below all recorded ones, or far above them if those are
 * not CUDA's. */
static uint64_t below(const tide_requests *q)
{
	bool room = true;

	for (size_t i = 0; room && i < q->n_taken; i++)
		room = !q->taken[i].addr || q->taken[i].addr >= TIDE_SIM_TOP_ADDR;
	for (size_t i = 0; room && i < q->n_before; i++)
		room = q->before[i].addr >= TIDE_SIM_TOP_ADDR;
	return room ? TIDE_SIM_TOP_ADDR : tide__sim_above(q) + TIDE_SIM_TOP_ADDR;
}

/* ---- running ----------------------------------------------------------------------------- */

static uint64_t kind_of(uint32_t pool, uint32_t stream, bool small)
{
	return (uint64_t)pool << 33 | (uint64_t)stream << 1 | small;
}

/* Maps the kind of the first old part of each half, pool and stream to its index + 1. */
static bool first_of_kind(const tide_requests *q, tide_map *first)
{
	bool ok = true;

	for (size_t i = 0; ok && i < q->n_before; i++) {
		const tide_before *b = &q->before[i];
		uint64_t kind = kind_of(b->pool, b->stream, b->small);

		if (b->expandable && !tide__map_get(first, kind))
			ok = tide__map_put(first, kind, (uint32_t)i + 1);
	}
	return ok;
}

bool tide__sim_find_ranges(const tide_requests *q, uint64_t *begin)
{
	tide_map first = { 0 };
	bool ok = first_of_kind(q, &first);

	for (size_t i = 0; i < q->n_before; i++)
		begin[i] = q->before[i].addr;
	for (size_t k = 0; ok && first.n && k < q->n_taken; k++) {
		const tide_taken *t = &q->taken[k];
		uint32_t at = t->expandable && !t->freed
				      ? tide__map_get(&first, kind_of(t->pool, t->stream, t->small))
				      : 0;

		if (!at)
			continue;
		const tide_before *b = &q->before[at - 1];
		uint64_t floor = at > 1 ? b[-1].addr + b[-1].size : 0;
		uint64_t page = b->small ? TIDE_SIM_SMALL_SEG : q->recorded.large_segment;

		if (t->addr >= floor && t->addr < begin[at - 1] && (b->addr - t->addr) % page == 0)
			begin[at - 1] = t->addr;
	}
	tide__map_free(&first);
	return ok;
}

static tide_code seed_one(tide_sim *s, const tide_requests *q, const tide_before *b, uint64_t begin)
{
	tide_sim_where where = { b->pool, b->stream, b->small };

	if (begin < b->addr && tide__sim_seed_range(s, where, begin) != TIDE_OK)
		return TIDE_ENOMEM;
	return tide__sim_seed_segment(s, where, b->addr, b->size, b->expandable,
				      q->blocks + b->first, b->n) == TIDE_ENOMEM
		       ? TIDE_ENOMEM
		       : TIDE_OK;
}

static tide_code seed_kept(tide_sim *s, const tide_requests *q)
{
	uint64_t *begin = tide__alloc(q->n_before, sizeof *begin);
	tide_code rc = begin && tide__sim_find_ranges(q, begin) ? TIDE_OK : TIDE_ENOMEM;

	for (size_t i = 0; rc == TIDE_OK && i < q->n_before; i++)
		rc = seed_one(s, q, &q->before[i], begin[i]);
	tide__free(begin);
	return rc;
}

static tide_code seed_again(tide_sim *s, const tide_requests *q, size_t from)
{
	for (size_t i = from; i < q->n_blocks; i++) {
		tide_code rc = tide__sim_allocate(s, q->blocks[i].id,
						  q->blocks[i].requested ? q->blocks[i].requested
									 : q->blocks[i].size,
						  q->block_stream[i], q->block_pool[i]);

		if (rc == TIDE_ENOMEM || rc == TIDE_ELIMIT)
			return rc;
	}
	return TIDE_OK;
}

/* Tries a request that failed in the recording. Its block is freed again at once. */
static tide_code try_oom(tide_sim *s, const tide_requests *q, const tide_request *r,
			 tide_sim_result *out)
{
	uint32_t id = q->n_ids - 1;
	tide_code rc = tide__sim_allocate(s, id, r->size, r->stream, r->pool);

	if (rc == TIDE_OK && out->oom_seen < 64)
		out->oom_fit_mask |= 1ull << out->oom_seen;
	out->oom_seen++;
	out->oom_fit += rc == TIDE_OK;
	if (rc == TIDE_OK)
		rc = tide__sim_free(s, id);
	return rc == TIDE_ELIMIT ? TIDE_OK : rc;
}

tide_code tide__sim_serve(tide_sim *s, const tide_requests *q, const tide_request *r,
			  tide_sim_result *out)
{
	switch (r->kind) {
	case TIDE_REQ_ALLOC:
		if (!r->size) /* torch's allocator makes no block of 0 bytes */
			return TIDE_OK;
		return tide__sim_allocate(s, r->id, r->size, r->stream, r->pool);
	case TIDE_REQ_FREE:
		return tide__sim_free(s, r->id);
	case TIDE_REQ_FREE_ASKED:
		tide__sim_free_asked(s, r->id);
		return TIDE_OK;
	case TIDE_REQ_OOM:
		return try_oom(s, q, r, out);
	}
	return TIDE_OK;
}

void tide__sim_finish(const tide_sim *s, tide_sim_result *out)
{
	out->st = *tide__sim_stats(s);
	tide__sim_free_blocks(s, &out->largest_free, &out->inactive_split);
}

/* Marks the private pools that are finished by request i. */
tide_code tide__sim_end_pools(tide_sim *s, const tide_requests *q, size_t i, size_t *at)
{
	tide_code rc = TIDE_OK;

	for (; *at < q->n_done && q->done[*at].req <= i && rc == TIDE_OK; ++*at)
		rc = tide__sim_end_pool(s, q->done[*at].pool);
	return rc;
}

static tide_code run_all(tide_sim *s, struct room *d, tide_sim_result *out)
{
	const tide_requests *q = d->q;
	size_t e = 0, done = 0;

	for (size_t i = 0; i < q->n; i++) {
		if (tide__sim_end_pools(s, q, i, &done) != TIDE_OK)
			return TIDE_ENOMEM;
		while (e < q->n_empty && q->empty[e] <= i) {
			tide__sim_empty_cache(s);
			e++;
		}
		d->now = i;
		tide_code rc = tide__sim_serve(s, q, &q->r[i], out);

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

tide_code tide__sim_seed_all(tide_sim *s, const tide_requests *q, tide_sim_before before)
{
	if (before == TIDE_BEFORE_AGAIN)
		return seed_again(s, q, 0);
	tide_code rc = seed_kept(s, q);

	return rc == TIDE_OK ? seed_again(s, q, q->n_blocks - q->n_loose) : rc;
}

/* Takes the segments that existed before the recording. Returns TIDE_ELIMIT if they do not fit. */
static tide_code hold_kept(struct room *d)
{
	for (size_t i = 0; i < d->q->n_before; i++) {
		if (!has(d, d->q->before[i].size))
			return TIDE_ELIMIT;
		if (!tide__ordered_put2(&d->held, d->q->before[i].addr, d->q->before[i].size, 1))
			d->failed = true;
		d->used += d->q->before[i].size;
	}
	return TIDE_OK;
}

tide_code tide__sim_run(const tide_requests *q, const tide_sim_config *c, tide_sim_before before,
			tide_sim_result *out)
{
	struct room room = { .q = q, .capacity = c->capacity, .next = below(q) };
	tide_sim_device dev = { &room, room_take, room_range, room_map, room_give };
	tide_sim *s = tide__sim_new(c, &dev, q->n_ids);
	tide_code rc = s ? TIDE_OK : TIDE_ENOMEM;

	memset(out, 0, sizeof *out);
	out->config = *c;
	out->anew = before == TIDE_BEFORE_AGAIN && q->n_blocks;
	if (s && before == TIDE_BEFORE_KEEP)
		rc = hold_kept(&room);
	if (s && rc == TIDE_OK)
		rc = tide__sim_seed_all(s, q, before);
	if (rc == TIDE_ELIMIT) { /* even the earlier segments do not fit */
		out->out = true;
		out->out_req = q->n;
		out->out_free = room.capacity - room.used;
		rc = TIDE_OK;
	} else if (rc == TIDE_OK) {
		rc = run_all(s, &room, out);
	}
	if (s)
		tide__sim_finish(s, out);
	tide__sim_free_all(s);
	tide__ordered_free(&room.held);
	return room.failed ? TIDE_ENOMEM : rc;
}
