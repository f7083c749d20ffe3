// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The JSON document of the holistic analysis. Times are integer ns, percentages have 4 decimals,
 * unknown is null. Every member is defined in docs/analyses/. */
#include "render/report/device/hta.h"
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

static void put_losses(tide_json *j, const tide_hta *texts, const tide_hta *h)
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
	put_losses(j, job->sum, r->h);
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
	put_losses(j, job->sum, job->sum);
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
	tide__json_object(j);
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
	tide__json_object_end(j);
}

void tide__kernels_put_json(const tide_hta_job *job, const tide_hta_view *view, int by,
			    tide_json *j)
{
	const tide_hta *s = job->sum;
	tide__json_object(j);
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
	tide__json_object_end(j);
}

bool tide__hta_json(const tide_hta_job *job, const tide_hta_view *view, FILE *out)
{
	tide_json j;
	tide__json_begin(&j, out, true);
	tide__hta_put_json(job, view, &j);
	return tide__json_end(&j);
}

bool tide__kernels_json(const tide_hta_job *job, const tide_hta_view *view, int by, FILE *out)
{
	tide_json j;
	tide__json_begin(&j, out, true);
	tide__kernels_put_json(job, view, by, &j);
	return tide__json_end(&j);
}
