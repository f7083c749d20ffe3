// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include <inttypes.h>
#include <math.h>

#include "analyze/device/stragglers.h"
#include "render/report/device/hta.h"
#include "render/text/kernel_name.h"

static void name_cell(tide_grid *g, const tide_hta *texts, tide_str s)
{
	size_t n;
	const char *text = tide__hta_str(texts, s, &n);
	if (s.i)
		tide__grid_textn(g, text, n);
	else
		tide__grid_none(g);
}

/* A column, and one that may be unknown. */
#define COL(key, heading, kind, give, text)                   \
	{                                                     \
		key, heading, TIDE_KIND_##kind, give, 0, text \
	}
#define MAY(key, heading, kind, give, text)                                  \
	{                                                                    \
		key, heading, TIDE_KIND_##kind, give, TIDE_MAY_BE_NULL, text \
	}
/* count, sum, mean, min, max, std; `give` = whether the first two may go as well (grid.h). */
#define STAT_COLS(give)                                                                          \
	COL("count", "Count", COUNT, give, "rows"),                                              \
		COL("sum_ns", "Total", NS, give, "sum of their durations"),                      \
		COL("mean_ns", "Mean", NS, 5, "mean duration"),                                  \
		COL("min_ns", "Min", NS, 8, "shortest"), COL("max_ns", "Max", NS, 6, "longest"), \
		COL("std_ns", "Std", NS, 9, "standard deviation, of the whole number")

static void stat_cells(tide_grid *g, const tide_stat *s)
{
	tide__grid_uint(g, s->n);
	tide__grid_int(g, tide__stat_sum(s));
	tide__grid_int(g, tide__stat_mean(s));
	tide__grid_int(g, s->n ? s->min : 0);
	tide__grid_int(g, s->n ? s->max : 0);
	tide__grid_int(g, tide__stat_std(s));
}

static size_t limit(size_t n, size_t top)
{
	return top && top < n ? top : n;
}

static int64_t all_time(const tide_hta *sum)
{
	int64_t ns = 0;
	for (int t = 0; t < TIDE_GPU_TYPES; t++)
		ns = tide__add_sat(ns, sum->h.sum_of[t]);
	return ns;
}

#define COUNT_OF(a) (sizeof(a) / sizeof *(a))

static void number_cell(tide_grid *g, int64_t v)
{
	if (v < 0)
		tide__grid_none(g);
	else
		tide__grid_int(g, v);
}

static void text_cell(tide_grid *g, const tide_hta *sum, tide_str s)
{
	if (s.i)
		tide__grid_name(g, sum->strings, s.i);
	else
		tide__grid_none(g);
}

static void short_cell(tide_grid *g, const tide_hta *sum, tide_str s)
{
	char brief[TIDE_KERNEL_NAME];
	size_t n;
	const char *name = tide__hta_str(sum, s, &n);
	tide__grid_textn(g, brief, tide__kernel_shorten(name, n, brief));
}

/* Adds the cells of the longest launch. */
static void launch_cells(tide_grid *g, const tide_hta *sum, const tide_hta_kernel *k)
{
	number_cell(g, k->device);
	number_cell(g, k->stream);
	text_cell(g, sum, k->grid);
	text_cell(g, sum, k->block);
	number_cell(g, k->registers);
	number_cell(g, k->shared);
}

const tide_member tide__hta_kernel_columns[] = {
	MAY("pct", "Share", PCT, 0, "share of the time of all rows"),
	STAT_COLS(0),
	MAY("p50_ns", "p50", NS, 8, "50th percentile of the durations"),
	MAY("p90_ns", NULL, NS, 0, "90th percentile"),
	MAY("p95_ns", NULL, NS, 0, "95th percentile"),
	MAY("p99_ns", "p99", NS, 7, "99th percentile"),
	COL("custom_collective", NULL, COUNT, 0, "1: counted as a custom collective"),
	MAY("device", NULL, PLAIN, 0, "number of the device"),
	MAY("stream", NULL, PLAIN, 0, "number of the stream"),
	MAY("grid", NULL, SIZES, 0, "grid of the longest launch"),
	MAY("block", NULL, SIZES, 0, "block of the longest launch"),
	MAY("registers_per_thread", NULL, COUNT, 0, "of the longest launch"),
	MAY("shared_memory_bytes", NULL, COUNT, 0, "of the longest launch"),
	COL("short_name", NULL, TEXT, 0, "short form of the name"),
	COL("type", "Type", TEXT, 0, "compute, communication, memory or other"),
	MAY("name", "Kernel", KERNEL, 0, "name"),
	{ 0 },
};

