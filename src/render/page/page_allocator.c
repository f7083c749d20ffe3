// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The allocator section: addresses of allocations and segments, so that the page can draw the state
 * at any moment as docs/analyses/allocator.md defines it, and that state over time.
 *
 * Addresses are offsets from the lowest segment of their device: small, and exact as doubles even
 * if addresses are not. Only traces with segments have them; others have an empty section. Separate
 * from the memory section because most views of a page never need it. */
#include <inttypes.h>
#include <string.h>

#include "analyze/allocator/fragmentation.h"
#include "base/mem.h"
#include "render/page/page_parts.h"

enum { POINTS = 1024, MOST_DEVICES = 64 };
#define FAR (INT64_C(1) << 52) /* larger offsets are not distinguished */

struct geometry {
	const tide_model *m;
	tide_box *b;
	const uint8_t *drop; /* borrowed; may be NULL: as in the memory section */
	uint64_t *base;	     /* device -> lowest address of its segments, UINT64_MAX = none */
	bool *known;	     /* device -> its segments are all within FAR of the base */
	uint32_t *place;     /* alloc, segment -> its number + 1, in order of memory events */
	uint32_t *seg_place;
	uint32_t n, n_segs; /* numbered so far */
	uint64_t position;  /* memory events of the memory section so far */
	int addr, seg_t, seg_position, seg_back, seg_addr, seg_size, seg_pool, seg_kind, seg_stream;
	int hold_t, hold_position, hold_row;
	int frag[9];
};

static const char *const frag_names[] = { "frag_t",	    "frag_reserved",   "frag_active",
					  "frag_allocated", "frag_requested",  "frag_cached",
					  "frag_split",	    "frag_expandable", "frag_largest" };

static uint32_t device_of(const struct geometry *x, tide_pool_id pool)
{
	return x->m->pools.device[pool.i].i;
}

static void find_bases(struct geometry *x)
{
	const tide_segments *s = &x->m->segments;
	for (size_t d = 0; d < x->m->devices.n; d++)
		x->base[d] = UINT64_MAX;
	for (size_t i = 1; i < s->n; i++) {
		uint64_t *base = &x->base[device_of(x, s->pool[i])];
		x->known[device_of(x, s->pool[i])] = true;
		if (s->addr[i] < *base)
			*base = s->addr[i];
	}
	for (size_t i = 1; i < s->n; i++) {
		uint32_t d = device_of(x, s->pool[i]);
		uint64_t off = s->addr[i] - x->base[d];
		if (off >= FAR || s->size[i] >= FAR)
			x->known[d] = false;
	}
}

/* Returns an allocation's offset; outside every segment, a number that is outside too. */
static int64_t offset(const struct geometry *x, uint32_t device, uint64_t addr)
{
	if (!x->known[device])
		return 0;
	if (addr < x->base[device])
		return -1;
	return addr - x->base[device] > 2 * FAR ? 2 * FAR : (int64_t)(addr - x->base[device]);
}

/* ---- memory events ---- */

static void put_segment(struct geometry *x, uint32_t row, int64_t t, bool taken)
{
	const tide_segments *s = &x->m->segments;
	tide__box_put(x->b, x->seg_t, t);
	tide__box_put(x->b, x->seg_position, (int64_t)x->position);
	tide__box_put(x->b, x->seg_back, taken ? 0 : (int64_t)x->n_segs + 1 - x->seg_place[row]);
	if (!taken)
		return;
	tide__box_put(x->b, x->seg_addr, offset(x, device_of(x, s->pool[row]), s->addr[row]));
	tide__box_put(x->b, x->seg_size, s->size[row] < FAR ? (int64_t)s->size[row] : 0);
	tide__box_put(x->b, x->seg_pool, s->pool[row].i);
	tide__box_put(x->b, x->seg_kind, s->kind[row]);
	tide__box_put(x->b, x->seg_stream, x->m->lanes.number[s->stream[row].i]);
	x->seg_place[row] = ++x->n_segs;
}

/* Handles a block that its program freed while a stream used it: it is free only now. */
static void put_hold(struct geometry *x, uint32_t row, int64_t t)
{
	tide__box_put(x->b, x->hold_t, t);
	tide__box_put(x->b, x->hold_position, (int64_t)x->position);
	tide__box_put(x->b, x->hold_row, x->place[row] - 1);
}

/* Returns the allocation of a memory event; 0 = none. */
static uint32_t alloc_of(const tide_model *m, size_t i)
{
	uint8_t kind = m->memory_events.kind[i];
	bool direct = kind == TIDE_MEMORY_ALLOC || kind == TIDE_MEMORY_FREE;
	return direct ? m->memory_events.row[i] : tide__memory_event_ends(m, i);
}

static void put_events(struct geometry *x)
{
	const tide_memory_events *v = &x->m->memory_events;
	const tide_allocs *a = &x->m->allocs;
	for (size_t i = 0; i < v->n; i++) {
		uint32_t row = v->row[i];
		int64_t t = tide__memory_event_time(x->m, i);
		if (v->kind[i] == TIDE_MEMORY_SEG_ALLOC || v->kind[i] == TIDE_MEMORY_SEG_FREE) {
			put_segment(x, row, t, v->kind[i] == TIDE_MEMORY_SEG_ALLOC);
		} else if (x->drop && x->drop[alloc_of(x->m, i)]) {
			continue;
		} else if (v->kind[i] == TIDE_MEMORY_ALLOC) {
			tide__box_put(x->b, x->addr,
				      offset(x, device_of(x, a->pool[row]), a->addr[row]));
			x->place[row] = ++x->n;
			x->position++;
		} else if (tide__memory_event_ends(x->m, i)) {
			x->position++;
		} else if (v->kind[i] == TIDE_MEMORY_FREE) {
			put_hold(x, row, t);
		}
	}
}

