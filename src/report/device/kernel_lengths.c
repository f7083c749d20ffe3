// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* kernels --by length: device rows by their length, and the short ones by op. */
#include "analyze/device/kernel_lengths.h"

#include "report/device/hta.h"

enum { SHORT_NS = 10000 };

struct lengths {
	const tide_model *m;
	tide_kernel_lengths x;
	char window[80];
	size_t top;
};

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct lengths *r = result;
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
		rc = tide__find_kernel_lengths(r->m, &rows, SHORT_NS, &r->x, err);
	tide__gpu_rows_free(&rows);
	tide__steps_free(&steps);
	return rc;
}

#define LESS(heading_) \
	TIDE_COLUMN("to_ns", heading_, NS, TIDE_MAY_BE_NULL, "shorter than this; null: no limit")
static const tide_member classes[] = {
	TIDE_COLUMN("from_ns", "From", NS, 0, "at least this long"),
	LESS("To"),
	TIDE_COLUMN("count", "Rows", COUNT, 0, "device rows"),
	TIDE_COLUMN("count_pct", "of rows", PCT, TIDE_MAY_BE_NULL, "share of all device rows"),
	TIDE_COLUMN("sum_ns", "Total", NS, 0, "sum of their durations"),
	TIDE_COLUMN("pct", "of time", PCT, TIDE_MAY_BE_NULL, "share of the time of all rows"),
	{ 0 },
};
static const tide_member shorts[] = {
	TIDE_COLUMN("count", "Rows", COUNT, 0, "rows shorter than 10 us"),
	TIDE_COLUMN("sum_ns", "Total", NS, 0, "sum of their durations"),
	TIDE_COLUMN("pct", "of time", PCT, TIDE_MAY_BE_NULL, "share of the time of all rows"),
	TIDE_COLUMN("mean_ns", "Mean", NS, 0, "mean duration"),
	TIDE_COLUMN("op", "Op", NAME, TIDE_MAY_BE_NULL, "the op; null: outside any"),
	TIDE_COLUMN("kernel", "Kernel", KERNEL, 0, "name of the rows"),
	{ 0 },
};

static tide_grid *classes_of(const tide_kernel_lengths *x)
{
	tide_grid *g = tide__grid_new(classes, tide__member_count(classes));
	for (size_t i = 0; i < TIDE_LENGTHS; i++) {
		if (!x->count[i])
			continue;
		tide__grid_int(g, tide__length_from[i]);
		if (i + 1 < TIDE_LENGTHS)
			tide__grid_int(g, tide__length_from[i + 1]);
		else
			tide__grid_none(g);
		tide__grid_uint(g, x->count[i]);
		tide__grid_real(g, tide__share_pct((int64_t)x->count[i], (int64_t)x->rows));
		tide__grid_int(g, x->ns[i]);
		tide__grid_real(g, tide__share_pct(x->ns[i], x->all_ns));
	}
	return g;
}

static tide_grid *shorts_of(const struct lengths *r)
{
	tide_grid *g = tide__grid_new(shorts, tide__member_count(shorts));
	for (size_t i = 0; i < r->x.n && (!r->top || i < r->top); i++) {
		const tide_short_kernel *o = &r->x.v[i];
		int64_t sum = tide__stat_sum(&o->dur);
		size_t n;
		const char *op = tide__text(r->m, o->op, &n);
		tide__grid_uint(g, o->dur.n);
		tide__grid_int(g, sum);
		tide__grid_real(g, tide__share_pct(sum, r->x.all_ns));
		tide__grid_int(g, tide__stat_mean(&o->dur));
		o->op.i ? tide__grid_textn(g, op, n) : tide__grid_none(g);
		const char *kernel = tide__text(r->m, o->kernel, &n);
		tide__grid_textn(g, kernel, n);
	}
	return g;
}

static bool print_table(tide_grid *g, size_t all, const char *heading, const tide_out *to)
{
	bool ok = g && !tide__grid_failed(g);
	if (ok && tide__grid_rows(g)) {
		tide__write_heading(to, "%s", heading);
		tide__grid_print(g, to->out, &to->style, 2);
		if (all > tide__grid_rows(g))
			fprintf(to->out, "  (%zu more)\n", all - tide__grid_rows(g));
		fputs("\n", to->out);
	}
	tide__grid_free(g);
	return ok;
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct lengths *r = result;
	if (!r->x.rows)
		fputs("The trace has no device rows.\n", to->out);
	bool ok = print_table(classes_of(&r->x), 0, "Device rows by length", to) &&
		  print_table(shorts_of(r), r->x.n, "Shorter than 10 us", to);
	if (ok)
		tide__put_model_losses(to, r->m);
	return ok ? TIDE_OK : TIDE_ENOMEM;
}

static tide_code write_json(void *result, tide_json *j)
{
	struct lengths *r = result;
	tide_grid *g[] = { classes_of(&r->x), shorts_of(r) };
	static const char *const keys[] = { "lengths", "short" };
	bool ok = g[0] && g[1] && !tide__grid_failed(g[0]) && !tide__grid_failed(g[1]);
	for (size_t i = 0; i < 2; i++) {
		if (ok)
			tide__grid_write_member(g[i], j, keys[i]);
		else
			tide__grid_free(g[i]);
	}
	tide__json_kstr(j, "window", r->window);
	tide__json_kuint(j, "rows", r->x.rows);
	tide__json_kint(j, "sum_ns", r->x.all_ns);
	tide__losses_json(j, r->m);
	return ok ? TIDE_OK : TIDE_ENOMEM;
}

static void free_result(void *result)
{
	tide__kernel_lengths_free(&((struct lengths *)result)->x);
}

static const tide_member members[] = {
	TIDE_MEMBER_OF("lengths", TABLE, classes, "device rows by length"),
	TIDE_MEMBER_OF("short", TABLE, shorts, "rows shorter than 10 us by op and name"),
	TIDE_MEMBER("window", TEXT, "the given window: all, drop-last-step, steps A..B"),
	TIDE_MEMBER("rows", COUNT, "device rows"),
	TIDE_MEMBER("sum_ns", NS, "sum of their durations, and of the lengths"),
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

const tide_report_type tide__report_kernels_by_length = {
	.name = "kernels-by-length",
	.group = TIDE_GROUP_TIME,
	.want = TIDE_WANT_SPANS,
	TIDE_REPORT_OPTIONS(tide__kernels_options),
	.members = members,
	.version = 1,
	.size = sizeof(struct lengths),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_result,
};
