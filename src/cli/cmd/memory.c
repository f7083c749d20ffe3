// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* memory: use over time per device and pool, peaks, largest allocations. */
#include <inttypes.h>
#include <string.h>

#include "analyze/memory/live_set.h"
#include "analyze/common/paths.h"
#include "analyze/memory/sampled.h"
#include "cli/select_names.h"
#include "cli/select_moment.h"
#include "render/text/chart.h"

enum { O_DEVICE, O_AT, O_TOP, O_BUCKETS, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_DEVICE] = TIDE_OPTION_DEVICE,
	[O_AT] = TIDE_OPTION_AT,
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "largest allocations to show", .def = "10" },
	[O_BUCKETS] = { "buckets", 0, TIDE_OPT_INT, "N", "points of the use over time in JSON",
			.def = "200", .least = 1, .most = 1000000 },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_PAGE,
};

struct answer {
	const tide_model *m;
	uint32_t device; /* TIDE_ANY = all */
	tide_moment at;
	tide_usage usage;     /* up to the moment */
	tide_usage whole;     /* the whole trace, with the series */
	tide_sampled sampled; /* devices that are known by samples alone; with the series */
	tide_alive largest;
	tide_paths paths;
	tide_long *longs; /* borrowed */
};

/* ---- the answer ---- */

/* "--at peak" is the peak of the chosen device, else of the highest one. */
static void find_moment(struct answer *x)
{
	if (!x->at.at_peak)
		return;
	uint32_t d = x->device == TIDE_ANY ? tide__usage_highest(&x->whole) : x->device;
	x->at.cut = x->whole.devices[d].peak_cut;
	x->at.t = x->whole.devices[d].peak_t;
}

static tide_code solve(const tide_args *a, struct answer *x, size_t buckets, tide_error *err)
{
	size_t top = (size_t)a->opt[O_TOP].num;
	tide_alive alive = { 0 };
	tide_code rc = tide__usage(x->m, UINT64_MAX, buckets, &x->whole, err);
	if (rc != TIDE_OK)
		return rc;
	find_moment(x);
	rc = tide__usage_at(x->m, x->at.cut, x->at.chosen ? x->at.t : INT64_MAX, 0, &x->usage, err);
	if (rc == TIDE_OK)
		rc = tide__sampled(x->m, x->at.chosen ? x->at.t : INT64_MAX, buckets, &x->sampled,
				   err);
	if (rc == TIDE_OK && x->at.chosen)
		rc = tide__alive_at(x->m, x->at.cut, x->device, TIDE_ANY, &alive, err);
	if (rc == TIDE_OK)
		rc = tide__largest(x->m, x->at.chosen ? &alive : NULL, x->device, top, &x->largest,
				   err);
	tide__alive_free(&alive);
	if (rc == TIDE_OK && !tide__paths_init(&x->paths))
		rc = TIDE_ENOMEM;
	return rc;
}

static void forget(struct answer *x)
{
	tide__usage_free(&x->usage);
	tide__usage_free(&x->whole);
	tide__sampled_free(&x->sampled);
	tide__alive_free(&x->largest);
	tide__paths_free(&x->paths);
}

static bool shown(const struct answer *x, uint32_t d)
{
	const tide_level *l = &x->whole.devices[d];
	return (x->device == TIDE_ANY || x->device == d) &&
	       (l->allocs || l->source || x->sampled.devices[d].n);
}

/* ---- grids ---- */

