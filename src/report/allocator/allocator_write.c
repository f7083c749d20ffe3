// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/allocator/allocator_write.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/advice/time_advice.h"
#include "base/mem.h"
#include "render/text/chart.h"
#include "render/text/format.h"
#include "render/text/labels.h"

enum { CHART_INDENT = 2, MAP_WIDTH = 40, MAP_LEFT = 56 /* columns beside the map */ };

size_t tide__allocator_chart_buckets(const tide_style *style)
{
	int room = (style->width ? style->width : 80) - TIDE_CHART_MARGIN - CHART_INDENT - 1;
	return room < 10 ? 10 : room > 120 ? 120 : (size_t)room;
}

static void put_line(const tide_out *to, const char *name, uint64_t bytes, const char *more)
{
	char b[32];

	fprintf(to->out, "  %-24s %12s  %s\n", name, tide__fmt_bytes(b, sizeof b, (double)bytes),
		more);
}

/* Prints the figures that need no segments. */
static void print_sampled(const tide_out *to, const tide_allocator *x)
{
	bool known = x->reserved != TIDE_RESERVED_NONE;

	if (known)
		put_line(to, "reserved", x->reserved, "sampled");
	put_line(to, "in use", x->state.total.active, "");
	if (known)
		put_line(to, "free", tide__allocator_unused(x), "reserved - in use");
	if (!known && x->m->devices.kind[x->device] == TIDE_DEVICE_HOST)
		fputs("  the host heap has no segments: nothing is reserved\n", to->out);
	else
		fprintf(to->out, "  the trace has no segments: %s\n",
			known ? "the free blocks are unknown"
			      : "reserved and free bytes are unknown");
}

static void print_totals(const tide_out *to, const tide_allocator *x)
{
	const tide_state_totals *t = &x->state.total;
	char text[160], b[32], n[32];

	snprintf(text, sizeof text, "%s blocks; %s requested",
		 tide__fmt_count(n, sizeof n, (int64_t)(t->n_blocks - t->n_free)),
		 tide__fmt_bytes(b, sizeof b, (double)t->requested));
	if (!x->state.known) {
		print_sampled(to, x);
		return;
	}
	char held[64];

	snprintf(held, sizeof held, "%s segments",
		 tide__fmt_count(n, sizeof n, (int64_t)t->n_segments));
	put_line(to, "reserved", t->reserved, held);
	put_line(to, "in use (active)", t->active, text);
	put_line(to, "  lost to rounding", t->waste, "in use - requested");
	if (t->active != t->allocated)
		put_line(to, "  free asked for", t->active - t->allocated,
			 "a stream still uses it");
	snprintf(text, sizeof text, "%s blocks, the largest %s",
		 tide__fmt_count(n, sizeof n, (int64_t)t->n_free),
		 tide__fmt_bytes(b, sizeof b, (double)t->largest_free));
	put_line(to, "free", t->free, text);
	put_line(to, "  whole segments", t->cached, "can be released to the device");
	put_line(to, "  inactive split", t->inactive_split,
		 "in segments partly in use: cannot "
		 "be released");
	if (t->expandable_free)
		put_line(to, "  expandable", t->expandable_free, "whole pages can be released");
	if (t->loose)
		put_line(to, "in no known segment", t->loose, "");
	fprintf(to->out, "  %-24s %12.3f  1 - largest / free\n", "fragmentation index",
		tide__fragmentation_ratio(t));
}

static void print_chart(const tide_out *to, const tide_allocator *x)
{
	const tide_usage *u = &x->usage;
	size_t at = x->device * u->buckets;
	char b[32], t[32];
	tide_chart c = {
		u->live_series + at, u->reserved_series + at, u->buckets, 8, 0, x->m->t_end
	};

	fputs("\n", to->out);
	tide__chart_print(&c, to->out, &to->style, CHART_INDENT);
	if (x->over.source && x->over.worst.reserved)
		fprintf(to->out, "  most unused: %s reserved but free at %s\n",
			tide__fmt_bytes(b, sizeof b,
					(double)(x->over.worst.reserved - x->over.worst.active)),
			tide__fmt_at(t, sizeof t, (double)x->over.worst.t));
}

