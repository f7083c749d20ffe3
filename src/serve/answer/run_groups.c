// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See run_items.h: exports of sessions, and runs by program. */
#include "serve/answer/run_items.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"

enum { TREND = 32 }; /* runs of a group that its trend shows */

const char *tide__run_name(const tide_rec *r)
{
	const char *slash = strrchr(r->path, '/');
	return slash ? slash + 1 : r->path;
}

int tide__run_order(const tide_run_item *a, const tide_run_item *b)
{
	const tide_run_summary *x = &a->run->s, *y = &b->run->s;
	int c = strcmp(x->program, y->program);
	c = c ? c : strcmp(x->arguments, y->arguments);
	c = c ? c : strcmp(x->device, y->device);
	c = c ? c : strcmp(x->format, y->format);
	return c ? c : (x->rank > y->rank) - (x->rank < y->rank);
}

void tide__run_change_json(tide_json *j, const char *key, int64_t before, int64_t now)
{
	if (before > 0 && now >= 0)
		tide__json_kfixed(j, key, 100.0 * (double)(now - before) / (double)before, 2);
	else
		tide__json_knull(j, key);
}

/* ---- exports ---- */

static int by_path(const void *a, const void *b)
{
	const tide_rec *const *x = a, *const *y = b;
	return strcmp((*x)->path, (*y)->path);
}

/* Returns the length of the path of the recording that `path` would be an export of, without
 * ".tide"; 0 if it is named otherwise. */
static size_t stem(const char *path)
{
	static const char *const ends[] = { ".json", ".json.gz", "_memory.pickle" };
	size_t n = strlen(path);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		size_t k = strlen(ends[i]);
		if (n > k && !strcmp(path + n - k, ends[i]))
			return n - k;
	}
	return 0;
}

/* Compares the recording's path with PATH[0..n).tide. */
static int compare_stem(const tide_rec *r, const char *path, size_t n)
{
	int c = strncmp(r->path, path, n);
	return c ? c : strcmp(r->path + n, ".tide");
}

/* Finds the recording PATH[0..n).tide; NULL = none. `v` is ordered by path. */
static const tide_rec *find_tide(const tide_rec **v, size_t count, const char *path, size_t n)
{
	size_t lo = 0;
	TIDE_SEARCH(lo, count, mid, compare_stem(v[mid], path, n) < 0);
	return lo < count && !compare_stem(v[lo], path, n) ? v[lo] : NULL;
}

static int by_recording(const void *a, const void *b)
{
	const tide_run_item *x = a, *y = b;
	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	return strcmp(x->r->path, y->r->path);
}

size_t tide__run_exports_apart(tide_run_item *v, size_t n)
{
	const tide_rec **paths = tide__alloc(n ? n : 1, sizeof *paths);
	tide_run_item *exports = tide__alloc(n ? n : 1, sizeof *exports);
	size_t kept = 0, apart = 0;
	for (size_t i = 0; paths && i < n; i++)
		paths[i] = v[i].r;
	if (paths && n)
		qsort(paths, n, sizeof *paths, by_path);
	for (size_t i = 0; i < n; i++) {
		size_t k = paths && exports ? stem(v[i].r->path) : 0;
		v[i].of = k ? find_tide(paths, n, v[i].r->path, k) : NULL;
		if (v[i].of)
			exports[apart++] = v[i];
		else
			v[kept++] = v[i];
	}
	if (apart) {
		qsort(exports, apart, sizeof *exports, by_recording);
		memcpy(v + kept, exports, apart * sizeof *v);
	}
	tide__free(paths);
	tide__free(exports);
	return kept;
}

