// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/compat/frame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/common/sort.h"
#include "base/error.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/wide.h"

/* ---- names ---- */

const char *const tide__compat_type_names[4] = { "COMMUNICATION", "MEMORY", "COMPUTATION",
						 "OTHER" };

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static bool starts_any(const char *s, const char *const *list)
{
	for (; *list; list++)
		if (starts(s, *list))
			return true;
	return false;
}

static bool contains_any(const char *s, const char *const *list)
{
	for (; *list; list++)
		if (strstr(s, *list))
			return true;
	return false;
}

/* "cuda", anything, "LaunchKernel" */
static bool is_cuda_launch(const char *s)
{
	return starts(s, "cuda") && strstr(s + 4, "LaunchKernel");
}

tide_compat_type tide__compat_type(const char *s)
{
	static const char *const comm[] = { "nccl", "hip", "hccl", NULL };
	static const char *const memory[] = { "Memcpy",	   "Memset",	"dma",
					      "hipMemcpy", "hipMemset", NULL };
	static const char *const not_compute[] = { "Memcpy", "Memset", "dma", "Sync", NULL };
	static const char *const not_compute_head[] = { "Stream Wait Event",
							"runFunction",
							"job_exe",
							"packet",
							"pe_exe",
							"cpum_exe_subgraph",
							"collective_subgraph_execution",
							NULL };
	if (starts_any(s, comm) || strstr(s, "ncclKernel"))
		return TIDE_COMPAT_COMMUNICATION;
	if (starts_any(s, memory))
		return TIDE_COMPAT_MEMORY;
	if (contains_any(s, not_compute) || starts_any(s, not_compute_head) || is_cuda_launch(s))
		return TIDE_COMPAT_OTHER;
	return TIDE_COMPAT_COMPUTATION;
}

