// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A flame graph's weights in order of time.
 *
 * Each lane remembers the row it is in at every level. Weight for a node goes to the node's row if
 * the lane is already in it, else to new rows from the lowest common level down. So neighbours of
 * the same name share a row and a row's parent is always smaller. */
#include "analyze/ops/flame.h"

#include <string.h>

#include "base/mem.h"

static bool grow(tide_flame_order *o)
{
	size_t a = o->cap, b = a, c = a; /* capacity shared by all 4 columns */
	return TIDE_ROOM(o->node, a, o->n + 1) && TIDE_ROOM(o->parent, b, o->n + 1) &&
	       TIDE_ROOM(o->self, c, o->n + 1) && TIDE_ROOM(o->count, o->cap, o->n + 1);
}

static bool push(tide_flame_order *o, uint32_t node, uint32_t parent)
{
	if (o->n == o->cap && (o->n >= UINT32_MAX - 1 || !grow(o)))
		return false;
	o->node[o->n] = node;
	o->parent[o->n] = parent;
	o->self[o->n] = o->count[o->n] = 0;
	o->n++;
	return true;
}

void tide__flame_order_free(tide_flame_order *o)
{
	tide__free(o->node);
	tide__free(o->parent);
	tide__free(o->self);
	tide__free(o->count);
	*o = (tide_flame_order){ 0 };
}

static bool deep_enough(tide_order_path *p, size_t depth)
{
	return TIDE_ROOM(p->levels, p->cap, depth);
}

/* ---- folding on the way: large traces never hold all their rows ---- */

/* A row that its lane has left is complete. If it is at the end of the table and smaller than a
 * part of all weights so far, it cannot become large enough: it is merged into a "[small]" row. */
static bool leave(tide_flame_order *o, const tide_order_path *p, uint32_t row)
{
	uint64_t self = 0, count = 0, least = o->total / TIDE_ORDER_PARTS;
	if (o->lane != p || row < o->run)
		return true; /* rows of another lane are behind it */
	for (size_t i = row; i < o->n && self < least; i++) {
		self += o->self[i];
		count += o->count[i];
	}
	if (self >= least)
		return true;
	uint32_t parent = o->parent[row], before = row - 1;
	o->n = row;
	o->folded++;
	if (before < o->run || o->node[before] != TIDE_ORDER_SMALL || o->parent[before] != parent) {
		before = row;
		if (!push(o, TIDE_ORDER_SMALL, parent))
			return false;
	}
	o->self[before] += self;
	o->count[before] += count;
	return true;
}

/* Counts the levels that the path to `node` shares with the lane's current path. */
static size_t shared_levels(const tide_flame *f, const tide_order_path *p, uint32_t node,
			    size_t depth)
{
	for (; depth && (depth > p->n || p->levels[depth - 1].node != node); depth--)
		node = f->nodes.parent[node];
	return depth;
}

/* Adds rows for the levels below `level`. */
static bool enter(tide_flame *f, tide_order_path *p, uint32_t node, size_t level, size_t depth)
{
	tide_flame_order *o = &f->order;
	for (size_t k = depth; k > level; k--, node = f->nodes.parent[node])
		p->levels[k - 1].node = node; /* bottom up; then rows, top down */
	for (p->n = level; p->n < depth; p->n++) {
		uint32_t row = (uint32_t)o->n;
		if (!push(o, p->levels[p->n].node, p->n ? p->levels[p->n - 1].row : 0))
			return false;
		p->levels[p->n].row = row;
	}
	return true;
}

/* Returns the row of `node` on its lane, created if needed; UINT32_MAX if memory ran out. */
static uint32_t descend(tide_flame *f, tide_order_path *p, uint32_t node, size_t depth)
{
	tide_flame_order *o = &f->order;
	size_t level = shared_levels(f, p, node, depth);
	if (level == depth)
		return depth ? p->levels[depth - 1].row : 0;
	for (; p->n > level; p->n--)
		if (o->n > TIDE_ORDER_WHOLE && !leave(o, p, p->levels[p->n - 1].row))
			return UINT32_MAX;
	if (o->n >= TIDE_ORDER_ROWS) {
		o->cut++;
		return level ? p->levels[level - 1].row : 0;
	}
	if (o->lane != p) {
		o->lane = p;
		o->run = (uint32_t)o->n;
	}
	return enter(f, p, node, level, depth) ? p->levels[depth - 1].row : UINT32_MAX;
}

