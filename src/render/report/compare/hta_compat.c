// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/compare/hta_compat.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "render/text/losses.h"

/* ---- helpers ---- */

static double pct(int64_t part, int64_t whole)
{
	return whole ? round(10000.0 * (double)part / (double)whole) / 100 : NAN; /* two decimals */
}

static void kus(tide_json *j, const char *key, int64_t us)
{
	tide__json_kint(j, key, us * 1000);
}

static void kreal(tide_json *j, const char *key, double v)
{
	tide__json_key(j, key);
	tide__json_double(j, v);
}

/* Rounds averages in µs to 6 decimals, as HTA shows them. */
static double six(double v)
{
	return round(v * 1e6) / 1e6;
}

static void name(tide_json *j, const tide_compat_job *job, tide_str s)
{
	size_t n;
	const char *text = tide__strings_get(job->strings, s.i, &n);
	tide__json_kstrn(j, "name", text, n);
}

static int64_t with_type(const tide_compat_tables *t, unsigned bit)
{
	int64_t sum = 0;
	for (unsigned set = 1; set < 8; set++)
		sum += set >> bit & 1 ? t->type_time[set] : 0;
	return sum;
}

/* ---- the fields of hta --json, with HTA's values ---- */

static void temporal_fields(tide_json *j, const tide_compat_tables *t)
{
	static const char *const keys[] = { "kernel_time_ns", "busy_ns",	"idle_ns",
					    "compute_ns",     "non_compute_ns", "idle_pct",
					    "compute_pct",    "non_compute_pct" };
	if (t->raises) {
		for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
			tide__json_knull(j, keys[i]);
		return;
	}
	kus(j, "kernel_time_ns", t->kernel_time);
	kus(j, "busy_ns", t->kernel_time - t->idle);
	kus(j, "idle_ns", t->idle);
	kus(j, "compute_ns", t->compute);
	kus(j, "non_compute_ns", t->non_compute);
	tide__json_kfixed(j, "idle_pct", pct(t->idle, t->kernel_time), 4);
	tide__json_kfixed(j, "compute_pct", pct(t->compute, t->kernel_time), 4);
	tide__json_kfixed(j, "non_compute_pct", pct(t->non_compute, t->kernel_time), 4);
}

