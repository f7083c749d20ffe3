// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Rows of equal calls, sums of categories and steps, and their distance to the peaks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/common/interval_set.h"
#include "analyze/roofline/roofline_impl.h"
#include "base/mem.h"

/* ---- figures of one row ---- */

static double total_bytes(const tide_op_cost *c)
{
	return c->bytes_read + c->bytes_written;
}

/* The peak of the units that a row uses; NaN = unknown. */
static double peak_of(const tide_roofline *x, const tide_roof_row *r)
{
	double v = tide__device_peak_of(&x->peak, (tide_number)r->cost.type, r->cost.matrix,
					r->tflops);
	return v > 0 ? v : (double)NAN;
}

/* Returns the ns that the device needs for one call at its peaks; NaN = unknown. */
static double ideal_ns(const tide_roofline *x, tide_roof_row *r)
{
	double bytes = total_bytes(&r->cost), flops = r->cost.flops,
	       memory = x->peak.gb_s > 0 ? bytes / x->peak.gb_s : (double)NAN,
	       compute = flops == 0 ? 0 : flops / (r->peak_tflops * 1e3);
	if (isnan(memory) || isnan(compute))
		return (double)NAN;
	r->bound = compute > memory ? TIDE_BOUND_COMPUTE : TIDE_BOUND_MEMORY;
	return compute > memory ? compute : memory;
}

static void finish_row(const tide_roofline *x, tide_roof_row *r)
{
	double n = (double)r->dur.n, ns = (double)tide__stat_sum(&r->dur);
	r->tflops = ns > 0 ? r->cost.flops * n / ns / 1e3 : (double)NAN;
	r->tb_s = ns > 0 ? total_bytes(&r->cost) * n / ns / 1e3 : (double)NAN;
	r->intensity =
		total_bytes(&r->cost) > 0 ? r->cost.flops / total_bytes(&r->cost) : (double)NAN;
	r->peak_tflops = peak_of(x, r);
	double ideal = ideal_ns(x, r);
	r->roof_pct = ns > 0 ? 100 * ideal * n / ns : (double)NAN;
}

/* ---- rows ---- */

static int by_row(const void *a, const void *b)
{
	const tide_roof_call *x = a, *y = b;
	if (x->cost != y->cost)
		return x->cost < y->cost ? -1 : 1;
	if (x->again != y->again)
		return x->again ? 1 : -1;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->span < y->span ? -1 : x->span > y->span;
}

static int most_first(const void *a, const void *b)
{
	const tide_roof_row *x = a, *y = b;
	int64_t p = tide__stat_sum(&x->dur), q = tide__stat_sum(&y->dur);
	if (p != q)
		return p > q ? -1 : 1;
	return x->span < y->span ? -1 : x->span > y->span;
}

static int gap_most_first(const void *a, const void *b)
{
	const tide_roof_gap *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->name.i != y->name.i)
		return x->name.i < y->name.i ? -1 : 1;
	return x->why < y->why ? -1 : x->why > y->why;
}

static void add_rates(tide_roof_row *r, const tide_roof_call *c, size_t n)
{
	double sum = 0, squares = 0;
	for (size_t i = 0; i < n; i++)
		sum += 1 / (double)c[i].ns;
	r->rate_mean = sum / (double)n;
	for (size_t i = 0; i < n; i++) {
		double d = 1 / (double)c[i].ns - r->rate_mean;
		squares += d * d;
	}
	r->rate_std = sqrt(squares / (double)n);
}

