// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The JSON document of the holistic analysis. Times are integer ns, percentages have 4 decimals,
 * unknown is null. Every member is defined in docs/analyses/. */
#include "render/report/device/hta.h"

#include <inttypes.h>

#include "render/text/losses.h"

static void put_grid(tide_json *j, const char *key, tide_grid *g)
{
	tide__json_key(j, key);
	tide__grid_json(g, j);
	j->failed |= tide__grid_failed(g);
	tide__grid_free(g);
}

static void put_known(tide_json *j, const char *key, int64_t v)
{
	if (v >= 0)
		tide__json_kint(j, key, v);
	else
		tide__json_knull(j, key);
}

static void put_pct(tide_json *j, const char *key, int64_t part, int64_t whole)
{
	tide__json_kfixed(j, key, tide__share_pct(part, whole), 4);
}

static void put_times(tide_json *j, const char *key, const char *const *names, const int64_t *ns,
		      size_t n, bool known)
{
	char member[64];
	if (key)
		tide__json_kobject(j, key);
	for (size_t i = 0; i < n; i++) {
		snprintf(member, sizeof member, "%s_ns", names[i]);
		known ? tide__json_kint(j, member, ns[i]) : tide__json_knull(j, member);
	}
	tide__json_object_end(j);
}

static void put_counts(tide_json *j, const char *key, const char *const *names, const uint64_t *v,
		       size_t n)
{
	tide__json_kobject(j, key);
	for (size_t i = 0; i < n; i++)
		tide__json_kuint(j, names[i], v[i]);
	tide__json_object_end(j);
}

/* Writes a time; null if it is not known. */
static void put_ns(tide_json *j, const char *key, int64_t ns, bool known)
{
	known ? tide__json_kint(j, key, ns) : tide__json_knull(j, key);
}

static void put_stat(tide_json *j, const char *key, const tide_stat *s, const int64_t *pct)
{
	char member[16];
	tide__json_kobject(j, key);
	tide__json_kint(j, "sum_ns", tide__stat_sum(s));
	put_ns(j, "mean_ns", tide__stat_mean(s), s->n);
	put_ns(j, "min_ns", s->min, s->n);
	put_ns(j, "max_ns", s->max, s->n);
	put_ns(j, "std_ns", tide__stat_std(s), s->n);
	for (int p = 0; pct && p < TIDE_PCTS; p++) {
		snprintf(member, sizeof member, "p%u_ns", tide__pcts[p]);
		put_ns(j, member, pct[p], s->n);
	}
	tide__json_object_end(j);
}

/* ---- one rank ---- */

