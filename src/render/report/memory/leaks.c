// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/memory/leaks.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "render/text/labels.h"

enum {
	MOST_POINTS = 1000,
	MOST_SERIES = 100
}; /* longer series, and those of more rows, are null */

static void name_of(const tide_leaks_view *x, const tide_leak *k, char *buf, size_t n)
{
	tide_group row = { .key = k->key };
	tide_groups g = x->l->groups; /* borrowed: one row to name */

	g.rows = &row;
	g.n = 1;
	tide__group_write_line(&g, x->m, 0, buf, n);
}

static const tide_grid_col cols[] = {
	{ "slope_bytes_per_step", "Per step", TIDE_CELL_BYTES },
	{ "first_bytes", "After step 1", TIDE_CELL_BYTES, 7 },
	{ "last_bytes", "After the last", TIDE_CELL_BYTES },
	{ "growth_bytes", "Growth", TIDE_CELL_DELTA },
	{ "last_count", "Allocations", TIDE_CELL_COUNT },
	{ "rose", "Rose", TIDE_CELL_COUNT, 8 },
	{ "fell", "Fell", TIDE_CELL_COUNT, 8 },
	{ "key", "Made by", TIDE_CELL_NAME },
};

/* Columns for equal intervals, which have no steps: the minimum of each interval counts. */
static const tide_grid_col interval_cols[] = {
	{ "slope_bytes_per_step", "Per interval", TIDE_CELL_BYTES },
	{ "first_bytes", "Least in the first", TIDE_CELL_BYTES, 7 },
	{ "last_bytes", "Least in the last", TIDE_CELL_BYTES },
	{ "growth_bytes", "Growth", TIDE_CELL_DELTA },
	{ "last_count", "Allocations", TIDE_CELL_COUNT },
	{ "rose", "Rose", TIDE_CELL_COUNT, 8 },
	{ "fell", "Fell", TIDE_CELL_COUNT, 8 },
	{ "key", "Made by", TIDE_CELL_NAME },
};

static bool intervals(const tide_leaks *l)
{
	return l->steps.source == TIDE_STEPS_EVERY;
}

static void leak_row(tide_grid *g, const tide_leaks_view *x, const tide_leak *k, const char *name)
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

static void print_unknown(const tide_out *to, const tide_leaks_view *x)
{
	if (!x->device)
		fputs("The trace holds no memory events.\n", to->out);
	else if (!x->l->steps.n)
		fputs("The trace has no steps: no step marks, ProfilerStep ranges or a range "
		      "that repeats at least 3 times.\nGrowth over steps is unknown; --every 5% "
		      "compares at equal intervals instead.\n",
		      to->out);
	else
		fprintf(to->out,
			"The trace has %zu step%s (%s); growth needs 3. --every 5%% compares at "
			"equal intervals instead.\n",
			x->l->steps.n, x->l->steps.n == 1 ? "" : "s",
			tide__step_source_text(x->l->steps.source));
}

/* If no group is listed, describes the device as a whole by the same rule. */
static void print_none(const tide_out *to, const tide_leaks *l)
{
	const tide_leak *t = &l->total;
	size_t half = (l->steps.n + 1) / 2;
	char b[3][32];

	fprintf(to->out,
		intervals(l) ? "No group grows in both halves of the run. Live bytes of the device "
			       "are at least %s in interval 1, %s in interval %zu, %s in interval "
			       "%zu.\n"
			     : "No group grows in both halves of the run. Live bytes of the device "
			       "are %s after step 1, %s after step %zu, %s after step %zu.\n",
		tide__fmt_bytes(b[0], sizeof b[0], (double)t->first),
		tide__fmt_bytes(b[1], sizeof b[1], (double)t->middle), half,
		tide__fmt_bytes(b[2], sizeof b[2], (double)t->last), l->steps.n);
	if (t->middle > t->first && t->last <= t->middle)
		fprintf(to->out,
			"Growth stopped after step %zu, which is typical of one-time "
			"set-up.\n",
			half);
	else if (t->last > t->middle && t->middle <= t->first)
		fprintf(to->out,
			"Growth began after step %zu: one-time set-up or the start of a leak; a "
			"longer recording shows which.\n",
			half);
}

