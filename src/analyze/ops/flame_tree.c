// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The tree itself: nodes, totals, order, folding, joining. Rows of parents are smaller than
 * those of their children, so a forward walk sees parents first and a backward walk sees
 * children first; nothing recurses. */
#include "analyze/ops/flame.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/wide.h"

#define C(type, name, doc) \
	{ #name, doc, (uint16_t)offsetof(tide_nodes, name), sizeof(type), TIDE__COL_TYPE(type) },
static const tide_column columns[] = { TIDE_NODE_COLUMNS(C) };
#undef C
static const tide_table_desc nodes_desc = { "nodes", "nodes of a flame graph", columns,
					    sizeof columns / sizeof *columns };

tide_flame *tide__flame_new(const char *root_name)
{
	tide_flame *f = tide__calloc(1, sizeof *f);
	size_t root;
	if (!f)
		return NULL;
	f->strings = tide__strings_new();
	if (!f->strings || !tide__table_push(&f->nodes, &nodes_desc, &root))
		goto fail;
	f->nodes.name[root] = tide__flame_text(f, root_name, strlen(root_name));
	if (!f->nodes.name[root])
		goto fail;
	return f;
fail:
	tide__flame_free(f);
	return NULL;
}

void tide__flame_free(tide_flame *f)
{
	if (!f)
		return;
	tide__table_free(&f->nodes, &nodes_desc);
	tide__strings_free(f->strings);
	tide__map_free(&f->edges);
	tide__flame_order_free(&f->order);
	tide__free(f);
}

uint32_t tide__flame_text(tide_flame *f, const char *s, size_t n)
{
	return n ? tide__strings_add(f->strings, s, n)
		 : tide__strings_add(f->strings, "(unnamed)", 9);
}

const char *tide__flame_name(const tide_flame *f, uint32_t node, size_t *n)
{
	return tide__strings_get(f->strings, f->nodes.name[node], n);
}

uint32_t tide__flame_get_child(tide_flame *f, uint32_t parent, uint32_t name, unsigned type)
{
	uint64_t edge = (uint64_t)parent << 32 | name;
	uint32_t node = tide__map_get(&f->edges, edge);
	if (node || !name)
		return node;
	node = tide__push(&f->nodes, &nodes_desc);
	if (!node || !tide__map_put(&f->edges, edge, node))
		return 0;
	f->nodes.name[node] = name;
	f->nodes.parent[node] = parent;
	f->nodes.depth[node] = f->nodes.depth[parent] + 1;
	f->nodes.shallow[node] =
		f->nodes.depth[node] <= TIDE_ORDER_DEEP ? node : f->nodes.shallow[parent];
	f->nodes.type[node] = (uint8_t)type;
	return node;
}

/* ---- totals and order ---- */

typedef struct rank {
	uint64_t total;
	uint32_t node;
} rank;

static int by_total(const void *a, const void *b)
{
	const rank *x = a, *y = b;
	if (x->total != y->total)
		return x->total < y->total ? -1 : 1;
	return x->node < y->node ? 1 : -1; /* equal: the one seen first comes first */
}

/* Prepends nodes to their parent's list, smallest first: lists end up largest first. */
static bool order(tide_flame *f)
{
	tide_nodes *t = &f->nodes;
	rank *r = tide__alloc(t->n, sizeof *r);
	if (!r)
		return false;
	for (uint32_t i = 0; i < t->n; i++)
		r[i] = (rank){ t->total[i], i };
	qsort(r, t->n, sizeof *r, by_total);
	memset(t->child, 0, t->n * sizeof *t->child);
	for (size_t i = 0; i < t->n; i++) {
		uint32_t node = r[i].node;
		if (!node)
			continue;
		t->next[node] = t->child[t->parent[node]];
		t->child[t->parent[node]] = node;
	}
	tide__free(r);
	return true;
}

bool tide__flame_finish(tide_flame *f)
{
	tide_nodes *t = &f->nodes;
	memcpy(t->total, t->self, t->n * sizeof *t->total);
	for (size_t i = t->n - 1; i > 0; i--)
		t->total[t->parent[i]] += t->total[i];
	return order(f);
}

/* ---- folding and joining ---- */

static void add_weights(tide_flame *into, uint32_t node, const tide_flame *from, uint32_t other)
{
	into->nodes.self[node] += from->nodes.self[other];
	into->nodes.count[node] += from->nodes.count[other];
	into->nodes.peak_bytes[node] += from->nodes.peak_bytes[other];
	into->nodes.peak_count[node] += from->nodes.peak_count[other];
}

uint32_t *tide__flame_names_new(const tide_flame *from)
{
	return tide__calloc((size_t)tide__strings_count(from->strings) + 1, sizeof(uint32_t));
}

uint32_t tide__flame_copy(tide_flame *into, const tide_flame *from, uint32_t node, uint32_t *names)
{
	uint32_t *id = &names[from->nodes.name[node]];
	size_t n;
	const char *s = tide__flame_name(from, node, &n);
	if (!*id)
		*id = tide__flame_text(into, s, n);
	return *id;
}

static uint32_t copy_child(tide_flame *into, uint32_t parent, const tide_flame *from, uint32_t node,
			   uint32_t *names)
{
	uint32_t to = tide__flame_get_child(into, parent, tide__flame_copy(into, from, node, names),
					    from->nodes.type[node]);
	if (to)
		into->nodes.frame[to] = from->nodes.frame[node];
	return to;
}

static bool is_small(const tide_flame *f, const tide_flame_options *opt, uint32_t node)
{
	uint64_t total = f->nodes.total[node];
	if (total < opt->min_value)
		return true;
	return f->nodes.type[node] == TIDE_NODE_KERNEL &&
	       (tide_u128)total * 1000000 < (tide_u128)f->nodes.total[0] * opt->small_ppm;
}

static uint32_t note(tide_flame *f, uint32_t parent, bool kernel)
{
	const char *text = kernel ? "[small kernels]" : "[small]";
	return tide__flame_get_child(f, parent, tide__flame_text(f, text, strlen(text)),
				     TIDE_NODE_NOTE);
}

/* Returns the node of the copy that gets the weight of `node`; `to` has the result for all smaller
 * rows. A node below a folded one goes to the same place: see `sink`. */
static uint32_t fold_one(const tide_flame *f, const tide_flame_options *opt, tide_flame *into,
			 uint32_t node, const uint32_t *to, uint8_t *sink, uint32_t *names)
{
	uint32_t parent = f->nodes.parent[node];
	bool deep = opt->max_depth && f->nodes.depth[node] > opt->max_depth;
	bool kernel = f->nodes.type[node] == TIDE_NODE_KERNEL;
	if (sink[parent] || deep) {
		sink[node] = 1;
		into->cut += deep && !sink[parent];
		return to[parent];
	}
	if (!is_small(f, opt, node))
		return copy_child(into, to[parent], f, node, names);
	sink[node] = 1;
	into->folded++;
	return note(into, to[parent], kernel);
}

static bool fold_all(const tide_flame *f, const tide_flame_options *opt, tide_flame *into)
{
	uint32_t *to = tide__calloc(f->nodes.n, sizeof *to);
	uint8_t *sink = tide__calloc(f->nodes.n, 1);
	uint32_t *names = tide__flame_names_new(f);
	bool ok = to && sink && names;
	for (uint32_t i = 0; ok && i < f->nodes.n; i++) {
		if (i)
			to[i] = fold_one(f, opt, into, i, to, sink, names);
		ok = !i || to[i];
		if (ok)
			add_weights(into, to[i], f, i);
	}
	tide__free(to);
	tide__free(sink);
	tide__free(names);
	return ok;
}

tide_flame *tide__flame_fold(const tide_flame *f, const tide_flame_options *opt)
{
	size_t n;
	tide_flame *into = tide__flame_new(tide__flame_name(f, 0, &n));
	if (!into)
		return NULL;
	into->kind = f->kind;
	into->bytes = f->bytes;
	into->device = f->device;
	into->peak_ns = f->peak_ns;
	if (!fold_all(f, opt, into) || !tide__flame_finish(into)) {
		tide__flame_free(into);
		return NULL;
	}
	return into;
}

bool tide__flame_join(tide_flame *into, const tide_flame *from, const char *name)
{
	uint32_t *to = tide__calloc(from->nodes.n, sizeof *to),
		 *names = tide__flame_names_new(from);
	bool ok = to && names;
	for (uint32_t i = 0; ok && i < from->nodes.n; i++) {
		to[i] = i ? copy_child(into, to[from->nodes.parent[i]], from, i, names)
			  : tide__flame_get_child(into, 0,
						  tide__flame_text(into, name, strlen(name)),
						  TIDE_NODE_LANE);
		ok = to[i] != 0;
		if (ok)
			add_weights(into, to[i], from, i);
		if (ok && from->nodes.frame[i].i) /* frames belong to the other model */
			into->nodes.frame[to[i]] = (tide_frame_id){ 0 };
	}
	tide__free(to);
	tide__free(names);
	into->kind = from->kind;
	into->bytes = from->bytes;
	into->cut += from->cut;
	into->folded += from->folded;
	return ok;
}
