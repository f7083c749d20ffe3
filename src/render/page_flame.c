// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The flame section: CPU time, device time, memory at the peak; each a tree in rows whose parents
 * come first. What is smaller than a 20,000th of a tree is folded (and counted), because it would
 * be narrower than a pixel. */
#include "analyze/flame.h"
#include "base/mem.h"
#include "render/page_parts.h"

enum { FOLD = 20000 };

static const struct tree {
	const char *key;
	tide_flame_kind kind;
	const char *name, *parent, *self, *count; /* columns */
} trees[] = {
	{ "cpu", TIDE_FLAME_CPU, "cpu_name", "cpu_parent", "cpu_self", "cpu_count" },
	{ "gpu", TIDE_FLAME_GPU, "gpu_name", "gpu_parent", "gpu_self", "gpu_count" },
	{ "memory", TIDE_FLAME_MEMORY, "memory_name", "memory_parent", "memory_self",
	  "memory_count" },
};

static void put_tree(tide_box *b, const struct tree *t, const tide_flame *f)
{
	int name = tide__box_column(b, t->name, TIDE_COL_UINT);
	int parent = tide__box_column(b, t->parent, TIDE_COL_DELTA);
	int self = tide__box_column(b, t->self, TIDE_COL_UINT);
	int count = tide__box_column(b, t->count, TIDE_COL_UINT);
	for (size_t i = 0; i < f->nodes.n; i++) {
		tide__box_put(b, name, f->nodes.name[i]);
		tide__box_put(b, parent, f->nodes.parent[i]);
		tide__box_put(b, self, (int64_t)f->nodes.self[i]);
		tide__box_put(b, count, (int64_t)f->nodes.count[i]);
	}
}

static void tree_json(tide_json *j, const struct tree *t, const tide_flame *f, uint64_t total)
{
	tide__json_key(j, t->key);
	tide__json_object(j);
	tide__json_kbool(j, "bytes", f->bytes);
	tide__json_kuint(j, "total", total);
	tide__json_kuint(j, "folded", f->folded);
	tide__json_kint(j, "peak_ns", f->peak_ns);
	tide__json_key(j, "names");
	tide__json_array(j);
	for (uint32_t i = 0; i <= tide__strings_count(f->strings); i++) {
		size_t n;
		const char *s = tide__strings_get(f->strings, i, &n);
		tide__json_strn(j, s, n);
	}
	tide__json_array_end(j);
	tide__json_object_end(j);
}

static bool one_tree(tide_box *b, const tide_model *m, const struct tree *t, tide_json *j,
		     tide_error *err)
{
	tide_flame_options opt = { .kind = t->kind, .merge_steps = true };
	tide_flame *whole = NULL, *f;
	if (tide__flame(m, &opt, &whole, err) != TIDE_OK)
		return false;
	uint64_t total = whole->nodes.total[0];
	opt.min_value = total / FOLD;
	f = tide__flame_fold(whole, &opt);
	if (f) {
		put_tree(b, t, f);
		tree_json(j, t, f, total);
	}
	tide__flame_free(whole);
	bool ok = f;
	tide__flame_free(f);
	return ok;
}

bool tide__page_flame(tide_box *b, const tide_model *m, const tide_page_options *opt,
		      tide_error *err)
{
	tide_json *j = tide__box_json(b);
	bool ok = true;
	tide__json_object(j);
	for (size_t i = 0; ok && i < sizeof trees / sizeof *trees; i++)
		ok = one_tree(b, m, &trees[i], j, err);
	tide__json_object_end(j);
	return ok;
}
