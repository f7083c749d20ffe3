// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Tracks free blocks event by event. A free block of a plain segment never merges with one of
 * another segment, even if adjacent; parts of an expandable segment (same pool, same stream) do
 * merge. */
#include "analyze/allocator/free_blocks.h"

#include "base/map.h"
#include "base/mem.h"

#define EXPANDABLE \
	0x80000000u /* gap value: first segment row of its pool and stream with this bit; \
		     * else segment row */

static void add_gap(tide_free_blocks *s, uint64_t addr, uint64_t size, uint32_t owner)
{
	if (size && (!tide__ordered_put2(&s->by_addr, addr, size, owner) ||
		     !tide__ordered_put2(&s->by_size, size, addr, owner)))
		s->failed = true;
}

static void del_gap(tide_free_blocks *s, uint64_t addr, uint64_t size)
{
	tide__ordered_del2(&s->by_addr, addr, size);
	tide__ordered_del2(&s->by_size, size, addr);
}

typedef struct gap {
	uint64_t addr, size; /* size 0 = no gap */
	uint32_t owner;
} gap;

static gap gap_at(const tide_free_blocks *s, tide_ordered_pos p)
{
	const tide_ordered *o = &s->by_addr;

	if (!tide__ordered_ok(p))
		return (gap){ 0 };
	return (gap){ tide__ordered_key(o, p), tide__ordered_minor(o, p), tide__ordered_val(o, p) };
}

/* Returns the free block around [addr, addr + size), which is not empty. */
static gap gap_around(const tide_free_blocks *s, uint64_t addr, uint64_t size)
{
	gap g = gap_at(s, tide__ordered_floor2(&s->by_addr, addr, UINT64_MAX));

	if (size > g.size || addr - g.addr > g.size - size)
		return (gap){ 0 };
	return g;
}

/* Adds a gap and merges it with neighbours of the same owner. */
static void open_gap(tide_free_blocks *s, uint64_t addr, uint64_t size, uint32_t owner)
{
	gap g = addr ? gap_at(s, tide__ordered_floor2(&s->by_addr, addr - 1, UINT64_MAX))
		     : (gap){ 0 };

	if (g.size && g.owner == owner && g.addr + g.size == addr) {
		del_gap(s, g.addr, g.size);
		addr = g.addr;
		size += g.size;
	}
	g = gap_at(s, tide__ordered_ceil2(&s->by_addr, addr + size, 0));
	if (g.size && g.owner == owner && g.addr == addr + size) {
		del_gap(s, g.addr, g.size);
		size += g.size;
	}
	add_gap(s, addr, size, owner);
}

/* Removes a part of a gap. */
static void close_gap(tide_free_blocks *s, gap g, uint64_t addr, uint64_t size)
{
	del_gap(s, g.addr, g.size);
	add_gap(s, g.addr, addr - g.addr, g.owner);
	add_gap(s, addr + size, g.addr + g.size - addr - size, g.owner);
}

/* ---- memory events ----------------------------------------------------------------------- */

static bool plain(uint32_t owner)
{
	return !(owner & EXPANDABLE);
}

/* Moves the free bytes of a plain segment to another class when its first block is used or its last
 * one freed.
 */
static void use_plain(tide_free_blocks *s, uint32_t segment, uint64_t before, uint64_t after)
{
	uint64_t size = s->m->segments.size[segment];

	if (before)
		s->now.inactive_split -= size - before;
	else
		s->now.cached -= size;
	if (after)
		s->now.inactive_split += size - after;
	else
		s->now.cached += size;
	s->rows->used[segment] = after;
}

/* Adds a range to a set whose ranges must not overlap. */
static void hold(tide_free_blocks *s, tide_ordered *set, uint64_t addr, uint64_t size)
{
	if (s->odd)
		return;
	if (!size || size > UINT64_MAX - addr || tide__ordered_overlaps(&s->segments, addr, size) ||
	    tide__ordered_overlaps(&s->loose, addr, size))
		s->odd = true;
	else if (!tide__ordered_put2(set, addr, size, 1))
		s->failed = true;
}

static void take(tide_free_blocks *s, uint32_t a)
{
	uint64_t addr = s->m->allocs.addr[a], size = s->m->allocs.size[a];
	gap g = size ? gap_around(s, addr, size) : (gap){ 0 };

	s->now.active += size;
	s->now.allocated += size;
	s->now.requested += s->m->allocs.requested[a];
	if (!g.size) {
		s->n_loose += size;
		if (size && s->has) /* it may be outside all segments */
			hold(s, &s->loose, addr, size);
		return;
	}
	uint32_t owner = g.owner;

	close_gap(s, g, addr, size);
	s->rows->home[a] = owner + 1;
	if (plain(owner))
		use_plain(s, owner, s->rows->used[owner], s->rows->used[owner] + size);
	else
		s->now.expandable_free -= size;
}

static void ask(tide_free_blocks *s, uint32_t a)
{
	if (!s->rows->asked[a])
		s->now.allocated -= s->m->allocs.size[a];
	s->rows->asked[a] = 1;
}

static void drop(tide_free_blocks *s, uint32_t a)
{
	uint64_t addr = s->m->allocs.addr[a], size = s->m->allocs.size[a];

	ask(s, a);
	s->now.active -= size;
	s->now.requested -= s->m->allocs.requested[a];
	if (!s->rows->home[a]) {
		tide__ordered_del2(&s->loose, addr, size);
		return;
	}
	uint32_t owner = s->rows->home[a] - 1;

	open_gap(s, addr, size, owner);
	if (plain(owner))
		use_plain(s, owner, s->rows->used[owner], s->rows->used[owner] - size);
	else
		s->now.expandable_free += size;
}