tide_grid *tide__grid_kernels(const tide_hta *sum, size_t top)
{
	tide_grid *g =
		tide__grid_new(tide__hta_kernel_columns, COUNT_OF(tide__hta_kernel_columns) - 1);
	int64_t all = all_time(sum);
	for (size_t i = 0; i < limit(sum->kernels.n, top); i++) {
		const tide_hta_kernel *k = &sum->kernels.v[i];
		tide__grid_real(g, tide__share_pct(tide__stat_sum(&k->dur), all));
		stat_cells(g, &k->dur);
		for (int p = 0; p < TIDE_PCTS; p++)
			k->pct_known ? tide__grid_int(g, k->pct[p]) : tide__grid_none(g);
		tide__grid_uint(g, k->custom);
		launch_cells(g, sum, k);
		short_cell(g, sum, k->name);
		tide__grid_text(g, tide__gpu_type_text[k->type]);
		name_cell(g, sum, k->name);
	}
	return g;
}

const tide_member tide__hta_type_columns[] = {
	COL("type", "Type", TEXT, 0, "compute, communication, memory or other"),
	COL("names", "Names", COUNT, 2, "different names"),
	MAY("pct", "Share", PCT, 0, "share of the time of all rows"),
	STAT_COLS(0),
	COL("union_ns", "Union", NS, 4, "union of the rows"),
	{ 0 },
};

tide_grid *tide__grid_types(const tide_hta *sum)
{
	tide_grid *g = tide__grid_new(tide__hta_type_columns, COUNT_OF(tide__hta_type_columns) - 1);
	for (unsigned t = 0; t < TIDE_GPU_TYPES; t++) {
		tide_stat s = { 0 };
		uint64_t names = 0;
		for (size_t i = 0; i < sum->kernels.n; i++)
			if (sum->kernels.v[i].type == t) {
				tide__stat_merge(&s, &sum->kernels.v[i].dur);
				names++;
			}
		if (!s.n)
			continue;
		tide__grid_text(g, tide__gpu_type_text[t]);
		tide__grid_uint(g, names);
		tide__grid_real(g, tide__share_pct(tide__stat_sum(&s), all_time(sum)));
		stat_cells(g, &s);
		tide__grid_int(g, sum->h.type_ns[t]);
	}
	return g;
}

static void op_cell(tide_grid *g, const tide_hta *sum, tide_str name, unsigned why)
{
	static const char *const nobody[] = { NULL, "(outside any op)",
					      "(launch not in the trace)" };
	if (why && why < 3)
		tide__grid_text(g, nobody[why]);
	else
		name_cell(g, sum, name);
}

const tide_member tide__hta_op_columns[] = {
	MAY("pct", "Share", PCT, 0, "share of the time of all rows"),
	STAT_COLS(0),
	MAY("op", "Op", TEXT, 0, "innermost op around the launch"),
	{ 0 },
};

tide_grid *tide__grid_ops(const tide_hta *sum, size_t top)
{
	tide_grid *g = tide__grid_new(tide__hta_op_columns, COUNT_OF(tide__hta_op_columns) - 1);
	for (size_t i = 0; i < limit(sum->ops.n, top); i++) {
		const tide_hta_op *o = &sum->ops.v[i];
		tide__grid_real(g, tide__share_pct(tide__stat_sum(&o->dur), all_time(sum)));
		stat_cells(g, &o->dur);
		op_cell(g, sum, o->name, o->why);
	}
	return g;
}

