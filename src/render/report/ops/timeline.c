// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/ops/timeline.h"

#include <math.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/common/stacks.h"
#include "render/text/format.h"
#include "render/text/labels.h"

char *tide__lane_write_label(const tide_model *m, tide_lane_id lane, char *buf, size_t n)
{
	uint32_t d = m->lanes.device[lane.i].i;
	tide__lane_name(m, lane, buf, n);
	size_t len = strlen(buf);
	if (d)
		snprintf(buf + len, n - len, " on %s:%" PRId64, tide__device_kind_name(m, d),
			 m->devices.index[d]);
	return buf;
}

/* ---- JSON ---- */

static void times(tide_json *j, const char *stem, const char *us_key, const char *ms_key,
		  int64_t ns, bool known)
{
	char key[64];
	snprintf(key, sizeof key, "%s_ns", stem);
	if (!known) {
		tide__json_knull(j, ms_key);
		tide__json_knull(j, us_key);
		tide__json_knull(j, key);
		return;
	}
	tide__json_kfixed(j, ms_key, (double)ns / 1e6, 6);
	tide__json_kmilli(j, us_key, ns);
	tide__json_kint(j, key, ns);
}

static void share(tide_json *j, const char *stem, int64_t part, int64_t whole, bool known)
{
	char key[64];
	double pct = known ? tide__pct(part, whole) : NAN; /* null */
	tide__json_kfixed(j, stem, pct / 100.0, 6);
	snprintf(key, sizeof key, "%s_pct", stem);
	tide__json_kfixed(j, key, pct, 4);
}

void tide__timeline_summary_json(const tide_timeline *t, tide_json *j)
{
	tide__json_kobject(j, "summary");
	bool both = t->cpu_known && t->gpu_known, any = t->cpu_known || t->gpu_known;
	times(j, "total_time", "total_time_us", "total_time_ms", t->total_ns, any);
	times(j, "cpu_active_time", "cpu_active_time_us", "cpu_time_ms", t->cpu_ns, t->cpu_known);
	times(j, "gpu_active_time", "gpu_active_time_us", "gpu_time_ms", t->gpu_ns, t->gpu_known);
	times(j, "overlap_time", "overlap_time_us", "overlap_ms", t->overlap_ns, both);
	tide__json_kint(j, "start_ns", t->t0);
	tide__json_kint(j, "end_ns", t->t1);
	if (both)
		tide__json_kint(j, "idle_time_ns",
				t->total_ns - t->cpu_ns - t->gpu_ns + t->overlap_ns);
	else
		tide__json_knull(j, "idle_time_ns");
	share(j, "cpu_utilization", t->cpu_ns, t->total_ns, t->cpu_known);
	share(j, "gpu_utilization", t->gpu_ns, t->total_ns, t->gpu_known);
	share(j, "overlap_of_gpu", t->overlap_ns, t->gpu_ns, both);
	tide__json_kuint(j, "cpu_events", t->cpu_count);
	tide__json_kuint(j, "python_events", t->python_count);
	tide__json_kuint(j, "gpu_events", t->gpu_count);
	tide__json_kuint(j, "left_out_events", t->left_out);
	tide__json_kuint(j, "not_work_events", t->not_work);
	tide__json_object_end(j);
}

#define LANE_COLS(pid)                                                                             \
	{                                                                                          \
		{ "lane", "Lane", TIDE_CELL_TEXT }, { "side", "Side", TIDE_CELL_TEXT },            \
			{ "kind", NULL, TIDE_CELL_TEXT }, { "number", NULL, TIDE_CELL_COUNT },     \
			{ "device", NULL, TIDE_CELL_COUNT },                                       \
			{ "device_kind", NULL, TIDE_CELL_TEXT },                                   \
			{ "pid", pid, TIDE_CELL_PLAIN, 4 }, { "count", "Spans", TIDE_CELL_COUNT }, \
			{ "active_ns", "Active", TIDE_CELL_NS },                                   \
			{ "utilization_pct", "of total", TIDE_CELL_PCT },                          \
			{ "overlap_ns", "Both sides", TIDE_CELL_NS, 5 },                           \
			{ "sum_ns", "Durations", TIDE_CELL_NS, 6 },                                \
			{ "first_ns", NULL, TIDE_CELL_COUNT },                                     \
			{ "last_ns", NULL, TIDE_CELL_COUNT },                                      \
	}
