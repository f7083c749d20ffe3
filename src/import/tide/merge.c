// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A binary heap of rings by (time, number). The top ring delivers every event that is not later
 * than the next event of the second ring, so with one ring, or rings that alternate rarely, the
 * heap is hardly used. Damage inside a chunk (its checksum held, so it was written that way) loses
 * the rest of that chunk and is reported once, with its position. */
#include "import/tide/merge.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { BATCH = 512 };

struct tide_batch {
	struct tide_batch *next;
	tide_payload payload;
	tide_cursor cursor;
	tide_chunk chunk;
	bool started;
	tide_event ev[BATCH + 2]; /* two more: lane and depth at a chunk's start */
};

static void free_batch(struct tide_batch *b)
{
	if (b)
		tide__payload_free(&b->payload);
	tide__free(b);
}

void tide__merge_free(tide_merge *g)
{
	for (size_t i = 0; i < g->n; i++) {
		tide__free(g->rings[i].chunks);
		tide__free(g->rings[i].open);
		free_batch(g->rings[i].batch);
	}
	while (g->spare) {
		struct tide_batch *b = g->spare;
		g->spare = b->next;
		free_batch(b);
	}
	tide__free(g->rings);
	tide__free(g->heap);
	tide__free(g->key);
	tide__map_free(&g->by_number);
	memset(g, 0, sizeof *g);
}

/* ---- the list of chunks ---- */

static tide_ring *ring_of(tide_merge *g, uint32_t number)
{
	uint32_t at = tide__map_get(&g->by_number, number);
	if (at)
		return &g->rings[at - 1];
	if (g->n >= UINT32_MAX / 2 || !TIDE_ROOM(g->rings, g->cap, g->n + 1))
		return NULL;
	if (!tide__map_put(&g->by_number, number, (uint32_t)g->n + 1))
		return NULL;
	g->rings[g->n] = (tide_ring){ .number = number };
	return &g->rings[g->n++];
}

tide_code tide__merge_add(tide_merge *g, const tide_chunk *c, tide_error *err)
{
	tide_ring *r = ring_of(g, c->head.ring);
	if (!r)
		return tide__nomem(err);
	if (!c->head.slots && !c->head.raw && !r->n_chunks && c->head.first > r->slots) {
		r->slots = c->head.first; /* earlier events are not in this file, on purpose */
		return TIDE_OK;
	}
	if (c->head.first < r->slots || c->head.slots > UINT64_MAX - c->head.first) {
		g->repeated++;
		return TIDE_OK;
	}
	if (!TIDE_ROOM(r->chunks, r->cap_chunks, r->n_chunks + 1))
		return tide__nomem(err);
	g->missing += c->head.first - r->slots;
	r->slots = c->head.first + c->head.slots;
	r->chunks[r->n_chunks++] = *c;
	return TIDE_OK;
}

uint64_t tide__merge_records(const tide_merge *g)
{
	uint64_t n = 0;
	for (size_t i = 0; i < g->n; i++) {
		for (size_t k = 0; k < g->rings[i].n_chunks; k++) {
			const tide_chunk_head *h = &g->rings[i].chunks[k].head;
			n += h->count < h->raw / 2 ? h->count : h->raw / 2;
		}
	}
	return n;
}

/* ---- one ring ---- */

/* Ends a chunk and keeps its buffers for the next one. */
static void close_batch(tide_merge *g, tide_ring *r)
{
	struct tide_batch *b = r->batch;
	if (!b)
		return;
	b->next = g->spare;
	g->spare = b;
	r->batch = NULL;
}

static void note_damage(tide_merge *g, tide_code code, uint64_t at, const char *what)
{
	if (g->damage.code == TIDE_OK || at < g->damage.offset)
		tide__fail(&g->damage, code, at, "%s", what);
}

static tide_code open_chunk(tide_merge *g, tide_ring *r, tide_error *err)
{
	const tide_chunk *c = &r->chunks[r->next++];
	struct tide_batch *b = g->spare;
	if (b)
		g->spare = b->next;
	else if (!(b = tide__calloc(1, sizeof *b)))
		return tide__nomem(err);
	r->batch = b;
	b->chunk = *c;
	b->started = false;
	tide_code rc = tide__reader_read_payload(g->reader, c, &b->payload, err);
	if (rc)
		return rc;
	uint64_t ticks = c->head.ticks > r->ticks ? c->head.ticks : r->ticks;
	tide__cursor_start(&b->cursor, g->schema, b->payload.bytes, b->payload.n, ticks);
	return TIDE_OK;
}

/* Turns the chunk head's thread state into events: nothing new unless chunks are missing. */
static size_t chunk_state(const tide_ring *r, struct tide_batch *b)
{
	const tide_chunk_head *h = &b->chunk.head;
	size_t n = 0;
	bool moved = h->lane != r->file_lane;
	if (moved)
		b->ev[n++] = (tide_event){
			.ticks = b->cursor.ticks, .tag = TIDE_REC_LANE, .name = h->lane, .kind = 1
		};
	if (h->depth != (moved ? 0 : r->depth))
		b->ev[n++] = (tide_event){ .ticks = b->cursor.ticks,
					   .tag = TIDE_REC_DEPTH,
					   .size = h->depth };
	return n;
}

/* Handles a malformed record: the rest of its chunk cannot be read. */
static void give_up(tide_merge *g, const struct tide_batch *b)
{
	bool packed = b->chunk.head.flags & TIDE_CHUNK_ZSTD || b->chunk.inner;
	uint64_t at = b->chunk.at;
	if (!packed)
		at += sizeof b->chunk.head + (uint64_t)(b->cursor.at - b->cursor.start);
	note_damage(g, TIDE_ECORRUPT, at, "malformed event record");
	uint64_t left = b->chunk.head.count - b->cursor.records;
	g->unread += b->chunk.head.count > b->cursor.records ? left : 1;
}

