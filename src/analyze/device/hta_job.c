// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/device/hta_job.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/losses.h"
#include "model/strings.h"

tide_hta_job *tide__hta_job_new(void)
{
	tide_hta_job *job = tide__calloc(1, sizeof *job);
	if (!job)
		return NULL;
	job->max_kept = (uint64_t)1 << 30;
	job->sum = tide__hta_new();
	if (job->sum)
		return job;
	tide__free(job);
	return NULL;
}

void tide__hta_job_free(tide_hta_job *job)
{
	if (!job)
		return;
	tide_map *maps[] = { &job->kernels,	&job->apis,	   &job->ops,	 &job->op_kernels,
			     &job->annotations, &job->collectives, &job->copies, &job->losses };
	for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
		tide__map_free(maps[i]);
	for (size_t i = 0; i < job->n_ranks; i++) {
		tide__hta_free(job->ranks[i].h);
		tide__free(job->ranks[i].trace);
	}
	for (size_t i = 0; i < job->n_failed; i++)
		tide__free(job->failed[i].trace);
	tide__free(job->ranks);
	tide__free(job->failed);
	tide__free(job->notes);
	tide__hta_free(job->sum);
	tide__free(job);
}

/* ---- merging -------------------------------------------------------------------------------- */

/* Returns the job's text for a text of the rank. */
static tide_str move(tide_hta_job *job, const tide_hta *h, tide_str s)
{
	size_t n;
	const char *text = tide__hta_str(h, s, &n);
	return tide__hta_intern(job->sum, text, n);
}

/* Finds or creates the row of `key` in a table of the sum: declares `row`, or returns false. */
#define ROW_OF(job, member, key)                                     \
	__typeof__((job)->sum->member.v) row;                        \
	bool fresh = false;                                          \
	{                                                            \
		uint64_t k_ = (key);                                 \
		uint32_t at_ = tide__map_get(&(job)->member, k_);    \
		if (!at_) {                                          \
			if (!TIDE_HTA_PUSH((job)->sum, member))      \
				return false;                        \
			at_ = (uint32_t)(job)->sum->member.n;        \
			if (!tide__map_put(&(job)->member, k_, at_)) \
				return false;                        \
			fresh = true;                                \
		}                                                    \
		row = &(job)->sum->member.v[at_ - 1];                \
	}

/* Links a rank's chunk of durations in front of the job's chunks of the kernel. */
static bool keep_chunk(tide_hta_job *job, const tide_hta *h, uint64_t chunk, tide_hta_kernel *row)
{
	if (!chunk || row->chunk == UINT64_MAX)
		return true;
	tide_hta *sum = job->sum;
	const tide_hta_chunk *from = &h->chunks.v[chunk - 1];
	if (sum->bytes.n + from->bytes > job->max_kept) {
		job->kept_too_many = true;
		row->chunk = UINT64_MAX;
		return true;
	}
	tide_hta_chunk *to = TIDE_HTA_PUSH(sum, chunks);
	if (!to)
		return false;
	*to = (tide_hta_chunk){ sum->bytes.n, from->bytes, from->n, row->chunk };
	row->chunk = sum->chunks.n;
	if (!TIDE_ROOM(sum->bytes.v, sum->bytes.cap, sum->bytes.n + (size_t)from->bytes))
		return false;
	memcpy(sum->bytes.v + sum->bytes.n, h->bytes.v + from->at, (size_t)from->bytes);
	sum->bytes.n += (size_t)from->bytes;
	return true;
}

static void keep_launch(tide_hta_job *job, const tide_hta *h, const tide_hta_kernel *k,
			tide_hta_kernel *row)
{
	row->launch_ns = k->launch_ns;
	row->grid = move(job, h, k->grid);
	row->block = move(job, h, k->block);
	row->registers = k->registers;
	row->shared = k->shared;
	row->device = k->device;
	row->stream = k->stream;
}

static bool add_kernel(tide_hta_job *job, const tide_hta *h, const tide_hta_kernel *k)
{
	tide_str name = move(job, h, k->name);
	ROW_OF(job, kernels, (uint64_t)name.i << 2 | k->type)
	if (fresh) {
		row->name = name;
		row->type = k->type;
		row->custom = k->custom;
	}
	if (fresh || k->launch_ns > row->launch_ns)
		keep_launch(job, h, k, row);
	tide__stat_merge(&row->dur, &k->dur);
	return keep_chunk(job, h, k->chunk, row);
}

