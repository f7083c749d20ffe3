// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Builds the state before the first request, segments with their blocks in use, and checks every
 * invariant of the simulator's state. */
#include "analyze/allocator/sim/impl.h"

/* Returns a block appended to the chain that ends in `last`. */
static uint32_t append(tide_sim *s, uint32_t b, uint32_t last, uint64_t addr, uint64_t size,
		       uint32_t r)
{
	uint32_t i = tide__sim_new_block(s, b, addr, size);

	if (!i)
		return 0;
	s->blocks[i].range = r;
	tide__sim_link(s, last, i, 0);
	return i;
}

static void append_free(tide_sim *s, uint32_t b, uint32_t *last, uint64_t addr, uint64_t size,
			uint32_t r)
{
	uint32_t i = size ? append(s, b, *last, addr, size, r) : 0;

	if (!i)
		return;
	*last = i;
	tide__sim_put_free(s, i);
}

static void append_unmapped(tide_sim *s, uint32_t b, uint32_t last, uint64_t addr, uint64_t size,
			    uint32_t r)
{
	uint32_t i = size ? append(s, b, last, addr, size, r) : 0;

	if (!i)
		return;
	s->blocks[i].state = BLOCK_UNMAPPED;
	if (!tide__ordered_put(&s->bins[b].unmapped, addr, i))
		s->failed = true;
}

static void append_used(tide_sim *s, uint32_t b, uint32_t *last, const tide_sim_seed *k, uint32_t r)
{
	uint32_t i = append(s, b, *last, k->addr, k->size, r);

	if (!i)
		return;
	*last = i;
	s->blocks[i].state = BLOCK_USED;
	s->blocks[i].requested = k->requested;
	s->blocks[i].id = k->id;
	s->of[k->id] = i;
	s->st.active += k->size;
	s->st.allocated += k->size;
	s->st.requested += k->requested;
}

static bool seeds_ok(const tide_sim *s, uint64_t addr, uint64_t size, const tide_sim_seed *k,
		     size_t n)
{
	uint64_t at = addr;

	if (!size || !addr || addr + size < addr)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (k[i].addr < at || !k[i].size || k[i].size > size ||
		    k[i].addr - addr > size - k[i].size || k[i].id >= s->n_ids || s->of[k[i].id])
			return false;
		at = k[i].addr + k[i].size;
	}
	return true;
}

/* Returns the chain's end that a part at `addr` continues: the unmapped tail of the bin's last
 * range, shortened so that the part follows. Creates a new range if there is none. */
static uint32_t range_for(tide_sim *s, uint32_t b, uint64_t addr, uint64_t size, uint32_t *last)
{
	tide_ordered_pos p = tide__ordered_last(&s->bins[b].unmapped);
	uint32_t tail = tide__ordered_ok(p) ? tide__ordered_val(&s->bins[b].unmapped, p) : 0;

	*last = 0;
	if (tail && addr >= s->blocks[tail].addr &&
	    addr + size <= s->blocks[tail].addr + s->blocks[tail].size) {
		uint32_t r = s->blocks[tail].range;

		if (addr > s->blocks[tail].addr) {
			s->blocks[tail].size = addr - s->blocks[tail].addr;
			*last = tail;
		} else {
			*last = s->blocks[tail].prev;
			if (*last)
				s->blocks[*last].next = 0;
			tide__ordered_del(&s->bins[b].unmapped, addr);
			tide__sim_drop_block(s, tail);
		}
		return r;
	}
	return tide__sim_new_range(s, b, addr);
}

static void seed_blocks(tide_sim *s, uint32_t b, uint32_t *last, uint64_t addr, uint64_t size,
			uint32_t r, const tide_sim_seed *k, size_t n)
{
	uint64_t at = addr;

	for (size_t i = 0; i < n && !s->failed; i++) {
		append_free(s, b, last, at, k[i].addr - at, r);
		append_used(s, b, last, &k[i], r);
		at = k[i].addr + k[i].size;
	}
	append_free(s, b, last, at, addr + size - at, r);
}

/* Merges free bytes at the begin of a part with free bytes at the end of the previous part. */
static void join(tide_sim *s, uint32_t first)
{
	if (!first || s->blocks[first].state != BLOCK_FREE)
		return;
	tide__sim_take_free(s, first);
	tide__sim_merge(s, first, s->blocks[first].prev);
	tide__sim_put_free(s, first);
}

