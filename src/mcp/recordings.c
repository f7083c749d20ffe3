// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Files of the folders, and the traces in memory. A name is resolved first: what it leads to must be
 * in a folder. Links that replace a file later are refused by base/input.h. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/import.h"
#include "mcp/internal.h"

bool tide__mcp_find_roots(tide_mcp *s)
{
	s->roots = tide__calloc(s->opt.n_folders + 1, sizeof *s->roots);
	for (size_t i = 0; s->roots && i < s->opt.n_folders; i++) {
		char real[PATH_MAX];
		const char *found = realpath(s->opt.folders[i], real) ? real : "";
		if (!(s->roots[i] = tide__strndup(found, strlen(found))))
			return false;
	}
	return s->roots != NULL;
}

/* Returns the length of the folder's name if the file is in it, or the folder is this file; else 0. */
static size_t inside(const char *root, const char *path)
{
	size_t n = strlen(root);
	if (!n || strncmp(root, path, n) != 0)
		return 0;
	return path[n] == '/' || !path[n] || root[n - 1] == '/' ? n : 0;
}

static bool is_allowed(const tide_mcp *s, const char *real)
{
	for (size_t i = 0; i < s->opt.n_folders; i++)
		if (inside(s->roots[i], real))
			return true;
	return false;
}

char *tide__mcp_resolve(const tide_mcp *s, const char *name, tide_error *err)
{
	char path[PATH_MAX], real[PATH_MAX];
	bool found = false;
	for (size_t i = 0; !found && i < s->opt.n_folders; i++) {
		int n = snprintf(path, sizeof path, "%s/%s", s->roots[i], name);
		found = *name && name[0] != '/' && *s->roots[i] && n > 0 &&
			(size_t)n < sizeof path && realpath(path, real) && is_allowed(s, real);
	}
	if (!found && *name) /* as it is: absolute, or from the current folder */
		found = realpath(name, real) != NULL && is_allowed(s, real);
	if (!found) { /* one answer for both: a client learns nothing about other folders */
		tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
			   "there is no recording '%.200s' in the folders; recordings lists them",
			   name);
		return NULL;
	}
	char *copy = tide__strndup(real, strlen(real));
	if (!copy)
		tide__nomem(err);
	return copy;
}

const char *tide__mcp_short_name(const tide_mcp *s, const char *path)
{
	for (size_t i = 0; i < s->opt.n_folders; i++) {
		size_t n = inside(s->roots[i], path);
		if (n && path[n])
			return path + n + (path[n] == '/');
	}
	return path;
}

/* ---- loaded traces ---- */

static void drop(mcp_loaded *l)
{
	tide__model_free(l->m);
	tide__free(l->path);
	*l = (mcp_loaded){ 0 };
}

void tide__mcp_drop_all(tide_mcp *s)
{
	for (size_t i = 0; i < MCP_LOADED; i++)
		drop(&s->loaded[i]);
}

static bool is_same(const mcp_loaded *l, const char *path, const struct stat *st)
{
	return l->path && !strcmp(l->path, path) && l->size == (uint64_t)st->st_size &&
	       l->mtime.tv_sec == st->st_mtim.tv_sec && l->mtime.tv_nsec == st->st_mtim.tv_nsec;
}

/* Returns the place of the trace that was not used for the longest time, emptied, or a free one. */
static mcp_loaded *place(tide_mcp *s)
{
	mcp_loaded *at = &s->loaded[0];
	for (size_t i = 1; i < MCP_LOADED; i++)
		if (s->loaded[i].used < at->used)
			at = &s->loaded[i];
	drop(at);
	return at;
}

static tide_code read_trace(tide_mcp *s, const char *path, tide_model **m, tide_error *err)
{
	tide_code rc = tide__load(path, NULL, m, err);
	if (rc != TIDE_ENOMEM)
		return rc;
	tide__mcp_drop_all(s); /* those in memory may be in its way */
	tide__mem_forgive();
	*err = (tide_error){ .offset = TIDE_NO_OFFSET };
	return tide__load(path, NULL, m, err);
}

static tide_model *load(tide_mcp *s, const char *path, tide_error *err)
{
	struct stat st;
	if (stat(path, &st)) {
		tide__fail_errno(err, "cannot read it");
		return NULL;
	}
	for (size_t i = 0; i < MCP_LOADED; i++)
		if (is_same(&s->loaded[i], path, &st)) {
			s->loaded[i].used = ++s->calls;
			return tide__model_hold(s->loaded[i].m);
		}
	tide_model *m;
	if (read_trace(s, path, &m, err) != TIDE_OK)
		return NULL;
	mcp_loaded *l = place(s);
	*l = (mcp_loaded){
		.mtime = st.st_mtim, .size = (uint64_t)st.st_size, .used = ++s->calls, .m = m
	};
	if ((l->path = tide__strndup(path, strlen(path))))
		return tide__model_hold(m);
	drop(l);
	tide__nomem(err);
	return NULL;
}

tide_model *tide__mcp_load(tide_mcp *s, const char *name, tide_error *err)
{
	char *path = tide__mcp_resolve(s, name, err);
	tide_model *m = path ? load(s, path, err) : NULL;
	tide__free(path);
	return m;
}
