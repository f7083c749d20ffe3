// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/job/run_group.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "import/import.h"

enum { KEY = 72, NAMES = 3, HEAD = 256 << 10 };
static const int64_t slack_ns = INT64_C(10000000000);

typedef struct member {
	tide_rank_file *file;
	char *base;	    /* owned: NAME.tide of its family */
	char run[KEY];	    /* process.run; "" = unknown, here and below */
	char id[KEY];	    /* recording.id */
	char first[KEY];    /* recording.first */
	char told[256];	    /* recording.base: the name requested for every process of its job */
	int64_t pid, start; /* ns of Unix time, 0 = unknown */
	bool old;
} member;

/* ---- one file ---- */

static void take_text(const tide_model *m, const char *key, char *out, size_t n)
{
	int64_t at = tide__fact_find(m, key);
	*out = 0;
	if (at >= 0)
		snprintf(out, n, "%s", tide__text(m, m->facts.text[at], NULL));
}

/* Reads the facts at the beginning of a recording. Returns false if it is not one. */
static bool read_facts(member *x)
{
	tide_load_options few = { .max_bytes = HEAD, .what = TIDE_WANT_ARGS };
	tide_model *m = NULL;
	if (tide__load(x->file->path, &few, &m, NULL) != TIDE_OK)
		return false;
	take_text(m, "process.run", x->run, sizeof x->run);
	take_text(m, "recording.id", x->id, sizeof x->id);
	take_text(m, "recording.first", x->first, sizeof x->first);
	take_text(m, "recording.base", x->told, sizeof x->told);
	x->start = m->wall_known ? m->wall0_ns : 0;
	x->pid = m->processes.n > 1 ? m->processes.pid[1] : -1;
	tide__model_free(m);
	return true;
}

static bool ends_in_tide(const char *path)
{
	size_t n = strlen(path);
	return n > 5 && !strcmp(path + n - 5, ".tide");
}

/* Removes ".NUMBER" from a name without its ".tide". Returns -1 if there is none. */
static int64_t cut_number(char *stem)
{
	char *dot = strrchr(stem, '.'), *end;
	if (!dot || dot[1] < '0' || dot[1] > '9' || strlen(dot) > 12)
		return -1;
	int64_t number = strtoll(dot + 1, &end, 10);
	if (*end)
		return -1;
	*dot = 0;
	return number;
}

/* Returns whether the recorder added the rank: "run.rank3.tide" for the requested name "run.tide".
 * */
static bool named_by_rank(const char *name, const char *told)
{
	size_t n = strlen(told);
	n -= n > 5 && !strcmp(told + n - 5, ".tide") ? 5 : 0;
	return n && !strncmp(name, told, n) && !strncmp(name + n, ".rank", 5);
}

/* Returns the common name of a group: the part before the process number, or the whole name without
 * one. */
static char *base_of(const member *x)
{
	const char *path = x->file->path, *slash = strrchr(path, '/');
	char *out = tide__alloc(strlen(path) + sizeof x->told + 1, 1);
	size_t folder = slash ? (size_t)(slash + 1 - path) : 0;
	int64_t pid = x->pid;
	if (!out)
		return NULL;
	strcpy(out, path);
	if (named_by_rank(path + folder, x->told)) {
		strcpy(out + folder, x->told);
		return out;
	}
	out[strlen(out) - 5] = 0;
	for (int i = 0; i < 2; i++) {
		int64_t number = cut_number(out);
		if (number < 0)
			break;
		if (number == pid)
			return strcat(out, ".tide"); /* there is room: it was longer */
	}
	strcpy(out, path);
	return out;
}

/* ---- one family ---- */

static int by_family(const void *a, const void *b)
{
	const member *x = a, *y = b;
	int c = strcmp(x->base, y->base);
	return c ? c : x->start < y->start ? -1 : x->start > y->start;
}

static bool same_run(const member *a, const member *b)
{
	if (*a->run && *b->run)
		return !strcmp(a->run, b->run);
	return *a->id && *b->id &&
	       (!strcmp(a->first, b->first) || !strcmp(a->first, b->id) ||
		!strcmp(b->first, a->id));
}

