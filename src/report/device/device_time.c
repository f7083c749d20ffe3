// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* kernels --by shape, module, category, stack: device time by what launched it. */
#include "analyze/ops/device_time.h"

#include <string.h>

#include "analyze/common/short_names.h"
#include "analyze/device/op_category.h"
#include "base/mem.h"
#include "model/names.h"
#include "report/device/hta.h"

struct device_time {
	const tide_model *m;
	tide_device_time x;
	char window[80];
	size_t top;
};

static tide_device_by by_of(const tide_value *v)
{
	return (tide_device_by)(v[TIDE_KERNELS_BY].num - TIDE_KERNELS_BY_SHAPE);
}

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct device_time *r = result;
	tide_hta_options opt;
	tide_steps steps = { 0 };
	tide_span_window w;
	tide_gpu_rows rows = { 0 };
	r->m = ask->models[0];
	r->top = (size_t)ask->opt[TIDE_KERNELS_TOP].num;
	tide_code rc = tide__hta_read_options(ask, &opt, r->window, sizeof r->window, err);
	if (rc == TIDE_OK)
		rc = tide__steps_find_named(r->m, &steps, err);
	if (rc == TIDE_OK)
		rc = tide__window_resolve(&steps, &opt.window, &w, err);
	if (rc == TIDE_OK)
		rc = tide__gpu_rows_find(r->m, &steps, &w, opt.custom, opt.n_custom, &rows, err);
	if (rc == TIDE_OK)
		rc = tide__find_device_time(r->m, &rows, by_of(ask->opt), &r->x, err);
	tide__gpu_rows_free(&rows);
	tide__steps_free(&steps);
	return rc;
}

/* ---- the tables ---- */

#define COL(key, heading, kind, text)                           \
	{                                                       \
		key, heading, TIDE_KIND_##kind, .meaning = text \
	}
#define MAY(key, heading, kind, text)                                                    \
	{                                                                                \
		key, heading, TIDE_KIND_##kind, .may = TIDE_MAY_BE_NULL, .meaning = text \
	}
#define DROP(key, heading, kind, text)                                    \
	{                                                                 \
		key, heading, TIDE_KIND_##kind, 5, TIDE_MAY_BE_NULL, text \
	}
#define FIGURES                                                                                    \
	MAY("pct", "Share", PCT, "share of the time of all rows"),                                 \
		COL("sum_ns", "Total", NS, "sum of the durations of its device rows"),             \
		COL("count", "Rows", COUNT, "its device rows"),                                    \
		DROP("mean_ns", "Mean", NS, "mean duration"), MAY("min_ns", NULL, NS, "shortest"), \
		MAY("max_ns", NULL, NS, "longest")
#define PASSES_OF                                                                         \
	COL("forward_ns", "Forward", NS, "part launched outside the backward pass"),      \
		COL("backward_ns", "Backward", NS, "part launched in the backward pass"), \
		COL("recompute_ns", "Recompute", NS,                                      \
		    "part launched by calls of modules that "                             \
		    "are repeated in the backward pass")

static const tide_member shapes[] = {
	FIGURES,
	COL("calls", "Calls", COUNT, "ops that launched them"),
	COL("op", "Op", NAME, "the innermost op around the launch"),
	MAY("shapes", "Shapes", TEXT, "shapes of its inputs"),
	MAY("dtypes", "Types", TEXT, "dtypes of its inputs"),
	MAY("strides", NULL, TEXT, "strides of its inputs"),
	{ 0 },
};
static const tide_member modules[] = {
	FIGURES,
	PASSES_OF,
	COL("module", "Module", NAME,
	    "the innermost module around the launch, or around the "
	    "forward op of a backward op"),
	{ 0 },
};
static const tide_member categories[] = {
	FIGURES,
	PASSES_OF,
	COL("category", "Category", TEXT, "the kind of work"),
	{ 0 },
};
static const tide_member stacks[] = {
	FIGURES,
	COL("stack", "Stack", NAME,
	    "spans or frames around the launch, outermost first, with ';' between them"),
	{ 0 },
};