static void put_sets(tide_json *j, const tide_hta_head *h)
{
	tide__json_karray(j, "type_sets");
	for (unsigned s = 0; s < 1u << TIDE_GPU_TYPES; s++) {
		if (!h->set_ns[s])
			continue;
		tide__json_object(j);
		tide__json_karray(j, "types");
		for (unsigned t = 0; t < TIDE_GPU_TYPES; t++)
			if (s >> t & 1)
				tide__json_str(j, tide__gpu_type_text[t]);
		tide__json_array_end(j);
		tide__json_kint(j, "time_ns", h->set_ns[s]);
		put_pct(j, "pct", h->set_ns[s], h->kernel_time);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static void put_queue(tide_json *j, const tide_hta_stream *s)
{
	char member[16];
	double area = (double)s->queue_area[1] * 0x1p64 + (double)s->queue_area[0];
	tide__json_kobject(j, "queue");
	tide__json_kuint(j, "launches", s->queue_entries);
	tide__json_kuint(j, "early_starts", s->queue_early);
	tide__json_kint(j, "time_ns", s->queue_time);
	tide__json_key(j, "mean");
	if (s->queue_time)
		tide__json_fixed(j, area / (double)s->queue_time, 4);
	else
		tide__json_null(j);
	for (int p = 0; p < TIDE_PCTS; p++) {
		snprintf(member, sizeof member, "p%u", tide__pcts[p]);
		tide__json_kuint(j, member, s->queue_pct[p]);
	}
	tide__json_kuint(j, "max", s->queue_max);
	tide__json_kint(j, "full_ns", s->queue_full);
	tide__json_object_end(j);
}

static void put_stream(tide_json *j, const tide_hta *texts, const tide_hta_stream *s)
{
	tide__json_object(j);
	put_known(j, "device", s->device);
	tide__json_kstr(j, "device_kind", s->kind.i ? tide__hta_str(texts, s->kind, NULL) : NULL);
	tide__json_kint(j, "stream", s->number);
	tide__json_kuint(j, "rows", s->rows);
	tide__json_kuint(j, "overlapping_rows", s->overlapping);
	tide__json_kint(j, "span_ns", s->span);
	tide__json_kint(j, "busy_ns", s->busy);
	put_times(j, "idle", tide__idle_text, s->idle, TIDE_IDLE_CLASSES, true);
	put_counts(j, "gaps", tide__idle_text, s->gaps, TIDE_IDLE_CLASSES);
	tide__json_kuint(j, "gaps_without_launch", s->unlaunched_gaps);
	tide__json_kint(j, "gaps_without_launch_ns", s->unlaunched_ns);
	put_queue(j, s);
	tide__json_object_end(j);
}

void tide__hta_put_losses(tide_json *j, const tide_hta *texts, const tide_hta *h)
{
	tide__json_kobject(j, "losses");
	for (size_t i = 0; i < h->losses.n; i++) {
		const tide_hta_loss *l = &h->losses.v[i];
		tide_loss x = { .key = tide__hta_str(texts, l->key, NULL), .number = l->number };
		if (l->text.i)
			x.text = tide__hta_str(texts, l->text, &x.n);
		if (l->text.i || l->number)
			tide__loss_json(j, &x);
	}
	tide__json_object_end(j);
}

static void put_breakdown(tide_json *j, const tide_hta_head *h)
{
	bool known = h->rows || h->left_out;
	put_ns(j, "kernel_time_ns", h->kernel_time, known);
	put_ns(j, "busy_ns", h->busy, known);
	put_ns(j, "idle_ns", h->idle, known);
	put_ns(j, "compute_ns", h->type_ns[TIDE_GPU_COMPUTE], known);
	put_ns(j, "communication_ns", h->type_ns[TIDE_GPU_COMM], known);
	put_ns(j, "memory_ns", h->type_ns[TIDE_GPU_MEMORY], known);
	put_ns(j, "other_ns", h->type_ns[TIDE_GPU_OTHER], known);
	put_ns(j, "non_compute_ns", h->non_compute, known);
	put_pct(j, "idle_pct", h->idle, h->kernel_time);
	put_pct(j, "busy_pct", h->busy, h->kernel_time);
	put_pct(j, "compute_pct", h->type_ns[TIDE_GPU_COMPUTE], h->kernel_time);
	put_pct(j, "communication_pct", h->type_ns[TIDE_GPU_COMM], h->kernel_time);
	put_pct(j, "memory_pct", h->type_ns[TIDE_GPU_MEMORY], h->kernel_time);
	put_pct(j, "non_compute_pct", h->non_compute, h->kernel_time);
	put_ns(j, "comm_comp_overlap_ns", h->overlap, known);
	/* null without a communication row, or when all of them took no time */
	put_pct(j, "comm_comp_overlap_pct", h->overlap, h->type_ns[TIDE_GPU_COMM]);
	put_ns(j, "idle_host_active_ns", h->idle_host_active, known);
	tide__json_kuint(j, "gpu_rows", h->rows);
	put_counts(j, "gpu_rows_by_type", tide__gpu_type_text, h->rows_of, TIDE_GPU_TYPES);
	put_times(j, "sum_by_type", tide__gpu_type_text, h->sum_of, TIDE_GPU_TYPES, known);
	tide__json_kuint(j, "gpu_rows_outside_window", h->left_out);
	tide__json_kuint(j, "gpu_rows_linked_to_launch", h->linked);
	tide__json_kobject(j, "custom_collectives");
	tide__json_kuint(j, "rows_counted_as_compute", h->custom_rows);
	put_ns(j, "union_ns", h->custom_ns, known);
	tide__json_object_end(j);
	put_sets(j, h);
	put_times(j, "idle_causes", tide__cause_text, h->cause, TIDE_CAUSES, known);
}

static void put_launches(tide_json *j, const tide_hta_head *h, bool percentiles)
{
	tide__json_kobject(j, "launches");
	tide__json_kuint(j, "count", h->launches);
	tide__json_kuint(j, "short_kernels", h->short_kernels);
	tide__json_kuint(j, "runtime_outliers", h->runtime_outliers);
	tide__json_kuint(j, "delay_outliers", h->delay_outliers);
	tide__json_kuint(j, "graph_launches", h->graph_launches);
	tide__json_kuint(j, "graph_gpu_rows", h->graph_rows);
	tide__json_key(j, "gpu_rows_per_graph");
	if (h->graph_launches)
		tide__json_fixed(j, (double)h->graph_rows / (double)h->graph_launches, 4);
	else
		tide__json_null(j);
	put_stat(j, "cpu", &h->cpu, percentiles ? h->cpu_pct : NULL);
	put_stat(j, "delay", &h->delay, percentiles ? h->delay_pct : NULL);
	tide__json_object_end(j);
}

static void put_rank(tide_json *j, const tide_hta_job *job, const tide_hta_rank *r)
{
	const tide_hta_head *h = &r->h->h;
	tide__json_object(j);
	put_known(j, "rank", h->rank);
	tide__json_kbool(j, "rank_from_name", h->rank_from_name != 0);
	put_known(j, "world_size", h->world);
	tide__json_kstr(j, "trace", r->trace);
	tide__json_kuint(j, "events", h->spans);
	put_breakdown(j, h);
	tide__json_karray(j, "streams");
	for (size_t i = 0; i < r->h->streams.n; i++)
		put_stream(j, job->sum, &r->h->streams.v[i]);
	tide__json_array_end(j);
	put_launches(j, h, true);
	put_grid(j, "steps", tide__grid_steps(r->h, 0));
	put_grid(j, "collectives", tide__grid_collectives(job->sum, r->h, 0));
	put_grid(j, "copies", tide__grid_copies(job->sum, r->h));
	tide__hta_put_losses(j, job->sum, r->h);
	tide__json_object_end(j);
}

/* ---- the job ---- */

static void put_advice(tide_json *j, const tide_advice *a, const char *text)
{
	tide__json_object(j);
	tide__json_kstr(j, "id", a->id);
	tide__json_kstr(j, "severity", tide__severity_text[a->severity]);
	tide__json_kstr(j, "text", text);
	tide__json_kstr(j, "figure", a->figure);
	tide__json_kfixed(j, "value", a->value, 4);
	tide__json_kstr(j, "when", a->below ? "at most" : "above");
	tide__json_kfixed(j, "threshold", a->threshold, 4);
	tide__json_object_end(j);
}

static void put_all_advice(tide_json *j, const tide_hta_job *job)
{
	tide_advice a[TIDE_ADVICE_MAX];
	size_t n = tide__find_time_advice(job, a);
	tide__json_karray(j, "recommendations");
	for (size_t i = 0; i < n; i++)
		put_advice(j, &a[i], a[i].text);
	tide__json_array_end(j);
	tide__json_karray(j, "bottlenecks");
	for (size_t i = 0; i < n; i++)
		if (a[i].bottleneck[0])
			put_advice(j, &a[i], a[i].bottleneck);
	tide__json_array_end(j);
}

/* ---- notes ---- */

static void missing_text(const tide_hta_job *job, int64_t missing, char *buf, size_t n)
{
	char list[200] = "";
	size_t at = 0, i = 0;
	for (; i < job->n_missing && at < sizeof list - 24; i++)
		at += (size_t)snprintf(list + at, sizeof list - at, " %" PRId64, job->missing[i]);
	snprintf(buf, n, "%" PRId64 " of %" PRId64 " ranks are missing:%s%s", missing,
		 job->sum->h.world, list, missing > (int64_t)i ? " ..." : "");
}

/* How to get GPU time. */
#define RECORD_GPU                                                              \
	"; `tidemark run --gpu -- PROGRAM` records it, or torch.profiler with " \
	"ProfilerActivity.CUDA"

char *tide__hta_note_text(const tide_hta_job *job, size_t i, char *buf, size_t n)
{
	const tide_hta_note *x = &job->notes[i];
	const tide_hta_rank *r = &job->ranks[x->first];
	switch (x->kind) {
	case TIDE_HTA_NO_PERCENTILES:
		snprintf(buf, n,
			 "too many durations to keep: percentiles of some kernels are unknown");
		break;
	case TIDE_HTA_TWO_TRACES:
		snprintf(buf, n, "rank %" PRId64 " has two traces: %s and %s", r->h->h.rank,
			 r->trace, r[1].trace);
		break;
	case TIDE_HTA_MISSING:
		missing_text(job, x->n, buf, n);
		break;
	case TIDE_HTA_NO_ROWS:
		if (x->n == 1)
			snprintf(buf, n, "no device rows%s in %s: %s",
				 r->h->h.left_out ? " in the window" : "", r->trace,
				 r->h->h.left_out ? "the GPU was idle"
				 : r->h->h.no_ops ? "it holds neither ops nor GPU work" RECORD_GPU
						  : "GPU time is unknown" RECORD_GPU);
		else
			snprintf(
				buf, n,
				"no device rows in %" PRId64
				" traces, so their GPU time is unknown; the first is %s" RECORD_GPU,
				x->n, r->trace);
		break;
	}
	return buf;
}

/* Writes "failed", "notes" and "losses". */
static void put_troubles(const tide_hta_job *job, tide_json *j)
{
	tide__json_karray(j, "failed");
	for (size_t i = 0; i < job->n_failed; i++) {
		const tide_hta_failed *f = &job->failed[i];
		tide__json_object(j);
		tide__json_kstr(j, "trace", f->trace);
		tide__json_kstr(j, "error",
				f->err.text[0] ? f->err.text : tide_code_text(f->err.code));
		tide__json_key(j, "offset");
		if (f->err.offset == TIDE_NO_OFFSET)
			tide__json_null(j);
		else
			tide__json_uint(j, f->err.offset);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
	tide__json_karray(j, "notes");
	for (size_t i = 0; i < job->n_notes; i++) {
		char note[TIDE_HTA_NOTE];
		tide__json_str(j, tide__hta_note_text(job, i, note, sizeof note));
	}
	tide__json_array_end(j);
	tide__hta_put_losses(j, job->sum, job->sum);
}

/* Writes figures over all ranks: times are sums over ranks, percentages are of the summed
 * windows. */
static void put_summary(tide_json *j, const tide_hta_job *job)
{
	const tide_hta_head *h = &job->sum->h;
	tide__json_kobject(j, "summary");
	tide__json_kuint(j, "ranks", job->n_ranks);
	put_breakdown(j, h);
	put_launches(j, h, false);
	tide__json_object_end(j);
	tide__json_kobject(j, "temporal_breakdown");
	put_pct(j, "gpu_idle_pct", h->idle, h->kernel_time);
	put_pct(j, "idle_pct", h->idle, h->kernel_time);
	put_pct(j, "compute_pct", h->type_ns[TIDE_GPU_COMPUTE], h->kernel_time);
	put_pct(j, "communication_pct", h->type_ns[TIDE_GPU_COMM], h->kernel_time);
	put_pct(j, "memory_pct", h->type_ns[TIDE_GPU_MEMORY], h->kernel_time);
	tide__json_object_end(j);
}

void tide__hta_put_json(const tide_hta_job *job, const tide_hta_view *view, tide_json *j)
{
	const tide_hta *s = job->sum;
	tide__json_kstr(j, "window", view->window);
	tide__json_karray(j, "ranks");
	for (size_t i = 0; i < job->n_ranks; i++)
		put_rank(j, job, &job->ranks[i]);
	tide__json_array_end(j);
	put_summary(j, job);
	put_grid(j, "kernels", tide__grid_kernels(s, view->top));
	put_grid(j, "kernel_types", tide__grid_types(s));
	put_grid(j, "ops", tide__grid_ops(s, view->top));
	put_grid(j, "launch_calls", tide__grid_apis(s, 0));
	put_grid(j, "annotations", tide__grid_annotations(s, view->top));
	put_grid(j, "collectives", tide__grid_collectives(s, s, 0));
	put_grid(j, "stragglers", tide__grid_stragglers(job));
	put_grid(j, "copies", tide__grid_copies(s, s));
	put_all_advice(j, job);
	put_troubles(job, j);
}

void tide__kernels_put_json(const tide_hta_job *job, const tide_hta_view *view, int by,
			    tide_json *j)
{
	const tide_hta *s = job->sum;
	tide__json_kstr(j, "window", view->window);
	tide__json_kuint(j, "ranks", job->n_ranks);
	tide__json_kuint(j, "rows", s->h.rows);
	tide__json_kuint(j, "names", s->kernels.n);
	put_grid(j, "by_type", tide__grid_types(s));
	if (by == TIDE_KERNELS_BY_NAME)
		put_grid(j, "kernels", tide__grid_kernels(s, view->top));
	if (by == TIDE_KERNELS_BY_OP) {
		put_grid(j, "ops", tide__grid_ops(s, view->top));
		put_grid(j, "op_kernels", tide__grid_op_kernels(s, view->top, 0));
	}
	if (by == TIDE_KERNELS_BY_STREAM)
		put_grid(j, "streams", tide__grid_streams(job, view->top));
	put_troubles(job, j);
}

bool tide__hta_json(const tide_hta_job *job, const tide_hta_view *view, FILE *out)
{
	tide_json j;
	tide__json_begin(&j, out, true);
	tide__json_object(&j);
	tide__hta_put_json(job, view, &j);
	tide__json_object_end(&j);
	return tide__json_end(&j);
}

/* ---- the members ---- */

#define NS(key, text)	 TIDE_MEMBER_MAYBE(key "_ns", NS, text)
#define PCT(key, text)	 TIDE_MEMBER_MAYBE(key "_pct", PCT, text)
#define COUNT(key, text) TIDE_MEMBER(key, COUNT, text)

static const tide_member loss = TIDE_MEMBER_MAYBE("", ANY, "number or text");
static const tide_member type_counts[] = {
	COUNT("compute", "rows of compute"),
	COUNT("communication", "rows of communication"),
	COUNT("memory", "copies and fills"),
	COUNT("other", "other rows"),
	{ 0 },
};
static const tide_member type_times[] = {
	NS("compute", "compute"),
	NS("communication", "communication"),
	NS("memory", "copies and fills"),
	NS("other", "other rows"),
	{ 0 },
};
static const tide_member cause_times[] = {
	NS("sync", "a synchronising call"),
	NS("allocation", "device or pinned memory was allocated or freed"),
	NS("data_loading", "data loading"),
	NS("compile", "torch.compile, Triton, module loading"),
	NS("runtime", "any other runtime or driver call"),
	NS("op", "inside an op, between its calls"),
	NS("python", "Python"),
	NS("annotation", "only a user range is known"),
	NS("unrecorded", "nothing recorded on the launching thread"),
	NS("launch", "from the launch call to the start on the device"),
	{ 0 },
};
static const tide_member custom[] = {
	COUNT("rows_counted_as_compute", "rows of custom collectives"),
	NS("union", "their union"),
	{ 0 },
};
static const tide_member type_name = TIDE_MEMBER("", TEXT, "a type of device work");
static const tide_member sets[] = {
	TIDE_MEMBER_OF("types", LIST, &type_name, "types that ran at the same time"),
	TIDE_MEMBER("time_ns", NS, "time in which exactly these ran"),
	TIDE_MEMBER_MAYBE("pct", PCT, "of the device window"),
	{ 0 },
};
#define STAT_MEMBERS                                                                 \
	TIDE_MEMBER("sum_ns", NS, "sum"), NS("mean", "mean"), NS("min", "shortest"), \
		NS("max", "longest"), NS("std", "standard deviation")
#define PERCENTILES                                                                               \
	NS("p50", "50th percentile"), NS("p90", "90th percentile"), NS("p95", "95th percentile"), \
		NS("p99", "99th percentile")
static const tide_member stat[] = { STAT_MEMBERS, { 0 } };
static const tide_member full_stat[] = { STAT_MEMBERS, PERCENTILES, { 0 } };
#define LAUNCHES                                                                               \
	COUNT("count", "launches"), COUNT("short_kernels", "kernels shorter than their call"), \
		COUNT("runtime_outliers", "calls longer than the cutoff"),                     \
		COUNT("delay_outliers", "delays longer than the cutoff"),                      \
		COUNT("graph_launches", "launches of graphs"),                                 \
		COUNT("graph_gpu_rows", "device rows of these"),                               \
		TIDE_MEMBER_MAYBE("gpu_rows_per_graph", REAL, "rows per launch of a graph")
static const tide_member launches[] = {
	LAUNCHES,
	TIDE_MEMBER_OF("cpu", OBJECT, stat, "host time of the calls"),
	TIDE_MEMBER_OF("delay", OBJECT, stat, "from the launch to the start on the device"),
	{ 0 },
};
static const tide_member full_launches[] = {
	LAUNCHES,
	TIDE_MEMBER_OF("cpu", OBJECT, full_stat, "host time of the calls"),
	TIDE_MEMBER_OF("delay", OBJECT, full_stat, "from the launch to the start on the device"),
	{ 0 },
};
static const tide_member idle_times[] = {
	NS("host_wait", "the host had not launched the next row"),
	NS("kernel_wait", "gaps shorter than the kernel wait"),
	NS("other", "other gaps"),
	{ 0 },
};
static const tide_member gap_counts[] = {
	COUNT("host_wait", "gaps in which the host had not launched the next row"),
	COUNT("kernel_wait", "gaps shorter than the kernel wait"),
	COUNT("other", "other gaps"),
	{ 0 },
};
static const tide_member queue[] = {
	COUNT("launches", "launches that entered the queue"),
	COUNT("early_starts", "rows that began before their launch call ended"),
	TIDE_MEMBER("time_ns", NS, "time in which the queue was observed"),
	TIDE_MEMBER_MAYBE("mean", REAL, "mean length over this time"),
	COUNT("p50", "50th percentile of the length over time"),
	COUNT("p90", "90th percentile"),
	COUNT("p95", "95th percentile"),
	COUNT("p99", "99th percentile"),
	COUNT("max", "greatest length"),
	TIDE_MEMBER("full_ns", NS, "time at or above the limit of the queue"),
	{ 0 },
};
static const tide_member stream[] = {
	TIDE_MEMBER_MAYBE("device", PLAIN, "number of the device"),
	TIDE_MEMBER_MAYBE("device_kind", TEXT, "cuda ..."),
	TIDE_MEMBER("stream", PLAIN, "number of the stream"),
	COUNT("rows", "device rows"),
	COUNT("overlapping_rows", "rows that began before the previous one ended"),
	TIDE_MEMBER("span_ns", NS, "from its first row to the end of its last"),
	TIDE_MEMBER("busy_ns", NS, "union of its rows"),
	TIDE_MEMBER_OF("idle", OBJECT, idle_times, "time of its gaps, by cause"),
	TIDE_MEMBER_OF("gaps", OBJECT, gap_counts, "gaps, by cause"),
	COUNT("gaps_without_launch", "gaps before a row whose launch is unknown"),
	TIDE_MEMBER("gaps_without_launch_ns", NS, "time of these"),
	TIDE_MEMBER_OF("queue", OBJECT, queue, "launches that had not begun on the device"),
	{ 0 },
};
#define BREAKDOWN                                                                                 \
	NS("kernel_time", "device window: from the first device row to the end of the last"),     \
		NS("busy", "union of all device rows"), NS("idle", "the rest of the window"),     \
		NS("compute", "union of compute"), NS("communication", "union of communication"), \
		NS("memory", "union of copies and fills"), NS("other", "union of other rows"),    \
		NS("non_compute", "busy without compute"), PCT("idle", "of the window"),          \
		PCT("busy", "of the window"), PCT("compute", "of the window"),                    \
		PCT("communication", "of the window"), PCT("memory", "of the window"),            \
		PCT("non_compute", "of the window"),                                              \
		NS("comm_comp_overlap", "communication together with compute"),                   \
		PCT("comm_comp_overlap", "of communication"),                                     \
		NS("idle_host_active", "idle while the host worked"),                             \
		COUNT("gpu_rows", "device rows"),                                                 \
		TIDE_MEMBER_OF("gpu_rows_by_type", OBJECT, type_counts, "device rows by type"),   \
		TIDE_MEMBER_OF("sum_by_type", OBJECT, type_times, "sums of durations by type"),   \
		COUNT("gpu_rows_outside_window", "device rows outside the requested steps"),      \
		COUNT("gpu_rows_linked_to_launch", "device rows whose launch is known"),          \
		TIDE_MEMBER_OF("custom_collectives", OBJECT, custom,                              \
			       "rows of --custom-collective"),                                    \
		TIDE_MEMBER_OF("type_sets", TABLE, sets,                                          \
			       "the window by the types that ran at the same time"),              \
		TIDE_MEMBER_OF("idle_causes", OBJECT, cause_times,                                \
			       "what the host did while streams waited for it")
static const tide_member rank[] = {
	TIDE_MEMBER_MAYBE("rank", PLAIN, "rank"),
	TIDE_MEMBER("rank_from_name", BOOL, "only the file's name has the rank"),
	TIDE_MEMBER_MAYBE("world_size", COUNT, "ranks of the job"),
	TIDE_MEMBER("trace", TEXT, "name of the trace"),
	COUNT("events", "spans"),
	BREAKDOWN,
	TIDE_MEMBER_OF("streams", TABLE, stream, "streams"),
	TIDE_MEMBER_OF("launches", OBJECT, full_launches, "launch calls"),
	TIDE_MEMBER_OF("steps", TABLE, tide__hta_step_columns, "steps"),
	TIDE_MEMBER_OF("collectives", TABLE, tide__hta_collective_columns, "collectives"),
	TIDE_MEMBER_OF("copies", TABLE, tide__hta_copy_columns, "copies"),
	TIDE_MEMBER_OF("losses", MAP, &loss, "lost and repaired data, by the name of the loss"),
	{ 0 },
};
static const tide_member summary[] = {
	COUNT("ranks", "traces"),
	BREAKDOWN,
	TIDE_MEMBER_OF("launches", OBJECT, launches, "launch calls"),
	{ 0 },
};
static const tide_member temporal[] = {
	PCT("gpu_idle", "of the windows of all ranks"),
	PCT("idle", "the same"),
	PCT("compute", "of the windows"),
	PCT("communication", "of the windows"),
	PCT("memory", "of the windows"),
	{ 0 },
};
static const tide_member advice[] = {
	TIDE_MEMBER("id", TEXT, "name of the rule"),
	{ .key = "severity",
	  .kind = TIDE_KIND_WORD,
	  .words = "info,medium,high",
	  .meaning = "how much it matters" },
	TIDE_MEMBER("text", TEXT, "what to do, with its figures"),
	TIDE_MEMBER("figure", TEXT, "the figure that decides"),
	TIDE_MEMBER_MAYBE("value", REAL, "its value"),
	{ .key = "when",
	  .kind = TIDE_KIND_WORD,
	  .words = "at most,above",
	  .meaning = "how value and threshold are compared" },
	TIDE_MEMBER("threshold", REAL, "the threshold"),
	{ 0 },
};
static const tide_member failed[] = {
	TIDE_MEMBER("trace", TEXT, "a trace that could not be read"),
	TIDE_MEMBER("error", TEXT, "the reason"),
	TIDE_MEMBER_MAYBE("offset", COUNT, "where in the file"),
	{ 0 },
};
static const tide_member note = TIDE_MEMBER("", TEXT, "a note");
#define TROUBLES                                                                         \
	TIDE_MEMBER_OF("failed", TABLE, failed, "traces that could not be read"),        \
		TIDE_MEMBER_OF("notes", LIST, &note, "what the figures do not include"), \
		TIDE_MEMBER_OF("losses", MAP, &loss,                                     \
			       "lost and repaired data of all traces, by the name of the loss")
const tide_member tide__hta_members[] = {
	TIDE_MEMBER("window", TEXT, "all, drop-last-step, or the steps"),
	TIDE_MEMBER_OF("ranks", TABLE, rank, "traces, in order of rank"),
	TIDE_MEMBER_OF("summary", OBJECT, summary, "sums over all traces"),
	TIDE_MEMBER_OF("temporal_breakdown", OBJECT, temporal, "shares of the summed windows"),
	TIDE_MEMBER_OF("kernels", TABLE, tide__hta_kernel_columns, "kernels by name"),
	TIDE_MEMBER_OF("kernel_types", TABLE, tide__hta_type_columns, "kernels by type"),
	TIDE_MEMBER_OF("ops", TABLE, tide__hta_op_columns, "device time by op"),
	TIDE_MEMBER_OF("launch_calls", TABLE, tide__hta_launch_columns, "launch calls by name"),
	TIDE_MEMBER_OF("annotations", TABLE, tide__hta_annotation_columns, "user ranges"),
	TIDE_MEMBER_OF("collectives", TABLE, tide__hta_collective_columns, "collectives"),
	TIDE_MEMBER_OF("stragglers", TABLE, tide__hta_straggler_columns,
		       "ranks that the others waited for in collectives"),
	TIDE_MEMBER_OF("copies", TABLE, tide__hta_copy_columns, "copies"),
	TIDE_MEMBER_OF("recommendations", TABLE, advice, "what to do"),
	TIDE_MEMBER_OF("bottlenecks", TABLE, advice, "the same as one line each"),
	TROUBLES,
	{ 0 },
};
#define IF(key_, list, text)                                                                      \
	{                                                                                         \
		.key = key_, .kind = TIDE_KIND_TABLE, .may = TIDE_MAY_BE_ABSENT, .members = list, \
		.meaning = text                                                                   \
	}
const tide_member tide__kernels_members[] = {
	TIDE_MEMBER("window", TEXT, "all, drop-last-step, or the steps"),
	COUNT("ranks", "traces"),
	COUNT("rows", "device rows"),
	COUNT("names", "different names"),
	TIDE_MEMBER_OF("by_type", TABLE, tide__hta_type_columns, "kernels by type"),
	IF("kernels", tide__hta_kernel_columns, "by name: kernels"),
	IF("ops", tide__hta_op_columns, "by op: device time by op"),
	IF("op_kernels", tide__hta_op_kernel_columns, "by op: kernels of each op"),
	IF("streams", tide__hta_stream_columns, "by stream: streams"),
	TROUBLES,
	{ 0 },
};
