// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The allocator's operations: requests, splitting, merging and retry; release.c releases memory.
 *
 * docs/analyses/whatif.md states each rule; the tests compare this file with a slow simulator that
 * searches linearly, and with recordings of real allocators. */
#include "analyze/allocator/sim/impl.h"

#include <string.h>

#include "base/mem.h"

/* ---- blocks and bins --------------------------------------------------------------------- */

uint32_t tide__sim_new_block(tide_sim *s, uint32_t b, uint64_t addr, uint64_t size)
{
	uint32_t i = s->spare;

	if (i) {
		s->spare = s->blocks[i].next;
	} else {
		if (s->n_blocks == UINT32_MAX ||
		    !TIDE_ROOM(s->blocks, s->cap_blocks, (size_t)s->n_blocks + 1)) {
			s->failed = true;
			return 0;
		}
		i = s->n_blocks++;
	}
	s->blocks[i] = (block){ .addr = addr, .size = size, .bin = b };
	return i;
}

void tide__sim_drop_block(tide_sim *s, uint32_t i)
{
	s->blocks[i].state = BLOCK_SPARE;
	s->blocks[i].next = s->spare;
	s->spare = i;
}

static bpool *pool_of(tide_sim *s, uint32_t b)
{
	return &s->bpools[s->bins[b].bpool];
}

bool tide__sim_is_small(const tide_sim *s, uint32_t b)
{
	return !(s->bins[b].bpool & 1);
}

tide_sim_where tide__sim_where_of(const tide_sim *s, uint32_t b)
{
	return (tide_sim_where){ s->bins[b].bpool / 2, s->bins[b].stream,
				 tide__sim_is_small(s, b) };
}

void tide__sim_put_free(tide_sim *s, uint32_t i)
{
	block *k = &s->blocks[i];

	s->released = false;
	k->state = BLOCK_FREE;
	k->gc_base = pool_of(s, k->bin)->searches;
	if (!tide__ordered_put2(&s->bins[k->bin].free, k->size, k->addr, i))
		s->failed = true;
	tide__sim_room_grew(s, i);
}

void tide__sim_take_free(tide_sim *s, uint32_t i)
{
	block *k = &s->blocks[i];

	tide__ordered_del2(&s->bins[k->bin].free, k->size, k->addr);
}

void tide__sim_link(tide_sim *s, uint32_t prev, uint32_t i, uint32_t next)
{
	s->blocks[i].prev = prev;
	s->blocks[i].next = next;
	if (prev)
		s->blocks[prev].next = i;
	if (next)
		s->blocks[next].prev = i;
}

void tide__sim_merge(tide_sim *s, uint32_t i, uint32_t other)
{
	block *k = &s->blocks[i], *o = &s->blocks[other];
	bool unmapped = k->state == BLOCK_UNMAPPED;

	if (!other || o->state != (unmapped ? BLOCK_UNMAPPED : BLOCK_FREE))
		return;
	if (unmapped)
		tide__ordered_del(&s->bins[o->bin].unmapped, o->addr);
	else
		tide__sim_take_free(s, other);
	if (k->prev == other) {
		k->addr = o->addr;
		k->prev = o->prev;
		if (k->prev)
			s->blocks[k->prev].next = i;
	} else {
		k->next = o->next;
		if (k->next)
			s->blocks[k->next].prev = i;
	}
	k->size += o->size;
	tide__sim_drop_block(s, other);
}

/* Ensures that pool number `pool` exists. */
static bool need_pool(tide_sim *s, uint32_t pool)
{
	if (pool < s->n_pools)
		return true;
	if (pool >= UINT32_MAX / 4)
		return false;
	if (!TIDE_RESIZE(s->bpools, 2 * ((size_t)pool + 1)) ||
	    !TIDE_RESIZE(s->done, (size_t)pool + 1))
		return false;
	size_t more = pool + 1 - s->n_pools;

	memset(s->bpools + 2 * (size_t)s->n_pools, 0, 2 * more * sizeof *s->bpools);
	memset(s->done + s->n_pools, 0, more);
	s->n_pools = pool + 1;
	return true;
}

