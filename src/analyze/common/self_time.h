// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Self time: the length of a span minus the length of the union of its direct children.
 *
 * Children of one span overlap each other in some traces, so adding up their lengths would make the
 * self time negative. Given spans in their order, this returns from when on each of them adds to
 * the union of its parent's children. */
#ifndef TIDE_ANALYZE_COMMON_SELF_TIME_H
#define TIDE_ANALYZE_COMMON_SELF_TIME_H

#include "analyze/common/interval_set.h"
#include "base/mem.h"

typedef struct tide_children {
	/* owned; per span: its child so far that ends last, 0 = none */
	uint32_t *last;
} tide_children;

/* Returns false if memory runs out. tide__children_free accepts a zeroed one. */
static inline bool tide__children_init(tide_children *c, const tide_model *m)
{
	c->last = tide__calloc(m->spans.n, sizeof *c->last);
	return c->last;
}

static inline void tide__children_free(tide_children *c)
{
	tide__free(c->last);
	c->last = NULL;
}

/* Returns the first time in `span` that no earlier child of its parent covers; its end if there
 * is none. Spans must come in ascending order, each once. */
static inline int64_t tide__children_add(tide_children *c, const tide_model *m, uint32_t span)
{
	uint32_t *last = &c->last[m->spans.parent[span].i];
	int64_t t0 = m->spans.t0[span], t1 = tide__span_end(m, span);
	int64_t covered = *last && m->spans.parent[span].i ? tide__span_end(m, *last) : t0;
	if (!*last || t1 > covered)
		*last = span;
	return covered > t1 ? t1 : covered > t0 ? covered : t0;
}

#endif