void tide__leaks_text(const tide_leaks_view *x, const tide_out *to)
{
	const tide_leaks *l = x->l;
	char name[64], b[32], source[160];

	if (!l->known) {
		print_unknown(to, x);
		tide__put_model_losses(to, x->m);
		return;
	}
	tide__device_name(x->m, x->device, name, sizeof name);
	snprintf(source, sizeof source, "%s", tide__step_source_text(l->steps.source));
	if (l->steps.name.i)
		snprintf(source, sizeof source, "%s: %s", tide__step_source_text(l->steps.source),
			 tide__text(x->m, l->steps.name, NULL));
	const char *unit = intervals(l) ? "interval" : "step";
	tide__write_heading(to, "%s: %s%s %s %s over %zu %ss", name, l->total.slope < 0 ? "-" : "+",
			    tide__fmt_bytes(b, sizeof b, fabs(l->total.slope)),
			    intervals(l) ? "an" : "a", unit, l->steps.n, unit);
	fprintf(to->out, "%ss from ", unit);
	tide__put_text(to, source);
	fputs("\n\n", to->out);
	if (!l->n) {
		print_none(to, l);
	} else {
		tide_grid *g = tide__grid_new(intervals(l) ? interval_cols : cols,
					      sizeof cols / sizeof *cols);

		for (size_t i = 0; i < l->n && i < x->top; i++)
			leak_row(g, x, &l->v[i], NULL);
		tide__grid_write(g, to, 2);
		if (l->n > x->top)
			fprintf(to->out, "  (%zu more)\n", l->n - x->top);
	}
	tide__put_model_losses(to, x->m);
}

static void json_series(tide_json *j, const tide_leaks_view *x, const tide_leak *k)
{
	tide_error err;
	bool few = k - x->l->v < MOST_SERIES && x->l->steps.n <= MOST_POINTS;
	uint64_t *y = few ? tide__calloc(x->l->steps.n, sizeof *y) : NULL;

	if (!y || tide__leaks_find_series(x->m, x->device, x->l, k->key, y, &err) != TIDE_OK) {
		tide__json_knull(j, "bytes_after_step");
	} else {
		tide__json_karray(j, "bytes_after_step");
		for (size_t i = 0; i < x->l->steps.n; i++)
			tide__json_uint(j, y[i]);
		tide__json_array_end(j);
	}
	tide__free(y);
}

static void json_leak(tide_json *j, const tide_leaks_view *x, const tide_leak *k, const char *name)
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

void tide__leaks_json(const tide_leaks_view *x, tide_json *j)
{
	char name[64];

	tide__json_kstr(j, "device",
			x->device ? tide__device_name(x->m, x->device, name, sizeof name) : NULL);
	tide__json_kstr(j, "steps_from", tide__step_source_text(x->l->steps.source));
	tide__json_kstr(j, "step_name",
			x->l->steps.name.i ? tide__text(x->m, x->l->steps.name, NULL) : NULL);
	tide__json_kuint(j, "steps", x->l->steps.n);
	tide__json_kbool(j, "known", x->l->known);
	tide__json_key(j, "total");
	if (x->l->known)
		json_leak(j, x, &x->l->total, "total");
	else
		tide__json_null(j);
	tide__json_karray(j, "growing");
	for (size_t i = 0; i < x->l->n && i < x->top; i++)
		json_leak(j, x, &x->l->v[i], NULL);
	tide__json_array_end(j);
	tide__json_kuint(j, "growing_count", x->l->n);
	tide__losses_json(j, x->m);
}

bool tide__leaks_write_page(tide_json *j, const tide_model *m, uint32_t device, size_t most,
			    tide_error *err)
{
	tide_leaks l = { 0 };
	char name[600];
	bool ok = tide__find_leaks(m, device, tide__group_by_best(m), 0, &l, err) == TIDE_OK;
	tide_leaks_view x = { m, device, &l, most };

	tide__json_karray(j, "growing");
	for (size_t i = 0; ok && i < l.n && i < most; i++) {
		name_of(&x, &l.v[i], name, sizeof name);
		tide__json_array(j);
		tide__json_str(j, name);
		tide__json_double(j, l.v[i].slope);
		tide__json_uint(j, l.v[i].first);
		tide__json_uint(j, l.v[i].last);
		tide__json_uint(j, l.v[i].last_count);
		tide__json_array_end(j);
	}
	tide__json_array_end(j);
	tide__leaks_free(&l);
	return ok;
}
