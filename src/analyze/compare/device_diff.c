// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Device time of two traces by what launched it, and the calls that only one of them has. */
#include <string.h>

#include "analyze/common/statistics.h"
#include "analyze/compare/diff_impl.h"
#include "analyze/compare/flame_pair.h"
#include "analyze/device/op_category.h"
#include "analyze/ops/device_time.h"
#include "base/error.h"
#include "base/mem.h"

/* ---- names of groups ---- */

static const char *place_text(const tide_device_group *g, bool module)
{
	return g->place == TIDE_LAUNCH_UNKNOWN ? "(launch unknown)"
	       : module			       ? "(outside any module)"
					       : "(outside any op)";
}

/* Returns the row of an op with the shapes and dtypes of its inputs. */
static tide_diff_row *shape_row(tide_differ *d, const tide_model *m, const tide_device_group *g)
{
	const tide_str parts[] = { g->name, g->dims, g->types };
	size_t n[3], at = 0;
	const char *s[3];
	for (int i = 0; i < 3; i++)
		s[i] = tide__text(m, parts[i], &n[i]);
	char *text = tide__alloc(n[0] + n[1] + n[2] + 2, 1);
	if (!text)
		return NULL;
	for (int i = 0; i < 3; i++) {
		if (i && n[i])
			text[at++] = ' ';
		memcpy(text + at, s[i], n[i]);
		at += n[i];
	}
	tide_diff_row *r = tide__diff_row_named(d, TIDE_DIFF_DEVICE_SHAPE, text, at);
	tide__free(text);
	return r;
}

static tide_diff_row *name_row(tide_differ *d, const tide_model *m, tide_diff_kind kind,
			       const tide_device_group *g)
{
	size_t n;
	const char *s = tide__text(m, g->name, &n);
	if (kind == TIDE_DIFF_DEVICE_CATEGORY)
		s = tide__op_category_text[g->category];
	else if (g->place != TIDE_LAUNCHED_IN)
		s = place_text(g, kind == TIDE_DIFF_DEVICE_MODULE);
	else if (kind == TIDE_DIFF_DEVICE_MODULE)
		s = tide__module_text(m, g->name);
	return tide__diff_row_named(d, kind, s, strlen(s));
}

static bool add_group(tide_differ *d, int side, tide_diff_kind kind, const tide_device_group *g)
{
	tide_diff_row *r = kind == TIDE_DIFF_DEVICE_SHAPE && g->place == TIDE_LAUNCHED_IN
				   ? shape_row(d, d->m[side], g)
				   : name_row(d, d->m[side], kind, g);
	if (!r)
		return false;
	r->count[side] += g->dur.n;
	if (d->out->timed)
		r->value[side] += (uint64_t)tide__stat_sum(&g->dur);
	return true;
}

/* ---- device time ---- */

static tide_code add_by(tide_differ *d, int side, const tide_gpu_rows *rows, tide_device_by by)
{
	static const tide_diff_kind kinds[] = {
		[TIDE_DEVICE_BY_SHAPE] = TIDE_DIFF_DEVICE_SHAPE,
		[TIDE_DEVICE_BY_MODULE] = TIDE_DIFF_DEVICE_MODULE,
		[TIDE_DEVICE_BY_CATEGORY] = TIDE_DIFF_DEVICE_CATEGORY,
	};
	tide_device_time x;
	tide_code rc = tide__find_device_time(d->m[side], rows, by, &x, d->err);
	bool ok = true;
	for (size_t i = 0; rc == TIDE_OK && ok && i < x.n; i++) {
		ok = add_group(d, side, kinds[by], &x.v[i]);
		if (ok && by == TIDE_DEVICE_BY_SHAPE)
			ok = add_group(d, side, TIDE_DIFF_DEVICE_OP, &x.v[i]);
	}
	tide__device_time_free(&x);
	return rc == TIDE_OK && !ok ? tide__nomem(d->err) : rc;
}

