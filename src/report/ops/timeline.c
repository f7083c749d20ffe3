// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* timeline: active time of CPU and GPU and their overlap, per lane and stream. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "render/report/ops/timeline.h"
#include "render/text/format.h"
#include "report/report.h"

enum { O_TOP, O_EVENTS, O_MIN_US, O_NO_PYTHON, O_NO_RUNTIME };
static const tide_option options[] = {
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "lanes to show, 0 = all; JSON has all",
		    .def = "20", .whole = true, TIDE_FIELD(tide_timeline_report_options, top) },
	[O_EVENTS] = { "events", 0, TIDE_OPT_FLAG, NULL, "with --json: every span too",
		       TIDE_FIELD(tide_timeline_report_options, events) },
	[O_MIN_US] = { "min-duration-us", 0, TIDE_OPT_DECIMAL, "US",
		       "leave out shorter spans (default 0)", .decimals = 3,
		       TIDE_FIELD(tide_timeline_report_options, min_duration_ns) },
	[O_NO_PYTHON] = { "no-python", 0, TIDE_OPT_FLAG, NULL, "leave out Python functions",
			  TIDE_FIELD(tide_timeline_report_options, no_python) },
	[O_NO_RUNTIME] = { "no-runtime", 0, TIDE_OPT_FLAG, NULL,
			   "leave out runtime and driver calls",
			   TIDE_FIELD(tide_timeline_report_options, no_runtime) },
};

struct timeline {
	const tide_model *m;
	const char *file;
	tide_timeline t;
	tide_timeline_options o;
	bool events;
	size_t top;
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct timeline *x = result;
	const tide_value *v = ask->opt;
	if (v[O_EVENTS].set && !ask->document)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "%sevents goes with %sjson",
				  ask->dashes, ask->dashes);
	x->m = ask->models[0];
	x->file = tide__ask_file(ask, 0);
	x->o = (tide_timeline_options){ .min_ns = v[O_MIN_US].num,
					.no_python = v[O_NO_PYTHON].set,
					.no_runtime = v[O_NO_RUNTIME].set };
	x->events = v[O_EVENTS].set;
	x->top = (size_t)v[O_TOP].num;
	return tide__find_timeline(x->m, &x->o, &x->t, err);
}

/* ---- lanes ---- */

#define LANE_COLS(pid)                                                                        \
	{                                                                                     \
		TIDE_COLUMN("lane", "Lane", TEXT, 0, "thread or stream"),                     \
			TIDE_COLUMN("side", "Side", TEXT, 0, "cpu or gpu"),                   \
			TIDE_COLUMN("kind", NULL, TEXT, 0, "thread, stream ..."),             \
			TIDE_COLUMN("number", NULL, PLAIN, 0, "its number"),                  \
			TIDE_COLUMN("device", NULL, PLAIN, TIDE_MAY_BE_NULL,                  \
				    "its device's number"),                                   \
			TIDE_COLUMN("device_kind", NULL, TEXT, TIDE_MAY_BE_NULL, "cuda ..."), \
			{ "pid", pid, TIDE_KIND_PLAIN, 4, TIDE_MAY_BE_NULL, "its process" },  \
			TIDE_COLUMN("count", "Spans", COUNT, 0, "spans"),                     \
			TIDE_COLUMN("active_ns", "Active", NS, TIDE_MAY_BE_NULL,              \
				    "union of its spans"),                                    \
			TIDE_COLUMN("utilization_pct", "of total", PCT, TIDE_MAY_BE_NULL,     \
				    "active of the total time"),                              \
			{ "overlap_ns",	    "Both sides",                                     \
			  TIDE_KIND_NS,	    5,                                                \
			  TIDE_MAY_BE_NULL, "active while the other side is" },               \
			{ "sum_ns", "Durations",      TIDE_KIND_NS,                           \
			  6,	    TIDE_MAY_BE_NULL, "sum of the durations" },               \
			TIDE_COLUMN("first_ns", NULL, AT, 0, "start of its first span"),      \
			TIDE_COLUMN("last_ns", NULL, AT, 0, "end of its last span"), { 0 },   \
	}
enum { N_LANE_COLS = 14 };
static const tide_member lane_cols[] = LANE_COLS(NULL);
static const tide_member process_cols[] = LANE_COLS("Process");

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

static tide_grid *find_lanes(const tide_model *m, const tide_timeline *t, size_t top)
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

