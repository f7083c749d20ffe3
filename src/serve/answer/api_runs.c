// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* /api/runs: every recording with its figures, grouped by program, each run held against the one
 * before it; /api/runs/ID/note writes tags and a note (POST). */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "serve/answer/api.h"
#include "serve/store/run_index.h"

typedef struct item {
	const tide_rec *r;
	const tide_run *run;
	const struct item *before; /* the run before it in its group; NULL = none */
	int64_t when;		   /* ns, Unix time */
} item;

enum { LIST_PAGE = 1000 }; /* runs in an answer that does not say how many */

/* ---- groups ---- */

static int same_text(const char *a, const char *b)
{
	return strcmp(a, b);
}

/* Runs of one program on one device in one format belong together. */
static int group_order(const item *a, const item *b)
{
	int c = same_text(a->run->s.program, b->run->s.program);
	c = c ? c : same_text(a->run->s.device, b->run->s.device);
	c = c ? c : same_text(a->run->s.format, b->run->s.format);
	return c ? c : (a->run->s.rank > b->run->s.rank) - (a->run->s.rank < b->run->s.rank);
}

static int by_group(const void *a, const void *b)
{
	const item *x = a, *y = b;
	int c = group_order(x, y);
	if (c)
		return c;
	return x->when != y->when ? (x->when < y->when ? -1 : 1) : strcmp(x->r->path, y->r->path);
}

static int newest_first(const void *a, const void *b)
{
	const item *x = a, *y = b;
	return x->when != y->when ? (x->when > y->when ? -1 : 1) : strcmp(x->r->path, y->r->path);
}

static void link_groups(item *v, size_t n, item **copy)
{
	/* order by group in a copy, so that `before` points at something that stays */
	memcpy(*copy, v, n * sizeof *v);
	if (n)
		qsort(*copy, n, sizeof *v, by_group);
	for (size_t i = 0; i < n; i++) {
		item *x = &(*copy)[i];
		bool grouped = i && x->run->known && x->run->s.program[0] && x[-1].run->known &&
			       !group_order(x, x - 1);
		x->before = grouped ? x - 1 : NULL;
	}
}

/* ---- figures ---- */

static void maybe(tide_json *j, const char *key, bool known, int64_t v)
{
	tide__json_kint_if(j, key, known && v >= 0, v);
}

static bool change(int64_t before, int64_t now, double *pct)
{
	if (before <= 0 || now < 0)
		return false;
	*pct = 100.0 * (double)(now - before) / (double)before;
	return true;
}

static bool put_change(tide_json *j, const char *key, int64_t before, int64_t now, double limit)
{
	double pct = 0;
	if (!change(before, now, &pct)) {
		tide__json_knull(j, key);
		return false;
	}
	tide__json_kfixed(j, key, pct, 2);
	return pct > limit;
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

static void put_item(tide_json *j, const item *x, const double limit[2])
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
	put_spark(j, u);
	tide__json_kstr(j, "before", x->before ? x->before->r->id : NULL);
	bool peak = put_change(j, "peak_change_pct", b ? b->peak_bytes : -1, k ? s->peak_bytes : -1,
			       limit[0]);
	bool step = put_change(j, "step_change_pct", b ? b->step_ns : -1, k ? s->step_ns : -1,
			       limit[1]);
	tide__json_kbool(j, "regression", peak || step);
	put_tags(j, u->tags);
	tide__json_kstr(j, "note", u->note[0] ? u->note : NULL);
	tide__json_object_end(j);
}

/* ---- the list ---- */

static void put_all(tide_ask *a, tide_run_index *index, item *v, size_t n, size_t most,
		    const double limit[2], tide_json *j)
{
	size_t known = 0;
	char text[64];
	for (size_t i = 0; i < n; i++)
		known += v[i].run->failed ||
			 (v[i].run->known &&
			  (!v[i].run->stale || v[i].r->writer == TIDE_WRITER_RUNNING));
	tide__json_begin(j, a->out, false);
	tide__json_object(j);
	tide__json_kbool(j, "has_real_data", n > 0);
	tide__json_kuint(j, "count", n);
	tide__json_kuint(j, "pending", n - known);
	tide__json_kstr(j, "notes_file", tide__run_index_file(index));
	tide__json_karray(j, "fail_if");
	snprintf(text, sizeof text, "peak>+%g%%", limit[0]);
	tide__json_str(j, text);
	snprintf(text, sizeof text, "step_time>+%g%%", limit[1]);
	tide__json_str(j, text);
	tide__json_array_end(j);
	tide__json_karray(j, "runs");
	for (size_t i = 0; i < n && i < most; i++)
		put_item(j, &v[i], limit);
	tide__json_array_end(j);
}

static tide_code list(tide_ask *a, tide_run_index *index, const tide_rec *r, size_t n, size_t most,
		      const double limit[2], tide_error *err)
{
	tide_json j;
	tide_run *runs = tide__run_index_get(index, r, n);
	item *v = tide__calloc(n ? n : 1, sizeof *v), *grouped = tide__calloc(n ? n : 1, sizeof *v);
	tide_code rc = runs && v && grouped ? TIDE_OK : tide__nomem(err);
	for (size_t i = 0; rc == TIDE_OK && i < n; i++) {
		const tide_run_summary *s = &runs[i].s;
		v[i] = (item){ &r[i], &runs[i], NULL,
			       runs[i].known && s->start_ns > 0 ? s->start_ns : r[i].mtime_ns };
	}
	if (rc == TIDE_OK) {
		link_groups(v, n, &grouped);
		memcpy(v, grouped, n * sizeof *v);
		if (n)
			qsort(v, n, sizeof *v, newest_first);
		put_all(a, index, v, n, most, limit, &j);
		rc = tide__api_end(&j, n ? NULL : tide__api_none, err);
	}
	tide__free(v);
	tide__free(grouped);
	tide__run_index_give_back(runs, n);
	return rc;
}

tide_code tide__api_runs(tide_ask *a, tide_error *err)
{
	int64_t peak = 500, step = 500; /* hundredths of a percent */
	int64_t most = LIST_PAGE;
	size_t n;
	tide_run_index *index = tide__run_index_of(a->store);
	if (!tide__request_decimal(a->req, "peak_pct", 2, 1000000, &peak) ||
	    !tide__request_decimal(a->req, "step_pct", 2, 1000000, &step) ||
	    !tide__request_int(a->req, "limit", 1, INT64_MAX, &most))
		return tide__ask_wrong(a, err);
	if (!index)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				  "this server keeps no index");
	tide_rec *r = tide__store_list(a->store, &n);
	if (!r)
		return tide__nomem(err);
	tide_code rc = list(a, index, r, n, (size_t)most,
			    (const double[2]){ (double)peak / 100, (double)step / 100 }, err);
	tide__store_list_free(r, n);
	return rc;
}

/* ---- notes ---- */

tide_code tide__api_run_note(tide_ask *a, tide_error *err)
{
	size_t n;
	tide_json j;
	tide_run_index *index = tide__run_index_of(a->store);
	tide_rec *r = index ? tide__store_list(a->store, &n) : NULL;
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
