// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* leaks: what holds more memory after every step. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/memory/leaks.h"
#include "base/mem.h"
#include "cli/select.h"
#include "render/text/out.h"
#include "cli/options.h"

enum { O_BY, O_EVERY, O_TOP, O_DEVICE, O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_BY] = { "group-by", 'g', TIDE_OPT_ENUM, "op,stack,role,pool,stream,size,frame",
		   "what to follow (default stack; else op, role or size)" },
	[O_EVERY] = { "every", 'e', TIDE_OPT_TEXT, "TIME",
		      "look at even distances, e.g. 500ms or 5%, instead of the trace's steps" },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "rows to show, 0 = all", .def = "20" },
	[O_DEVICE] = TIDE_OPTION_DEVICE,
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};

enum {
	MOST_POINTS = 1000,
	MOST_SERIES = 100
}; /* longer series, and those of more rows, are null */

static const tide_group_by choices[] = { TIDE_BY_OP,	 TIDE_BY_STACK, TIDE_BY_ROLE, TIDE_BY_POOL,
					 TIDE_BY_STREAM, TIDE_BY_SIZE,	TIDE_BY_FRAME };

struct answer {
	const tide_model *m;
	uint32_t device;
	tide_leaks l;
	size_t top;
};

static void name_of(const struct answer *x, const tide_leak *k, char *buf, size_t n)
{
	tide_group row = { .key = k->key };
	tide_groups g = x->l.groups; /* borrowed: one row to name */

	g.rows = &row;
	g.n = 1;
	tide__group_line(&g, x->m, 0, buf, n);
}

static const tide_grid_col cols[] = {
	{ "slope_bytes_per_step", "Per step", TIDE_CELL_BYTES },
	{ "first_bytes", "After step 1", TIDE_CELL_BYTES, 7 },
	{ "last_bytes", "After the last", TIDE_CELL_BYTES },
	{ "growth_bytes", "Growth", TIDE_CELL_DELTA },
	{ "last_count", "Allocations", TIDE_CELL_COUNT },
	{ "rose", "Rose", TIDE_CELL_COUNT, 8 },
	{ "fell", "Fell", TIDE_CELL_COUNT, 8 },
	{ "key", "Made by", TIDE_CELL_TEXT },
};

static void leak_row(tide_grid *g, const struct answer *x, const tide_leak *k, const char *name)
{
	char text[600];

	if (!name) {
		name_of(x, k, text, sizeof text);
		name = text;
	}
	tide__grid_int(g, (int64_t)llround(k->slope));
	tide__grid_uint(g, k->first);
	tide__grid_uint(g, k->last);
	tide__grid_int(g, (int64_t)k->last - (int64_t)k->first);
	tide__grid_uint(g, k->last_count);
	tide__grid_uint(g, k->up);
	tide__grid_uint(g, k->down);
	tide__grid_text(g, name);
}

/* ---- text ---- */

static void print_unknown(const tide_args *a, const struct answer *x)
{
	if (!x->l.beats.n)
		fputs("The trace has no steps: no step marks, ProfilerStep ranges or a range that "
		      "comes back at least three times.\n"
		      "Growth over steps cannot be told; --every 5% looks at even distances "
		      "instead.\n",
		      a->out);
	else
		fprintf(a->out,
			"The trace has %zu step%s (%s); growth needs three. --every 5%% looks at "
			"even distances instead.\n",
			x->l.beats.n, x->l.beats.n == 1 ? "" : "s",
			tide__beat_source_text(x->l.beats.source));
}

/* No group is listed: the device as a whole, by the same rule. */
static void print_none(const tide_args *a, const tide_leaks *l)
{
	const tide_leak *t = &l->total;
	size_t half = (l->beats.n + 1) / 2;
	char b[3][32];

	fprintf(a->out,
		"Nothing grows in both halves of the run, which is what is listed: the device "
		"holds %s after step 1, %s after step %zu, %s after step %zu.\n",
		tide__fmt_bytes(b[0], sizeof b[0], (double)t->first),
		tide__fmt_bytes(b[1], sizeof b[1], (double)t->middle), half,
		tide__fmt_bytes(b[2], sizeof b[2], (double)t->last), l->beats.n);
	if (t->middle > t->first && t->last <= t->middle)
		fprintf(a->out, "It grew up to step %zu only: something made once does.\n", half);
	else if (t->last > t->middle && t->middle <= t->first)
		fprintf(a->out,
			"It grew after step %zu only: something made once does, and so does a leak "
			"that began there; a longer recording tells.\n",
			half);
}

static void print_text(const tide_args *a, const struct answer *x)
{
	const tide_leaks *l = &x->l;
	char name[64], b[32], source[160];

	if (!l->known) {
		print_unknown(a, x);
		tide__cli_losses(a, x->m);
		return;
	}
	tide__device_name(x->m, x->device, name, sizeof name);
	snprintf(source, sizeof source, "%s", tide__beat_source_text(l->beats.source));
	if (l->beats.name.i)
		snprintf(source, sizeof source, "%s: %s", tide__beat_source_text(l->beats.source),
			 tide__text(x->m, l->beats.name, NULL));
	tide__heading(&a->to, "%s: %s%s a step over %zu steps", name, l->total.slope < 0 ? "-" : "+",
		      tide__fmt_bytes(b, sizeof b, fabs(l->total.slope)), l->beats.n);
	fputs("steps from ", a->out);
	tide__put_text(&a->to, source);
	fputs("\n\n", a->out);
	if (!l->n) {
		print_none(a, l);
	} else {
		tide_grid *g = tide__grid_new(cols, sizeof cols / sizeof *cols);

		for (size_t i = 0; i < l->n && i < x->top; i++)
			leak_row(g, x, &l->v[i], NULL);
		tide__grid_out(g, &a->to, 2);
		if (l->n > x->top)
			fprintf(a->out, "  (%zu more)\n", l->n - x->top);
	}
	tide__cli_losses(a, x->m);
}

