// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Figures of a whole rank: time by kind of work, and statistics by name; streams.c has those of its
 * streams. */
#include "analyze/compat/tables_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/mem.h"

const char *tide__compat_row_name(const tide_model *m, const tide_compat_frame *f, size_t i)
{
	return tide__text(m, m->spans.name[f->span[i].i], NULL);
}

/* ---- describe ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double quantile(const double *v, size_t n, double q)
{
	double at = q * (double)(n - 1), low = floor(at);
	size_t i = (size_t)low;
	return i + 1 < n ? v[i] + (v[i + 1] - v[i]) * (at - low) : v[n - 1];
}

static double sample_std(const double *v, size_t n, double mean)
{
	double s = 0;
	for (size_t i = 0; i < n; i++)
		s += (v[i] - mean) * (v[i] - mean);
	return n > 1 ? sqrt(s / (double)(n - 1)) : NAN;
}

tide_compat_describe tide__compat_describe(double *v, size_t n)
{
	tide_compat_describe d = { n, NAN, NAN, NAN, NAN, NAN, NAN, NAN };
	if (!n)
		return d;
	qsort(v, n, sizeof *v, by_value);
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += v[i];
	d.mean = sum / (double)n;
	d.std = sample_std(v, n, d.mean);
	d.min = v[0];
	d.q25 = quantile(v, n, 0.25);
	d.q50 = quantile(v, n, 0.5);
	d.q75 = quantile(v, n, 0.75);
	d.max = v[n - 1];
	return d;
}

/* ---- merged intervals ---- */

struct interval {
	int64_t ts, end;
};

struct intervals {
	struct interval *v;
	size_t n;
};

static int by_ts(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;
	return (x->ts > y->ts) - (x->ts < y->ts);
}

/* Merges rows with a stream whose type is in `types` (bit per tide_compat_type) as HTA does: a
 * new group starts after the running maximum of earlier ends, and a group may end before it
 * starts. */
static bool merged(const tide_model *m, const tide_compat_frame *f, unsigned types,
		   struct intervals *out)
{
	*out = (struct intervals){ tide__alloc(f->n, sizeof *out->v), 0 };
	if (!out->v)
		return false;
	size_t n = 0;
	for (size_t i = 0; i < f->n; i++)
		if (f->stream[i] != -1 &&
		    types >> tide__compat_type(tide__compat_row_name(m, f, i)) & 1)
			out->v[n++] = (struct interval){ f->ts[i], f->ts[i] + f->dur[i] };
	qsort(out->v, n, sizeof *out->v, by_ts);
	int64_t top = INT64_MIN;
	for (size_t i = 0; i < n; i++) {
		struct interval v = out->v[i];
		if (!i || v.ts > top)
			out->v[out->n++] = v;
		else if (v.end > out->v[out->n - 1].end)
			out->v[out->n - 1].end = v.end;
		if (v.end > top)
			top = v.end;
	}
	return true;
}

static int64_t total(const struct intervals *s)
{
	int64_t sum = 0;
	for (size_t i = 0; i < s->n; i++)
		sum += s->v[i].end - s->v[i].ts;
	return sum;
}

/* ---- temporal breakdown ---- */

enum {
	ALL = 15,
	COMM = 1 << TIDE_COMPAT_COMMUNICATION,
	MEMORY = 1 << TIDE_COMPAT_MEMORY,
	COMPUTE = 1 << TIDE_COMPAT_COMPUTATION
};

static void temporal(const struct intervals *all, const struct intervals *compute,
		     tide_compat_tables *t)
{
	if (!all->n) {
		t->raises = "IndexError";
		return;
	}
	t->kernel_time = all->v[all->n - 1].end - all->v[0].ts;
	t->idle = t->kernel_time - total(all);
	t->compute = total(compute);
	t->non_compute = t->kernel_time - t->compute - t->idle;
	if (t->idle > t->kernel_time || t->compute > t->kernel_time || t->non_compute < 0)
		t->raises = "AssertionError";
}

/* ---- time per set of types ---- */

struct edge {
	int64_t t;
	int add; /* weight of the type, negative at an end */
	size_t order;
};

static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	if (x->t != y->t)
		return x->t > y->t ? 1 : -1;
	return (x->order > y->order) - (x->order < y->order);
}

/* Sweeps the merged intervals of up to 3 types; into[set] receives the time each set ran. */
static bool sweep(const struct intervals *const *s, size_t n_types, int64_t into[8])
{
	size_t n = 0, k = 0;
	for (size_t i = 0; i < n_types; i++)
		n += 2 * s[i]->n;
	struct edge *e = tide__alloc(n, sizeof *e);
	if (!e)
		return false;
	for (size_t i = 0; i < n_types; i++)
		for (size_t j = 0; j < s[i]->n; j++) {
			e[k] = (struct edge){ s[i]->v[j].ts, 1 << i, k };
			k++;
			e[k] = (struct edge){ s[i]->v[j].end, -(1 << i), k };
			k++;
		}
	qsort(e, n, sizeof *e, by_time);
	int running = 0;
	memset(into, 0, 8 * sizeof *into);
	for (size_t i = 0; i + 1 < n; i++) {
		running += e[i].add;
		if (running > 0 && running < 8)
			into[running] += e[i + 1].t - e[i].t;
	}
	tide__free(e);
	return true;
}