static bool is_part(const tide_model *m, size_t i, uint64_t addr, uint64_t end)
{
	uint32_t row = m->memory_events.row[i];

	return m->memory_events.kind[i] == TIDE_MEMORY_SEG_ALLOC &&
	       m->segments.flags[row] & TIDE_SEGMENT_PART && m->segments.addr[row] >= addr &&
	       m->segments.addr[row] + m->segments.size[row] <= end;
}

static void take_segment(tide_free_blocks *s, uint32_t row)
{
	uint64_t size = s->m->segments.size[row];

	hold(s, &s->segments, s->m->segments.addr[row], size);
	if (s->kept) { /* a part that stayed: it was never released */
		s->kept--;
		return;
	}
	s->now.reserved += size;
	if (plain(s->rows->owner[row]))
		s->now.cached += size;
	else
		s->now.expandable_free += size;
	open_gap(s, s->m->segments.addr[row], size, s->rows->owner[row]);
}

/* Removes the segment with event i, except the parts that the next events take again. */
static void drop_segment(tide_free_blocks *s, uint32_t row, size_t i)
{
	const tide_model *m = s->m;
	uint64_t addr = m->segments.addr[row], end = addr + m->segments.size[row];

	tide__ordered_del2(&s->segments, addr, end - addr);
	for (i++; i < m->memory_events.n && is_part(m, i, addr, end); i++) {
		uint32_t part = m->memory_events.row[i];

		if (m->segments.addr[part] == addr)
			addr += m->segments.size[part];
		else
			end = m->segments.addr[part];
		s->kept++;
	}
	gap g = end > addr ? gap_around(s, addr, end - addr) : (gap){ 0 };

	if ((end > addr && !g.size) || (s->kept && plain(s->rows->owner[row])))
		s->odd = true; /* the segment is in use, or only part of it is released */
	s->now.reserved -= end - addr;
	if (!plain(s->rows->owner[row]))
		s->now.expandable_free -= end - addr;
	else if (s->rows->used[row])
		s->now.inactive_split -= end - addr - s->rows->used[row];
	else
		s->now.cached -= end - addr;
	if (g.size)
		close_gap(s, g, addr, end - addr);
}

uint32_t tide__free_blocks_device(const tide_model *m, size_t i)
{
	uint32_t row = m->memory_events.row[i], kind = m->memory_events.kind[i];

	if (kind == TIDE_MEMORY_FREE_ASKED)
		row = m->pendings.alloc[row].i;
	return m->pools
		.device[kind >= TIDE_MEMORY_SEG_ALLOC ? m->segments.pool[row].i
						      : m->allocs.pool[row].i]
		.i;
}

void tide__free_blocks_apply(tide_free_blocks *s, size_t i)
{
	uint32_t row = s->m->memory_events.row[i];

	switch (s->m->memory_events.kind[i]) {
	case TIDE_MEMORY_ALLOC:
		take(s, row);
		break;
	case TIDE_MEMORY_FREE:
		drop(s, row);
		break;
	case TIDE_MEMORY_FREE_ASKED:
		ask(s, s->m->pendings.alloc[row].i);
		break;
	case TIDE_MEMORY_SEG_ALLOC:
		take_segment(s, row);
		break;
	default:
		drop_segment(s, row, i);
	}
	s->now.odd = s->odd;
}

uint64_t tide__free_blocks_largest(const tide_free_blocks *s)
{
	tide_ordered_pos p = tide__ordered_last(&s->by_size);

	return tide__ordered_ok(p) ? tide__ordered_key(&s->by_size, p) : 0;
}

void tide__free_blocks_free(tide_free_blocks *s)
{
	tide__ordered_free(&s->by_addr);
	tide__ordered_free(&s->by_size);
	tide__ordered_free(&s->segments);
	tide__ordered_free(&s->loose);
}

/* ---- rows -------------------------------------------------------------------------------- */

static bool find_owners(tide_gap_rows *r, const tide_model *m)
{
	const tide_segments *g = &m->segments;
	tide_map first = { 0 };
	bool ok = true;

	for (uint32_t row = 1; ok && row < g->n; row++) {
		uint64_t key = (uint64_t)g->pool[row].i << 32 | g->stream[row].i;

		r->has[m->pools.device[g->pool[row].i].i] = 1;
		r->owner[row] = row;
		if (g->kind[row] != TIDE_SEGMENT_EXPANDABLE)
			continue;
		if (!tide__map_get(&first, key))
			ok = tide__map_put(&first, key, row);
		r->owner[row] = EXPANDABLE | tide__map_get(&first, key);
	}
	tide__map_free(&first);
	return ok;
}

bool tide__gap_rows_init(tide_gap_rows *r, const tide_model *m)
{
	r->used = tide__calloc(m->segments.n + 1, sizeof *r->used);
	r->owner = tide__calloc(m->segments.n + 1, sizeof *r->owner);
	r->home = tide__calloc(m->allocs.n + 1, sizeof *r->home);
	r->asked = tide__calloc(m->allocs.n + 1, 1);
	r->has = tide__calloc(m->devices.n + 1, 1);
	return r->used && r->owner && r->home && r->asked && r->has && find_owners(r, m);
}

void tide__gap_rows_free(tide_gap_rows *r)
{
	tide__free(r->used);
	tide__free(r->owner);
	tide__free(r->home);
	tide__free(r->asked);
	tide__free(r->has);
	*r = (tide_gap_rows){ 0 };
}