static const tide_grid_col level_cols[] = {
	{ "pool", "Pool", TIDE_CELL_TEXT },
	{ "kind", NULL, TIDE_CELL_TEXT },
	{ "live_bytes", "Live", TIDE_CELL_BYTES },
	{ "live_requested_bytes", NULL, TIDE_CELL_BYTES },
	{ "live_count", "Count", TIDE_CELL_COUNT },
	{ "reserved_bytes", "Reserved", TIDE_CELL_BYTES },
	{ "peak_bytes", "Peak", TIDE_CELL_BYTES },
	{ "peak_time_ns", "At", TIDE_CELL_NS },
	{ "peak_count", NULL, TIDE_CELL_COUNT },
	{ "reserved_bytes_at_peak", NULL, TIDE_CELL_BYTES },
	{ "reserved_peak_bytes", NULL, TIDE_CELL_BYTES },
	{ "reserved_source", NULL, TIDE_CELL_TEXT },
	{ "allocs", "Allocs", TIDE_CELL_COUNT, 8 },
	{ "frees", "Frees", TIDE_CELL_COUNT, 9 },
	{ "alloc_bytes", NULL, TIDE_CELL_BYTES },
	{ "free_bytes", NULL, TIDE_CELL_BYTES },
	{ "capacity_bytes", NULL, TIDE_CELL_BYTES },
};

static void sum_cell(tide_grid *g, bool counted, uint64_t v)
{
	counted ? tide__grid_uint(g, v) : tide__grid_none(g);
}

/* counted: else its allocations are not in the trace, and what they sum up to is not known. */
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
	tide__known_cell(g, capacity);
}

/* Pools of a device, and their sum where it says more than one of them. */
static tide_grid *levels(const struct answer *x, uint32_t d, bool sum)
{
	const tide_model *m = x->m;
	bool counted = !x->sampled.devices[d].n;
	bool apart = false; /* the device's reserved bytes are known, a pool's are not */
	tide_grid *g = tide__grid_new(level_cols, sizeof level_cols / sizeof *level_cols);
	for (uint32_t p = 0; p < m->pools.n; p++) {
		const tide_level *w = &x->whole.pools[p];
		if (m->pools.device[p].i != d || (!w->allocs && !w->source))
			continue;
		size_t n;
		const char *name = tide__long_text(x->longs, m, m->pools.name[p], &n);
		const char *kind = tide__pool_kind_text(m->pools.kind[p]);
		apart |= x->whole.devices[d].source && !w->source;
		level_row(g, n ? name : kind, n ? n : strlen(kind), kind, &x->usage.pools[p],
			  m->pools.capacity[p], counted);
	}
	if (sum && (tide__grid_rows(g) > 1 || apart))
		level_row(g, "all", 3, NULL, &x->usage.devices[d], m->devices.capacity[d], counted);
	return g;
}

static const tide_grid_col large_cols[] = {
	{ "bytes", "Size", TIDE_CELL_BYTES },  { "requested_bytes", NULL, TIDE_CELL_BYTES },
	{ "born_ns", "Born", TIDE_CELL_NS },   { "died_ns", NULL, TIDE_CELL_NS },
	{ "lived_ns", "Lived", TIDE_CELL_NS }, { "device", NULL, TIDE_CELL_TEXT },
	{ "pool", "Pool", TIDE_CELL_TEXT },    { "address", NULL, TIDE_CELL_HEX },
	{ "op", "Op", TIDE_CELL_TEXT },
};

static void large_row(tide_grid *g, struct answer *x, uint32_t row)
{
	const tide_model *m = x->m;
	char device[64], path[4096];
	uint32_t pool = m->allocs.pool[row].i;
	uint32_t node = tide__paths_span(&x->paths, m, m->allocs.span[row]);
	int64_t born = m->allocs.born[row], died = m->allocs.died[row];
	tide__grid_uint(g, m->allocs.size[row]);
	tide__grid_uint(g, m->allocs.requested[row]);
	tide__grid_int(g, born);
	died == TIDE_T_NEVER ? tide__grid_none(g) : tide__grid_int(g, died);
	died == TIDE_T_NEVER ? tide__grid_none(g) : tide__grid_int(g, died - born);
	tide__grid_text(g, tide__device_name(m, m->pools.device[pool].i, device, sizeof device));
	tide__name_cell(g, m, m->pools.name[pool]);
	tide__grid_uint(g, m->allocs.addr[row]);
	if (node && node != TIDE_NO_PATH)
		tide__grid_text(g, tide__paths_text(&x->paths, m, node, path, sizeof path));
	else
		tide__grid_none(g);
}

