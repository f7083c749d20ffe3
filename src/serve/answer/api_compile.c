// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* /api/profiler/compile: a log of torch.compile and, if `tidemark compile --compare --keep-log` wrote it, the
 * runs in other modes beside it: BASE/MODE/log/FILE is the log, BASE/MODE/run.tide are the runs. Only
 * recordings of the list are used. Data that are missing are null, with has_real_data false. */
#include <stdlib.h>
#include <string.h>

#include "analyze/compile/compile_report.h"
#include "analyze/advice/compile_advice.h"
#include "base/error.h"
#include "base/mem.h"
#include "model/names.h"
#include "report/ops/compile.h"
#include "render/report/compile_runs.h"
#include "serve/answer/api.h"
#include "serve/answer/exported.h"

/* ---- runs in several modes ---- */

enum { MODES = TIDE_ASK_RECS - 1, MODE_NAME = 48 };

typedef struct mode {
	char name[MODE_NAME], id[TIDE_REC_ID];
	tide_compile_run run;
} mode;

typedef struct modes {
	mode v[MODES]; /* eager first */
	size_t n;
	char own[MODE_NAME]; /* of the log; "" = it is not one of several */
} modes;

/* Returns the length of the path without its last component; 0 = there is none. */
static size_t parent(const char *path, size_t n)
{
	while (n && path[n - 1] != '/')
		n--;
	return n ? n - 1 : 0;
}

/* Copies the mode of BASE/MODE/end; n = bytes of BASE. Returns false for other paths. */
static bool mode_of(const char *path, size_t n, const char *end, char out[MODE_NAME])
{
	const char *name = path + n + 1;
	size_t k = strcspn(name, "/");
	if (!k || k >= MODE_NAME || strncmp(name + k, end, strlen(end)) != 0)
		return false;
	memcpy(out, name, k);
	out[k] = 0;
	return true;
}

static int eager_first(const void *a, const void *b)
{
	const mode *x = a, *y = b;
	bool ex = !strcmp(x->name, "eager"), ey = !strcmp(y->name, "eager");
	return ex != ey ? (ex ? -1 : 1) : strcmp(x->name, y->name);
}

/* Finds the recordings of the modes beside a log. Returns false if memory runs out. */
static bool list_modes(tide_store *s, const char *log, modes *m)
{
	static const char run[] = "/run.tide";
	size_t n, base = parent(log, parent(log, parent(log, strlen(log))));
	if (!base || !mode_of(log, base, "/log/", m->own))
		return true;
	tide_rec *r = tide__store_list_all(s, &n);
	for (size_t i = 0; r && i < n && m->n < MODES; i++) {
		mode *x = &m->v[m->n];
		const char *path = r[i].path;
		if (strlen(path) <= base || strncmp(path, log, base) || path[base] != '/' ||
		    !mode_of(path, base, run, x->name) ||
		    strlen(path) != base + 1 + strlen(x->name) + strlen(run))
			continue;
		memcpy(x->id, r[i].id, sizeof x->id);
		m->n++;
	}
	tide__store_list_free(r, n);
	if (m->n)
		qsort(m->v, m->n, sizeof *m->v, eager_first);
	return r;
}

/* Reads the calls of each mode; a recording that cannot be read has none. Returns TIDE_EBUSY if one
 * must be read first. */
static tide_code read_modes(tide_ask *a, modes *m, tide_error *err)
{
	for (size_t i = 0; i < m->n; i++) {
		mode *x = &m->v[i];
		tide_loaded *l;
		tide_error why = { .offset = TIDE_NO_OFFSET };
		tide_code rc = tide__ask_id(a, x->id, &l, &why);
		x->run.mode = x->name;
		if (rc == TIDE_EBUSY)
			return rc;
		if (rc != TIDE_OK)
			continue;
		rc = tide__find_compile_calls(l->m, &x->run.calls, err);
		if (rc != TIDE_OK)
			return rc;
		x->run.recorded = true;
		if (x->run.calls.device)
			tide__device_name(l->m, x->run.calls.device, x->run.device,
					  sizeof x->run.device);
	}
	return TIDE_OK;
}

static const tide_compile_run *eager_of(const modes *m)
{
	return m->n && !strcmp(m->v[0].name, "eager") ? &m->v[0].run : NULL;
}

