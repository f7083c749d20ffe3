// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The parts of reserved memory at one moment: blocks of the allocator's state, and live allocations
 * outside its segments. */
#include <stdlib.h>
#include <string.h>

#include "analyze/allocator/allocator_state.h"
#include "analyze/live/reserved.h"
#include "analyze/serving/parts.h"
#include "base/error.h"
#include "base/mem.h"

struct work {
	tide_serving_at *at;
	const tide_holders *h;
	tide_whys *why;	   /* NULL = not wanted */
	uint32_t *of_pool; /* pool row -> index in at->pools + 1 */
	size_t cap_pools;
	tide_map seen; /* alloc rows that a segment has */
};

/* ---- evidence ---- */

static bool add_why(tide_whys *y, const tide_serving_why *why, uint64_t bytes)
{
	size_t i = 0;
	while (i < y->n &&
	       (y->v[i].part != why->part || y->v[i].by != why->by || y->v[i].index != why->index))
		i++;
	if (i == y->n) {
		if (!TIDE_ROOM(y->v, y->cap, y->n + 1))
			return false;
		y->v[y->n++] = *why;
	}
	y->v[i].bytes += bytes;
	y->v[i].count++;
	return true;
}

static int by_part(const void *a, const void *b)
{
	const tide_serving_why *x = a, *y = b;
	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->by != y->by)
		return x->by < y->by ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* ---- blocks ---- */

static bool add_live(struct work *w, uint32_t alloc, uint64_t bytes)
{
	tide_serving_why why = tide__holders_part(w->h, alloc);
	w->at->parts[why.part].bytes += bytes;
	w->at->parts[why.part].count++;
	return !w->why || add_why(w->why, &why, bytes);
}

static tide_serving_pool *pool_at(struct work *w, uint32_t row)
{
	const tide_model *m = w->at->m;
	tide_serving_at *at = w->at;
	if (!w->of_pool[row]) {
		if (!TIDE_ROOM(at->pools, w->cap_pools, at->n_pools + 1))
			return NULL;
		at->pools[at->n_pools] =
			(tide_serving_pool){ .pool = row,
					     .private = m->pools.kind[row] == TIDE_POOL_PRIVATE };
		w->of_pool[row] = (uint32_t)++at->n_pools;
	}
	return &at->pools[w->of_pool[row] - 1];
}

static bool add_block(struct work *w, tide_serving_pool *p, const tide_state_block *b)
{
	if (!b->alloc) {
		unsigned part = p->private ? TIDE_SERVING_GRAPHS_FREE : TIDE_SERVING_CACHED;
		p->free += b->size;
		p->largest_free = b->size > p->largest_free ? b->size : p->largest_free;
		w->at->parts[part].bytes += b->size;
		w->at->parts[part].count++;
		return true;
	}
	p->live += b->size;
	p->blocks++;
	return tide__map_put(&w->seen, b->alloc, 1) && add_live(w, b->alloc, b->size);
}

static bool add_segments(struct work *w, const tide_state *s)
{
	for (size_t i = 0; i < s->n_segments; i++) {
		const tide_state_segment *g = &s->segments[i];
		tide_serving_pool *p = pool_at(w, w->at->m->segments.pool[g->segment].i);
		if (!p)
			return false;
		p->reserved += g->size;
		p->segments++;
		for (size_t k = g->first; k < g->first + g->n; k++)
			if (!add_block(w, p, &s->blocks[k]))
				return false;
	}
	return true;
}

/* Live allocations that no segment has: all of them in a trace without segments. `skip`: a pool that
 * does not count, 0 = none. */
static tide_code add_loose(struct work *w, uint32_t skip, tide_error *err)
{
	tide_serving_at *at = w->at;
	tide_live_set live;
	tide_code rc = tide__live_set_at(at->m, at->position, at->device, TIDE_ANY, &live, err);
	for (size_t i = 0; rc == TIDE_OK && i < live.n; i++) {
		uint32_t a = live.rows[i];
		if (tide__map_get(&w->seen, a) || (skip && at->m->allocs.pool[a].i == skip))
			continue;
		at->loose += at->m->allocs.size[a];
		if (!add_live(w, a, at->m->allocs.size[a]))
			rc = tide__nomem(err);
	}
	if (rc == TIDE_OK)
		tide__live_set_free(&live);
	return rc;
}