enum { N_LANE_COLS = 14 };
static const tide_grid_col lane_cols[N_LANE_COLS] = LANE_COLS(NULL);
static const tide_grid_col process_cols[N_LANE_COLS] = LANE_COLS("Process");

/* Returns true if there are threads of several processes, whose numbers alone are ambiguous. */
static bool several_processes(const tide_model *m, const tide_timeline *t)
{
	uint32_t first = 0;
	for (size_t i = 0; i < t->n_lanes; i++) {
		uint32_t l = t->lanes[i].lane.i, p = m->lanes.process[l].i;
		if (m->lanes.kind[l] != TIDE_LANE_THREAD || !p)
			continue;
		if (first && p != first)
			return true;
		first = p;
	}
	return false;
}

static const char *side_text(tide_side side)
{
	return side == TIDE_SIDE_GPU ? "gpu" : "cpu";
}

static void time_cell(tide_grid *g, const tide_model *m, int64_t ns)
{
	if (m->axis == TIDE_AXIS_TIME)
		tide__grid_int(g, ns);
	else
		tide__grid_none(g);
}

tide_grid *tide__timeline_lanes(const tide_model *m, const tide_timeline *t, size_t top)
{
	tide_grid *g =
		tide__grid_new(several_processes(m, t) ? process_cols : lane_cols, N_LANE_COLS);
	char label[160];
	for (size_t i = 0; g && i < t->n_lanes && (!top || i < top); i++) {
		const tide_timeline_lane *l = &t->lanes[i];
		uint32_t d = m->lanes.device[l->lane.i].i, p = m->lanes.process[l->lane.i].i;
		tide__grid_text(g, tide__lane_write_label(m, l->lane, label, sizeof label));
		tide__grid_text(g, side_text(l->side));
		tide__grid_text(g, tide__lane_kind_text(m->lanes.kind[l->lane.i]));
		tide__grid_int(g, m->lanes.number[l->lane.i]);
		if (d) {
			tide__grid_int(g, m->devices.index[d]);
			tide__grid_text(g, tide__device_kind_name(m, d));
		} else {
			tide__grid_none(g);
			tide__grid_none(g);
		}
		if (p)
			tide__grid_int(g, m->processes.pid[p]);
		else
			tide__grid_none(g);
		tide__grid_uint(g, l->count);
		time_cell(g, m, l->active_ns);
		tide__grid_real(g, m->axis == TIDE_AXIS_TIME ? tide__pct(l->active_ns, t->total_ns)
							     : NAN);
		if (t->cpu_known && t->gpu_known)
			time_cell(g, m, l->overlap_ns);
		else
			tide__grid_none(g);
		time_cell(g, m, l->sum_ns);
		tide__grid_int(g, l->t0);
		tide__grid_int(g, l->t1);
	}
	if (g && !tide__grid_failed(g))
		return g;
	tide__grid_free(g);
	return NULL;
}

/* Reads "FILE(LINE): FUNCTION", as the trace names Python functions; false if it is none. */
static bool python_place(const tide_model *m, size_t i, size_t *n, uint64_t *line)
{
	size_t len;
	const char *s = tide__text(m, m->spans.name[i], &len), *open = memchr(s, '(', len);
	if (m->spans.cat[i] != TIDE_CAT_PYTHON || !open || open == s)
		return false;
	const char *p = open + 1, *end = s + len;
	for (*line = 0; p < end && *p >= '0' && *p <= '9' && *line < 100000000; p++)
		*line = *line * 10 + (uint64_t)(*p - '0');
	*n = (size_t)(open - s);
	return p > open + 1 && p < end && *p == ')';
}

/* Writes the source location of a host event: of a Python function from its name, of others from
 * their call stack. */
