// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/ops/device_time.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/common/innermost_op.h"
#include "analyze/common/interval_set.h"
#include "analyze/device/op_category.h"
#include "analyze/ops/op_arguments.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"

struct work {
	const tide_model *m;
	tide_device_time *out;
	uint32_t *op_of;   /* per span: the op in which it began */
	uint8_t *category; /* per span: of the work launched there */
	uint8_t *kernel;   /* per name: its category as a kernel + 1; 0 = not yet */
	uint8_t *seen;	   /* per span: its call was counted */
	tide_modules modules;
	tide_arguments arguments;
	tide_map groups; /* key -> group + 1 */
};

/* ---- the group of a row: its key, and the fields that name it ---- */

static bool by_shape(struct work *w, uint32_t launch, uint64_t *key, tide_device_group *g)
{
	uint32_t op = w->op_of[launch];
	const tide_argument_set *a = op ? tide__arguments_of(&w->arguments, op) : NULL;
	if (op && !a)
		return false;
	g->place = op ? TIDE_LAUNCHED_IN : TIDE_LAUNCHED_OUTSIDE;
	if (a) {
		g->name = a->name;
		g->dims = a->dims;
		g->types = a->types;
		g->strides = a->strides;
		*key = (uint64_t)(a - w->arguments.v) + 1;
	}
	return true;
}

static bool by_module(struct work *w, uint32_t launch, uint64_t *key, tide_device_group *g)
{
	g->name = w->modules.of[launch];
	g->place = g->name.i ? TIDE_LAUNCHED_IN : TIDE_LAUNCHED_OUTSIDE;
	*key = g->name.i;
	return true;
}

static tide_stack_id stack_of(const tide_model *m, uint32_t span)
{
	for (; span; span = m->spans.parent[span].i)
		if (m->spans.stack[span].i)
			return m->spans.stack[span];
	return (tide_stack_id){ 0 };
}

static bool by_stack(struct work *w, uint32_t launch, uint64_t *key, tide_device_group *g)
{
	g->stack = stack_of(w->m, launch);
	if (!g->stack.i)
		g->node = tide__paths_add_span(&w->out->paths, w->m, w->m->spans.parent[launch]);
	g->place = g->stack.i || g->node ? TIDE_LAUNCHED_IN : TIDE_LAUNCHED_OUTSIDE;
	*key = g->stack.i ? (uint64_t)1 << 32 | g->stack.i : g->node;
	return g->node != TIDE_NO_PATH;
}

static unsigned kernel_category(struct work *w, tide_str name)
{
	if (!w->kernel[name.i])
		w->kernel[name.i] =
			(uint8_t)(1 + tide__op_category_of_kernel(tide__text(w->m, name, NULL)));
	return w->kernel[name.i] - 1u;
}

/* A row without a known launch has a category, too: the group is complete. */
static bool by_category(struct work *w, uint32_t launch, uint32_t span, unsigned type,
			uint64_t *key, tide_device_group *g)
{
	unsigned c = type == TIDE_GPU_COMM     ? TIDE_OPS_OF_COMMUNICATION
		     : type == TIDE_GPU_MEMORY ? TIDE_OPS_OF_COPY
		     : w->category[launch]     ? w->category[launch]
					       : kernel_category(w, w->m->spans.name[span]);
	g->category = (uint8_t)c;
	*key = c;
	return true;
}

static bool find_group(struct work *w, const tide_gpu_rows *rows, size_t row, uint64_t *key,
		       tide_device_group *g)
{
	uint32_t span = rows->span[row], launch = tide__launched_by(w->m, span);
	*g = (tide_device_group){ .place = TIDE_LAUNCHED_IN };
	*key = 0;
	if (w->out->by == TIDE_DEVICE_BY_CATEGORY)
		return by_category(w, launch, span, rows->type[row], key, g);
	if (!launch) {
		g->place = TIDE_LAUNCH_UNKNOWN;
		*key = UINT64_MAX;
		return true;
	}
	if (w->out->by == TIDE_DEVICE_BY_SHAPE)
		return by_shape(w, launch, key, g);
	return w->out->by == TIDE_DEVICE_BY_MODULE ? by_module(w, launch, key, g)
						   : by_stack(w, launch, key, g);
}

/* ---- sums ---- */

