// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* /api/recordings/ID/exported: a report that tidemark.profiling exported, as it is. The routes hta,
 * compile and memory answer with its figures; what it lacks is null. Such a report is small and is
 * read for each request. */
#include "serve/answer/exported.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/run_summary.h"
#include "base/error.h"
#include "base/mem.h"
#include "import/json/text.h"
#include "serve/answer/api.h"
#include "serve/store/exported_has.h"

enum { LOOKS = 10000 }; /* files that are looked at before one that can answer */

/* ---- values ---- */

/* Returns a copy of a text with its escapes decoded; owned by the caller. NULL: no memory. */
static char *text_of(jsonr_node v, size_t *n)
{
	char *out = tide__alloc(v.n + 1, 1);
	*n = out ? tide__jsonr_unescape(v.at, v.n, out) : 0;
	if (out)
		out[*n] = 0;
	return out;
}

static void put_text(tide_json *j, jsonr_node v)
{
	size_t n;
	char *text = text_of(v, &n);
	if (text)
		tide__json_strn(j, text, n);
	else
		tide__json_null(j);
	tide__free(text);
}

static void put_number(tide_json *j, jsonr_node v)
{
	double x;
	if (!tide__exported_number(v, &x))
		tide__json_null(j);
	else if (x == floor(x) && fabs(x) < 9e15)
		tide__json_int(j, (int64_t)x);
	else
		tide__json_double(j, x);
}

/* Writes a value of a checked document: it is not nested deeper than that allows. */
static void put_value(tide_json *j, jsonr_node v)
{
	jsonr_node key, member;
	jsonr_nodes w = tide__jsonr_walk(v);
	switch (v.type) {
	case '{':
		tide__json_object(j);
		while (tide__jsonr_next_node(&w, &key, &member)) {
			size_t n;
			char *name = text_of(key, &n);
			tide__json_key(j, name ? name : "");
			tide__free(name);
			put_value(j, member);
		}
		tide__json_object_end(j);
		return;
	case '[':
		tide__json_array(j);
		while (tide__jsonr_next_node(&w, &key, &member))
			put_value(j, member);
		tide__json_array_end(j);
		return;
	case '"':
		put_text(j, v);
		return;
	case '0':
		put_number(j, v);
		return;
	case 't':
	case 'f':
		tide__json_bool(j, v.type == 't');
		return;
	default:
		tide__json_null(j);
	}
}

static void put(tide_json *j, const char *key, jsonr_node v)
{
	tide__json_key(j, key);
	put_value(j, v);
}

static void put_list(tide_json *j, const char *key, jsonr_node v)
{
	if (v.type == '[') {
		put(j, key, v);
		return;
	}
	tide__json_karray(j, key);
	tide__json_array_end(j);
}

static double number_of(jsonr_node row, const char *key)
{
	jsonr_node v;
	double x = 0;
	return tide__jsonr_get(row, key, &v) && tide__exported_number(v, &x) ? x : 0;
}

/* ---- hta ---- */

