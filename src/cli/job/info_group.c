// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/job/info_group.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/documents.h"
#include "cli/job/each_rank.h"
#include "cli/job/ranks.h"
#include "import/import.h"
#include "render/text/grid.h"

#define MAYBE TIDE_MAY_BE_NULL
static const tide_member cols[] = {
	TIDE_COLUMN("rank", "Rank", PLAIN, MAYBE, "rank of the trace; null: none"),
	TIDE_COLUMN("pid", "Pid", PLAIN, MAYBE, "id of the process"),
	TIDE_COLUMN("format", "Format", TEXT, MAYBE, "format of the file"),
	TIDE_COLUMN("duration_ns", "Duration", NS, MAYBE, "length of the trace"),
	TIDE_COLUMN("spans", "Spans", COUNT, 0, "ops, kernels and ranges"),
	TIDE_COLUMN("allocs", "Allocations", COUNT, 0, "allocations"),
	TIDE_COLUMN("devices", "Devices", COUNT, 0, "devices"),
	TIDE_MEMBER_MAYBE("run", TEXT, "id that all recordings of one `tidemark run` share"),
	TIDE_COLUMN("parent", "Parent", PLAIN, MAYBE, "id of the parent process"),
	TIDE_MEMBER("depth", PLAIN, "0: its parent is not among the traces"),
	TIDE_COLUMN("command", "Command", TEXT, MAYBE, "command line of the process"),
	TIDE_COLUMN("trace", "Trace", TEXT, 0, "its file"),
	{ 0 },
};
static const tide_member run_members[] = {
	TIDE_MEMBER("run", TEXT, "id of the run"),
	TIDE_MEMBER("processes", COUNT, "number of processes"),
	TIDE_MEMBER("start_wall_ns", WALL, "start of the first"),
	TIDE_MEMBER("duration_ns", NS, "to the last event of any process"),
	TIDE_MEMBER_OF("traces", TABLE, cols, "its traces in the order of the process tree"),
	{ 0 },
};
/* The table of all traces is the one that --csv prints. */
static const tide_member members[] = {
	TIDE_MEMBER_OF("ranks", TABLE, cols, "a row for each trace"),
	TIDE_MEMBER_OF("runs", TABLE, run_members, "runs of `tidemark run`"),
	{ 0 },
};

struct one {
	char run[72]; /* "" = of no run */
	int64_t rank, pid, parent, start, t_end;
	uint8_t axis; /* of t_end */
	uint64_t spans, allocs, devices;
	char *format, *command, *path; /* owned */
	int depth;		       /* 0 = its parent is not in the list */
	size_t at;		       /* index among the arguments */
};

struct all {
	struct one *v;
	size_t n, cap;
};

/* ---- one trace ---- */

static const char *fact(const tide_model *m, const char *key)
{
	int64_t f = tide__fact_find(m, key);
	return f >= 0 ? tide__text(m, m->facts.text[f], NULL) : "";
}

static char *copy(const char *s)
{
	return tide__strndup(s, strlen(s));
}

static bool take(struct all *x, const tide_model *m, const char *path)
{
	const tide_processes *p = &m->processes;
	int64_t parent = tide__fact_find(m, "process.parent");
	if (!TIDE_ROOM(x->v, x->cap, x->n + 1))
		return false;
	struct one o = { .rank = p->n > 1 ? p->rank[1] : -1,
			 .pid = p->n > 1 ? p->pid[1] : -1,
			 .parent = parent >= 0 ? m->facts.number[parent] : -1,
			 .start = m->wall_known ? m->wall0_ns : 0,
			 .t_end = m->t_end,
			 .axis = m->axis,
			 .spans = m->spans.n - 1,
			 .allocs = m->allocs.n - 1,
			 .devices = m->devices.n - 1,
			 .format = copy(m->format ? m->format : ""),
			 .command = copy(fact(m, "process.command")),
			 .path = copy(path),
			 .at = x->n };
	snprintf(o.run, sizeof o.run, "%s", fact(m, "process.run"));
	o.rank = o.rank >= 0 ? o.rank : tide__rank_of(path);
	x->v[x->n++] = o;
	return o.format && o.command && o.path;
}