static void put_place(const tide_model *m, tide_json *j, size_t i)
{
	size_t n;
	uint64_t line;
	tide_frame_id f = { 0 };
	if (python_place(m, i, &n, &line)) {
		tide__json_kstrn(j, "file", tide__text(m, m->spans.name[i], NULL), n);
		tide__json_kuint(j, "line", line);
		return;
	}
	if (m->spans.stack[i].i)
		f = tide__stack_main_frame(m, m->spans.stack[i]);
	if (f.i && m->frames.file[f.i].i)
		tide__json_ktext(j, "file", m, m->frames.file[f.i]);
	else
		tide__json_knull(j, "file");
	tide__json_kuint_if(j, "line", f.i && m->frames.line[f.i], f.i ? m->frames.line[f.i] : 0);
}

void tide__timeline_event_json(const tide_model *m, tide_json *j, size_t i)
{
	uint32_t lane = m->spans.lane[i].i, p = m->lanes.process[lane].i;
	uint32_t d = m->lanes.device[lane].i;
	char device[64];
	int64_t t0 = m->spans.t0[i], ns = tide__span_end(m, i) - t0;
	tide__json_object(j);
	tide__json_ktext(j, "name", m, m->spans.name[i]);
	tide__json_kstr(j, "cat", tide__cat_text(m->spans.cat[i]));
	tide__json_kfixed(j, "start_ms", (double)t0 / 1e6, 6);
	tide__json_kfixed(j, "duration_ms", (double)ns / 1e6, 6);
	tide__json_kint(j, "start_ns", t0);
	tide__json_kint(j, "duration_ns", ns);
	tide__json_kint(j, m->lanes.kind[lane] == TIDE_LANE_STREAM ? "stream" : "tid",
			m->lanes.number[lane]);
	if (d)
		tide__json_kstr(j, "device", tide__device_name(m, d, device, sizeof device));
	if (p)
		tide__json_kint(j, "pid", m->processes.pid[p]);
	if (m->lanes.kind[lane] != TIDE_LANE_STREAM)
		put_place(m, j, i);
	tide__json_object_end(j);
}

void tide__timeline_events_json(const tide_model *m, const tide_timeline_options *opt, tide_json *j)
{
	for (int gpu = 0; gpu < 2; gpu++) {
		tide__json_karray(j, gpu ? "gpu_timeline" : "cpu_timeline");
		for (size_t i = 1; i < m->spans.n; i++)
			if (tide__timeline_counts(m, i, opt) &&
			    (tide__side(m, i) == TIDE_SIDE_GPU) == gpu)
				tide__timeline_event_json(m, j, i);
		tide__json_array_end(j);
	}
}

/* ---- text ---- */

enum { LABEL = 24 };

