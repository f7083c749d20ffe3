// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/device/captured.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/common/innermost_op.h"
#include "analyze/common/span_args.h"
#include "analyze/device/gpu_rows.h"
#include "analyze/device/op_category.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"

/* Names of nodes and rows, as texts of the replay trace. */
enum { NO_NAME = 0, A_COPY = UINT32_MAX, A_FILL = UINT32_MAX - 1, OTHER_NAME = UINT32_MAX - 2 };

typedef struct node {
	uint32_t span, name;
	uint8_t category; /* of the op around it */
} node;

typedef struct graph {
	size_t first, n; /* nodes */
	bool named;	 /* every kernel node has a name */
} graph;

typedef struct row {
	uint32_t launch, span;
} row;

struct work {
	const tide_model *replay, *capture;
	tide_captured *out;
	node *nodes;
	graph *graphs;
	row *rows;
	size_t n_nodes, cap_nodes, n_graphs, cap_graphs, n_rows, cap_rows;
	size_t next; /* the graph to try first: graphs of equal nodes alternate */
};

/* ---- the capture ---- */

static bool is_call(const tide_model *m, uint32_t i)
{
	return m->spans.cat[i] == TIDE_CAT_RUNTIME || m->spans.cat[i] == TIDE_CAT_DRIVER;
}

/* Returns what the node of a call is: OTHER_NAME for a kernel, NO_NAME if it makes none. */
static uint32_t node_kind(const char *name)
{
	if (strstr(name, "Launch") && strstr(name, "Kernel"))
		return OTHER_NAME;
	if (strstr(name, "Memset"))
		return A_FILL;
	return strstr(name, "Memcpy") ? A_COPY : NO_NAME;
}

/* Returns the kernel's name as a text of the replay trace. */
static uint32_t kernel_name(const struct work *w, uint32_t span, tide_str key)
{
	tide_str s = tide__attr_text(w->capture, span, key);
	size_t n;
	if (!s.i)
		return NO_NAME;
	const char *text = tide__text(w->capture, s, &n);
	uint32_t id = tide__strings_find(w->replay->strings, text, n);
	return id ? id : OTHER_NAME;
}

static bool add_node(struct work *w, uint32_t span, uint32_t name, uint8_t category)
{
	graph *g = &w->graphs[w->n_graphs - 1];
	if (!TIDE_ROOM(w->nodes, w->cap_nodes, w->n_nodes + 1))
		return false;
	w->nodes[w->n_nodes++] = (node){ span, name, category };
	g->named &= name != NO_NAME;
	g->n++;
	return true;
}

static bool begin_graph(struct work *w)
{
	if (w->n_graphs && !w->graphs[w->n_graphs - 1].n)
		return true;
	if (!TIDE_ROOM(w->graphs, w->cap_graphs, w->n_graphs + 1))
		return false;
	w->graphs[w->n_graphs++] = (graph){ .first = w->n_nodes, .named = true };
	return true;
}

/* A call with device rows ran at once: it made no node. A call inside another one made that one's
 * node. Traces that show where captures begin have nodes between begin and end only. */
static bool find_nodes(struct work *w, const uint8_t *ran, const uint8_t *category)
{
	const tide_model *m = w->capture;
	tide_str key = tide__attr_key(m, "kernel");
	bool shown = false, open = true;
	for (uint32_t i = 1; !shown && i < m->spans.n; i++)
		shown = is_call(m, i) &&
			strstr(tide__text(m, m->spans.name[i], NULL), "StreamBeginCapture");
	open = !shown;
	if (!begin_graph(w))
		return false;
	for (uint32_t i = 1; i < m->spans.n; i++) {
		const char *name = is_call(m, i) ? tide__text(m, m->spans.name[i], NULL) : "";
		uint32_t kind = node_kind(name), up = m->spans.parent[i].i;
		if (strstr(name, "StreamBeginCapture")) {
			open = true;
			if (!begin_graph(w))
				return false;
		} else if (shown && strstr(name, "StreamEndCapture")) {
			open = false;
		}
		if (!open || kind == NO_NAME || ran[i] || (up && is_call(m, up)))
			continue;
		if (kind == OTHER_NAME)
			kind = kernel_name(w, i, key);
		if (!add_node(w, i, kind, category[i]))
			return false;
	}
	return true;
}

