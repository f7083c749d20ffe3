// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/ops/op_tree_fold.h"

#include "base/mem.h"

struct folder {
	const tide_optree *t;
	tide_op_folded *out;
	uint32_t *to;	 /* node -> row of the copy */
	uint32_t *small; /* row of the copy -> its child for small ones */
	uint8_t *keep;	 /* per node */
};

static bool is_large(const tide_op_row *r, const tide_op_row *root, int64_t parts)
{
	uint64_t n = (uint64_t)parts;
	return r->all.ns >= root->all.ns / parts ||
	       (r->all.alloc_bytes && r->all.alloc_bytes >= root->all.alloc_bytes / n) ||
	       (r->all.free_bytes && r->all.free_bytes >= root->all.free_bytes / n);
}

static uint32_t add_row(tide_op_folded *x, uint32_t parent, tide_str name)
{
	x->name[x->n] = name;
	x->parent[x->n] = parent;
	return x->n++;
}

/* Adds a small node to the row of small ones; its totals only if no small node is around it. */
static void merge(tide_op_row *to, const tide_op_row *r, bool outermost)
{
	to->count += r->count;
	to->self.ns += r->self.ns;
	if (!outermost)
		return;
	to->all.ns += r->all.ns;
	to->all.alloc_bytes += r->all.alloc_bytes;
	to->all.free_bytes += r->all.free_bytes;
	to->peak = r->peak > to->peak ? r->peak : to->peak;
}

static void fold_node(struct folder *x, uint32_t node)
{
	const tide_op_row *r = &x->t->rows[node];
	uint32_t up = x->t->paths.parent[node], into = x->to[up];
	if (x->keep[node]) {
		x->to[node] = add_row(x->out, into, x->t->paths.name[node]);
		x->out->rows[x->to[node]] = *r;
		return;
	}
	x->out->folded++;
	bool outermost = x->keep[up];
	if (outermost && !x->small[into])
		x->small[into] = add_row(x->out, into, (tide_str){ 0 });
	x->to[node] = outermost ? x->small[into] : into;
	merge(&x->out->rows[x->to[node]], r, outermost);
}

static void fold(struct folder *x, int64_t parts, size_t few)
{
	const tide_optree *t = x->t;
	for (uint32_t i = (uint32_t)t->n; i-- > 1;)
		if (t->n <= few || x->keep[i] || is_large(&t->rows[i], &t->rows[0], parts))
			x->keep[i] = x->keep[t->paths.parent[i]] = 1;
	x->keep[0] = 1;
	x->out->rows[add_row(x->out, 0, (tide_str){ 0 })] = t->rows[0];
	for (uint32_t i = 1; i < t->n; i++)
		fold_node(x, i);
}

bool tide__op_tree_fold(const tide_optree *t, int64_t parts, size_t few, tide_op_folded *out)
{
	size_t n = 2 * t->n + 1; /* each row may have one of small ones */
	struct folder x = { .t = t, .out = out };
	*out = (tide_op_folded){ 0 };
	out->rows = tide__calloc(n, sizeof *out->rows);
	out->name = tide__calloc(n, sizeof *out->name);
	out->parent = tide__calloc(n, sizeof *out->parent);
	x.to = tide__calloc(t->n, sizeof *x.to);
	x.small = tide__calloc(n, sizeof *x.small);
	x.keep = tide__calloc(t->n, 1);
	bool ok = out->rows && out->name && out->parent && x.to && x.small && x.keep;
	if (ok)
		fold(&x, parts, few);
	tide__free(x.to);
	tide__free(x.small);
	tide__free(x.keep);
	return ok;
}

void tide__op_folded_free(tide_op_folded *x)
{
	tide__free(x->rows);
	tide__free(x->name);
	tide__free(x->parent);
}