bool tide__compat_queue_launch(const char *name)
{
	static const char *const names[] = { "cudaLaunchKernel",
					     "cudaLaunchKernelExC",
					     "cuLaunchKernel",
					     "cuLaunchKernelEx",
					     "cudaMemcpyAsync",
					     "cudaMemsetAsync",
					     "runFunction - job_prep_and_submit_for_execution",
					     "hipLaunchKernel",
					     "hipExtModuleLaunchKernel",
					     "hipMemsetAsync",
					     "hipMemcpyAsync",
					     "hipMemcpyWithStream" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Returns N of "ProfilerStep#N", -1 for other names. */
static int64_t step_number(const char *s)
{
	if (!starts(s, "ProfilerStep"))
		return -1;
	s += strlen("ProfilerStep");
	s += strspn(s, " \t");
	if (*s++ != '#')
		return -1;
	s += strspn(s, " \t");
	return *s >= '0' && *s <= '9' ? strtoll(s, NULL, 10) : -1;
}

/* ---- rows ---- */

static bool reserve(tide_compat_frame *f, size_t n)
{
	f->span = tide__alloc(n, sizeof *f->span);
	f->ts = tide__alloc(n, sizeof *f->ts);
	f->dur = tide__alloc(n, sizeof *f->dur);
	f->stream = tide__alloc(n, sizeof *f->stream);
	f->corr = tide__alloc(n, sizeof *f->corr);
	f->event = tide__alloc(n, sizeof *f->event);
	f->link = tide__alloc(n, sizeof *f->link);
	f->step = tide__alloc(n, sizeof *f->step);
	return f->span && f->ts && f->dur && f->stream && f->corr && f->event && f->link && f->step;
}

void tide__compat_frame_free(tide_compat_frame *f)
{
	tide__free(f->span);
	tide__free(f->ts);
	tide__free(f->dur);
	tide__free(f->stream);
	tide__free(f->corr);
	tide__free(f->event);
	tide__free(f->link);
	tide__free(f->step);
	*f = (tide_compat_frame){ 0 };
}

static int64_t fact(const tide_model *m, const char *key, int64_t otherwise)
{
	int64_t row = tide__fact_find(m, key);
	return row < 0 ? otherwise : m->facts.number[row];
}

/* Returns the double that a JSON reader makes of `ns` written as microseconds: nearest to the
 * decimal text. */
static double us_as_double(int64_t ns)
{
	uint64_t u = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	if (u <= UINT64_C(1) << 53)
		return (double)ns / 1000;      /* both are exact: one rounding, to the nearest */
	tide_u128 scaled = (tide_u128)u << 12; /* the quotient has 55 bits or more, so that ... */
	tide_u128 q = scaled / 1000 | (scaled % 1000 != 0); /* ... the remainder only breaks ties */
	return ldexp(ns < 0 ? -(double)q : (double)q, -12);
}

/* Computes HTA's times: ts rounded up, end rounded down, through doubles, if the file has
 * decimals. */
static void times(const tide_model *m, uint32_t s, int64_t ts0, bool decimals, int64_t *ts,
		  int64_t *dur)
{
	int64_t t0 = m->spans.t0[s] + ts0, d = m->spans.t1[s] - m->spans.t0[s];
	if (!decimals) {
		*ts = t0 / 1000;
		*dur = d / 1000;
		return;
	}
	double start = us_as_double(t0), end = start + us_as_double(d);
	*ts = (int64_t)ceil(start);
	*dur = (int64_t)floor(end) - *ts;
}

/* Returns true if any start is between two microseconds: then HTA's column is of doubles, and it
 * rounds. */
static bool has_decimals(const tide_model *m, int64_t ts0)
{
	for (size_t s = 1; s < m->spans.n; s++)
		if ((m->spans.t0[s] + ts0) % 1000)
			return true;
	return false;
}

/* Returns the spans that are rows, by event number; equal numbers keep their order. NULL if memory
 * runs out. */
static tide_keyed *in_order(const tide_model *m, size_t *n)
{
	tide_keyed *k = tide__alloc(2 * m->spans.n, sizeof *k);
	*n = 0;
	for (uint32_t s = 1; k && s < m->spans.n; s++)
		if (m->span_raw[s].event >= 0 && m->spans.cat[s] != TIDE_CAT_UNKNOWN)
			k[(*n)++] = (tide_keyed){ (uint64_t)m->span_raw[s].event, s };
	if (k)
		tide__sort_keyed(k, *n, k + *n);
	return k;
}

/* Fills rows in file order: spans with a category and a duration. The caller sets their times. */
static tide_code fill(const tide_model *m, tide_compat_frame *f, tide_error *err)
{
	bool kineto = tide__is_of_kineto(m); /* an empty category has no rows */
	if (!m->span_raw && (m->spans.n > 1 || !kineto))
		return tide__fail(err, TIDE_EUNSUPPORTED, TIDE_NO_OFFSET,
				  "no launches and kernels to follow: GPU time is unknown; "
				  "torch.profiler and `tidemark run --gpu` record them");
	size_t n;
	tide_keyed *k = reserve(f, m->spans.n) ? in_order(m, &n) : NULL;
	if (!k)
		return tide__nomem(err);
	for (size_t i = 0; i < n; i++) {
		const tide_raw *r = &m->span_raw[k[i].id];
		f->span[i] = (tide_span_id){ (uint32_t)k[i].id };
		f->event[i] = r->event;
		f->stream[i] = r->stream;
		f->corr[i] = r->corr;
	}
	f->n = n;
	f->unit = 1;
	tide__free(k);
	return TIDE_OK;
}

static void hta_times(const tide_model *m, tide_compat_frame *f)
{
	int64_t ts0 = fact(m, "kineto.ts0_ns", 0);
	bool decimals = has_decimals(m, ts0);
	for (size_t i = 0; i < f->n; i++)
		times(m, f->span[i].i, ts0, decimals, &f->ts[i], &f->dur[i]);
}

int64_t tide__compat_frame_row(const tide_compat_frame *f, int64_t event)
{
	size_t lo = 0;
	TIDE_SEARCH(lo, f->n, mid, f->event[mid] < event);
	return lo < f->n && f->event[lo] == event ? (int64_t)lo : -1;
}

/* ---- links and steps ---- */

static const char *name_of(const tide_model *m, const tide_compat_frame *f, size_t i)
{
	return tide__text(m, m->spans.name[f->span[i].i], NULL);
}

/* Returns true for rows that HTA links as the GPU side: a stream and a correlation, or one of two
 * synchronisation names. */
static bool gpu_side(const tide_model *m, const tide_compat_frame *f, size_t i)
{
	if (f->stream[i] >= 0 && f->corr[i] >= 0)
		return true;
	const char *name = name_of(m, f, i);
	return !strcmp(name, "Event Sync") || !strcmp(name, "Context Sync");
}

/* Links each side to the last row of the other side with its correlation. */
static bool link_rows(const tide_model *m, tide_compat_frame *f)
{
	tide_map last[2] = { { 0 }, { 0 } }; /* correlation -> row + 1, CPU and GPU side */
	bool ok = true;
	for (size_t i = 0; i < f->n && ok; i++)
		if (f->corr[i] != -1)
			ok = tide__map_put(&last[gpu_side(m, f, i)], (uint64_t)f->corr[i],
					   (uint32_t)i + 1);
	for (size_t i = 0; i < f->n && ok; i++) {
		f->link[i] = f->corr[i] < 0 ? f->corr[i] : 0;
		if (f->corr[i] == -1)
			continue;
		uint32_t other = tide__map_get(&last[!gpu_side(m, f, i)], (uint64_t)f->corr[i]);
		if (other)
			f->link[i] = f->event[other - 1];
	}
	tide__map_free(&last[0]);
	tide__map_free(&last[1]);
	return ok;
}

struct step {
	int64_t ts, end, number;
	tide_str name;
};

static struct step *find_steps(const tide_model *m, const tide_compat_frame *f, size_t *n)
{
	struct step *all = tide__alloc(f->n, sizeof *all);
	*n = 0;
	for (size_t i = 0; all && i < f->n; i++) {
		int64_t number = step_number(name_of(m, f, i));
		if (number >= 0)
			all[(*n)++] = (struct step){ f->ts[i], f->ts[i] + f->dur[i], number,
						     m->spans.name[f->span[i].i] };
	}
	return all;
}

static bool distinct_steps(const struct step *s, size_t n, size_t *count)
{
	tide_map seen = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < n; i++)
		ok = tide__map_put(&seen, s[i].name.i, 1);
	*count = seen.n;
	tide__map_free(&seen);
	return ok;
}

/* ---- the step of a row: the last in the file of those around its start ---- */

struct sweep { /* in order of time; `heap`: steps that have begun, the last of the file on top */
	const struct step *steps;
	tide_keyed *begin; /* steps by their begin */
	size_t n, next;
	uint32_t *heap;
	size_t n_heap;
};

static void rise(struct sweep *w, uint32_t step)
{
	size_t i = w->n_heap++;
	for (; i && w->heap[(i - 1) / 2] < step; i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = step;
}

static void drop_top(struct sweep *w)
{
	uint32_t last = w->heap[--w->n_heap];
	size_t i = 0, k;
	while ((k = 2 * i + 1) < w->n_heap) {
		k += k + 1 < w->n_heap && w->heap[k + 1] > w->heap[k];
		if (w->heap[k] < last)
			break;
		w->heap[i] = w->heap[k];
		i = k;
	}
	if (w->n_heap)
		w->heap[i] = last;
}

static int64_t step_at(struct sweep *w, int64_t ts)
{
	for (; w->next < w->n && w->steps[w->begin[w->next].id].ts <= ts; w->next++)
		rise(w, (uint32_t)w->begin[w->next].id);
	while (w->n_heap && w->steps[w->heap[0]].end <= ts)
		drop_top(w); /* times ascend, so it has ended for all later rows */
	return w->n_heap ? w->steps[w->heap[0]].number : -1;
}

static tide_keyed *by_time(const int64_t *ts, size_t stride, size_t n)
{
	tide_keyed *k = tide__alloc(2 * n, sizeof *k);
	for (size_t i = 0; k && i < n; i++)
		k[i] = (tide_keyed){ (uint64_t)ts[i * stride] ^ UINT64_C(1) << 63, i };
	if (k)
		tide__sort_keyed(k, n, k + n);
	return k;
}

static bool set_own_steps(const tide_model *m, tide_compat_frame *f, const struct step *s, size_t n)
{
	struct sweep w = { s,
			   by_time(&s->ts, sizeof *s / sizeof s->ts, n),
			   n,
			   0,
			   tide__alloc(n, sizeof *w.heap),
			   0 };
	tide_keyed *rows = by_time(f->ts, 1, f->n);
	bool ok = w.begin && w.heap && rows;
	for (size_t k = 0; ok && k < f->n; k++) {
		size_t i = rows[k].id;
		bool triton = f->stream[i] == 0 && m->spans.cat[f->span[i].i] == TIDE_CAT_OP;
		f->step[i] = f->stream[i] < 0 || triton ? step_at(&w, f->ts[i]) : -1;
	}
	tide__free(rows);
	tide__free(w.begin);
	tide__free(w.heap);
	return ok;
}

static bool set_steps(const tide_model *m, tide_compat_frame *f, const struct step *s, size_t n)
{
	if (!set_own_steps(m, f, s, n))
		return false;
	for (size_t i = 0; i < f->n; i++) {
		int64_t other = f->stream[i] > 0 && f->link[i] > 0
					? tide__compat_frame_row(f, f->link[i])
					: -1;
		if (other >= 0)
			f->step[i] = f->step[other];
	}
	return true;
}

static void keep_row(tide_compat_frame *f, size_t to, size_t from)
{
	f->span[to] = f->span[from];
	f->ts[to] = f->ts[from];
	f->dur[to] = f->dur[from];
	f->stream[to] = f->stream[from];
	f->corr[to] = f->corr[from];
	f->event[to] = f->event[from];
	f->link[to] = f->link[from];
	f->step[to] = f->step[from];
}

/* If there are two or more steps, keeps CPU rows up to a time, and the GPU rows with their
 * correlations. */
static bool drop(const tide_model *m, tide_compat_frame *f, bool keep_last)
{
	int64_t start = INT64_MIN, end = INT64_MIN;
	bool any = false, ok = true;
	for (size_t i = 0; i < f->n; i++) {
		bool step = !gpu_side(m, f, i) && step_number(name_of(m, f, i)) >= 0;
		if (step && f->ts[i] > start)
			start = f->ts[i];
		if (step && f->ts[i] + f->dur[i] > end)
			end = f->ts[i] + f->dur[i];
		any |= step;
	}
	if (!any)
		return true;
	tide_map kept = { 0 };
	size_t n = 0;
	for (size_t i = 0; i < f->n && ok; i++)
		if (!gpu_side(m, f, i) && (keep_last ? f->ts[i] <= end : f->ts[i] < start))
			ok = tide__map_put(&kept, (uint64_t)f->corr[i], 1);
	for (size_t i = 0; i < f->n && ok; i++) {
		bool cpu = !gpu_side(m, f, i);
		bool in = cpu ? (keep_last ? f->ts[i] <= end : f->ts[i] < start)
			      : tide__map_get(&kept, (uint64_t)f->corr[i]) != 0;
		if (in)
			keep_row(f, n++, i);
	}
	tide__map_free(&kept);
	f->n = n;
	f->dropped_last = !keep_last;
	return ok;
}

tide_code tide__compat_frame_build(const tide_model *m, bool keep_last, tide_compat_frame *out,
				   tide_error *err)
{
	*out = (tide_compat_frame){ 0 };
	tide_code rc = fill(m, out, err);
	if (rc != TIDE_OK)
		goto fail;
	size_t n;
	hta_times(m, out);
	struct step *s = find_steps(m, out, &n);
	bool ok = s && link_rows(m, out) && set_steps(m, out, s, n) &&
		  distinct_steps(s, n, &out->steps) && (out->steps < 2 || drop(m, out, keep_last));
	tide__free(s);
	if (ok)
		return TIDE_OK;
	rc = tide__nomem(err);
fail:
	tide__compat_frame_free(out);
	return rc;
}

/* Device work and synchronisation keep their stream; every other row is CPU, regardless of its
 * arguments. */
static void exact_rows(const tide_model *m, tide_compat_frame *f)
{
	f->unit = 1000;
	for (size_t i = 0; i < f->n; i++) {
		uint32_t s = f->span[i].i;
		bool gpu = tide__cat_is_gpu(m->spans.cat[s]) || m->spans.cat[s] == TIDE_CAT_SYNC;
		f->ts[i] = m->spans.t0[s];
		f->dur[i] = m->spans.t1[s] - m->spans.t0[s];
		f->step[i] = -1;
		f->event[i]++;
		f->stream[i] = gpu ? tide__compat_frame_stream(f, f->stream[i],
							       m->lanes.device[m->spans.lane[s].i])
				   : -1;
	}
}

int64_t tide__compat_frame_stream(const tide_compat_frame *f, int64_t number, tide_device_id device)
{
	return f->unit > 1 && number >= 0 ? number ^ (int64_t)device.i << 31 : number;
}

tide_code tide__compat_frame_build_exact(const tide_model *m, tide_compat_frame *out,
					 tide_error *err)
{
	*out = (tide_compat_frame){ 0 };
	tide_code rc = fill(m, out, err);
	if (rc == TIDE_OK) {
		exact_rows(m, out);
		if (link_rows(m, out))
			return TIDE_OK;
		rc = tide__nomem(err);
	}
	tide__compat_frame_free(out);
	return rc;
}