/* Writes the speedup of the log's own mode, and the figures of all modes: by name, and as a list. */
static void put_modes(tide_json *j, const modes *m)
{
	const tide_compile_run *eager = eager_of(m);
	double speedup = 0;
	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->v[i].name, m->own))
			speedup = tide__compile_speedup(eager, &m->v[i].run);
	tide__json_key(j, "speedup");
	speedup > 0 ? tide__json_fixed(j, speedup, 4) : tide__json_null(j);
	tide__json_key(j, "mode_comparison");
	if (!m->n)
		tide__json_null(j);
	else {
		tide__json_object(j);
		for (size_t i = 0; i < m->n; i++) {
			tide__json_kobject(j, m->v[i].name);
			tide__compile_calls_json(&m->v[i].run, eager, j);
			tide__json_object_end(j);
		}
		tide__json_object_end(j);
	}
	tide__json_karray(j, "compile_benchmarks");
	for (size_t i = 0; i < m->n; i++) {
		tide__json_object(j);
		tide__json_kstr(j, "mode", m->v[i].name);
		tide__compile_calls_json(&m->v[i].run, eager, j);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

/* ---- the log ---- */

static void no_compile(tide_json *j)
{
	static const char *const numbers[] = { "compile_time_ms", "graph_breaks", "fusion_ratio" };
	static const char *const lists[] = { "recommendations", "graph_breaks_list" };
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		tide__json_knull(j, numbers[i]);
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		tide__json_karray(j, lists[i]);
		tide__json_array_end(j);
	}
}

static void put_breaks(tide_json *j, const tide_model *m, const tide_compile_report *r)
{
	tide__json_karray(j, "graph_breaks_list");
	for (size_t i = 0; i < r->n_breaks && i < 100; i++) {
		const tide_graph_break *b = &r->breaks[i];
		tide__json_object(j);
		tide__json_kstrn(j, "reason", b->reason.s, b->reason.n);
		tide__json_ktext(j, "location", m, b->file);
		tide__json_kint_if(j, "line_number", b->line > 0, b->line);
		tide__json_kstr(j, "suggestion", b->suggestion);
		tide__json_kuint(j, "count", b->count);
		tide__json_kint(j, "retrace_ns", b->retrace_ns);
		tide__json_kint(j, "resume_ns", b->resume_ns);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static void put_compile(tide_json *j, const tide_model *m, const tide_compile_report *r)
{
	tide_advice v[TIDE_COMPILE_ADVICE_MAX];
	size_t n = tide__compile_advise(m, r, v);
	double fusion = tide__compile_fusion(r);
	tide__json_kmilli(j, "compile_time_ms", r->total_ns / 1000);
	tide__json_kuint(j, "graph_breaks", r->graph_breaks);
	tide__json_key(j, "fusion_ratio");
	if (fusion > 0)
		tide__json_fixed(j, fusion, 4);
	else
		tide__json_null(j);
	put_breaks(j, m, r);
	tide__json_karray(j, "recommendations");
	for (size_t i = 0; i < n; i++)
		tide__json_str(j, v[i].text);
	tide__json_array_end(j);
	tide__json_kobject(j, "report");
	tide__compile_json(m, r, 100, j);
	tide__json_object_end(j);
}

tide_code tide__answer_compile(tide_ask *a, tide_error *err)
{
	static const char no_log[] =
		"not a compile log: TORCH_TRACE=FOLDER makes the program write one";
	tide_loaded *l;
	tide_json j;
	tide_compile_report r;
	modes m = { .n = 0 };
	tide_code rc;
	if (tide__answer_from_exported(a, TIDE_EXPORTED_COMPILE, &rc, err))
		return rc;
	rc = tide__ask_param(a, "recording", &l, err);
	if (rc != TIDE_OK)
		return rc;
	bool log = l && !strcmp(l->m->format, "torchtrace");
	if (log && !list_modes(a->store, l->m->path, &m))
		return tide__nomem(err);
	rc = read_modes(a, &m, err);
	if (rc != TIDE_OK)
		return rc;
	if (log && (rc = tide__compile_report_find(l->m, &r, err)) != TIDE_OK)
		return rc;
	tide__api_begin(&j, a, l, log);
	put_modes(&j, &m);
	if (log) {
		put_compile(&j, l->m, &r);
		tide__compile_report_free(&r);
	} else {
		no_compile(&j);
	}
	return tide__api_end(&j, log ? NULL : l ? no_log : tide__api_none, err);
}
