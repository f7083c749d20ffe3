// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* modules: time and memory of each module of a model, forward and backward. */
#include "analyze/ops/modules.h"

#include <stdlib.h>

#include "base/mem.h"
#include "analyze/common/short_names.h"
#include "report/report.h"

typedef enum sort { ORDER, FORWARD, BACKWARD, ALLOC, CALLS, DEVICE } sort;
enum { O_SORT, O_TOP, O_CAPTURED };
static const tide_option options[] = {
	[O_SORT] = { "sort", 's', TIDE_OPT_ENUM, "order,forward,backward,alloc,calls,device",
		     "order of the rows (default: order, of the first call)",
		     TIDE_FIELD(tide_modules_options, sort) },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N",
		    "rows to show, 0 = all; JSON has all unless given", .def = "40", .whole = true,
		    TIDE_FIELD(tide_modules_options, top) },
	[O_CAPTURED] = TIDE_OPTION_CAPTURED,
};

struct modules {
	const tide_model *m;
	tide_modules x;
	sort sort;
	size_t top;
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct modules *r = result;
	r->m = ask->models[0];
	r->sort = (sort)ask->opt[O_SORT].num;
	r->top = (size_t)ask->opt[O_TOP].num;
	return tide__find_modules(r->m, &r->x, err);
}

/* ---- the table ---- */

#define MAYBE(key, heading, kind_, text)                                                  \
	{                                                                                 \
		key, heading, TIDE_KIND_##kind_, .may = TIDE_MAY_BE_NULL, .meaning = text \
	}
#define COLS(fwd, bwd, time, device, bytes)                                                       \
	{ "calls", "Calls", TIDE_KIND_COUNT, .meaning = "calls of the module" },                  \
		{ "forward_ns", "Forward", TIDE_KIND_NS, .meaning = "time of its calls" },        \
		MAYBE("backward_ns", "Backward", NS, "time of its backward ops"),                 \
		MAYBE("recompute_ns", time, NS, "time of calls repeated in backward"),            \
		MAYBE("forward_device_ns", fwd, NS, "device time that its calls launched"),       \
		MAYBE("backward_device_ns", bwd, NS,                                              \
		      "device time that its backward ops launched"),                              \
		MAYBE("recompute_device_ns", device, NS,                                          \
		      "device time that calls repeated in backward launched"),                    \
		MAYBE("backward_ops", NULL, COUNT, "its backward ops"),                           \
		MAYBE("recompute_calls", NULL, COUNT, "calls repeated in backward"),              \
		MAYBE("forward_alloc_bytes", "Fwd alloc", BYTES, "bytes allocated in its calls"), \
		MAYBE("backward_alloc_bytes", "Bwd alloc", BYTES,                                 \
		      "bytes allocated in its backward ops"),                                     \
		MAYBE("recompute_alloc_bytes", bytes, BYTES,                                      \
		      "bytes allocated in calls repeated in backward"),                           \
		{ "module", "Module", TIDE_KIND_NAME, .meaning = "name of the module" }, { 0 },

/* Columns of most models; with recomputation; the same for a trace with device rows. */
#define FWD	     "Fwd device"
#define BWD	     "Bwd device"
#define AGAIN	     "Recompute"
#define AGAIN_DEVICE "Recompute device"
#define AGAIN_ALLOC  "Recompute alloc"
static const tide_grid_col cols[] = { COLS(NULL, NULL, NULL, NULL, NULL) };
static const tide_grid_col again_cols[] = { COLS(NULL, NULL, AGAIN, NULL, AGAIN_ALLOC) };
static const tide_grid_col device_cols[] = { COLS(FWD, BWD, NULL, NULL, NULL) };
static const tide_grid_col all_cols[] = { COLS(FWD, BWD, AGAIN, AGAIN_DEVICE, AGAIN_ALLOC) };
enum { N_COLS = sizeof cols / sizeof *cols - 1 };

static bool any_again(const tide_modules *x)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->rows[i].again_calls)
			return true;
	return false;
}

static const tide_grid_col *columns(const tide_modules *x)
{
	if (any_again(x))
		return x->device ? all_cols : again_cols;
	return x->device ? device_cols : cols;
}

static uint64_t key_of(const tide_module_row *r, sort by)
{
	switch (by) {
	case FORWARD:
		return (uint64_t)r->forward_ns;
	case BACKWARD:
		return (uint64_t)r->backward_ns;
	case ALLOC:
		return r->forward_bytes + r->backward_bytes;
	case CALLS:
		return r->calls;
	case DEVICE:
		return (uint64_t)(r->forward_device_ns + r->backward_device_ns +
				  r->again_device_ns);
	default:
		return 0;
	}
}