static const struct table {
	const char *key;
	const tide_member *columns;
} tables[] = {
	[TIDE_DEVICE_BY_SHAPE] = { "shapes", shapes },
	[TIDE_DEVICE_BY_MODULE] = { "modules", modules },
	[TIDE_DEVICE_BY_CATEGORY] = { "categories", categories },
	[TIDE_DEVICE_BY_STACK] = { "stacks", stacks },
};

/* ---- cells ---- */

static void put_text(tide_grid *g, const tide_model *m, tide_str s)
{
	size_t n;
	const char *text = tide__text(m, s, &n);
	s.i ? tide__grid_textn(g, text, n) : tide__grid_none(g);
}

static void put_name(tide_grid *g, const tide_model *m, tide_str name,
		     const tide_short_names *names, bool module)
{
	char brief[TIDE_SHORT_NAME];
	size_t n;
	const char *text = tide__text(m, name, &n);
	if (names && module)
		tide__grid_textn(g, brief, tide__short_module(names, name, false, brief));
	else if (module)
		tide__grid_text(g, tide__module_text(m, name));
	else
		tide__grid_textn(g, text, n);
}

/* A text that is built from its end: the innermost name comes first. */
enum { STACK_BYTES = 4096 };
struct stack_text {
	char text[STACK_BYTES];
	size_t at;
};

/* Returns false if the name does not fit: "..." is then in its place. */
static bool put_front(struct stack_text *x, const char *s, size_t n)
{
	bool inner = x->at == STACK_BYTES, fits = n + 5 < x->at;
	if (!inner && x->at)
		x->text[--x->at] = ';';
	if (!fits) {
		s = "...";
		n = 3;
	}
	memcpy(x->text + (x->at -= n), s, n);
	return fits;
}

static void put_stack(tide_grid *g, const struct device_time *r, const tide_device_group *o)
{
	struct stack_text *x = tide__alloc(1, sizeof *x);
	char frame[512];
	size_t n;
	bool fits = x != NULL;
	if (fits)
		x->at = STACK_BYTES;
	for (tide_stack_id s = o->stack; fits && s.i; s = r->m->stacks.parent[s.i]) {
		tide__frame_name(r->m, r->m->stacks.frame[s.i], frame, sizeof frame);
		fits = put_front(x, frame, strlen(frame));
	}
	for (uint32_t node = o->node; fits && node; node = r->x.paths.parent[node]) {
		const char *name = tide__text(r->m, r->x.paths.name[node], &n);
		fits = n ? put_front(x, name, n) : put_front(x, "(unnamed)", 9);
	}
	if (x)
		tide__grid_textn(g, x->text + x->at, STACK_BYTES - x->at);
	else
		tide__grid_none(g);
	tide__free(x);
}

static void put_figures(tide_grid *g, const struct device_time *r, const tide_device_group *o)
{
	int64_t sum = tide__stat_sum(&o->dur);
	tide__grid_real(g, tide__share_pct(sum, r->x.ns));
	tide__grid_int(g, sum);
	tide__grid_uint(g, o->dur.n);
	tide__grid_int(g, tide__stat_mean(&o->dur));
	tide__grid_int(g, o->dur.min);
	tide__grid_int(g, o->dur.max);
}

static void put_row(tide_grid *g, const struct device_time *r, const tide_device_group *o,
		    const tide_short_names *names)
{
	const tide_model *m = r->m;
	tide_device_by by = r->x.by;
	put_figures(g, r, o);
	for (int p = 0;
	     (by == TIDE_DEVICE_BY_MODULE || by == TIDE_DEVICE_BY_CATEGORY) && p < TIDE_PASSES; p++)
		tide__grid_int(g, o->pass_ns[p]);
	if (by == TIDE_DEVICE_BY_SHAPE)
		tide__grid_uint(g, o->calls);
	if (by == TIDE_DEVICE_BY_CATEGORY)
		tide__grid_text(g, tide__op_category_text[o->category]);
	else if (o->place != TIDE_LAUNCHED_IN)
		tide__grid_text(g, o->place == TIDE_LAUNCH_UNKNOWN ? "(launch not in the trace)"
				   : by == TIDE_DEVICE_BY_SHAPE	   ? "(outside any op)"
				   : by == TIDE_DEVICE_BY_MODULE   ? "(outside any module)"
								   : "(no stack)");
	else if (by == TIDE_DEVICE_BY_STACK)
		put_stack(g, r, o);
	else
		put_name(g, m, o->name, names, by == TIDE_DEVICE_BY_MODULE);
	if (by != TIDE_DEVICE_BY_SHAPE)
		return;
	put_text(g, m, o->dims);
	put_text(g, m, o->types);
	put_text(g, m, o->strides);
}

