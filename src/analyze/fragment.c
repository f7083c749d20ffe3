// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Free blocks followed move by move. A free block of a plain segment never joins one of another
 * segment, though they may touch; stretches of an expandable segment (same pool, same stream) do
 * join. */
#include "analyze/fragment.h"

#include <string.h>

#include "analyze/sim/ordset.h"
#include "base/error.h"
#include "base/mem.h"

#define EXPANDABLE                                                                        \
	0x80000000u /* gap value: first segment row of its pool and stream with this bit; \
		     * else segment row */

struct sweep {
	const tide_model *m;
	uint32_t device;
	tide_ordset by_addr; /* (address, size) -> owner */
	tide_ordset by_size; /* (size, address) -> owner */
	uint64_t *used;	     /* per segment row: block bytes in use (plain ones) */
	uint32_t *owner;     /* per segment row: whose its free blocks are */
	uint32_t *home;	     /* per alloc: owner + 1; 0 = loose */
	uint8_t *asked;	     /* per alloc: its free was asked for */
	tide_fragment_point now;
	tide_reserved r;
	size_t step; /* steps of it taken so far */
	uint64_t loose;
	size_t kept; /* parts of a segment just dropped that the next moves take again */
	bool failed;
};

static void add_gap(struct sweep *s, uint64_t addr, uint64_t size, uint32_t owner)
{
	if (size && (!tide__ord_add(&s->by_addr, addr, size, owner) ||
		     !tide__ord_add(&s->by_size, size, addr, owner)))
		s->failed = true;
}

static void del_gap(struct sweep *s, uint64_t addr, uint64_t size)
{
	tide__ord_del(&s->by_addr, addr, size);
	tide__ord_del(&s->by_size, size, addr);
}

/* The free block around [addr, addr + size), NULL if there is none. */
static const tide_ord *gap_around(const struct sweep *s, uint64_t addr, uint64_t size)
{
	const tide_ord *g =
		tide__ord_before(&s->by_addr, tide__ord_lower(&s->by_addr, addr, UINT64_MAX));

	if (!g || size > g->minor || addr - g->major > g->minor - size)
		return NULL;
	return g;
}

/* A gap appears; it joins neighbours of the same owner. */
static void open_gap(struct sweep *s, uint64_t addr, uint64_t size, uint32_t owner)
{
	const tide_ord *g = tide__ord_before(&s->by_addr, tide__ord_lower(&s->by_addr, addr, 0));

	if (g && g->value == owner && g->major + g->minor == addr) {
		tide_ord was = *g;

		del_gap(s, was.major, was.minor);
		addr = was.major;
		size += was.minor;
	}
	g = tide__ord_at(&s->by_addr, tide__ord_lower(&s->by_addr, addr + size, 0));
	if (g && g->value == owner && g->major == addr + size) {
		tide_ord was = *g;

		del_gap(s, was.major, was.minor);
		size += was.minor;
	}
	add_gap(s, addr, size, owner);
}

/* Part of a gap is taken. */
static void close_gap(struct sweep *s, const tide_ord *g, uint64_t addr, uint64_t size)
{
	tide_ord was = *g;

	del_gap(s, was.major, was.minor);
	add_gap(s, was.major, addr - was.major, was.value);
	add_gap(s, addr + size, was.major + was.minor - addr - size, was.value);
}

/* ---- moves ------------------------------------------------------------------------------- */

static bool plain(uint32_t owner)
{
	return !(owner & EXPANDABLE);
}

/* Free bytes of a plain segment change their class when its first block is used or its last freed.
 */
static void use_plain(struct sweep *s, uint32_t segment, uint64_t before, uint64_t after)
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
	s->used[segment] = after;
}

static void take(struct sweep *s, uint32_t a)
{
	uint64_t addr = s->m->allocs.addr[a], size = s->m->allocs.size[a];
	const tide_ord *g = size ? gap_around(s, addr, size) : NULL;

	s->now.active += size;
	s->now.allocated += size;
	s->now.requested += s->m->allocs.requested[a];
	if (!g) {
		s->loose += size;
		return;
	}
	uint32_t owner = g->value;

	close_gap(s, g, addr, size);
	s->home[a] = owner + 1;
	if (plain(owner))
		use_plain(s, owner, s->used[owner], s->used[owner] + size);
	else
		s->now.expandable_free -= size;
}

static void ask(struct sweep *s, uint32_t a)
{
	if (!s->asked[a])
		s->now.allocated -= s->m->allocs.size[a];
	s->asked[a] = 1;
}

