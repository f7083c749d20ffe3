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
	TIDE_VEC(origin, v);
	size_t most;	  /* origins at most: updates repeat nodes */
	tide_map latest;  /* node -> its last origin + 1 */
	tide_map count;	  /* graph -> its nodes */
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

static uint32_t graph_of(uint64_t node)
{
	return (uint32_t)(node >> 32);
}

static bool push_origin(struct work *w, uint64_t node, int64_t t, uint32_t span)
{
	uint32_t graph = graph_of(node);
	if (w->n_v >= w->most)
		return true;
	origin *o = TIDE_PUSH(w, v);
	if (!o || (!tide__map_get(&w->latest, node) &&
		   !tide__map_put(&w->count, graph, tide__map_get(&w->count, graph) + 1)))
		return false;
	*o = (origin){ .node = node, .t = t, .span = span, .order = (uint32_t)(w->n_v - 1) };
	return tide__map_put(&w->latest, node, (uint32_t)w->n_v);
}

/* Returns the span of a node's last origin, 0 if it has none. */
static uint32_t latest_span(const struct work *w, uint64_t node)
{
	uint32_t at = tide__map_get(&w->latest, node);
	return at ? w->v[at - 1].span : 0;
}

/* An executable graph does what another graph does from now on: node by node, if both have as many in
 * the same places. */
static bool update_all(struct work *w, const struct tide_graph_node *k, int64_t t)
{
	uint64_t exec = k->node >> 32 << 32, by = k->original >> 32 << 32;
	uint32_t n = tide__map_get(&w->count, graph_of(exec));
	bool ok = n && n == tide__map_get(&w->count, graph_of(by)) && w->most - w->n_v >= n;
	for (uint32_t i = 0; ok && i < n; i++)
		ok = tide__map_get(&w->latest, exec | i) && tide__map_get(&w->latest, by | i);
	for (uint32_t i = 0; ok && i < n; i++)
		if (!push_origin(w, exec | i, t, latest_span(w, by | i)))
			return false;
	return true;
}

/* Instantiating a graph may report its nodes as created there, before they are clones. A clone of an
 * unknown node, made before the recording, stays unknown. */
static bool add_origin(struct work *w, const struct tide_graph_node *k)
{
	int64_t t = tide__real_to_t(w->m, k->t);
	uint32_t here = span_at(w, k->tid, t);
	bool known = tide__map_get(&w->latest, k->node),
	     old = k->original && tide__map_get(&w->latest, k->original);
	if (k->how == TIDE_NODE_ALL_UPDATED)
		return update_all(w, k, t);
	if (k->how == TIDE_NODE_CREATED)
		return known || push_origin(w, k->node, t, here);
	if (k->how == TIDE_NODE_CLONED || (k->how == TIDE_NODE_UPDATED && old))
		return push_origin(w, k->node, t, old ? latest_span(w, k->original) : 0);
	return true;
}

