// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/torchsnap/replay/baseline.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/ordered.h"
#include "import/torchsnap/reader.h"

/* ---- blocks ---- */

/* Values of the map: final block i is 2 i + 1, the event at place i of the trace 2 i + 2. */
static uint32_t of_final(size_t i)
{
	return (uint32_t)i * 2 + 1;
}
static uint32_t of_event(size_t i)
{
	return (uint32_t)i * 2 + 2;
}

static bool final_blocks(const tide_snap *s, tide_snap_own own, tide_map *live)
{
	for (size_t i = 0; i < own.n; i++) {
		const tide_snap_segment *g = &s->segments.v[own.v[i]];
		for (uint32_t k = 0; k < g->n_blocks; k++) {
			size_t at = g->first_block + k;
			if (s->blocks.v[at].state &&
			    !tide__map_put(live, s->blocks.v[at].addr, of_final(at)))
				return false;
		}
	}
	return true;
}

static const tide_snap_event *event_at(const tide_snap *s, const tide_snap_trace *t, size_t i)
{
	return &s->events.v[tide__snap_event(t, i)];
}

/* Returns true if event i requests the free that event i + 1 completes. */
static bool asks_next(const tide_snap *s, const tide_snap_trace *t, size_t i)
{
	const tide_snap_event *e = event_at(s, t, i), *next;
	if (e->action != TIDE_SNAP_FREE_REQUESTED || i + 1 >= t->n)
		return false;
	next = event_at(s, t, i + 1);
	return next->action == TIDE_SNAP_FREE_COMPLETED && next->addr == e->addr;
}

/* Returns true if the free that event i completes was requested before the history began.
 * `asked` as below. */
static bool asked_before(const tide_snap *s, const tide_snap_trace *t, size_t i,
			 const tide_map *asked)
{
	return (!i || !asks_next(s, t, i - 1)) &&
	       tide__map_get(asked, event_at(s, t, i)->addr) != of_event(i);
}

/* `asked`: address -> allocation alive there when its free was requested, unless it was
 * completed at once. */
static bool undo_blocks(const tide_snap *s, const tide_snap_trace *t, tide_map *live,
			tide_baseline *b, tide_map *asked)
{
	bool asks = false, unasked = false;
	for (size_t i = t->n; i-- > 0;) {
		const tide_snap_event *e = event_at(s, t, i);
		if (e->action == TIDE_SNAP_FREE_COMPLETED) {
			if (!tide__map_put(live, e->addr, of_event(i)))
				return false;
		} else if (e->action == TIDE_SNAP_ALLOC) {
			uint32_t was = tide__map_del(live, e->addr);
			if (was & 1 &&
			    !tide__map_put(&b->known, (uint64_t)tide__snap_event(t, i) + 1,
					   was / 2 + 1))
				return false;
			if (was && !(was & 1) && !asks)
				unasked |= asked_before(s, t, was / 2 - 1, asked);
		} else if (e->action == TIDE_SNAP_FREE_REQUESTED) {
			asks = true;
			uint32_t is = asks_next(s, t, i) ? 0 : tide__map_get(live, e->addr);
			if (is && !tide__map_put(asked, e->addr, is))
				return false;
		}
	}
	b->never_asks = unasked && !asks;
	return true;
}

