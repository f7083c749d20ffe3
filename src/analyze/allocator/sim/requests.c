// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Converts a model's memory events to the request stream of one device, in one pass. Streams get
 * dense numbers in the order of their handles, private pools in the order of their ids. */
#include "analyze/allocator/sim/requests.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/allocator/oom_recorded.h"
#include "analyze/live/reserved.h"
#include "base/error.h"
#include "base/mem.h"

struct build {
	const tide_model *m;
	tide_requests *q;
	uint32_t *stream_of; /* lane -> dense stream + 1 */
	uint32_t *pool_of;   /* pool -> dense pool + 1; 0 = not this allocator's */
	uint8_t *done;	     /* dense pool: known to be done */
	uint8_t *asked;	     /* alloc: its free was requested */
	size_t cap_r, cap_addr, cap_taken, cap_before, cap_blocks;
	uint64_t reserved;
	uint32_t last_stream;  /* of the latest allocation: an OOM mark may not name one */
	size_t mark;	       /* next mark to look at */
	bool first_state;      /* segments from before the recording are known */
	tide_reserved sampled; /* reserved bytes of a recording without segments */
};

/* ---- numbering --------------------------------------------------------------------------- */

static tide_code number_pools(struct build *b, tide_error *err)
{
	const tide_pools *p = &b->m->pools;
	uint32_t next = 1;

	b->pool_of = tide__calloc(p->n + 1, sizeof *b->pool_of);
	b->done = tide__calloc(p->n + 1, 1);
	b->asked = tide__calloc(b->m->allocs.n + 1, 1);
	if (!b->pool_of || !b->done || !b->asked)
		return tide__nomem(err);
	for (size_t i = 1; i < p->n; i++) {
		if (p->device[i].i != b->q->device.i || p->kind[i] == TIDE_POOL_PINNED ||
		    p->kind[i] == TIDE_POOL_HEAP)
			continue;
		b->pool_of[i] = p->kind[i] == TIDE_POOL_PRIVATE ? ++next : 1;
	}
	if (next > UINT16_MAX)
		return tide__fail(err, TIDE_ELIMIT, TIDE_NO_OFFSET,
				  "%u private pools: too many to simulate", next);
	return TIDE_OK;
}

struct lane_key {
	uint64_t number;
	uint32_t lane;
};

static int by_number(const void *a, const void *b)
{
	const struct lane_key *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->lane > y->lane) - (x->lane < y->lane);
}

static tide_code number_streams(struct build *b, tide_error *err)
{
	const tide_lanes *l = &b->m->lanes;
	struct lane_key *k = tide__alloc(l->n + 1, sizeof *k);

	b->stream_of = tide__calloc(l->n + 1, sizeof *b->stream_of);
	if (!k || !b->stream_of) {
		tide__free(k);
		return tide__nomem(err);
	}
	for (size_t i = 0; i < l->n; i++)
		k[i] = (struct lane_key){ i ? (uint64_t)l->number[i] : 0, (uint32_t)i };
	qsort(k, l->n, sizeof *k, by_number);
	for (size_t i = 0; i < l->n; i++)
		b->stream_of[k[i].lane] = (uint32_t)i;
	tide__free(k);
	return TIDE_OK;
}

/* ---- one event at a time ------------------------------------------------------------------ */

static bool push(struct build *b, tide_request r)
{
	tide_requests *q = b->q;

	if (q->n >= UINT32_MAX - 1 || !TIDE_ROOM(q->r, b->cap_r, q->n + 1) ||
	    !TIDE_ROOM(q->addr, b->cap_addr, q->n + 1))
		return false;
	q->addr[q->n] = r.kind == TIDE_REQ_ALLOC ? b->m->allocs.addr[r.id] : 0;
	q->r[q->n++] = r;
	return true;
}