/* Returns one cell of a segment's bar by the part of its bytes in use. */
static const char *cell(const tide_style *s, uint64_t used, uint64_t size)
{
	if (!used)
		return s->ascii ? "." : "·";
	if (used == size)
		return s->ascii ? "#" : "█";
	return s->ascii ? "+" : "▒";
}

static uint64_t overlap(uint64_t a0, uint64_t a1, uint64_t b0, uint64_t b1)
{
	uint64_t lo = a0 > b0 ? a0 : b0, hi = a1 < b1 ? a1 : b1;

	return hi > lo ? hi - lo : 0;
}

/* Returns the number of cells of a segment's bar. */
static int map_width(const tide_out *to)
{
	int room = to->style.width ? to->style.width - MAP_LEFT : MAP_WIDTH;

	return room > MAP_WIDTH ? MAP_WIDTH : room < 8 ? 8 : room;
}

/* Returns where cell i of n of a segment's bar begins. */
static uint64_t edge(uint64_t size, int i, int n)
{
	uint64_t k = (uint64_t)i, of = (uint64_t)n;

	return size / of * k + size % of * k / of;
}

static void draw(const tide_out *to, const tide_state *s, const tide_state_segment *g, char *buf,
		 size_t n)
{
	size_t at = 0, b = g->first;
	int cells = map_width(to);

	for (int i = 0; i < cells; i++) {
		uint64_t c0 = edge(g->size, i, cells), c1 = edge(g->size, i + 1, cells);
		uint64_t used = 0;

		while (b + 1 < g->first + g->n && s->blocks[b + 1].addr - g->addr <= c0)
			b++;
		for (size_t k = b; k < g->first + g->n && s->blocks[k].addr - g->addr < c1; k++)
			if (s->blocks[k].alloc)
				used += overlap(c0, c1, s->blocks[k].addr - g->addr,
						s->blocks[k].addr - g->addr + s->blocks[k].size);
		at += (size_t)snprintf(buf + at, n - at, "%s", cell(&to->style, used, c1 - c0));
	}
}

static int by_size(const void *a, const void *b)
{
	const tide_state_segment *const *x = a, *const *y = b;

	if ((*x)->size != (*y)->size)
		return (*x)->size > (*y)->size ? -1 : 1;
	return (*x)->addr < (*y)->addr ? -1 : 1;
}

static const tide_grid_col map_cols[] = {
	{ "address", "Address", TIDE_CELL_HEX },    { "bytes", "Size", TIDE_CELL_BYTES },
	{ "kind", "Kind", TIDE_CELL_TEXT, 1 },	    { "used", "In use", TIDE_CELL_PCT },
	{ "blocks", "Blocks", TIDE_CELL_COUNT, 2 }, { "map", "Map", TIDE_CELL_BAR },
};

static void map_row(const tide_out *to, const tide_allocator *x, const tide_state_segment *g,
		    tide_grid *grid)
{
	char bar[MAP_WIDTH * 4 + 1];

	draw(to, &x->state, g, bar, sizeof bar);
	tide__grid_uint(grid, g->addr);
	tide__grid_uint(grid, g->size);
	tide__grid_text(grid, tide__segment_kind_text(x->m->segments.kind[g->segment]));
	tide__grid_real(grid, 100.0 * (double)g->used / (double)g->size);
	tide__grid_uint(grid, g->n);
	tide__grid_text(grid, bar);
}

static void print_map(const tide_out *to, const tide_allocator *x, size_t top)
{
	size_t n = x->state.n_segments;
	const tide_state_segment **order = tide__alloc(n, sizeof(*order));
	tide_grid *g = tide__grid_new(map_cols, sizeof map_cols / sizeof *map_cols);

	for (size_t i = 0; order && i < n; i++)
		order[i] = &x->state.segments[i];
	if (order && n)
		qsort(order, n, sizeof(*order), by_size);
	for (size_t i = 0; order && i < n && i < top; i++)
		map_row(to, x, order[i], g);
	fputs("\n", to->out);
	tide__grid_write(g, to, 2);
	if (n > top)
		fprintf(to->out, "  (%zu more segments; --map 0 draws all)\n", n - top);
	tide__free(order);
}

