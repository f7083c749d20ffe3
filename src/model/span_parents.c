// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "model/span_parents.h"

#include <string.h>

#include "base/mem.h"
#include "model/mergesort.h"

/* Returns the order of spans with the same start and end: a higher value is outside. */
static unsigned outerness(unsigned cat)
{
	static const uint8_t of[] = {
		[TIDE_CAT_GPU_USER] = 1, [TIDE_CAT_USER] = 1,	 [TIDE_CAT_PYTHON] = 2,
		[TIDE_CAT_OP] = 3,	 [TIDE_CAT_RUNTIME] = 4, [TIDE_CAT_DRIVER] = 5
	};
	return cat < sizeof of && of[cat] ? of[cat] : 6;
}

static inline bool before(const void *ctx, uint32_t a, uint32_t b)
{
	const tide_spans *s = ctx;
	if (s->t0[a] != s->t0[b])
		return s->t0[a] < s->t0[b];
	if (s->t1[a] != s->t1[b])
		return s->t1[a] > s->t1[b];
	return outerness(s->cat[a]) < outerness(s->cat[b]);
}

static bool permute_column(void *data, size_t size, const uint32_t *perm, size_t n)
{
	void *tmp = tide__alloc(n, size);
	if (!tmp)
		return false;
	tide__column_permute(data, size, perm, 0, n, tmp);
	tide__free(tmp);
	return true;
}

/* Permutes every column except parent, which is computed afterwards, and columns that are
 * absent. */
static bool permute_spans(tide_spans *s, const uint32_t *perm)
{
	bool ok = true;
	for (size_t i = 0; ok && i < tide_spans_desc.n_columns; i++) {
		const tide_column *c = &tide_spans_desc.columns[i];
		void *col;
		memcpy(&col, (char *)s + c->at, sizeof col);
		if (col && col != (void *)s->parent)
			ok = permute_column(col, c->size, perm, s->n);
	}
	return ok;
}

static void renumber(uint32_t *id, size_t n, size_t stride, const uint32_t *now, size_t rows)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t *p = (uint32_t *)(void *)((char *)id + i * stride);
		*p = *p < rows ? now[*p] : 0;
	}
}

#define RENUMBER(column) renumber(&(column)->i, N, sizeof *(column), now, rows)

static void renumber_model(tide_model *m, const uint32_t *now)
{
	size_t rows = m->spans.n, N = rows;
	if (m->spans.cause)
		RENUMBER(m->spans.cause);
	N = m->allocs.n;
	if (N)
		RENUMBER(m->allocs.span);
	N = m->flows.n;
	if (N) {
		RENUMBER(m->flows.from);
		RENUMBER(m->flows.to);
	}
	N = m->attrs.n;
	if (N)
		RENUMBER(m->attrs.span);
}

enum { SAME_START = 64 }; /* how many ops with the same start as a zero-length op are compared */

/* The last span begun on a lane that can contain another; its ancestors are the spans still open
 * around it. */
struct open {
	int64_t t0;	/* of the spans begun last */
	uint32_t top;	/* the last one, 0 = none */
	uint32_t older; /* the last one that began before t0 */
};

/* Returns the innermost of p and its ancestors that contains span i. If a span ends after an
 * earlier one, the earlier one cannot contain any later span: callers keep the result, never go
 * back, and the whole pass is linear. */
static uint32_t climb(const tide_spans *s, uint32_t p, uint32_t i)
{
	while (p && (s->t1[p] < s->t1[i] || s->t1[p] == s->t0[i]))
		p = s->parent[p].i;
	return p;
}

/* Returns the parent of span i, which takes no time. PyTorch writes ops in the order in which they
 * begin: one that precedes an op of the same start in the input is its neighbour, not its child. */
static uint32_t around(const tide_spans *s, const uint32_t *order, struct open *on, uint32_t i)
{
	uint32_t p = on->top = climb(s, on->top, i);
	for (int k = 0; p && s->t0[p] == s->t0[i] && k < SAME_START; k++, p = s->parent[p].i)
		if (s->cat[p] != TIDE_CAT_OVERHEAD &&
		    (s->cat[p] != TIDE_CAT_OP || s->cat[i] != TIDE_CAT_OP || order[p] < order[i]))
			return p;
	if (p && s->t0[p] == s->t0[i])
		return p;
	return on->older = climb(s, on->older, i);
}

/* Returns whether span i is the profiler's overhead and ends after a span that is still open.
 * Reports leave overhead out, so the spans inside it must keep the parents that they would have
 * without it. Overhead that nests properly does that; this has no parent and no children. Also
 * closes the spans of the lane that have ended. */
static bool is_overhead_across(const tide_spans *s, struct open *on, uint32_t i)
{
	while (on->top && s->t1[on->top] <= s->t0[i])
		on->top = s->parent[on->top].i;
	return s->cat[i] == TIDE_CAT_OVERHEAD && on->top && s->t1[on->top] < s->t1[i];
}

