// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Figures by stream, as HTA computes them: idle time, queue length, bandwidth of copies,
 * launches. */
#include "analyze/compat/tables_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "model/strings.h"

const char *const tide__compat_idle_names[3] = { "host_wait", "kernel_wait", "other" };

/* ---- idle per stream ---- */

enum { CONSECUTIVE_US = 30 };

struct gpu_row {
	int64_t stream, ts, end, launch; /* launch: ts of the joined row */
	bool joined;
	size_t order;
};

static int by_stream_ts(const void *a, const void *b)
{
	const struct gpu_row *x = a, *y = b;
	if (x->stream != y->stream)
		return x->stream > y->stream ? 1 : -1;
	if (x->ts != y->ts)
		return x->ts > y->ts ? 1 : -1;
	return (x->order > y->order) - (x->order < y->order);
}

static struct gpu_row *gpu_rows(const tide_model *m, const tide_compat_frame *f, size_t *n)
{
	struct gpu_row *r = tide__alloc(f->n, sizeof *r);
	*n = 0;
	for (size_t i = 0; r && i < f->n; i++) {
		if (f->stream[i] == -1 || !tide__cat_is_gpu(m->spans.cat[f->span[i].i]))
			continue;
		int64_t other = tide__compat_frame_row(f, f->link[i]);
		r[(*n)++] = (struct gpu_row){ f->stream[i],	    f->ts[i],
					      f->ts[i] + f->dur[i], other >= 0 ? f->ts[other] : 0,
					      other >= 0,	    i };
	}
	if (r)
		qsort(r, *n, sizeof *r, by_stream_ts);
	return r;
}

bool tide__compat_find_idle(const tide_model *m, const tide_compat_frame *f, tide_compat_tables *t)
{
	size_t n;
	struct gpu_row *r = gpu_rows(m, f, &n);
	t->idles = tide__calloc(n + 1, sizeof *t->idles);
	bool ok = r && t->idles;
	for (size_t i = 0; i < n && ok; i++) {
		if (!i || r[i].stream != r[i - 1].stream) {
			t->idles[t->n_idles++].stream = r[i].stream;
			t->idles[t->n_idles - 1].has[2] =
				true; /* the first row has no gap: "other", 0 */
			continue;
		}
		int64_t gap = r[i].ts - r[i - 1].end;
		int kind = r[i].joined && r[i].launch > r[i - 1].end ? 0
			   : gap < CONSECUTIVE_US		     ? 1
								     : 2;
		tide_compat_idle *s = &t->idles[t->n_idles - 1];
		s->has[kind] = true;
		s->time[kind] += gap;
	}
	tide__free(r);
	return ok;
}

/* ---- queue length ---- */

struct point {
	int64_t stream, t;
	int add;
	size_t order;
};

static int by_stream_time(const void *a, const void *b)
{
	const struct point *x = a, *y = b;
	if (x->stream != y->stream)
		return x->stream > y->stream ? 1 : -1;
	if (x->t != y->t)
		return x->t > y->t ? 1 : -1;
	return (x->order > y->order) - (x->order < y->order);
}

/* Makes a point +1 for each launch call and -1 for each start of a GPU row; at equal times all
 * launches come before all starts. */
static struct point *queue_points(const tide_model *m, const tide_compat_frame *f, size_t *n)
{
	struct point *p = tide__alloc(2 * f->n, sizeof *p);
	tide_map launches = { 0 }; /* correlation -> row + 1 of the launch */
	bool ok = p != NULL;
	*n = 0;
	for (size_t i = 0; i < f->n && ok; i++)
		if (f->link[i] > 0 && tide__compat_queue_launch(tide__compat_row_name(m, f, i)))
			ok = tide__map_put(&launches, (uint64_t)f->corr[i], (uint32_t)i + 1);
	for (size_t i = 0; i < f->n && ok; i++) {
		uint32_t k =
			f->stream[i] != -1 ? tide__map_get(&launches, (uint64_t)f->corr[i]) : 0;
		if (!k)
			continue;
		p[(*n)++] = (struct point){ f->stream[i], f->ts[k - 1], 1, k - 1 };
		p[(*n)++] = (struct point){ f->stream[i], f->ts[i], -1, f->n + i };
	}
	tide__map_free(&launches);
	if (ok) {
		qsort(p, *n, sizeof *p, by_stream_time);
		return p;
	}
	tide__free(p);
	return NULL;
}

bool tide__compat_find_queue(const tide_model *m, const tide_compat_frame *f, tide_compat_tables *t)
{
	size_t n;
	struct point *p = queue_points(m, f, &n);
	double *v = tide__alloc(n, sizeof *v);
	t->queues = tide__calloc(n + 1, sizeof *t->queues);
	bool ok = p && v && t->queues;
	for (size_t i = 0, j; i < n && ok; i = j) {
		double length = 0;
		for (j = i; j < n && p[j].stream == p[i].stream; j++)
			v[j - i] = length += p[j].add;
		t->queues[t->n_queues++] =
			(tide_compat_queue){ p[i].stream, tide__compat_describe(v, j - i) };
	}
	tide__free(p);
	tide__free(v);
	return ok;
}

/* ---- memory bandwidth ---- */

struct flow {
	char name[16];
	int64_t t;
	double gbps;
	size_t order;
};

static int by_copy_time(const void *a, const void *b)
{
	const struct flow *x = a, *y = b;
	int c = strcmp(x->name, y->name);
	if (c)
		return c;
	if (x->t != y->t)
		return x->t > y->t ? 1 : -1;
	return (x->order > y->order) - (x->order < y->order);
}

