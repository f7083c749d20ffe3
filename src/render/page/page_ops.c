// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The ops section: by name, the tree of nesting paths, and modules. They are rows of the analyses
 * of `tidemark ops` and `tidemark modules`; small nodes of the tree are put together per parent
 * (and counted), sums stay whole. */
#include <stdlib.h>

#include "analyze/memory/live_set.h"
#include "analyze/ops/modules.h"
#include "analyze/ops/op_tree.h"
#include "base/mem.h"
#include "render/page/page_parts.h"

enum {
	MOST_OPS = 5000,
	FOLD = 20000,
	FEW = 20000
}; /* FEW: up to so many nodes nothing is folded */

/* ---- by name ---- */

struct rank {
	int64_t ns;
	size_t row;
};

static int longest_first(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static void bytes(tide_json *j, const int64_t *v, size_t n, bool known)
{
	for (size_t i = 0; i < n; i++)
		known ? tide__json_int(j, v[i]) : tide__json_null(j);
}

static void op_row(tide_json *j, const tide_model *m, tide_str name, const tide_op_row *r,
		   bool memory)
{
	const int64_t v[] = { (int64_t)r->all.alloc_bytes, (int64_t)r->all.free_bytes,
			      (int64_t)(r->all.alloc_bytes - r->all.free_bytes), (int64_t)r->peak };
	size_t n;
	const char *text = tide__text(m, name, &n);
	tide__json_array(j);
	n ? tide__json_strn(j, text, n) : tide__json_str(j, "(unnamed)");
	tide__json_uint(j, r->count);
	tide__json_int(j, r->all.ns);
	tide__json_int(j, r->self.ns);
	bytes(j, v, sizeof v / sizeof *v, memory);
	tide__json_array_end(j);
}

static bool by_name(tide_json *j, const tide_model *m, const tide_op_flat *f)
{
	struct rank *v = tide__alloc(f->n, sizeof *v);
	bool memory = tide__memory_known(m, TIDE_ANY);
	if (!v)
		return false;
	tide__json_kbool(j, "memory", memory);
	for (size_t i = 0; i < f->n; i++)
		v[i] = (struct rank){ f->rows[i].all.ns, i };
	if (f->n)
		qsort(v, f->n, sizeof *v, longest_first);
	tide__json_kuint(j, "ops_in_all", f->n);
	tide__json_karray(j, "ops");
	for (size_t i = 0; i < f->n && i < MOST_OPS; i++)
		op_row(j, m, f->names[v[i].row], &f->rows[v[i].row], memory);
	tide__json_array_end(j);
	tide__free(v);
	return true;
}

/* ---- modules, in the order of their first calls ---- */

static void module_row(tide_json *j, const tide_model *m, const tide_module_row *r, bool memory)
{
	const int64_t ran[] = { (int64_t)r->forward_bytes, (int64_t)r->backward_bytes },
		      again = (int64_t)r->again_bytes;
	tide__json_array(j);
	tide__json_str(j, tide__module_text(m, r->name));
	tide__json_uint(j, r->calls);
	tide__json_int(j, r->forward_ns);
	tide__json_int(j, r->backward_ns);
	bytes(j, ran, 2, memory);
	tide__json_uint(j, r->backward_ops);
	tide__json_int(j, r->again_ns);
	bytes(j, &again, 1, memory);
	tide__json_array_end(j);
}

static bool modules(tide_json *j, const tide_model *m, tide_error *err)
{
	tide_modules x = { 0 };
	bool ok = tide__find_modules(m, &x, err) == TIDE_OK;
	tide__json_kuint(j, "modules_in_all", x.n);
	tide__json_karray(j, "modules");
	for (size_t i = 0; ok && i < x.n && i < MOST_OPS; i++)
		module_row(j, m, &x.rows[i], x.memory);
	tide__json_array_end(j);
	tide__modules_free(&x);
	return ok;
}

/* ---- the tree ---- */

struct folder {
	const tide_optree *t;
	tide_op_row *rows; /* of the copy */
	tide_str *name;	   /* none = several small ones */
	uint32_t *parent;
	uint32_t n;
	uint32_t *to;	 /* node -> row of the copy */
	uint32_t *small; /* row of the copy -> its child for small ones */
	uint8_t *keep;	 /* per node */
	uint64_t folded;
};

static bool is_large(const tide_op_row *r, const tide_op_row *root)
{
	return r->all.ns >= root->all.ns / FOLD ||
	       (r->all.alloc_bytes && r->all.alloc_bytes >= root->all.alloc_bytes / FOLD) ||
	       (r->all.free_bytes && r->all.free_bytes >= root->all.free_bytes / FOLD);
}

static uint32_t add_row(struct folder *x, uint32_t parent, tide_str name)
{
	x->name[x->n] = name;
	x->parent[x->n] = parent;
	return x->n++;
}

/* Adds a small node, and everything below it, to the row of small ones. */
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
		x->to[node] = add_row(x, into, x->t->paths.name[node]);
		x->rows[x->to[node]] = *r;
		return;
	}
	x->folded++;
	bool outermost = x->keep[up];
	if (outermost && !x->small[into])
		x->small[into] = add_row(x, into, (tide_str){ 0 });
	x->to[node] = outermost ? x->small[into] : into;
	merge(&x->rows[x->to[node]], r, outermost);
}

