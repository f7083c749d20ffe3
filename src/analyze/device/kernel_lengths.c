// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/device/kernel_lengths.h"

#include <stdlib.h>

#include "analyze/common/innermost_op.h"
#include "analyze/common/interval_set.h"
#include "base/error.h"
#include "base/mem.h"

const int64_t tide__length_from[TIDE_LENGTHS] = {
	0,	1000,	2000,	 5000,	  10000,   20000,    50000,    100000,
	200000, 500000, 1000000, 2000000, 5000000, 10000000, 20000000, 50000000,
};

static size_t class_of(int64_t ns)
{
	size_t i = TIDE_LENGTHS - 1;
	while (i && ns < tide__length_from[i])
		i--;
	return i;
}

static bool add_short(tide_kernel_lengths *x, tide_map *index, tide_str op, tide_str kernel,
		      int64_t ns)
{
	uint64_t key = (uint64_t)op.i << 32 | kernel.i;
	uint32_t at = tide__map_get(index, key);
	if (!at) {
		if (!TIDE_ROOM(x->v, x->cap, x->n + 1) ||
		    !tide__map_put(index, key, (uint32_t)x->n + 1))
			return false;
		x->v[x->n++] = (tide_short_kernel){ .op = op, .kernel = kernel };
		at = (uint32_t)x->n;
	}
	tide__stat_add(&x->v[at - 1].dur, ns);
	return true;
}

static int most_first(const void *a, const void *b)
{
	const tide_short_kernel *x = a, *y = b;
	int64_t p = tide__stat_sum(&x->dur), q = tide__stat_sum(&y->dur);
	if (x->dur.n != y->dur.n)
		return x->dur.n > y->dur.n ? -1 : 1;
	if (p != q)
		return p > q ? -1 : 1;
	if (x->op.i != y->op.i)
		return x->op.i < y->op.i ? -1 : 1;
	return x->kernel.i < y->kernel.i ? -1 : x->kernel.i > y->kernel.i;
}

tide_code tide__find_kernel_lengths(const tide_model *m, const tide_gpu_rows *rows,
				    int64_t short_ns, tide_kernel_lengths *out, tide_error *err)
{
	*out = (tide_kernel_lengths){ 0 };
	uint32_t *op_of = tide__innermost_ops_find(m);
	tide_map index = { 0 };
	bool ok = op_of != NULL;
	for (size_t i = 0; ok && i < rows->n; i++) {
		uint32_t span = rows->span[i], op = op_of[tide__launched_by(m, span)];
		int64_t ns = tide__span_end(m, span) - m->spans.t0[span];
		size_t k = class_of(ns);
		out->count[k]++;
		out->ns[k] = tide__add_sat(out->ns[k], ns);
		out->rows++;
		out->all_ns = tide__add_sat(out->all_ns, ns);
		if (ns < short_ns)
			ok = add_short(out, &index, op ? m->spans.name[op] : (tide_str){ 0 },
				       m->spans.name[span], ns);
	}
	if (ok && out->n)
		qsort(out->v, out->n, sizeof *out->v, most_first);
	tide__free(op_of);
	tide__map_free(&index);
	return ok ? TIDE_OK : tide__nomem(err);
}

void tide__kernel_lengths_free(tide_kernel_lengths *x)
{
	tide__free(x->v);
	*x = (tide_kernel_lengths){ 0 };
}
