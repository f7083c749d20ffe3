// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* /api/profiler/flame, memory and timeline. Every figure is that of the command of the same name.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/common/interval_set.h"
#include "analyze/ops/flame.h"
#include "analyze/timeline/timeline.h"
#include "analyze/live/usage.h"
#include "base/error.h"
#include "base/mem.h"
#include "render/report/ops/flame.h"
#include "render/text/losses.h"
#include "render/page/page_parts.h"
#include "render/report/ops/timeline.h"
#include "serve/answer/api.h"
#include "serve/answer/exported.h"
#include "model/names.h"

/* ---- flame ---- */

enum { FOLD = 20000 }; /* default fold threshold: smaller nodes are folded */

static const char *const kinds[] = { "cpu", "gpu", "memory" };
static const char *const bys[] = { "auto", "stack", "op" };

static bool flame_options(tide_ask *a, const tide_model *m, tide_flame_options *o, bool *fold)
{
	size_t kind = tide__flame_mostly(m), by = 0;
	int64_t min_ns = 0, depth = 200, small = 0, merge = 0;
	if (!tide__request_get_choice(a->req, "kind", kinds, 3, &kind) ||
	    !tide__request_get_choice(a->req, "by", bys, 3, &by) ||
	    !tide__request_get_decimal(a->req, "min_duration_us", 3, INT64_MAX, &min_ns) ||
	    !tide__request_get_int(a->req, "max_depth", 1, TIDE_FLAME_DEEP, &depth) ||
	    !tide__request_get_decimal(a->req, "small_kernel_threshold_pct", 4, 1000000, &small) ||
	    !tide__request_get_int(a->req, "merge", 0, 1, &merge))
		return false;
	*fold = !tide__request_get(a->req, "min_duration_us");
	*o = (tide_flame_options){ .kind = (tide_flame_kind)kind,
				   .by = (tide_flame_by)by,
				   .merge = merge,
				   .min_value = (uint64_t)min_ns,
				   .max_depth = (uint32_t)depth,
				   .small_ppm = (uint32_t)small };
	return true;
}

static tide_code put_flame(tide_ask *a, const tide_loaded *l, const tide_flame *f, tide_error *err)
{
	static const char *const nothing[] = { "the trace has no host spans",
					       "the trace has no device work",
					       "the trace has no allocations" };
	tide_json j;
	tide__api_begin(&j, a, l, f->nodes.total[0] > 0);
	tide__json_kstr(&j, "kind", kinds[f->kind]);
	tide__json_kstr(&j, "unit", f->bytes ? "bytes" : "us");
	tide__json_kuint(&j, "folded_nodes", f->folded);
	tide__json_kuint(&j, "cut_nodes", f->cut);
	tide__losses_json(&j, l->m);
	tide__flame_json(f, &j);
	return tide__api_end(&j, f->nodes.total[0] ? NULL : nothing[f->kind], err);
}

static tide_code flame_of(tide_ask *a, const tide_loaded *l, tide_error *err)
{
	tide_flame_options o;
	tide_flame *whole = NULL, *f = NULL;
	bool fold;
	if (!flame_options(a, l->m, &o, &fold))
		return tide__ask_wrong(a, err);
	tide_code rc = tide__find_flame(l->m, &o, &whole, err);
	if (rc == TIDE_OK && fold) {
		o.min_value = whole->nodes.total[0] / FOLD;
		f = tide__flame_fold(whole, &o);
		rc = f ? TIDE_OK : tide__nomem(err);
	}
	if (rc == TIDE_OK)
		rc = put_flame(a, l, fold ? f : whole, err);
	tide__flame_free(whole);
	tide__flame_free(f);
	return rc;
}

tide_code tide__answer_flame(tide_ask *a, tide_error *err)
{
	tide_loaded *l;
	tide_json j;
	tide_code rc = tide__ask_param(a, "recording", &l, err);
	if (rc != TIDE_OK)
		return rc;
	if (l)
		return flame_of(a, l, err);
	tide__api_begin(&j, a, NULL, false);
	tide__json_knull(&j, "name");
	tide__json_knull(&j, "value");
	tide__json_karray(&j, "children");
	tide__json_array_end(&j);
	return tide__api_end(&j, tide__api_none, err);
}

/* ---- memory ---- */