/* Returns a new bin, at its place in its pool's stream order. */
static uint32_t new_bin(tide_sim *s, uint32_t bp, uint32_t stream)
{
	bpool *p = &s->bpools[bp];

	if (!TIDE_ROOM(s->bins, s->cap_bins, s->n_bins + 1) ||
	    !TIDE_ROOM(p->bins, p->cap, p->n + 1))
		return 0;
	uint32_t at = p->n, b = s->n_bins++;

	s->bins[b] = (bin){ .stream = stream, .bpool = bp };
	for (; at && s->bins[p->bins[at - 1]].stream > stream; at--)
		p->bins[at] = p->bins[at - 1];
	p->bins[at] = b;
	p->n++;
	return b + 1;
}

uint32_t tide__sim_get_bin(tide_sim *s, uint32_t bp, uint32_t stream)
{
	uint64_t key = ((uint64_t)bp << 32 | stream) + 1;

	if (s->last_key == key)
		return s->last_bin;
	if (!need_pool(s, bp / 2))
		return 0;
	uint32_t b = tide__map_get(&s->bin_of, key);

	if (!b) {
		b = new_bin(s, bp, stream);
		if (!b || !tide__map_put(&s->bin_of, key, b))
			return 0;
	}
	s->last_key = key;
	s->last_bin = b;
	return b;
}

void tide__sim_count_reserved(tide_sim *s, uint64_t more)
{
	s->st.reserved += more;
	s->st.n_seg_alloc++;
}

/* ---- a block from the cache -------------------------------------------------------------- */

/* Returns the size used by best fit: an expandable segment's last free block counts what it can
 * grow to. */
static uint64_t reach(const tide_sim *s, uint32_t i)
{
	const block *k = &s->blocks[i], *n = &s->blocks[k->next];

	return k->size + (k->next && n->state == BLOCK_UNMAPPED ? n->size : 0);
}

/* With expandable segments, a larger block that can grow less is the better fit. */
static tide_ordered_pos best_reach(const tide_sim *s, const bin *b, tide_ordered_pos p)
{
	for (;;) {
		uint32_t i = tide__ordered_val(&b->free, p);
		tide_ordered_pos next = tide__ordered_next(&b->free, p);

		if (!s->blocks[i].range || !tide__ordered_ok(next) ||
		    reach(s, tide__ordered_val(&b->free, next)) >= reach(s, i))
			return p;
		p = next;
	}
}

/* Returns the first block from p on that is not part of an expandable segment. */
static tide_ordered_pos skip_expandable(const tide_sim *s, const bin *b, tide_ordered_pos p)
{
	while (tide__ordered_ok(p) && s->blocks[tide__ordered_val(&b->free, p)].range)
		p = tide__ordered_next(&b->free, p);
	return p;
}

/* Returns the free block that serves a rounded size; 0 if there is none. It stays in its set. */
static uint32_t find_free(const tide_sim *s, const bin *b, uint64_t size)
{
	tide_ordered_pos p = tide__ordered_ceil2(&b->free, size, 0);

	if (!tide__ordered_ok(p))
		return 0;
	if (s->blocks[tide__ordered_val(&b->free, p)].range) {
		p = s->c.expandable ? best_reach(s, b, p) : skip_expandable(s, b, p);
		if (!tide__ordered_ok(p))
			return 0;
	}
	bool over = size >= s->c.max_split_size;
	uint64_t found = tide__ordered_key(&b->free, p);

	if (!over && found >= s->c.max_split_size)
		return 0; /* oversize blocks are kept for oversize requests */
	if (over && found - size >= s->c.max_non_split_rounding)
		return 0;
	return tide__ordered_val(&b->free, p);
}

/* ---- a block from the device ------------------------------------------------------------- */

static uint32_t from_device(tide_sim *s, uint32_t b, uint64_t size)
{
	uint64_t bytes = tide__sim_segment(&s->c, size);

	if (s->c.allowed && (bytes > s->c.allowed || s->st.reserved > s->c.allowed - bytes))
		return 0;
	if (s->c.expandable)
		return tide__sim_expand(s, b, size);
	uint64_t addr = s->d.take(s->d.user, tide__sim_where_of(s, b), bytes);

	if (!addr)
		return 0;
	uint32_t i = tide__sim_new_block(s, b, addr, bytes);

	if (!i)
		return 0;
	tide__sim_count_reserved(s, bytes);
	s->st.segments++;
	return i;
}