static tide_grid *largest(struct answer *x)
{
	tide_grid *g = tide__grid_new(large_cols, sizeof large_cols / sizeof *large_cols);
	for (size_t i = 0; i < x->largest.n; i++)
		large_row(g, x, x->largest.rows[i]);
	return g;
}

/* ---- text ---- */

static void print_sampled(const tide_args *a, const tide_sampled_device *s)
{
	char now[32] = "unknown", most[32] = "unknown", t[96], n[32];
	if (s->bytes != TIDE_SAMPLED_NONE)
		tide__fmt_bytes(now, sizeof now, (double)s->bytes);
	if (tide__sampled_most(s) != TIDE_SAMPLED_NONE)
		tide__fmt_bytes(most, sizeof most, (double)tide__sampled_most(s));
	fprintf(a->out,
		"  Its allocator reports no allocations. As sampled: %s, at most %s (%s; %s "
		"samples).\n",
		now, most, tide__sampled_when(s, t, sizeof t),
		tide__fmt_count(n, sizeof n, (int64_t)s->n));
}

static void print_device(const tide_args *a, const struct answer *x, uint32_t d)
{
	const tide_model *m = x->m;
	const tide_usage *w = &x->whole;
	char name[64], bytes[32];
	size_t n;
	const char *model = tide__long_text(x->longs, m, m->devices.name[d], &n);
	tide__device_name(m, d, name, sizeof name);
	fputs(a->style.color ? "\033[1m" : "", a->out);
	fprintf(a->out, "%s%s", name, n ? "  " : "");
	tide__put_text(a, model);
	if (m->devices.capacity[d])
		fprintf(a->out, "%s%s", n ? ", " : "  ",
			tide__fmt_bytes(bytes, sizeof bytes, (double)m->devices.capacity[d]));
	fputs(a->style.color ? "\033[0m\n" : "\n", a->out);
	tide_grid *g = levels(x, d, true);
	tide__grid_print(g, a->out, &a->style, 2);
	tide__grid_free(g);
	if (w->devices[d].source == TIDE_RESERVED_SAMPLES)
		fputs("  Reserved is sampled: exact when told, not known in between.\n", a->out);
	if (x->sampled.devices[d].n)
		print_sampled(a, &x->sampled.devices[d]);
	fputc('\n', a->out);
	tide_chart c = { .live = (x->sampled.devices[d].n ? x->sampled.series : w->live_series) +
				 d * w->buckets,
			 .reserved = w->reserved_series + d * w->buckets,
			 .n = w->buckets,
			 .height = 8,
			 .t1 = m->t_end };
	tide__chart_print(&c, a->out, &a->style, 0);
	fputc('\n', a->out);
}

static int print_text(const tide_args *a, struct answer *x)
{
	char t[32];
	bool any = false;
	if (x->at.chosen)
		tide__heading(a, "at %s%s", tide__fmt_ns(t, sizeof t, (double)x->at.t),
			      x->at.at_peak ? " (the peak)" : "");
	for (uint32_t d = 0; d < x->whole.n_devices; d++) {
		if (!shown(x, d))
			continue;
		any = true;
		print_device(a, x, d);
	}
	if (!any)
		fputs("The trace holds no memory events.\n", a->out);
	if (x->largest.n) {
		tide_grid *g = largest(x);
		tide__heading(a, x->at.chosen ? "largest allocations alive then"
					      : "largest allocations");
		tide__grid_print(g, a->out, &a->style, 2);
		tide__grid_free(g);
	}
	tide__cli_losses(a, x->m);
	return tide__cli_done(a);
}

/* ---- JSON ---- */

static void json_series(tide_json *j, const char *key, const uint64_t *v, size_t n)
{
	tide__json_karray(j, key);
	for (size_t i = 0; i < n; i++)
		tide__json_maybe(j, v[i]);
	tide__json_array_end(j);
}

