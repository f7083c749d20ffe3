// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Ops form a tree on each lane (innermost_op.h), in which the ops inside one are neighbours: an op is
 * inside another if its span is not beyond the last span of that one's tree. */
#include "analyze/ops/op_shapes.h"

#include "analyze/common/innermost_op.h"
#include "analyze/common/interval_set.h"
#include "analyze/common/statistics.h"
#include "base/error.h"
#include "base/mem.h"

struct work {
	const tide_model *m;
	tide_op_shapes *out;
	uint32_t *op_of, *last; /* per span: the op around it; the last span in it */
	int64_t *all;		/* per op: device time launched in it */
	tide_arguments arguments;
	tide_map outer; /* (lane, set) -> the last op that counted */
	size_t cap;
};

static bool is_op(const struct work *w, uint32_t i)
{
	return w->m->spans.cat[i] == TIDE_CAT_OP;
}

static tide_op_shape *row_of(struct work *w, uint32_t span)
{
	tide_op_shapes *x = w->out;
	const tide_argument_set *a = tide__arguments_of(&w->arguments, span);
	if (!a)
		return NULL;
	size_t at = (size_t)(a - w->arguments.v);
	if (at == x->n) {
		if (!TIDE_ROOM(x->v, w->cap, x->n + 1))
			return NULL;
		x->v[x->n++] = (tide_op_shape){ .a = *a };
	}
	return &x->v[at];
}

static void find_trees(struct work *w)
{
	for (uint32_t i = (uint32_t)w->m->spans.n; i-- > 1;) {
		if (!is_op(w, i))
			continue;
		uint32_t up = w->op_of[i];
		w->last[i] = w->last[i] ? w->last[i] : i;
		w->last[up] = w->last[up] > w->last[i] ? w->last[up] : w->last[i];
		w->all[up] = tide__add_sat(w->all[up], w->all[i]);
	}
}

/* Adds each device row to the op that launched it. */
static bool add_rows(struct work *w)
{
	const tide_spans *s = &w->m->spans;
	for (uint32_t i = 1; i < s->n; i++) {
		if (!tide__cat_is_gpu(s->cat[i]))
			continue;
		int64_t ns = tide__span_end(w->m, i) - s->t0[i];
		uint32_t op = w->op_of[tide__launched_by(w->m, i)];
		w->out->device = true;
		w->out->device_ns = tide__add_sat(w->out->device_ns, ns);
		if (!op || !is_op(w, op)) {
			w->out->outside_ns = tide__add_sat(w->out->outside_ns, ns);
			continue;
		}
		tide_op_shape *r = row_of(w, op);
		if (!r)
			return false;
		r->rows++;
		r->device_self_ns = tide__add_sat(r->device_self_ns, ns);
		w->all[op] = tide__add_sat(w->all[op], ns);
	}
	return true;
}

static bool add_ops(struct work *w)
{
	const tide_spans *s = &w->m->spans;
	for (uint32_t i = 1; i < s->n; i++) {
		tide_op_shape *r = is_op(w, i) ? row_of(w, i) : NULL;
		if (!is_op(w, i))
			continue;
		if (!r)
			return false;
		uint64_t key = (uint64_t)s->lane[i].i << 32 | (uint32_t)(r - w->out->v);
		uint32_t outer = tide__map_get(&w->outer, key);
		if (outer && i <= w->last[outer])
			continue;
		if (!tide__map_put(&w->outer, key, i))
			return false;
		r->calls++;
		r->wall_ns = tide__add_sat(r->wall_ns, tide__span_end(w->m, i) - s->t0[i]);
		r->device_ns = tide__add_sat(r->device_ns, w->all[i]);
	}
	return true;
}

tide_code tide__find_op_shapes(const tide_model *m, tide_op_shapes *out, tide_error *err)
{
	struct work w = { .m = m, .out = out };
	*out = (tide_op_shapes){ 0 };
	w.op_of = tide__innermost_ops_find(m);
	w.last = tide__calloc(m->spans.n, sizeof *w.last);
	w.all = tide__calloc(m->spans.n, sizeof *w.all);
	bool ok = w.op_of && w.last && w.all && tide__arguments_begin(&w.arguments, m) &&
		  add_rows(&w);
	if (ok) {
		find_trees(&w);
		ok = add_ops(&w);
	}
	tide__free(w.op_of);
	tide__free(w.last);
	tide__free(w.all);
	tide__arguments_end(&w.arguments);
	tide__map_free(&w.outer);
	return ok ? TIDE_OK : tide__nomem(err);
}

void tide__op_shapes_free(tide_op_shapes *x)
{
	tide__free(x->v);
	*x = (tide_op_shapes){ 0 };
}
