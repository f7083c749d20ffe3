// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Sections of two traces compared: the document of `tidemark diff --json`, and flame graphs that
 * hold both. */
#include "analyze/compare/flame_pair.h"
#include "base/mem.h"
#include "render/report/compare/diff.h"
#include "render/report/compare/rank_diff.h"
#include "render/page/page_parts.h"

enum { MOST_ROWS = 2000, FOLD = 20000, DEEP = 200 };

/* ---- figures and tables ---- */

static void meanings(tide_json *j)
{
	tide__json_kobject(j, "what");
	for (unsigned k = 0; k < TIDE_N_METRICS; k++)
		tide__json_kstr(j, tide__metrics[k].key, tide__metrics[k].what);
	tide__json_object_end(j);
}

/* Writes the number of rows of each status, including rows that are not in the page. */
static void counts(tide_json *j, const tide_diff *d)
{
	static const tide_diff_status all[] = { TIDE_DIFF_ADDED, TIDE_DIFF_REMOVED,
						TIDE_DIFF_CHANGED, TIDE_DIFF_SAME };
	tide__json_kobject(j, "counts");
	for (unsigned k = 0; k < TIDE_N_DIFF_KINDS; k++) {
		tide__json_kobject(j, tide__diff_kind_key((tide_diff_kind)k));
		for (size_t s = 0; s < sizeof all / sizeof *all; s++)
			tide__json_kuint(j, tide__diff_status_text(all[s]),
					 d->table[k].by_status[all[s]]);
		tide__json_object_end(j);
	}
	tide__json_object_end(j);
}

bool tide__page_write_diff(tide_box *b, const void *what, tide_error *err)
{
	const tide_page_two *two = what;
	tide_json *j = tide__box_json(b);
	tide_diff d = { 0 };
	if (tide__find_diff(two->m[0], two->m[1], NULL, &d, err) != TIDE_OK)
		return false;
	tide__json_object(j);
	tide__diff_side_json(j, "a", two->file[0], two->m[0], d.device[0]);
	tide__diff_side_json(j, "b", two->file[1], two->m[1], d.device[1]);
	bool ok = tide__diff_json(&d, MOST_ROWS, j);
	meanings(j);
	counts(j, &d);
	if (two->ranks)
		tide__grid_write_member(tide__rank_diff_grid(two->ranks, two->n_ranks, false), j,
					"ranks");
	tide__json_object_end(j);
	tide__diff_free(&d);
	return ok;
}

/* ---- flame graphs ---- */

#define COLUMNS(key)                                                                      \
	{                                                                                 \
		key "_name", key "_parent", key "_self_a", key "_self_b", key "_count_a", \
			key "_count_b"                                                    \
	}
static const struct tree {
	const char *key;
	tide_flame_kind kind;
	bool allocated;
	const char *columns[6];
} trees[] = {
	{ "cpu", TIDE_FLAME_CPU, false, COLUMNS("cpu") },
	{ "gpu", TIDE_FLAME_GPU, false, COLUMNS("gpu") },
	{ "memory", TIDE_FLAME_MEMORY, false, COLUMNS("memory") },
	{ "allocated", TIDE_FLAME_MEMORY, true, COLUMNS("allocated") },
};

static void put_rows(tide_box *b, const struct tree *t, const tide_flame_pair *p)
{
	static const tide_col_enc enc[6] = { TIDE_COL_UINT, TIDE_COL_DELTA, TIDE_COL_UINT,
					     TIDE_COL_UINT, TIDE_COL_UINT,  TIDE_COL_UINT };
	int col[6];
	for (int c = 0; c < 6; c++)
		col[c] = tide__box_add_column(b, t->columns[c], enc[c]);
	for (size_t i = 0; i < p->tree->nodes.n; i++) {
		tide__box_put(b, col[0], p->tree->nodes.name[i]);
		tide__box_put(b, col[1], p->tree->nodes.parent[i]);
		for (int s = 0; s < 2; s++) {
			tide__box_put(b, col[2 + s], (int64_t)p->self[s][i]);
			tide__box_put(b, col[4 + s], (int64_t)p->count[s][i]);
		}
	}
}

static void tree_json(tide_json *j, const struct tree *t, const tide_flame_pair *p)
{
	tide__json_kobject(j, t->key);
	tide__json_kbool(j, "bytes", t->kind == TIDE_FLAME_MEMORY);
	tide__json_kuint(j, "folded", p->folded);
	tide__json_karray(j, "names");
	for (uint32_t i = 0; i <= tide__strings_count(p->tree->strings); i++) {
		size_t n;
		const char *s = tide__strings_get(p->tree->strings, i, &n);
		tide__json_strn(j, s, n);
	}
	tide__json_array_end(j);
	tide__json_object_end(j);
}

/* Threads have different numbers in every run, so all threads are merged. */
static bool one_tree(tide_box *b, const tide_page_two *two, const struct tree *t, tide_error *err)
{
	const tide_flame_options opt = {
		.kind = t->kind, .merge = true, .merge_steps = true, .allocated = t->allocated
	};
	tide_flame *f[2] = { NULL, NULL };
	tide_flame_pair p = { 0 };
	bool timed = two->m[0]->axis == TIDE_AXIS_TIME && two->m[1]->axis == TIDE_AXIS_TIME;
	if (!timed && t->kind != TIDE_FLAME_MEMORY)
		return true; /* without a clock there is no time to draw */
	bool ok = tide__find_flame(two->m[0], &opt, &f[0], err) == TIDE_OK &&
		  tide__find_flame(two->m[1], &opt, &f[1], err) == TIDE_OK;
	bool any = ok && (f[0]->nodes.total[0] || f[1]->nodes.total[0]);
	ok = ok && (!any || tide__flame_pair_build(f[0], f[1], FOLD, DEEP, &p));
	if (ok && any) {
		put_rows(b, t, &p);
		tree_json(tide__box_json(b), t, &p);
	}
	tide__flame_pair_free(&p);
	tide__flame_free(f[0]);
	tide__flame_free(f[1]);
	return ok;
}

bool tide__page_write_diffflame(tide_box *b, const void *what, tide_error *err)
{
	tide_json *j = tide__box_json(b);
	bool ok = true;
	tide__json_object(j);
	tide__json_kobject(j, "trees");
	for (size_t i = 0; ok && i < sizeof trees / sizeof *trees; i++)
		ok = one_tree(b, what, &trees[i], err);
	tide__json_object_end(j);
	tide__json_object_end(j);
	return ok;
}
