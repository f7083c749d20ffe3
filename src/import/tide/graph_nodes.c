// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "import/tide/graph_nodes.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "format/device_log.h"
#include "import/tide/device_memory.h"

/* From t on, rows of a node belong to a span. */
typedef struct origin {
	uint64_t node;
	int64_t t;
	uint32_t span, order;
} origin;

struct work {
	tide_model *m;
	origin *v;
	size_t n;
	tide_map latest;  /* node -> its last origin + 1 */
	tide_map threads; /* thread id -> lane */
	uint32_t *last;	  /* per lane: the host span that began last */
	uint32_t next;	  /* the first span that has not begun */
};

static int by_time(const void *a, const void *b)
{
	const struct tide_graph_node *x = a, *y = b;
	if (x->t != y->t)
		return x->t < y->t ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int by_node(const void *a, const void *b)
{
	const origin *x = a, *y = b;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool find_threads(struct work *w)
{
	const tide_lanes *l = &w->m->lanes;
	bool ok = true;
	for (uint32_t i = 1; ok && i < l->n; i++)
		if (l->kind[i] == TIDE_LANE_THREAD && l->number[i] > 0)
			ok = tide__map_put(&w->threads, (uint64_t)l->number[i], i);
	return ok;
}

/* Returns the innermost host span of a thread at t; moments never decrease. */
static uint32_t span_at(struct work *w, uint32_t tid, int64_t t)
{
	const tide_spans *s = &w->m->spans;
	for (; w->next < s->n && s->t0[w->next] <= t; w->next++)
		if (!tide__cat_is_gpu(s->cat[w->next]) && s->cat[w->next] != TIDE_CAT_OVERHEAD)
			w->last[s->lane[w->next].i] = w->next;
	uint32_t lane = tide__map_get(&w->threads, tid), at = lane ? w->last[lane] : 0;
	while (at && s->t1[at] < t)
		at = s->parent[at].i;
	return at;
}

/* Instantiating a graph may report its nodes as created there, before they are clones. A clone of an
 * unknown node, made before the recording, stays unknown. */
static bool add_origin(struct work *w, const struct tide_graph_node *k)
{
	int64_t t = tide__real_to_t(w->m, k->t);
	uint32_t old = k->original ? tide__map_get(&w->latest, k->original) : 0;
	uint32_t here = span_at(w, k->tid, t);
	bool known = tide__map_get(&w->latest, k->node);
	if (k->how < TIDE_NODE_CREATED || k->how > TIDE_NODE_UPDATED ||
	    (k->how == TIDE_NODE_CREATED && known) || (k->how == TIDE_NODE_UPDATED && !old))
		return true;
	w->v[w->n] = (origin){ .node = k->node,
			       .t = t,
			       .span = k->how == TIDE_NODE_CREATED ? here
				       : old			   ? w->v[old - 1].span
								   : 0,
			       .order = (uint32_t)w->n };
	w->n++;
	return tide__map_put(&w->latest, k->node, (uint32_t)w->n);
}

/* Returns the span of a node's last origin up to t, 0 if there is none. */
static uint32_t find_origin(const struct work *w, uint64_t node, int64_t t)
{
	size_t lo = 0, hi = w->n;
	while (lo < hi) { /* the first one of a later node or time */
		size_t mid = lo + (hi - lo) / 2;
		if (w->v[mid].node < node || (w->v[mid].node == node && w->v[mid].t <= t))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && w->v[lo - 1].node == node ? w->v[lo - 1].span : 0;
}

/* The launch is before the row; an update in between is for the next launch. */
static void put_row(struct work *w, uint32_t row, uint64_t node, uint64_t *unknown)
{
	const tide_spans *s = &w->m->spans;
	uint32_t launch = s->cause[row].i;
	uint32_t span = find_origin(w, node, launch ? s->t0[launch] : s->t0[row]);
	w->m->span_captured[row] = span;
	*unknown += !span;
}

static bool put_rows(struct work *w)
{
	tide_model *m = w->m;
	tide_str key = tide__intern(m, "graph node id");
	uint64_t unknown = 0;
	m->span_captured = tide__calloc(m->spans.n, sizeof *m->span_captured);
	if (!m->span_captured || !key.i)
		return false;
	for (size_t i = 0; i < m->attrs.n; i++)
		if (m->attrs.key[i].i == key.i &&
		    tide__cat_is_gpu(m->spans.cat[m->attrs.span[i].i]))
			put_row(w, m->attrs.span[i].i, (uint64_t)m->attrs.number[i], &unknown);
	return !unknown || tide__fact_add(m, "loss.graph_rows_unmatched", (int64_t)unknown);
}

bool tide__graph_nodes_put(tide_model *m, struct tide_graph_node *v, size_t n)
{
	struct work w = { .m = m, .next = 1 };
	if (!n)
		return true;
	qsort(v, n, sizeof *v, by_time);
	w.v = tide__alloc(n, sizeof *w.v);
	w.last = tide__calloc(m->lanes.n, sizeof *w.last);
	bool ok = w.v && w.last && find_threads(&w);
	for (size_t i = 0; ok && i < n; i++)
		ok = add_origin(&w, &v[i]);
	if (ok && w.n)
		qsort(w.v, w.n, sizeof *w.v, by_node);
	ok = ok && put_rows(&w);
	tide__map_free(&w.latest);
	tide__map_free(&w.threads);
	tide__free(w.v);
	tide__free(w.last);
	return ok;
}