static void drop(struct sweep *s, uint32_t a)
{
	uint64_t addr = s->m->allocs.addr[a], size = s->m->allocs.size[a];

	ask(s, a);
	s->now.active -= size;
	s->now.requested -= s->m->allocs.requested[a];
	if (!s->home[a])
		return;
	uint32_t owner = s->home[a] - 1;

	open_gap(s, addr, size, owner);
	if (plain(owner))
		use_plain(s, owner, s->used[owner], s->used[owner] - size);
	else
		s->now.expandable_free += size;
}

static bool find_owners(struct sweep *s)
{
	const tide_segments *g = &s->m->segments;
	tide_map first = { 0 };
	bool ok = true;

	for (uint32_t row = 1; ok && row < g->n; row++) {
		uint64_t key = (uint64_t)g->pool[row].i << 32 | g->stream[row].i;

		s->owner[row] = row;
		if (g->kind[row] != TIDE_SEGMENT_EXPANDABLE)
			continue;
		if (!tide__map_get(&first, key))
			ok = tide__map_put(&first, key, row);
		s->owner[row] = EXPANDABLE | tide__map_get(&first, key);
	}
	tide__map_free(&first);
	return ok;
}

static bool is_part(const tide_model *m, size_t i, uint64_t addr, uint64_t end)
{
	uint32_t row = m->moves.row[i];

	return m->moves.kind[i] == TIDE_MOVE_SEG_ALLOC &&
	       m->segments.flags[row] & TIDE_SEGMENT_PART && m->segments.addr[row] >= addr &&
	       m->segments.addr[row] + m->segments.size[row] <= end;
}

static void take_segment(struct sweep *s, uint32_t row)
{
	uint64_t size = s->m->segments.size[row];

	if (s->kept) { /* a part that stayed: it was never given back */
		s->kept--;
		return;
	}
	s->now.reserved += size;
	if (plain(s->owner[row]))
		s->now.cached += size;
	else
		s->now.expandable_free += size;
	open_gap(s, s->m->segments.addr[row], size, s->owner[row]);
}

/* What goes with move i: the segment less the parts of it that the next moves take again. */
static void drop_segment(struct sweep *s, uint32_t row, size_t i)
{
	const tide_model *m = s->m;
	uint64_t addr = m->segments.addr[row], end = addr + m->segments.size[row];

	for (i++; i < m->moves.n && is_part(m, i, addr, end); i++) {
		uint32_t part = m->moves.row[i];

		if (m->segments.addr[part] == addr)
			addr += m->segments.size[part];
		else
			end = m->segments.addr[part];
		s->kept++;
	}
	const tide_ord *g = end > addr ? gap_around(s, addr, end - addr) : NULL;

	s->now.reserved -= end - addr;
	if (!plain(s->owner[row]))
		s->now.expandable_free -= end - addr;
	else if (s->used[row])
		s->now.inactive_split -= end - addr - s->used[row];
	else
		s->now.cached -= end - addr;
	if (g)
		close_gap(s, g, addr, end - addr);
}

static void apply(struct sweep *s, size_t i)
{
	const tide_model *m = s->m;
	uint32_t row = m->moves.row[i], kind = m->moves.kind[i];

	if (kind == TIDE_MOVE_FREE_ASKED)
		row = m->pendings.alloc[row].i;
	uint32_t pool =
		kind >= TIDE_MOVE_SEG_ALLOC ? m->segments.pool[row].i : m->allocs.pool[row].i;

	if (s->device != TIDE_ANY && m->pools.device[pool].i != s->device)
		return;
	if (kind == TIDE_MOVE_ALLOC)
		take(s, row);
	else if (kind == TIDE_MOVE_FREE)
		drop(s, row);
	else if (kind == TIDE_MOVE_FREE_ASKED)
		ask(s, row);
	else if (kind == TIDE_MOVE_SEG_ALLOC)
		take_segment(s, row);
	else
		drop_segment(s, row, i);
}

/* ---- samples ----------------------------------------------------------------------------- */

/* Reserved bytes of a device without segments: as sampled until t. */
static void sampled_to(struct sweep *s, int64_t t)
{
	if (s->device == TIDE_ANY || s->r.devices[s->device] != TIDE_RESERVED_SAMPLES)
		return;
	for (; s->step < s->r.n && s->r.steps[s->step].t <= t; s->step++)
		if (s->r.steps[s->step].device == s->device)
			s->now.reserved = s->r.steps[s->step].bytes;
}

/* ---- points ------------------------------------------------------------------------------ */

static void note(struct sweep *s, tide_fragments *out, uint64_t cut, int64_t t)
{
	const tide_ord *l = tide__ord_last(&s->by_size);

	s->now.cut = cut;
	s->now.t = t;
	s->now.largest_free = l ? l->major : 0;
	if (s->now.reserved != TIDE_RESERVED_NONE && s->now.reserved > s->now.active &&
	    s->now.reserved - s->now.active > out->worst.reserved - out->worst.active)
		out->worst = s->now;
}

