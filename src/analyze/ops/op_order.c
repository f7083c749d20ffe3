// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/ops/op_order.h"

#include <stdlib.h>
#include <string.h>

static int64_t figure_of(tide_ops_sort by, const tide_op_row *r)
{
	switch (by) {
	case TIDE_OPS_WALL:
		return r->all.ns;
	case TIDE_OPS_SELF:
		return r->self.ns;
	case TIDE_OPS_COUNT:
		return (int64_t)r->count;
	case TIDE_OPS_ALLOC:
		return (int64_t)r->all.alloc_bytes;
	case TIDE_OPS_FREE:
		return (int64_t)r->all.free_bytes;
	case TIDE_OPS_CHANGE:
		return (int64_t)(r->all.alloc_bytes - r->all.free_bytes);
	case TIDE_OPS_PEAK:
		return (int64_t)r->peak;
	default:
		return 0;
	}
}

tide_op_key tide__op_key(const tide_model *m, tide_ops_sort by, const tide_op_row *row,
			 tide_str name, uint32_t at)
{
	return (tide_op_key){ figure_of(by, row),
			      by == TIDE_OPS_NAME ? tide__text(m, name, NULL) : NULL, at };
}

static int compare(const void *a, const void *b)
{
	const tide_op_key *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? 1 : -1;
	int c = x->name ? strcmp(x->name, y->name) : 0;
	return c ? c : x->at < y->at ? -1 : x->at > y->at;
}

void tide__op_keys_sort(tide_op_key *v, size_t n)
{
	if (n)
		qsort(v, n, sizeof *v, compare);
}