/* Returns the span of a node's last origin up to t, 0 if there is none. */
static uint32_t find_origin(const struct work *w, uint64_t node, int64_t t)
{
	size_t lo = 0, hi = w->n_v;
	while (lo < hi) { /* the first one of a later node or time */
		size_t mid = lo + (hi - lo) / 2;
		if (w->v[mid].node < node || (w->v[mid].node == node && w->v[mid].t <= t))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && w->v[lo - 1].node == node ? w->v[lo - 1].span : 0;
}

/* ---- child graphs and conditional bodies in an executable graph ---- */

enum { MOST_NESTED = 256, CHILD_GRAPH = 4, CONDITIONAL = 13 };

struct nested {
	tide_map rows;		    /* graphs that rows name */
	tide_map lost_of;	    /* nodes that rows name, without an origin */
	TIDE_VEC(uint64_t, lost);   /* the same */
	TIDE_VEC(uint64_t, clones); /* nodes cloned for one executable graph */
	TIDE_VEC(uint64_t, places); /* where they are in it */
};

static bool is_row(const tide_model *m, size_t i, tide_str key)
{
	return m->attrs.key[i].i == key.i && tide__cat_is_gpu(m->spans.cat[m->attrs.span[i].i]);
}

static bool find_lost(const struct work *w, tide_str key, struct nested *x)
{
	const tide_attrs *a = &w->m->attrs;
	bool ok = true;
	for (size_t i = 0; ok && i < a->n; i++) {
		uint64_t node = (uint64_t)a->number[i];
		if (!is_row(w->m, i, key))
			continue;
		ok = tide__map_put(&x->rows, graph_of(node), 1);
		if (!ok || tide__map_get(&w->latest, node) || tide__map_get(&x->lost_of, node))
			continue;
		uint64_t *to = TIDE_PUSH(x, lost);
		ok = to && tide__map_put(&x->lost_of, node, 1);
		if (ok)
			*to = node;
	}
	return ok;
}

/* Returns true for a record of a graph that is part of another one's instantiation. */
static bool is_nested(const struct nested *x, const struct tide_graph_node *v, size_t n, size_t k)
{
	bool clone = v[k].how == TIDE_NODE_CLONED ||
		     (v[k].how == TIDE_NODE_CREATED && k + 1 < n && v[k + 1].node == v[k].node &&
		      v[k + 1].how == TIDE_NODE_CLONED);
	return clone && !tide__map_get(&x->rows, graph_of(v[k].node));
}

/* Collects the nodes that were cloned just before and between those of an executable graph. False:
 * memory ran out. None are collected if their order is not certain: nested graphs in nested graphs. */
static bool collect_clones(struct nested *x, const struct tide_graph_node *v, size_t n,
			   uint32_t graph, size_t *last)
{
	size_t first = 0, k;
	while (first < n && graph_of(v[first].node) != graph)
		first++;
	for (*last = k = first; k < n; k++)
		if (graph_of(v[k].node) == graph && v[k].how != TIDE_NODE_ALL_UPDATED)
			*last = k;
	x->n_clones = 0;
	for (k = first; k && k < n && v[k - 1].tid == v[first].tid && is_nested(x, v, n, k - 1);)
		k--;
	for (; k < n && k <= *last; k++) {
		if (v[k].how != TIDE_NODE_CLONED || v[k].tid != v[first].tid ||
		    graph_of(v[k].node) == graph || !is_nested(x, v, n, k))
			continue;
		uint64_t *to = TIDE_PUSH(x, clones);
		if (!to)
			return false;
		*to = v[k].node;
		if (v[k].type == CHILD_GRAPH || v[k].type == CONDITIONAL) {
			x->n_clones = 0;
			return true;
		}
	}
	return true;
}

/* Finds the places of an executable graph that no callback named, as many as there are clones. */
static bool find_places(const struct work *w, struct nested *x, uint32_t graph)
{
	uint64_t node = (uint64_t)graph << 32;
	x->n_places = 0;
	for (; x->n_places < x->n_clones; node++) {
		if (tide__map_get(&w->latest, node))
			continue;
		uint64_t *to = TIDE_PUSH(x, places);
		if (!to)
			return false;
		*to = node;
	}
	return true;
}

/* Returns true if all lost nodes of the graph are among the places. */
static bool explains(const struct nested *x, uint32_t graph)
{
	uint64_t last = x->n_places ? x->places[x->n_places - 1] : 0;
	bool all = x->n_places;
	for (size_t i = 0; i < x->n_lost; i++)
		all &= graph_of(x->lost[i]) != graph || x->lost[i] <= last;
	return all;
}

static bool place_nested(struct work *w, struct nested *x, const struct tide_graph_node *v,
			 size_t n, uint32_t graph)
{
	size_t last;
	if (!tide__map_get(&w->count, graph))
		return true;
	if (!collect_clones(x, v, n, graph, &last) || !find_places(w, x, graph))
		return false;
	bool all = explains(x, graph);
	for (size_t i = 0; all && i < x->n_places; i++)
		if (!push_origin(w, x->places[i], tide__real_to_t(w->m, v[last].t),
				 latest_span(w, x->clones[i])))
			return false;
	return true;
}

static bool place_all_nested(struct work *w, tide_str key, const struct tide_graph_node *v,
			     size_t n)
{
	struct nested x = { .n_lost = 0 };
	tide_map done = { 0 };
	bool ok = find_lost(w, key, &x);
	for (size_t i = 0; ok && i < x.n_lost && done.n < MOST_NESTED; i++) {
		uint32_t graph = graph_of(x.lost[i]);
		if (tide__map_get(&done, graph))
			continue;
		ok = tide__map_put(&done, graph, 1) && place_nested(w, &x, v, n, graph);
	}
	tide__map_free(&done);
	tide__map_free(&x.rows);
	tide__map_free(&x.lost_of);
	tide__free(x.lost);
	tide__free(x.clones);
	tide__free(x.places);
	return ok;
}

/* ---- rows ---- */

/* The launch is before the row; an update in between is for the next launch. */
static void put_row(struct work *w, uint32_t row, uint64_t node, uint64_t *unknown)
{
	const tide_spans *s = &w->m->spans;
	uint32_t launch = s->cause[row].i;
	uint32_t span = find_origin(w, node, launch ? s->t0[launch] : s->t0[row]);
	w->m->span_captured[row] = span;
	*unknown += !span;
}

static bool put_rows(struct work *w, tide_str key)
{
	tide_model *m = w->m;
	uint64_t unknown = 0;
	m->span_captured = tide__calloc(m->spans.n, sizeof *m->span_captured);
	if (!m->span_captured)
		return false;
	for (size_t i = 0; i < m->attrs.n; i++)
		if (is_row(m, i, key))
			put_row(w, m->attrs.span[i].i, (uint64_t)m->attrs.number[i], &unknown);
	return !unknown || tide__fact_add(m, "loss.graph_rows_unmatched", (int64_t)unknown);
}

bool tide__graph_nodes_put(tide_model *m, struct tide_graph_node *v, size_t n)
{
	struct work w = { .m = m, .next = 1, .most = 4 * n + (1 << 20) };
	tide_str key = tide__intern(m, "graph node id");
	if (!n)
		return true;
	qsort(v, n, sizeof *v, by_time);
	w.last = tide__calloc(m->lanes.n, sizeof *w.last);
	bool ok = key.i && w.last && find_threads(&w);
	for (size_t i = 0; ok && i < n; i++)
		ok = add_origin(&w, &v[i]);
	ok = ok && place_all_nested(&w, key, v, n);
	if (ok && w.n_v)
		qsort(w.v, w.n_v, sizeof *w.v, by_node);
	ok = ok && put_rows(&w, key);
	tide__map_free(&w.latest);
	tide__map_free(&w.count);
	tide__map_free(&w.threads);
	tide__free(w.v);
	tide__free(w.last);
	return ok;
}