static bool add_api(tide_hta_job *job, const tide_hta *h, const tide_hta_api *a)
{
	tide_str name = move(job, h, a->name);
	ROW_OF(job, apis, name.i)
	row->name = name;
	row->graph |= a->graph;
	row->rows += a->rows;
	row->short_kernels += a->short_kernels;
	row->runtime_outliers += a->runtime_outliers;
	row->delay_outliers += a->delay_outliers;
	tide__stat_merge(&row->cpu, &a->cpu);
	tide__stat_merge(&row->delay, &a->delay);
	tide__stat_merge(&row->gpu, &a->gpu);
	(void)fresh;
	return true;
}

static bool add_op(tide_hta_job *job, const tide_hta *h, const tide_hta_op *o)
{
	tide_str name = move(job, h, o->name);
	ROW_OF(job, ops, (uint64_t)name.i << 2 | o->why)
	row->name = name;
	row->why = o->why;
	tide__stat_merge(&row->dur, &o->dur);
	(void)fresh;
	return true;
}

static bool add_op_kernel(tide_hta_job *job, const tide_hta *h, const tide_hta_op_kernel *p)
{
	tide_str op = move(job, h, p->op), kernel = move(job, h, p->kernel);
	uint64_t at = tide__map_get(&job->ops, (uint64_t)op.i << 2 | p->why);
	ROW_OF(job, op_kernels, at << 34 | (uint64_t)kernel.i << 2 | p->type)
	row->op = op;
	row->kernel = kernel;
	row->why = p->why;
	row->type = p->type;
	tide__stat_merge(&row->dur, &p->dur);
	(void)fresh;
	return true;
}

static bool add_annotation(tide_hta_job *job, const tide_hta *h, const tide_hta_annotation *a)
{
	tide_str name = move(job, h, a->name);
	ROW_OF(job, annotations, (uint64_t)name.i << 1 | (a->gpu & 1))
	row->name = name;
	row->gpu = a->gpu;
	row->rows += a->rows;
	row->rows_ns = tide__add_sat(row->rows_ns, a->rows_ns);
	tide__stat_merge(&row->dur, &a->dur);
	(void)fresh;
	return true;
}

/* Merges over ranks by collective only, because group names are local to a rank. */
static bool add_collective(tide_hta_job *job, const tide_hta *h, tide_hta_collective *c)
{
	c->name = move(job, h, c->name);
	c->group = move(job, h, c->group);
	c->desc = move(job, h, c->desc);
	ROW_OF(job, collectives, c->name.i)
	row->name = c->name;
	row->busy = tide__add_sat(row->busy, c->busy);
	row->overlap = tide__add_sat(row->overlap, c->overlap);
	row->sized += c->sized;
	row->sized_ns = tide__add_sat(row->sized_ns, c->sized_ns);
	row->bytes += c->bytes;
	row->bus_bytes += c->bus_bytes;
	tide__stat_merge(&row->dur, &c->dur);
	(void)fresh;
	return true;
}

/* Kept per rank. */
static bool add_stream(tide_hta_job *job, const tide_hta *h, tide_hta_stream *s)
{
	s->kind = move(job, h, s->kind);
	return true;
}

/* Kept per rank: stragglers are found by comparing ranks. */
static bool add_comm(tide_hta_job *job, const tide_hta *h, tide_hta_comm *c)
{
	c->name = move(job, h, c->name);
	c->group = move(job, h, c->group);
	c->ranks = move(job, h, c->ranks);
	return true;
}

static bool add_pg(tide_hta_job *job, const tide_hta *h, tide_hta_pg *g)
{
	g->name = move(job, h, g->name);
	g->desc = move(job, h, g->desc);
	g->ranks = move(job, h, g->ranks);
	return true;
}

static bool add_call(tide_hta_job *job, const tide_hta *h, tide_hta_call *c)
{
	c->name = move(job, h, c->name);
	c->dtype = move(job, h, c->dtype);
	return true;
}