/* ---- JSON ---- */

static void json_series(tide_json *j, struct answer *x, const tide_leak *k)
{
	tide_error err;
	bool few = k - x->l.v < MOST_SERIES && x->l.beats.n <= MOST_POINTS;
	uint64_t *y = few ? tide__calloc(x->l.beats.n, sizeof *y) : NULL;

	if (!y || tide__leak_series(x->m, x->device, &x->l, k->key, y, &err) != TIDE_OK) {
		tide__json_knull(j, "bytes_after_step");
	} else {
		tide__json_karray(j, "bytes_after_step");
		for (size_t i = 0; i < x->l.beats.n; i++)
			tide__json_uint(j, y[i]);
		tide__json_array_end(j);
	}
	tide__free(y);
}

static void json_leak(tide_json *j, struct answer *x, const tide_leak *k, const char *name)
{
	char text[600];

	tide__json_object(j);
	if (!name)
		name_of(x, k, text, sizeof text);
	tide__json_kstr(j, "key", name ? name : text);
	tide__json_key(j, "slope_bytes_per_step");
	tide__json_double(j, k->slope);
	tide__json_kuint(j, "first_bytes", k->first);
	tide__json_kuint(j, "last_bytes", k->last);
	tide__json_kint(j, "growth_bytes", (int64_t)k->last - (int64_t)k->first);
	tide__json_kuint(j, "last_count", k->last_count);
	tide__json_kuint(j, "rose", k->up);
	tide__json_kuint(j, "fell", k->down);
	tide__json_kbool(j, "growing", k->growing);
	tide__json_kbool(j, "steady", k->steady);
	if (!name) {
		json_series(j, x, k);
		tide__stack_json(j, "stack", x->m, x->m->allocs.stack[k->alloc]);
	}
	tide__json_object_end(j);
}

static void print_json(const tide_args *a, struct answer *x)
{
	char name[64];
	tide_json j;

	tide__json_begin(&j, a->out, true);
	tide__json_object(&j);
	tide__json_kstr(&j, "device", tide__device_name(x->m, x->device, name, sizeof name));
	tide__json_kstr(&j, "steps_from", tide__beat_source_text(x->l.beats.source));
	tide__json_kstr(&j, "step_name",
			x->l.beats.name.i ? tide__text(x->m, x->l.beats.name, NULL) : NULL);
	tide__json_kuint(&j, "steps", x->l.beats.n);
	tide__json_kbool(&j, "known", x->l.known);
	tide__json_key(&j, "total");
	if (x->l.known)
		json_leak(&j, x, &x->l.total, "total");
	else
		tide__json_null(&j);
	tide__json_karray(&j, "growing");
	for (size_t i = 0; i < x->l.n && i < x->top; i++)
		json_leak(&j, x, &x->l.v[i], NULL);
	tide__json_array_end(&j);
	tide__json_kuint(&j, "growing_count", x->l.n);
	tide__losses_json(&j, x->m);
	tide__json_object_end(&j);
	tide__json_end(&j);
}

static int answer(const tide_args *a, struct answer *x)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	int64_t every = 0;

	if (a->opt[O_EVERY].set &&
	    (!tide__parse_time(a->opt[O_EVERY].text, x->m->t_end, &every) || every <= 0))
		return tide__cli_usage(a, "--every wants a time such as 500ms or 5%%, not '%.60s'",
				       a->opt[O_EVERY].text);
	tide_group_by by =
		a->opt[O_BY].set ? choices[a->opt[O_BY].num] : tide__groups_telling(x->m);

	if (tide__leaks(x->m, x->device, by, every, &x->l, &err) != TIDE_OK)
		return tide__cli_fail(a->files[0], &err);
	a->opt[O_JSON].set ? print_json(a, x) : print_text(a, x);
	return tide__cli_done(a);
}

static int run(const tide_args *a)
{
	struct answer x = { .top = a->opt[O_TOP].num > 0 ? (size_t)a->opt[O_TOP].num : SIZE_MAX };
	int rc;

	tide_model *m = tide__cli_load(a, a->files[0], TIDE_WANT_MEMORY | TIDE_WANT_SPANS);

	if (!m)
		return 1;
	x.m = m;
	if (tide__cli_one_device(a, &a->opt[O_DEVICE], m, &x.device, &rc))
		rc = answer(a, &x);
	tide__leaks_free(&x.l);
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_leaks = {
	.name = "leaks",
	.usage = "FILE [--every TIME] [--group-by WORD] [--device DEVICE] [--json]",
	.summary = "show what holds more memory after every step",
	.help = "Takes the live bytes of every call stack at the end of each step, fits a line "
		"through them "
		"and lists those that grow, steepest first. Steps are step marks, else "
		"ProfilerStep ranges, "
		"else a range that comes back at least three times; --every looks at even "
		"distances. What "
		"the first step leaves behind is no growth.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.run = run,
};