static void pair_row(tide_grid *g, const tide_hta *sum, const tide_hta_op_kernel *p)
{
	stat_cells(g, &p->dur);
	tide__grid_text(g, tide__gpu_type_text[p->type]);
	op_cell(g, sum, p->op, p->why);
	name_cell(g, sum, p->kernel);
}

static uint64_t op_key(tide_str op, uint32_t why)
{
	return (uint64_t)op.i << 2 | why;
}

/* Fills the `top` first ops; returns false if memory runs out. */
static bool shown_ops(const tide_hta *sum, size_t top, tide_map *shown)
{
	bool ok = true;
	for (size_t i = 0; ok && i < limit(sum->ops.n, top); i++)
		ok = tide__map_put(shown, op_key(sum->ops.v[i].name, sum->ops.v[i].why), 1);
	return ok;
}

const tide_member tide__hta_op_kernel_columns[] = {
	STAT_COLS(0),
	COL("type", "Type", TEXT, 0, "compute, communication, memory or other"),
	MAY("op", "Op", TEXT, 0, "innermost op around the launch"),
	MAY("kernel", "Kernel", KERNEL, 0, "name of the kernel"),
	{ 0 },
};

tide_grid *tide__grid_op_kernels(const tide_hta *sum, size_t top, size_t each)
{
	tide_grid *g = tide__grid_new(tide__hta_op_kernel_columns,
				      COUNT_OF(tide__hta_op_kernel_columns) - 1);
	tide_map shown = { 0 };
	size_t of_op = 0;
	bool show = false;
	if (!shown_ops(sum, top, &shown)) {
		tide__map_free(&shown);
		tide__grid_free(g);
		return NULL;
	}
	for (size_t i = 0; i < sum->op_kernels.n; i++) { /* sorted by op, then longest first */
		const tide_hta_op_kernel *p = &sum->op_kernels.v[i];
		if (!i || p[-1].op.i != p->op.i || p[-1].why != p->why) {
			of_op = 0;
			show = tide__map_get(&shown, op_key(p->op, p->why));
		}
		if (show && (!each || of_op++ < each))
			pair_row(g, sum, p);
	}
	tide__map_free(&shown);
	return g;
}

const tide_member tide__hta_launch_columns[] = {
	MAY("name", "Launch call", TEXT, 0, "name"),
	COL("launches", "Launches", COUNT, 0, "calls"),
	COL("gpu_rows", "Device rows", COUNT, 6, "device rows that they launched"),
	COL("graph", NULL, COUNT, 0, "1: launches a graph"),
	COL("cpu_sum_ns", "Host time", NS, 0, "host time of the calls"),
	COL("cpu_mean_ns", "Mean", NS, 7, "mean of it"),
	COL("cpu_max_ns", "Max", NS, 8, "the longest call"),
	COL("delay_mean_ns", "Mean delay", NS, 2,
	    "mean time from the launch to the start on the device"),
	COL("delay_max_ns", "Max delay", NS, 9, "the longest of these"),
	COL("gpu_sum_ns", "Device time", NS, 4, "time of the device rows"),
	COL("short_kernels", "Short", COUNT, 0, "kernels shorter than their launch call"),
	COL("runtime_outliers", "Slow", COUNT, 0, "calls longer than the cutoff"),
	COL("delay_outliers", "Late", COUNT, 0, "delays longer than the cutoff"),
	{ 0 },
};

tide_grid *tide__grid_apis(const tide_hta *sum, size_t top)
{
	tide_grid *g =
		tide__grid_new(tide__hta_launch_columns, COUNT_OF(tide__hta_launch_columns) - 1);
	for (size_t i = 0; i < limit(sum->apis.n, top); i++) {
		const tide_hta_api *a = &sum->apis.v[i];
		name_cell(g, sum, a->name);
		tide__grid_uint(g, a->cpu.n);
		tide__grid_uint(g, a->rows);
		tide__grid_uint(g, a->graph);
		tide__grid_int(g, tide__stat_sum(&a->cpu));
		tide__grid_int(g, tide__stat_mean(&a->cpu));
		tide__grid_int(g, a->cpu.max);
		tide__grid_int(g, tide__stat_mean(&a->delay));
		tide__grid_int(g, a->delay.max);
		tide__grid_int(g, tide__stat_sum(&a->gpu));
		tide__grid_uint(g, a->short_kernels);
		tide__grid_uint(g, a->runtime_outliers);
		tide__grid_uint(g, a->delay_outliers);
	}
	return g;
}

