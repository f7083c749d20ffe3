// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The first section: enough for the overview and the minimap, small enough to be available at
 * once. Curves have the highest live bytes and the active part of each of BUCKETS equal time
 * intervals. */
#include <string.h>

#include "analyze/common/step_boundaries.h"
#include "analyze/memory/curve.h"
#include "analyze/memory/heap.h"
#include "analyze/memory/ledger/device_ledger.h"
#include "analyze/memory/sampled.h"
#include "analyze/timeline/timeline.h"
#include "analyze/live/usage.h"
#include "base/error.h"
#include "render/page/page_parts.h"
#include "render/report/hints.h"
#include "model/names.h"

enum { BUCKETS = 1024, SMALL = 128, MOST_CURVES = 64 };

static void text_member(tide_json *j, const char *key, const tide_model *m, tide_str s)
{
	s.i ? tide__json_ktext(j, key, m, s) : tide__json_knull(j, key);
}

static void identity(tide_json *j, const tide_model *m)
{
	const char *slash = m->path ? strrchr(m->path, '/') : NULL;
	tide__json_kstr(j, "file", slash ? slash + 1 : m->path);
	tide__json_kstr(j, "format", m->format);
	tide__json_kint(j, "t_end", m->t_end);
	tide__json_kstr(j, "axis", tide__axis_text(m->axis));
	tide__json_kbool(j, "ledger", tide__has_ledger(m));
	tide__json_kint_if(j, "wall0_ns", m->wall_known, m->wall0_ns);
	tide__json_kuint(j, "spans", m->spans.n - 1);
	tide__json_kuint(j, "allocs", m->allocs.n - 1);
	tide__json_kuint(j, "events", m->memory_events.n);
	tide__json_karray(j, "processes");
	for (size_t i = 1; i < m->processes.n && i <= 64; i++) {
		tide__json_object(j);
		tide__json_kint(j, "pid", m->processes.pid[i]);
		tide__json_kint(j, "rank", m->processes.rank[i]);
		tide__json_kint(j, "world", m->processes.world[i]);
		text_member(j, "command", m, m->processes.command[i]);
		text_member(j, "host", m, m->processes.host[i]);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

/* Writes the samples of a device without allocations; null if it has allocations. */
static void sampled_json(tide_json *j, const tide_sampled_device *s)
{
	tide__json_key(j, "sampled");
	if (!s->n) {
		tide__json_null(j);
		return;
	}
	tide__json_object(j);
	tide__json_kuint(j, "peak", s->peak);
	tide__json_kint(j, "peak_t", s->peak_t);
	tide__json_kmaybe(j, "own_peak", s->own_peak);
	tide__json_kint(j, "own_since", s->own_since);
	tide__json_kint(j, "own_told", s->own_told);
	tide__json_kuint(j, "last", s->bytes);
	tide__json_kuint(j, "samples", s->n);
	tide__json_object_end(j);
}

static void device_json(tide_json *j, const tide_model *m, uint32_t d, const tide_level *l,
			const tide_sampled_device *s)
{
	char name[64];
	tide__json_object(j);
	tide__json_kstr(j, "device", tide__device_name(m, d, name, sizeof name));
	text_member(j, "name", m, m->devices.name[d]);
	tide__json_kuint(j, "capacity", m->devices.capacity[d]);
	tide__json_kuint(j, "peak", l->peak);
	tide__json_kint(j, "peak_t", l->peak_t);
	tide__json_kuint(j, "peak_count", l->peak_count);
	tide__json_kuint(j, "live", l->bytes);
	tide__json_kuint(j, "count", l->count);
	tide__json_kuint(j, "allocs", l->allocs);
	tide__json_kmaybe(j, "reserved_peak", l->reserved_peak);
	tide__json_kstr(j, "reserved_source", tide__reserved_text(l->source));
	sampled_json(j, s);
	tide__json_object_end(j);
}

static void small_curve(tide_box *b, int col, const uint64_t *v)
{
	uint64_t highest[SMALL];
	tide__curve_keep_highest(v, BUCKETS, TIDE_SAMPLED_NONE, SMALL, highest);
	for (size_t i = 0; i < SMALL; i++)
		tide__box_put(b, col, (int64_t)highest[i]);
}

static bool memory(tide_box *b, const tide_model *m, tide_error *err)
{
	tide_json *j = tide__box_json(b);
	tide_usage u = { 0 };
	tide_sampled s = { 0 };
	int col = tide__box_add_column(b, "live", TIDE_COL_DELTA);
	int each = tide__box_add_column(b, "each", TIDE_COL_DELTA);
	bool ok = tide__find_usage(m, UINT64_MAX, BUCKETS, &u, err) == TIDE_OK &&
		  tide__find_sampled(m, INT64_MAX, BUCKETS, &s, err) == TIDE_OK;
	uint32_t highest = ok ? tide__usage_highest(&u) : 0;
	tide__json_kuint(j, "device", highest);
	tide__json_key(j, "devices"); /* row 0 is none */
	tide__json_array(j);
	for (uint32_t d = 0; ok && d < u.n_devices; d++)
		device_json(j, m, d, &u.devices[d], &s.devices[d]);
	tide__json_array_end(j);
	for (size_t i = 0; ok && i < BUCKETS; i++)
		tide__box_put(b, col, (int64_t)u.live_series[highest * u.buckets + i]);
	for (uint32_t d = 0; ok && d < u.n_devices && d < MOST_CURVES; d++)
		small_curve(b, each, (s.devices[d].n ? s.series : u.live_series) + d * u.buckets);
	if (ok && highest)
		ok = tide__page_write_peak_groups(j, m, highest, u.devices[highest].peak_position,
						  err);
	tide__usage_free(&u);
	tide__sampled_free(&s);
	return ok;
}

/* Writes the errors of a sampled heap, whose figures are estimates; null otherwise. */
static bool heap_errors(tide_json *j, const tide_model *m, tide_error *err)
{
	tide_heap h = { 0 };
	bool sampled = tide__heap_mean(m) > 0, ok = true;
	if (!sampled) {
		tide__json_knull(j, "heap");
		return true;
	}
	ok = tide__heap_report_find(m, &h, err) == TIDE_OK;
	tide__json_kobject(j, "heap");
	tide__json_kuint(j, "peak_bytes", ok ? h.total.peak : 0);
	tide__json_kint(j, "peak_error_bytes", ok ? (int64_t)h.peak_error : 0);
	tide__json_kint(j, "left_error_bytes", ok ? (int64_t)h.left_error : 0);
	tide__json_object_end(j);
	tide__heap_report_free(&h);
	return ok;
}

/* Writes the active millionths of each interval. */
static void activity(tide_box *b, const char *name, const tide_interval_set *c, int64_t t_end)
{
	int64_t part[BUCKETS];
	int col = tide__box_add_column(b, name, TIDE_COL_DELTA);
	tide__interval_set_shares(c, t_end, BUCKETS, part);
	for (size_t i = 0; i < BUCKETS; i++)
		tide__box_put(b, col, part[i]);
}

static bool time_sums(tide_box *b, const tide_model *m, tide_error *err)
{
	tide_json *j = tide__box_json(b);
	tide_timeline t = { 0 };
	/* without a clock times are unknown: 0, as if nothing had been active */
	bool ok = m->axis != TIDE_AXIS_TIME || tide__find_timeline(m, NULL, &t, err) == TIDE_OK;
	if (ok) {
		tide__json_kint(j, "cpu_ns", t.cpu_ns);
		tide__json_kint(j, "gpu_ns", t.gpu_ns);
		tide__json_kint(j, "overlap_ns", t.overlap_ns);
		tide__json_kint(j, "total_ns", t.total_ns);
		activity(b, "cpu", &t.cpu, m->t_end);
		activity(b, "gpu", &t.gpu, m->t_end);
	}
	tide__timeline_free(&t);
	return ok;
}

static void marks(tide_json *j, const tide_model *m)
{
	size_t phases = 0;
	tide__json_key(j, "marks"); /* phases are in the tables */
	tide__json_array(j);
	for (size_t i = 1; i < m->marks.n; i++) {
		if (m->marks.kind[i] == TIDE_MARK_PHASE) {
			phases++;
			continue;
		}
		tide__json_object(j);
		tide__json_kstr(j, "kind", tide__mark_kind_text(m->marks.kind[i]));
		tide__json_kint(j, "t", m->marks.t[i]);
		tide__json_kint(j, "value", m->marks.value[i]);
		tide__json_kint(j, "extra", m->marks.extra[i]);
		tide__json_kuint(j, "device", m->pools.device[m->marks.pool[i].i].i);
		text_member(j, "name", m, m->marks.name[i]);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
	tide__json_kuint(j, "phases", phases);
}

static bool steps(tide_json *j, const tide_model *m, tide_error *err)
{
	tide_steps s;
	bool ok = tide__steps_find(m, &s, err) == TIDE_OK;
	if (ok) {
		tide__json_kuint(j, "steps", s.n);
		tide__json_kbool(j, "unended_step", s.unended);
	}
	tide__steps_free(&s);
	return ok;
}

/* Commands for a terminal in the folder of the file. */
static void hints_json(tide_json *j, const tide_model *m)
{
	tide_hint hints[TIDE_HINTS];
	const char *slash = m->path ? strrchr(m->path, '/') : NULL;
	size_t n = tide__hints_find(tide__holds(m), hints);
	tide__hints_json(hints, n, slash ? slash + 1 : m->path, j);
}

bool tide__page_write_main(tide_box *b, const tide_model *m, const tide_page_options *opt,
			   tide_error *err)
{
	tide_json *j = tide__box_json(b);
	tide__json_object(j);
	identity(j, m);
	tide__json_key(j, "only");
	opt->only ? tide__json_str(j, opt->only) : tide__json_null(j);
	tide__json_kstr(j, "losses", opt->losses);
	hints_json(j, m);
	bool ok = memory(b, m, err) && heap_errors(j, m, err) && time_sums(b, m, err) &&
		  tide__page_write_findings(j, m, opt, err) && steps(j, m, err);
	marks(j, m);
	tide__json_object_end(j);
	return ok;
}
