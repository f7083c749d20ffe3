// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/job/hta_compat.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/documents.h"
#include "cli/job/ranks.h"
#include "model/losses.h"
#include "render/report/compare/hta_compat.h"

/* Returns the rank by HTA's rule: the trace's own, else 0. */
static int64_t rank_of(const tide_model *m)
{
	for (size_t i = 1; i < m->processes.n; i++)
		if (m->processes.rank[i] >= 0)
			return m->processes.rank[i];
	return 0;
}

/* Converts names to ids of the job's strings, because the model is freed. */
static bool keep_names(tide_compat_job *job, const tide_model *m, tide_compat_name *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len;
		const char *text = tide__text(m, v[i].name, &len);
		v[i].name.i = tide__strings_add(job->strings, text, len);
		if (len && !v[i].name.i)
			return false;
	}
	return true;
}

static tide_code analyze(tide_compat_job *job, tide_compat_rank *r, const tide_model *m,
			 bool keep_last, tide_error *err)
{
	tide_compat_frame f;
	tide_code rc = tide__compat_frame_build(m, keep_last, &f, err);
	if (rc != TIDE_OK)
		return rc;
	rc = tide__compat_tables_find(m, &f, &r->t, err);
	r->rank = rank_of(m);
	r->steps = f.steps;
	r->dropped_last = f.dropped_last;
	tide__compat_frame_free(&f);
	if (rc == TIDE_OK && !(keep_names(job, m, r->t.kernels, r->t.n_kernels) &&
			       keep_names(job, m, r->t.annotations_gpu, r->t.n_annotations_gpu) &&
			       keep_names(job, m, r->t.annotations_cpu, r->t.n_annotations_cpu)))
		rc = tide__nomem(err);
	return rc;
}

static tide_compat_loss *loss_of(tide_compat_job *job, const char *key, size_t n)
{
	uint32_t id = tide__strings_add(job->strings, key, n);
	for (size_t i = 0; i < job->n_losses; i++)
		if (job->losses[i].key.i == id)
			return &job->losses[i];
	if (!id || !TIDE_ROOM(job->losses, job->cap_losses, job->n_losses + 1))
		return NULL;
	job->losses[job->n_losses] = (tide_compat_loss){ .key = { id } };
	return &job->losses[job->n_losses++];
}

/* Keeps notes on what the importer dropped or repaired. */
static bool keep_losses(tide_compat_job *job, const tide_model *m)
{
	for (size_t i = 0; i < m->facts.n; i++) {
		tide_loss x;
		if (!tide__loss_at(m, i, &x))
			continue;
		tide_compat_loss *l = loss_of(job, x.key, strlen(x.key));
		if (!l)
			return false;
		if (!l->number || !tide__loss_is_place(x.key))
			l->number += x.number;
		if (x.n && !l->text.i)
			l->text.i = tide__strings_add(job->strings, x.text, x.n);
	}
	return true;
}

/* Adds one file; an unreadable file is reported and stays in the list as failed. */
static bool take(const tide_args *a, tide_compat_job *job, const char *path, bool keep_last)
{
	tide_compat_rank *r = &job->v[job->n++];
	tide_error err = { 0 };
	*r = (tide_compat_rank){ .path = tide__strndup(path, strlen(path)), .rank = -1 };
	tide_model *m = NULL;
	tide_code rc = tide__load(
		path, &(tide_load_options){ .what = TIDE_WANT_SPANS | TIDE_WANT_RAW }, &m, &err);
	if (rc == TIDE_OK)
		tide__cli_remember(m);
	if (rc == TIDE_OK)
		rc = keep_losses(job, m) ? analyze(job, r, m, keep_last, &err) : tide__nomem(&err);
	tide__model_free(m);
	if (rc == TIDE_OK)
		return true;
	(void)a;
	tide__cli_fail(path, &err);
	r->failed = tide__strndup(err.text, strlen(err.text));
	return false;
}

static int by_rank(const void *a, const void *b)
{
	const tide_compat_rank *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(x->path ? x->path : "", y->path ? y->path : "");
}

static void free_job(tide_compat_job *job)
{
	for (size_t i = 0; i < job->n; i++) {
		tide__compat_tables_free(&job->v[i].t);
		tide__free(job->v[i].path);
		tide__free(job->v[i].failed);
	}
	tide__free(job->v);
	tide__free(job->losses);
	tide__strings_free(job->strings);
}

static tide_code put_text(void *result, const tide_out *to)
{
	tide__compat_text(result, to);
	return TIDE_OK;
}

static tide_code put_json(void *result, tide_json *j)
{
	tide__compat_json(result, j);
	return TIDE_OK;
}

const tide_report_type tide__document_hta_compat = {
	.name = "hta-compat",
	.version = 1,
	.summary = "figures by the rules of Holistic Trace Analysis",
	.members = tide__compat_members,
	.text = put_text,
	.json = put_json,
};

int tide__cli_run_hta_compat(const tide_args *a, bool keep_last)
{
	tide_rank_files f;
	tide_error err;
	if (tide__ranks_expand(a->files, a->n_files, &f, &err) != TIDE_OK)
		return tide__cli_fail(NULL, &err);
	tide_compat_job job = { .v = tide__calloc(f.n + 1, sizeof *job.v),
				.strings = tide__strings_new() };
	size_t good = 0;
	for (size_t i = 0; job.v && job.strings && i < f.n; i++)
		good += take(a, &job, f.v[i].path, keep_last);
	if (good)
		qsort(job.v, job.n, sizeof *job.v, by_rank);
	int rc = good ? tide__document_put(a, &tide__document_hta_compat, &job) : 1;
	free_job(&job);
	tide__ranks_free(&f);
	return rc;
}
