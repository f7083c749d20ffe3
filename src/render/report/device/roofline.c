// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/device/roofline.h"

#include <math.h>

/* clang-format off */
#define COL(key, heading, kind, text) { key, heading, TIDE_KIND_##kind, .meaning = text }
#define MAY(key, heading, kind, text) \
	{ key, heading, TIDE_KIND_##kind, .may = TIDE_MAY_BE_NULL, .meaning = text }
#define DROP(key, heading, kind, give, text) \
	{ key, heading, TIDE_KIND_##kind, give, TIDE_MAY_BE_NULL, text }
/* clang-format on */

static const char *const bounds[] = { NULL, "compute", "memory" };

/* ---- ops ---- */

#define RATES(name, what)                                            \
	MAY(name "_mean", NULL, REAL, "mean " what " of the calls"), \
		MAY(name "_median", NULL, REAL, "median"),           \
		MAY(name "_std", NULL, REAL, "standard deviation"),  \
		MAY(name "_min", NULL, REAL, "of the slowest call"), \
		MAY(name "_max", NULL, REAL, "of the fastest call")

const tide_member tide__roof_op_members[] = {
	MAY("pct", "Share", PCT, "share of device_ns"),
	COL("sum_ns", "Total", NS, "time of its calls"),
	COL("count", "Calls", COUNT, "calls with a time"),
	MAY("tflops", "TFLOP/s", REAL, "operations of all calls / their time, 10^12 a second"),
	MAY("tb_s", "TB/s", REAL, "bytes of all calls / their time, 10^12 a second"),
	DROP("intensity", "FLOP/B", REAL, 2, "operations / bytes"),
	MAY("roof_pct", "Roof", PCT, "time that the device needs at its peaks / the time"),
	{ "bound", "Bound", TIDE_KIND_WORD, .words = "compute,memory", .may = TIDE_MAY_BE_NULL,
	  .meaning = "the peak that it meets first" },
	COL("op", "Op", NAME, "name of the op, or of a copy"),
	MAY("shapes", "Shapes", TEXT, "shapes of its inputs"),
	MAY("dtypes", NULL, TEXT, "dtypes of its inputs"),
	MAY("strides", NULL, TEXT, "strides of its inputs"),
	MAY("arguments", NULL, TEXT, "other arguments"),
	COL("category", NULL, TEXT, "the kind of work"),
	MAY("dtype", NULL, TEXT, "what it computes in"),
	COL("recompute", NULL, BOOL, "its calls repeat work of the forward pass"),
	MAY("flops", NULL, COUNT, "operations of one call"),
	MAY("bytes_read", NULL, BYTES, "bytes that one call reads at least"),
	MAY("bytes_written", NULL, BYTES, "bytes that one call writes at least"),
	MAY("batch", NULL, COUNT, "of a matrix product: products"),
	MAY("m", NULL, COUNT, "of a matrix product: rows"),
	MAY("n", NULL, COUNT, "of a matrix product: columns"),
	MAY("k", NULL, COUNT, "of a matrix product: inner length"),
	MAY("peak_tflops", NULL, REAL, "peak of the device for it"),
	MAY("over_ns", NULL, NS, "time beyond what the device needs at its peaks"),
	RATES("tflops", "TFLOP/s"),
	RATES("tb_s", "TB/s"),
	COL("rows", NULL, COUNT, "device rows of its calls"),
	COL("mean_ns", NULL, NS, "mean time of a call"),
	COL("median_ns", NULL, NS, "median"),
	COL("std_ns", NULL, NS, "standard deviation"),
	COL("min_ns", NULL, NS, "shortest call"),
	COL("max_ns", NULL, NS, "longest call"),
	COL("span", NULL, COUNT, "span of its longest call"),
	COL("start_ns", NULL, AT, "start of that"),
	{ 0 },
};

static void put_text(tide_grid *g, const tide_model *m, tide_str s)
{
	size_t n;
	const char *text = tide__text(m, s, &n);
	s.i ? tide__grid_textn(g, text, n) : tide__grid_none(g);
}

static void put_whole(tide_grid *g, double v)
{
	isnan(v) ? tide__grid_none(g) : tide__grid_uint(g, (uint64_t)v);
}

static void put_size(tide_grid *g, double v)
{
	put_whole(g, v > 0 ? v : (double)NAN);
}

/* Rates of single calls: `per` of one call, over the times of calls. */
static void put_rates(tide_grid *g, const tide_roof_row *r, double per)
{
	tide__grid_real(g, per * r->rate_mean / 1e3);
	tide__grid_real(g, per / (double)r->median_ns / 1e3);
	tide__grid_real(g, per * r->rate_std / 1e3);
	tide__grid_real(g, per / (double)r->dur.max / 1e3);
	tide__grid_real(g, per / (double)r->dur.min / 1e3);
}

static void put_call(tide_grid *g, const tide_roof_row *r)
{
	const char *bound = bounds[r->bound];
	tide__grid_real(g, r->tflops);
	tide__grid_real(g, r->tb_s);
	tide__grid_real(g, r->intensity);
	tide__grid_real(g, r->roof_pct);
	bound ? tide__grid_text(g, bound) : tide__grid_none(g);
}

static void put_cost(tide_grid *g, const tide_roof_row *r)
{
	const tide_op_cost *c = &r->cost;
	double over = (double)tide__stat_sum(&r->dur) * (1 - r->roof_pct / 100);
	tide__grid_text(g, tide__op_category_text[c->category]);
	c->type ? tide__grid_text(g, tide__number_text((tide_number)c->type)) : tide__grid_none(g);
	tide__grid_uint(g, r->recompute);
	put_whole(g, c->flops);
	put_whole(g, c->bytes_read);
	put_whole(g, c->bytes_written);
	put_size(g, c->batch);
	put_size(g, c->m);
	put_size(g, c->n);
	put_size(g, c->k);
	tide__grid_real(g, r->peak_tflops);
	isnan(over) ? tide__grid_none(g) : tide__grid_int(g, over > 0 ? (int64_t)over : 0);
	put_rates(g, r, c->flops);
	put_rates(g, r, c->bytes_read + c->bytes_written);
	tide__grid_uint(g, r->device_rows);
	tide__grid_int(g, tide__stat_mean(&r->dur));
	tide__grid_int(g, r->median_ns);
	tide__grid_int(g, tide__stat_std(&r->dur));
	tide__grid_int(g, r->dur.min);
	tide__grid_int(g, r->dur.max);
	tide__grid_uint(g, r->span);
}

tide_grid *tide__grid_roof_ops(const tide_roofline *x, const tide_model *m, size_t top)
{
	tide_grid *g =
		tide__grid_new(tide__roof_op_members, tide__member_count(tide__roof_op_members));
	for (size_t i = 0; i < x->n && (!top || i < top); i++) {
		const tide_roof_row *r = &x->v[i];
		int64_t ns = tide__stat_sum(&r->dur);
		tide__grid_real(g, tide__share_pct(ns, x->ns));
		tide__grid_int(g, ns);
		tide__grid_uint(g, r->dur.n);
		put_call(g, r);
		put_text(g, m, r->name);
		put_text(g, m, r->dims);
		put_text(g, m, r->types);
		put_text(g, m, r->strides);
		put_text(g, m, r->concrete);
		put_cost(g, r);
		tide__grid_int(g, m->spans.t0[r->span]);
	}
	return g;
}

/* ---- categories ---- */

const tide_member tide__roof_category_members[] = {
	MAY("pct", "Share", PCT, "share of device_ns"),
	COL("sum_ns", "Total", NS, "time of its calls"),
	COL("count", "Calls", COUNT, "calls"),
	MAY("tflops", "TFLOP/s", REAL, "operations / time of the calls where they are known"),
	MAY("tb_s", "TB/s", REAL, "bytes / time of the calls where they are known"),
	MAY("roof_pct", "Roof", PCT,
	    "time that the device needs at its peaks / the time, where it is known"),
	COL("recompute_ns", "Recompute", NS, "time of recomputed calls"),
	COL("category", "Category", TEXT, "the kind of work"),
	MAY("flops", NULL, REAL, "operations of the calls where they are known"),
	MAY("bytes", NULL, REAL, "bytes of the calls where they are known"),
	COL("rows", NULL, COUNT, "device rows"),
	{ 0 },
};

static double rate(double v, int64_t ns)
{
	return ns > 0 ? v / (double)ns / 1e3 : (double)NAN;
}

static void put_sum(tide_grid *g, const tide_roofline *x, const tide_roof_sum *s, const char *name)
{
	double nan = (double)NAN;
	tide__grid_real(g, tide__share_pct(s->ns, x->ns));
	tide__grid_int(g, s->ns);
	tide__grid_uint(g, s->calls);
	tide__grid_real(g, rate(s->flops, s->flops_ns));
	tide__grid_real(g, rate(s->bytes, s->bytes_ns));
	tide__grid_real(g, s->roof_ns > 0 ? 100 * s->ideal_ns / (double)s->roof_ns : nan);
	tide__grid_int(g, s->recompute_ns);
	tide__grid_text(g, name);
	tide__grid_real(g, s->flops_ns > 0 ? s->flops : nan);
	tide__grid_real(g, s->bytes_ns > 0 ? s->bytes : nan);
	tide__grid_uint(g, s->device_rows);
}

tide_grid *tide__grid_roof_categories(const tide_roofline *x)
{
	tide_grid *g = tide__grid_new(tide__roof_category_members,
				      tide__member_count(tide__roof_category_members));
	uint32_t done = 0;
	for (;;) {
		const tide_roof_sum *most = NULL;
		for (size_t i = 0; i < TIDE_OP_CATEGORY_COUNT; i++)
			if (!(done >> i & 1) && x->of[i].calls && (!most || x->of[i].ns > most->ns))
				most = &x->of[i];
		if (!most)
			break;
		done |= 1u << (most - x->of);
		put_sum(g, x, most, tide__op_category_text[most - x->of]);
	}
	if (x->all.calls)
		put_sum(g, x, &x->all, "all");
	return g;
}

/* ---- steps ---- */

const tide_member tide__roof_step_members[] = {
	MAY("step", "Step", PLAIN, "number of the step; null: from the first launch to the end"),
	COL("wall_ns", "Time", NS, "length of the step"),
	COL("device_ns", "Device", NS, "time of the device rows that it launched"),
	COL("matrix_tflop", "TFLOP", REAL,
	    "10^12 operations of matrix units, without recomputation"),
	COL("recompute_tflop", "Recomputed", REAL, "the same, recomputed"),
	MAY("mfu_pct", "MFU", PCT, "matrix_tflop at the device's peak / the step"),
	MAY("hfu_pct", "HFU", PCT, "the same with recomputation"),
	{ 0 },
};

tide_grid *tide__grid_roof_steps(const tide_roofline *x, size_t top)
{
	tide_grid *g = tide__grid_new(tide__roof_step_members,
				      tide__member_count(tide__roof_step_members));
	for (size_t i = 0; i < x->n_steps && (!top || i < top); i++) {
		const tide_roof_step *s = &x->steps[i];
		i ? tide__grid_int(g, s->number) : tide__grid_none(g);
		tide__grid_int(g, s->ns);
		tide__grid_int(g, s->device_ns);
		tide__grid_real(g, s->flops / 1e12);
		tide__grid_real(g, s->again_flops / 1e12);
		tide__grid_real(g, s->mfu_pct);
		tide__grid_real(g, s->hfu_pct);
	}
	return g;
}

/* ---- what is not covered ---- */

const tide_member tide__roof_gap_members[] = {
	MAY("pct", "Share", PCT, "share of device_ns"),
	COL("sum_ns", "Total", NS, "sum of the durations of its device rows"),
	COL("rows", "Rows", COUNT, "its device rows"),
	COL("why", "Why", TEXT, "why its operations and bytes are unknown"),
	COL("name", "Op or kernel", KERNEL, "the innermost op around the launch, else the kernel"),
	{ 0 },
};

tide_grid *tide__grid_roof_gaps(const tide_roofline *x, const tide_model *m, size_t top)
{
	tide_grid *g =
		tide__grid_new(tide__roof_gap_members, tide__member_count(tide__roof_gap_members));
	for (size_t i = 0; i < x->n_gaps && (!top || i < top); i++) {
		const tide_roof_gap *o = &x->gaps[i];
		tide__grid_real(g, tide__share_pct(o->ns, x->ns));
		tide__grid_int(g, o->ns);
		tide__grid_uint(g, o->device_rows);
		tide__grid_text(g, tide__roof_why_text[o->why]);
		put_text(g, m, o->name);
	}
	return g;
}

/* ---- JSON ---- */

const tide_member tide__roof_device_members[] = {
	TIDE_MEMBER_MAYBE("name", TEXT, "the device whose peaks are used"),
	TIDE_MEMBER("devices", COUNT, "devices with rows"),
#define X(name, key, what) TIDE_MEMBER_MAYBE("tflops_" key, REAL, what),
	TIDE_PEAKS(X)
#undef X
		TIDE_MEMBER_MAYBE("bandwidth_gb_s", REAL, "of its memory, 10^9 bytes a second"),
	{ 0 },
};

static void put_rate(tide_json *j, const char *key, double v)
{
	if (v > 0)
		tide__json_kfixed(j, key, v, 3);
	else
		tide__json_knull(j, key);
}

static void put_device(const tide_roofline *x, tide_json *j)
{
	tide__json_kobject(j, "device");
	tide__json_kstr(j, "name", x->name);
	tide__json_kuint(j, "devices", x->devices);
#define X(name, key, what) put_rate(j, "tflops_" key, x->peak.name);
	TIDE_PEAKS(X)
#undef X
	put_rate(j, "bandwidth_gb_s", x->peak.gb_s);
	tide__json_object_end(j);
}

tide_code tide__roofline_json(const tide_roofline *x, const tide_model *m, const char *window,
			      size_t top, tide_json *j)
{
	double covered = tide__share_pct(x->covered_ns, x->ns);
	tide_grid *g[] = { tide__grid_roof_categories(x), tide__grid_roof_ops(x, m, top),
			   tide__grid_roof_steps(x, 0), tide__grid_roof_gaps(x, m, 0) };
	static const char *const keys[] = { "categories", "ops", "steps", "uncovered" };
	bool ok = true;
	for (size_t i = 0; i < sizeof g / sizeof *g; i++)
		ok = ok && g[i] && !tide__grid_failed(g[i]);
	tide__json_kstr(j, "window", window);
	tide__json_kstr(j, "time_of", x->device ? "device" : "host");
	tide__json_kint(j, "device_ns", x->ns);
	tide__json_kint(j, "covered_ns", x->covered_ns);
	if (isnan(covered))
		tide__json_knull(j, "covered_pct");
	else
		tide__json_kfixed(j, "covered_pct", covered, 4);
	tide__json_kuint(j, "calls_without_shapes", x->shapeless);
	tide__json_kuint(j, "calls_without_time", x->timeless);
	put_device(x, j);
	for (size_t i = 0; i < sizeof g / sizeof *g; i++) {
		if (ok)
			tide__grid_write_member(g[i], j, keys[i]);
		else
			tide__grid_free(g[i]);
	}
	return ok ? TIDE_OK : TIDE_ENOMEM;
}