struct item {
	uint64_t key;
	size_t row;
};

static int compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? 1 : -1;
	return x->row < y->row ? -1 : x->row > y->row;
}

static void put(tide_grid *g, bool known, uint64_t v)
{
	known ? tide__grid_uint(g, v) : tide__grid_none(g);
}

/* `names`: NULL = whole names, for JSON. */
static void put_row(tide_grid *g, const tide_model *m, const tide_modules *x,
		    const tide_module_row *r, const tide_short_names *names)
{
	char text[TIDE_SHORT_NAME];
	tide__grid_uint(g, r->calls);
	tide__grid_int(g, r->forward_ns);
	put(g, x->ops, (uint64_t)r->backward_ns);
	put(g, x->ops, (uint64_t)r->again_ns);
	put(g, x->device, (uint64_t)r->forward_device_ns);
	put(g, x->device && x->ops, (uint64_t)r->backward_device_ns);
	put(g, x->device && x->ops, (uint64_t)r->again_device_ns);
	put(g, x->ops, r->backward_ops);
	put(g, x->ops, r->again_calls);
	put(g, x->memory, r->forward_bytes);
	put(g, x->memory && x->ops, r->backward_bytes);
	put(g, x->memory && x->ops, r->again_bytes);
	if (names)
		tide__grid_textn(g, text, tide__short_module(names, r->name, false, text));
	else
		tide__grid_text(g, tide__module_text(m, r->name));
}

static tide_grid *rows(const struct modules *r, const tide_short_names *names)
{
	const tide_modules *x = &r->x;
	struct item *items = tide__alloc(x->n + 1, sizeof *items);
	tide_grid *g = tide__grid_new(columns(x), N_COLS);
	for (size_t i = 0; items && i < x->n; i++)
		items[i] = (struct item){ key_of(&x->rows[i], r->sort), i };
	if (items)
		qsort(items, x->n, sizeof *items, compare);
	for (size_t i = 0; items && i < x->n && (!r->top || i < r->top); i++)
		put_row(g, r->m, x, &x->rows[items[i].row], names);
	if (!items || tide__grid_failed(g)) {
		tide__grid_free(g);
		g = NULL;
	}
	tide__free(items);
	return g;
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct modules *r = result;
	tide_short_names names;
	bool brief = tide__short_names_init(&names, r->m) && !to->style.full_names;
	tide_grid *g = rows(r, brief ? &names : NULL);
	tide__short_names_free(&names);
	if (!g)
		return TIDE_ENOMEM;
	if (!r->x.n)
		fputs("The trace holds no modules.\n", to->out);
	else
		tide__grid_print(g, to->out, &to->style, 0);
	if (r->x.n && !r->x.memory)
		fputs(TIDE_NO_MEMORY_TEXT, to->out);
	if (r->x.n > tide__grid_rows(g))
		fprintf(to->out, "(%zu more)\n", r->x.n - tide__grid_rows(g));
	tide__put_model_losses(to, r->m);
	tide__grid_free(g);
	return TIDE_OK;
}

static tide_code write_json(void *result, tide_json *j)
{
	struct modules *r = result;
	tide_grid *g = rows(r, NULL);
	if (!g)
		return TIDE_ENOMEM;
	tide__json_kuint(j, "count", r->x.n);
	tide__grid_write_member(g, j, "modules");
	tide__losses_json(j, r->m);
	return TIDE_OK;
}

static void free_modules(void *result)
{
	tide__modules_free(&((struct modules *)result)->x);
}

static const tide_member members[] = {
	{ "count", NULL, TIDE_KIND_COUNT, .meaning = "modules that were called" },
	{ "modules", NULL, TIDE_KIND_TABLE, .members = cols, .meaning = "modules" },
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_modules = {
	.name = "modules",
	.group = TIDE_GROUP_TIME,
	.want = TIDE_WANT_SPANS | TIDE_WANT_MEMORY | TIDE_WANT_FLOWS,
	.summary = "show time and memory of each module of a model, forward and backward",
	.help = "Time and allocations of a module include those of the modules in it. A backward "
		"op counts for the modules around its forward op.",
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.struct_size = sizeof(tide_modules_options),
	.size = sizeof(struct modules),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_modules,
};