static void fold(struct folder *x)
{
	const tide_optree *t = x->t;
	for (uint32_t i = (uint32_t)t->n; i-- > 1;)
		if (t->n <= FEW || x->keep[i] || is_large(&t->rows[i], &t->rows[0]))
			x->keep[i] = x->keep[t->paths.parent[i]] = 1;
	x->keep[0] = 1;
	x->rows[add_row(x, 0, (tide_str){ 0 })] = t->rows[0];
	for (uint32_t i = 1; i < t->n; i++)
		fold_node(x, i);
}

static void put_rows(tide_box *b, const struct folder *x, tide_page_names *names)
{
	static const struct {
		const char *name;
		tide_col_enc enc;
	} cols[] = { { "name", TIDE_COL_UINT },	 { "parent", TIDE_COL_DELTA },
		     { "count", TIDE_COL_UINT }, { "wall", TIDE_COL_INT },
		     { "self", TIDE_COL_INT },	 { "alloc", TIDE_COL_UINT },
		     { "free", TIDE_COL_UINT },	 { "peak", TIDE_COL_UINT } };
	int first = 0;
	for (size_t c = 0; c < sizeof cols / sizeof *cols; c++) {
		int at = tide__box_column(b, cols[c].name, cols[c].enc);
		first = c ? first : at;
	}
	for (uint32_t i = 0; i < x->n; i++) {
		const tide_op_row *r = &x->rows[i];
		int64_t v[] = { tide__page_name(names, b, x->name[i]),
				x->parent[i],
				(int64_t)r->count,
				r->all.ns,
				r->self.ns,
				(int64_t)r->all.alloc_bytes,
				(int64_t)r->all.free_bytes,
				(int64_t)r->peak };
		for (int c = 0; c < (int)(sizeof v / sizeof *v); c++)
			tide__box_put(b, first + c, v[c]);
	}
}

static bool tree(tide_box *b, const tide_model *m, const tide_optree *t, tide_json *j)
{
	size_t n = 2 * t->n + 1; /* each row may have one of small ones */
	struct folder x = { .t = t };
	tide_page_names names = { 0 };
	x.rows = tide__calloc(n, sizeof *x.rows);
	x.name = tide__calloc(n, sizeof *x.name);
	x.parent = tide__calloc(n, sizeof *x.parent);
	x.to = tide__calloc(t->n, sizeof *x.to);
	x.small = tide__calloc(n, sizeof *x.small);
	x.keep = tide__calloc(t->n, 1);
	bool ok = x.rows && x.name && x.parent && x.to && x.small && x.keep &&
		  tide__page_names_init(&names, m);
	if (ok) {
		fold(&x);
		put_rows(b, &x, &names);
		tide__json_kuint(j, "folded", x.folded);
		tide__page_names_json(&names, m, "names", j);
	}
	tide__page_names_free(&names);
	tide__free(x.rows);
	tide__free(x.name);
	tide__free(x.parent);
	tide__free(x.to);
	tide__free(x.small);
	tide__free(x.keep);
	return ok;
}

bool tide__page_ops(tide_box *b, const tide_model *m, const tide_page_options *opt, tide_error *err)
{
	const tide_optree_options all = { .device = TIDE_ANY };
	tide_json *j = tide__box_json(b);
	tide_optree t = { 0 };
	tide_op_flat flat = { 0 };
	tide__json_object(j);
	bool ok = tide__find_op_tree(m, &all, &t, err) == TIDE_OK &&
		  tide__find_op_table(&t, &flat, err) == TIDE_OK && by_name(j, m, &flat) &&
		  modules(j, m, err) && tree(b, m, &t, j);
	tide__json_object_end(j);
	tide__optree_flat_free(&flat);
	tide__optree_free(&t);
	return ok;
}
