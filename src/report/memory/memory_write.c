// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "report/memory/memory_write.h"
#include "render/report/memory/heap.h"

#include <string.h>

#include "analyze/common/paths.h"
#include "render/text/chart.h"
#include "render/text/labels.h"

struct view {
	const tide_memory *r;
	tide_paths paths;
	tide_short_names names; /* of text; m NULL: whole paths */
	tide_long longs;
};

#define UNKNOWN .may = TIDE_MAY_BE_NULL
const tide_member tide__memory_level_members[] = {
	{ "pool", "Pool", TIDE_KIND_TEXT, .meaning = "pool; all: of the device" },
	{ "kind", NULL, TIDE_KIND_TEXT, UNKNOWN, .meaning = "what the pool is" },
	{ "live_bytes", "Live", TIDE_KIND_BYTES, UNKNOWN, .meaning = "live bytes at at_time_ns" },
	{ "live_requested_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "the requested part of them" },
	{ "live_count", "Count", TIDE_KIND_COUNT, UNKNOWN, .meaning = "live allocations" },
	{ "reserved_bytes", "Reserved", TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "reserved bytes at at_time_ns" },
	{ "peak_bytes", "Peak", TIDE_KIND_BYTES, UNKNOWN, .meaning = "highest live bytes" },
	{ "peak_time_ns", "At", TIDE_KIND_AT, UNKNOWN, .meaning = "when they were first reached" },
	{ "peak_count", NULL, TIDE_KIND_COUNT, UNKNOWN, .meaning = "live allocations at the peak" },
	{ "reserved_bytes_at_peak", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "reserved bytes at the peak" },
	{ "reserved_peak_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN,
	  .meaning = "highest reserved bytes" },
	{ "reserved_source", NULL, TIDE_KIND_WORD, UNKNOWN, .words = "segments,samples",
	  .meaning = "where reserved bytes come from" },
	{ "allocs", "Allocs", TIDE_KIND_COUNT, 8, UNKNOWN, .meaning = "allocations" },
	{ "frees", "Frees", TIDE_KIND_COUNT, 9, UNKNOWN, .meaning = "frees" },
	{ "alloc_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN, .meaning = "sum of all allocations" },
	{ "free_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN, .meaning = "sum of all frees" },
	{ "capacity_bytes", NULL, TIDE_KIND_BYTES, UNKNOWN, .meaning = "size of the memory" },
	{ 0 },
};
enum { N_LEVEL = sizeof tide__memory_level_members / sizeof(tide_member) - 1 };

static void sum_cell(tide_grid *g, bool counted, uint64_t v)
{
	counted ? tide__grid_uint(g, v) : tide__grid_none(g);
}

/* counted: false if its allocations are not in the trace; their sum is then unknown. */
static void level_row(tide_grid *g, const char *name, size_t n, const char *kind,
		      const tide_level *l, uint64_t capacity, bool counted)
{
	tide__grid_textn(g, name, n);
	tide__grid_text(g, kind);
	sum_cell(g, counted, l->bytes);
	sum_cell(g, counted, l->requested);
	sum_cell(g, counted, l->count);
	tide__grid_maybe(g, l->reserved);
	sum_cell(g, counted, l->peak);
	counted ? tide__grid_int(g, l->peak_t) : tide__grid_none(g);
	sum_cell(g, counted, l->peak_count);
	tide__grid_maybe(g, l->peak_reserved);
	tide__grid_maybe(g, l->reserved_peak);
	tide__grid_text(g, tide__reserved_text(l->source));
	sum_cell(g, counted, l->allocs);
	sum_cell(g, counted, l->frees);
	sum_cell(g, counted, l->alloc_bytes);
	sum_cell(g, counted, l->free_bytes);
	tide__grid_put_known(g, capacity);
}

/* Adds the pools of a device, and the sum of those that count in its figures if there are
 * several. */
static tide_grid *levels(struct view *x, uint32_t d, bool sum)
{
	const tide_model *m = x->r->m;
	bool counted = tide__memory_counted(x->r, d);
	bool apart = false; /* the device's reserved bytes are known, a pool's are not */
	size_t summed = 0;
	tide_grid *g = tide__grid_new(tide__memory_level_members, N_LEVEL);
	for (uint32_t p = 0; p < m->pools.n; p++) {
		const tide_level *w = &x->r->whole.pools[p];
		if (m->pools.device[p].i != d || (!w->allocs && !w->source))
			continue;
		size_t n;
		const char *name = tide__long_text(&x->longs, m, m->pools.name[p], &n);
		const char *kind = tide__pool_kind_text(m->pools.kind[p]);
		apart |= x->r->whole.devices[d].source && !w->source;
		summed += tide__pool_in_device(m, p);
		level_row(g, n ? name : kind, n ? n : strlen(kind), kind, &x->r->usage.pools[p],
			  m->pools.capacity[p], counted);
	}
	const char *all = summed < tide__grid_rows(g) ? "all but L1" : "all";
	if (sum && (summed > 1 || apart))
		level_row(g, all, strlen(all), NULL, &x->r->usage.devices[d],
			  m->devices.capacity[d], counted);
	return g;
}

/* The op is short in text, its whole path in JSON. */
#define LARGE_MEMBERS(head)                                                                      \
	{ "bytes", "Size", TIDE_KIND_BYTES, .meaning = "size" },                                 \
		{ "requested_bytes", NULL, TIDE_KIND_BYTES,                                      \
		  .meaning = "the requested part of it" },                                       \
		{ "born_ns", "Born", TIDE_KIND_AT, .meaning = "when it was allocated" },         \
		{ "died_ns", NULL, TIDE_KIND_AT, UNKNOWN,                                        \
		  .meaning = "when it was freed; null: alive at the end" },                      \
		{ "lived_ns", "Lived", TIDE_KIND_NS, UNKNOWN, .meaning = "died_ns - born_ns" },  \
		{ "device", head, TIDE_KIND_TEXT, .meaning = "device" },                         \
		{ "pool", "Pool", TIDE_KIND_TEXT, UNKNOWN, .meaning = "pool" },                  \
		{ "address", NULL, TIDE_KIND_HEX, .meaning = "address" },                        \
		{ "op", "Op", TIDE_KIND_NAME, UNKNOWN, .meaning = "path of the op it is from" }, \
	{                                                                                        \
		0                                                                                \
	}
const tide_member tide__memory_largest_members[] = { LARGE_MEMBERS(NULL) };
static const tide_member large_of_many[] = { LARGE_MEMBERS("Device") };
enum { N_LARGE = sizeof large_of_many / sizeof *large_of_many - 1 };

static void op_cell(tide_grid *g, struct view *x, uint32_t node)
{
	char path[4096];
	if (!g || !node || node == TIDE_NO_PATH) {
		tide__grid_none(g);
	} else if (x->names.m) {
		tide__short_path(&x->names, &x->paths, node, false, path, NULL);
		tide__grid_text(g, path);
	} else {
		tide__grid_text(g, tide__long_path(tide__grid_longs(g), &x->paths, x->r->m, node,
						   path, sizeof path));
	}
}

static void large_row(tide_grid *g, struct view *x, uint32_t row)
{
	const tide_model *m = x->r->m;
	char device[64];
	uint32_t pool = m->allocs.pool[row].i;
	uint32_t node = tide__paths_add_span(&x->paths, m, m->allocs.span[row]);
	int64_t born = m->allocs.born[row], died = m->allocs.died[row];
	tide__grid_uint(g, m->allocs.size[row]);
	tide__grid_uint(g, m->allocs.requested[row]);
	tide__grid_int(g, born);
	died == TIDE_T_NEVER ? tide__grid_none(g) : tide__grid_int(g, died);
	died == TIDE_T_NEVER ? tide__grid_none(g) : tide__grid_int(g, died - born);
	tide__grid_text(g, tide__device_name(m, m->pools.device[pool].i, device, sizeof device));
	tide__grid_put_name(g, m, m->pools.name[pool]);
	tide__grid_uint(g, m->allocs.addr[row]);
	op_cell(g, x, node);
}

static size_t devices_shown(const struct view *x)
{
	size_t n = 0;
	for (uint32_t d = 0; d < x->r->whole.n_devices; d++)
		n += tide__memory_has(x->r, d);
	return n;
}

static tide_grid *largest(struct view *x)
{
	tide_grid *g = tide__grid_new(
		devices_shown(x) > 1 ? large_of_many : tide__memory_largest_members, N_LARGE);
	for (size_t i = 0; i < x->r->largest.n; i++)
		large_row(g, x, x->r->largest.rows[i]);
	return g;
}

static void print_sampled(const tide_out *to, const tide_sampled_device *s)
{
	char now[32] = "unknown", most[32] = "unknown", t[96], n[32];
	if (s->bytes != TIDE_SAMPLED_NONE)
		tide__fmt_bytes(now, sizeof now, (double)s->bytes);
	if (tide__sampled_most(s) != TIDE_SAMPLED_NONE)
		tide__fmt_bytes(most, sizeof most, (double)tide__sampled_most(s));
	fprintf(to->out,
		"  Its allocator reports no allocations. Sampled: %s, highest %s (%s; %s "
		"samples).\n",
		now, most, tide__sampled_when(s, t, sizeof t),
		tide__fmt_count(n, sizeof n, (int64_t)s->n));
}

/* Sizes without addresses: prints the known figures and names the unknown ones. */
static void print_relative(const tide_out *to, const tide_relative_device *r)
{
	char n[32], high[32], low[32], now[32], t[2][32], least[32], got[32], gave[32];
	fprintf(to->out,
		"  %s memory events with sizes but no addresses: allocated %s, freed %s. Relative to "
		"the start of the trace:\n"
		"  highest %s%s (%s), lowest %s%s (%s), now %s%s.\n",
		tide__fmt_count(n, sizeof n, (int64_t)r->events),
		tide__fmt_bytes(got, sizeof got, (double)r->allocated),
		tide__fmt_bytes(gave, sizeof gave, (double)r->freed), r->high > 0 ? "+" : "",
		tide__fmt_bytes(high, sizeof high, (double)r->high),
		tide__fmt_at(t[0], sizeof t[0], (double)r->high_t), r->low < 0 ? "-" : "",
		tide__fmt_bytes(low, sizeof low, -(double)r->low),
		tide__fmt_at(t[1], sizeof t[1], (double)r->low_t),
		r->now > 0   ? "+"
		: r->now < 0 ? "-"
			     : "",
		tide__fmt_bytes(now, sizeof now, r->now < 0 ? -(double)r->now : (double)r->now));
	fprintf(to->out,
		"  Peak at least %s. Unknown: bytes alive at the start, live bytes, which "
		"allocation a free ends.\n",
		tide__fmt_bytes(least, sizeof least, (double)tide__relative_least_peak(r)));
}

/* Prints a note if the device has pools that do not count in its figures, and so not in the
 * chart. */
static void print_apart(const tide_out *to, const struct view *x, uint32_t d)
{
	const tide_model *m = x->r->m;
	for (uint32_t p = 1; p < m->pools.n; p++)
		if (m->pools.device[p].i == d && x->r->whole.pools[p].allocs &&
		    !tide__pool_in_device(m, p)) {
			fputs("  L1 is a separate memory: the chart does not include it.\n",
			      to->out);
			return;
		}
}

static void print_device(const tide_out *to, struct view *x, uint32_t d)
{
	const tide_model *m = x->r->m;
	const tide_usage *w = &x->r->whole;
	char name[64], bytes[32];
	size_t n;
	const char *model = tide__long_text(&x->longs, m, m->devices.name[d], &n);
	tide__device_name(m, d, name, sizeof name);
	fputs(to->style.color ? "\033[1m" : "", to->out);
	fprintf(to->out, "%s%s", name, n ? "  " : "");
	tide__put_text(to, model);
	if (m->devices.capacity[d])
		fprintf(to->out, "%s%s", n ? ", " : "  ",
			tide__fmt_bytes(bytes, sizeof bytes, (double)m->devices.capacity[d]));
	fputs(to->style.color ? "\033[0m\n" : "\n", to->out);
	tide_grid *g = levels(x, d, true);
	if (tide__grid_rows(g))
		tide__grid_print(g, to->out, &to->style, 2);
	tide__grid_free(g);
	print_apart(to, x, d);
	if (w->devices[d].source == TIDE_RESERVED_SAMPLES)
		fputs("  Reserved is sampled: exact at each sample, unknown between samples.\n",
		      to->out);
	if (x->r->sampled.devices[d].n)
		print_sampled(to, &x->r->sampled.devices[d]);
	if (x->r->relative.devices[d].events)
		print_relative(to, &x->r->relative.devices[d]);
	fputc('\n', to->out);
	if (!tide__memory_counted(x->r, d) && !x->r->sampled.devices[d].n)
		return;
	tide_chart c = { .live = (x->r->sampled.devices[d].n ? x->r->sampled.series
							     : w->live_series) +
				 d * w->buckets,
			 .reserved = w->reserved_series + d * w->buckets,
			 .n = w->buckets,
			 .height = 8,
			 .t1 = m->t_end };
	tide__chart_print(&c, to->out, &to->style, 0);
	fputc('\n', to->out);
}

static void print_text(const tide_out *to, struct view *x)
{
	char t[32];
	bool any = false;
	if (x->r->at.chosen)
		tide__write_heading(to, "at %s%s", tide__fmt_at(t, sizeof t, (double)x->r->at.t),
				    x->r->at.at_peak ? " (the peak)" : "");
	for (uint32_t d = 0; d < x->r->whole.n_devices; d++) {
		if (!tide__memory_has(x->r, d))
			continue;
		any = true;
		print_device(to, x, d);
	}
	if (!any)
		fputs("The trace holds no memory events.\n", to->out);
	if (x->r->largest.n) {
		tide_grid *g = largest(x);
		tide__write_heading(to, x->r->at.chosen ? "largest allocations alive then"
							: "largest allocations");
		tide__grid_print(g, to->out, &to->style, 2);
		tide__grid_free(g);
	}
	tide__put_model_losses(to, x->r->m);
}

tide_code tide__memory_text(const tide_memory *r, const tide_out *to)
{
	struct view x = { .r = r };
	if (!tide__paths_init(&x.paths))
		return TIDE_ENOMEM;
	if (!to->style.full_names)
		tide__short_names_init(&x.names, r->m); /* else whole names */
	print_text(to, &x);
	tide__heap_put_sampled(r->m, TIDE_ANY, to);
	if (to->cut)
		*to->cut += x.longs.cut;
	tide__paths_free(&x.paths);
	tide__short_names_free(&x.names);
	tide__long_free(&x.longs);
	return TIDE_OK;
}

static void json_series(tide_json *j, const char *key, const uint64_t *v, size_t n)
{
	tide__json_karray(j, key);
	for (size_t i = 0; i < n; i++)
		tide__json_maybe(j, v[i]);
	tide__json_array_end(j);
}

static void json_sampled(tide_json *j, struct view *x, uint32_t d)
{
	const tide_sampled_device *s = &x->r->sampled.devices[d];
	tide__json_key(j, "sampled");
	if (!s->n) {
		tide__json_null(j);
		return;
	}
	tide__json_object(j);
	tide__json_kmaybe(j, "allocated_bytes", s->bytes);
	tide__json_kmaybe(j, "peak_bytes", s->peak);
	tide__json_kint_if(j, "peak_time_ns", s->peak != TIDE_SAMPLED_NONE, s->peak_t);
	tide__json_kmaybe(j, "own_peak_bytes", s->own_peak);
	tide__json_kint_if(j, "own_peak_since_ns", s->own_peak != TIDE_SAMPLED_NONE, s->own_since);
	tide__json_kint_if(j, "own_peak_told_ns", s->own_peak != TIDE_SAMPLED_NONE, s->own_told);
	tide__json_kuint(j, "samples", s->n);
	json_series(j, "series_bytes", x->r->sampled.series + d * x->r->sampled.buckets,
		    x->r->sampled.buckets);
	tide__json_object_end(j);
}

static void json_relative(tide_json *j, const tide_relative_device *r)
{
	tide__json_key(j, "relative");
	if (!r->events) {
		tide__json_null(j);
		return;
	}
	tide__json_object(j);
	tide__json_kuint(j, "events", r->events);
	tide__json_kint(j, "bytes", r->now);
	tide__json_kint(j, "high_bytes", r->high);
	tide__json_kint(j, "high_time_ns", r->high_t);
	tide__json_kint(j, "low_bytes", r->low);
	tide__json_kint(j, "low_time_ns", r->low_t);
	tide__json_kuint(j, "least_peak_bytes", tide__relative_least_peak(r));
	tide__json_kuint(j, "alloc_bytes", r->allocated);
	tide__json_kuint(j, "free_bytes", r->freed);
	tide__json_object_end(j);
}

static void json_device(tide_json *j, struct view *x, uint32_t d)
{
	const tide_model *m = x->r->m;
	const tide_level *l = &x->r->usage.devices[d];
	const tide_usage *w = &x->r->whole;
	char name[64];
	size_t n;
	const char *model = tide__long_text(&x->longs, m, m->devices.name[d], &n);
	tide__json_object(j);
	tide__json_kstr(j, "device", tide__device_name(m, d, name, sizeof name));
	tide__json_key(j, "name");
	n ? tide__json_strn(j, model, n) : tide__json_null(j);
	tide__json_key(j, "totals");
	tide_grid *g = tide__grid_new(tide__memory_level_members, N_LEVEL);
	level_row(g, "all", 3, NULL, l, m->devices.capacity[d], tide__memory_counted(x->r, d));
	if (tide__grid_rows(g))
		tide__grid_json_row(g, 0, j);
	else
		tide__json_null(j);
	tide__grid_free(g);
	tide__json_key(j, "pools");
	g = levels(x, d, false);
	tide__grid_json(g, j);
	tide__grid_free(g);
	json_series(j, "live_series_bytes", w->live_series + d * w->buckets,
		    tide__memory_counted(x->r, d) ? w->buckets : 0); /* not known */
	json_sampled(j, x, d);
	json_relative(j, &x->r->relative.devices[d]);
	if (w->devices[d].source)
		json_series(j, "reserved_series_bytes", w->reserved_series + d * w->buckets,
			    w->buckets);
	tide__json_object_end(j);
}

static void print_json(tide_json *j, struct view *x)
{
	tide__json_kint(j, "at_time_ns", x->r->at.t);
	tide__json_kint(j, "duration_ns", x->r->m->t_end);
	tide__start_json(j, x->r->m);
	tide__json_karray(j, "devices");
	for (uint32_t d = 0; d < x->r->whole.n_devices; d++)
		if (tide__memory_has(x->r, d))
			json_device(j, x, d);
	tide__json_array_end(j);
	tide_grid *g = largest(x);
	tide__grid_write_member(g, j, "largest");
	tide__losses_json(j, x->r->m);
}

void tide__memory_json(const tide_memory *r, tide_json *j)
{
	struct view x = { .r = r };
	if (!tide__paths_init(&x.paths)) {
		j->failed = true;
		return;
	}
	print_json(j, &x);
	j->cut += x.longs.cut;
	tide__paths_free(&x.paths);
	tide__long_free(&x.longs);
}

size_t tide__memory_chart_buckets(const tide_style *style)
{
	int room = (style->width ? style->width : 80) - TIDE_CHART_MARGIN - 1;
	return (size_t)(room > 120 ? 120 : room);
}
