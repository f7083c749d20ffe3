// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One pass over the spans fills an interval set per lane and one per side; the rest is
 * arithmetic. */
#include "analyze/timeline/timeline.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"

double tide__pct(int64_t part, int64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : (double)NAN;
}

/* Returns true if a span of work is counted. */
static bool counts(const tide_model *m, size_t span, const tide_timeline_options *opt)
{
	unsigned cat = m->spans.cat[span];
	if (opt->no_python && cat == TIDE_CAT_PYTHON)
		return false;
	if (opt->no_runtime && (cat == TIDE_CAT_RUNTIME || cat == TIDE_CAT_DRIVER))
		return false;
	return tide__span_end(m, span) - m->spans.t0[span] >= opt->min_ns;
}

bool tide__timeline_counts(const tide_model *m, size_t span, const tide_timeline_options *opt)
{
	return tide__side(m, span) != TIDE_SIDE_NONE && counts(m, span, opt);
}

/* `slots` has one row per (lane, side): a thread that also carries GPU rows gets two. */
static tide_timeline_lane *slot(tide_timeline_lane *slots, tide_lane_id lane, tide_side side)
{
	tide_timeline_lane *l = &slots[2 * (size_t)lane.i + (side == TIDE_SIDE_GPU)];
	l->lane = lane;
	l->side = side;
	return l;
}

static bool count(const tide_model *m, size_t i, tide_side side, tide_timeline *t,
		  tide_timeline_lane *slots)
{
	int64_t t0 = m->spans.t0[i], t1 = tide__span_end(m, i);
	tide_timeline_lane *l = slot(slots, m->spans.lane[i], side);
	bool first = !(t->cpu_count + t->gpu_count);

	if (!l->count++)
		l->t0 = t0;
	if (t1 > l->t1 || l->count == 1)
		l->t1 = t1;
	l->sum_ns += t1 - t0;
	if (first)
		t->t0 = t0;
	if (first || t1 > t->t1)
		t->t1 = t1;
	t->python_count += m->spans.cat[i] == TIDE_CAT_PYTHON;
	if (side == TIDE_SIDE_CPU)
		t->cpu_count++;
	else
		t->gpu_count++;
	return tide__interval_set_add(&l->cover, t0, t1) &&
	       tide__interval_set_add(side == TIDE_SIDE_CPU ? &t->cpu : &t->gpu, t0, t1);
}

static bool walk(const tide_model *m, const tide_timeline_options *opt, tide_timeline *t,
		 tide_timeline_lane *slots)
{
	for (size_t i = 1; i < m->spans.n; i++) {
		tide_side side = tide__side(m, i);
		if (side == TIDE_SIDE_NONE)
			t->not_work++;
		else if (!counts(m, i, opt))
			t->left_out++;
		else if (!count(m, i, side, t, slots))
			return false;
	}
	return true;
}

/* Keeps the slots that were used, CPU before GPU, and frees the others. */
static bool keep(tide_timeline *t, tide_timeline_lane *slots, size_t n)
{
	size_t used = 0;
	for (size_t i = 0; i < n; i++)
		used += slots[i].count > 0;
	t->lanes = tide__calloc(used, sizeof *t->lanes);
	if (!t->lanes)
		return false;
	for (size_t gpu = 0; gpu < 2; gpu++)
		for (size_t i = gpu; i < n; i += 2)
			if (slots[i].count) {
				t->lanes[t->n_lanes++] = slots[i];
				slots[i].cover = (tide_interval_set){ 0 };
			}
	return true;
}

static bool sum_up(tide_timeline *t)
{
	int64_t *cpu = tide__interval_set_sums(&t->cpu), *gpu = tide__interval_set_sums(&t->gpu);
	t->total_ns = t->t1 - t->t0;
	t->cpu_ns = tide__interval_set_ns(&t->cpu);
	t->gpu_ns = tide__interval_set_ns(&t->gpu);
	t->overlap_ns = tide__interval_set_both_ns(&t->cpu, &t->gpu);
	for (size_t i = 0; cpu && gpu && i < t->n_lanes; i++) {
		tide_timeline_lane *l = &t->lanes[i];
		l->active_ns = tide__interval_set_ns(&l->cover);
		l->overlap_ns = l->side == TIDE_SIDE_CPU
					? tide__interval_set_with_ns(&l->cover, &t->gpu, gpu)
					: tide__interval_set_with_ns(&l->cover, &t->cpu, cpu);
	}
	bool ok = cpu && gpu;
	tide__free(cpu);
	tide__free(gpu);
	return ok;
}

tide_code tide__find_timeline(const tide_model *m, const tide_timeline_options *opt,
			      tide_timeline *out, tide_error *err)
{
	static const tide_timeline_options none;
	size_t n = 2 * m->lanes.n;
	tide_timeline_lane *slots = tide__calloc(n, sizeof *slots);

	*out = (tide_timeline){ 0 };
	for (size_t i = 1; i < m->spans.n && !(out->cpu_known && out->gpu_known); i++) {
		tide_side side = tide__side(m, i);
		out->cpu_known |= side == TIDE_SIDE_CPU;
		out->gpu_known |= side == TIDE_SIDE_GPU;
	}
	bool ok = slots && walk(m, opt ? opt : &none, out, slots) && keep(out, slots, n) &&
		  sum_up(out);
	for (size_t i = 0; slots && i < n; i++)
		tide__interval_set_free(&slots[i].cover);
	tide__free(slots);
	if (!ok) {
		tide__timeline_free(out);
		return tide__nomem(err);
	}
	return TIDE_OK;
}

void tide__timeline_free(tide_timeline *t)
{
	for (size_t i = 0; i < t->n_lanes; i++)
		tide__interval_set_free(&t->lanes[i].cover);
	tide__free(t->lanes);
	tide__interval_set_free(&t->cpu);
	tide__interval_set_free(&t->gpu);
	*t = (tide_timeline){ 0 };
}