static bool read_capture(struct work *w)
{
	const tide_model *m = w->capture;
	uint8_t *ran = tide__calloc(m->spans.n, 1), *category = NULL;
	uint32_t *op_of = tide__innermost_ops_find(m);
	if (op_of)
		category = tide__op_categories_find(m, op_of);
	bool ok = ran && category;
	for (uint32_t i = 1; ok && i < m->spans.n; i++)
		if (tide__cat_is_gpu(m->spans.cat[i]))
			ran[m->spans.cause[i].i] = 1;
	ok = ok && find_nodes(w, ran, category);
	for (size_t g = 0; ok && g < w->n_graphs; g++) {
		w->out->graphs += w->graphs[g].n > 0;
		w->out->by_name |= w->graphs[g].n && w->graphs[g].named;
	}
	tide__free(ran);
	tide__free(category);
	tide__free(op_of);
	return ok;
}

/* ---- the replays ---- */

static int by_launch(const void *a, const void *b)
{
	const row *x = a, *y = b;
	if (x->launch != y->launch)
		return x->launch < y->launch ? -1 : 1;
	return x->span < y->span ? -1 : x->span > y->span;
}

static bool read_replays(struct work *w, const uint32_t *known)
{
	const tide_spans *s = &w->replay->spans;
	for (uint32_t i = 1; i < s->n; i++) {
		uint32_t launch = s->cause[i].i;
		if (!tide__cat_is_gpu(s->cat[i]) || !launch || (known && known[i]) ||
		    !strstr(tide__text(w->replay, s->name[launch], NULL), "GraphLaunch"))
			continue;
		if (!TIDE_ROOM(w->rows, w->cap_rows, w->n_rows + 1))
			return false;
		w->rows[w->n_rows++] = (row){ launch, i };
	}
	if (w->n_rows)
		qsort(w->rows, w->n_rows, sizeof *w->rows, by_launch);
	return true;
}

static uint32_t row_name(const struct work *w, uint32_t span)
{
	const tide_spans *s = &w->replay->spans;
	const char *name = tide__text(w->replay, s->name[span], NULL);
	if (s->cat[span] == TIDE_CAT_MEMSET || strstr(name, "rocclr_fill"))
		return A_FILL;
	if (s->cat[span] == TIDE_CAT_MEMCPY || tide__copy_name(name))
		return A_COPY;
	return s->name[span].i;
}

/* ---- one replay, one graph ---- */

/* Matches the k-th row of each name with its k-th node: streams of a replay run beside each other,
 * so rows of different names change places. Returns the number of rows that have a node, and
 * writes their spans if `commit`. */
static size_t match_names(struct work *w, const row *rows, size_t n, const graph *g, bool commit,
			  bool *ok)
{
	tide_map last = { 0 }, first = { 0 }; /* name -> node + 1 */
	uint32_t *next = tide__calloc(g->n, sizeof *next);
	size_t found = 0;
	*ok = next != NULL;
	for (size_t i = 0; *ok && i < g->n; i++) {
		uint32_t name = w->nodes[g->first + i].name, at = tide__map_get(&last, name);
		if (at)
			next[at - 1] = (uint32_t)i + 1;
		else
			*ok = tide__map_put(&first, name, (uint32_t)i + 1);
		*ok = *ok && tide__map_put(&last, name, (uint32_t)i + 1);
	}
	for (size_t i = 0; *ok && i < n; i++) {
		uint32_t name = row_name(w, rows[i].span), at = tide__map_get(&first, name);
		if (!at)
			continue;
		found++;
		if (commit)
			w->out->launch[rows[i].span] = w->nodes[g->first + at - 1].span;
		if (next[at - 1])
			*ok = tide__map_put(&first, name, next[at - 1]);
		else
			tide__map_del(&first, name);
	}
	tide__map_free(&last);
	tide__map_free(&first);
	tide__free(next);
	return found;
}