/* Returns true for a truncated chunk. */
static bool cut_off(const tide_chunk *c)
{
	return c->memory && c->head.stored < c->head.raw;
}

/* Reads the next events of a ring into r->ev and r->n; n stays 0 at the end. */
static tide_code refill(tide_merge *g, tide_ring *r, tide_error *err)
{
	while (!r->n) {
		struct tide_batch *b = r->batch;
		if (b) {
			size_t head = b->started ? 0 : chunk_state(r, b);
			b->started = true;
			r->n = head + tide__events_decode(&b->cursor, b->ev + head, BATCH);
			r->ev = b->ev;
			if (r->n)
				return TIDE_OK;
			if (cut_off(&b->chunk))
				g->unverified += b->cursor.records;
			else if (b->cursor.bad)
				give_up(g, b);
			g->skipped += b->cursor.skipped;
			g->records += b->cursor.records;
			close_batch(g, r);
		}
		if (r->next == r->n_chunks)
			return TIDE_OK;
		tide_error e = { .offset = TIDE_NO_OFFSET };
		tide_code rc = open_chunk(g, r, &e);
		if (rc == TIDE_ECORRUPT || rc == TIDE_ETRUNC) { /* only this chunk is lost */
			note_damage(g, rc, e.offset, e.text);
			g->unread += r->batch->chunk.head.count;
			close_batch(g, r);
		} else if (rc) {
			if (err)
				*err = e;
			return rc;
		}
	}
	return TIDE_OK;
}

/* ---- all rings ---- */

static bool before(const tide_merge *g, uint32_t a, uint32_t b)
{
	if (g->key[a] != g->key[b])
		return g->key[a] < g->key[b];
	return g->rings[a].number < g->rings[b].number;
}

static void sift_down(tide_merge *g, size_t i)
{
	for (;;) {
		size_t best = i, l = 2 * i + 1;
		for (size_t c = l; c < l + 2 && c < g->n_heap; c++)
			if (before(g, g->heap[c], g->heap[best]))
				best = c;
		if (best == i)
			return;
		uint32_t t = g->heap[i];
		g->heap[i] = g->heap[best];
		g->heap[best] = t;
		i = best;
	}
}

/* Returns the time of the ring's next event, or the time in the head of its next chunk. */
static uint64_t next_time(const tide_ring *r)
{
	uint64_t t = r->n ? r->ev->ticks : r->chunks[r->next].head.ticks;
	return t > r->ticks ? t : r->ticks;
}

tide_code tide__merge_start(tide_merge *g, tide_error *err)
{
	g->heap = tide__alloc(g->n, sizeof *g->heap);
	g->key = tide__alloc(g->n, sizeof *g->key);
	if (!g->heap || !g->key)
		return tide__nomem(err);
	for (size_t i = 0; i < g->n; i++) {
		if (!g->rings[i].n_chunks)
			continue; /* all its chunks were left out */
		g->key[i] = next_time(&g->rings[i]);
		g->heap[g->n_heap++] = (uint32_t)i;
	}
	for (size_t i = g->n_heap / 2; i-- > 0;)
		sift_down(g, i);
	return TIDE_OK;
}

/* Returns how many of the ring's events come before any event of the other rings. */
static size_t run_length(const tide_merge *g, const tide_ring *r)
{
	uint32_t second = 0;
	bool any = false;
	for (size_t c = 1; c < 3 && c < g->n_heap; c++) {
		if (!any || before(g, g->heap[c], second))
			second = g->heap[c];
		any = true;
	}
	if (!any)
		return r->n;
	uint64_t limit = g->key[second];
	bool ties = r->number < g->rings[second].number;
	if (r->ev[r->n - 1].ticks < limit)
		return r->n;
	size_t n = 0;
	while (n < r->n && (r->ev[n].ticks < limit || (ties && r->ev[n].ticks == limit)))
		n++;
	return n;
}

/* Makes the top ring's next event available and its key exact. Returns false if no events are
 * left. */
static tide_code settle_top(tide_merge *g, tide_error *err)
{
	while (g->n_heap) {
		uint32_t i = g->heap[0];
		tide_ring *r = &g->rings[i];
		if (r->n && g->key[i] == r->ev->ticks)
			return TIDE_OK;
		tide_code rc = refill(g, r, err);
		if (rc)
			return rc;
		if (r->n)
			g->key[i] = next_time(r);
		else
			g->heap[0] = g->heap[--g->n_heap];
		sift_down(g, 0);
	}
	return TIDE_OK;
}

tide_code tide__merge_next(tide_merge *g, tide_ring **ring, const tide_event **ev, size_t *n,
			   tide_error *err)
{
	*n = 0;
	tide_code rc = settle_top(g, err);
	if (rc || !g->n_heap)
		return rc;
	tide_ring *r = &g->rings[g->heap[0]];
	size_t run = run_length(g, r);
	*ring = r;
	*ev = r->ev;
	*n = run;
	r->ticks = r->ev[run - 1].ticks;
	r->ev += run;
	r->n -= run;
	if (r->n || r->next < r->n_chunks || r->batch)
		g->key[g->heap[0]] = r->n ? r->ev->ticks : r->ticks;
	else
		g->heap[0] = g->heap[--g->n_heap];
	sift_down(g, 0);
	return TIDE_OK;
}