static bool push_block(struct build *b, uint32_t a)
{
	const tide_allocs *t = &b->m->allocs;
	tide_requests *q = b->q;
	size_t need = q->n_blocks + 1, c1 = b->cap_blocks,
	       c2 = c1; /* the capacity is that of all */

	if (!TIDE_ROOM(q->block_stream, c1, need) || !TIDE_ROOM(q->block_pool, c2, need) ||
	    !TIDE_ROOM(q->blocks, b->cap_blocks, need))
		return false;
	q->blocks[q->n_blocks++] = (tide_sim_seed){ t->addr[a], t->size[a], t->requested[a], a };
	return true;
}

static bool add_alloc(struct build *b, size_t event, uint32_t a)
{
	const tide_allocs *t = &b->m->allocs;
	uint32_t pool = b->pool_of[t->pool[a].i];

	if (!pool)
		return true;
	b->q->memory_events++;
	if (t->flags[a] & TIDE_ALLOC_BEFORE && b->first_state)
		return push_block(b, a);
	b->last_stream = b->stream_of[t->stream[a].i];
	return push(b, (tide_request){ t->requested[a] ? t->requested[a] : t->size[a], a,
				       b->stream_of[t->stream[a].i], (uint32_t)event,
				       (uint16_t)(pool - 1), TIDE_REQ_ALLOC });
}

static bool add_free(struct build *b, size_t event, uint32_t a, uint8_t kind)
{
	if (!b->pool_of[b->m->allocs.pool[a].i])
		return true;
	b->q->memory_events++;
	bool waited = kind == TIDE_REQ_FREE && b->asked[a];

	if (kind == TIDE_REQ_FREE_ASKED)
		b->asked[a] = 1;
	return push(b, (tide_request){
			       .id = a, .event = (uint32_t)event, .kind = kind, .waited = waited });
}

static bool is_small(const tide_segments *s, uint32_t i)
{
	return s->kind[i] == TIDE_SEGMENT_SMALL ||
	       (s->kind[i] != TIDE_SEGMENT_LARGE && s->size[i] % TIDE_SIM_LARGE_SEG != 0 &&
		s->size[i] <= 4 * TIDE_SIM_SMALL_SEG);
}

static bool add_before(struct build *b, uint32_t i, uint16_t pool)
{
	const tide_segments *s = &b->m->segments;
	tide_requests *q = b->q;

	if (!TIDE_ROOM(q->before, b->cap_before, q->n_before + 1))
		return false;
	q->before[q->n_before++] =
		(tide_before){ .addr = s->addr[i],
			       .size = s->size[i],
			       .stream = b->stream_of[s->stream[i].i],
			       .pool = pool,
			       .small = is_small(s, i),
			       .expandable = s->kind[i] == TIDE_SEGMENT_EXPANDABLE };
	return true;
}

/* Handles a part that stays when the rest is unmapped: less than the whole was released. */
static bool keep_part(tide_requests *q, uint64_t addr, uint64_t size)
{
	tide_taken *t = q->n_taken ? &q->taken[q->n_taken - 1] : NULL;

	if (!t || !t->freed || size >= t->size || addr < t->addr)
		return false;
	if (addr == t->addr)
		t->addr += size;
	else if (addr + size != t->addr + t->size)
		return false;
	t->size -= size;
	return true;
}

static bool add_segment(struct build *b, uint32_t i, bool freed)
{
	const tide_segments *s = &b->m->segments;
	tide_requests *q = b->q;
	uint32_t pool = b->pool_of[s->pool[i].i];

	if (!pool--)
		return true;
	q->memory_events++;
	b->reserved = freed ? b->reserved - s->size[i] : b->reserved + s->size[i];
	if (b->reserved > q->reserved_max)
		q->reserved_max = b->reserved;
	if (!freed && s->flags[i] & TIDE_SEGMENT_BEFORE)
		return add_before(b, i, (uint16_t)pool);
	if (!freed && s->flags[i] & TIDE_SEGMENT_PART && keep_part(q, s->addr[i], s->size[i]))
		return true;
	if (!TIDE_ROOM(q->taken, b->cap_taken, q->n_taken + 1))
		return false;
	q->taken[q->n_taken++] =
		(tide_taken){ .addr = s->addr[i],
			      .size = s->size[i],
			      .req = (uint32_t)q->n,
			      .stream = b->stream_of[s->stream[i].i],
			      .pool = (uint16_t)pool,
			      .freed = freed,
			      .small = is_small(s, i),
			      .expandable = s->kind[i] == TIDE_SEGMENT_EXPANDABLE };
	return true;
}

