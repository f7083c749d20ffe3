// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Expandable segments: one address range per (pool half, stream) into which memory is mapped
 * page by page (2 MiB small, 20 MiB large). A range is a chain of blocks like any segment, some
 * of them unmapped; the lowest run that is large enough is used first, and whole free pages can
 * be released. */
#include "analyze/allocator/sim/impl.h"

#include "base/mem.h"

static uint64_t range_size(const tide_sim *s, uint64_t page)
{
	uint64_t all = s->c.capacity && s->c.capacity < 1ull << 46 ? s->c.capacity : 1ull << 40;

	all += all / 8;
	return (all + page - 1) / page * page;
}

static uint64_t page_of(const tide_sim *s, uint32_t b)
{
	return tide__sim_is_small(s, b) ? TIDE_SIM_SMALL_SEG : s->c.large_segment;
}

uint32_t tide__sim_new_range(tide_sim *s, uint32_t b, uint64_t addr)
{
	uint64_t page = page_of(s, b);
	uint64_t size = range_size(s, page);

	if (!TIDE_ROOM(s->ranges, s->cap_ranges, s->n_ranges + 1)) {
		s->failed = true;
		return 0;
	}
	if (!addr)
		addr = s->d.range(s->d.user, tide__sim_where_of(s, b), size);
	s->ranges[s->n_ranges] = (range){ addr, size, page, 0 };
	return ++s->n_ranges;
}

static void put_unmapped(tide_sim *s, uint32_t i)
{
	block *k = &s->blocks[i];

	k->state = BLOCK_UNMAPPED;
	k->requested = 0;
	if (!tide__ordered_put(&s->bins[k->bin].unmapped, k->addr, i))
		s->failed = true;
	tide__sim_room_grew(s, i);
}

static bool idle(const tide_sim *s, uint32_t i)
{
	return i && (s->blocks[i].state == BLOCK_FREE || s->blocks[i].state == BLOCK_UNMAPPED);
}

/* Returns the bytes of the idle blocks from i on; `size` or more is enough. */
static uint64_t room_from(const tide_sim *s, uint32_t i, uint64_t size)
{
	uint64_t bytes = 0;

	for (; bytes < size && idle(s, i); i = s->blocks[i].next)
		bytes += s->blocks[i].size;
	return bytes;
}

/* Returns the first block of an unmapped block's run: the block itself or the free block before
 * it. */
static uint32_t run_at(const tide_sim *s, uint32_t i)
{
	uint32_t before = s->blocks[i].prev;

	return idle(s, before) ? before : i;
}

/* Returns the first unmapped block of p's leaf whose run is large enough; 0 = none, and the largest
 * becomes the leaf's bound, so that the leaf is skipped until a block in it becomes idle. */
static uint32_t search_leaf(const tide_sim *s, tide_ordered *set, tide_ordered_pos p, uint64_t size)
{
	uint64_t most = 0;

	for (tide_ordered_pos e = p; e.leaf == p.leaf; e = tide__ordered_next(set, e)) {
		uint32_t i = run_at(s, tide__ordered_val(set, e));
		uint64_t room = room_from(s, i, size);

		if (room >= size)
			return i;
		most = room > most ? room : most;
	}
	*tide__ordered_leaf_bound(set, p) = most;
	return 0;
}

void tide__sim_room_grew(tide_sim *s, uint32_t i)
{
	uint32_t first = i;

	if (!s->blocks[i].range)
		return;
	while (idle(s, s->blocks[first].prev)) /* whose run it is now part of */
		first = s->blocks[first].prev;
	if (s->blocks[first].state != BLOCK_UNMAPPED)
		first = s->blocks[first].next;
	if (!first || s->blocks[first].state != BLOCK_UNMAPPED)
		return;
	tide_ordered *set = &s->bins[s->blocks[first].bin].unmapped;
	tide_ordered_pos p = tide__ordered_floor(set, s->blocks[first].addr);

	if (tide__ordered_ok(p))
		*tide__ordered_leaf_bound(set, p) = TIDE_ORDERED_UNBOUNDED;
}

/* Finds the lowest run of free and unmapped blocks that is large enough; creates a new range if
 * there is none. */
static uint32_t find_room(tide_sim *s, uint32_t b, uint64_t size)
{
	tide_ordered *set = &s->bins[b].unmapped;

	for (tide_ordered_pos p = tide__ordered_first(set); tide__ordered_ok(p);
	     p = tide__ordered_next_leaf(set, p)) {
		bool may = *tide__ordered_leaf_bound(set, p) >= size;
		uint32_t i = may ? search_leaf(s, set, p, size) : 0;

		if (i)
			return i;
	}
	if (range_size(s, page_of(s, b)) < size)
		return 0; /* another range would not help, and would not be removed */
	uint32_t r = tide__sim_new_range(s, b, 0);

	if (!r)
		return 0;
	uint32_t i = tide__sim_new_block(s, b, s->ranges[r - 1].addr, s->ranges[r - 1].size);

	if (!i)
		return 0;
	s->blocks[i].range = r;
	put_unmapped(s, i);
	return i;
}