tide_code tide__diff_add_device_time(tide_differ *d, int side)
{
	static const tide_device_by all[] = { TIDE_DEVICE_BY_SHAPE, TIDE_DEVICE_BY_MODULE,
					      TIDE_DEVICE_BY_CATEGORY };
	const tide_span_window window = { .all = true };
	tide_steps steps = { 0 };
	tide_gpu_rows rows = { 0 };
	tide_code rc = tide__gpu_rows_find(d->m[side], &steps, &window, NULL, 0, &rows, d->err);
	for (size_t i = 0; rc == TIDE_OK && rows.n && i < sizeof all / sizeof *all; i++)
		rc = add_by(d, side, &rows, all[i]);
	tide__gpu_rows_free(&rows);
	return rc;
}

/* ---- calls ---- */

struct calls {
	const tide_flame_pair *pair;
	uint64_t *count[2], *total[2]; /* by node, with the nodes below */
	uint32_t *to;		       /* by node: the node of the path in the diff's tree */
};

static bool add_up(struct calls *c)
{
	const tide_flame_pair *p = c->pair;
	size_t n = p->tree->nodes.n;
	c->to = tide__calloc(n, sizeof *c->to);
	bool ok = c->to != NULL;
	for (int side = 0; side < 2; side++) {
		c->count[side] = tide__alloc(n, sizeof **c->count);
		c->total[side] = tide__alloc(n, sizeof **c->total);
		ok = ok && c->count[side] && c->total[side];
		if (!ok)
			continue;
		memcpy(c->count[side], p->count[side], n * sizeof **c->count);
		memcpy(c->total[side], p->self[side], n * sizeof **c->total);
		for (size_t i = n - 1; i > 0; i--) {
			c->count[side][p->tree->nodes.parent[i]] += c->count[side][i];
			c->total[side][p->tree->nodes.parent[i]] += c->total[side][i];
		}
	}
	return ok;
}

/* Returns the node of the path in the diff's tree; 0 if memory runs out. */
static uint32_t copy_path(tide_differ *d, struct calls *c, uint32_t node)
{
	const tide_nodes *t = &c->pair->tree->nodes;
	size_t n;
	if (!node)
		return d->branch[TIDE_DIFF_CALL];
	if (c->to[node])
		return c->to[node];
	uint32_t up = copy_path(d, c, t->parent[node]);
	const char *s = tide__flame_name(c->pair->tree, node, &n);
	uint32_t name = up ? tide__flame_text(d->out->tree, s, n) : 0;
	c->to[node] = name ? tide__flame_get_child(d->out->tree, up, name, t->type[node]) : 0;
	return c->to[node];
}

/* A path belongs to the table if one side has it, the other has not, and both have its parent. */
static bool add_paths(tide_differ *d, struct calls *c)
{
	const tide_nodes *t = &c->pair->tree->nodes;
	for (uint32_t i = 1; i < t->n; i++) {
		uint32_t up = t->parent[i];
		bool a = c->count[0][i], b = c->count[1][i];
		if (a == b || !c->count[0][up] || !c->count[1][up])
			continue;
		uint32_t node = copy_path(d, c, i);
		tide_diff_row *r = node ? tide__diff_row_of(d, TIDE_DIFF_CALL, node) : NULL;
		if (!r)
			return false;
		for (int side = 0; side < 2; side++) {
			r->count[side] = c->count[side][i];
			r->value[side] = d->out->timed ? c->total[side][i] : 0;
		}
	}
	return true;
}

tide_code tide__diff_add_calls(tide_differ *d)
{
	tide_flame_pair pair = { 0 };
	struct calls c = { .pair = &pair };
	const tide_flame *a = d->out->host[0], *b = d->out->host[1];
	if (!a || !b)
		return TIDE_OK;
	bool ok = tide__flame_pair_build(a, b, 0, TIDE_FLAME_DEEP, &pair) && add_up(&c) &&
		  add_paths(d, &c);
	for (int side = 0; side < 2; side++) {
		tide__free(c.count[side]);
		tide__free(c.total[side]);
	}
	tide__free(c.to);
	tide__flame_pair_free(&pair);
	return ok ? TIDE_OK : tide__nomem(d->err);
}