static uint32_t new_memory(tide_sim *s, uint32_t b, uint64_t size)
{
	if (s->c.gc_threshold > 0 && s->c.allowed)
		tide__sim_collect_garbage(s);
	uint32_t i = from_device(s, b, size);

	if (!i && !s->failed && tide__sim_release_oversize(s, b, size))
		i = from_device(s, b, size);
	if (!i && !s->failed) {
		tide__sim_release_all(s);
		s->st.retries++;
		i = from_device(s, b, size);
	}
	return i;
}

/* ---- requests ---------------------------------------------------------------------------- */

/* The split rule: returns true if the rest of a block is large enough to become a separate
 * block. */
static bool should_split(const tide_sim *s, const block *k, uint64_t size)
{
	uint64_t rest = k->size - size;

	if (tide__sim_is_small(s, k->bin) || s->c.expandable)
		return rest >= TIDE_SIM_MIN_BLOCK;
	return size < s->c.max_split_size && rest > TIDE_SIM_SMALL_MAX;
}

/* Keeps the front of block i and makes the rest a separate free block. */
static void split(tide_sim *s, uint32_t i, uint64_t size)
{
	uint32_t r = tide__sim_new_block(s, s->blocks[i].bin, s->blocks[i].addr + size,
					 s->blocks[i].size - size);

	if (!r)
		return;
	s->blocks[r].range = s->blocks[i].range;
	s->blocks[i].size = size;
	tide__sim_link(s, i, r, s->blocks[i].next);
	tide__sim_put_free(s, r);
}

static void note_peaks(tide_sim_stats *st)
{
	if (st->active > st->active_peak)
		st->active_peak = st->active;
	if (st->allocated > st->allocated_peak)
		st->allocated_peak = st->allocated;
	if (st->segments > st->segments_peak)
		st->segments_peak = st->segments;
	if (st->reserved > st->reserved_peak) {
		st->reserved_peak = st->reserved;
		st->active_at_peak = st->active;
	} else if (st->reserved == st->reserved_peak && st->active > st->active_at_peak) {
		st->active_at_peak = st->active;
	}
}

static void use(tide_sim *s, uint32_t i, uint32_t id, uint64_t requested)
{
	block *k = &s->blocks[i];

	k->state = BLOCK_USED;
	k->requested = requested;
	k->id = id;
	s->of[id] = i;
	s->st.active += k->size;
	s->st.allocated += k->size;
	s->st.requested += requested;
	note_peaks(&s->st);
}

tide_code tide__sim_allocate(tide_sim *s, uint32_t id, uint64_t size, uint32_t stream,
			     uint32_t pool)
{
	uint64_t rounded = tide__sim_round(&s->c, size);

	if (id >= s->n_ids || s->of[id] || s->failed)
		return s->failed ? TIDE_ENOMEM : TIDE_EUSAGE;
	if (rounded > UINT64_MAX / 4) {
		s->st.ooms++;
		return TIDE_ELIMIT;
	}
	uint32_t bp = 2 * pool + (rounded > TIDE_SIM_SMALL_MAX),
		 b = tide__sim_get_bin(s, bp, stream);

	if (!b--) {
		s->failed = true;
		return TIDE_ENOMEM;
	}
	if (s->c.gc_threshold > 0 && s->c.allowed)
		s->bpools[bp].searches++;
	uint32_t i = find_free(s, &s->bins[b], rounded);

	if (i)
		tide__sim_take_free(s, i);
	else
		i = new_memory(s, b, rounded);
	if (!i) {
		s->st.ooms += !s->failed;
		return s->failed ? TIDE_ENOMEM : TIDE_ELIMIT;
	}
	if (should_split(s, &s->blocks[i], rounded))
		split(s, i, rounded);
	use(s, i, id, size);
	return s->failed ? TIDE_ENOMEM : TIDE_OK;
}

static void leave_pending(tide_sim *s, uint32_t i)
{
	uint32_t at = s->blocks[i].pending_at, last = s->pending[--s->n_pending];

	s->pending[at] = last;
	s->blocks[last].pending_at = at;
}

