// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The flame section: CPU time, device time, memory at the peak, memory ever allocated, memory of
 * the host heap that was not freed; each twice, as a tree and in time order, in rows whose parents come first. Nodes narrower than a
 * pixel are folded (and counted). */
#include "analyze/memory/heap.h"
#include "analyze/ops/flame.h"
#include "base/mem.h"
#include "render/page/page_parts.h"

enum { FOLD = 20000, FOLD_ORDER = TIDE_ORDER_PARTS, DEEP = TIDE_ORDER_DEEP };
enum {
	FEW = 100000,
	FEW_ROWS = 5000
}; /* up to this many nodes, and rows in order of time, nothing is folded */

#define COLUMNS(key)                                                  \
	{                                                             \
		key "_name", key "_parent", key "_self", key "_count" \
	}
static const struct tree {
	const char *key;
	tide_flame_kind kind;
	bool allocated, left;
	const char *tree[4], *order[4]; /* columns */
} trees[] = {
	{ "cpu", TIDE_FLAME_CPU, false, false, COLUMNS("cpu"), COLUMNS("cpu_order") },
	{ "gpu", TIDE_FLAME_GPU, false, false, COLUMNS("gpu"), COLUMNS("gpu_order") },
	{ "memory", TIDE_FLAME_MEMORY, false, false, COLUMNS("memory"), COLUMNS("memory_order") },
	{ "allocated", TIDE_FLAME_MEMORY, true, false, COLUMNS("allocated"),
	  COLUMNS("allocated_order") },
	{ "left", TIDE_FLAME_MEMORY, false, true, COLUMNS("left"), COLUMNS("left_order") },
};

struct columns {
	tide_box *b;
	int name, parent, self, count;
};

static struct columns columns(tide_box *b, const char *const *names)
{
	return (struct columns){ b, tide__box_add_column(b, names[0], TIDE_COL_UINT),
				 tide__box_add_column(b, names[1], TIDE_COL_DELTA),
				 tide__box_add_column(b, names[2], TIDE_COL_UINT),
				 tide__box_add_column(b, names[3], TIDE_COL_UINT) };
}

static void put(const struct columns *c, uint32_t name, uint32_t parent, uint64_t self,
		uint64_t count)
{
	tide__box_put(c->b, c->name, name);
	tide__box_put(c->b, c->parent, parent);
	tide__box_put(c->b, c->self, (int64_t)self);
	tide__box_put(c->b, c->count, (int64_t)count);
}

static void put_tree(const struct columns *c, const tide_flame *f)
{
	for (size_t i = 0; i < f->nodes.n; i++)
		put(c, f->nodes.name[i], f->nodes.parent[i], f->nodes.self[i], f->nodes.count[i]);
}

/* Writes the time order of the folded tree `f`, with its texts; counts nodes that were folded
 * there. */
static bool put_rows(const struct columns *c, const tide_flame *whole, tide_flame *f,
		     const tide_flame_order *o)
{
	size_t n = (size_t)tide__strings_count(whole->strings) + 1;
	uint32_t *of = tide__calloc(n, sizeof *of), small = tide__flame_text(f, "[small]", 7);
	bool ok = of && small;
	for (size_t i = 0; ok && i < o->n; i++) {
		bool heap = o->node[i] == TIDE_ORDER_SMALL;
		uint32_t text = heap ? 0 : whole->nodes.name[o->node[i]];
		if (!of[text] && !heap) {
			size_t len;
			const char *s = tide__strings_get(whole->strings, text, &len);
			of[text] = tide__flame_text(f, s, len);
			ok = of[text] != 0;
		}
		put(c, heap ? small : of[text], o->parent[i], o->self[i], o->count[i]);
	}
	tide__free(of);
	return ok;
}