/* Makes a row of calls with times, which are sorted by them. */
static bool add_row(tide_roof_work *w, const tide_roof_call *c, size_t n)
{
	tide_roofline *x = w->out;
	const tide_roof_cost *cost = &w->costs[c->cost - 1];
	if (!TIDE_ROOM(x->v, x->cap, x->n + 1))
		return false;
	tide_roof_row *r = &x->v[x->n++];
	*r = (tide_roof_row){ .name = cost->name,
			      .cost = cost->cost,
			      .recompute = c->again,
			      .span = c[n - 1].span,
			      .median_ns = c[(n - 1) / 2].ns };
	if (cost->set) {
		const tide_argument_set *a = &w->arguments.v[cost->set - 1];
		r->dims = a->dims;
		r->types = a->types;
		r->strides = a->strides;
		r->concrete = a->concrete;
	}
	for (size_t i = 0; i < n; i++) {
		tide__stat_add(&r->dur, c[i].ns);
		r->device_rows += c[i].device_rows;
	}
	add_rates(r, c, n);
	finish_row(x, r);
	return true;
}

/* ---- sums ---- */

static void add_sum(tide_roof_sum *s, const tide_roof_row *r)
{
	double n = (double)r->dur.n, bytes = total_bytes(&r->cost);
	int64_t ns = tide__stat_sum(&r->dur);
	s->calls += r->dur.n;
	s->device_rows += r->device_rows;
	s->ns = tide__add_sat(s->ns, ns);
	if (r->recompute)
		s->recompute_ns = tide__add_sat(s->recompute_ns, ns);
	if (!isnan(r->cost.flops)) {
		s->flops += r->cost.flops * n;
		s->flops_ns = tide__add_sat(s->flops_ns, ns);
	}
	if (!isnan(bytes)) {
		s->bytes += bytes * n;
		s->bytes_ns = tide__add_sat(s->bytes_ns, ns);
	}
	if (!isnan(r->roof_pct)) {
		s->ideal_ns += r->roof_pct * (double)ns / 100;
		s->roof_ns = tide__add_sat(s->roof_ns, ns);
	}
}

static void add_sums(tide_roofline *x)
{
	for (size_t i = 0; i < x->n; i++) {
		const tide_roof_row *r = &x->v[i];
		add_sum(&x->all, r);
		add_sum(&x->of[r->cost.category], r);
		if (!isnan(r->cost.flops) && !isnan(total_bytes(&r->cost)))
			x->covered_ns = tide__add_sat(x->covered_ns, tide__stat_sum(&r->dur));
	}
}

/* Calls of ops with a rule that no other op around them has, but without a cost. */
static void count_shapeless(tide_roof_work *w)
{
	const tide_spans *s = &w->m->spans;
	for (uint32_t i = 1; i < s->n; i++)
		w->out->shapeless +=
			s->cat[i] == TIDE_CAT_OP && w->rule[s->name[i].i] && !w->owner[i];
}

bool tide__roofline_make_rows(tide_roof_work *w)
{
	tide_roofline *x = w->out;
	if (w->n_calls)
		qsort(w->calls, w->n_calls, sizeof *w->calls, by_row);
	for (size_t i = 0, end; i < w->n_calls; i = end) {
		const tide_roof_call *c = &w->calls[i];
		for (end = i; end < w->n_calls && w->calls[end].cost == c->cost &&
			      w->calls[end].again == c->again;
		     end++) {
		}
		size_t first = i; /* those without time come first */
		while (first < end && w->calls[first].ns <= 0)
			first++;
		x->timeless += first - i;
		if (c->cost && first < end && !add_row(w, &w->calls[first], end - first))
			return false;
	}
	count_shapeless(w);
	if (x->n)
		qsort(x->v, x->n, sizeof *x->v, most_first);
	if (x->n_gaps)
		qsort(x->gaps, x->n_gaps, sizeof *x->gaps, gap_most_first);
	add_sums(x);
	return true;
}

/* ---- steps ---- */

/* Returns the index of the rows of the table for a call: its step + 1, or 0. */
static size_t step_of(const tide_roof_work *w, uint32_t span)
{
	int64_t at = tide__steps_at(&w->marks, w->m->spans.t0[span]);
	return at < 0 ? 0 : (size_t)at + 1;
}