const tide_member tide__hta_annotation_columns[] = {
	COL("side", "Side", TEXT, 0, "cpu or gpu"),
	STAT_COLS(0),
	MAY("gpu_rows", "Device rows", COUNT, 6, "device rows launched in it"),
	MAY("gpu_sum_ns", "Device time", NS, 4, "time of the device rows"),
	MAY("name", "Annotation", TEXT, 0, "name"),
	{ 0 },
};

tide_grid *tide__grid_annotations(const tide_hta *sum, size_t top)
{
	tide_grid *g = tide__grid_new(tide__hta_annotation_columns,
				      COUNT_OF(tide__hta_annotation_columns) - 1);
	size_t shown[2] = { 0 };
	for (size_t i = 0; i < sum->annotations.n; i++) {
		const tide_hta_annotation *a = &sum->annotations.v[i];
		if (top && shown[a->gpu & 1]++ >= top)
			continue;
		tide__grid_text(g, a->gpu ? "gpu" : "cpu");
		stat_cells(g, &a->dur);
		if (a->gpu) {
			tide__grid_none(g);
			tide__grid_none(g);
		} else {
			tide__grid_uint(g, a->rows);
			tide__grid_int(g, a->rows_ns);
		}
		name_cell(g, sum, a->name);
	}
	return g;
}

/* Returns bytes / ns = GB/s (10^9 bytes); unknown without time. */
static double gbps(uint64_t bytes, int64_t ns)
{
	return ns > 0 ? (double)bytes / (double)ns : NAN;
}

const tide_member tide__hta_collective_columns[] = {
	MAY("collective", "Collective", TEXT, 0, "collective operation"),
	MAY("group", "Group", TEXT, 0, "process group"),
	MAY("description", NULL, TEXT, 0, "its description"),
	MAY("group_size", "Size", COUNT, 3, "ranks of the group"),
	STAT_COLS(0),
	COL("union_ns", NULL, NS, 0, "union of the rows"),
	COL("overlap_ns", NULL, NS, 0, "together with compute"),
	MAY("overlap_pct", "Overlap", PCT, 0, "of the union"),
	MAY("bytes", "Bytes", BYTES, 0, "bytes that were sent"),
	COL("rows_with_bytes", NULL, COUNT, 0, "rows whose bytes are known"),
	MAY("algbw_gb_s", NULL, REAL, 0, "bytes by time, 10^9 bytes per second"),
	MAY("busbw_gb_s", "Bus GB/s", REAL, 0, "the same, as the bus carries them"),
	{ 0 },
};

tide_grid *tide__grid_collectives(const tide_hta *texts, const tide_hta *h, size_t top)
{
	tide_grid *g = tide__grid_new(tide__hta_collective_columns,
				      COUNT_OF(tide__hta_collective_columns) - 1);
	for (size_t i = 0; i < limit(h->collectives.n, top); i++) {
		const tide_hta_collective *c = &h->collectives.v[i];
		name_cell(g, texts, c->name);
		name_cell(g, texts, c->group);
		name_cell(g, texts, c->desc);
		c->size ? tide__grid_uint(g, c->size) : tide__grid_none(g);
		stat_cells(g, &c->dur);
		tide__grid_int(g, c->busy);
		tide__grid_int(g, c->overlap);
		tide__grid_real(g, tide__share_pct(c->overlap, c->busy));
		c->sized ? tide__grid_uint(g, c->bytes) : tide__grid_none(g);
		tide__grid_uint(g, c->sized);
		tide__grid_real(g, c->sized ? gbps(c->bytes, c->sized_ns) : NAN);
		tide__grid_real(g, c->sized ? gbps(c->bus_bytes, c->sized_ns) : NAN);
	}
	return g;
}