void tide__run_exports_json(tide_json *j, const tide_run_item *v, size_t n, const tide_rec *of)
{
	size_t lo = 0;
	TIDE_SEARCH(lo, n, mid, v[mid].of < of);
	tide__json_karray(j, "exports");
	for (size_t i = lo; i < n && v[i].of == of; i++) {
		tide__json_object(j);
		tide__json_kstr(j, "id", v[i].r->id);
		tide__json_kstr(j, "name", tide__run_name(v[i].r));
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

/* ---- groups ---- */

static const char *program(const tide_run_item *x)
{
	return x->run->known ? x->run->s.program : "";
}

/* Orders by program, newest first. */
static int by_program(const void *a, const void *b)
{
	const tide_run_item *const *x = a, *const *y = b;
	int c = strcmp(program(*x), program(*y));
	return c ? c : (*x > *y) - (*x < *y);
}

typedef struct group {
	const tide_run_item **v; /* newest first */
	size_t n;
} group;

static int newest_group(const void *a, const void *b)
{
	const group *x = a, *y = b;
	return (x->v[0] > y->v[0]) - (x->v[0] < y->v[0]);
}

static void put_figures(tide_json *j, const tide_run_item *x)
{
	const tide_run_summary *s = &x->run->s;
	bool k = x->run->known;
	tide__json_kint_if(j, "peak_bytes", k && s->peak_bytes >= 0, s->peak_bytes);
	tide__json_kint_if(j, "step_ns", k && s->step_ns >= 0, s->step_ns);
	tide__json_kbool(j, "partial", k && s->partial);
}

/* Writes the trend of a group: the runs that the newest one can be compared with. Runs of unknown
 * programs are unrelated and have none. */
static void put_trend(tide_json *j, const group *g)
{
	size_t n = 0, alike = 0;
	for (; program(g->v[0])[0] && n < g->n && alike < TREND; n++)
		alike += !tide__run_order(g->v[n], g->v[0]);
	tide__json_karray(j, "trend");
	for (size_t i = n; i-- > 0;) {
		if (tide__run_order(g->v[i], g->v[0]))
			continue;
		tide__json_object(j);
		tide__json_kstr(j, "id", g->v[i]->r->id);
		put_figures(j, g->v[i]);
		tide__json_kbool(j, "peak_regression", g->v[i]->worse_peak);
		tide__json_kbool(j, "step_regression", g->v[i]->worse_step);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static void put_group(tide_json *j, const group *g)
{
	const tide_run_item *last = g->v[0];
	const tide_run_summary *s = &last->run->s, *b = last->before ? &last->before->run->s : NULL;
	size_t worse = 0, live = 0;
	for (size_t i = 0; i < g->n; i++) {
		worse += g->v[i]->worse;
		live += g->v[i]->r->writer == TIDE_WRITER_RUNNING;
	}
	tide__json_object(j);
	tide__json_kstr(j, "program", program(last)[0] ? program(last) : NULL);
	tide__json_kuint(j, "count", g->n);
	tide__json_kuint(j, "live", live);
	tide__json_kuint(j, "regressions", worse);
	tide__json_kstr(j, "latest", last->r->id);
	tide__json_kint(j, "latest_ns", last->when);
	put_figures(j, last);
	tide__run_change_json(j, "peak_change_pct", b ? b->peak_bytes : -1, s->peak_bytes);
	tide__run_change_json(j, "step_change_pct", b ? b->step_ns : -1, s->step_ns);
	put_trend(j, g);
	tide__json_object_end(j);
}

bool tide__run_groups_json(tide_json *j, const tide_run_item *v, size_t n)
{
	const tide_run_item **order = tide__alloc(n ? n : 1, sizeof *order);
	group *groups = tide__alloc(n ? n : 1, sizeof *groups);
	size_t many = 0;
	for (size_t i = 0; order && i < n; i++)
		order[i] = &v[i];
	if (order && n)
		qsort(order, n, sizeof *order, by_program);
	for (size_t i = 0; order && groups && i < n; i++) {
		if (!i || strcmp(program(order[i]), program(order[i - 1])))
			groups[many++] = (group){ order + i, 0 };
		groups[many - 1].n++;
	}
	if (many)
		qsort(groups, many, sizeof *groups, newest_group);
	tide__json_karray(j, "groups");
	for (size_t i = 0; i < many; i++)
		put_group(j, &groups[i]);
	tide__json_array_end(j);
	bool ok = order && groups;
	tide__free(order);
	tide__free(groups);
	return ok;
}