const char *tide__compat_set_text(unsigned set)
{
	static const char *const text[8] = {
		"",
		"COMPUTATION",
		"COMMUNICATION",
		"COMPUTATION overlapping COMMUNICATION",
		"MEMORY",
		"COMPUTATION overlapping MEMORY",
		"COMMUNICATION overlapping MEMORY",
		"COMPUTATION overlapping COMMUNICATION overlapping MEMORY"
	};
	return text[set & 7];
}

static bool breakdown(const tide_model *m, const tide_compat_frame *f, tide_compat_tables *t)
{
	struct intervals all = { 0 }, comp = { 0 }, comm = { 0 }, mem = { 0 };
	bool ok = merged(m, f, ALL, &all) && merged(m, f, COMPUTE, &comp) &&
		  merged(m, f, COMM, &comm) && merged(m, f, MEMORY, &mem);
	if (ok) {
		int64_t two[8];
		temporal(&all, &comp, t);
		ok = sweep((const struct intervals *const[]){ &comp, &comm, &mem }, 3,
			   t->type_time) &&
		     sweep((const struct intervals *const[]){ &comp, &comm }, 2, two);
		t->has_comm = comm.n > 0 && total(&comm) != 0;
		t->overlap = ok && t->has_comm ? (double)two[3] / (double)total(&comm) : 0;
	}
	tide__free(all.v);
	tide__free(comp.v);
	tide__free(comm.v);
	tide__free(mem.v);
	return ok;
}

/* ---- statistics by name ---- */

static int by_sum(const void *a, const void *b)
{
	const tide_compat_name *x = a, *y = b;
	if (x->sum != y->sum)
		return x->sum < y->sum ? 1 : -1;
	return (x->name.i > y->name.i) - (x->name.i < y->name.i);
}

typedef bool (*row_test)(const tide_model *m, const tide_compat_frame *f, size_t i);

static bool is_gpu_row(const tide_model *m, const tide_compat_frame *f, size_t i)
{
	return f->stream[i] != -1 &&
	       tide__compat_type(tide__compat_row_name(m, f, i)) != TIDE_COMPAT_OTHER;
}

static bool is_gpu_annotation(const tide_model *m, const tide_compat_frame *f, size_t i)
{
	return m->spans.cat[f->span[i].i] == TIDE_CAT_GPU_USER;
}

static bool is_cpu_annotation(const tide_model *m, const tide_compat_frame *f, size_t i)
{
	return m->spans.cat[f->span[i].i] == TIDE_CAT_USER;
}

static void add_duration(tide_compat_name *r, int64_t dur)
{
	if (!r->count || dur > r->max)
		r->max = dur;
	if (!r->count || dur < r->min)
		r->min = dur;
	r->sum += dur;
	r->count++;
}

static bool by_name(const tide_model *m, const tide_compat_frame *f, row_test in,
		    tide_compat_name **out, size_t *n_out)
{
	tide_map at = { 0 };
	size_t n = 0;
	tide_compat_name *r = tide__calloc(f->n, sizeof *r);
	bool ok = r != NULL;
	for (size_t i = 0; i < f->n && ok; i++) {
		if (!in(m, f, i))
			continue;
		tide_str name = m->spans.name[f->span[i].i];
		uint32_t k = tide__map_get(&at, name.i);
		if (!k) {
			k = (uint32_t)++n;
			r[k - 1].name = name;
			r[k - 1].type = tide__compat_type(tide__compat_row_name(m, f, i));
			ok = tide__map_put(&at, name.i, k);
		}
		add_duration(&r[k - 1], f->dur[i]);
	}
	for (size_t k = 0; k < n; k++)
		r[k].mean = (double)r[k].sum / (double)r[k].count;
	for (size_t i = 0; i < f->n && ok; i++) { /* second pass: squares around the mean */
		uint32_t k = in(m, f, i) ? tide__map_get(&at, m->spans.name[f->span[i].i].i) : 0;
		if (k)
			r[k - 1].std += ((double)f->dur[i] - r[k - 1].mean) *
					((double)f->dur[i] - r[k - 1].mean);
	}
	for (size_t k = 0; k < n; k++)
		r[k].std = r[k].count > 1 ? sqrt(r[k].std / (double)(r[k].count - 1)) : 0;
	if (r)
		qsort(r, n, sizeof *r, by_sum);
	tide__map_free(&at);
	*out = r;
	*n_out = n;
	return ok;
}

/* ---- all of it ---- */

tide_code tide__compat_tables_find(const tide_model *m, const tide_compat_frame *f,
				   tide_compat_tables *out, tide_error *err)
{
	*out = (tide_compat_tables){ 0 };
	bool ok =
		breakdown(m, f, out) && by_name(m, f, is_gpu_row, &out->kernels, &out->n_kernels) &&
		by_name(m, f, is_gpu_annotation, &out->annotations_gpu, &out->n_annotations_gpu) &&
		by_name(m, f, is_cpu_annotation, &out->annotations_cpu, &out->n_annotations_cpu) &&
		tide__compat_find_idle(m, f, out) && tide__compat_find_queue(m, f, out) &&
		tide__compat_find_bandwidth(m, f, out) && tide__compat_find_launches(m, f, out);
	if (ok)
		return TIDE_OK;
	tide__compat_tables_free(out);
	return tide__nomem(err);
}

void tide__compat_tables_free(tide_compat_tables *t)
{
	tide__free(t->kernels);
	tide__free(t->annotations_gpu);
	tide__free(t->annotations_cpu);
	tide__free(t->idles);
	tide__free(t->queues);
	tide__free(t->bandwidths);
	*t = (tide_compat_tables){ 0 };
}
