// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* /api/profiler/kernels and hta: figures of the holistic analysis (`tidemark hta`). */
#include "analyze/advice/time_advice.h"
#include "base/error.h"
#include "render/report/device/hta.h"
#include "render/text/losses.h"
#include "serve/answer/api.h"
#include "serve/answer/exported.h"

static const char no_device[] = "the trace has no device work";

/* Gets the job of the requested recording; *l NULL = no recording, *job NULL = no device rows. */
static tide_code job_of(tide_ask *a, tide_loaded **l, const tide_hta_job **job, tide_error *err)
{
	*job = NULL;
	tide_code rc = tide__ask_param(a, "recording", l, err);
	return rc == TIDE_OK && *l ? tide__loaded_get_job(*l, job, err) : rc;
}

static const char *message(const tide_loaded *l, const tide_hta_job *job)
{
	return job ? NULL : l ? no_device : tide__api_none;
}

static void text_of(tide_json *j, const char *key, const tide_hta *sum, tide_str s)
{
	size_t n;
	const char *text = tide__hta_str(sum, s, &n);
	tide__json_kstrn(j, key, text, n);
}

/* {"name", "time_us", "time_ns", "count", "category", "pct"} of the `most` longest. */
static void put_kernels(tide_json *j, const char *key, const tide_hta *sum, size_t most)
{
	int64_t all = 0;
	for (size_t i = 0; i < sum->kernels.n; i++)
		all += tide__stat_sum(&sum->kernels.v[i].dur);
	tide__json_karray(j, key);
	for (size_t i = 0; i < sum->kernels.n && i < most; i++) {
		const tide_hta_kernel *k = &sum->kernels.v[i];
		int64_t ns = tide__stat_sum(&k->dur);
		tide__json_object(j);
		text_of(j, "name", sum, k->name);
		tide__json_kmilli(j, "time_us", ns);
		tide__json_kint(j, "time_ns", ns);
		tide__json_kuint(j, "count", k->dur.n);
		tide__json_kstr(j, "category", tide__gpu_type_text[k->type]);
		tide__json_kfixed(j, "pct", tide__share_pct(ns, all), 4);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

/* ---- kernels ---- */

static void kernel_summary(tide_json *j, const tide_hta_head *h)
{
	int64_t sum = 0;
	for (int t = 0; t < TIDE_GPU_TYPES; t++)
		sum += h->sum_of[t];
	tide__json_kobject(j, "summary");
	tide__json_kuint(j, "total_kernels", h->rows);
	tide__json_kmilli(j, "total_time_us", sum);
	tide__json_kint(j, "total_time_ns", sum);
	tide__json_kfixed(j, "avg_kernel_time_us", (double)sum / 1e3 / (double)h->rows, 3);
	tide__json_object_end(j);
	tide__json_kobject(j, "by_type");
	for (int t = 0; t < TIDE_GPU_TYPES; t++)
		if (h->rows_of[t]) {
			tide__json_kobject(j, tide__gpu_type_text[t]);
			tide__json_kuint(j, "count", h->rows_of[t]);
			tide__json_kmilli(j, "time_us", h->sum_of[t]);
			tide__json_kint(j, "time_ns", h->sum_of[t]);
			tide__json_object_end(j);
		}
	tide__json_object_end(j);
}

static void no_kernels(tide_json *j)
{
	tide__json_karray(j, "kernels");
	tide__json_array_end(j);
	tide__json_knull(j, "summary");
	tide__json_kobject(j, "by_type");
	tide__json_object_end(j);
}

tide_code tide__answer_kernels(tide_ask *a, tide_error *err)
{
	tide_loaded *l;
	const tide_hta_job *job;
	int64_t limit = 50;
	tide_json j;
	if (!tide__request_get_int(a->req, "limit", 1, 10000, &limit))
		return tide__ask_wrong(a, err);
	tide_code rc = job_of(a, &l, &job, err);
	if (rc != TIDE_OK)
		return rc;
	tide__api_begin(&j, a, l, job);
	if (job) {
		put_kernels(&j, "kernels", job->sum, (size_t)limit);
		kernel_summary(&j, &job->sum->h);
		tide__json_kuint(&j, "names", job->sum->kernels.n);
		tide__losses_json(&j, l->m);
	} else {
		no_kernels(&j);
	}
	return tide__api_end(&j, message(l, job), err);
}

/* ---- hta ---- */

static void put_texts(tide_json *j, const char *key, const tide_advice *v, size_t n, bool text)
{
	tide__json_karray(j, key);
	for (size_t i = 0; i < n; i++)
		if (text || v[i].bottleneck[0])
			tide__json_str(j, text ? v[i].text : v[i].bottleneck);
	tide__json_array_end(j);
}

static void put_breakdown(tide_json *j, const tide_hta_head *h)
{
	const struct {
		const char *key;
		int64_t ns;
	} parts[] = {
		{ "compute_pct", h->type_ns[TIDE_GPU_COMPUTE] },
		{ "idle_pct", h->idle },
		{ "gpu_idle_pct", h->idle },
		{ "communication_pct", h->type_ns[TIDE_GPU_COMM] },
		{ "memory_pct", h->type_ns[TIDE_GPU_MEMORY] },
	};
	tide__json_kobject(j, "temporal_breakdown");
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		tide__json_kfixed(j, parts[i].key, tide__share_pct(parts[i].ns, h->kernel_time), 4);
	tide__json_object_end(j);
}

tide_code tide__answer_hta(tide_ask *a, tide_error *err)
{
	tide_loaded *l;
	const tide_hta_job *job;
	tide_advice advice[TIDE_ADVICE_MAX];
	tide_json j;
	tide_code rc;
	if (tide__answer_from_exported(a, TIDE_EXPORTED_HTA, &rc, err))
		return rc;
	rc = job_of(a, &l, &job, err);
	if (rc != TIDE_OK)
		return rc;
	size_t n = job ? tide__find_time_advice(job, advice) : 0;
	tide__api_begin(&j, a, l, job);
	if (job) {
		put_breakdown(&j, &job->sum->h);
		put_kernels(&j, "top_kernels", job->sum, 10);
		tide__losses_json(&j, l->m);
	} else {
		tide__json_knull(&j, "temporal_breakdown");
		tide__json_karray(&j, "top_kernels");
		tide__json_array_end(&j);
	}
	put_texts(&j, "recommendations", advice, n, true);
	put_texts(&j, "bottlenecks", advice, n, false);
	return tide__api_end(&j, message(l, job), err);
}
