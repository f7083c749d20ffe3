// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* /api/runs: every recording with its figures, grouped by program, each run compared with the
 * previous whole one; exports of a session belong to its recording; /api/runs/ID/note writes tags and a
 * note (POST). */
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/thresholds.h"
#include "base/error.h"
#include "base/mem.h"
#include "serve/answer/api.h"
#include "serve/answer/run_items.h"

enum { LIMITS = 8 };
typedef struct limits { /* conditions as in `tidemark diff --fail-if` */
	char text[256];
	const char *one[LIMITS]; /* in text */
	tide_failif v[LIMITS];
	size_t n;
} limits;

typedef tide_run_item item;

enum { LIST_PAGE = 1000 }; /* default number of runs in an answer */

/* ---- groups ---- */

static int by_group(const void *a, const void *b)
{
	const item *x = a, *y = b;
	int c = tide__run_order(x, y);
	if (c)
		return c;
	return x->when != y->when ? (x->when < y->when ? -1 : 1) : strcmp(x->r->path, y->r->path);
}

static int newest_first(const void *a, const void *b)
{
	const item *x = a, *y = b;
	return x->when != y->when ? (x->when > y->when ? -1 : 1) : strcmp(x->r->path, y->r->path);
}

/* Returns whether the figures of a run are those of the whole run, so that others may be compared
 * with it. */
static bool is_whole(const item *x)
{
	return x->run->known && !x->run->s.partial && x->r->writer != TIDE_WRITER_RUNNING;
}

/* Links every run with the previous whole one of its group. A partial run is not compared: it may
 * have been as large and as slow as the others. */
static void link_groups(item *v, size_t n, item **copy)
{
	const item *whole = NULL; /* the last one of the group */
	/* sorts a copy by group, so that pointers of `before` stay valid */
	memcpy(*copy, v, n * sizeof *v);
	if (n)
		qsort(*copy, n, sizeof *v, by_group);
	for (size_t i = 0; i < n; i++) {
		item *x = &(*copy)[i];
		bool grouped = i && x->run->known && x->run->s.program[0] && x[-1].run->known &&
			       !tide__run_order(x, x - 1);
		whole = grouped ? whole : NULL;
		x->before = x->run->s.partial ? NULL : whole;
		whole = is_whole(x) ? x : whole;
	}
}

/* ---- figures ---- */

static void maybe(tide_json *j, const char *key, bool known, int64_t v)
{
	tide__json_kint_if(j, key, known && v >= 0, v);
}

/* Returns a metric from the index; -1 = unknown. */
static int64_t figure(const tide_run_summary *s, tide_metric metric)
{
	return metric == TIDE_METRIC_PEAK	 ? s->peak_bytes
	       : metric == TIDE_METRIC_STEP_TIME ? s->step_ns
						 : s->duration_ns;
}

/* "peak>+5%,step_time>+5%". A '+' in an address is a blank: one after the comparison is a '+'. */
static tide_code read_limits(const char *text, limits *l, tide_error *err)
{
	size_t n = strlen(text);
	l->n = 0;
	if (n >= sizeof l->text)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "fail_if is too long");
	memcpy(l->text, text, n + 1);
	for (size_t i = 1; i < n; i++)
		if (l->text[i] == ' ' && strchr("<>=", l->text[i - 1]))
			l->text[i] = '+';
	char *rest = NULL;
	for (char *one = strtok_r(l->text, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
		if (l->n == LIMITS)
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "fail_if has more than 8 parts");
		tide_failif *f = &l->v[l->n];
		tide_code rc = tide__failif_parse(one, f, err);
		if (rc != TIDE_OK)
			return rc;
		if (f->function != TIDE_FAIL_METRIC ||
		    (f->metric != TIDE_METRIC_PEAK && f->metric != TIDE_METRIC_STEP_TIME &&
		     f->metric != TIDE_METRIC_TIME))
			return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
					  "%s: runs have peak, step_time and time; tidemark diff "
					  "--fail-if has the others",
					  one);
		l->one[l->n++] = one;
	}
	return TIDE_OK;
}

/* Returns whether a run crosses this limit compared with the previous run. */
static bool crossed(const tide_failif *f, const item *x)
{
	if (!x->run->known)
		return false;
	int64_t b = figure(&x->run->s, f->metric),
		a = x->before ? figure(&x->before->run->s, f->metric) : -1;
	bool known = b >= 0 && (a >= 0 || !f->change);
	return known && tide__failif_crossed(f, a < 0 ? 0 : (uint64_t)a, (uint64_t)b);
}