static int64_t end_of_stretch(int64_t t_end, size_t i, size_t points)
{
	return (int64_t)((double)t_end * (double)(i + 1) / (double)points);
}

static void sweep_all(struct sweep *s, tide_fragments *out, size_t points)
{
	const tide_model *m = s->m;
	size_t next = 0;

	for (size_t i = 0; i < m->moves.n && !s->failed; i++) {
		int64_t t = tide__move_time(m, i);

		while (next + 1 < points && t > end_of_stretch(m->t_end, next, points)) {
			sampled_to(s, end_of_stretch(m->t_end, next, points));
			out->p[next] = s->now;
			out->p[next].t = end_of_stretch(m->t_end, next, points);
			next++;
		}
		sampled_to(s, t);
		apply(s, i);
		note(s, out, i + 1, t);
	}
	for (; next < points; next++) {
		int64_t t = next + 1 == points ? m->t_end : end_of_stretch(m->t_end, next, points);
		sampled_to(s, t);
		out->p[next] = s->now;
		out->p[next].t = t;
	}
	out->n = points;
}

/* Move at which stretch i of `points` ends: without overflow, the last one at the end. */
static size_t last_move(size_t moves, size_t i, size_t points)
{
	return moves / points * (i + 1) + moves % points * (i + 1) / points;
}

/* Never between a segment's going and the parts of it that stay: that is one act. */
static void sweep_by_moves(struct sweep *s, tide_fragments *out, size_t points)
{
	const tide_model *m = s->m;

	for (size_t i = 0; i < m->moves.n && !s->failed; i++) {
		sampled_to(s, tide__move_time(m, i));
		apply(s, i);
		note(s, out, i + 1, tide__move_time(m, i));
		if (i + 1 >= last_move(m->moves.n, out->n, points) && !s->kept)
			out->p[out->n++] = s->now;
	}
}

typedef void sweeper(struct sweep *s, tide_fragments *out, size_t points);

static tide_code fragments(const tide_model *m, uint32_t device, size_t points, sweeper *go,
			   tide_fragments *out, tide_error *err)
{
	struct sweep s = { .m = m, .device = device };

	memset(out, 0, sizeof *out);
	if (!points)
		points = 1;
	s.used = tide__calloc(m->segments.n + 1, sizeof *s.used);
	s.owner = tide__calloc(m->segments.n + 1, sizeof *s.owner);
	s.home = tide__calloc(m->allocs.n + 1, sizeof *s.home);
	s.asked = tide__calloc(m->allocs.n + 1, 1);
	out->p = tide__calloc(points, sizeof *out->p);
	s.failed = !s.used || !s.owner || !find_owners(&s) || !s.home || !s.asked || !out->p ||
		   tide__reserved(m, &s.r, NULL) != TIDE_OK;
	for (size_t d = 0; !s.failed && d < m->devices.n; d++)
		if (s.r.devices[d] == TIDE_RESERVED_SEGMENTS && (device == TIDE_ANY || d == device))
			out->source = TIDE_RESERVED_SEGMENTS;
	if (!s.failed && device != TIDE_ANY && s.r.devices[device] == TIDE_RESERVED_SAMPLES) {
		out->source = TIDE_RESERVED_SAMPLES;
		s.now.reserved = TIDE_RESERVED_NONE;
	}
	out->known = out->source == TIDE_RESERVED_SEGMENTS;
	if (!s.failed)
		go(&s, out, points);
	out->loose = s.loose;
	tide__reserved_free(&s.r);
	tide__free(s.used);
	tide__free(s.owner);
	tide__free(s.home);
	tide__free(s.asked);
	tide__ord_free(&s.by_addr);
	tide__ord_free(&s.by_size);
	if (s.failed)
		tide__fragments_free(out);
	return s.failed ? tide__nomem(err) : TIDE_OK;
}

tide_code tide__fragments(const tide_model *m, uint32_t device, size_t points, tide_fragments *out,
			  tide_error *err)
{
	return fragments(m, device, points, sweep_all, out, err);
}

tide_code tide__fragments_by_moves(const tide_model *m, uint32_t device, size_t points,
				   tide_fragments *out, tide_error *err)
{
	size_t most = points < m->moves.n ? points : m->moves.n;

	return fragments(m, device, most, sweep_by_moves, out, err);
}

void tide__fragments_free(tide_fragments *f)
{
	tide__free(f->p);
	memset(f, 0, sizeof *f);
}