static tide_device_group *group_of(struct work *w, uint64_t key, const tide_device_group *g)
{
	tide_device_time *x = w->out;
	uint32_t at = tide__map_get(&w->groups, key);
	if (at)
		return &x->v[at - 1];
	if (!TIDE_ROOM(x->v, x->cap, x->n + 1) ||
	    !tide__map_put(&w->groups, key, (uint32_t)x->n + 1))
		return NULL;
	x->v[x->n] = *g;
	return &x->v[x->n++];
}

/* A row whose launch is unknown counts as forward, as everything outside a backward pass. */
static bool add_row(struct work *w, const tide_gpu_rows *rows, size_t row)
{
	tide_device_group key_of, *g;
	uint64_t key;
	uint32_t span = rows->span[row], launch = tide__launched_by(w->m, span);
	uint32_t op = w->op_of[launch];
	int64_t ns = tide__span_end(w->m, span) - w->m->spans.t0[span];
	if (!find_group(w, rows, row, &key, &key_of) || !(g = group_of(w, key, &key_of)))
		return false;
	tide__stat_add(&g->dur, ns);
	w->out->rows++;
	w->out->ns = tide__add_sat(w->out->ns, ns);
	if (w->modules.pass) {
		int64_t *part = &g->pass_ns[w->modules.pass[launch]];
		*part = tide__add_sat(*part, ns);
	}
	if (w->seen && op && !w->seen[op]) {
		w->seen[op] = 1;
		g->calls++;
	}
	return true;
}

static int most_first(const void *a, const void *b)
{
	const tide_device_group *x = a, *y = b;
	for (int i = 1; i >= 0; i--)
		if (x->dur.sum[i] != y->dur.sum[i])
			return x->dur.sum[i] > y->dur.sum[i] ? -1 : 1;
	if (x->dur.n != y->dur.n)
		return x->dur.n > y->dur.n ? -1 : 1;
	const uint32_t p[] = { x->place,   x->category,	 x->name.i,  x->dims.i,
			       x->types.i, x->strides.i, x->stack.i, x->node },
		       q[] = { y->place,   y->category,	 y->name.i,  y->dims.i,
			       y->types.i, y->strides.i, y->stack.i, y->node };
	for (size_t i = 0; i < sizeof p / sizeof *p; i++)
		if (p[i] != q[i])
			return p[i] < q[i] ? -1 : 1;
	return 0;
}

static bool prepare(struct work *w, tide_error *err, tide_code *rc)
{
	const tide_model *m = w->m;
	tide_device_by by = w->out->by;
	w->op_of = tide__innermost_ops_find(m);
	bool ok = w->op_of && tide__paths_init(&w->out->paths);
	w->out->paths.no_overhead = true;
	if (ok && by == TIDE_DEVICE_BY_SHAPE) {
		w->seen = tide__calloc(m->spans.n, 1);
		ok = w->seen && tide__arguments_begin(&w->arguments, m);
	}
	if (ok && (by == TIDE_DEVICE_BY_CATEGORY || by == TIDE_DEVICE_BY_MODULE))
		*rc = tide__modules_find_passes(m, &w->modules, err);
	if (ok && by == TIDE_DEVICE_BY_CATEGORY) {
		w->category = tide__op_categories_find(m, w->op_of);
		w->kernel = tide__calloc((size_t)tide__strings_count(m->strings) + 1, 1);
		ok = w->category && w->kernel;
	}
	return ok && *rc == TIDE_OK;
}

tide_code tide__find_device_time(const tide_model *m, const tide_gpu_rows *rows, tide_device_by by,
				 tide_device_time *out, tide_error *err)
{
	struct work w = { .m = m, .out = out };
	tide_code rc = TIDE_OK;
	*out = (tide_device_time){ .by = by };
	bool ok = prepare(&w, err, &rc);
	for (size_t i = 0; ok && i < rows->n; i++)
		ok = add_row(&w, rows, i);
	if (ok && out->n)
		qsort(out->v, out->n, sizeof *out->v, most_first);
	tide__free(w.op_of);
	tide__free(w.category);
	tide__free(w.kernel);
	tide__free(w.seen);
	tide__modules_free(&w.modules);
	tide__arguments_end(&w.arguments);
	tide__map_free(&w.groups);
	return ok || rc != TIDE_OK ? rc : tide__nomem(err);
}

void tide__device_time_free(tide_device_time *x)
{
	tide__free(x->v);
	tide__paths_free(&x->paths);
	*x = (tide_device_time){ 0 };
}
