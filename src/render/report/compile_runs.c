// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/compile_runs.h"

#include <math.h>

double tide__compile_speedup(const tide_compile_run *eager, const tide_compile_run *r)
{
	bool known = eager && eager->calls.median_ns > 0 && r->calls.median_ns > 0;
	return known ? (double)eager->calls.median_ns / (double)r->calls.median_ns : 0;
}

static const tide_grid_col cols[] = {
	{ "mode", "Mode", TIDE_CELL_TEXT },	     { "calls", "Calls", TIDE_CELL_COUNT },
	{ "median_ns", "Median", TIDE_CELL_NS },     { "min_ns", "Min", TIDE_CELL_NS, 2 },
	{ "max_ns", "Max", TIDE_CELL_NS, 2 },	     { "std_ns", "Std", TIDE_CELL_NS, 3 },
	{ "speedup", "Speedup", TIDE_CELL_REAL },    { "peak", "Peak in a call", TIDE_CELL_BYTES },
	{ "peak_std", "Std", TIDE_CELL_BYTES, 4 },   { "device", "Of", TIDE_CELL_TEXT, 4 },
	{ "wall_ns", "Whole run", TIDE_CELL_NS, 1 },
};

static void row(tide_grid *g, const tide_compile_run *eager, const tide_compile_run *r)
{
	const tide_compile_calls *c = &r->calls;
	double speedup = tide__compile_speedup(eager, r);
	bool any = c->ns.n, memory = any && c->device;
	tide__grid_text(g, r->mode ? r->mode : "as written");
	tide__grid_uint(g, c->ns.n);
	tide__grid_maybe(g, any ? (uint64_t)c->median_ns : UINT64_MAX);
	tide__grid_maybe(g, any ? (uint64_t)c->ns.min : UINT64_MAX);
	tide__grid_maybe(g, any ? (uint64_t)c->ns.max : UINT64_MAX);
	tide__grid_maybe(g, any ? (uint64_t)tide__stat_std(&c->ns) : UINT64_MAX);
	tide__grid_real(g, speedup > 0 ? speedup : NAN);
	tide__grid_maybe(g, memory ? (uint64_t)c->peak.max : UINT64_MAX);
	tide__grid_maybe(g, memory ? (uint64_t)tide__stat_std(&c->peak) : UINT64_MAX);
	tide__grid_text(g, r->device);
	tide__grid_int(g, r->wall_ns);
}

void tide__compile_runs_text(const tide_compile_run *v, size_t n, FILE *out,
			     const tide_style *style)
{
	bool any = false;
	for (size_t i = 0; i < n; i++)
		any |= v[i].calls.ns.n > 0;
	if (!any && n > 1)
		fputs("No calls to compare: the compiled function was called at most once, "
		      "and the first call is left out.\n",
		      out);
	tide_grid *g = any ? tide__grid_new(cols, sizeof cols / sizeof *cols) : NULL;
	if (!g)
		return;
	for (size_t i = 0; i < n; i++)
		row(g, &v[0], &v[i]);
	fputs("Calls of compiled functions, without the first and those that compiled:\n", out);
	tide__grid_print(g, out, style, 2);
	tide__grid_free(g);
}

#define SPREAD(unit, kind)                                                           \
	{                                                                            \
		TIDE_MEMBER("mean_" unit, kind, "mean"),                             \
			TIDE_MEMBER("median_" unit, kind, "median"),                 \
			TIDE_MEMBER("min_" unit, kind, "least"),                     \
			TIDE_MEMBER("max_" unit, kind, "most"),                      \
			TIDE_MEMBER("std_" unit, kind, "standard deviation"), { 0 }, \
	}
const tide_member tide__compile_time_members[] = SPREAD("ns", NS);
const tide_member tide__compile_peak_members[] = SPREAD("bytes", SIGNED);
const tide_member tide__compile_run_members[] = { TIDE_COMPILE_RUN_MEMBERS, { 0 } };

static void spread(tide_json *j, const char *key, const tide_stat *s, int64_t median,
		   const char *unit)
{
	const struct {
		const char *what;
		int64_t v;
	} all[] = { { "mean", tide__stat_mean(s) },
		    { "median", median },
		    { "min", s->min },
		    { "max", s->max },
		    { "std", tide__stat_std(s) } };
	char name[32];
	tide__json_kobject(j, key);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		snprintf(name, sizeof name, "%s_%s", all[i].what, unit);
		tide__json_kint(j, name, all[i].v);
	}
	tide__json_object_end(j);
}

void tide__compile_calls_json(const tide_compile_run *r, const tide_compile_run *eager,
			      tide_json *j)
{
	const tide_compile_calls *c = &r->calls;
	double speedup = tide__compile_speedup(eager, r);
	bool memory = c->ns.n && c->device;
	tide__json_kint_if(j, "calls", r->recorded, (int64_t)c->ns.n);
	tide__json_kint_if(j, "calls_left_out", r->recorded, (int64_t)c->left_out);
	if (c->ns.n)
		spread(j, "call_time", &c->ns, c->median_ns, "ns");
	else
		tide__json_knull(j, "call_time");
	if (memory)
		spread(j, "call_peak", &c->peak, c->median_peak, "bytes");
	else
		tide__json_knull(j, "call_peak");
	tide__json_kstr(j, "device", r->device[0] ? r->device : NULL);
	if (speedup > 0)
		tide__json_kfixed(j, "speedup", speedup, 4);
	else
		tide__json_knull(j, "speedup");
	bool both = memory && eager && eager->calls.ns.n && eager->calls.device;
	tide__json_kint_if(j, "memory_savings_bytes", both,
			   both ? eager->calls.peak.max - c->peak.max : 0);
}

void tide__compile_run_json(const tide_compile_run *r, const tide_compile_run *eager, tide_json *j)
{
	tide__json_kstr(j, "mode", r->mode);
	tide__json_kint(j, "wall_ns", r->wall_ns);
	tide__json_kint(j, "exit_status", r->status);
	tide__json_kbool(j, "timed_out", r->timed_out);
	tide__json_kbool(j, "has_real_data", r->logged);
	if (r->mode)
		tide__compile_calls_json(r, eager, j);
}