/* An op and a kernel contradict each other if both have one of these kinds and they differ. A
 * matrix product may be part of attention or a convolution. */
static bool contradicts(unsigned op, unsigned kernel)
{
	const unsigned strong = 1u << TIDE_OPS_OF_GEMM | 1u << TIDE_OPS_OF_ATTENTION |
				1u << TIDE_OPS_OF_NORM | 1u << TIDE_OPS_OF_CONVOLUTION;
	if (op == kernel || !(strong >> op & 1) || !(strong >> kernel & 1))
		return false;
	return !(kernel == TIDE_OPS_OF_GEMM &&
		 (op == TIDE_OPS_OF_ATTENTION || op == TIDE_OPS_OF_CONVOLUTION));
}

static bool match_order(struct work *w, const row *rows, size_t n, const graph *g)
{
	if (n != g->n)
		return false;
	for (size_t i = 0; i < n; i++) {
		const node *x = &w->nodes[g->first + i];
		uint32_t name = row_name(w, rows[i].span);
		bool copy = name == A_COPY || name == A_FILL;
		/* a copy or fill of the runtime may be a kernel */
		if ((x->name == A_COPY || x->name == A_FILL) && x->name != name)
			return false;
		if (!copy && contradicts(x->category,
					 tide__op_category_of_kernel(
						 tide__text(w->replay, (tide_str){ name }, NULL))))
			return false;
	}
	for (size_t i = 0; i < n; i++)
		w->out->launch[rows[i].span] = w->nodes[g->first + i].span;
	return true;
}

/* Takes the graph that explains most rows, at least half of them. */
static bool match_replay(struct work *w, const row *rows, size_t n)
{
	size_t best = 0, most = 0;
	int64_t score =
		INT64_MIN; /* two for a row with a node, less one for a node without a row */
	bool ok = true, whole = false;
	for (size_t k = 0; ok && k < w->n_graphs && !whole; k++) {
		size_t at = (w->next + k) % w->n_graphs, found;
		const graph *g = &w->graphs[at];
		if (!g->n)
			continue;
		if (g->named) {
			found = match_names(w, rows, n, g, false, &ok);
		} else if (match_order(w, rows, n, g)) {
			w->out->matched += n;
			w->next = at + 1;
			return true;
		} else {
			continue;
		}
		int64_t this = 3 * (int64_t)found - (int64_t)g->n;
		if (this > score) {
			score = this;
			most = found;
			best = at;
		}
		whole = found == n && g->n == n;
	}
	if (ok && most && most * 2 >= n) {
		w->out->matched += match_names(w, rows, n, &w->graphs[best], true, &ok);
		w->next = best + 1;
	}
	return ok;
}

static bool match_all(struct work *w)
{
	bool ok = true;
	for (size_t i = 0, end; ok && i < w->n_rows; i = end) {
		for (end = i; end < w->n_rows && w->rows[end].launch == w->rows[i].launch; end++) {
		}
		w->out->replays++;
		ok = match_replay(w, &w->rows[i], end - i);
	}
	w->out->rows = w->n_rows;
	return ok;
}

tide_code tide__find_captured(const tide_model *replay, const tide_model *capture,
			      const uint32_t *known, tide_captured *out, tide_error *err)
{
	struct work w = { .replay = replay, .capture = capture, .out = out };
	*out = (tide_captured){ 0 };
	out->launch = tide__calloc(replay->spans.n, sizeof *out->launch);
	bool ok = out->launch && read_capture(&w) && read_replays(&w, known) && match_all(&w);
	tide__free(w.nodes);
	tide__free(w.graphs);
	tide__free(w.rows);
	return ok ? TIDE_OK : tide__nomem(err);
}

void tide__captured_free(tide_captured *c)
{
	tide__free(c->launch);
	*c = (tide_captured){ 0 };
}