/* Derives the capacity from an out-of-memory event. If the device itself had enough memory, a
 * limit on the process refused: it is at least the bytes reserved before. */
static void note_limit(tide_requests *q, uint64_t reserved, uint64_t asked, int64_t device_free,
		       uint64_t told)
{
	if (device_free < 0 || !reserved)
		return;
	bool limited = (uint64_t)device_free >= tide__sim_segment(&q->recorded, asked);
	q->limit = !limited			   ? reserved + (uint64_t)device_free
		   : told != TIDE_RECORDED_NOTHING ? told
		   : q->reserved_max		   ? q->reserved_max
						   : q->sampled_max;
}

/* Returns the reserved bytes at a mark: of the segments, else sampled. 0 = unknown. */
static uint64_t reserved_at(struct build *b, size_t mark)
{
	const tide_model *m = b->m;
	uint32_t device = b->q->device.i;
	if (b->reserved || b->sampled.devices[device] != TIDE_RESERVED_SAMPLES)
		return b->reserved;
	uint64_t now =
		tide__reserved_at(&b->sampled, device, m->marks.position[mark], m->marks.t[mark]);
	return now == TIDE_RESERVED_NONE ? 0 : now;
}

/* Adds the out-of-memory marks that precede memory event `i`. */
static bool add_marks(struct build *b, size_t i)
{
	const tide_marks *k = &b->m->marks;

	for (; b->mark < k->n && k->position[b->mark] <= i; b->mark++) {
		size_t at = b->mark;

		if (k->kind[at] != TIDE_MARK_OOM || !b->pool_of[k->pool[at].i])
			continue;
		b->q->memory_events++;
		note_limit(b->q, reserved_at(b, at), (uint64_t)k->value[at], k->extra[at],
			   tide__recorded_limit(b->m, b->q->device.i, k->t[at]));
		uint32_t lane = k->lane[at].i;
		uint32_t stream = b->m->lanes.kind[lane] == TIDE_LANE_STREAM ? b->stream_of[lane]
									     : b->last_stream;

		if (!push(b, (tide_request){ (uint64_t)k->value[at], (uint32_t)at, stream,
					     (uint32_t)k->position[at],
					     (uint16_t)(b->pool_of[k->pool[at].i] - 1),
					     TIDE_REQ_OOM }))
			return false;
	}
	return true;
}

static bool add_event(struct build *b, size_t i)
{
	const tide_model *m = b->m;
	uint32_t row = m->memory_events.row[i];

	switch (m->memory_events.kind[i]) {
	case TIDE_MEMORY_ALLOC:
		return add_alloc(b, i, row);
	case TIDE_MEMORY_FREE:
		return add_free(b, i, row, TIDE_REQ_FREE);
	case TIDE_MEMORY_FREE_ASKED:
		return add_free(b, i, m->pendings.alloc[row].i, TIDE_REQ_FREE_ASKED);
	case TIDE_MEMORY_SEG_ALLOC:
		return add_segment(b, row, false);
	case TIDE_MEMORY_SEG_FREE:
		return add_segment(b, row, true);
	}
	return true;
}

/* ---- the state before the recording --------------------------------------------------------------- */