static void print_figures(const tide_model *m, const tide_timeline *t, FILE *out,
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

static tide_code write_text(void *result, const tide_out *to)
{
	struct timeline *x = result;
	const tide_timeline *t = &x->t;
	char out[32];
	if (!t->cpu_count && !t->gpu_count) {
		if (t->not_work)
			fprintf(to->out,
				"the trace has no ops and no device work, only ranges and waits "
				"(%" PRIu64 "): `tidemark ops` lists them\n",
				t->not_work);
		else
			fputs("the trace has no host spans and no device work\n", to->out);
		tide__put_model_losses(to, x->m);
		return TIDE_OK;
	}
	tide_grid *g = find_lanes(x->m, t, x->top);
	if (!g)
		return TIDE_ENOMEM;
	print_figures(x->m, t, to->out, &to->style, x->top);
	tide__grid_write(g, to, 0);
	if (t->python_count)
		fprintf(to->out,
			"\n%s Python functions count as CPU work (--no-python leaves them out)\n",
			tide__fmt_count(out, sizeof out, (int64_t)t->python_count));
	if (t->left_out)
		fprintf(to->out, "\n%s spans were left out by the options\n",
			tide__fmt_count(out, sizeof out, (int64_t)t->left_out));
	tide__put_model_losses(to, x->m);
	return TIDE_OK;
}

/* ---- JSON ---- */

static void write_events(const tide_model *m, const tide_timeline_options *opt, tide_json *j)
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

static tide_code write_json(void *result, tide_json *j)
{
	struct timeline *x = result;
	tide_grid *g = find_lanes(x->m, &x->t, 0);
	if (!g)
		return TIDE_ENOMEM;
	tide__json_kstr(j, "trace", x->file);
	tide__start_json(j, x->m);
	tide__timeline_summary_json(&x->t, j);
	tide__grid_write_member(g, j, "lanes");
	if (x->events)
		write_events(x->m, &x->o, j);
	tide__losses_json(j, x->m);
	return TIDE_OK;
}

static void free_timeline(void *result)
{
	tide__timeline_free(&((struct timeline *)result)->t);
}

#define TIMES(ms, us, ns, text)                                                                 \
	TIDE_MEMBER_MAYBE(ms, REAL, text " in ms"), TIDE_MEMBER_MAYBE(us, REAL, text " in us"), \
		TIDE_MEMBER_MAYBE(ns, NS, text)
#define SHARE(key, text) \
	TIDE_MEMBER_MAYBE(key, REAL, text ", from 0 to 1"), TIDE_MEMBER_MAYBE(key "_pct", PCT, text)
static const tide_member summary[] = {
	TIMES("total_time_ms", "total_time_us", "total_time_ns",
	      "from the first work to the end of the last"),
	TIMES("cpu_time_ms", "cpu_active_time_us", "cpu_active_time_ns", "union of host spans"),
	TIMES("gpu_time_ms", "gpu_active_time_us", "gpu_active_time_ns", "union of device spans"),
	TIMES("overlap_ms", "overlap_time_us", "overlap_time_ns", "intersection of the two"),
	TIDE_MEMBER("start_ns", AT, "start of the first work"),
	TIDE_MEMBER("end_ns", AT, "end of the last"),
	TIDE_MEMBER_MAYBE("idle_time_ns", NS, "neither side is active"),
	SHARE("cpu_utilization", "active host time of the total time"),
	SHARE("gpu_utilization", "active device time of the total time"),
	SHARE("overlap_of_gpu", "overlap of the active device time"),
	TIDE_MEMBER("cpu_events", COUNT, "host spans"),
	TIDE_MEMBER("python_events", COUNT, "Python functions among them"),
	TIDE_MEMBER("gpu_events", COUNT, "device spans"),
	TIDE_MEMBER("left_out_events", COUNT, "spans that the options leave out"),
	TIDE_MEMBER("not_work_events", COUNT, "ranges, waits and the profiler's own overhead"),
	{ 0 },
};
static const tide_member event[] = {
	TIDE_MEMBER("name", TEXT, "name of the span"),
	TIDE_MEMBER("cat", TEXT, "what it is: op, kernel, runtime ..."),
	TIDE_MEMBER("start_ms", REAL, "start in ms"),
	TIDE_MEMBER("duration_ms", REAL, "duration in ms"),
	TIDE_MEMBER("start_ns", AT, "start"),
	TIDE_MEMBER("duration_ns", NS, "duration"),
	TIDE_MEMBER_IF("stream", PLAIN, "number of its stream"),
	TIDE_MEMBER_IF("tid", PLAIN, "number of its thread"),
	TIDE_MEMBER_IF("device", TEXT, "device, if it has one"),
	TIDE_MEMBER_IF("pid", PLAIN, "process, if known"),
	{ "file", NULL, TIDE_KIND_TEXT, .may = TIDE_MAY_BE_NULL | TIDE_MAY_BE_ABSENT,
	  .meaning = "source file; of host spans only" },
	{ "line", NULL, TIDE_KIND_COUNT, .may = TIDE_MAY_BE_NULL | TIDE_MAY_BE_ABSENT,
	  .meaning = "line in it" },
	{ 0 },
};
static const tide_member members[] = {
	TIDE_MEMBER("trace", TEXT, "name of the trace"),
	TIDE_MEMBERS_START,
	TIDE_MEMBER_OF("summary", OBJECT, summary, "times of the whole trace"),
	TIDE_MEMBER_OF("lanes", TABLE, lane_cols, "threads and streams"),
	{ "cpu_timeline", NULL, TIDE_KIND_TABLE, .may = TIDE_MAY_BE_ABSENT, .members = event,
	  .meaning = "with events: host spans" },
	{ "gpu_timeline", NULL, TIDE_KIND_TABLE, .may = TIDE_MAY_BE_ABSENT, .members = event,
	  .meaning = "with events: device spans" },
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_timeline = {
	.name = "timeline",
	.group = TIDE_GROUP_TIME,
	.want = TIDE_WANT_SPANS,
	.summary = "show when CPU and GPU were active, and their overlap",
	.help = "Active time is the union of all spans of a side, so nested and concurrent ones "
		"count once; overlap is the intersection of the two unions. User ranges, sync rows "
		"and the profiler's own overhead are not work. A strip shows a lane over time: the "
		"height of a cell is the active share of its interval.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.struct_size = sizeof(tide_timeline_report_options),
	.page = "timeline",
	.list = "traces",
	.compact = "events",
	.size = sizeof(struct timeline),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_timeline,
};