static bool add_copy(tide_hta_job *job, const tide_hta *h, tide_hta_copy *c)
{
	c->kind = move(job, h, c->kind);
	ROW_OF(job, copies, (uint64_t)c->kind.i << 1 | (c->set & 1))
	row->kind = c->kind;
	row->set = c->set;
	row->busy = tide__add_sat(row->busy, c->busy);
	row->sized += c->sized;
	row->timeless += c->timeless;
	row->sized_busy = tide__add_sat(row->sized_busy, c->sized_busy);
	row->bytes += c->bytes;
	row->peak = c->peak > row->peak ? c->peak : row->peak;
	for (int p = 0; p < TIDE_PCTS; p++) /* percentiles of a single rank are known */
		row->pct[p] = fresh ? c->pct[p] : NAN;
	tide__stat_merge(&row->dur, &c->dur);
	return true;
}

/* Counts of several traces are added. Texts and positions (…_at) are not: the sum has the number of
 * traces that have them, as …_traces. */
static tide_str sum_key(tide_hta_job *job, const tide_hta_loss *l, bool *adds)
{
	size_t n;
	const char *key = tide__hta_str(job->sum, l->key, &n);
	char buf[256];
	bool place = !l->text.i && tide__loss_is_place(key);
	*adds = !l->text.i && !place;
	if (*adds)
		return l->key;
	size_t len = place && n > 3 ? n - 3 : n; /* without "_at" */
	len = len < 200 ? len : 200;
	memcpy(buf, key, len);
	memcpy(buf + len, "_traces", 7);
	return tide__hta_intern(job->sum, buf, len + 7);
}

static bool add_loss(tide_hta_job *job, const tide_hta *h, tide_hta_loss *l)
{
	bool adds;
	l->key = move(job, h, l->key);
	l->text = move(job, h, l->text);
	if (!l->text.i && !l->number)
		return true;
	tide_str key = sum_key(job, l, &adds);
	ROW_OF(job, losses, (uint64_t)key.i)
	row->key = key;
	row->number = tide__add_sat(row->number, adds ? l->number : 1);
	(void)fresh;
	return true;
}

static void add_head(tide_hta_head *sum, const tide_hta_head *h)
{
	uint64_t *const counts[] = { &sum->spans,	   &sum->rows,
				     &sum->left_out,	   &sum->linked,
				     &sum->graph_launches, &sum->graph_rows,
				     &sum->custom_rows,	   &sum->launches,
				     &sum->short_kernels,  &sum->runtime_outliers,
				     &sum->delay_outliers };
	const uint64_t more[] = { h->spans,	     h->rows,
				  h->left_out,	     h->linked,
				  h->graph_launches, h->graph_rows,
				  h->custom_rows,    h->launches,
				  h->short_kernels,  h->runtime_outliers,
				  h->delay_outliers };
	for (size_t i = 0; i < sizeof more / sizeof *more; i++)
		*counts[i] += more[i];
	int64_t *const times[] = { &sum->kernel_time,	  &sum->busy,	 &sum->idle,
				   &sum->non_compute,	  &sum->overlap, &sum->custom_ns,
				   &sum->idle_host_active };
	const int64_t ns[] = { h->kernel_time,	   h->busy,    h->idle,
			       h->non_compute,	   h->overlap, h->custom_ns,
			       h->idle_host_active };
	for (size_t i = 0; i < sizeof ns / sizeof *ns; i++)
		*times[i] = tide__add_sat(*times[i], ns[i]);
	for (int t = 0; t < TIDE_GPU_TYPES; t++) {
		sum->rows_of[t] += h->rows_of[t];
		sum->sum_of[t] = tide__add_sat(sum->sum_of[t], h->sum_of[t]);
		sum->type_ns[t] = tide__add_sat(sum->type_ns[t], h->type_ns[t]);
	}
	for (int s = 0; s < 1 << TIDE_GPU_TYPES; s++)
		sum->set_ns[s] = tide__add_sat(sum->set_ns[s], h->set_ns[s]);
	for (int c = 0; c < TIDE_CAUSES; c++)
		sum->cause[c] = tide__add_sat(sum->cause[c], h->cause[c]);
	tide__stat_merge(&sum->cpu, &h->cpu);
	tide__stat_merge(&sum->delay, &h->delay);
	if (h->world > sum->world)
		sum->world = h->world;
}