static void points(tide_json *j, const tide_model *m, const tide_usage *u, uint32_t d)
{
	uint64_t peak = 0;
	for (size_t i = 0; i < u->buckets; i++) {
		uint64_t live = u->live_series[d * u->buckets + i];
		uint64_t held = u->reserved_series[d * u->buckets + i];
		int64_t t = (int64_t)((double)(m->t_end + 1) * (double)i / (double)u->buckets);
		peak = live > peak ? live : peak;
		tide__json_object(j);
		tide__json_kint(j, "time_ns", t);
		tide__json_kfixed(j, "time_ms", (double)t / 1e6, 6);
		tide__json_kuint(j, "allocated_bytes", live);
		tide__answer_write_mb(j, "allocated_mb", live);
		if (held == TIDE_RESERVED_NONE)
			tide__json_knull(j, "reserved_mb");
		else
			tide__answer_write_mb(j, "reserved_mb", held);
		tide__answer_write_mb(j, "peak_mb", peak);
		tide__json_object_end(j);
	}
}

static void memory_summary(tide_json *j, const tide_level *x)
{
	tide__json_kobject(j, "summary");
	tide__answer_write_mb(j, "total_allocated_mb", x->alloc_bytes);
	tide__json_kuint(j, "total_allocated_bytes", x->alloc_bytes);
	tide__answer_write_mb(j, "peak_allocated_mb", x->peak);
	tide__json_kuint(j, "peak_allocated_bytes", x->peak);
	tide__json_kint(j, "peak_time_ns", x->peak_t);
	tide__json_kuint(j, "current_allocated_bytes", x->bytes);
	tide__json_kuint(j, "num_allocations", x->allocs);
	tide__json_object_end(j);
}

static tide_code memory_of(tide_ask *a, const tide_loaded *l, tide_error *err)
{
	int64_t n = 500;
	uint32_t d;
	char name[64];
	tide_usage u;
	tide_json j;
	if (!tide__request_get_int(a->req, "points", 1, 20000, &n) ||
	    !tide__answer_get_device(a, l, &d, err))
		return tide__ask_wrong(a, err);
	tide_code rc = tide__find_usage(l->m, UINT64_MAX, (size_t)n, &u, err);
	if (rc != TIDE_OK)
		return rc;
	bool real = u.devices[d].allocs;
	tide__api_begin(&j, a, l, real);
	tide__json_kstr(&j, "device", real ? tide__device_name(l->m, d, name, sizeof name) : NULL);
	tide__json_karray(&j, "timeline");
	if (real)
		points(&j, l->m, &u, d);
	tide__json_array_end(&j);
	tide__json_kstr(&j, "reserved_source",
			real ? tide__reserved_text(u.devices[d].source) : NULL);
	if (real) {
		tide__answer_write_mb(&j, "peak_mb", u.devices[d].peak);
		memory_summary(&j, &u.devices[d]);
	} else {
		tide__json_knull(&j, "peak_mb");
		tide__json_knull(&j, "summary");
	}
	tide__losses_json(&j, l->m);
	tide__usage_free(&u);
	return tide__api_end(&j, real ? NULL : "the trace has no allocations", err);
}

tide_code tide__answer_memory(tide_ask *a, tide_error *err)
{
	tide_loaded *l;
	tide_json j;
	tide_code rc;
	if (tide__answer_from_exported(a, TIDE_EXPORTED_MEMORY, &rc, err))
		return rc;
	rc = tide__ask_param(a, "recording", &l, err);
	if (rc != TIDE_OK)
		return rc;
	if (l)
		return memory_of(a, l, err);
	tide__api_begin(&j, a, NULL, false);
	tide__json_karray(&j, "timeline");
	tide__json_array_end(&j);
	tide__json_knull(&j, "peak_mb");
	tide__json_knull(&j, "summary");
	return tide__api_end(&j, tide__api_none, err);
}

/* ---- timeline ---- */

struct longest { /* the longest spans of one side, kept as a heap with the shortest on top */
	uint32_t *v;
	size_t n, most;
	uint64_t seen;
};

static int64_t length(const tide_model *m, uint32_t s)
{
	return tide__span_end(m, s) - m->spans.t0[s];
}

/* Orders spans for removal: shorter ones first, the later of equals first. */
static bool worse(const tide_model *m, uint32_t x, uint32_t y)
{
	int64_t a = length(m, x), b = length(m, y);
	return a != b ? a < b : x > y;
}

static void sink(const tide_model *m, struct longest *h, size_t at)
{
	for (size_t child; (child = 2 * at + 1) < h->n; at = child) {
		if (child + 1 < h->n && worse(m, h->v[child + 1], h->v[child]))
			child++;
		if (!worse(m, h->v[child], h->v[at]))
			return;
		uint32_t t = h->v[at];
		h->v[at] = h->v[child];
		h->v[child] = t;
	}
}

