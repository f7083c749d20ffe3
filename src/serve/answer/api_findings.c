// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* /api/profiler/torch, bottlenecks and optimization-score. Data that a recording lacks are
 * null, with has_real_data false; nothing is guessed. */
#include <stdlib.h>
#include <string.h>

#include "analyze/advice/findings.h"
#include "analyze/advice/compile_advice.h"
#include "analyze/live/live_set.h"
#include "analyze/ops/op_tree.h"
#include "base/error.h"
#include "base/mem.h"
#include "report/ops/compile.h"
#include "serve/answer/api.h"

/* ---- torch ---- */

typedef struct top {
	tide_str name;
	const tide_op_row *row;
} top;

static int by_self(const void *a, const void *b)
{
	const top *x = a, *y = b;
	return (x->row->self.ns < y->row->self.ns) - (x->row->self.ns > y->row->self.ns);
}

static tide_code top_ops(tide_json *j, const tide_model *m, tide_error *err)
{
	tide_optree t;
	tide_op_flat f = { 0 };
	bool memory = tide__memory_known(m, TIDE_ANY);
	tide_code rc = tide__find_op_tree(m, &(tide_optree_options){ .device = TIDE_ANY }, &t, err);
	if (rc == TIDE_OK)
		rc = tide__find_op_table(&t, &f, err);
	top *v = rc == TIDE_OK ? tide__calloc(f.n + 1, sizeof *v) : NULL;
	if (rc == TIDE_OK && !v)
		rc = tide__nomem(err);
	for (size_t i = 0; v && i < f.n; i++)
		v[i] = (top){ f.names[i], &f.rows[i] };
	if (v && f.n)
		qsort(v, f.n, sizeof *v, by_self);
	tide__json_karray(j, "top_ops");
	for (size_t i = 0; v && i < f.n && i < 50; i++) {
		tide__json_object(j);
		tide__json_ktext(j, "name", m, v[i].name);
		tide__json_kuint(j, "count", v[i].row->count);
		tide__json_kmilli(j, "self_cpu_time_us", v[i].row->self.ns);
		tide__json_kmilli(j, "cpu_time_us", v[i].row->all.ns);
		if (memory)
			tide__json_kuint(j, "allocated_bytes", v[i].row->self.alloc_bytes);
		else
			tide__json_knull(j, "allocated_bytes");
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
	tide__free(v);
	tide__optree_flat_free(&f);
	tide__optree_free(&t);
	return rc;
}

tide_code tide__answer_torch(tide_ask *a, tide_error *err)
{
	tide_loaded *l;
	tide_json j;
	tide_code rc = tide__ask_param(a, "recording", &l, err);
	if (rc != TIDE_OK)
		return rc;
	bool real = l && l->m->spans.n > 1;
	tide__api_begin(&j, a, l, real);
	if (real)
		rc = top_ops(&j, l->m, err);
	else {
		tide__json_karray(&j, "top_ops");
		tide__json_array_end(&j);
	}
	tide__json_knull(&j, "summary_path");
	tide__json_kobject(&j, "metadata");
	for (size_t i = 0; l && i < l->m->facts.n; i++)
		if (tide__fact_is_text(l->m, i))
			tide__json_ktext(&j, tide__text(l->m, l->m->facts.key[i], NULL), l->m,
					 l->m->facts.text[i]);
	tide__json_object_end(&j);
	tide__json_kstr(&j, "trace_path", l ? tide__loaded_name(l) : NULL);
	tide_code end = tide__api_end(&j,
				      real ? NULL
				      : l  ? "the recording has no ops"
					   : tide__api_none,
				      err);
	return rc == TIDE_OK ? end : rc;
}

/* ---- bottlenecks ---- */

typedef struct job {
	tide_loaded *l;
	const tide_hta_job *job;
	tide_findings f;
} job;

static tide_code find(tide_ask *a, job *w, tide_error *err)
{
	*w = (job){ 0 };
	tide_code rc = tide__ask_param(a, "recording", &w->l, err);
	if (rc == TIDE_OK && w->l)
		rc = tide__loaded_get_job(w->l, &w->job, err);
	if (rc == TIDE_OK && w->l)
		rc = tide__collect_findings(w->l->m, &(tide_findings_query){ .job = w->job }, &w->f,
					    err);
	return rc;
}

/* Writes the highest possible speedup: if that share took no time at all. */
static void put_speedup(tide_json *j, double pct)
{
	if (pct > 0 && pct < 100)
		tide__json_kfixed(j, "potential_speedup", 100 / (100 - pct), 3);
	else
		tide__json_knull(j, "potential_speedup");
}

static void put_finding(tide_json *j, const tide_finding *x)
{
	size_t n = x->figure ? strlen(x->figure) : 0;
	bool pct = n > 4 && !strcmp(x->figure + n - 4, "_pct");
	tide__json_object(j);
	tide__json_kstr(j, "type", x->id);
	tide__json_kstr(j, "severity", tide__severity_text[x->severity]);
	tide__json_kstr(j, "category", tide__area_text[x->area]);
	tide__json_knull(j, "kernel_name");
	tide__json_knull(j, "time_us");
	tide__json_key(j, "percentage");
	if (pct)
		tide__json_fixed(j, x->value, 4);
	else
		tide__json_null(j);
	tide__json_kstr(j, "description", x->text);
	tide__json_karray(j, "suggestions");
	tide__json_str(j, x->text);
	tide__json_array_end(j);
	tide__json_knull(j, "potential_speedup");
	tide__json_object_end(j);
}

/* Lists those of the 5 longest kernels with more than 15 % of device time; above 25 % is high. */
static void put_kernels(tide_json *j, const tide_hta *sum, int64_t all)
{
	for (size_t i = 0; i < sum->kernels.n && i < 5; i++) {
		int64_t ns = tide__stat_sum(&sum->kernels.v[i].dur);
		double pct = tide__share_pct(ns, all);
		size_t n;
		const char *name = tide__hta_str(sum, sum->kernels.v[i].name, &n);
		char text[200];
		if (pct <= 15)
			continue;
		snprintf(text, sizeof text, "%.*s takes %.1f%% of kernel time",
			 (int)(n < 120 ? n : 120), name, pct);
		tide__json_object(j);
		tide__json_kstr(j, "type", "hot_kernel");
		tide__json_kstr(j, "severity", pct > 25 ? "high" : "medium");
		tide__json_kstr(j, "category", "kernel");
		tide__json_kstrn(j, "kernel_name", name, n);
		tide__json_kmilli(j, "time_us", ns);
		tide__json_kfixed(j, "percentage", pct, 4);
		tide__json_kstr(j, "description", text);
		tide__json_karray(j, "suggestions");
		tide__json_array_end(j);
		put_speedup(j, pct);
		tide__json_object_end(j);
	}
}

/* Returns why there is no judgement; NULL = there is one. */
static const char *unjudged(const job *w)
{
	return !w->l ? tide__api_none
	       : w->f.score >= 0
		       ? NULL
		       : "neither device work, device memory nor a compile log: there is nothing "
			 "to judge";
}

tide_code tide__answer_bottlenecks(tide_ask *a, tide_error *err)
{
	job w;
	tide_json j;
	int64_t all = 0;
	tide_code rc = find(a, &w, err);
	if (rc != TIDE_OK)
		return rc;
	tide__api_begin(&j, a, w.l, !unjudged(&w));
	for (int t = 0; w.job && t < TIDE_GPU_TYPES; t++)
		all += w.job->sum->h.sum_of[t];
	tide__json_karray(&j, "bottlenecks");
	for (size_t i = 0; i < w.f.n; i++)
		if (w.f.v[i].points <= 0)
			put_finding(&j, &w.f.v[i]);
	if (w.job)
		put_kernels(&j, w.job->sum, all);
	tide__json_array_end(&j);
	tide__json_key(&j, "total_time_us");
	if (w.job)
		tide__json_milli(&j, all);
	else
		tide__json_null(&j);
	const char *hardware = NULL;
	for (uint32_t d = 1; w.l && d < w.l->m->devices.n && !hardware; d++)
		if (w.l->m->devices.name[d].i)
			hardware = tide__text(w.l->m, w.l->m->devices.name[d], NULL);
	tide__json_kstr(&j, "hardware", hardware);
	return tide__api_end(&j, unjudged(&w), err);
}

/* ---- the score ---- */

static void put_points(tide_json *j, const char *key, const tide_findings *f, bool gain)
{
	tide__json_karray(j, key);
	for (size_t i = 0; i < f->n; i++) {
		const tide_finding *x = &f->v[i];
		if (!x->points || (x->points > 0) != gain)
			continue;
		tide__json_object(j);
		tide__json_kstr(j, "id", x->id);
		tide__json_kstr(j, "area", tide__area_text[x->area]);
		tide__json_kstr(j, "severity", tide__severity_text[x->severity]);
		tide__json_kint(j, "points", x->points);
		tide__json_kstr(j, "text", x->text);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

tide_code tide__answer_score(tide_ask *a, tide_error *err)
{
	job w;
	tide_json j;
	tide_code rc = find(a, &w, err);
	if (rc != TIDE_OK)
		return rc;
	bool real = !unjudged(&w);
	char grade[2] = { real ? w.f.grade : 0, 0 };
	tide__api_begin(&j, a, w.l, real);
	tide__json_kint_if(&j, "score", real, w.f.score);
	tide__json_kstr(&j, "grade", real ? grade : NULL);
	put_points(&j, "deductions", &w.f, false);
	put_points(&j, "bonuses", &w.f, true);
	return tide__api_end(&j, unjudged(&w), err);
}