static void print_advice(const tide_out *to, const tide_allocator *x)
{
	if (!x->advice.n)
		return;
	fputs("\n", to->out);
	tide__write_heading(to, "What would help");
	for (size_t i = 0; i < x->advice.n; i++) {
		fputs("  - ", to->out);
		tide__put_words(to->out, x->advice.v[i].text, 4, 4, to->style.width);
	}
}

/* Returns false if the bytes in use are unknown. */
static bool known(const tide_allocator *x)
{
	return tide__memory_known(x->m, x->device);
}

void tide__allocator_text(const tide_allocator *x, size_t map, const tide_out *to)
{
	char name[64], t[32];

	if (!known(x) && !x->over.source) {
		fputs("The trace holds no memory events.\n", to->out);
		tide__put_model_losses(to, x->m);
		return;
	}
	tide__device_name(x->m, x->device, name, sizeof name);
	tide__write_heading(
		to, "%s: the allocator at %s%s", name,
		tide__fmt_at(t, sizeof t, (double)(x->at.chosen ? x->state.t : x->m->t_end)),
		x->at.at_peak  ? " (the peak)"
		: x->at.chosen ? ""
			       : " (the end)");
	print_totals(to, x);
	if (x->state.n_segments)
		print_map(to, x, map);
	print_chart(to, x);
	print_advice(to, x);
	tide__put_model_losses(to, x->m);
}

static void json_totals(tide_json *j, const tide_allocator *x)
{
	const tide_state_totals *t = &x->state.total;
	bool k = x->state.known;

	tide__json_kint(j, "time_ns", x->state.t);
	tide__json_kuint(j, "memory_events", x->state.position);
	tide__json_kmaybe(j, "reserved_bytes", x->reserved);
	tide__json_kstr(j, "reserved_source", tide__reserved_text(x->over.source));
	tide__json_kuint_if(j, "active_bytes", known(x), t->active);
	tide__json_kuint_if(j, "allocated_bytes", known(x), t->allocated);
	tide__json_kuint_if(j, "requested_bytes", known(x), t->requested);
	tide__json_kuint_if(j, "rounding_waste_bytes", known(x), t->waste);
	tide__json_kmaybe(j, "free_bytes", k ? t->free : tide__allocator_unused(x));
	tide__json_kuint_if(j, "cached_free_bytes", k, t->cached);
	tide__json_kuint_if(j, "inactive_split_bytes", k, t->inactive_split);
	tide__json_kuint_if(j, "expandable_free_bytes", k, t->expandable_free);
	tide__json_kuint_if(j, "largest_free_block_bytes", k, t->largest_free);
	tide__json_kuint_if(j, "segments_count", k, t->n_segments);
	tide__json_kuint_if(j, "free_blocks_count", k, t->n_free);
	tide__json_kuint_if(j, "loose_bytes", k, t->loose);
	if (k)
		tide__json_kfixed(j, "fragmentation_index", tide__fragmentation_ratio(t), 6);
	else
		tide__json_knull(j, "fragmentation_index");
}

static void json_block(tide_json *j, const tide_allocator *x, const tide_state_block *b)
{
	tide__json_object(j);
	tide__json_kuint(j, "address", b->addr);
	tide__json_kuint(j, "size", b->size);
	tide__json_kstr(j, "state",
			!b->alloc    ? "inactive"
			: b->pending ? "active_pending_free"
				     : "active_allocated");
	if (b->alloc) {
		tide__json_kuint(j, "requested_size", x->m->allocs.requested[b->alloc]);
		tide__json_kuint(j, "alloc", b->alloc);
		tide__json_kuint(j, "stack", x->m->allocs.stack[b->alloc].i);
	}
	tide__json_object_end(j);
}

