// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/tide/forward_backward.h"

#include <string.h>

static bool is_engine(const tide_model *m, uint32_t span)
{
	static const char prefix[] = "autograd::engine::";
	return span &&
	       !strncmp(tide__text(m, m->spans.name[span], NULL), prefix, sizeof prefix - 1);
}

static bool link_ops(tide_forward_backward *j, tide_model *m, uint32_t from, uint32_t to)
{
	tide_spans *s = &m->spans;
	size_t row;
	if (!tide__table_push(&m->flows, &tide_flows_desc, &row))
		return false;
	m->flows.from[row].i = from;
	m->flows.to[row].i = to;
	m->flows.kind[row] = TIDE_FLOW_FWD_BWD;
	if (!s->stack[from].i)
		return true;
	if (!j->backward.i)
		j->backward =
			tide__frame_intern(m, tide__intern(m, "[backward]"), (tide_str){ 0 }, 0);
	tide_stack_id stack = tide__stack_intern(m, s->stack[from], j->backward);
	s->stack[to] = stack;
	if (is_engine(m, s->parent[to].i))
		s->stack[s->parent[to].i] = stack;
	return j->backward.i && stack.i;
}

bool tide__forward_backward_begin(tide_forward_backward *j, tide_model *m, uint32_t i, uint64_t arg,
				  uint32_t origin)
{
	if (!origin || !arg || arg >> 33)
		return true;
	uint64_t key = (uint64_t)(origin >> 1) << 33 | arg;
	if (!(origin & 1))
		return tide__map_put(&j->forward, key, i);
	uint32_t from = tide__map_get(&j->forward, key);
	return !from || link_ops(j, m, from, i);
}

void tide__forward_backward_free(tide_forward_backward *j)
{
	tide__map_free(&j->forward);
}
