// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/overview/overview.h"

#include <math.h>
#include <string.h>

/* More memory events than this are not replayed under other settings: that is `advice`. */
enum { MOST_REPLAYED = 2000000 };

static tide_code find_peak(tide_overview *x, tide_group_names names, tide_error *err)
{
	tide_peak_query q = { .device = TIDE_ANY, .by = TIDE_PEAK_BEST, .names = names };
	tide_heap h = { 0 };
	if (!(x->holds & TIDE_HOLDS_ALLOCS))
		return TIDE_OK;
	x->has_peak = true;
	tide_code rc = tide__peak_find(x->m, &q, &x->peak, err);
	uint32_t heap = rc == TIDE_OK ? tide__heap_pool(x->m) : 0;
	if (heap && x->m->pools.device[heap].i == x->peak.device) {
		rc = tide__heap_report_find(x->m, &h, err);
		x->peak_error = h.peak_error;
		tide__heap_report_free(&h);
	}
	return rc;
}

/* The job's ops are sorted by device time. */
static void find_device_time(tide_overview *x)
{
	const tide_hta *h = x->job->sum;
	int64_t all = 0;
	for (int type = 0; type < TIDE_GPU_TYPES; type++)
		all += h->h.sum_of[type];
	for (size_t i = 0; i < h->ops.n && x->n_longest < TIDE_OVERVIEW_ROWS; i++) {
		tide_overview_time *t = &x->longest[x->n_longest++];
		t->name = h->ops.v[i].name.i ? tide__hta_str(h, h->ops.v[i].name, &t->n) : NULL;
		t->ns = (int64_t)h->ops.v[i].dur.sum[0];
		t->share = all > 0 ? 100.0 * (double)t->ns / (double)all : NAN;
	}
}

/* Inserts a row into the longest ones, which stay sorted; equals stay in the order of the table. */
static void keep_longest(tide_overview *x, tide_overview_time row)
{
	size_t at = x->n_longest;
	while (at > 0 && x->longest[at - 1].ns < row.ns)
		at--;
	if (at == TIDE_OVERVIEW_ROWS)
		return;
	x->n_longest += x->n_longest < TIDE_OVERVIEW_ROWS;
	for (size_t i = x->n_longest - 1; i > at; i--)
		x->longest[i] = x->longest[i - 1];
	x->longest[at] = row;
}

static tide_code find_host_time(tide_overview *x, tide_error *err)
{
	tide_ops_query q = { .device = TIDE_ANY, .flat = true };
	int64_t all = 0;
	x->has_ops = true;
	tide_code rc = tide__ops_find(x->m, &q, &x->ops, err);
	if (rc != TIDE_OK)
		return rc;
	const tide_op_flat *f = &x->ops.flat;
	for (size_t i = 0; i < f->n; i++)
		all += f->rows[i].self.ns;
	for (size_t i = 0; i < f->n; i++) {
		tide_overview_time row = { .ns = f->rows[i].self.ns };
		row.name = tide__text(x->m, f->names[i], &row.n);
		row.share = all > 0 ? 100.0 * (double)row.ns / (double)all : NAN;
		if (row.ns > 0)
			keep_longest(x, row);
	}
	return TIDE_OK;
}

static tide_code find_findings(tide_overview *x, tide_error *err)
{
	tide_findings_query q = { .job = x->job, .most_replayed = MOST_REPLAYED };
	tide_code rc = tide__collect_findings(x->m, &q, &x->findings, err);
	for (size_t i = 0; rc == TIDE_OK && i < x->findings.n; i++)
		if (x->findings.v[i].points < 0 && x->n_grave < TIDE_OVERVIEW_ROWS)
			x->grave[x->n_grave++] = i;
	return rc;
}

tide_code tide__overview_find(const tide_model *m, tide_group_names names, tide_overview *out,
			      tide_error *err)
{
	*out = (tide_overview){ .m = m, .holds = tide__holds(m) };
	tide_code rc = find_peak(out, names, err);
	if (rc == TIDE_OK)
		rc = tide__hta_job_find(m, m->path ? m->path : "", &out->job, err);
	if (rc == TIDE_OK && out->job)
		find_device_time(out);
	else if (rc == TIDE_OK && (out->holds & TIDE_HOLDS_OPS) && m->axis != TIDE_AXIS_OPS)
		rc = find_host_time(out, err);
	if (rc == TIDE_OK)
		rc = find_findings(out, err);
	out->n_next = tide__hints_find(out->holds, out->next);
	return rc;
}

void tide__overview_free(tide_overview *x)
{
	if (x->has_peak)
		tide__peak_free(&x->peak);
	if (x->has_ops)
		tide__ops_free(&x->ops);
	tide__hta_job_free(x->job);
}