static void mark_worse(item *v, size_t n, const limits *l)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < l->n; k++) {
			bool is = crossed(&l->v[k], &v[i]);
			v[i].worse |= is;
			v[i].worse_peak |= is && l->v[k].metric == TIDE_METRIC_PEAK;
			v[i].worse_step |= is && l->v[k].metric == TIDE_METRIC_STEP_TIME;
		}
}

static void put_failed(tide_json *j, const limits *l, const item *x)
{
	tide__json_karray(j, "failed");
	for (size_t i = 0; i < l->n; i++)
		if (crossed(&l->v[i], x))
			tide__json_str(j, l->one[i]);
	tide__json_array_end(j);
	tide__json_kbool(j, "regression", x->worse);
}

static void put_spark(tide_json *j, const tide_run *run)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuv";
	char text[TIDE_RUN_SPARK + 1];
	size_t n = run->known ? run->s.n_spark : 0;
	for (size_t i = 0; i < n; i++)
		text[i] = digits[run->s.spark[i] & 31];
	text[n] = 0;
	tide__json_kstr(j, "spark", n ? text : NULL);
}

static void put_tags(tide_json *j, const char *tags)
{
	tide__json_karray(j, "tags");
	while (*tags) {
		size_t n = strcspn(tags, ",");
		if (n)
			tide__json_strn(j, tags, n);
		tags += n + (tags[n] == ',');
	}
	tide__json_array_end(j);
}

static void put_item(tide_json *j, const item *x, const limits *l, const item *exports,
		     size_t n_exports)
{
	const tide_run *u = x->run;
	const tide_run_summary *s = &u->s, *b = x->before ? &x->before->run->s : NULL;
	bool k = u->known;
	tide__json_object(j);
	tide__api_rec_json(j, x->r);
	tide__json_kbool(j, "indexed", k && !u->stale);
	tide__json_kbool(j, "unreadable", u->failed);
	tide__json_kstr(j, "format", k && s->format[0] ? s->format : NULL);
	tide__json_kstr(j, "program", k && s->program[0] ? s->program : NULL);
	tide__json_kstr(j, "arguments", k && s->program[0] ? s->arguments : NULL);
	tide__json_kstr(j, "device", k && s->device[0] ? s->device : NULL);
	maybe(j, "start_ns", k, s->start_ns);
	maybe(j, "duration_ns", k, s->duration_ns);
	maybe(j, "peak_bytes", k, s->peak_bytes);
	maybe(j, "capacity_bytes", k, s->capacity_bytes);
	maybe(j, "step_ns", k, s->step_ns);
	maybe(j, "steps", k, s->steps);
	maybe(j, "rank", k, s->rank);
	maybe(j, "compile_ns", k, s->compile_ns);
	maybe(j, "graph_breaks", k, s->graph_breaks);
	if (k && s->busy_ppm >= 0)
		tide__json_kfixed(j, "gpu_busy_pct", (double)s->busy_ppm / 1e4, 2);
	else
		tide__json_knull(j, "gpu_busy_pct");
	tide__json_kuint_if(j, "losses", k, s->losses);
	tide__json_kbool(j, "partial", k && s->partial);
	put_spark(j, u);
	tide__json_kstr(j, "before", x->before ? x->before->r->id : NULL);
	tide__run_change_json(j, "peak_change_pct", b ? b->peak_bytes : -1, k ? s->peak_bytes : -1);
	tide__run_change_json(j, "step_change_pct", b ? b->step_ns : -1, k ? s->step_ns : -1);
	put_failed(j, l, x);
	put_tags(j, u->tags);
	tide__json_kstr(j, "note", u->note[0] ? u->note : NULL);
	tide__run_exports_json(j, exports, n_exports, x->r);
	tide__json_object_end(j);
}

/* ---- the list ---- */

typedef struct wanted {
	limits limits;
	const char *program; /* NULL = all; "" = runs whose program is unknown */
	size_t most, others; /* files without a recording, which are not listed */
} wanted;

static bool is_wanted(const item *x, const wanted *w)
{
	return !w->program || !strcmp(x->run->known ? x->run->s.program : "", w->program);
}

static size_t not_looked_at(const item *v, size_t n)
{
	size_t known = 0;
	for (size_t i = 0; i < n; i++)
		known += v[i].run->failed ||
			 (v[i].run->known &&
			  (!v[i].run->stale || v[i].r->writer == TIDE_WRITER_RUNNING));
	return n - known;
}