static int by_reserved(const void *a, const void *b)
{
	const tide_serving_pool *x = a, *y = b;
	if (x->private != y->private)
		return x->private ? 1 : -1;
	if (x->reserved != y->reserved)
		return x->reserved > y->reserved ? -1 : 1;
	return x->pool < y->pool ? -1 : x->pool > y->pool;
}

/* Without segments reserved bytes may be sampled: what is not live is cached then. */
static tide_code add_sampled(struct work *w, tide_error *err)
{
	tide_serving_at *at = w->at;
	tide_reserved r;
	tide_code rc = tide__find_reserved(at->m, &r, err);
	if (rc != TIDE_OK)
		return rc;
	uint64_t now = tide__reserved_at(&r, at->device, at->position, at->t);
	if (now != TIDE_RESERVED_NONE && now >= at->loose) {
		at->reserved = now;
		at->parts[TIDE_SERVING_CACHED].bytes = now - at->loose;
		at->loose = 0;
	}
	tide__reserved_free(&r);
	return TIDE_OK;
}

tide_code tide__serving_parts_find(tide_serving_at *at, const tide_holders *h, tide_whys *why,
				   tide_error *err)
{
	struct work w = { .at = at, .h = h, .why = why };
	tide_state s;
	w.of_pool = tide__calloc(at->m->pools.n + 1, sizeof *w.of_pool);
	if (!w.of_pool)
		return tide__nomem(err);
	tide_code rc = tide__state_find_at(at->m, at->position, at->device, &s, err);
	if (rc == TIDE_OK) {
		at->segments = s.known;
		at->reserved = s.known ? s.total.reserved : TIDE_SERVING_UNKNOWN;
		rc = add_segments(&w, &s) ? add_loose(&w, 0, err) : tide__nomem(err);
		tide__state_free(&s);
	}
	if (rc == TIDE_OK && !at->segments)
		rc = add_sampled(&w, err);
	if (at->n_pools)
		qsort(at->pools, at->n_pools, sizeof *at->pools, by_reserved);
	if (why && why->n)
		qsort(why->v, why->n, sizeof *why->v, by_part);
	tide__free(w.of_pool);
	tide__map_free(&w.seen);
	return rc;
}

tide_code tide__serving_live_find(tide_serving_at *at, const tide_holders *h, tide_whys *why,
				  tide_error *err)
{
	struct work w = { .at = at, .h = h, .why = why };
	const tide_model *m = at->m;
	uint32_t cupti = 0;
	for (uint32_t i = 1; i < m->pools.n; i++)
		if (m->pools.device[i].i == at->device &&
		    !strcmp(tide__text(m, m->pools.name[i], NULL), "cuda"))
			cupti = i;
	tide_code rc = add_loose(&w, cupti, err);
	if (why && why->n)
		qsort(why->v, why->n, sizeof *why->v, by_part);
	return rc;
}

/* ---- the largest KV cache ---- */

/* Keeps the highest reserved bytes beside the KV cache from its first allocation on. */
uint64_t tide__serving_rest(const tide_serving_at *at, const tide_holders *h)
{
	const tide_model *m = at->m;
	uint64_t reserved = 0, kv = 0, most = 0, now;
	for (size_t i = 0; i < at->position && i < m->memory_events.n; i++) {
		uint32_t row = m->memory_events.row[i];
		uint8_t kind = m->memory_events.kind[i];
		bool segment = kind == TIDE_MEMORY_SEG_ALLOC || kind == TIDE_MEMORY_SEG_FREE;
		if (kind == TIDE_MEMORY_FREE_ASKED)
			continue;
		uint32_t pool = segment ? m->segments.pool[row].i : m->allocs.pool[row].i;
		if (m->pools.device[pool].i != at->device)
			continue;
		if (kind == TIDE_MEMORY_SEG_ALLOC)
			reserved += m->segments.size[row];
		else if (kind == TIDE_MEMORY_SEG_FREE)
			reserved -= m->segments.size[row];
		else if (tide__holders_part(h, row).part == TIDE_SERVING_KV_CACHE)
			kv = kind == TIDE_MEMORY_ALLOC ? kv + m->allocs.size[row]
						       : kv - m->allocs.size[row];
		now = reserved > kv ? reserved - kv : 0;
		if (!kv || now > most) /* before the KV cache: nothing counts */
			most = kv ? now : 0;
	}
	return most;
}
