// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Each lane has a stack of open ops, linked through the result. An op is pushed once and popped
 * once, when a span begins after its end. */
#include "analyze/common/innermost_op.h"

#include <string.h>

#include "analyze/common/interval_set.h"
#include "base/mem.h"

static bool is_op(const tide_model *m, uint32_t span)
{
	return m->spans.cat[span] == TIDE_CAT_OP &&
	       strncmp(tide__text(m, m->spans.name[span], NULL), "ProfilerStep#", 13) != 0;
}

/* A span that begins where an op ends is after it, unless the op has no length. */
static bool is_over(const tide_model *m, uint32_t op, int64_t t)
{
	int64_t end = tide__span_end(m, op);
	return end < t || (end == t && m->spans.t0[op] < t);
}

uint32_t *tide__innermost_ops_find(const tide_model *m)
{
	const tide_spans *s = &m->spans;
	uint32_t *out = tide__calloc(s->n, sizeof *out);
	uint32_t *top = tide__calloc(m->lanes.n, sizeof *top);
	for (uint32_t i = 1; out && top && i < s->n; i++) {
		uint32_t *on = &top[s->lane[i].i];
		while (*on && is_over(m, *on, s->t0[i]))
			*on = out[*on];
		out[i] = *on;
		if (is_op(m, i))
			*on = i;
	}
	if (!top) {
		tide__free(out);
		out = NULL;
	}
	tide__free(top);
	return out;
}