/* `v`: n runs, newest first, and behind them exports. */
static tide_code put_all(tide_ask *a, tide_run_index *index, item *v, size_t n, size_t exports,
			 const wanted *w, tide_error *err)
{
	tide_json j;
	tide__json_begin(&j, a->out, false);
	tide__json_object(&j);
	tide__json_kbool(&j, "has_real_data", n > 0);
	tide__json_kuint(&j, "count", n);
	tide__json_kuint(&j, "pending", not_looked_at(v, n));
	tide__json_kuint(&j, "other_files", w->others);
	tide__json_kstr(&j, "notes_file", tide__run_index_file(index));
	tide__json_karray(&j, "fail_if");
	for (size_t i = 0; i < w->limits.n; i++)
		tide__json_str(&j, w->limits.one[i]);
	tide__json_array_end(&j);
	bool ok = tide__run_groups_json(&j, v, n);
	tide__json_karray(&j, "runs");
	for (size_t i = 0, listed = 0; i < n && listed < w->most; i++) {
		if (!is_wanted(&v[i], w))
			continue;
		put_item(&j, &v[i], &w->limits, v + n, exports);
		listed++;
	}
	tide__json_array_end(&j);
	tide_code rc = tide__api_end(&j, n ? NULL : tide__api_none, err);
	return ok ? rc : tide__nomem(err);
}

static tide_code list(tide_ask *a, tide_run_index *index, const tide_rec *r, size_t n_files,
		      wanted *w, tide_error *err)
{
	size_t n = 0;
	tide_run *runs = tide__run_index_get(index, r, n_files);
	item *v = tide__calloc(n_files ? n_files : 1, sizeof *v),
	     *grouped = tide__calloc(n_files ? n_files : 1, sizeof *v);
	tide_code rc = runs && v && grouped ? TIDE_OK : tide__nomem(err);
	for (size_t i = 0; rc == TIDE_OK && i < n_files; i++) {
		const tide_run_summary *s = &runs[i].s;
		if (!runs[i].other)
			v[n++] = (item){ .r = &r[i],
					 .run = &runs[i],
					 .when = runs[i].known && s->start_ns > 0 ? s->start_ns
										  : r[i].mtime_ns };
	}
	w->others = n_files - n;
	if (rc == TIDE_OK) {
		size_t own = tide__run_exports_apart(v, n);
		link_groups(v, own, &grouped);
		memcpy(v, grouped, own * sizeof *v);
		if (own)
			qsort(v, own, sizeof *v, newest_first);
		mark_worse(v, own, &w->limits);
		rc = put_all(a, index, v, own, n - own, w, err);
	}
	tide__free(v);
	tide__free(grouped);
	tide__run_index_give_back(runs, n_files);
	return rc;
}

tide_code tide__answer_runs(tide_ask *a, tide_error *err)
{
	static const char usual[] = "peak>+5%,step_time>+5%";
	const char *text = tide__request_get(a->req, "fail_if");
	int64_t most = LIST_PAGE;
	size_t n;
	wanted w = { .program = tide__request_get(a->req, "program") };
	tide_run_index *index = tide__run_index_of(a->store);
	if (!tide__request_get_int(a->req, "limit", 1, INT64_MAX, &most))
		return tide__ask_wrong(a, err);
	tide_code rc = read_limits(text ? text : usual, &w.limits, err);
	if (rc != TIDE_OK)
		return rc;
	if (!index)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				  "this server keeps no index");
	tide_rec *r = tide__store_list_all(a->store, &n);
	if (!r)
		return tide__nomem(err);
	w.most = (size_t)most;
	rc = list(a, index, r, n, &w, err);
	tide__store_list_free(r, n);
	return rc;
}

/* ---- notes ---- */

tide_code tide__api_run_note(tide_ask *a, tide_error *err)
{
	size_t n;
	tide_json j;
	tide_run_index *index = tide__run_index_of(a->store);
	tide_rec *r = index ? tide__store_list_all(a->store, &n) : NULL;
	tide_code rc = tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "no such recording");
	for (size_t i = 0; r && i < n; i++)
		if (!strcmp(r[i].id, a->req->part[2]))
			rc = tide__run_index_write(index, r[i].path,
						   tide__request_get(a->req, "tags"),
						   tide__request_get(a->req, "note"), err);
	if (r)
		tide__store_list_free(r, n);
	if (rc != TIDE_OK && rc != TIDE_EIO)
		return rc;
	tide__json_begin(&j, a->out, false);
	tide__json_object(&j);
	tide__json_kbool(&j, "kept", rc == TIDE_OK);
	return tide__api_end(&j, rc == TIDE_OK ? NULL : err->text, err);
}
