// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* kernels --counters: hardware counters of kernels, with the ops that launched them. */
#include "analyze/device/hw_counters.h"

#include <inttypes.h>

#include "analyze/common/span_args.h"
#include "report/device/hta.h"

enum { DEEP = 64 };

/* Finds the ops around a span, outermost first; at most the DEEP innermost ones. */
static size_t ops_around(const tide_model *m, tide_span_id s, uint32_t out[DEEP])
{
	size_t n = 0;
	for (uint32_t p = m->spans.parent[s.i].i; p && n < DEEP; p = m->spans.parent[p].i)
		if (m->spans.cat[p] == TIDE_CAT_OP)
			out[n++] = p;
	for (size_t i = 0; i < n / 2; i++) {
		uint32_t x = out[i];
		out[i] = out[n - 1 - i];
		out[n - 1 - i] = x;
	}
	return n;
}

static void json_text(tide_json *j, const tide_model *m, tide_str s)
{
	size_t n;
	const char *text = tide__text(m, s, &n);
	tide__json_strn(j, text, n);
}

static void json_metrics(tide_json *j, const tide_model *m, tide_span_id s)
{
	tide__json_kobject(j, "counters");
	for (size_t i = tide__attr_first(m, s.i); i < m->attrs.n && m->attrs.span[i].i == s.i;
	     i++) {
		tide__json_key(j, tide__text(m, m->attrs.key[i], NULL));
		m->attrs.text[i].i ? json_text(j, m, m->attrs.text[i])
				   : tide__json_int(j, m->attrs.number[i]);
	}
	tide__json_object_end(j);
}

static void json_row(tide_json *j, const tide_model *m, const tide_hwcounter *h)
{
	uint32_t ops[DEEP];
	size_t n = h->launch.i ? ops_around(m, h->launch, ops) : 0;
	tide__json_object(j);
	tide__json_key(j, "name");
	json_text(j, m, m->spans.name[h->range.i]);
	tide__json_kint(j, "start_ns", m->spans.t0[h->range.i]);
	tide__json_kint(j, "duration_ns", m->spans.t1[h->range.i] - m->spans.t0[h->range.i]);
	tide__json_key(j, "op_stack"); /* outermost first; empty when the launch is unknown */
	tide__json_array(j);
	for (size_t i = 0; i < n; i++)
		json_text(j, m, m->spans.name[ops[i]]);
	tide__json_array_end(j);
	json_metrics(j, m, h->range);
	tide__json_object_end(j);
}

struct counters {
	const tide_model *m;
	tide_hwcounters h;
	const char *file;
	size_t top;
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct counters *x = result;
	x->m = ask->models[0];
	x->file = tide__ask_file(ask, 0);
	x->top = (size_t)ask->opt[TIDE_KERNELS_TOP].num;
	return tide__find_counters(x->m, &x->h, err);
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct counters *x = result;
	const tide_model *m = x->m;
	const tide_hwcounters *h = &x->h;
	static const tide_grid_col cols[] = {
		{ "", "Duration", TIDE_CELL_NS },
		{ "", "Counters", TIDE_CELL_COUNT },
		{ "", "Op", TIDE_CELL_TEXT },
		{ "", "Kernel", TIDE_CELL_KERNEL },
	};
	tide_grid *g = tide__grid_new(cols, 4);
	for (size_t i = 0; i < h->n && (!x->top || i < x->top); i++) {
		uint32_t ops[DEEP], s = h->v[i].range.i;
		size_t n = h->v[i].launch.i ? ops_around(m, h->v[i].launch, ops) : 0, len,
		       metrics = 0;
		for (size_t k = tide__attr_first(m, h->v[i].range.i);
		     k < m->attrs.n && m->attrs.span[k].i == s; k++)
			metrics++;
		tide__grid_int(g, m->spans.t1[s] - m->spans.t0[s]);
		tide__grid_uint(g, metrics);
		const char *op = n ? tide__text(m, m->spans.name[ops[n - 1]], &len) : NULL;
		n ? tide__grid_textn(g, op, len) : tide__grid_none(g);
		const char *name = tide__text(m, m->spans.name[s], &len);
		tide__grid_textn(g, name, len);
	}
	if (h->n)
		tide__grid_print(g, to->out, &to->style, 0);
	else
		fprintf(to->out,
			"no hardware counters: the trace has no cuda_profiler_range rows\n");
	if (h->n && h->n != h->launches)
		fprintf(to->out, "ops unknown: %zu rows with counters, but %zu kernel launches\n",
			h->n, h->launches);
	tide__grid_free(g);
	tide__put_model_losses(to, m);
	return TIDE_OK;
}

static tide_code write_json(void *result, tide_json *j)
{
	struct counters *x = result;
	const tide_hwcounters *h = &x->h;
	tide__json_kstr(j, "trace", x->file);
	tide__json_kuint(j, "ranges", h->n);
	tide__json_kuint(j, "launches", h->launches);
	tide__json_kbool(j, "matched", h->n && h->n == h->launches);
	tide__json_karray(j, "kernels");
	for (size_t i = 0; i < h->n && (!x->top || i < x->top); i++)
		json_row(j, x->m, &h->v[i]);
	tide__json_array_end(j);
	tide__losses_json(j, x->m);
	return TIDE_OK;
}

static void free_counters(void *result)
{
	tide__hwcounters_free(&((struct counters *)result)->h);
}

static const tide_member op = TIDE_MEMBER("", TEXT, "an op");
static const tide_member counter = TIDE_MEMBER_MAYBE("", ANY, "number or text");
static const tide_member kernel[] = {
	TIDE_MEMBER("name", TEXT, "name of the kernel"),
	TIDE_MEMBER("start_ns", AT, "start"),
	TIDE_MEMBER("duration_ns", NS, "duration"),
	TIDE_MEMBER_OF("op_stack", LIST, &op,
		       "ops around the launch, outermost first; empty if it is unknown"),
	TIDE_MEMBER_OF("counters", MAP, &counter, "counters by name, as the trace has them"),
	{ 0 },
};
static const tide_member members[] = {
	TIDE_MEMBER("trace", TEXT, "name of the trace"),
	TIDE_MEMBER("ranges", COUNT, "rows with counters"),
	TIDE_MEMBER("launches", COUNT, "launches of kernels"),
	TIDE_MEMBER("matched", BOOL, "as many: ops are known"),
	TIDE_MEMBER_OF("kernels", TABLE, kernel, "kernels with counters"),
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_counters = {
	.name = "counters",
	.group = TIDE_GROUP_TIME,
	.want = TIDE_WANT_SPANS,
	TIDE_REPORT_OPTIONS(tide__kernels_options),
	.members = members,
	.version = 1,
	.size = sizeof(struct counters),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_counters,
};
