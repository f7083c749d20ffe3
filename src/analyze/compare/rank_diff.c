// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/compare/rank_diff.h"

#include <stdlib.h>
#include <string.h>

void tide__rank_diff_set(tide_rank_diff *out, int64_t rank, const char *const path[2],
			 const tide_diff *d, const tide_diff_checks *c)
{
	*out = (tide_rank_diff){ .rank = rank, .path = { path[0], path[1] } };
	memcpy(out->metric, d->metric, sizeof out->metric);
	memcpy(out->known, d->known, sizeof out->known);
	for (size_t i = 0; i < c->n; i++) {
		out->crossed += c->r[i].decided && c->r[i].crossed;
		out->undecided += !c->r[i].decided;
	}
}

bool tide__rank_diff_change(const tide_rank_diff *r, tide_metric k, int64_t *change)
{
	bool both = r->known[k][0] && r->known[k][1];
	*change = both ? (int64_t)(r->metric[k][1] - r->metric[k][0]) : 0;
	return both;
}

static int worst_first(const void *pa, const void *pb)
{
	static const tide_metric keys[] = { TIDE_METRIC_TIME, TIDE_METRIC_PEAK };
	const tide_rank_diff *a = pa, *b = pb;
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		int64_t x, y;
		tide__rank_diff_change(a, keys[i], &x);
		tide__rank_diff_change(b, keys[i], &y);
		if (x != y)
			return x > y ? -1 : 1;
	}
	return (a->rank > b->rank) - (a->rank < b->rank);
}

void tide__rank_diff_sort(tide_rank_diff *v, size_t n)
{
	if (n)
		qsort(v, n, sizeof *v, worst_first);
}