static void copy_kind(char out[16], const char *name)
{
	const char *kind = !strncmp(name, "Memset", 6)	? "Memset"
			   : strncmp(name, "Memcpy", 6) ? "Memcpy Unknown"
							: name;
	size_t n = strlen(kind), most = !strncmp(kind, "Memcpy Unknown", 14) ? 14 : 11;
	n = n < most ? n : most;
	memcpy(out, kind, n);
	memset(out + n, 0, 16 - n);
}

static double bandwidth_of(const tide_model *m, tide_span_id s)
{
	static const char key[] = "memory bandwidth (GB/s)";
	tide_str k = { tide__strings_find(m->strings, key, sizeof key - 1) };
	int64_t row = k.i ? tide__attr_find(m, s, k) : -1;
	if (row < 0)
		return -1; /* HTA's default for the missing argument */
	size_t n;
	const char *text = tide__text(m, m->attrs.text[row], &n);
	return n ? strtod(text, NULL) : (double)m->attrs.number[row];
}

static struct flow *copy_flows(const tide_model *m, const tide_compat_frame *f, size_t *n)
{
	struct flow *w = tide__alloc(2 * f->n, sizeof *w);
	*n = 0;
	for (size_t i = 0; w && i < f->n; i++) {
		const char *name = tide__compat_row_name(m, f, i);
		if (f->stream[i] == -1 || tide__compat_type(name) != TIDE_COMPAT_MEMORY)
			continue;
		double gbps = bandwidth_of(m, f->span[i]);
		struct flow on = { "", f->ts[i], gbps, i }, off;
		copy_kind(on.name, name);
		off = on;
		off.t += f->dur[i] ? f->dur[i] : 1;
		off.gbps = -gbps;
		off.order = f->n + i;
		w[(*n)++] = on;
		w[(*n)++] = off;
	}
	if (w)
		qsort(w, *n, sizeof *w, by_copy_time);
	return w;
}

bool tide__compat_find_bandwidth(const tide_model *m, const tide_compat_frame *f,
				 tide_compat_tables *t)
{
	size_t n;
	struct flow *w = copy_flows(m, f, &n);
	double *v = tide__alloc(n, sizeof *v);
	t->bandwidths = tide__calloc(n + 1, sizeof *t->bandwidths);
	bool ok = w && v && t->bandwidths;
	for (size_t i = 0, j; i < n && ok; i = j) {
		double now = 0;
		size_t k = 0;
		for (j = i; j < n && !strcmp(w[j].name, w[i].name); j++) {
			now += w[j].gbps;
			if (now > 0)
				v[k++] = now;
		}
		if (k) {
			memcpy(t->bandwidths[t->n_bandwidths].name, w[i].name, sizeof w[i].name);
			t->bandwidths[t->n_bandwidths++].gbps = tide__compat_describe(v, k);
		}
	}
	tide__free(w);
	tide__free(v);
	return ok;
}

/* ---- launch statistics ---- */

enum { RUNTIME_CUTOFF_US = 50, DELAY_CUTOFF_US = 100 };

static bool stats_launch(const char *name)
{
	static const char *const names[] = { "cudaLaunchKernel", "cudaLaunchKernelExC",
					     "cudaMemcpyAsync", "cudaMemsetAsync",
					     "runFunction - job_prep_and_submit_for_execution" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static void count_launch(tide_compat_launches *l, int64_t cpu, int64_t gpu, int64_t delay)
{
	l->n++;
	l->cpu_sum += cpu;
	l->gpu_sum += gpu;
	l->delay_sum += delay;
	l->short_kernels += cpu <= RUNTIME_CUTOFF_US && gpu < cpu;
	l->runtime_outliers += cpu > RUNTIME_CUTOFF_US;
	l->delay_outliers += delay > DELAY_CUTOFF_US;
}

bool tide__compat_find_launches(const tide_model *m, const tide_compat_frame *f,
				tide_compat_tables *t)
{
	tide_map named = { 0 },
		 cpu = { 0 }; /* correlations of launches; -> row + 1 of the CPU side */
	double *v[3] = { tide__alloc(f->n, 8), tide__alloc(f->n, 8), tide__alloc(f->n, 8) };
	bool ok = v[0] && v[1] && v[2];
	size_t n = 0;
	for (size_t i = 0; i < f->n && ok; i++)
		if (stats_launch(tide__compat_row_name(m, f, i)))
			ok = tide__map_put(&named, (uint64_t)f->corr[i], 1);
	for (size_t i = 0; i < f->n && ok; i++)
		if (f->stream[i] == -1 && tide__map_get(&named, (uint64_t)f->corr[i]))
			ok = tide__map_put(&cpu, (uint64_t)f->corr[i], (uint32_t)i + 1);
	for (size_t i = 0; i < f->n && ok; i++) {
		uint32_t k = f->stream[i] != -1 ? tide__map_get(&cpu, (uint64_t)f->corr[i]) : 0;
		if (!k)
			continue;
		int64_t delay = f->ts[i] - f->ts[k - 1] - f->dur[k - 1];
		delay = delay < 0 ? 0 : delay;
		count_launch(&t->launches, f->dur[k - 1], f->dur[i], delay);
		v[0][n] = (double)f->dur[k - 1];
		v[1][n] = (double)f->dur[i];
		v[2][n++] = (double)delay;
	}
	if (ok) {
		t->launches.cpu = tide__compat_describe(v[0], n);
		t->launches.gpu = tide__compat_describe(v[1], n);
		t->launches.delay = tide__compat_describe(v[2], n);
	}
	for (int i = 0; i < 3; i++)
		tide__free(v[i]);
	tide__map_free(&named);
	tide__map_free(&cpu);
	return ok;
}