/* order: the place of every span in the input. */
static bool find_parents(tide_model *m, const uint32_t *order)
{
	tide_spans *s = &m->spans;
	if (!s->parent)
		s->parent = tide__alloc(s->cap, sizeof *s->parent);
	struct open *lanes = tide__calloc(m->lanes.n, sizeof *lanes);
	if (!lanes || !s->parent) {
		tide__free(lanes);
		return false;
	}
	s->parent[0].i = 0;
	for (uint32_t i = 1; i < s->n; i++) {
		struct open *on = &lanes[s->lane[i].i];
		if (on->t0 != s->t0[i])
			*on = (struct open){ s->t0[i], on->top, on->top };
		if (s->t0[i] == s->t1[i]) {
			s->parent[i].i = around(s, order, on, i);
		} else if (is_overhead_across(s, on, i)) {
			s->parent[i].i = 0;
		} else {
			s->parent[i].i = climb(s, on->top, i);
			on->top = i;
		}
	}
	tide__free(lanes);
	return true;
}

/* *order: the place of every span in the input; owned by the caller, also after a failure. */
static bool sort_spans(tide_model *m, const tide_parent_column *cols, size_t n_cols,
		       const tide_parent_ref *refs, size_t n_refs, uint32_t **order)
{
	size_t n = m->spans.n;
	uint32_t *perm = *order = tide__alloc(n, sizeof *perm);
	uint32_t *tmp = tide__alloc(n, sizeof *tmp);
	bool ok = perm && tmp, sorted = true;
	for (uint32_t i = 0; ok && i < n; i++) {
		perm[i] = i;
		sorted = sorted && (i < 2 || !before(&m->spans, i, i - 1));
	}
	if (!ok || sorted)
		goto out;
	tide__mergesort(perm + 1, tmp, n - 1, before, &m->spans);
	tide__free(tmp);
	tmp = NULL;
	ok = permute_spans(&m->spans, perm) &&
	     (!m->span_src || permute_column(m->span_src, sizeof *m->span_src, perm, n)) &&
	     (!m->span_raw || permute_column(m->span_raw, sizeof *m->span_raw, perm, n));
	for (size_t i = 0; ok && i < n_cols; i++)
		ok = permute_column(cols[i].data, cols[i].size, perm, n);
	uint32_t *now = tmp = ok ? tide__alloc(n, sizeof *now) : NULL;
	if (!now) {
		ok = false;
		goto out;
	}
	for (uint32_t i = 0; i < n; i++)
		now[perm[i]] = i;
	renumber_model(m, now);
	for (size_t i = 0; i < n_refs; i++)
		renumber(refs[i].id, refs[i].n, refs[i].stride, now, n);
out:
	tide__free(tmp);
	return ok;
}

/* ---- flows and attrs ---- */

static inline bool flow_before(const void *ctx, uint32_t a, uint32_t b)
{
	const tide_flows *f = ctx;
	return f->from[a].i != f->from[b].i ? f->from[a].i < f->from[b].i : f->to[a].i < f->to[b].i;
}

static inline bool attr_before(const void *ctx, uint32_t a, uint32_t b)
{
	const tide_attrs *t = ctx;
	return t->span[a].i != t->span[b].i ? t->span[a].i < t->span[b].i
					    : t->key[a].i < t->key[b].i;
}

static uint32_t *identity(size_t n, uint32_t **tmp)
{
	uint32_t *perm = n < UINT32_MAX ? tide__alloc(n * 2, sizeof *perm) : NULL;
	for (uint32_t i = 0; perm && i < n; i++)
		perm[i] = i;
	*tmp = perm ? perm + n : NULL;
	return perm;
}

bool tide__sort_flows(tide_model *m)
{
	uint32_t *tmp, *perm = identity(m->flows.n, &tmp);
	if (!perm)
		return false;
	tide__mergesort(perm, tmp, m->flows.n, flow_before, &m->flows);
	bool ok = tide__table_permute(&m->flows, &tide_flows_desc, perm, 0);
	tide__free(perm);
	return ok;
}

static bool sort_attrs(tide_model *m)
{
	uint32_t *tmp, *perm = identity(m->attrs.n, &tmp);
	if (!perm)
		return false;
	tide__mergesort(perm, tmp, m->attrs.n, attr_before, &m->attrs);
	bool ok = tide__table_permute(&m->attrs, &tide_attrs_desc, perm, 0);
	tide__free(perm);
	return ok;
}

bool tide__find_span_parents(tide_model *m, const tide_parent_column *cols, size_t n_cols,
			     const tide_parent_ref *refs, size_t n_refs)
{
	uint32_t *order;
	bool ok = sort_spans(m, cols, n_cols, refs, n_refs, &order) && find_parents(m, order);
	tide__free(order);
	return ok && tide__sort_flows(m) && sort_attrs(m);
}