static int by_addr(const void *a, const void *b)
{
	const tide_base_block *x = a, *y = b;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

static bool old_blocks(const tide_snap *s, const tide_snap_trace *t, const tide_map *live,
		       const tide_map *asked, tide_baseline *b)
{
	for (size_t i = 0; live->vals && i <= live->mask; i++) {
		uint32_t v = live->vals[i];
		if (!v)
			continue;
		if (!TIDE_SNAP_ROOM(b->blocks))
			return false;
		tide_base_block o = { .addr = live->keys[i], .event = TIDE_BASE_NO_EVENT };
		if (v & 1) {
			o.final = v / 2 + 1;
			o.asked =
				s->blocks.v[v / 2].state == 2 && tide__map_get(asked, o.addr) != v;
		} else {
			o.event = tide__snap_event(t, v / 2 - 1);
			o.asked = !b->never_asks && asked_before(s, t, v / 2 - 1, asked);
		}
		b->blocks.v[b->blocks.n++] = o;
	}
	if (b->blocks.n)
		qsort(b->blocks.v, b->blocks.n, sizeof *b->blocks.v, by_addr);
	return true;
}

/* ---- segments ---- */

typedef struct ranges {
	tide_ordered index; /* address -> slot; ranges are disjoint */
	TIDE_SNAP_VEC(tide_base_segment) slots;
} ranges;

static tide_base_segment *holder(const ranges *r, uint64_t addr, tide_ordered_pos *p)
{
	*p = tide__ordered_floor(&r->index, addr);
	if (!tide__ordered_ok(*p))
		return NULL;
	tide_base_segment *g = &r->slots.v[tide__ordered_val(&r->index, *p)];
	return addr - g->addr < g->size ? g : NULL;
}

static bool put(ranges *r, tide_base_segment g)
{
	if (!TIDE_SNAP_ROOM(r->slots))
		return false;
	r->slots.v[r->slots.n] = g;
	return tide__ordered_put(&r->index, g.addr, (uint32_t)r->slots.n++);
}

/* Adds the part of the range that is not present yet: the source may repeat itself. */
static bool add(ranges *r, tide_base_segment g)
{
	tide_ordered_pos p;
	if (!g.size || holder(r, g.addr, &p))
		return true;
	p = tide__ordered_ceil(&r->index, g.addr);
	if (tide__ordered_ok(p) && tide__ordered_key(&r->index, p) - g.addr < g.size)
		g.size = tide__ordered_key(&r->index, p) - g.addr;
	return put(r, g);
}

/* Removes a range from the mapped ranges; partly covered ones keep their remainder. */
static bool subtract(ranges *r, uint64_t addr, uint64_t size)
{
	tide_ordered_pos p;
	tide_base_segment *g = holder(r, addr, &p);
	if (g && g->mapped && g->addr < addr) {
		tide_base_segment rest = *g;
		g->size = addr - g->addr;
		rest.size -= addr - rest.addr;
		rest.addr = addr;
		if (!put(r, rest))
			return false;
	}
	g = holder(r, addr + size, &p);
	if (g && g->mapped && g->addr < addr + size) {
		tide_base_segment rest = *g;
		g->size = addr + size - g->addr;
		rest.size -= addr + size - rest.addr;
		rest.addr = addr + size;
		if (!put(r, rest))
			return false;
	}
	p = tide__ordered_ceil(&r->index, addr);
	while (tide__ordered_ok(p) && tide__ordered_key(&r->index, p) - addr < size) {
		uint64_t key = tide__ordered_key(&r->index, p);
		if (r->slots.v[tide__ordered_val(&r->index, p)].mapped) {
			tide__ordered_del_at(&r->index, p);
			p = tide__ordered_ceil(&r->index, key);
		} else {
			p = tide__ordered_next(&r->index, p);
		}
	}
	return true;
}

static bool final_segments(const tide_snap *s, tide_snap_own own, ranges *r)
{
	for (size_t i = 0; i < own.n; i++) {
		const tide_snap_segment *g = &s->segments.v[own.v[i]];
		if (!add(r, (tide_base_segment){ g->addr, g->size, own.v[i] + 1, TIDE_BASE_NO_EVENT,
						 g->expandable }))
			return false;
	}
	return true;
}

/* Before the event, the segment that it took did not exist; a segment of the final state is
 * identified by its event. */
static bool untake(ranges *r, const tide_snap_event *e, uint32_t event, tide_map *stay)
{
	tide_ordered_pos p;
	const tide_base_segment *g = holder(r, e->addr, &p);
	if (!g || g->addr != e->addr || g->size != e->size)
		return true;
	uint32_t final = g->final;
	tide__ordered_del_at(&r->index, p);
	return !final || tide__map_put(stay, (uint64_t)event + 1, final);
}

static bool undo_segments(const tide_snap *s, const tide_snap_trace *t, ranges *r, tide_map *stay)
{
	for (size_t i = t->n; i-- > 0;) {
		const tide_snap_event *e = &s->events.v[tide__snap_event(t, i)];
		tide_base_segment back = { e->addr, e->size, 0, tide__snap_event(t, i), false };
		bool ok = true;
		switch (e->action) {
		case TIDE_SNAP_SEGMENT_ALLOC:
			ok = untake(r, e, back.event, stay);
			break;
		case TIDE_SNAP_SEGMENT_FREE:
			ok = add(r, back);
			break;
		case TIDE_SNAP_SEGMENT_MAP:
			ok = subtract(r, e->addr, e->size);
			break;
		case TIDE_SNAP_SEGMENT_UNMAP:
			back.mapped = true;
			ok = add(r, back);
			break;
		default:
			break;
		}
		if (!ok)
			return false;
	}
	return true;
}

static bool old_segments(const ranges *r, tide_baseline *b)
{
	for (tide_ordered_pos p = tide__ordered_ceil(&r->index, 0); tide__ordered_ok(p);
	     p = tide__ordered_next(&r->index, p)) {
		if (!TIDE_SNAP_ROOM(b->segments))
			return false;
		b->segments.v[b->segments.n++] = r->slots.v[tide__ordered_val(&r->index, p)];
	}
	return true;
}

bool tide__find_baseline(const tide_snap *s, const tide_snap_trace *t, tide_snap_own own,
			 bool segment_events, tide_baseline *b)
{
	tide_map live = { 0 }, asked = { 0 };
	ranges r = { 0 };
	bool ok = final_blocks(s, own, &live) && undo_blocks(s, t, &live, b, &asked) &&
		  old_blocks(s, t, &live, &asked, b) && final_segments(s, own, &r) &&
		  (!segment_events || undo_segments(s, t, &r, &b->stay)) && old_segments(&r, b);
	tide__map_free(&live);
	tide__map_free(&asked);
	tide__ordered_free(&r.index);
	tide__free(r.slots.v);
	return ok;
}

void tide__baseline_free(tide_baseline *b)
{
	tide__free(b->segments.v);
	tide__free(b->blocks.v);
	tide__map_free(&b->known);
	tide__map_free(&b->stay);
}