const tide_member tide__hta_copy_columns[] = {
	MAY("kind", "Copy", TEXT, 0, "direction or kind of the copy"),
	STAT_COLS(0),
	COL("union_ns", NULL, NS, 0, "union of the rows"),
	MAY("bytes", "Bytes", BYTES, 0, "bytes that were copied"),
	COL("rows_with_bytes", NULL, COUNT, 0, "rows whose bytes are known"),
	MAY("mean_gb_s", "Mean GB/s", REAL, 0, "mean rate, 10^9 bytes per second"),
	MAY("p50_gb_s", "p50", REAL, 7, "50th percentile of the rate"),
	MAY("p90_gb_s", NULL, REAL, 0, "90th percentile"),
	MAY("p95_gb_s", NULL, REAL, 0, "95th percentile"),
	MAY("p99_gb_s", NULL, REAL, 0, "99th percentile"),
	MAY("peak_gb_s", "Peak", REAL, 0, "highest rate"),
	{ 0 },
};

tide_grid *tide__grid_copies(const tide_hta *texts, const tide_hta *h)
{
	tide_grid *g = tide__grid_new(tide__hta_copy_columns, COUNT_OF(tide__hta_copy_columns) - 1);
	for (size_t i = 0; i < h->copies.n; i++) {
		const tide_hta_copy *c = &h->copies.v[i];
		bool known = c->sized_busy > 0;
		name_cell(g, texts, c->kind);
		stat_cells(g, &c->dur);
		tide__grid_int(g, c->busy);
		c->sized ? tide__grid_uint(g, c->bytes) : tide__grid_none(g);
		tide__grid_uint(g, c->sized);
		tide__grid_real(g, gbps(c->bytes, c->sized_busy));
		for (int p = 0; p < TIDE_PCTS; p++)
			tide__grid_real(g, known ? c->pct[p] / 1e9 : NAN);
		tide__grid_real(g, known ? c->peak / 1e9 : NAN);
	}
	return g;
}

static void known_cell(tide_grid *g, int64_t v)
{
	if (v >= 0)
		tide__grid_int(g, v);
	else
		tide__grid_none(g);
}

const tide_member tide__hta_step_columns[] = {
	COL("step", "Step", COUNT, 0, "number of the step"),
	COL("start_ns", NULL, NS, 0, "start on the host"),
	COL("duration_ns", "Host time", NS, 0, "duration on the host"),
	COL("gpu_rows", "Device rows", COUNT, 6, "device rows launched in it"),
	MAY("gpu_window_ns", "Device window", NS, 5,
	    "from the first device row launched in it to the end of the last"),
	MAY("busy_ns", "Busy", NS, 0, "union of the device rows"),
	MAY("compute_ns", "Compute", NS, 0, "union of compute"),
	MAY("communication_ns", "Comm", NS, 0, "union of communication"),
	MAY("memory_ns", "Memory", NS, 0, "union of copies and fills"),
	{ 0 },
};

tide_grid *tide__grid_steps(const tide_hta *h, size_t top)
{
	tide_grid *g = tide__grid_new(tide__hta_step_columns, COUNT_OF(tide__hta_step_columns) - 1);
	for (size_t i = 0; i < limit(h->steps.n, top); i++) {
		const tide_hta_step *s = &h->steps.v[i];
		bool known = h->h.rows || h->h.left_out; /* else -1: unknown */
		tide__grid_int(g, s->number);
		tide__grid_int(g, s->t0);
		tide__grid_int(g, s->t1 - s->t0);
		tide__grid_uint(g, s->rows);
		known_cell(g, known ? s->last - s->first : -1);
		known_cell(g, known ? s->busy : -1);
		for (int t = 0; t < TIDE_GPU_OTHER; t++)
			known_cell(g, known ? s->type_ns[t] : -1);
	}
	return g;
}