/* Returns true if nothing shows whether they belong together. */
static bool is_open(const member *a, const member *b)
{
	bool runs = *a->run && *b->run, root = !*a->id || !strcmp(a->id, a->first);
	return !runs && root;
}

static void choose(member *v, size_t n)
{
	const member *last = &v[n - 1];
	int64_t began = last->start;
	for (size_t i = 0; i < n; i++)
		if (same_run(&v[i], last) && v[i].start < began)
			began = v[i].start;
	for (size_t i = 0; i + 1 < n; i++)
		v[i].old = v[i].start && !same_run(&v[i], last) &&
			   !(is_open(&v[i], last) && v[i].start + slack_ns >= began);
}

/* Prints a name with control characters escaped. */
static void put_name(const member *x)
{
	const char *slash = strrchr(x->file->path, '/');
	const char *name = slash ? slash + 1 : x->file->path;
	char text[300];
	fputs(tide__fmt_name(text, sizeof text, name, strlen(name), 0), stderr);
}

/* "tidemark: left out, of an earlier run than run.tide: run.7.tide and 2 others" */
static void say(const member *v, size_t n, bool named)
{
	size_t count = 0;
	const member *whose = &v[n - 1];
	for (size_t i = 0; i < n; i++) {
		count += v[i].old && v[i].file->named == named;
		if (!v[i].old && !strcmp(v[i].file->path, v[i].base))
			whose = &v[i];
	}
	if (!count)
		return;
	fprintf(stderr, "tidemark: %s of an earlier run than ",
		named ? "read though" : "left out,");
	put_name(whose);
	fputc(':', stderr);
	size_t shown = 0;
	for (size_t i = 0; i < n && shown < NAMES; i++)
		if (v[i].old && v[i].file->named == named) {
			fputs(shown++ ? ", " : " ", stderr);
			put_name(&v[i]);
		}
	if (count > shown)
		fprintf(stderr, " and %zu others", count - shown);
	fputc('\n', stderr);
}

static void each_family(member *v, size_t n)
{
	for (size_t from = 0, to; from < n; from = to) {
		for (to = from + 1; to < n && !strcmp(v[to].base, v[from].base); to++)
			;
		if (to - from < 2)
			continue;
		choose(v + from, to - from);
		say(v + from, to - from, false);
		say(v + from, to - from, true);
	}
}

/* ---- the list ---- */

/* Returns false if no name has a number in it: there are no families, and no file is opened. */
static bool may_have_any(const tide_rank_files *f)
{
	for (size_t i = 0; i < f->n; i++) {
		char *stem = ends_in_tide(f->v[i].path)
				     ? tide__strndup(f->v[i].path, strlen(f->v[i].path) - 5)
				     : NULL;
		bool numbered = stem && (strstr(stem, ".rank") || cut_number(stem) >= 0);
		tide__free(stem);
		if (numbered)
			return true;
	}
	return false;
}

static void drop(tide_rank_files *f, const member *v, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		if (v[i].old && !v[i].file->named) {
			tide__free(v[i].file->path);
			v[i].file->path = NULL;
		}
	for (size_t i = 0; i < f->n; i++)
		if (f->v[i].path)
			f->v[kept++] = f->v[i];
	f->n = kept;
}

bool tide__find_families(tide_rank_files *f)
{
	if (f->n < 2 || !may_have_any(f))
		return true;
	member *v = tide__calloc(f->n, sizeof *v);
	size_t n = 0;
	bool ok = v != NULL;
	for (size_t i = 0; ok && i < f->n; i++) {
		v[n] = (member){ .file = &f->v[i] };
		if (!ends_in_tide(f->v[i].path) || !read_facts(&v[n]))
			continue;
		v[n].base = base_of(&v[n]);
		ok = v[n++].base != NULL;
	}
	if (ok) {
		qsort(v, n, sizeof *v, by_family);
		each_family(v, n);
		drop(f, v, n);
	}
	for (size_t i = 0; v && i < n; i++)
		tide__free(v[i].base);
	tide__free(v);
	return ok;
}
