// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The ops section: by name, the tree of nesting paths, and modules. They are rows of the analyses
 * of `tidemark ops` and `tidemark modules`; small nodes of the tree are folded (op_tree_fold.h). */
#include "analyze/ops/modules.h"
#include "analyze/ops/op_order.h"
#include "analyze/ops/op_tree_fold.h"
#include "analyze/ops/ops.h"
#include "base/mem.h"
#include "render/page/page_parts.h"

enum {
	MOST_OPS = 5000,
	FOLD = 20000,
	FEW = 20000
}; /* FEW: up to this many nodes nothing is folded */

/* ---- by name ---- */

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

static bool by_name(tide_json *j, const tide_ops *x)
{
	const tide_op_flat *f = &x->flat;
	tide_op_key *v = tide__alloc(f->n, sizeof *v);
	if (!v)
		return false;
	for (size_t i = 0; i < f->n; i++)
		v[i] = tide__op_key(x->m, TIDE_OPS_SELF, &f->rows[i], f->names[i], (uint32_t)i);
	tide__op_keys_sort(v, f->n);
	tide__json_kbool(j, "memory", x->memory);
	tide__json_kuint(j, "ops_in_all", f->n);
	tide__json_karray(j, "ops");
	for (size_t i = 0; i < f->n && i < MOST_OPS; i++)
		op_row(j, x->m, f->names[v[i].at], &f->rows[v[i].at], x->memory);
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

static void put_rows(tide_box *b, const tide_op_folded *x, tide_page_names *names)
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
		int at = tide__box_add_column(b, cols[c].name, cols[c].enc);
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

static bool tree(tide_box *b, const tide_ops *x, tide_json *j)
{
	tide_op_folded f = { 0 };
	tide_page_names names = { 0 };
	bool ok =
		tide__op_tree_fold(&x->tree, FOLD, FEW, &f) && tide__page_names_init(&names, x->m);
	if (ok) {
		put_rows(b, &f, &names);
		tide__json_kuint(j, "folded", f.folded);
		tide__page_names_json(&names, x->m, "names", j);
	}
	tide__page_names_free(&names);
	tide__op_folded_free(&f);
	return ok;
}

bool tide__page_write_ops(tide_box *b, const tide_model *m, const tide_page_options *opt,
			  tide_error *err)
{
	const tide_ops_query q = { .device = TIDE_ANY, .flat = true };
	tide_json *j = tide__box_json(b);
	tide_ops x;
	tide__json_object(j);
	bool ok = tide__ops_find(m, &q, &x, err) == TIDE_OK && by_name(j, &x) &&
		  modules(j, m, err) && tree(b, &x, j);
	tide__json_object_end(j);
	tide__ops_free(&x);
	return ok;
}