static bool put_order(tide_box *b, const struct tree *t, const tide_flame *whole, tide_flame *f,
		      const tide_flame_options *fold, tide_json *j)
{
	tide_flame_order o = { 0 };
	uint64_t min = whole->order.n > FEW_ROWS ? whole->nodes.total[0] / FOLD_ORDER : 0;
	min = fold->min_value > min ? fold->min_value : min;
	bool ok = tide__flame_order_fold(&whole->order, min, fold->max_depth, &o);
	if (ok) {
		struct columns c = columns(b, t->order);
		ok = put_rows(&c, whole, f, &o);
		tide__json_kuint(j, "order_folded", o.folded);
		tide__json_kuint(j, "order_cut", o.cut);
	}
	tide__flame_order_free(&o);
	return ok;
}

static void tree_json(tide_json *j, const tide_flame *f, uint64_t total)
{
	tide__json_kbool(j, "bytes", f->bytes);
	tide__json_kuint(j, "total", total);
	tide__json_kuint(j, "folded", f->folded);
	tide__json_kuint(j, "cut", f->cut);
	tide__json_kint(j, "peak_ns", f->peak_ns);
	tide__json_karray(j, "names");
	for (uint32_t i = 0; i <= tide__strings_count(f->strings); i++) {
		size_t n;
		const char *s = tide__strings_get(f->strings, i, &n);
		tide__json_strn(j, s, n);
	}
	tide__json_array_end(j);
}

static bool put_both(tide_box *b, const struct tree *t, const tide_flame *whole,
		     const tide_flame_options *limits, tide_json *j)
{
	uint64_t least = whole->nodes.n > FEW ? whole->nodes.total[0] / FOLD : 0;
	tide_flame_options opt = *limits, order = *limits;
	opt.min_value = least > limits->min_value ? least : limits->min_value;
	opt.max_depth = limits->max_depth && limits->max_depth < DEEP ? limits->max_depth : DEEP;
	tide_flame *f = tide__flame_fold(whole, &opt);
	if (!f)
		return false;
	struct columns c = columns(b, t->tree);
	put_tree(&c, f);
	bool ok = put_order(b, t, whole, f, &order, j);
	tree_json(j, f, whole->nodes.total[0]);
	tide__flame_free(f);
	return ok;
}

static bool one_tree(tide_box *b, const tide_model *m, const struct tree *t,
		     const tide_flame_options *base, tide_json *j, tide_error *err)
{
	tide_flame_options opt = *base, limits = { 0 };
	opt.kind = t->kind;
	opt.allocated = t->allocated;
	opt.left = t->left;
	opt.device = t->left ? m->pools.device[tide__heap_pool(m)].i : base->device;
	opt.ordered = true;
	opt.min_value = opt.small_ppm = opt.max_depth = 0; /* after the order of time is known */
	if (t->kind == base->kind)
		limits.min_value = base->min_value;
	limits.small_ppm = base->small_ppm;
	limits.max_depth = base->max_depth;
	tide_flame *whole = NULL;
	if (tide__find_flame(m, &opt, &whole, err) != TIDE_OK)
		return false;
	tide__json_kobject(j, t->key);
	bool ok = put_both(b, t, whole, &limits, j);
	tide__json_object_end(j);
	tide__flame_free(whole);
	return ok;
}

static bool is_asked(const struct tree *t, const tide_flame_options *o)
{
	return t->kind == o->kind && t->allocated == o->allocated && !t->left;
}

bool tide__page_write_flame(tide_box *b, const tide_model *m, const tide_page_options *opt,
			    tide_error *err)
{
	static const tide_flame_options all = { .merge_steps = true };
	const tide_flame_options *base = opt->flame ? opt->flame : &all;
	tide_json *j = tide__box_json(b);
	bool ok = true;
	tide__json_object(j);
	for (size_t i = 0; opt->flame && i < sizeof trees / sizeof *trees; i++)
		if (is_asked(&trees[i], base))
			tide__json_kstr(j, "first", trees[i].key);
	for (size_t i = 0; ok && i < sizeof trees / sizeof *trees; i++)
		if ((!trees[i].left || tide__heap_pool(m)) &&
		    (!opt->flame_only || is_asked(&trees[i], base)))
			ok = one_tree(b, m, &trees[i], base, j, err);
	tide__json_object_end(j);
	return ok;
}