static void strip(FILE *out, const tide_style *style, const tide_timeline *t,
		  const tide_interval_set *c, const char *label)
{
	static const char *const high[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char low[] = " .:-=+*%#";
	int cells = (style->width ? style->width : 100) - LABEL - 4;
	char name[LABEL * 4 + 8];
	tide__fmt_name(name, sizeof name, label, strlen(label), LABEL);
	fprintf(out, "%s%*s |", name, LABEL - tide__columns(name, strlen(name)), "");
	for (int i = 0; i < cells; i++) {
		int64_t a = t->t0 + (int64_t)((double)t->total_ns * i / cells);
		int64_t b = t->t0 + (int64_t)((double)t->total_ns * (i + 1) / cells);
		int64_t busy = tide__interval_set_inside_ns(c, a, b);
		int k = busy <= 0 || b <= a ? 0 : 1 + (int)(7.0 * (double)busy / (double)(b - a));
		if (style->ascii)
			fputc(low[k], out);
		else
			fputs(high[k], out);
	}
	fputs("|\n", out);
}

static void figure(FILE *out, const char *what, int64_t ns, int64_t whole, const char *of)
{
	char buf[32];
	fprintf(out, "%-12s %14s", what, tide__fmt_ns(buf, sizeof buf, (double)ns));
	if (whole)
		fprintf(out, "  %5.1f %% of %s", tide__pct(ns, whole), of);
	fputc('\n', out);
}

static void strips(const tide_model *m, const tide_timeline *t, FILE *out, const tide_style *style,
		   size_t top)
{
	char label[160];
	for (size_t i = 0; i < t->n_lanes && (!top || i < top); i++)
		strip(out, style, t, &t->lanes[i].cover,
		      tide__lane_write_label(m, t->lanes[i].lane, label, sizeof label));
	if (top && top < t->n_lanes)
		fprintf(out, "%zu more lanes are not shown (--top 0 shows all)\n",
			t->n_lanes - top);
	fputc('\n', out);
}

void tide__timeline_print(const tide_model *m, const tide_timeline *t, FILE *out,
			  const tide_style *style, size_t top)
{
	char label[160];
	if (m->axis == TIDE_AXIS_OPS) {
		fputs("The source has no clock: times are unknown. Strips run over operations.\n\n",
		      out);
		strips(m, t, out, style, top);
		return;
	}
	fprintf(out, "%-12s %14s  from the first work to the end of the last\n", "Total",
		tide__fmt_ns(label, sizeof label, (double)t->total_ns));
	if (t->cpu_known)
		figure(out, "CPU active", t->cpu_ns, t->total_ns, "total");
	else
		fprintf(out, "%-12s %14s  no host work was recorded\n", "CPU active", "unknown");
	if (t->gpu_known)
		figure(out, "GPU active", t->gpu_ns, t->total_ns, "total");
	else
		fprintf(out, "%-12s %14s  no kernels were recorded\n", "GPU active", "unknown");
	if (t->cpu_known && t->gpu_known) {
		figure(out, "Overlap", t->overlap_ns, t->gpu_ns, "GPU active");
		figure(out, "Neither", t->total_ns - t->cpu_ns - t->gpu_ns + t->overlap_ns,
		       t->total_ns, "total");
	}
	fputc('\n', out);
	if (t->cpu_known)
		strip(out, style, t, &t->cpu, "CPU");
	if (t->gpu_known)
		strip(out, style, t, &t->gpu, "GPU");
	strips(m, t, out, style, top);
}

tide_code tide__timeline_text(const tide_model *m, const tide_timeline *t, size_t top,
			      const tide_out *to)
{
	char out[32];
	if (!t->cpu_count && !t->gpu_count) {
		if (t->not_work)
			fprintf(to->out,
				"the trace has no ops and no device work, only ranges and waits "
				"(%" PRIu64 "): `tidemark ops` lists them\n",
				t->not_work);
		else
			fputs("the trace has no host spans and no device work\n", to->out);
		tide__put_model_losses(to, m);
		return TIDE_OK;
	}
	tide_grid *g = tide__timeline_lanes(m, t, top);
	if (!g)
		return TIDE_ENOMEM;
	tide__timeline_print(m, t, to->out, &to->style, top);
	tide__grid_print(g, to->out, &to->style, 0);
	tide__grid_free(g);
	if (t->python_count)
		fprintf(to->out,
			"\n%s Python functions count as CPU work (--no-python leaves them out)\n",
			tide__fmt_count(out, sizeof out, (int64_t)t->python_count));
	if (t->left_out)
		fprintf(to->out, "\n%s spans were left out by the options\n",
			tide__fmt_count(out, sizeof out, (int64_t)t->left_out));
	tide__put_model_losses(to, m);
	return TIDE_OK;
}

tide_code tide__timeline_json(const tide_model *m, const tide_timeline *t,
			      const tide_timeline_options *o, const char *file, bool events,
			      tide_json *j)
{
	tide_grid *g = tide__timeline_lanes(m, t, 0);
	if (!g)
		return TIDE_ENOMEM;
	tide__json_object(j);
	tide__json_kstr(j, "trace", file);
	tide__start_json(j, m);
	tide__timeline_summary_json(t, j);
	tide__grid_write_member(g, j, "lanes");
	if (events)
		tide__timeline_events_json(m, o, j);
	tide__losses_json(j, m);
	tide__json_object_end(j);
	return TIDE_OK;
}