/* Loads, measures and frees the traces one by one. */
static int take_all(const tide_rank_files *f, struct all *x)
{
	tide_error err;
	int rc = 0;
	for (size_t i = 0; i < f->n; i++) {
		tide_load_options opt = { .what = 0 };
		tide_model *m = NULL;
		err = (tide_error){ .offset = TIDE_NO_OFFSET };
		tide_code code = tide__load(f->v[i].path, &opt, &m, &err);
		if (code == TIDE_OK)
			tide__cli_remember(m);
		if (code == TIDE_OK && !take(x, m, f->v[i].path))
			code = tide__nomem(&err);
		if (code != TIDE_OK)
			rc = tide__cli_fail(f->v[i].path, &err);
		tide__model_free(m);
	}
	return rc;
}

/* ---- order: runs by their start, then processes; children behind their parents ---- */

static int by_run(const void *a, const void *b)
{
	const struct one *x = a, *y = b;
	if (!*x->run != !*y->run)
		return *x->run ? -1 : 1;
	int c = strcmp(x->run, y->run); /* ids begin with their time */
	if (c || !*x->run)
		return c ? c : (x->at > y->at) - (x->at < y->at);
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static size_t put_tree(const struct one *v, size_t n, bool *done, size_t at, int depth,
		       struct one *out, size_t k)
{
	done[at] = true;
	out[k] = v[at];
	out[k++].depth = depth;
	for (size_t i = 0; i < n; i++) /* a pid may be reused: each trace comes once */
		if (!done[i] && v[at].pid > 0 && v[i].parent == v[at].pid)
			k = put_tree(v, n, done, i, depth + 1, out, k);
	return k;
}

static bool has_parent(const struct one *v, size_t n, size_t i)
{
	for (size_t k = 0; k < n; k++)
		if (k != i && v[k].pid > 0 && v[k].pid == v[i].parent)
			return true;
	return false;
}

/* Puts the n traces of a run in the order of their tree. Larger runs stay in order of time. */
static bool arrange(struct one *v, size_t n)
{
	enum { MOST = 2000 };
	if (n < 2 || n > MOST)
		return true;
	struct one *out = tide__calloc(n, sizeof *out);
	bool *done = tide__calloc(n, sizeof *done);
	size_t k = 0;
	for (size_t i = 0; out && done && i < n; i++)
		if (!done[i] && !has_parent(v, n, i))
			k = put_tree(v, n, done, i, 0, out, k);
	for (size_t i = 0; out && done && i < n; i++) /* a circle of reused pids */
		if (!done[i])
			k = put_tree(v, n, done, i, 0, out, k);
	bool ok = out && done;
	if (ok)
		memcpy(v, out, n * sizeof *v);
	tide__free(out);
	tide__free(done);
	return ok;
}

static size_t group_end(const struct all *x, size_t from)
{
	size_t to = from + 1;
	while (to < x->n && !strcmp(x->v[to].run, x->v[from].run))
		to++;
	return to;
}

/* ---- output ---- */

static void number(tide_grid *g, int64_t v)
{
	v < 0 ? tide__grid_none(g) : tide__grid_int(g, v);
}

static void text(tide_grid *g, const char *s)
{
	*s ? tide__grid_text(g, s) : tide__grid_none(g);
}

static tide_grid *rows(const struct one *v, size_t n, bool indented)
{
	tide_grid *g = tide__grid_new(cols, tide__member_count(cols));
	for (size_t i = 0; g && i < n; i++) {
		char command[4096];
		int indent = indented && v[i].depth < 40 ? 2 * v[i].depth : 0;
		snprintf(command, sizeof command, "%*s%s", indent, "", v[i].command);
		number(g, v[i].rank);
		number(g, v[i].pid);
		text(g, v[i].format);
		tide__fmt_axis(v[i].axis);
		tide__grid_int(g, v[i].t_end);
		tide__grid_uint(g, v[i].spans);
		tide__grid_uint(g, v[i].allocs);
		tide__grid_uint(g, v[i].devices);
		text(g, v[i].run);
		number(g, v[i].parent);
		tide__grid_int(g, v[i].depth);
		text(g, *v[i].command ? command : "");
		tide__grid_text(g, v[i].path);
	}
	return g;
}

/* Start of the first process, and time to the end of the last event of any. */
static void extent(const struct one *v, size_t n, int64_t *start, int64_t *lasted)
{
	int64_t end = INT64_MIN;
	*start = INT64_MAX;
	for (size_t i = 0; i < n; i++) {
		*start = v[i].start < *start ? v[i].start : *start;
		end = v[i].start + v[i].t_end > end ? v[i].start + v[i].t_end : end;
	}
	*lasted = end - *start;
}

/* Returns the number of processes; a program that replaces itself (exec) has several recordings. */
static size_t processes(const struct one *v, size_t n)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;
		while (k < i && (v[k].pid != v[i].pid || v[i].pid < 0))
			k++;
		count += k == i;
	}
	return count;
}