static void json_segments(tide_json *j, const tide_allocator *x)
{
	const tide_segments *t = &x->m->segments;

	tide__json_karray(j, "segments");
	for (size_t i = 0; i < x->state.n_segments; i++) {
		const tide_state_segment *g = &x->state.segments[i];

		tide__json_object(j);
		tide__json_kuint(j, "address", g->addr);
		tide__json_kuint(j, "total_size", g->size);
		tide__json_kuint(j, "active_size", g->used);
		tide__json_kstr(j, "kind", tide__segment_kind_text(t->kind[g->segment]));
		tide__json_kint(j, "stream", x->m->lanes.number[t->stream[g->segment].i]);
		tide__json_kuint(j, "pool", t->pool[g->segment].i);
		tide__json_kbool(j, "before_recording", t->flags[g->segment] & TIDE_SEGMENT_BEFORE);
		tide__json_karray(j, "blocks");
		for (size_t b = g->first; b < g->first + g->n; b++)
			json_block(j, x, &x->state.blocks[b]);
		tide__json_array_end(j);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

const tide_member tide__allocator_point_members[] = {
	{ "time_ns", "", TIDE_KIND_AT, .meaning = "end of the interval" },
	{ "reserved_bytes", "", TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "reserved bytes" },
	{ "active_bytes", "", TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "in use, with blocks that wait to be freed" },
	{ "allocated_bytes", "", TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL, .meaning = "allocated" },
	{ "requested_bytes", "", TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "the requested part of them" },
	{ "cached_free_bytes", "", TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "free in whole segments" },
	{ "inactive_split_bytes", "", TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "free beside blocks in use" },
	{ "expandable_free_bytes", "", TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "free in expandable segments" },
	{ "largest_free_block_bytes", "", TIDE_KIND_BYTES, .may = TIDE_MAY_BE_NULL,
	  .meaning = "the largest free block" },
	{ 0 },
};
enum { N_POINT = sizeof tide__allocator_point_members / sizeof(tide_member) - 1 };

static void point_row(tide_grid *g, const tide_fragmentation_point *p, const tide_allocator *x)
{
	const tide_fragmentation *f = &x->over;
	const uint64_t live[] = { p->active, p->allocated, p->requested };
	const uint64_t held[] = { p->cached, p->inactive_split, p->expandable_free,
				  p->largest_free };

	tide__grid_int(g, p->t);
	tide__grid_maybe(g, f->source ? p->reserved : TIDE_RESERVED_NONE);
	for (size_t i = 0; i < 3; i++)
		known(x) ? tide__grid_uint(g, live[i]) : tide__grid_none(g);
	for (size_t i = 0; i < 4; i++)
		f->known && !p->odd ? tide__grid_uint(g, held[i]) : tide__grid_none(g);
}

static void json_over_time(tide_json *j, const tide_allocator *x)
{
	tide_grid *g = tide__grid_new(tide__allocator_point_members, N_POINT);

	for (size_t i = 0; i < x->over.n; i++)
		point_row(g, &x->over.p[i], x);
	tide__grid_write_member(g, j, "over_time");
	g = tide__grid_new(tide__allocator_point_members, N_POINT);
	if (x->over.source)
		point_row(g, &x->over.worst, x);
	tide__grid_write_member(g, j, "most_unused");
}

static void json_advice(tide_json *j, const tide_allocator *x)
{
	tide__json_karray(j, "advice");
	for (size_t i = 0; i < x->advice.n; i++) {
		tide__json_object(j);
		tide__json_kstr(j, "kind", x->advice.v[i].kind);
		tide__json_kstr(j, "severity", tide__severity_text[x->advice.v[i].severity]);
		tide__json_kstr(j, "text", x->advice.v[i].text);
		tide__json_kuint(j, "bytes", x->advice.v[i].bytes);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

void tide__allocator_json(const tide_allocator *x, tide_json *j)
{
	char name[64];

	if (x->device)
		tide__json_kstr(j, "device", tide__device_name(x->m, x->device, name, sizeof name));
	else
		tide__json_knull(j, "device");
	json_totals(j, x);
	json_over_time(j, x);
	json_segments(j, x);
	json_advice(j, x);
	tide__start_json(j, x->m);
	tide__losses_json(j, x->m);
}