static void offer(const tide_model *m, struct longest *h, uint32_t s)
{
	h->seen++;
	if (h->n < h->most) {
		size_t at = h->n++;
		h->v[at] = s;
		for (size_t up; at && (up = (at - 1) / 2, worse(m, h->v[at], h->v[up])); at = up) {
			uint32_t t = h->v[at];
			h->v[at] = h->v[up];
			h->v[up] = t;
		}
	} else if (h->n && worse(m, h->v[0], s)) {
		h->v[0] = s;
		sink(m, h, 0);
	}
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static void put_events(tide_json *j, const char *key, const tide_model *m, struct longest *h)
{
	if (h->n)
		qsort(h->v, h->n, sizeof *h->v, by_number); /* spans are in order of time */
	tide__json_karray(j, key);
	for (size_t i = 0; i < h->n; i++)
		tide__timeline_event_json(m, j, h->v[i]);
	tide__json_array_end(j);
}

static void put_streams(tide_json *j, const tide_model *m, const tide_timeline *t)
{
	char label[160];
	tide__json_kobject(j, "streams");
	for (size_t i = 0; i < t->n_lanes; i++) {
		const tide_timeline_lane *x = &t->lanes[i];
		if (m->lanes.kind[x->lane.i] != TIDE_LANE_STREAM)
			continue;
		tide__json_kobject(j, tide__lane_write_label(m, x->lane, label, sizeof label));
		tide__json_kuint(j, "count", x->count);
		tide__json_kint(j, "active_ns", x->active_ns);
		tide__json_object_end(j);
	}
	tide__json_object_end(j);
}

static tide_code timeline_of(tide_ask *a, const tide_loaded *l, tide_error *err)
{
	tide_api_window w;
	tide_timeline_options o = { 0 };
	tide_timeline t;
	int64_t limit = 1000;
	tide_json j;
	struct longest side[2] = { { 0 } };
	if (!tide__answer_get_window(a, l, &w) ||
	    !tide__request_get_int(a->req, "limit", 0, 100000, &limit) ||
	    !tide__request_get_decimal(a->req, "min_duration_us", 3, INT64_MAX, &o.min_ns))
		return tide__ask_wrong(a, err);
	tide_code rc = tide__find_timeline(l->m, &o, &t, err);
	if (rc != TIDE_OK)
		return rc;
	side[0].v = tide__alloc((size_t)limit, sizeof *side[0].v);
	side[1].v = tide__alloc((size_t)limit, sizeof *side[1].v);
	side[0].most = side[1].most = (size_t)limit;
	bool ok = side[0].v && side[1].v;
	for (uint32_t i = 1; ok && i < l->m->spans.n && l->m->spans.t0[i] < w.to; i++)
		if (tide__span_end(l->m, i) >= w.from && tide__timeline_counts(l->m, i, &o))
			offer(l->m, &side[tide__side(l->m, i) == TIDE_SIDE_GPU], i);
	if (ok) {
		tide__api_begin(&j, a, l, t.cpu_count + t.gpu_count > 0);
		tide__timeline_summary_json(&t, &j);
		put_streams(&j, l->m, &t);
		put_events(&j, "cpu", l->m, &side[0]);
		put_events(&j, "gpu", l->m, &side[1]);
		tide__json_kuint(&j, "cpu_not_shown", side[0].seen - side[0].n);
		tide__json_kuint(&j, "gpu_not_shown", side[1].seen - side[1].n);
		tide__losses_json(&j, l->m);
		bool real = t.cpu_count + t.gpu_count;
		rc = tide__api_end(&j, real ? NULL : "the trace has no spans that are work", err);
	}
	tide__free(side[0].v);
	tide__free(side[1].v);
	tide__timeline_free(&t);
	return ok ? rc : tide__nomem(err);
}

tide_code tide__answer_timeline(tide_ask *a, tide_error *err)
{
	tide_loaded *l;
	tide_json j;
	tide_code rc = tide__ask_param(a, "recording", &l, err);
	if (rc != TIDE_OK)
		return rc;
	if (l)
		return timeline_of(a, l, err);
	tide__api_begin(&j, a, NULL, false);
	tide__json_knull(&j, "summary");
	tide__json_kobject(&j, "streams");
	tide__json_object_end(&j);
	static const char *const sides[] = { "cpu", "gpu" };
	for (int i = 0; i < 2; i++) {
		tide__json_karray(&j, sides[i]);
		tide__json_array_end(&j);
	}
	return tide__api_end(&j, tide__api_none, err);
}