static void json_sampled(tide_json *j, const struct answer *x, uint32_t d)
{
	const tide_sampled_device *s = &x->sampled.devices[d];
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
	json_series(j, "series_bytes", x->sampled.series + d * x->sampled.buckets,
		    x->sampled.buckets);
	tide__json_object_end(j);
}

static void json_device(tide_json *j, const struct answer *x, uint32_t d)
{
	const tide_sampled_device *s = &x->sampled.devices[d];
	const tide_model *m = x->m;
	const tide_level *l = &x->usage.devices[d];
	const tide_usage *w = &x->whole;
	char name[64];
	size_t n;
	const char *model = tide__long_text(x->longs, m, m->devices.name[d], &n);
	tide__json_object(j);
	tide__json_kstr(j, "device", tide__device_name(m, d, name, sizeof name));
	tide__json_key(j, "name");
	n ? tide__json_strn(j, model, n) : tide__json_null(j);
	tide__json_key(j, "totals");
	tide_grid *g = tide__grid_new(level_cols, sizeof level_cols / sizeof *level_cols);
	level_row(g, "all", 3, NULL, l, m->devices.capacity[d], !s->n);
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
		    s->n ? 0 : w->buckets); /* not known */
	json_sampled(j, x, d);
	if (w->devices[d].source)
		json_series(j, "reserved_series_bytes", w->reserved_series + d * w->buckets,
			    w->buckets);
	tide__json_object_end(j);
}

static int print_json(const tide_args *a, struct answer *x)
{
	tide_json j;
	tide__json_begin(&j, a->out, true);
	tide__json_object(&j);
	tide__json_kint(&j, "at_time_ns", x->at.t);
	tide__json_kint(&j, "duration_ns", x->m->t_end);
	tide__start_json(&j, x->m);
	tide__json_karray(&j, "devices");
	for (uint32_t d = 0; d < x->whole.n_devices; d++)
		if (shown(x, d))
			json_device(&j, x, d);
	tide__json_array_end(&j);
	tide_grid *g = largest(x);
	tide__grid_member(g, &j, "largest");
	tide__losses_json(&j, x->m);
	tide__json_object_end(&j);
	return tide__cli_json_end(a, &j);
}

/* Points over time: what fits the terminal, or what JSON asked for. */
static size_t buckets_for(const tide_args *a)
{
	int room = (a->style.width ? a->style.width : 80) - TIDE_CHART_MARGIN - 1;
	if (a->opt[O_JSON].set)
		return (size_t)a->opt[O_BUCKETS].num;
	return (size_t)(room > 120 ? 120 : room);
}

static int run(const tide_args *a)
{
	tide_long longs = { 0 };
	struct answer x = { .longs = &longs };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	int rc = 2;
	tide_model *m = tide__cli_load(a, a->files[0], TIDE_WANT_MEMORY | TIDE_WANT_SPANS);
	if (!m)
		return 1;
	x.m = m;
	if (tide__cli_device(a, &a->opt[O_DEVICE], m, &x.device) &&
	    tide__cli_moment(a, &a->opt[O_AT], m, &x.at)) {
		if (solve(a, &x, buckets_for(a), &err) == TIDE_OK) {
			rc = (a->opt[O_JSON].set ? print_json : print_text)(a, &x);
		} else {
			rc = tide__cli_fail(a->files[0], &err);
		}
	}
	tide__cli_cut(longs.cut);
	tide__long_free(&longs);
	forget(&x);
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_memory = {
	.name = "memory",
	.usage = "FILE [--at TIME] [--device DEVICE] [--json]",
	.summary = "show memory in use over time, per device and pool",
	.help = "Live and reserved bytes, peaks, a chart of the use over time, and the largest "
		"allocations. Figures are those at the end of the trace, or at the time of --at.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.run = run,
	.page = "memory",
};
