// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Op -> kernel attribution: device time by the innermost op around the launch call.
 *
 * The way is row -> launch (spans.cause) -> the launch's enclosing spans, innermost first, until an
 * op (ProfilerStep#N, an op in old files, is none). Rows launched outside any op, and rows whose
 * launch is not in the trace, are groups of their own: the table always adds up to all device
 * rows. Answers are remembered for every span walked over, so the whole is linear. */
#include <string.h>

#include "analyze/device/hta_parts.h"

enum { AN_OP, NO_OP, NO_LAUNCH };

static bool is_op(const tide_model *m, uint32_t span)
{
	return m->spans.cat[span] == TIDE_CAT_OP &&
	       strncmp(tide__text(m, m->spans.name[span], NULL), "ProfilerStep#", 13) != 0;
}

/* Innermost op around `span`, 0 = none. `known`: span -> op + 1. */
static bool op_around(const tide_model *m, tide_map *known, uint32_t span, uint32_t *op)
{
	uint32_t at = span, found = 0;
	for (; at; at = m->spans.parent[at].i) {
		uint32_t k = tide__map_get(known, at);
		if (k) {
			found = k - 1;
			break;
		}
		if (is_op(m, at)) {
			found = at;
			break;
		}
	}
	*op = found;
	for (uint32_t s = span; s != at; s = m->spans.parent[s].i)
		if (!tide__map_put(known, s, found + 1))
			return false;
	return true;
}

typedef struct groups {
	tide_map launch_op, ops, pairs;
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
	uint32_t launch = tide__row_launch(in, row), op = 0, index;
	if (launch && !op_around(in->m, &g->launch_op, launch, &op))
		return false;
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

bool tide__part_attribution(const tide_hta_input *in, tide_hta *h)
{
	groups g = { 0 };
	bool ok = true;
	for (size_t i = 0; ok && i < in->rows->n; i++)
		ok = one_row(in, h, &g, i);
	tide__map_free(&g.launch_op);
	tide__map_free(&g.ops);
	tide__map_free(&g.pairs);
	return ok;
}
