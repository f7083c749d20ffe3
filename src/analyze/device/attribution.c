// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Op -> kernel attribution: device time by the innermost op around the launch call.
 *
 * The path is row -> launch (spans.cause) -> the op in which the launch began. Rows launched
 * outside any op, and rows whose launch is not in the trace, are separate groups: the table always
 * adds up to all device rows. */
#include "analyze/common/innermost_op.h"
#include "analyze/device/hta_parts.h"
#include "base/mem.h"

enum { AN_OP, NO_OP, NO_LAUNCH };

typedef struct groups {
	uint32_t *op_of; /* per span: the op in which it began */
	tide_map ops, pairs;
} groups;

static tide_hta_op *op_row(const tide_hta_input *in, tide_hta *h, groups *g, tide_str name,
			   unsigned why, uint32_t *index)
{
	uint64_t key = (uint64_t)name.i << 2 | why;
	*index = tide__map_get(&g->ops, key);
	if (*index)
		return &h->ops.v[*index - 1];
	tide_hta_op *o = TIDE_HTA_PUSH(h, ops);
	if (!o || !tide__map_put(&g->ops, key, (uint32_t)h->ops.n))
		return NULL;
	o->name = tide__hta_take(h, in->m, name);
	o->why = why;
	*index = (uint32_t)h->ops.n;
	return o;
}

static tide_hta_op_kernel *pair_row(const tide_hta_input *in, tide_hta *h, groups *g, uint32_t op,
				    size_t row)
{
	tide_str kernel = in->m->spans.name[in->rows->span[row]];
	unsigned type = in->rows->type[row];
	uint64_t key = (uint64_t)op << 34 | (uint64_t)kernel.i << 2 | type;
	uint32_t k = tide__map_get(&g->pairs, key);
	if (k)
		return &h->op_kernels.v[k - 1];
	tide_hta_op_kernel *p = TIDE_HTA_PUSH(h, op_kernels);
	if (!p || !tide__map_put(&g->pairs, key, (uint32_t)h->op_kernels.n))
		return NULL;
	p->op = h->ops.v[op - 1].name;
	p->why = h->ops.v[op - 1].why;
	p->kernel = tide__hta_take(h, in->m, kernel);
	p->type = type;
	return p;
}

static bool one_row(const tide_hta_input *in, tide_hta *h, groups *g, size_t row)
{
	uint32_t launch = tide__launched_by(in->m, in->rows->span[row]), op = g->op_of[launch],
		 index;
	unsigned why = op ? AN_OP : launch ? NO_OP : NO_LAUNCH;
	tide_str name = op ? in->m->spans.name[op] : (tide_str){ 0 };
	tide_hta_op *o = op_row(in, h, g, name, why, &index);
	if (!o)
		return false;
	tide__stat_add(&o->dur, tide__row_dur(in, row));
	tide_hta_op_kernel *p = pair_row(in, h, g, index, row);
	if (!p)
		return false;
	tide__stat_add(&p->dur, tide__row_dur(in, row));
	return true;
}

bool tide__hta_find_attribution(const tide_hta_input *in, tide_hta *h)
{
	groups g = { .op_of = tide__innermost_ops_find(in->m) };
	bool ok = g.op_of;
	for (size_t i = 0; ok && i < in->rows->n; i++)
		ok = one_row(in, h, &g, i);
	tide__free(g.op_of);
	tide__map_free(&g.ops);
	tide__map_free(&g.pairs);
	return ok;
}