static void add_flops(tide_roof_step *s, const tide_roof_call *c, double flops, double ideal)
{
	*(c->again ? &s->again_flops : &s->flops) += flops;
	*(c->again ? &s->again_ideal_ns : &s->ideal_ns) += ideal;
}

static void add_call(tide_roof_work *w, const tide_roof_call *c)
{
	tide_roof_step *s = w->out->steps;
	const tide_op_cost *cost = &w->costs[c->cost - 1].cost;
	size_t at = step_of(w, c->span);
	if (c->ns <= 0 || !cost->matrix || isnan(cost->flops) || !cost->flops)
		return;
	double peak = tide__device_peak_of(&w->out->peak, (tide_number)cost->type, true,
					   cost->flops / (double)c->ns / 1e3);
	double ideal = peak > 0 ? cost->flops / peak / 1e3 : (double)NAN;
	add_flops(&s[0], c, cost->flops, ideal);
	if (at)
		add_flops(&s[at], c, cost->flops, ideal);
}

static void add_device_times(tide_roof_work *w)
{
	const tide_spans *s = &w->m->spans;
	tide_roof_step *v = w->out->steps;
	for (size_t i = 0; i < w->rows.n; i++) {
		uint32_t span = w->rows.span[i], launch = tide__launched_by(w->m, span);
		int64_t ns = tide__span_end(w->m, span) - s->t0[span];
		size_t at = launch ? step_of(w, launch) : 0;
		v[0].device_ns = tide__add_sat(v[0].device_ns, ns);
		if (at)
			v[at].device_ns = tide__add_sat(v[at].device_ns, ns);
	}
}

/* Returns the time from the first launch or row to the end of the last row or call. */
static int64_t whole(const tide_roof_work *w)
{
	const tide_spans *s = &w->m->spans;
	int64_t from = INT64_MAX, to = INT64_MIN;
	for (size_t i = 0; i < w->rows.n; i++) {
		uint32_t span = w->rows.span[i], launch = tide__launched_by(w->m, span);
		int64_t t0 = launch && s->t0[launch] < s->t0[span] ? s->t0[launch] : s->t0[span];
		from = t0 < from ? t0 : from;
		to = tide__span_end(w->m, span) > to ? tide__span_end(w->m, span) : to;
	}
	for (size_t i = 0; !w->out->device && i < w->n_calls; i++) {
		uint32_t span = w->calls[i].span;
		from = s->t0[span] < from ? s->t0[span] : from;
		to = tide__span_end(w->m, span) > to ? tide__span_end(w->m, span) : to;
	}
	return to > from ? to - from : 0;
}

static void finish_step(tide_roof_step *s, uint64_t devices)
{
	double time = (double)s->ns * (double)(devices ? devices : 1);
	bool known = time > 0 && s->flops > 0;
	s->mfu_pct = known ? 100 * s->ideal_ns / time : (double)NAN;
	s->hfu_pct = known ? 100 * (s->ideal_ns + s->again_ideal_ns) / time : (double)NAN;
}

bool tide__roofline_make_steps(tide_roof_work *w)
{
	tide_roofline *x = w->out;
	x->steps = tide__calloc(w->marks.n + 1, sizeof *x->steps);
	if (!x->steps)
		return false;
	x->n_steps = w->marks.n + 1;
	x->steps[0] = (tide_roof_step){ .number = -1, .ns = whole(w) };
	for (size_t i = 0; i < w->marks.n; i++)
		x->steps[i + 1] = (tide_roof_step){ .number = w->marks.v[i].number,
						    .ns = w->marks.v[i].t1 - w->marks.v[i].t0 };
	for (size_t i = 0; i < w->n_calls; i++)
		if (w->calls[i].cost)
			add_call(w, &w->calls[i]);
	add_device_times(w);
	for (size_t i = 0; i < x->n_steps; i++)
		finish_step(&x->steps[i], x->devices);
	return true;
}
