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
	return tide__sim_is_small(s, b) ? TIDE_SIM_SMALL_SEG : TIDE_SIM_LARGE_SEG;
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
	if (!tide__ord_add(&s->bins[k->bin].unmapped, k->addr, 0, i))
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

/* Returns the begin of an unmapped block's run: the block itself or the free block before it. */
static uint32_t run_at(const tide_sim *s, uint32_t i)
{
	uint32_t before = s->blocks[i].prev;

	return idle(s, before) ? before : i;
}

/* Returns the first unmapped block of the chunk whose run is large enough; 0 = none, and the
 * largest is noted, so that the chunk is skipped until a block in it becomes idle. */
static uint32_t search_chunk(const tide_sim *s, tide_ord_chunk *c, uint64_t size)
{
	uint64_t most = 0;

	for (uint32_t k = 0; k < c->n; k++) {
		uint32_t i = run_at(s, c->e[k].value);
		uint64_t room = room_from(s, i, size);

		if (room >= size)
			return i;
		most = room > most ? room : most;
	}
	c->most = most;
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
	if (first && s->blocks[first].state == BLOCK_UNMAPPED)
		tide__ord_touch(&s->bins[s->blocks[first].bin].unmapped, s->blocks[first].addr, 0);
}

/* Finds the lowest run of free and unmapped blocks that is large enough; creates a new range if
 * there is none. */
static uint32_t find_room(tide_sim *s, uint32_t b, uint64_t size)
{
	const tide_ordset *set = &s->bins[b].unmapped;

	for (size_t k = 0; set->n && k < set->n_chunks; k++) {
		tide_ord_chunk *c = set->chunk[k];
		uint32_t i = c->most >= size ? search_chunk(s, c, size) : 0;

		if (i)
			return i;
	}
	if (range_size(s, page_of(s, b)) < size)
		return 0; /* one more range would be useless, and stay */
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
	tide__ord_del(&s->bins[s->blocks[i].bin].unmapped, addr, 0);
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
	if (!s->blocks[i].prev && !s->blocks[i].next) { /* the range is empty: give it up */
		tide__ord_del(&s->bins[s->blocks[i].bin].unmapped, s->blocks[i].addr, 0);
		tide__sim_drop_block(s, i);
	}
}

static size_t gather(const tide_sim *s, const bpool *p, uint32_t *out)
{
	size_t n = 0;

	for (uint32_t b = 0; b < p->n; b++) {
		const tide_ordset *set = &s->bins[p->bins[b]].free;
		tide_ord_pos at = tide__ord_first(set);

		for (const tide_ord *e; (e = tide__ord_at(set, at)); at = tide__ord_next(set, at)) {
			if (s->blocks[e->value].range && out)
				out[n] = e->value;
			n += s->blocks[e->value].range != 0;
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