static void stream_fields(tide_json *j, const tide_compat_tables *t)
{
	tide__json_karray(j, "streams");
	for (size_t i = 0; i < t->n_idles; i++) {
		tide__json_object(j);
		tide__json_knull(j, "device"); /* HTA does not distinguish devices */
		tide__json_kint(j, "stream", t->idles[i].stream);
		tide__json_kobject(j, "idle");
		kus(j, "host_wait_ns", t->idles[i].time[0]);
		kus(j, "kernel_wait_ns", t->idles[i].time[1]);
		kus(j, "other_ns", t->idles[i].time[2]);
		tide__json_object_end(j);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static void rank_fields(tide_json *j, const tide_compat_rank *r)
{
	const tide_compat_tables *t = &r->t;
	tide__json_kint(j, "rank", r->rank);
	tide__json_kstr(j, "trace", r->path);
	tide__json_kstr(j, "raises", t->raises);
	temporal_fields(j, t);
	kus(j, "communication_ns", with_type(t, 1));
	kus(j, "memory_ns", with_type(t, 2));
	if (t->has_comm) {
		kus(j, "comm_comp_overlap_ns", t->type_time[3] + t->type_time[7]);
		tide__json_kfixed(j, "comm_comp_overlap_pct", round(1e4 * t->overlap) / 100, 4);
	} else {
		tide__json_kint(j, "comm_comp_overlap_ns", 0);
		tide__json_knull(j, "comm_comp_overlap_pct");
	}
	tide__json_kuint(j, "profiler_steps", r->steps);
	tide__json_kbool(j, "last_step_dropped", r->dropped_last);
	stream_fields(j, t);
}

static void kernel_fields(tide_json *j, const tide_compat_job *job, const tide_compat_rank *r,
			  const tide_compat_name *k)
{
	tide__json_object(j);
	tide__json_kint(j, "rank", r->rank);
	name(j, job, k->name);
	tide__json_kstr(j, "type", tide__compat_type_names[k->type]);
	tide__json_kuint(j, "count", k->count);
	kus(j, "sum_ns", k->sum);
	tide__json_kfixed(j, "mean_ns", six(k->mean) * 1000, 3);
	kus(j, "min_ns", k->min);
	kus(j, "max_ns", k->max);
	tide__json_kfixed(j, "std_ns", six(k->std) * 1000, 3);
	tide__json_object_end(j);
}

/* ---- HTA's own tables ---- */

static void describe(tide_json *j, const char *prefix, const tide_compat_describe *d)
{
	static const char *const names[] = { "count", "mean", "std", "min",
					     "25%",   "50%",  "75%", "max" };
	const double v[] = { (double)d->count, d->mean, d->std, d->min,
			     d->q25,	       d->q50,	d->q75, d->max };
	for (int i = 0; i < 8; i++) {
		char key[64];
		snprintf(key, sizeof key, "%s%s", prefix, names[i]);
		kreal(j, key, six(v[i]));
	}
}

static void hta_temporal(tide_json *j, const tide_compat_job *job)
{
	tide__json_karray(j, "temporal_breakdown");
	for (size_t i = 0; i < job->n; i++) {
		const tide_compat_tables *t = &job->v[i].t;
		if (job->v[i].failed || t->raises)
			continue;
		tide__json_object(j);
		tide__json_kint(j, "rank", job->v[i].rank);
		tide__json_kint(j, "idle_time(us)", t->idle);
		tide__json_kint(j, "compute_time(us)", t->compute);
		tide__json_kint(j, "non_compute_time(us)", t->non_compute);
		tide__json_kint(j, "kernel_time(us)", t->kernel_time);
		kreal(j, "idle_time_pctg", pct(t->idle, t->kernel_time));
		kreal(j, "compute_time_pctg", pct(t->compute, t->kernel_time));
		kreal(j, "non_compute_time_pctg", pct(t->non_compute, t->kernel_time));
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static void hta_overlap(tide_json *j, const tide_compat_job *job)
{
	tide__json_karray(j, "comm_comp_overlap");
	for (size_t i = 0; i < job->n; i++) {
		if (job->v[i].failed)
			continue;
		tide__json_object(j);
		tide__json_kint(j, "rank", job->v[i].rank);
		kreal(j, "comp_comm_overlap_pctg",
		      job->v[i].t.has_comm ? round(1e4 * job->v[i].t.overlap) / 100 : NAN);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static void hta_types(tide_json *j, const tide_compat_job *job)
{
	int64_t sum[8] = { 0 }, all = 0;
	for (size_t i = 0; i < job->n; i++)
		for (unsigned s = 1; s < 8; s++)
			sum[s] += job->v[i].t.type_time[s];
	for (unsigned s = 1; s < 8; s++)
		all += sum[s];
	tide__json_karray(j, "kernel_type_breakdown");
	for (unsigned done = 0; done < 7; done++) { /* by falling sum */
		unsigned top = 0;
		for (unsigned s = 1; s < 8; s++)
			if (sum[s] > (top ? sum[top] : 0))
				top = s;
		if (!top)
			break;
		tide__json_object(j);
		tide__json_kstr(j, "kernel_type", tide__compat_set_text(top));
		tide__json_kint(j, "sum", sum[top]);
		kreal(j, "percentage", round(1000.0 * (double)sum[top] / (double)all) / 10);
		tide__json_object_end(j);
		sum[top] = 0;
	}
	tide__json_array_end(j);
}

static void name_rows(tide_json *j, const tide_compat_job *job, const tide_compat_rank *r,
		      const tide_compat_name *v, size_t n, bool types)
{
	for (size_t i = 0; i < n; i++) {
		tide__json_object(j);
		tide__json_kint(j, "rank", r->rank);
		if (types)
			tide__json_kstr(j, "kernel_type", tide__compat_type_names[v[i].type]);
		name(j, job, v[i].name);
		tide__json_kint(j, "sum (us)", v[i].sum);
		tide__json_kint(j, "max (us)", v[i].max);
		tide__json_kint(j, "min (us)", v[i].min);
		kreal(j, "mean (us)", six(v[i].mean));
		kreal(j, "stddev", six(v[i].std));
		tide__json_object_end(j);
	}
}

static void hta_names(tide_json *j, const tide_compat_job *job)
{
	static const char *const keys[] = { "kernels", "annotations_gpu", "annotations_cpu" };
	for (int k = 0; k < 3; k++) {
		tide__json_karray(j, keys[k]);
		for (size_t i = 0; i < job->n; i++) {
			const tide_compat_tables *t = &job->v[i].t;
			const tide_compat_name *v[] = { t->kernels, t->annotations_gpu,
							t->annotations_cpu };
			const size_t n[] = { t->n_kernels, t->n_annotations_gpu,
					     t->n_annotations_cpu };
			name_rows(j, job, &job->v[i], v[k], n[k], k == 0);
		}
		tide__json_array_end(j);
	}
}

static void idle_row(tide_json *j, const tide_compat_rank *r, const tide_compat_idle *s, int kind)
{
	int64_t all = s->time[0] + s->time[1] + s->time[2];
	tide__json_object(j);
	tide__json_kint(j, "rank", r->rank);
	tide__json_kint(j, "stream", s->stream);
	tide__json_kstr(j, "idle_category", tide__compat_idle_names[kind]);
	tide__json_kint(j, "idle_time", s->time[kind]);
	kreal(j, "idle_time_ratio",
	      all ? round(100.0 * (double)s->time[kind] / (double)all) / 100 : NAN);
	tide__json_object_end(j);
}

static void hta_idle(tide_json *j, const tide_compat_job *job)
{
	tide__json_karray(j, "idle_time");
	for (size_t i = 0; i < job->n; i++)
		for (size_t k = 0; k < job->v[i].t.n_idles; k++)
			for (int c = 0; c < 3; c++)
				if (job->v[i].t.idles[k].has[c])
					idle_row(j, &job->v[i], &job->v[i].t.idles[k], c);
	tide__json_array_end(j);
}

static void hta_series(tide_json *j, const tide_compat_job *job)
{
	tide__json_karray(j, "queue_length");
	for (size_t i = 0; i < job->n; i++)
		for (size_t k = 0; k < job->v[i].t.n_queues; k++) {
			tide__json_object(j);
			tide__json_kint(j, "rank", job->v[i].rank);
			tide__json_kint(j, "stream", job->v[i].t.queues[k].stream);
			describe(j, "queue_length_", &job->v[i].t.queues[k].length);
			tide__json_object_end(j);
		}
	tide__json_array_end(j);
	tide__json_karray(j, "memory_bw");
	for (size_t i = 0; i < job->n; i++)
		for (size_t k = 0; k < job->v[i].t.n_bandwidths; k++) {
			tide__json_object(j);
			tide__json_kint(j, "rank", job->v[i].rank);
			tide__json_kstr(j, "name", job->v[i].t.bandwidths[k].name);
			describe(j, "memory_bw_gbps_", &job->v[i].t.bandwidths[k].gbps);
			tide__json_object_end(j);
		}
	tide__json_array_end(j);
}

static void hta_launches(tide_json *j, const tide_compat_job *job)
{
	tide__json_karray(j, "launch_stats");
	for (size_t i = 0; i < job->n; i++) {
		const tide_compat_launches *l = &job->v[i].t.launches;
		tide__json_object(j);
		tide__json_kint(j, "rank", job->v[i].rank);
		tide__json_kuint(j, "n", l->n);
		tide__json_kuint(j, "short_kernels", l->short_kernels);
		tide__json_kuint(j, "runtime_outliers", l->runtime_outliers);
		tide__json_kuint(j, "launch_delay_outliers", l->delay_outliers);
		tide__json_kint(j, "cpu_duration_sum", l->cpu_sum);
		tide__json_kint(j, "gpu_duration_sum", l->gpu_sum);
		tide__json_kint(j, "launch_delay_sum", l->delay_sum);
		describe(j, "cpu_duration_", &l->cpu);
		describe(j, "gpu_duration_", &l->gpu);
		describe(j, "launch_delay_", &l->delay);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static bool loss_at(const void *user, size_t i, tide_loss *out)
{
	const tide_compat_job *job = user;
	const tide_compat_loss *l = &job->losses[i];
	*out = (tide_loss){ .key = tide__strings_get(job->strings, l->key.i, NULL),
			    .number = l->number };
	if (l->text.i)
		out->text = tide__strings_get(job->strings, l->text.i, &out->n);
	return true;
}

static void json_losses(tide_json *j, const tide_compat_job *job)
{
	tide__json_kobject(j, "losses");
	for (size_t i = 0; i < job->n_losses; i++) {
		tide_loss l;
		if (loss_at(job, i, &l))
			tide__loss_json(j, &l);
	}
	tide__json_object_end(j);
}

static void json_ranks(tide_json *j, const tide_compat_job *job)
{
	tide__json_karray(j, "ranks");
	for (size_t i = 0; i < job->n; i++) {
		if (job->v[i].failed)
			continue;
		tide__json_object(j);
		rank_fields(j, &job->v[i]);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static void json_failed(tide_json *j, const tide_compat_job *job)
{
	tide__json_karray(j, "failed");
	for (size_t i = 0; i < job->n; i++) {
		if (!job->v[i].failed)
			continue;
		tide__json_object(j);
		tide__json_kstr(j, "trace", job->v[i].path);
		tide__json_kstr(j, "why", job->v[i].failed);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

void tide__compat_json(const tide_compat_job *job, tide_json *j)
{
	tide__json_kstr(j, "rules",
			"Holistic Trace Analysis 0.6.1: see docs/analyses/hta-compat.md");
	json_ranks(j, job);
	tide__json_karray(j, "kernels");
	for (size_t i = 0; i < job->n; i++)
		for (size_t k = 0; k < job->v[i].t.n_kernels; k++)
			kernel_fields(j, job, &job->v[i], &job->v[i].t.kernels[k]);
	tide__json_array_end(j);
	tide__json_karray(j, "recommendations");
	tide__json_array_end(j);
	json_failed(j, job);
	json_losses(j, job);
	tide__json_kobject(j, "hta");
	hta_temporal(j, job);
	hta_overlap(j, job);
	hta_types(j, job);
	hta_names(j, job);
	hta_idle(j, job);
	hta_series(j, job);
	hta_launches(j, job);
	tide__json_object_end(j);
}

/* ---- the members ---- */

#define COUNT(key, text)  TIDE_MEMBER(key, COUNT, text)
#define NUMBER(key, text) TIDE_MEMBER(key, NUMBER, text)
#define REAL(key, text)	  TIDE_MEMBER_MAYBE(key, REAL, text)
#define RANK		  TIDE_MEMBER("rank", PLAIN, "the rank; 0 if the trace names none")
/* A distribution, as pandas' describe() gives it. */
#define DESCRIBE(prefix, text)                                                         \
	REAL(prefix "count", "number of " text), REAL(prefix "mean", "mean of " text), \
		REAL(prefix "std", "standard deviation of a sample of " text),         \
		REAL(prefix "min", "least of " text),                                  \
		REAL(prefix "25%", "first quartile of " text),                         \
		REAL(prefix "50%", "median of " text),                                 \
		REAL(prefix "75%", "third quartile of " text), REAL(prefix "max", "most of " text)

static const tide_member idle_sums[] = {
	TIDE_MEMBER("host_wait_ns", DELTA_NS, "waiting for the host"),
	TIDE_MEMBER("kernel_wait_ns", DELTA_NS, "between rows that follow each other"),
	TIDE_MEMBER("other_ns", DELTA_NS, "other idle time"),
	{ 0 },
};
static const tide_member stream_members[] = {
	TIDE_MEMBER_MAYBE("device", TEXT, "null: HTA does not distinguish devices"),
	TIDE_MEMBER("stream", PLAIN, "number of the stream"),
	TIDE_MEMBER_OF("idle", OBJECT, idle_sums, "idle time by cause"),
	{ 0 },
};
static const tide_member rank_members[] = {
	RANK,
	TIDE_MEMBER("trace", TEXT, "its file"),
	TIDE_MEMBER_MAYBE("raises", TEXT, "the exception that HTA raises"),
	TIDE_MEMBER_MAYBE("kernel_time_ns", DELTA_NS, "first start to last end of GPU rows"),
	TIDE_MEMBER_MAYBE("busy_ns", DELTA_NS, "kernel time less idle time"),
	TIDE_MEMBER_MAYBE("idle_ns", DELTA_NS, "idle time"),
	TIDE_MEMBER_MAYBE("compute_ns", DELTA_NS, "compute"),
	TIDE_MEMBER_MAYBE("non_compute_ns", DELTA_NS, "other rows"),
	TIDE_MEMBER_MAYBE("idle_pct", PCT, "idle part"),
	TIDE_MEMBER_MAYBE("compute_pct", PCT, "part of compute"),
	TIDE_MEMBER_MAYBE("non_compute_pct", PCT, "part of other rows"),
	TIDE_MEMBER("communication_ns", DELTA_NS, "communication"),
	TIDE_MEMBER("memory_ns", DELTA_NS, "copies and fills"),
	TIDE_MEMBER("comm_comp_overlap_ns", DELTA_NS, "communication during compute"),
	TIDE_MEMBER_MAYBE("comm_comp_overlap_pct", PCT, "its part of communication"),
	COUNT("profiler_steps", "different profiler steps"),
	TIDE_MEMBER("last_step_dropped", BOOL, "the last step was dropped"),
	TIDE_MEMBER_OF("streams", TABLE, stream_members, "streams"),
	{ 0 },
};
static const tide_member kernel_members[] = {
	RANK,
	TIDE_MEMBER("name", KERNEL, "the kernel"),
	TIDE_MEMBER("type", TEXT, "compute, communication or memory"),
	COUNT("count", "its rows"),
	TIDE_MEMBER("sum_ns", DELTA_NS, "sum of durations"),
	REAL("mean_ns", "mean duration"),
	TIDE_MEMBER("min_ns", DELTA_NS, "shortest"),
	TIDE_MEMBER("max_ns", DELTA_NS, "longest"),
	REAL("std_ns", "standard deviation of a sample"),
	{ 0 },
};
static const tide_member failed_members[] = {
	TIDE_MEMBER("trace", TEXT, "its file"),
	TIDE_MEMBER("why", TEXT, "why it could not be read"),
	{ 0 },
};
static const tide_member temporal_members[] = {
	RANK,
	NUMBER("idle_time(us)", "idle time"),
	NUMBER("compute_time(us)", "compute"),
	NUMBER("non_compute_time(us)", "other rows"),
	NUMBER("kernel_time(us)", "first start to last end"),
	REAL("idle_time_pctg", "idle part"),
	REAL("compute_time_pctg", "part of compute"),
	REAL("non_compute_time_pctg", "part of other rows"),
	{ 0 },
};
static const tide_member overlap_members[] = {
	RANK,
	REAL("comp_comm_overlap_pctg", "part of communication during compute"),
	{ 0 },
};
static const tide_member type_members[] = {
	TIDE_MEMBER("kernel_type", TEXT, "a type, or types at once"),
	NUMBER("sum", "time in us"),
	REAL("percentage", "part of all"),
	{ 0 },
};
#define NAME_ROWS                                                                            \
	TIDE_MEMBER("name", KERNEL, "the name"), NUMBER("sum (us)", "sum of durations"),     \
		NUMBER("max (us)", "longest"), NUMBER("min (us)", "shortest"),               \
		REAL("mean (us)", "mean"), REAL("stddev", "standard deviation of a sample"), \
		{ 0 },
static const tide_member named_members[] = {
	RANK, TIDE_MEMBER("kernel_type", TEXT, "compute, communication or memory"), NAME_ROWS
};
static const tide_member annotation_members[] = { RANK, NAME_ROWS };
static const tide_member idle_members[] = {
	RANK,
	TIDE_MEMBER("stream", PLAIN, "number of the stream"),
	TIDE_MEMBER("idle_category", TEXT, "host_wait, kernel_wait or other"),
	NUMBER("idle_time", "idle time in us"),
	REAL("idle_time_ratio", "part of the stream's idle time"),
	{ 0 },
};
static const tide_member queue_members[] = {
	RANK,
	TIDE_MEMBER("stream", PLAIN, "number of the stream"),
	DESCRIBE("queue_length_", "queue lengths"),
	{ 0 },
};
static const tide_member bandwidth_members[] = {
	RANK,
	TIDE_MEMBER("name", TEXT, "kind of copy"),
	DESCRIBE("memory_bw_gbps_", "GB/s"),
	{ 0 },
};
static const tide_member launch_members[] = {
	RANK,
	COUNT("n", "launches"),
	COUNT("short_kernels", "kernels shorter than their launch"),
	COUNT("runtime_outliers", "long launch calls"),
	COUNT("launch_delay_outliers", "long delays"),
	NUMBER("cpu_duration_sum", "us of launch calls"),
	NUMBER("gpu_duration_sum", "us of kernels"),
	NUMBER("launch_delay_sum", "us from call to kernel"),
	DESCRIBE("cpu_duration_", "durations of calls in us"),
	DESCRIBE("gpu_duration_", "durations of kernels in us"),
	DESCRIBE("launch_delay_", "delays in us"),
	{ 0 },
};
static const tide_member hta_members[] = {
	TIDE_MEMBER_OF("temporal_breakdown", TABLE, temporal_members, "get_temporal_breakdown"),
	TIDE_MEMBER_OF("comm_comp_overlap", TABLE, overlap_members, "get_comm_comp_overlap"),
	TIDE_MEMBER_OF("kernel_type_breakdown", TABLE, type_members, "get_gpu_kernel_breakdown"),
	TIDE_MEMBER_OF("kernels", TABLE, named_members, "get_gpu_kernel_breakdown"),
	TIDE_MEMBER_OF("annotations_gpu", TABLE, annotation_members, "GPU annotations"),
	TIDE_MEMBER_OF("annotations_cpu", TABLE, annotation_members, "host annotations"),
	TIDE_MEMBER_OF("idle_time", TABLE, idle_members, "get_idle_time_breakdown"),
	TIDE_MEMBER_OF("queue_length", TABLE, queue_members, "get_queue_length_summary"),
	TIDE_MEMBER_OF("memory_bw", TABLE, bandwidth_members, "get_memory_bw_summary"),
	TIDE_MEMBER_OF("launch_stats", TABLE, launch_members, "get_cuda_kernel_launch_stats"),
	{ 0 },
};
static const tide_member loss = TIDE_MEMBER_MAYBE("", ANY, "number or text");
const tide_member tide__compat_members[] = {
	TIDE_MEMBER("rules", TEXT, "whose rules"),
	TIDE_MEMBER_OF("ranks", TABLE, rank_members, "the members of hta, by HTA's rules"),
	TIDE_MEMBER_OF("kernels", TABLE, kernel_members, "kernels by name"),
	TIDE_MEMBER("recommendations", LIST, "none: HTA has none"),
	TIDE_MEMBER_OF("failed", TABLE, failed_members, "traces that could not be read"),
	TIDE_MEMBER_OF("losses", MAP, &loss, "lost and repaired data, by the name of the loss"),
	TIDE_MEMBER_OF("hta", OBJECT, hta_members, "HTA's own tables, with its names, in us"),
	{ 0 },
};

/* ---- text ---- */

static void cell(tide_grid *g, bool known, int64_t us)
{
	known ? tide__grid_int(g, us * 1000) : tide__grid_none(g);
}

static void text_ranks(const tide_compat_job *job, FILE *out, const tide_style *style)
{
	static const tide_grid_col cols[] = {
		{ "rank", "Rank", TIDE_CELL_COUNT },
		{ "kernel_time", "Kernel time", TIDE_CELL_NS },
		{ "idle", "Idle", TIDE_CELL_NS, 1 },
		{ "compute", "Compute", TIDE_CELL_NS, 1 },
		{ "non_compute", "Non-compute", TIDE_CELL_NS, 2 },
		{ "idle_pct", "Idle", TIDE_CELL_PCT },
		{ "overlap_pct", "Overlap", TIDE_CELL_PCT },
		{ "note", "Note", TIDE_CELL_TEXT },
	};
	tide_grid *g = tide__grid_new(cols, 8);
	char note[80];
	for (size_t i = 0; i < job->n; i++) {
		const tide_compat_tables *t = &job->v[i].t;
		bool known = !job->v[i].failed && !t->raises;
		if (job->v[i].failed)
			tide__grid_none(g);
		else
			tide__grid_int(g, job->v[i].rank);
		cell(g, known, t->kernel_time);
		cell(g, known, t->idle);
		cell(g, known, t->compute);
		cell(g, known, t->non_compute);
		tide__grid_real(g, known ? pct(t->idle, t->kernel_time) : NAN);
		tide__grid_real(g, t->has_comm ? 100 * t->overlap : NAN);
		snprintf(note, sizeof note, "HTA raises %s", t->raises ? t->raises : "");
		tide__grid_text(g, job->v[i].failed	    ? job->v[i].failed
				   : t->raises		    ? note
				   : job->v[i].dropped_last ? "last step dropped"
							    : "");
	}
	tide__grid_print(g, out, style, 2);
	tide__grid_free(g);
}

static void text_kernels(const tide_compat_job *job, FILE *out, const tide_style *style)
{
	static const tide_grid_col cols[] = {
		{ "rank", "Rank", TIDE_CELL_COUNT },   { "type", "Type", TIDE_CELL_TEXT },
		{ "count", "Count", TIDE_CELL_COUNT }, { "sum", "Sum", TIDE_CELL_NS },
		{ "mean", "Mean", TIDE_CELL_NS, 1 },   { "name", "Kernel", TIDE_CELL_TEXT },
	};
	tide_grid *g = tide__grid_new(cols, 6);
	for (size_t i = 0; i < job->n; i++)
		for (size_t k = 0; k < job->v[i].t.n_kernels && k < 10; k++) {
			const tide_compat_name *r = &job->v[i].t.kernels[k];
			size_t n;
			const char *text = tide__strings_get(job->strings, r->name.i, &n);
			tide__grid_int(g, job->v[i].rank);
			tide__grid_text(g, tide__compat_type_names[r->type]);
			tide__grid_uint(g, r->count);
			tide__grid_int(g, r->sum * 1000);
			tide__grid_int(g, (int64_t)llround(r->mean * 1000));
			tide__grid_textn(g, text, n);
		}
	tide__grid_print(g, out, style, 2);
	tide__grid_free(g);
}

static void text_losses(const tide_compat_job *job, FILE *out, const tide_style *style)
{
	fputs(job->n_losses ? "\n" : "", out);
	tide__put_loss_list(out, style, loss_at, job, job->n_losses);
}

void tide__compat_text(const tide_compat_job *job, const tide_out *to)
{
	FILE *out = to->out;
	const tide_style *style = &to->style;
	fprintf(out, "By Holistic Trace Analysis's rules (docs/analyses/hta-compat.md); --json has "
		     "all its tables\n\n");
	text_ranks(job, out, style);
	fprintf(out, "\n");
	text_kernels(job, out, style);
	text_losses(job, out, style);
}