/* Adds the device's kind, and kind with number: "cuda:0". */
static void device_cells(tide_grid *g, const tide_hta *texts, const tide_hta_stream *s)
{
	char name[160];
	const char *kind = tide__hta_str(texts, s->kind, NULL);
	name_cell(g, texts, s->kind);
	snprintf(name, sizeof name, "%.100s:%" PRId64, s->kind.i ? kind : "device", s->device);
	s->device < 0 ? tide__grid_none(g) : tide__grid_text(g, name);
}

const tide_member tide__hta_stream_columns[] = {
	MAY("rank", "Rank", COUNT, 0, "rank"),
	MAY("device", NULL, COUNT, 0, "number of the device"),
	MAY("device_kind", NULL, TEXT, 0, "cuda ..."),
	MAY("device_name", "Device", TEXT, 0, "kind and number of the device"),
	COL("stream", "Stream", COUNT, 0, "number of the stream"),
	COL("span_ns", "Window", NS, 2, "from its first row to the end of its last"),
	COL("busy_ns", "Busy", NS, 0, "union of its rows"),
	COL("host_wait_ns", "Host wait", NS, 0, "idle: the host had not launched the next row"),
	COL("kernel_wait_ns", "Kernel wait", NS, 0, "idle: gaps shorter than the kernel wait"),
	COL("other_ns", "Other", NS, 3, "idle for other reasons"),
	COL("queue_max", "Queue", COUNT, 1, "most launches in the queue"),
	STAT_COLS(4),
	{ 0 },
};

tide_grid *tide__grid_streams(const tide_hta_job *job, size_t top)
{
	tide_grid *g =
		tide__grid_new(tide__hta_stream_columns, COUNT_OF(tide__hta_stream_columns) - 1);
	for (size_t r = 0; r < job->n_ranks; r++) {
		const tide_hta *h = job->ranks[r].h;
		for (size_t i = 0; i < h->streams.n; i++) {
			const tide_hta_stream *s = &h->streams.v[i];
			if (top && tide__grid_rows(g) >= top)
				return g;
			known_cell(g, h->h.rank);
			known_cell(g, s->device);
			device_cells(g, job->sum, s);
			tide__grid_int(g, s->number);
			tide__grid_int(g, s->span);
			tide__grid_int(g, s->busy);
			for (int c = 0; c < TIDE_IDLE_CLASSES; c++)
				tide__grid_int(g, s->idle[c]);
			tide__grid_uint(g, s->queue_max);
			stat_cells(g, &s->dur);
		}
	}
	return g;
}

const tide_member tide__hta_straggler_columns[] = {
	MAY("rank", "Rank", COUNT, 0, "rank"),
	COL("collectives", "Collectives", COUNT, 0, "collectives that could be compared"),
	COL("last", "Came last", COUNT, 0, "collectives in which it was the last"),
	COL("late_ns", "Late in all", NS, 0, "sum of its delays after the first rank"),
	COL("worst_ns", "Latest once", NS, 0, "the longest of these"),
	MAY("worst_step", "In step", COUNT, 0, "step of the longest"),
	{ 0 },
};

tide_grid *tide__grid_stragglers(const tide_hta_job *job)
{
	tide_grid *g = tide__grid_new(tide__hta_straggler_columns,
				      COUNT_OF(tide__hta_straggler_columns) - 1);
	tide_stragglers s;
	if (job->n_ranks < 2 || tide__find_stragglers(job, &s, NULL) != TIDE_OK)
		return g;
	for (size_t i = 0; s.matched && i < s.n; i++) {
		known_cell(g, s.v[i].rank);
		tide__grid_uint(g, s.v[i].collectives);
		tide__grid_uint(g, s.v[i].last);
		tide__grid_int(g, s.v[i].late_ns);
		tide__grid_int(g, s.v[i].worst_ns);
		known_cell(g, s.v[i].worst_step);
	}
	tide__stragglers_free(&s);
	return g;
}