bool tide__flame_order_add(tide_flame *f, tide_order_path *p, uint32_t node, uint64_t self,
			   uint64_t count)
{
	tide_flame_order *o = &f->order;
	uint32_t shallow = f->nodes.shallow[node];
	size_t depth = f->nodes.depth[shallow];
	if (!o->n && !push(o, 0, 0))
		return false;
	o->cut += shallow != node;
	uint32_t row = deep_enough(p, depth) ? descend(f, p, shallow, depth) : UINT32_MAX;
	if (row == UINT32_MAX)
		return false;
	o->self[row] += self;
	o->count[row] += count;
	o->total += self;
	return true;
}

/* ---- folding ---- */

typedef struct folder {
	const tide_flame_order *o;
	uint64_t *total; /* per row */
	uint32_t *to;	 /* per row: row of the copy */
	uint8_t *sink;	 /* per row: everything below is folded into the same row */
	uint32_t *last;	 /* per row of the copy: its last child, 0 = none */
	uint32_t *depth; /* per row: levels below the root */
	uint64_t min;
	uint32_t deep; /* levels that stay, 0 = all */
} folder;

/* Returns the row of the copy for `row`; UINT32_MAX if memory ran out. */
static uint32_t place(folder *x, uint32_t row, tide_flame_order *out)
{
	uint32_t parent = x->o->parent[row], into = x->to[parent];
	x->depth[row] = x->depth[parent] + 1;
	bool deep = x->deep && x->depth[row] > x->deep;
	if (x->sink[parent] || deep) {
		out->cut += deep && !x->sink[parent];
		x->sink[row] = 1;
		return into;
	}
	bool heap = x->o->node[row] == TIDE_ORDER_SMALL, small = heap || x->total[row] < x->min;
	uint32_t before = x->last[into], node = small ? TIDE_ORDER_SMALL : x->o->node[row];
	x->sink[row] = small;
	out->folded += small && !heap;
	if (before && out->node[before] == node)
		return before;
	if (!push(out, node, into))
		return UINT32_MAX;
	return x->last[into] = (uint32_t)out->n - 1;
}

static bool fold(folder *x, tide_flame_order *out)
{
	const tide_flame_order *o = x->o;
	memcpy(x->total, o->self, o->n * sizeof *x->total);
	for (size_t i = o->n - 1; i > 0; i--)
		x->total[o->parent[i]] += x->total[i];
	for (uint32_t i = 0; i < o->n; i++) {
		if (i)
			x->to[i] = place(x, i, out);
		else if (!push(out, 0, 0))
			return false;
		if (x->to[i] == UINT32_MAX)
			return false;
		out->self[x->to[i]] += o->self[i];
		out->count[x->to[i]] += o->count[i];
	}
	return true;
}

bool tide__flame_order_fold(const tide_flame_order *o, uint64_t min, uint32_t deep,
			    tide_flame_order *out)
{
	size_t n = o->n;
	folder x = { .o = o,
		     .total = tide__alloc(n, sizeof *x.total),
		     .to = tide__calloc(n, sizeof *x.to),
		     .sink = tide__calloc(n, 1),
		     .last = tide__calloc(n, sizeof *x.last),
		     .depth = tide__calloc(n, sizeof *x.depth),
		     .min = min,
		     .deep = deep };
	*out = (tide_flame_order){ .cut = o->cut, .folded = o->folded, .total = o->total };
	bool ok = x.total && x.to && x.sink && x.last && x.depth && (!n || fold(&x, out));
	tide__free(x.total);
	tide__free(x.to);
	tide__free(x.sink);
	tide__free(x.last);
	tide__free(x.depth);
	if (!ok)
		tide__flame_order_free(out);
	return ok;
}