/* If ranks are equal, keeps the name that sorts first, independent of the order of adding. */
static void add_waited(tide_hta *sum, const tide_hta *h)
{
	size_t n;
	const char *name = tide__hta_str(h, h->h.waited_in, &n);
	if (!n || h->h.waited < sum->h.waited)
		return;
	if (h->h.waited == sum->h.waited &&
	    strcmp(name, tide__hta_str(sum, sum->h.waited_in, NULL)) >= 0)
		return;
	sum->h.waited = h->h.waited;
	sum->h.waited_cause = h->h.waited_cause;
	sum->h.waited_in = tide__hta_intern(sum, name, n);
}

static bool merge(tide_hta_job *job, tide_hta *h)
{
	bool ok = true;
	add_head(&job->sum->h, &h->h);
	add_waited(job->sum, h);
#define EACH(member, add)                              \
	for (size_t i = 0; ok && i < h->member.n; i++) \
		ok = add(job, h, &h->member.v[i]);
	EACH(streams, add_stream)
	EACH(kernels, add_kernel)
	EACH(apis, add_api)
	EACH(ops, add_op)
	EACH(op_kernels, add_op_kernel)
	EACH(annotations, add_annotation)
	EACH(collectives, add_collective)
	EACH(comms, add_comm)
	EACH(pgs, add_pg)
	EACH(calls, add_call)
	EACH(copies, add_copy)
	EACH(losses, add_loss)
#undef EACH
	return ok && !job->sum->failed;
}

/* Frees the parts of the rank that were moved to the job, and the rank's own texts. */
static void slim(tide_hta *h)
{
#define DROP(member)             \
	tide__free(h->member.v); \
	h->member.v = NULL;      \
	h->member.n = h->member.cap = 0;
	DROP(kernels)
	DROP(chunks)
	DROP(bytes)
	DROP(apis)
	DROP(ops)
	DROP(op_kernels)
	DROP(annotations)
#undef DROP
	tide__strings_free(h->strings);
	h->strings = NULL;
}

tide_code tide__hta_job_add(tide_hta_job *job, const char *trace, tide_hta *h, tide_error *err)
{
	char *copy = tide__strndup(trace, strlen(trace));
	if (!copy || !TIDE_ROOM(job->ranks, job->cap_ranks, job->n_ranks + 1)) {
		tide__free(copy);
		tide__hta_free(h);
		return tide__nomem(err);
	}
	job->ranks[job->n_ranks++] = (tide_hta_rank){ h, copy };
	if (!merge(job, h))
		return tide__nomem(err);
	slim(h);
	return TIDE_OK;
}

tide_code tide__hta_job_fail(tide_hta_job *job, const char *trace, const tide_error *why,
			     tide_error *err)
{
	char *copy = tide__strndup(trace, strlen(trace));
	if (!copy || !TIDE_ROOM(job->failed, job->cap_failed, job->n_failed + 1)) {
		tide__free(copy);
		return tide__nomem(err);
	}
	job->failed[job->n_failed++] = (tide_hta_failed){ copy, *why };
	return TIDE_OK;
}

tide_code tide__hta_job_make(const char *trace, tide_hta *h, tide_hta_job **out, tide_error *err)
{
	*out = NULL;
	if (!h->h.rows) {
		tide__hta_free(h);
		return TIDE_OK;
	}
	tide_hta_job *job = tide__hta_job_new();
	if (!job) {
		tide__hta_free(h);
		return tide__nomem(err);
	}
	tide_code rc = tide__hta_job_add(job, trace, h, err);
	if (rc == TIDE_OK)
		rc = tide__hta_job_finish(job, err);
	*out = job;
	return rc;
}

tide_code tide__hta_job_find(const tide_model *m, const char *trace, tide_hta_job **out,
			     tide_error *err)
{
	tide_hta *h = NULL;
	*out = NULL;
	tide_code rc = tide__hta_analyze(m, NULL, &h, err);
	return rc == TIDE_OK ? tide__hta_job_make(trace, h, out, err) : rc;
}