/* Maps the first `size` bytes (up to whole pages) of an unmapped block, which becomes a free block.
 * */
static bool map_front(tide_sim *s, uint32_t i, uint64_t size)
{
	range *r = &s->ranges[s->blocks[i].range - 1];
	uint64_t bytes = (size + r->page - 1) / r->page * r->page, addr = s->blocks[i].addr;

	if (!s->d.map(s->d.user, tide__sim_where_of(s, s->blocks[i].bin), addr, bytes))
		return false;
	tide__ordered_del(&s->bins[s->blocks[i].bin].unmapped, addr);
	if (bytes < s->blocks[i].size) {
		uint32_t rest = tide__sim_new_block(s, s->blocks[i].bin, addr + bytes,
						    s->blocks[i].size - bytes);

		if (!rest)
			return false;
		s->blocks[rest].range = s->blocks[i].range;
		tide__sim_link(s, i, rest, s->blocks[i].next);
		put_unmapped(s, rest);
		s->blocks[i].size = bytes;
	}
	s->blocks[i].state = BLOCK_FREE;
	tide__sim_merge(s, i, s->blocks[i].prev);
	tide__sim_merge(s, i, s->blocks[i].next);
	tide__sim_put_free(s, i);
	s->st.segments += !r->mapped;
	r->mapped += bytes;
	tide__sim_count_reserved(s, bytes);
	return !s->failed;
}

uint32_t tide__sim_expand(tide_sim *s, uint32_t b, uint64_t size)
{
	uint32_t i = find_room(s, b, size);

	if (!i)
		return 0;
	if (s->blocks[i].state == BLOCK_UNMAPPED &&
	    !map_front(s, i, s->blocks[i].size < size ? s->blocks[i].size : size))
		return 0;
	while (s->blocks[i].size < size) {
		uint32_t next = s->blocks[i].next;
		uint64_t more = size - s->blocks[i].size;

		if (!map_front(s, next, s->blocks[next].size < more ? s->blocks[next].size : more))
			return 0;
		i = next;
	}
	tide__sim_take_free(s, i);
	return i;
}

/* Makes a separate free block from part of a block that is being unmapped. */
static void keep_part(tide_sim *s, uint32_t i, uint64_t addr, uint64_t size, bool before)
{
	uint32_t k = size ? tide__sim_new_block(s, s->blocks[i].bin, addr, size) : 0;

	if (!k)
		return;
	s->blocks[k].range = s->blocks[i].range;
	if (before)
		tide__sim_link(s, s->blocks[i].prev, k, i);
	else
		tide__sim_link(s, i, k, s->blocks[i].next);
	tide__sim_put_free(s, k);
}

static void unmap_block(tide_sim *s, uint32_t i)
{
	uint32_t ri = s->blocks[i].range - 1;
	range *r = &s->ranges[ri];
	uint64_t at = s->blocks[i].addr - r->addr, end = at + s->blocks[i].size;
	uint64_t from = (at + r->page - 1) / r->page * r->page, to = end / r->page * r->page;

	if (from >= to)
		return;
	tide__sim_take_free(s, i);
	keep_part(s, i, s->blocks[i].addr, from - at, true);
	keep_part(s, i, r->addr + to, end - to, false);
	if (s->failed)
		return;
	s->d.give(s->d.user, tide__sim_where_of(s, s->blocks[i].bin), r->addr + from, to - from);
	s->blocks[i].addr = r->addr + from;
	s->blocks[i].size = to - from;
	s->blocks[i].state = BLOCK_UNMAPPED;
	tide__sim_merge(s, i, s->blocks[i].prev);
	tide__sim_merge(s, i, s->blocks[i].next);
	put_unmapped(s, i);
	r->mapped -= to - from;
	s->st.reserved -= to - from;
	s->st.segments -= !r->mapped;
	s->st.n_seg_free++;
	if (!s->blocks[i].prev && !s->blocks[i].next) { /* the range is empty: drop it */
		tide__ordered_del(&s->bins[s->blocks[i].bin].unmapped, s->blocks[i].addr);
		tide__sim_drop_block(s, i);
	}
}

static size_t gather(const tide_sim *s, const bpool *p, uint32_t *out)
{
	size_t n = 0;

	for (uint32_t b = 0; b < p->n; b++) {
		const tide_ordered *set = &s->bins[p->bins[b]].free;

		for (tide_ordered_pos at = tide__ordered_first(set); tide__ordered_ok(at);
		     at = tide__ordered_next(set, at)) {
			uint32_t i = tide__ordered_val(set, at);

			if (s->blocks[i].range && out)
				out[n] = i;
			n += s->blocks[i].range != 0;
		}
	}
	return n;
}

void tide__sim_unmap_pool(tide_sim *s, bpool *p)
{
	size_t n = s->n_ranges ? gather(s, p, NULL) : 0;
	uint32_t *list = n ? tide__alloc(n, sizeof *list) : NULL;

	if (n && !list) {
		s->failed = true;
		return;
	}
	if (n)
		gather(s, p, list);
	for (size_t i = 0; i < n; i++)
		unmap_block(s, list[i]);
	tide__free(list);
}