void tide__sim_free_asked(tide_sim *s, uint32_t id)
{
	uint32_t i = id < s->n_ids ? s->of[id] : 0;

	if (!i || s->blocks[i].state != BLOCK_USED)
		return;
	if (!TIDE_ROOM(s->pending, s->cap_pending, s->n_pending + 1)) {
		s->failed = true;
		return;
	}
	s->blocks[i].state = BLOCK_PENDING;
	s->blocks[i].pending_at = s->n_pending;
	s->pending[s->n_pending++] = i;
	s->st.allocated -= s->blocks[i].size;
}

tide_code tide__sim_free(tide_sim *s, uint32_t id)
{
	uint32_t i = id < s->n_ids ? s->of[id] : 0;

	if (!i)
		return s->failed ? TIDE_ENOMEM : TIDE_OK;
	block *k = &s->blocks[i];

	if (k->state == BLOCK_PENDING)
		leave_pending(s, i);
	else
		s->st.allocated -= k->size;
	s->of[id] = 0;
	s->st.active -= k->size;
	s->st.requested -= k->requested;
	k->state = BLOCK_FREE;
	tide__sim_merge(s, i, k->prev);
	tide__sim_merge(s, i, k->next);
	tide__sim_put_free(s, i);
	return s->failed ? TIDE_ENOMEM : TIDE_OK;
}

tide_code tide__sim_end_pool(tide_sim *s, uint32_t pool)
{
	if (!need_pool(s, pool)) {
		s->failed = true;
		return TIDE_ENOMEM;
	}
	s->done[pool] = 1;
	s->released = false;
	return TIDE_OK;
}

/* ---- queries ----------------------------------------------------------------------------- */

bool tide__sim_block(const tide_sim *s, uint32_t id, uint64_t *addr, uint64_t *size)
{
	uint32_t i = id < s->n_ids ? s->of[id] : 0;

	*addr = i ? s->blocks[i].addr : 0;
	*size = i ? s->blocks[i].size : 0;
	return i != 0;
}

bool tide__sim_is_pending(const tide_sim *s, uint32_t id)
{
	return id < s->n_ids && s->of[id] && s->blocks[s->of[id]].state == BLOCK_PENDING;
}

const tide_sim_stats *tide__sim_stats(const tide_sim *s)
{
	return &s->st;
}

void tide__sim_free_blocks(const tide_sim *s, uint64_t *largest, uint64_t *inactive_split)
{
	*largest = *inactive_split = 0;
	for (uint32_t b = 0; b < s->n_bins; b++) {
		const tide_ordered *set = &s->bins[b].free;

		for (tide_ordered_pos p = tide__ordered_first(set); tide__ordered_ok(p);
		     p = tide__ordered_next(set, p)) {
			const block *k = &s->blocks[tide__ordered_val(set, p)];

			if (k->size > *largest)
				*largest = k->size;
			if (!k->range && !tide__sim_whole(k))
				*inactive_split += k->size;
		}
	}
}

/* ---- new and free ------------------------------------------------------------------------ */

tide_sim *tide__sim_new(const tide_sim_config *c, const tide_sim_device *d, uint32_t n_ids)
{
	tide_sim *s = tide__calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->c = *c;
	s->d = *d;
	s->n_ids = n_ids;
	s->of = tide__calloc(n_ids, sizeof *s->of);
	s->n_blocks = 1; /* row 0 = none */
	if (!s->of || !TIDE_ROOM(s->blocks, s->cap_blocks, 1) || !need_pool(s, 0)) {
		tide__sim_free_all(s);
		return NULL;
	}
	s->blocks[0] = (block){ 0 };
	return s;
}

void tide__sim_free_all(tide_sim *s)
{
	if (!s)
		return;
	for (uint32_t b = 0; b < s->n_bins; b++) {
		tide__ordered_free(&s->bins[b].free);
		tide__ordered_free(&s->bins[b].unmapped);
	}
	for (uint32_t p = 0; p < 2 * s->n_pools; p++)
		tide__free(s->bpools[p].bins);
	tide__free(s->bins);
	tide__free(s->bpools);
	tide__free(s->done);
	tide__free(s->ranges);
	tide__free(s->blocks);
	tide__free(s->of);
	tide__free(s->pending);
	tide__map_free(&s->bin_of);
	tide__free(s);
}
