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

/* count, sum, mean, min, max, std; `give` = whether the first two may go as well (grid.h). */
#define STAT_COLS(give)                                                                         \
	{ "count", "Count", TIDE_CELL_COUNT, give }, { "sum_ns", "Total", TIDE_CELL_NS, give }, \
		{ "mean_ns", "Mean", TIDE_CELL_NS, 5 }, { "min_ns", "Min", TIDE_CELL_NS, 8 },   \
		{ "max_ns", "Max", TIDE_CELL_NS, 6 },                                           \
	{                                                                                       \
		"std_ns", "Std", TIDE_CELL_NS, 9                                                \
	}

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

tide_grid *tide__grid_kernels(const tide_hta *sum, size_t top)
{
	static const tide_grid_col cols[] = {
		{ "pct", "Share", TIDE_CELL_PCT },
		STAT_COLS(0),
		{ "p50_ns", "p50", TIDE_CELL_NS, 8 },
		{ "p90_ns", NULL, TIDE_CELL_NS },
		{ "p95_ns", NULL, TIDE_CELL_NS },
		{ "p99_ns", "p99", TIDE_CELL_NS, 7 },
		{ "custom_collective", NULL, TIDE_CELL_COUNT },
		{ "device", NULL, TIDE_CELL_PLAIN },
		{ "stream", NULL, TIDE_CELL_PLAIN },
		{ "grid", NULL, TIDE_CELL_SIZES },
		{ "block", NULL, TIDE_CELL_SIZES },
		{ "registers_per_thread", NULL, TIDE_CELL_COUNT },
		{ "shared_memory_bytes", NULL, TIDE_CELL_COUNT },
		{ "short_name", NULL, TIDE_CELL_TEXT },
		{ "type", "Type", TIDE_CELL_TEXT },
		{ "name", "Kernel", TIDE_CELL_KERNEL }, /* last: names are long */
	};
	tide_grid *g = tide__grid_new(cols, COUNT_OF(cols));
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

tide_grid *tide__grid_types(const tide_hta *sum)
{
	static const tide_grid_col cols[] = {
		{ "type", "Type", TIDE_CELL_TEXT },	  { "names", "Names", TIDE_CELL_COUNT, 2 },
		{ "pct", "Share", TIDE_CELL_PCT },	  STAT_COLS(0),
		{ "union_ns", "Union", TIDE_CELL_NS, 4 },
	};
	tide_grid *g = tide__grid_new(cols, COUNT_OF(cols));
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

tide_grid *tide__grid_ops(const tide_hta *sum, size_t top)
{
	static const tide_grid_col cols[] = {
		{ "pct", "Share", TIDE_CELL_PCT },
		STAT_COLS(0),
		{ "op", "Op", TIDE_CELL_TEXT },
	};
	tide_grid *g = tide__grid_new(cols, COUNT_OF(cols));
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

tide_grid *tide__grid_op_kernels(const tide_hta *sum, size_t top, size_t each)
{
	static const tide_grid_col cols[] = {
		STAT_COLS(0),
		{ "type", "Type", TIDE_CELL_TEXT },
		{ "op", "Op", TIDE_CELL_TEXT },
		{ "kernel", "Kernel", TIDE_CELL_KERNEL },
	};
	tide_grid *g = tide__grid_new(cols, COUNT_OF(cols));
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

tide_grid *tide__grid_apis(const tide_hta *sum, size_t top)
{
	static const tide_grid_col cols[] = {
		{ "name", "Launch call", TIDE_CELL_TEXT },
		{ "launches", "Launches", TIDE_CELL_COUNT },
		{ "gpu_rows", "Device rows", TIDE_CELL_COUNT, 6 },
		{ "graph", NULL, TIDE_CELL_COUNT },
		{ "cpu_sum_ns", "Host time", TIDE_CELL_NS },
		{ "cpu_mean_ns", "Mean", TIDE_CELL_NS, 7 },
		{ "cpu_max_ns", "Max", TIDE_CELL_NS, 8 },
		{ "delay_mean_ns", "Mean delay", TIDE_CELL_NS, 2 },
		{ "delay_max_ns", "Max delay", TIDE_CELL_NS, 9 },
		{ "gpu_sum_ns", "Device time", TIDE_CELL_NS, 4 },
		{ "short_kernels", "Short", TIDE_CELL_COUNT },
		{ "runtime_outliers", "Slow", TIDE_CELL_COUNT },
		{ "delay_outliers", "Late", TIDE_CELL_COUNT },
	};
	tide_grid *g = tide__grid_new(cols, COUNT_OF(cols));
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

tide_grid *tide__grid_annotations(const tide_hta *sum, size_t top)
{
	static const tide_grid_col cols[] = {
		{ "side", "Side", TIDE_CELL_TEXT },
		STAT_COLS(0),
		{ "gpu_rows", "Device rows", TIDE_CELL_COUNT, 6 },
		{ "gpu_sum_ns", "Device time", TIDE_CELL_NS, 4 },
		{ "name", "Annotation", TIDE_CELL_TEXT },
	};
	tide_grid *g = tide__grid_new(cols, COUNT_OF(cols));
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

tide_grid *tide__grid_collectives(const tide_hta *texts, const tide_hta *h, size_t top)
{
	static const tide_grid_col cols[] = {
		{ "collective", "Collective", TIDE_CELL_TEXT },
		{ "group", "Group", TIDE_CELL_TEXT },
		{ "description", NULL, TIDE_CELL_TEXT },
		{ "group_size", "Size", TIDE_CELL_COUNT, 3 },
		STAT_COLS(0),
		{ "union_ns", NULL, TIDE_CELL_NS },
		{ "overlap_ns", NULL, TIDE_CELL_NS },
		{ "overlap_pct", "Overlap", TIDE_CELL_PCT },
		{ "bytes", "Bytes", TIDE_CELL_BYTES },
		{ "rows_with_bytes", NULL, TIDE_CELL_COUNT },
		{ "algbw_gb_s", NULL, TIDE_CELL_REAL },
		{ "busbw_gb_s", "Bus GB/s", TIDE_CELL_REAL },
	};
	tide_grid *g = tide__grid_new(cols, COUNT_OF(cols));
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

tide_grid *tide__grid_copies(const tide_hta *texts, const tide_hta *h)
{
	static const tide_grid_col cols[] = {
		{ "kind", "Copy", TIDE_CELL_TEXT },
		STAT_COLS(0),
		{ "union_ns", NULL, TIDE_CELL_NS },
		{ "bytes", "Bytes", TIDE_CELL_BYTES },
		{ "rows_with_bytes", NULL, TIDE_CELL_COUNT },
		{ "mean_gb_s", "Mean GB/s", TIDE_CELL_REAL },
		{ "p50_gb_s", "p50", TIDE_CELL_REAL, 7 },
		{ "p90_gb_s", NULL, TIDE_CELL_REAL },
		{ "p95_gb_s", NULL, TIDE_CELL_REAL },
		{ "p99_gb_s", NULL, TIDE_CELL_REAL },
		{ "peak_gb_s", "Peak", TIDE_CELL_REAL },
	};
	tide_grid *g = tide__grid_new(cols, COUNT_OF(cols));
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

tide_grid *tide__grid_steps(const tide_hta *h, size_t top)
{
	static const tide_grid_col cols[] = {
		{ "step", "Step", TIDE_CELL_COUNT },
		{ "start_ns", NULL, TIDE_CELL_NS },
		{ "duration_ns", "Host time", TIDE_CELL_NS },
		{ "gpu_rows", "Device rows", TIDE_CELL_COUNT, 6 },
		{ "gpu_window_ns", "Device window", TIDE_CELL_NS, 5 },
		{ "busy_ns", "Busy", TIDE_CELL_NS },
		{ "compute_ns", "Compute", TIDE_CELL_NS },
		{ "communication_ns", "Comm", TIDE_CELL_NS },
		{ "memory_ns", "Memory", TIDE_CELL_NS },
	};
	tide_grid *g = tide__grid_new(cols, COUNT_OF(cols));
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

tide_grid *tide__grid_streams(const tide_hta_job *job, size_t top)
{
	static const tide_grid_col cols[] = {
		{ "rank", "Rank", TIDE_CELL_COUNT },
		{ "device", NULL, TIDE_CELL_COUNT },
		{ "device_kind", NULL, TIDE_CELL_TEXT },
		{ "device_name", "Device", TIDE_CELL_TEXT },
		{ "stream", "Stream", TIDE_CELL_COUNT },
		{ "span_ns", "Window", TIDE_CELL_NS, 2 },
		{ "busy_ns", "Busy", TIDE_CELL_NS },
		{ "host_wait_ns", "Host wait", TIDE_CELL_NS },
		{ "kernel_wait_ns", "Kernel wait", TIDE_CELL_NS },
		{ "other_ns", "Other", TIDE_CELL_NS, 3 },
		{ "queue_max", "Queue", TIDE_CELL_COUNT, 1 },
		STAT_COLS(4),
	};
	tide_grid *g = tide__grid_new(cols, COUNT_OF(cols));
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

tide_grid *tide__grid_stragglers(const tide_hta_job *job)
{
	static const tide_grid_col cols[] = {
		{ "rank", "Rank", TIDE_CELL_COUNT },
		{ "collectives", "Collectives", TIDE_CELL_COUNT },
		{ "last", "Came last", TIDE_CELL_COUNT },
		{ "late_ns", "Late in all", TIDE_CELL_NS },
		{ "worst_ns", "Latest once", TIDE_CELL_NS },
		{ "worst_step", "In step", TIDE_CELL_COUNT },
	};
	tide_grid *g = tide__grid_new(cols, COUNT_OF(cols));
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