static tide_grid *rows(const struct device_time *r, const tide_short_names *names)
{
	const tide_member *columns = tables[r->x.by].columns;
	tide_grid *g = tide__grid_new(columns, tide__member_count(columns));
	for (size_t i = 0; i < r->x.n && (!r->top || i < r->top); i++)
		put_row(g, r, &r->x.v[i], names);
	if (tide__grid_failed(g)) {
		tide__grid_free(g);
		g = NULL;
	}
	return g;
}

static bool any_shape(const tide_device_time *x)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->v[i].dims.i)
			return true;
	return false;
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct device_time *r = result;
	tide_short_names names;
	bool brief = tide__short_names_init(&names, r->m) && !to->style.full_names;
	tide_grid *g = rows(r, brief ? &names : NULL);
	tide__short_names_free(&names);
	if (!g)
		return TIDE_ENOMEM;
	if (!r->x.n)
		fputs("The trace has no device rows.\n", to->out);
	else
		tide__grid_print(g, to->out, &to->style, 0);
	if (r->x.n > tide__grid_rows(g))
		fprintf(to->out, "(%zu more)\n", r->x.n - tide__grid_rows(g));
	if (r->x.n && r->x.by == TIDE_DEVICE_BY_SHAPE && !any_shape(&r->x))
		fputs("The trace has no shapes: torch.profiler records them with "
		      "record_shapes=True.\n",
		      to->out);
	tide__put_model_losses(to, r->m);
	tide__grid_free(g);
	return TIDE_OK;
}

static tide_code write_json(void *result, tide_json *j)
{
	struct device_time *r = result;
	tide_grid *g = rows(r, NULL);
	if (!g)
		return TIDE_ENOMEM;
	tide__grid_write_member(g, j, tables[r->x.by].key);
	tide__json_kstr(j, "window", r->window);
	tide__json_kuint(j, "rows", r->x.rows);
	tide__json_kint(j, "sum_ns", r->x.ns);
	tide__json_kuint(j, "groups", r->x.n);
	tide__losses_json(j, r->m);
	return TIDE_OK;
}

static void free_result(void *result)
{
	tide__device_time_free(&((struct device_time *)result)->x);
}

/* A report for each word: they differ in their table. */
#define REPORT(word, key, columns, wants_, what_)                                                 \
	static const tide_member word##_members[] = {                                             \
		TIDE_MEMBER_OF(key, TABLE, columns, what_),                                       \
		TIDE_MEMBER("window", TEXT, "the given window: all, drop-last-step, steps A..B"), \
		TIDE_MEMBER("rows", COUNT, "device rows"),                                        \
		TIDE_MEMBER("sum_ns", NS, "sum of their durations, and of the groups"),           \
		TIDE_MEMBER("groups", COUNT, "groups, also those beyond --top"),                  \
		TIDE_MEMBERS_LOSSES,                                                              \
		{ 0 },                                                                            \
	};                                                                                        \
	const tide_report_type tide__report_kernels_by_##word = {                                 \
		.name = "kernels-by-" #word,                                                      \
		.group = TIDE_GROUP_TIME,                                                         \
		.want = wants_,                                                                   \
		TIDE_REPORT_OPTIONS(tide__kernels_options),                                       \
		.members = word##_members,                                                        \
		.version = 1,                                                                     \
		.size = sizeof(struct device_time),                                               \
		.find = find,                                                                     \
		.json = write_json,                                                               \
		.text = write_text,                                                               \
		.free = free_result,                                                              \
	};

REPORT(shape, "shapes", shapes, TIDE_WANT_SPANS | TIDE_WANT_SHAPES, "by op and its arguments")
REPORT(module, "modules", modules, TIDE_WANT_SPANS | TIDE_WANT_FLOWS, "by module")
REPORT(category, "categories", categories, TIDE_WANT_SPANS | TIDE_WANT_FLOWS, "by kind of work")
REPORT(stack, "stacks", stacks, TIDE_WANT_SPANS, "by stack")