static void heading(const struct one *v, size_t n, const tide_out *to)
{
	char when[64] = "", lasts[32], more[48] = "";
	int64_t start, lasted;
	if (!*v->run) {
		tide__write_heading(to, "%zu trace%s without a run", n, n == 1 ? "" : "s");
		return;
	}
	extent(v, n, &start, &lasted);
	time_t s = (time_t)(start / 1000000000);
	struct tm t;
	if (start > 0 && gmtime_r(&s, &t))
		strftime(when, sizeof when, ", started %Y-%m-%d %H:%M:%S UTC", &t);
	size_t p = processes(v, n);
	if (p != n)
		snprintf(more, sizeof more, " in %zu recordings", n);
	tide__write_heading(to, "run %s: %zu process%s%s, %s%s", v->run, p, p == 1 ? "" : "es",
			    more, tide__fmt_ns(lasts, sizeof lasts, (double)lasted), when);
}

static tide_code put_text(void *result, const tide_out *to)
{
	const struct all *x = result;
	for (size_t i = 0, end; i < x->n; i = end) {
		end = group_end(x, i);
		if (i)
			fputc('\n', to->out);
		bool some = *x->v->run; /* no run at all: a plain table */
		if (some)
			heading(&x->v[i], end - i, to);
		tide__grid_write(rows(&x->v[i], end - i, true), to, some ? 2 : 0);
	}
	return TIDE_OK;
}

static tide_code put_json(void *result, tide_json *j)
{
	const struct all *x = result;
	tide__json_karray(j, "runs");
	for (size_t i = 0, to; i < x->n && *x->v[i].run; i = to) {
		int64_t start, lasted;
		to = group_end(x, i);
		extent(&x->v[i], to - i, &start, &lasted);
		tide__json_object(j);
		tide__json_kstr(j, "run", x->v[i].run);
		tide__json_kuint(j, "processes", processes(&x->v[i], to - i));
		tide__json_kint(j, "start_wall_ns", start);
		tide__json_kint(j, "duration_ns", lasted);
		tide__grid_write_member(rows(&x->v[i], to - i, false), j, "traces");
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
	tide__grid_write_member(rows(x->v, x->n, false), j, "ranks");
	return TIDE_OK;
}

const tide_report_type tide__document_info_ranks = {
	.name = "info-ranks",
	.version = 1,
	.summary = "several traces, and the runs that they belong to",
	.members = members,
	.text = put_text,
	.json = put_json,
};

static void release(struct all *x)
{
	for (size_t i = 0; i < x->n; i++) {
		tide__free(x->v[i].format);
		tide__free(x->v[i].command);
		tide__free(x->v[i].path);
	}
	tide__free(x->v);
}

int tide__cli_run_info_group(const tide_args *a)
{
	tide_rank_files f = { 0 };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	struct all x = { 0 };
	if (tide__ranks_find_all(a->files, a->n_files, &f, &err) != TIDE_OK)
		return tide__cli_fail(NULL, &err);
	tide__ranks_sort(&f);
	int rc = take_all(&f, &x);
	if (x.n)
		qsort(x.v, x.n, sizeof *x.v, by_run);
	bool ok = true;
	for (size_t i = 0, to; ok && i < x.n; i = to) {
		to = group_end(&x, i);
		ok = !*x.v[i].run || arrange(&x.v[i], to - i);
	}
	if (!ok) {
		tide__nomem(&err);
		rc = tide__cli_fail(NULL, &err);
	} else if (x.n) {
		int shown = tide__document_put(a, &tide__document_info_ranks, &x);
		rc = rc ? rc : shown;
	}
	release(&x);
	tide__ranks_free(&f);
	return rc;
}