static void put_kernels(tide_json *j, jsonr_node list)
{
	jsonr_node key, row, v;
	jsonr_nodes w = tide__jsonr_walk(list);
	tide__json_karray(j, "top_kernels");
	while (tide__jsonr_next_node(&w, &key, &row)) {
		double us = number_of(row, "time_us");
		tide__json_object(j);
		tide__json_key(j, "name");
		if (tide__jsonr_get(row, "name", &v) && v.type == '"')
			put_text(j, v);
		else
			tide__json_str(j, "");
		tide__json_kmilli(j, "time_us", llround(us * 1e3));
		tide__json_kint(j, "time_ns", llround(us * 1e3));
		tide__json_kint(j, "count", llround(number_of(row, "count")));
		tide__json_knull(j, "category"); /* the report does not say */
		(void)tide__jsonr_get(row, "pct", &v);
		put(j, "pct", v);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static void put_hta(tide_json *j, const tide_exported *e)
{
	static const char *const parts[][2] = { { "compute_pct", "compute_pct" },
						{ "idle_pct", "gpu_idle_pct" },
						{ "gpu_idle_pct", "gpu_idle_pct" },
						{ "communication_pct", "communication_pct" },
						{ "memory_pct", "memory_pct" } };
	tide__json_kobject(j, "temporal_breakdown");
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		put(j, parts[i][0], tide__exported_get(e, "temporal_breakdown", parts[i][1]));
	tide__json_object_end(j);
	put_kernels(j, tide__exported_get(e, "kernel_analysis", "top_kernels"));
	put_list(j, "recommendations", tide__exported_get(e, "recommendations", NULL));
	put_list(j, "bottlenecks", tide__exported_get(e, "bottlenecks", NULL));
}

/* ---- compile ---- */

static void put_mode_figures(tide_json *j, const tide_exported *e, const char *time,
			     const char *peak)
{
	put(j, "time_ms", tide__exported_get(e, "performance", time));
	put(j, "peak_mb", tide__exported_get(e, "memory", peak));
	put(j, "speedup",
	    strcmp(time, "eager_time_ms") ? tide__exported_get(e, "performance", "speedup")
					  : (jsonr_node){ 0 });
}

/* Writes eager and the mode of the report: by name, and as a list. */
static void put_modes(tide_json *j, const tide_exported *e)
{
	static const char *const of[2][2] = { { "eager_time_ms", "eager_peak_mb" },
					      { "compiled_time_ms", "peak_mb" } };
	size_t n;
	jsonr_node v = tide__exported_get(e, "compilation", "mode");
	char *mode = v.type == '"' && v.n ? text_of(v, &n) : NULL;
	const char *const names[2] = { "eager", mode ? mode : "compiled" };
	tide__json_kobject(j, "mode_comparison");
	for (int i = 0; i < 2; i++) {
		tide__json_kobject(j, names[i]);
		put_mode_figures(j, e, of[i][0], of[i][1]);
		tide__json_object_end(j);
	}
	tide__json_object_end(j);
	tide__json_karray(j, "compile_benchmarks");
	for (int i = 0; i < 2; i++) {
		tide__json_object(j);
		tide__json_kstr(j, "mode", names[i]);
		put_mode_figures(j, e, of[i][0], of[i][1]);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
	tide__free(mode);
}

static void put_compile(tide_json *j, const tide_exported *e)
{
	double breaks;
	bool known = tide__exported_number(tide__exported_get(e, "graph_breaks", "total"), &breaks);
	put(j, "speedup", tide__exported_get(e, "performance", "speedup"));
	put_modes(j, e);
	put(j, "compile_time_ms", tide__exported_get(e, "compilation", "compile_time_ms"));
	tide__json_kint_if(j, "graph_breaks", known, known ? llround(breaks) : 0);
	put(j, "fusion_ratio", tide__exported_get(e, "fusion", "ratio"));
	put_list(j, "graph_breaks_list", tide__exported_get(e, "graph_breaks", "breaks"));
	put_list(j, "recommendations", tide__exported_get(e, "recommendations", NULL));
}

/* ---- memory ---- */

static void put_points(tide_json *j, jsonr_node list)
{
	jsonr_node key, row, v;
	double highest = 0;
	jsonr_nodes w = tide__jsonr_walk(list);
	tide__json_karray(j, "timeline");
	while (tide__jsonr_next_node(&w, &key, &row)) {
		double ms = number_of(row, "timestamp_ms"), mb = number_of(row, "allocated_mb");
		double peak = number_of(row, "peak_allocated_mb");
		highest = fmax(highest, fmax(mb, peak));
		tide__json_object(j);
		tide__json_kint(j, "time_ns", llround(ms * 1e6));
		tide__json_kfixed(j, "time_ms", ms, 6);
		tide__json_kint(j, "allocated_bytes", llround(mb * (1 << 20)));
		tide__json_kfixed(j, "allocated_mb", mb, 6);
		(void)tide__jsonr_get(row, "reserved_mb", &v);
		put(j, "reserved_mb", v);
		tide__json_kfixed(j, "peak_mb", highest, 6);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static void put_memory(tide_json *j, const tide_exported *e)
{
	jsonr_node device = tide__exported_get(e, "peak_analysis", "device");
	put(j, "device", device.type == '"' ? device : (jsonr_node){ 0 });
	put_points(j, tide__exported_get(e, "timeline", NULL));
	tide__json_knull(j, "reserved_source");
	put(j, "peak_mb", tide__exported_get(e, "peak_analysis", "peak_allocated_mb"));
	tide__json_knull(j, "summary"); /* its sums of allocations are not in the report */
}

/* ---- answers ---- */

static void (*const puts_of[TIDE_EXPORTED_N])(tide_json *, const tide_exported *) = {
	[TIDE_EXPORTED_HTA] = put_hta,
	[TIDE_EXPORTED_COMPILE] = put_compile,
	[TIDE_EXPORTED_MEMORY] = put_memory,
};

static void begin(tide_json *j, tide_ask *a, const tide_rec *r, const tide_exported *e, bool real)
{
	const char *slash = strrchr(r->path, '/');
	tide__json_begin(j, a->out, false);
	tide__json_object(j);
	tide__json_kbool(j, "has_real_data", real);
	tide__json_kstr(j, "trace_file", slash ? slash + 1 : r->path);
	tide__json_kstr(j, "exported", tide__exported_text(e->kind));
}

bool tide__exported_look(tide_store *s, tide_rec *r)
{
	tide_error why = { .offset = TIDE_NO_OFFSET };
	tide_exported e = { 0 };
	bool report = !r->has && tide__exported_load(r->path, &e, &why) == TIDE_OK;
	if (report)
		tide__store_note(s, r, r->has = tide__exported_has(&e));
	tide__exported_free(&e);
	return report;
}

/* Finds the report of a request without a name: the newest that can answer, if that is one. */
static bool find_report(tide_ask *a, tide_rec *r)
{
	char id[TIDE_REC_ID];
	for (int i = 0; i < LOOKS && tide__ask_newest(a, id); i++) {
		if (!tide__store_find_rec(a->store, id, r))
			return false;
		if (r->has & TIDE_HAS_REPORT)
			return true;
		bool report = tide__exported_look(a->store, r);
		tide__free(r->path);
		if (!report) /* a recording, or damaged: reading it decides */
			return false;
	}
	return false;
}

static tide_code answer_of(tide_ask *a, const tide_rec *r, tide_exported_kind kind, tide_error *err)
{
	tide_json j;
	tide_exported e;
	tide_code rc = tide__exported_load(r->path, &e, err);
	if (rc == TIDE_OK && e.kind != kind)
		rc = tide__fail(err, TIDE_EFORMAT, TIDE_NO_OFFSET,
				"a %s report that tidemark.profiling exported has no such data",
				tide__exported_text(e.kind));
	if (rc == TIDE_OK) {
		tide__store_note(a->store, r, tide__exported_has(&e));
		bool real = tide__exported_figures(&e);
		begin(&j, a, r, &e, real);
		puts_of[kind](&j, &e);
		rc = tide__api_end(&j, real ? NULL : "the report has no figures", err);
	}
	tide__exported_free(&e);
	return rc;
}

bool tide__answer_from_exported(tide_ask *a, tide_exported_kind kind, tide_code *rc,
				tide_error *err)
{
	tide_rec r;
	const char *id = tide__request_get(a->req, "recording");
	if (a->held->n || !(id ? tide__store_find_rec(a->store, id, &r) : find_report(a, &r)))
		return false;
	bool report = tide__exported_begins(r.path);
	if (report)
		*rc = answer_of(a, &r, kind, err);
	tide__free(r.path);
	return report;
}

tide_code tide__answer_exported(tide_ask *a, tide_error *err)
{
	tide_rec r;
	tide_json j;
	tide_exported e;
	if (!tide__store_find_rec(a->store, a->req->part[2], &r))
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "no such recording");
	tide_code rc = tide__exported_load(r.path, &e, err);
	if (rc == TIDE_OK) {
		tide__store_note(a->store, &r, tide__exported_has(&e));
		begin(&j, a, &r, &e, true);
		put(&j, "document", e.doc);
		rc = tide__api_end(&j, NULL, err);
	}
	tide__exported_free(&e);
	tide__free(r.path);
	return rc;
}
