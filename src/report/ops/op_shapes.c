// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* ops --by shape: calls, host time and device time of ops by their arguments. */
#include "analyze/ops/op_shapes.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/common/statistics.h"
#include "base/error.h"
#include "base/mem.h"
#include "report/ops/ops_write.h"
#include "report/report.h"

struct op_shapes {
	const tide_model *m;
	tide_op_shapes x;
	size_t *order; /* owned; rows, most time first */
	size_t top;
};

/* ---- the order: device time if the trace has it, then host time ---- */

static int more(int64_t a, int64_t b)
{
	return a == b ? 0 : a > b ? -1 : 1;
}

static int compare(const void *a, const void *b, void *user)
{
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	const tide_op_shape *v = user, *x = &v[i], *y = &v[k];
	int c = more(x->device_self_ns, y->device_self_ns);
	c = c ? c : more(x->device_ns, y->device_ns);
	c = c ? c : more(x->wall_ns, y->wall_ns);
	return c ? c : i < k ? -1 : i > k;
}

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct op_shapes *r = result;
	r->m = ask->models[0];
	r->top = (size_t)ask->opt[TIDE_OPS_O_TOP].num;
	tide_code rc = tide__find_op_shapes(r->m, &r->x, err);
	if (rc != TIDE_OK)
		return rc;
	r->order = tide__alloc(r->x.n, sizeof *r->order);
	if (!r->order)
		return tide__nomem(err);
	for (size_t i = 0; i < r->x.n; i++)
		r->order[i] = i;
	if (r->x.n)
		qsort_r(r->order, r->x.n, sizeof *r->order, compare, r->x.v);
	return TIDE_OK;
}

/* ---- the table ---- */

#define MAY(key, heading, kind, text)                                                    \
	{                                                                                \
		key, heading, TIDE_KIND_##kind, .may = TIDE_MAY_BE_NULL, .meaning = text \
	}
static const tide_member columns[] = {
	MAY("device_self_ns", "Device self", NS, "time of the device rows that it launched itself"),
	MAY("device_ns", "Device", NS, "time of the device rows that it and ops in it launched"),
	MAY("pct", "Share", PCT, "device_self_ns in percent of all device time"),
	{ "calls", "Calls", TIDE_KIND_COUNT, .meaning = "calls, without those in an equal one" },
	{ "wall_ns", "Host", TIDE_KIND_NS, 5, .meaning = "host time of these calls" },
	MAY("rows", NULL, COUNT, "device rows that it launched itself"),
	{ "op", "Op", TIDE_KIND_NAME, .meaning = "name of the op" },
	MAY("shapes", "Shapes", TEXT, "shapes of its inputs"),
	MAY("dtypes", "Types", TEXT, "dtypes of its inputs"),
	MAY("strides", NULL, TEXT, "strides of its inputs"),
	{ 0 },
};

static void put_text(tide_grid *g, const tide_model *m, tide_str s)
{
	size_t n;
	const char *text = tide__text(m, s, &n);
	s.i ? tide__grid_textn(g, text, n) : tide__grid_none(g);
}

static void put_device(tide_grid *g, const tide_op_shapes *x, int64_t v)
{
	x->device ? tide__grid_int(g, v) : tide__grid_none(g);
}

static tide_grid *rows(const struct op_shapes *r)
{
	tide_grid *g = tide__grid_new(columns, tide__member_count(columns));
	for (size_t i = 0; i < r->x.n && (!r->top || i < r->top); i++) {
		const tide_op_shape *o = &r->x.v[r->order[i]];
		size_t n;
		const char *name = tide__text(r->m, o->a.name, &n);
		put_device(g, &r->x, o->device_self_ns);
		put_device(g, &r->x, o->device_ns);
		tide__grid_real(g, tide__share_pct(o->device_self_ns, r->x.device_ns));
		tide__grid_uint(g, o->calls);
		tide__grid_int(g, o->wall_ns);
		put_device(g, &r->x, (int64_t)o->rows);
		tide__grid_textn(g, name, n);
		put_text(g, r->m, o->a.dims);
		put_text(g, r->m, o->a.types);
		put_text(g, r->m, o->a.strides);
	}
	if (tide__grid_failed(g)) {
		tide__grid_free(g);
		g = NULL;
	}
	return g;
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct op_shapes *r = result;
	tide_grid *g = rows(r);
	char b[32];
	if (!g)
		return TIDE_ENOMEM;
	if (!r->x.n)
		fputs("The trace holds no ops.\n", to->out);
	else
		tide__grid_print(g, to->out, &to->style, 0);
	if (r->x.n > tide__grid_rows(g))
		fprintf(to->out, "(%zu more)\n", r->x.n - tide__grid_rows(g));
	if (r->x.outside_ns)
		fprintf(to->out, "Device time outside any op: %s\n",
			tide__fmt_ns(b, sizeof b, (double)r->x.outside_ns));
	tide__put_model_losses(to, r->m);
	tide__grid_free(g);
	return TIDE_OK;
}

static tide_code write_json(void *result, tide_json *j)
{
	struct op_shapes *r = result;
	tide_grid *g = rows(r);
	if (!g)
		return TIDE_ENOMEM;
	tide__json_kuint(j, "count", r->x.n);
	if (r->x.device) {
		tide__json_kint(j, "device_ns", r->x.device_ns);
		tide__json_kint(j, "outside_ns", r->x.outside_ns);
	} else {
		tide__json_knull(j, "device_ns");
		tide__json_knull(j, "outside_ns");
	}
	tide__grid_write_member(g, j, "ops");
	tide__losses_json(j, r->m);
	return TIDE_OK;
}

static void free_result(void *result)
{
	struct op_shapes *r = result;
	tide__op_shapes_free(&r->x);
	tide__free(r->order);
}

static const tide_member members[] = {
	TIDE_MEMBER("count", COUNT, "ops with distinct arguments"),
	TIDE_MEMBER_MAYBE("device_ns", NS, "sum of the durations of all device rows"),
	TIDE_MEMBER_MAYBE("outside_ns", NS,
			  "part launched outside any op, or from an unknown place"),
	TIDE_MEMBER_OF("ops", TABLE, columns, "ops by their arguments"),
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_op_shapes = {
	.name = "op-shapes",
	.group = TIDE_GROUP_TIME,
	.want = TIDE_WANT_SPANS | TIDE_WANT_SHAPES,
	TIDE_REPORT_OPTIONS(tide__ops_options),
	.members = members,
	.version = 1,
	.size = sizeof(struct op_shapes),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_result,
};