static void seed_stretch(tide_sim *s, uint32_t b, uint64_t addr, uint64_t size,
			 const tide_sim_seed *k, size_t n)
{
	uint32_t last, r = range_for(s, b, addr, size, &last), before = last;

	if (!r)
		return;
	seed_blocks(s, b, &last, addr, size, r, k, n);
	range *g = &s->ranges[r - 1];
	uint32_t first = before ? s->blocks[before].next : 0;

	append_unmapped(s, b, last, addr + size,
			addr + size < g->addr + g->size ? g->addr + g->size - (addr + size) : 0, r);
	if (before && s->blocks[before].state == BLOCK_FREE)
		join(s, first);
	s->st.segments += !g->mapped;
	g->mapped += size;
}

tide_code tide__sim_seed_range(tide_sim *s, tide_sim_where where, uint64_t addr)
{
	uint32_t b = tide__sim_get_bin(s, 2 * where.pool + !where.small, where.stream);
	uint32_t r = b ? tide__sim_new_range(s, b - 1, addr) : 0;

	if (!r)
		return TIDE_ENOMEM;
	append_unmapped(s, b - 1, 0, addr, s->ranges[r - 1].size, r);
	return s->failed ? TIDE_ENOMEM : TIDE_OK;
}

tide_code tide__sim_seed_segment(tide_sim *s, tide_sim_where where, uint64_t addr, uint64_t size,
				 bool expandable, const tide_sim_seed *blocks, size_t n)
{
	if (!seeds_ok(s, addr, size, blocks, n))
		return TIDE_ECORRUPT;
	uint32_t b = tide__sim_get_bin(s, 2 * where.pool + !where.small, where.stream), last = 0;

	if (!b--)
		return TIDE_ENOMEM;
	if (expandable) {
		seed_stretch(s, b, addr, size, blocks, n);
	} else {
		seed_blocks(s, b, &last, addr, size, 0, blocks, n);
		s->st.segments++;
	}
	s->st.reserved += size;
	s->st.reserved_peak = s->st.reserved;
	s->st.segments_peak = s->st.segments;
	s->st.active_peak = s->st.active_at_peak = s->st.active;
	s->st.allocated_peak = s->st.allocated;
	return s->failed ? TIDE_ENOMEM : TIDE_OK;
}

/* ---- check ------------------------------------------------------------------------------- */

static const char *check_block(const tide_sim *s, const block *k, uint32_t i)
{
	const block *n = &s->blocks[k->next];

	if (!k->size)
		return "a block is empty";
	if (k->next && (n->prev != i || n->addr != k->addr + k->size || n->range != k->range))
		return "neighbours do not touch";
	if (k->next && (k->state == BLOCK_FREE || k->state == BLOCK_UNMAPPED) &&
	    n->state == k->state)
		return "two free neighbours were not merged";
	if (k->state == BLOCK_UNMAPPED && !k->range)
		return "a plain segment has an unmapped block";
	if ((k->state == BLOCK_USED || k->state == BLOCK_PENDING) && s->of[k->id] != i)
		return "a block in use is not its id's";
	return NULL;
}

const char *tide__sim_check_state(const tide_sim *s)
{
	uint64_t reserved = 0, active = 0, allocated = 0, requested = 0;
	size_t n_free = 0, n_unmapped = 0, in_sets = 0, in_unmapped = 0;

	for (uint32_t i = 1; i < s->n_blocks; i++) {
		const block *k = &s->blocks[i];
		bool used = k->state == BLOCK_USED || k->state == BLOCK_PENDING;

		if (k->state == BLOCK_SPARE)
			continue;
		const char *bad = check_block(s, k, i);

		if (bad)
			return bad;
		reserved += k->state != BLOCK_UNMAPPED ? k->size : 0;
		active += used ? k->size : 0;
		allocated += k->state == BLOCK_USED ? k->size : 0;
		requested += used ? k->requested : 0;
		n_free += k->state == BLOCK_FREE;
		n_unmapped += k->state == BLOCK_UNMAPPED;
	}
	for (uint32_t b = 0; b < s->n_bins; b++) {
		in_sets += s->bins[b].free.n;
		in_unmapped += s->bins[b].unmapped.n;
	}
	if (n_free != in_sets || n_unmapped != in_unmapped)
		return "free blocks and free sets differ in number";
	if (reserved != s->st.reserved || active != s->st.active || allocated != s->st.allocated ||
	    requested != s->st.requested)
		return "totals differ from the blocks";
	return NULL;
}