static int by_before(const void *a, const void *b)
{
	const tide_before *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static int by_addr(const void *a, const void *b)
{
	const tide_sim_seed *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Decides small or large by the blocks inside if the segment's kind is unknown. */
static void settle_half(tide_before *s, const tide_sim_seed *k)
{
	if (s->expandable && s->n)
		s->small = k[s->first].size <= TIDE_SIM_SMALL_MAX;
}

/* Merges adjacent parts of an expandable segment: blocks may lie across their borders. */
static void join_before(tide_requests *q)
{
	size_t k = 0;

	for (size_t i = 0; i < q->n_before; i++) {
		tide_before *b = &q->before[i], *last = k ? &q->before[k - 1] : NULL;

		if (last && last->expandable && b->expandable &&
		    last->addr + last->size == b->addr && last->pool == b->pool &&
		    last->stream == b->stream) {
			last->size += b->size;
			last->small &= b->small;
		} else {
			q->before[k++] = *b;
		}
	}
	q->n_before = k;
}

/* Assigns blocks to segments; blocks in no segment go to the end. */
static bool place_blocks(tide_requests *q)
{
	tide_sim_seed *loose = tide__alloc(q->n_blocks + 1, sizeof *loose);
	size_t kept = 0, i = 0;

	if (!loose)
		return false;
	if (q->n_before)
		qsort(q->before, q->n_before, sizeof *q->before, by_before);
	join_before(q);
	if (q->n_blocks)
		qsort(q->blocks, q->n_blocks, sizeof *q->blocks, by_addr);
	for (size_t g = 0; g < q->n_before; g++) {
		tide_before *s = &q->before[g];
		uint64_t at = s->addr;

		s->first = kept;
		for (; i < q->n_blocks && q->blocks[i].addr < s->addr + s->size; i++) {
			tide_sim_seed k = q->blocks[i];

			if (k.addr >= at && k.size && k.size <= s->addr + s->size - k.addr) {
				q->blocks[kept++] = k;
				at = k.addr + k.size;
			} else {
				loose[q->n_loose++] = k;
			}
		}
		s->n = kept - s->first;
		settle_half(s, q->blocks);
	}
	for (; i < q->n_blocks; i++)
		loose[q->n_loose++] = q->blocks[i];
	if (q->n_loose)
		memcpy(q->blocks + kept, loose, q->n_loose * sizeof *loose);
	tide__free(loose);
	return true;
}

/* Gets the streams and pools of the blocks from before the recording, row by row. */
static void fill_block_homes(struct build *b)
{
	const tide_allocs *t = &b->m->allocs;

	for (size_t i = 0; i < b->q->n_blocks; i++) {
		uint32_t a = b->q->blocks[i].id;

		b->q->block_stream[i] = b->stream_of[t->stream[a].i];
		b->q->block_pool[i] = (uint16_t)(b->pool_of[t->pool[a].i] - 1);
	}
}

bool tide__wants_memory(const tide_requests *q, size_t i)
{
	return i < q->n && (q->r[i].kind == TIDE_REQ_ALLOC || q->r[i].kind == TIDE_REQ_OOM);
}

/* The end of the current run of requests, kept so that each request is examined once, from the
 * back. */
struct run {
	size_t from, to;
};

static size_t end_of_run(const tide_requests *q, struct run *run, size_t i,
			 bool (*in)(const tide_requests *q, size_t i))
{
	size_t j = i;

	while (j < q->n && in(q, j))
		j = j == run->from && run->to > j ? run->to : j + 1;
	*run = (struct run){ i, j };
	return j;
}

static bool wants_none(const tide_requests *q, size_t i)
{
	return !tide__wants_memory(q, i);
}

static bool is_waited(const tide_requests *q, size_t i)
{
	return q->r[i].kind == TIDE_REQ_FREE && q->r[i].waited;
}

/* Returns the request for which segments before request i were released: a release may wait for
 * frees half-way, if oversize blocks alone were not enough. */
static size_t past_waited(const tide_requests *q, struct run *run, size_t row, size_t i)
{
	size_t j = end_of_run(q, run, i, is_waited);

	if (j == i || !tide__wants_memory(q, j))
		return i;
	bool more = row + 1 < q->n_taken && q->taken[row + 1].req == j;

	return more || q->r[j].kind == TIDE_REQ_OOM ? j : i;
}

/* Attaches each reserved segment to the next allocation; frees of other threads in between do not
 * matter. Goes backwards, so that the next allocation is known at each row. */
static void attach_taken(tide_requests *q)
{
	struct run idle = { 0 }, waited = { 0 };
	uint32_t last = 0;

	for (size_t i = q->n_taken; i-- > 0;) {
		tide_taken *t = &q->taken[i];

		t->req = (uint32_t)(t->freed ? past_waited(q, &waited, i, t->req)
					     : end_of_run(q, &idle, t->req, wants_none));
	}
	for (size_t i = 0; i < q->n_taken; i++) {
		if (q->taken[i].req < last)
			q->taken[i].req = last;
		last = q->taken[i].req;
	}
}

/* A private pool that releases segments is done, unless it did so for a request of its own:
 * oversize blocks are released that way. (A trace may not record the pool of a failed request.) */
static bool find_done(struct build *b)
{
	tide_requests *q = b->q;

	q->done = tide__alloc(b->m->pools.n + 1, sizeof *q->done);
	for (size_t i = 0; q->done && i < q->n_taken; i++) {
		const tide_taken *t = &q->taken[i];
		bool own = q->recorded.max_split_size != TIDE_SIM_NO_SPLIT_MAX &&
			   tide__wants_memory(q, t->req) &&
			   (q->r[t->req].pool == t->pool || q->r[t->req].kind == TIDE_REQ_OOM);

		if (!t->freed || !t->pool || own || b->done[t->pool])
			continue;
		b->done[t->pool] = 1;
		q->done[q->n_done++] = (tide_pool_done){ t->req, t->pool };
	}
	return q->done != NULL;
}

static tide_code build(struct build *b, tide_error *err)
{
	tide_code rc = number_pools(b, err);

	if (rc == TIDE_OK)
		rc = number_streams(b, err);
	if (rc != TIDE_OK)
		return rc;
	b->mark = 1;
	for (size_t i = 0; i < b->m->memory_events.n; i++)
		if (!add_marks(b, i) || !add_event(b, i))
			return tide__nomem(err);
	if (!add_marks(b, b->m->memory_events.n) || !place_blocks(b->q))
		return tide__nomem(err);
	fill_block_homes(b);
	attach_taken(b->q);
	if (!find_done(b))
		return tide__nomem(err);
	if (!b->q->n && !b->q->n_blocks)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				  "no allocations on this device");
	return TIDE_OK;
}

tide_code tide__requests_new(const tide_model *m, tide_device_id device, tide_requests **out,
			     tide_error *err)
{
	tide_requests *q = tide__calloc(1, sizeof *q);
	struct build b = { .m = m, .q = q };
	tide_code rc;

	*out = NULL;
	if (!q)
		return tide__nomem(err);
	q->device = device;
	for (size_t i = 1; i < m->segments.n; i++)
		b.first_state |= m->segments.flags[i] & TIDE_SEGMENT_BEFORE;
	q->n_ids = (uint32_t)m->allocs.n + 1; /* one more id, for recorded out-of-memory requests */
	q->settings_known = tide__sim_read_recorded(m, &q->recorded);
	rc = tide__find_reserved(m, &b.sampled, err);
	for (size_t i = 0; rc == TIDE_OK && i < b.sampled.n; i++)
		if (b.sampled.steps[i].device == device.i &&
		    b.sampled.devices[device.i] == TIDE_RESERVED_SAMPLES &&
		    b.sampled.steps[i].bytes > q->sampled_max)
			q->sampled_max = b.sampled.steps[i].bytes;
	if (rc == TIDE_OK)
		rc = build(&b, err);
	tide__reserved_free(&b.sampled);
	tide__free(b.stream_of);
	tide__free(b.pool_of);
	tide__free(b.done);
	tide__free(b.asked);
	if (rc != TIDE_OK) {
		tide__requests_free(q);
		return rc;
	}
	*out = q;
	return TIDE_OK;
}

void tide__requests_free(tide_requests *q)
{
	if (!q)
		return;
	tide__free(q->r);
	tide__free(q->addr);
	tide__free(q->taken);
	tide__free(q->before);
	tide__free(q->blocks);
	tide__free(q->block_stream);
	tide__free(q->block_pool);
	tide__free(q->done);
	tide__free(q->empty);
	tide__free(q);
}
