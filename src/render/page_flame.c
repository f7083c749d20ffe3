// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The flame section: CPU time, device time, memory at the peak, memory ever allocated; each twice,
 * as a tree and in order of time, in rows whose parents come first. What is smaller than a part of
 * the whole is folded (and counted), because it would be narrower than a pixel. */
#include "analyze/flame.h"
#include "base/mem.h"
#include "render/page_parts.h"

enum { FOLD = 20000, FOLD_ORDER = TIDE_ORDER_PARTS, DEEP = TIDE_ORDER_DEEP };
enum { FEW = 100000, FEW_ROWS = 20000 }; /* nodes, rows in order of time, of which none is folded */

#define COLUMNS(key)                                                  \
	{                                                             \
		key "_name", key "_parent", key "_self", key "_count" \
	}
static const struct tree {
	const char *key;
	tide_flame_kind kind;
	bool allocated;
	const char *tree[4], *order[4]; /* columns */
} trees[] = {
	{ "cpu", TIDE_FLAME_CPU, false, COLUMNS("cpu"), COLUMNS("cpu_order") },
	{ "gpu", TIDE_FLAME_GPU, false, COLUMNS("gpu"), COLUMNS("gpu_order") },
	{ "memory", TIDE_FLAME_MEMORY, false, COLUMNS("memory"), COLUMNS("memory_order") },
	{ "allocated", TIDE_FLAME_MEMORY, true, COLUMNS("allocated"), COLUMNS("allocated_order") },
};

struct columns {
	tide_box *b;
	int name, parent, self, count;
};

static struct columns columns(tide_box *b, const char *const *names)
{
	return (struct columns){ b, tide__box_column(b, names[0], TIDE_COL_UINT),
				 tide__box_column(b, names[1], TIDE_COL_DELTA),
				 tide__box_column(b, names[2], TIDE_COL_UINT),
				 tide__box_column(b, names[3], TIDE_COL_UINT) };
}

static void put(const struct columns *c, uint32_t name, uint32_t parent, uint64_t self,
		uint64_t count)
{
	tide__box_put(c->b, c->name, name);
	tide__box_put(c->b, c->parent, parent);
	tide__box_put(c->b, c->self, (int64_t)self);
	tide__box_put(c->b, c->count, (int64_t)count);
}

/* Texts that the section uses, in order of first use; row 0 is "[small]". */
struct names {
	uint32_t *of;	/* owned; text of the flame -> its number + 1 */
	uint32_t *list; /* owned */
	uint32_t n;
};

static uint32_t number(struct names *t, uint32_t text)
{
	if (!t->of[text]) {
		t->list[t->n] = text;
		t->of[text] = ++t->n;
	}
	return t->of[text];
}

static void put_tree(const struct columns *c, const tide_flame *f)
{
	for (size_t i = 0; i < f->nodes.n; i++)
		put(c, f->nodes.name[i], f->nodes.parent[i], f->nodes.self[i], f->nodes.count[i]);
}

/* Rows name nodes of the whole tree; most of its texts are not used, so they get new numbers. */
static void put_order(const struct columns *c, const tide_flame *whole, const tide_flame_order *o,
		      struct names *t)
{
	for (size_t i = 0; i < o->n; i++) {
		bool small = o->node[i] == TIDE_ORDER_SMALL;
		put(c, small ? 0 : number(t, whole->nodes.name[o->node[i]]), o->parent[i],
		    o->self[i], o->count[i]);
	}
}

static void text(tide_json *j, const tide_strings *strings, uint32_t id)
{
	size_t n;
	const char *s = tide__strings_get(strings, id, &n);
	tide__json_strn(j, s, n);
}

static void order_json(tide_json *j, const tide_flame *whole, const tide_flame_order *o,
		       const struct names *t)
{
	tide__json_kuint(j, "order_folded", o->folded);
	tide__json_kuint(j, "order_cut", o->cut);
	tide__json_key(j, "order_names");
	tide__json_array(j);
	tide__json_str(j, "[small]");
	for (uint32_t i = 0; i < t->n; i++)
		text(j, whole->strings, t->list[i]);
	tide__json_array_end(j);
}

static bool put_both_orders(tide_box *b, const struct tree *t, const tide_flame *whole,
			    tide_json *j)
{
	size_t n = (size_t)tide__strings_count(whole->strings) + 1;
	struct names names = { tide__calloc(n, sizeof *names.of),
			       tide__calloc(n, sizeof *names.list), 0 };
	tide_flame_order o = { 0 };
	uint64_t min = whole->order.n > FEW_ROWS ? whole->nodes.total[0] / FOLD_ORDER : 0;
	bool ok = names.of && names.list && tide__flame_order_fold(&whole->order, min, &o);
	if (ok) {
		struct columns c = columns(b, t->order);
		put_order(&c, whole, &o, &names);
		order_json(j, whole, &o, &names);
	}
	tide__flame_order_free(&o);
	tide__free(names.of);
	tide__free(names.list);
	return ok;
}

static bool put_folded(tide_box *b, const struct tree *t, const tide_flame *whole, tide_json *j)
{
	bool many = whole->nodes.n > FEW;
	const tide_flame_options opt = { .min_value = many ? whole->nodes.total[0] / FOLD : 0,
					 .max_depth = DEEP };
	tide_flame *f = tide__flame_fold(whole, &opt);
	if (!f)
		return false;
	struct columns c = columns(b, t->tree);
	put_tree(&c, f);
	tide__json_kbool(j, "bytes", f->bytes);
	tide__json_kuint(j, "total", whole->nodes.total[0]);
	tide__json_kuint(j, "folded", f->folded);
	tide__json_kuint(j, "cut", f->cut);
	tide__json_kint(j, "peak_ns", f->peak_ns);
	tide__json_key(j, "names");
	tide__json_array(j);
	for (uint32_t i = 0; i <= tide__strings_count(f->strings); i++)
		text(j, f->strings, i);
	tide__json_array_end(j);
	tide__flame_free(f);
	return true;
}

static bool one_tree(tide_box *b, const tide_model *m, const struct tree *t, tide_json *j,
		     tide_error *err)
{
	const tide_flame_options opt = {
		.kind = t->kind, .merge_steps = true, .allocated = t->allocated, .ordered = true
	};
	tide_flame *whole = NULL;
	if (tide__flame(m, &opt, &whole, err) != TIDE_OK)
		return false;
	tide__json_key(j, t->key);
	tide__json_object(j);
	bool ok = put_folded(b, t, whole, j) && put_both_orders(b, t, whole, j);
	tide__json_object_end(j);
	tide__flame_free(whole);
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