/* ---- over time ---- */

static void put_point(struct geometry *x, const tide_fragmentation_point *p)
{
	enum { FREE = 5 }; /* free blocks from there on */
	const uint64_t v[] = { (uint64_t)p->t,	  p->reserved,	      p->active,
			       p->allocated,	  p->requested,	      p->cached,
			       p->inactive_split, p->expandable_free, p->largest_free };
	for (size_t i = 0; i < sizeof v / sizeof *v; i++)
		tide__box_put(x->b, x->frag[i], i >= FREE && p->odd ? 0 : (int64_t)v[i]);
}

/* Writes the points of one device; the first is the one with most unused bytes. "odd": the first
 * later point after the recording contradicted itself; free blocks are unknown from there on. */
static bool over_time(struct geometry *x, uint32_t device, tide_error *err)
{
	tide_json *j = tide__box_json(x->b);
	tide_fragmentation f = { 0 };
	bool ok = tide__fragmentation_find_by_events(x->m, device, POINTS, &f, err) == TIDE_OK;
	tide__json_object(j);
	tide__json_kuint(j, "device", device);
	tide__json_kuint(j, "points", f.n);
	tide__json_kuint(j, "events", x->m->memory_events.n);
	tide__json_kuint(j, "loose", f.loose);
	size_t odd = 0;
	while (odd < f.n && !f.p[odd].odd)
		odd++;
	tide__json_kmaybe(j, "odd", odd < f.n ? odd : UINT64_MAX);
	tide__json_kbool(j, "worst_odd", f.worst.odd);
	tide__json_object_end(j);
	if (ok)
		put_point(x, &f.worst);
	for (size_t i = 0; i < f.n; i++)
		put_point(x, &f.p[i]);
	tide__fragmentation_free(&f);
	return ok;
}

static bool all_over_time(struct geometry *x, tide_error *err)
{
	tide_json *j = tide__box_json(x->b);
	bool ok = true;
	tide__json_karray(j, "over");
	for (uint32_t d = 1, n = 0; ok && d < x->m->devices.n && n < MOST_DEVICES; d++)
		if (x->base[d] != UINT64_MAX) {
			ok = over_time(x, d, err);
			n++;
		}
	tide__json_array_end(j);
	return ok;
}

/* ---- the section ---- */

static bool setup(struct geometry *x)
{
	const struct {
		int *at;
		const char *name;
		tide_col_enc enc;
	} cols[] = {
		{ &x->addr, "addr", TIDE_COL_DELTA },
		{ &x->seg_t, "seg_t", TIDE_COL_DELTA },
		{ &x->seg_position, "seg_position", TIDE_COL_DELTA },
		{ &x->seg_back, "seg_back", TIDE_COL_UINT },
		{ &x->seg_addr, "seg_addr", TIDE_COL_DELTA },
		{ &x->seg_size, "seg_size", TIDE_COL_UINT },
		{ &x->seg_pool, "seg_pool", TIDE_COL_UINT },
		{ &x->seg_kind, "seg_kind", TIDE_COL_BYTE },
		{ &x->seg_stream, "seg_stream", TIDE_COL_INT },
		{ &x->hold_t, "hold_t", TIDE_COL_DELTA },
		{ &x->hold_position, "hold_position", TIDE_COL_DELTA },
		{ &x->hold_row, "hold_row", TIDE_COL_DELTA },
	};
	for (size_t i = 0; i < sizeof cols / sizeof *cols; i++)
		*cols[i].at = tide__box_add_column(x->b, cols[i].name, cols[i].enc);
	for (size_t i = 0; i < sizeof frag_names / sizeof *frag_names; i++)
		x->frag[i] = tide__box_add_column(x->b, frag_names[i], TIDE_COL_DELTA);
	x->base = tide__calloc(x->m->devices.n, sizeof *x->base);
	x->known = tide__calloc(x->m->devices.n, sizeof *x->known);
	x->place = tide__calloc(x->m->allocs.n, sizeof *x->place);
	x->seg_place = tide__calloc(x->m->segments.n, sizeof *x->seg_place);
	return x->base && x->known && x->place && x->seg_place;
}

static void bases_json(const struct geometry *x, tide_json *j)
{
	char hex[32];
	tide__json_karray(j, "bases");
	for (size_t d = 0; d < x->m->devices.n; d++) {
		snprintf(hex, sizeof hex, "0x%" PRIx64, x->base[d]);
		x->known[d] ? tide__json_str(j, hex) : tide__json_null(j);
	}
	tide__json_array_end(j);
	tide__json_karray(j, "kinds");
	for (unsigned k = 0; k <= TIDE_SEGMENT_HOST; k++)
		tide__json_str(j, tide__segment_kind_text(k));
	tide__json_array_end(j);
}

bool tide__page_write_allocator(tide_box *b, const tide_model *m, const tide_page_options *opt,
				tide_error *err)
{
	struct geometry x = { .m = m,
			      .b = b,
			      .drop = opt->downsampled ? opt->downsampled->drop : NULL };
	if (m->segments.n <= 1)
		return true;
	bool ok = setup(&x);
	if (ok) {
		tide_json *j = tide__box_json(b);
		find_bases(&x);
		put_events(&x);
		tide__json_object(j);
		bases_json(&x, j);
		ok = all_over_time(&x, err);
		tide__json_object_end(j);
	}
	tide__free(x.base);
	tide__free(x.known);
	tide__free(x.place);
	tide__free(x.seg_place);
	return ok;
}
