// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/job/children.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "render/text/quoted.h"

/* Returns the length of ".rank3" at the beginning of a name; 0 if there is none. */
static size_t count_rank(const char *name)
{
	size_t digits = strncmp(name, ".rank", 5) ? 0 : strspn(name + 5, "0123456789");
	return digits ? 5 + digits : 0;
}

bool tide__is_childs(const char *name, const char *stem, size_t n)
{
	if (strncmp(name, stem, n) != 0)
		return false;
	name += n;
	size_t digits, rank = count_rank(name), parts = rank > 0;
	name += rank;
	for (; *name == '.' && (digits = strspn(name + 1, "0123456789")); parts++)
		name += 1 + digits;
	return parts && !strcmp(name, ".tide");
}

/* Notes one file of the folder; files with a rank displace those without. */
static void note(tide_children *x, const char *folder, size_t n_folder, const char *name,
		 bool ranked)
{
	char path[PATH_MAX];
	if ((size_t)snprintf(path, sizeof path, "%.*s%s", (int)n_folder, folder, name) >=
	    sizeof path)
		return;
	if (ranked != x->ranked) {
		if (!ranked)
			return;
		x->n = 0;
		x->ranked = true;
	}
	if (!x->n || strverscmp(path, x->first) < 0)
		memcpy(x->first, path, sizeof path);
	if (!x->n || strverscmp(path, x->last) > 0)
		memcpy(x->last, path, sizeof path);
	x->n++;
}

static void make_pattern(tide_children *x, const char *file, size_t n_stem)
{
	size_t at = 0;
	for (size_t i = 0; i < n_stem; i++) {
		if (strchr("*?[]\\", file[i]))
			x->pattern[at++] = '\\';
		x->pattern[at++] = file[i];
	}
	snprintf(x->pattern + at, sizeof x->pattern - at,
		 x->ranked ? ".rank[0-9]*.tide" : ".[0-9]*.tide");
}

bool tide__children_find(const char *file, tide_children *out)
{
	struct stat st;
	char folder[PATH_MAX] = ".";
	const char *slash = strrchr(file, '/'), *stem = slash ? slash + 1 : file;
	size_t n_folder = (size_t)(stem - file), n = strlen(file);
	*out = (tide_children){ 0 };
	if (n <= 5 || n >= PATH_MAX - 32 || strcmp(file + n - 5, ".tide") != 0 || !lstat(file, &st))
		return false;
	if (n_folder)
		snprintf(folder, sizeof folder, "%.*s", (int)n_folder, file);
	size_t n_stem = strlen(stem) - 5;
	DIR *d = opendir(folder);
	for (struct dirent *e; d && (e = readdir(d));)
		if (tide__is_childs(e->d_name, stem, n_stem))
			note(out, file, n_folder, e->d_name, count_rank(e->d_name + n_stem) > 0);
	if (d)
		closedir(d);
	if (out->n)
		make_pattern(out, file, n - 5);
	return out->n > 0;
}

/* ---- inputs of a command ---- */

/* "d.rank0.tide", or "d.rank0.tide to d.rank7.tide" */
static void name_them(const tide_children *x, char *out, size_t n)
{
	snprintf(out, n, "%.400s%s%.400s", x->first, x->n > 1 ? " to " : "",
		 x->n > 1 ? x->last : "");
}

/* Prints which files are there and the command for the first; returns 1. */
static int fail_several(const tide_args *a, const char *file, const tide_children *x)
{
	tide_error err = { .code = TIDE_ENOTFOUND, .offset = TIDE_NO_OFFSET };
	char names[900], *command = NULL;
	size_t n;
	FILE *f = open_memstream(&command, &n);
	if (f) {
		fprintf(f, "tidemark %s ", a->cmd->name);
		tide__put_quoted(x->first, f);
	}
	bool ok = f && !fclose(f);
	name_them(x, names, sizeof names);
	tide__fail(&err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
		   "no such file; %zu processes of its run recorded %.300s; try: %.300s", x->n,
		   names, ok ? command : a->cmd->name);
	free(command);
	return tide__cli_fail(file, &err);
}

/* Replaces the i-th input. */
static int use(tide_args *a, size_t i, const tide_children *x)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	const char *path = x->n > 1 ? x->pattern : x->first;
	char names[900];
	if (x->n > 1 && !a->cmd->ranks)
		return fail_several(a, a->files[i], x);
	if (!a->patterns)
		a->patterns = tide__calloc(a->n_files, sizeof *a->patterns);
	if (a->patterns)
		a->patterns[i] = tide__strndup(path, strlen(path));
	if (!a->patterns || !a->patterns[i])
		return tide__cli_fail(NULL, (tide__nomem(&err), &err));
	name_them(x, names, sizeof names);
	tide__cli_note("note: there is no %.300s; %zu process%s of its run %s read: %s",
		       a->files[i], x->n, x->n > 1 ? "es" : "", x->n > 1 ? "are" : "is", names);
	a->files[i] = a->patterns[i];
	return 0;
}

int tide__children_use(tide_args *a)
{
	static tide_children x; /* large */
	int rc = 0;
	for (size_t i = 0; i < a->n_files && !rc; i++) {
		bool program = a->cmd->rest && !(a->cmd->is_input && a->cmd->is_input(a->files[i]));
		if (program)
			break;
		if (tide__children_find(a->files[i], &x))
			rc = use(a, i, &x);
	}
	return rc;
}
