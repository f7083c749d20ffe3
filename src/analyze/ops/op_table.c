// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The op tree folded by name. A walk through the tree keeps, for each name, how many nodes of
 * that name are open around the current one: `all` counts only if there is none. */
#include "analyze/ops/op_tree.h"

#include "base/error.h"
#include "base/mem.h"

struct fold {
	const tide_optree *t;
	tide_op_flat *f;
	tide_map index; /* name -> row + 1 */
	uint32_t *row;	/* node -> row */
	uint32_t *open; /* row -> open nodes of that name around the current one */
};

static bool name_rows(struct fold *x)
{
	for (uint32_t n = 1; n < x->t->n; n++) {
		tide_str name = x->t->paths.name[n];
		uint32_t at = tide__map_get(&x->index, name.i);
		if (!at) {
			at = (uint32_t)++x->f->n;
			x->f->names[at - 1] = name;
			if (!tide__map_put(&x->index, name.i, at))
				return false;
		}
		x->row[n] = at - 1;
	}
	return true;
}

static void add(tide_op_sums *to, const tide_op_sums *s)
{
	tide__op_sums_add(to, s);
	to->ns += s->ns;
}

static void enter(struct fold *x, uint32_t n)
{
	const tide_op_row *r = &x->t->rows[n];
	tide_op_row *to = &x->f->rows[x->row[n]];
	to->count += r->count - r->redispatched;
	to->redispatched += r->redispatched;
	to->open += r->open;
	to->no_end += r->no_end;
	add(&to->self, &r->self);
	if (!x->open[x->row[n]]++)
		add(&to->all, &r->all);
	if (r->peak > to->peak)
		to->peak = r->peak;
}

static void walk(struct fold *x)
{
	uint32_t n = x->t->first[0];
	while (n) {
		enter(x, n);
		if (x->t->first[n]) {
			n = x->t->first[n];
			continue;
		}
		while (n) { /* go up until there is a sibling */
			x->open[x->row[n]]--;
			if (x->t->next[n])
				break;
			n = x->t->paths.parent[n];
		}
		n = n ? x->t->next[n] : 0;
	}
}

tide_code tide__find_op_table(const tide_optree *t, tide_op_flat *out, tide_error *err)
{
	struct fold x = { .t = t, .f = out };
	*out = (tide_op_flat){ 0 };
	out->names = tide__alloc(t->n, sizeof *out->names);
	out->rows = tide__calloc(t->n, sizeof *out->rows);
	x.row = tide__calloc(t->n, sizeof *x.row);
	x.open = tide__calloc(t->n, sizeof *x.open);
	bool ok = out->names && out->rows && x.row && x.open && name_rows(&x);
	if (ok)
		walk(&x);
	tide__map_free(&x.index);
	tide__free(x.row);
	tide__free(x.open);
	return ok ? TIDE_OK : tide__nomem(err);
}

void tide__optree_flat_free(tide_op_flat *f)
{
	tide__free(f->names);
	tide__free(f->rows);
	*f = (tide_op_flat){ 0 };
}
