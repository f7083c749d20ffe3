// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/job/ranks.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/overview/hints.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/job/run_group.h"
#include "cli/job/distribute.h"
#include "cli/job/patience.h"
#include "cli/output/progress.h"
#include "format/rings.h"

enum { MAX_DEPTH = 6 };

/* ---- arguments to files ---- */

static bool add_file(tide_rank_files *f, const char *path, uint64_t size)
{
	if (!TIDE_ROOM(f->v, f->cap, f->n + 1))
		return false;
	char *copy = tide__strndup(path, strlen(path));
	if (!copy)
		return false;
	f->v[f->n++] = (tide_rank_file){ .path = copy, .size = size, .named = f->named };
	return true;
}

static bool add_found(tide_rank_files *f, const char *path, bool link, const struct stat *st)
{
	if (!add_file(f, path, (uint64_t)st->st_size))
		return false;
	tide_rank_file *file = &f->v[f->n - 1];
	file->link = link;
	file->dev = st->st_dev;
	file->ino = st->st_ino;
	return true;
}

/* Returns true for ring files beside a recording in progress, which are not recordings. */
static bool is_beside(const char *name)
{
	size_t n = strlen(name), tail = strlen(TIDE_RINGS_SUFFIX);
	return n > tail && !strcmp(name + n - tail, TIDE_RINGS_SUFFIX);
}

static bool is_snapshot_name(const char *name)
{
	return strstr(name, ".pickle") || strstr(name, ".pkl");
}

static bool is_trace_name(const tide_rank_files *f, const char *name)
{
	if (is_beside(name))
		return false;
	return strstr(name, ".json") || strstr(name, ".tide") ||
	       (f->snapshots && is_snapshot_name(name)) ||
	       (f->logs && !strncmp(name, "dedicated_log_torch_trace_", 26));
}

/* Formats of traces, and of snapshots, that a folder without telling names may have. */
#define TRACES	  "tide,kineto,nsys,rocpd,xplane,perfetto"
#define SNAPSHOTS TRACES ",torchsnap,pprof"

/* Returns true for a file of the wanted formats; without those its name decides. */
static bool is_wanted(const tide_rank_files *f, const char *name, const char *path)
{
	const char *formats = f->formats ? f->formats : f->snapshots ? SNAPSHOTS : TRACES;
	if (!f->formats && !f->by_content)
		return is_trace_name(f, name);
	const char *format = is_beside(name) ? NULL : tide__load_format(path);
	return format && tide__word_index(formats, format) >= 0;
}

static bool add_folder(tide_rank_files *f, const char *path, int depth)
{
	if (f->folder)
		f->folder(f->to, path);
	DIR *d = opendir(path);
	struct dirent *e;
	bool ok = true;
	if (!d)
		return true; /* reported as "no traces" if nothing else is found */
	while (ok && (e = readdir(d))) {
		struct stat st;
		char *full = NULL;
		if (e->d_name[0] == '.')
			continue;
		if (asprintf(&full, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/",
			     e->d_name) < 0) {
			ok = false;
			break;
		}
		bool known = !lstat(full, &st), link = known && S_ISLNK(st.st_mode);
		if (known && S_ISDIR(st.st_mode) && depth < MAX_DEPTH)
			ok = add_folder(f, full, depth + 1);
		else if (!stat(full, &st) && S_ISREG(st.st_mode) && is_wanted(f, e->d_name, full))
			ok = add_found(f, full, link, &st);
		else
			f->skipped |= is_snapshot_name(e->d_name);
		free(full);
	}
	closedir(d);
	return ok;
}

/* Adds the traces of a folder: by name, which is quick with many files; if no name says so, by
 * content. */
static bool add_whole_folder(tide_rank_files *f, const char *path)
{
	size_t before = f->n;
	if (!add_folder(f, path, 1))
		return false;
	if (f->n > before || f->formats)
		return true;
	void (*folder)(void *, const char *) = f->folder; /* it was called */
	f->folder = NULL;
	f->by_content = true;
	bool ok = add_folder(f, path, 1);
	f->by_content = false;
	f->folder = folder;
	return ok;
}

static bool add_path(tide_rank_files *f, const char *path)
{
	struct stat st;
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return add_whole_folder(f, path);
	return add_file(f, path,
			stat(path, &st) || !S_ISREG(st.st_mode) ? 0 : (uint64_t)st.st_size);
}

static tide_code add_pattern(tide_rank_files *f, const char *pattern, tide_error *err)
{
	glob_t g;
	int rc = glob(pattern, GLOB_NOSORT, NULL, &g);
	if (rc == GLOB_NOSPACE)
		return tide__nomem(err);
	if (rc)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "%s: nothing matches",
				  pattern);
	bool ok = true;
	for (size_t i = 0; ok && i < g.gl_pathc; i++)
		ok = add_path(f, g.gl_pathv[i]);
	globfree(&g);
	return ok ? TIDE_OK : tide__nomem(err);
}

static int by_path(const void *a, const void *b)
{
	const tide_rank_file *x = a, *y = b;
	int c = strverscmp(x->path, y->path);
	return c ? c : strcmp(x->path, y->path);
}

/* Returns whether file i is a link to another found file: latest.tide -> run-7.tide. Of several links
 * to a file that is not found itself, the first stays. */
static bool repeats(const tide_rank_files *f, size_t i)
{
	const tide_rank_file *a = &f->v[i];
	for (size_t k = 0; a->link && !a->named && k < f->n; k++)
		if (k != i && f->v[k].ino == a->ino && f->v[k].dev == a->dev &&
		    (!f->v[k].link || k < i))
			return true;
	return false;
}

/* Removes links to other found files. */
static void drop_links(tide_rank_files *f)
{
	size_t n = 0;
	bool *drop = tide__calloc(f->n, sizeof *drop);
	for (size_t i = 0; drop && i < f->n; i++)
		drop[i] = repeats(f, i);
	for (size_t i = 0; drop && i < f->n; i++)
		if (drop[i])
			tide__free(f->v[i].path);
		else
			f->v[n++] = f->v[i];
	f->n = drop ? n : f->n;
	tide__free(drop);
}

static void sort_unique(tide_rank_files *f)
{
	size_t n = 0;
	if (f->n)
		qsort(f->v, f->n, sizeof *f->v, by_path);
	for (size_t i = 0; i < f->n; i++) {
		if (n && !strcmp(f->v[n - 1].path, f->v[i].path)) {
			f->v[n - 1].named |= f->v[i].named;
			tide__free(f->v[i].path);
		} else {
			f->v[n++] = f->v[i];
		}
	}
	f->n = n;
	drop_links(f);
}

static tide_code expand(char *const *args, size_t n, tide_rank_files *out, tide_error *err)
{
	tide_code rc = TIDE_OK;
	for (size_t i = 0; rc == TIDE_OK && i < n; i++) {
		struct stat st;
		size_t before = out->n;
		bool there = tide__cli_is_pipe(args[i]) || !stat(args[i], &st);
		out->named = tide__cli_is_pipe(args[i]) ||
			     !(there ? S_ISDIR(st.st_mode) : strpbrk(args[i], "*?[") != NULL);
		if (!there && !out->named && out->folder)
			out->folder(out->to, NULL);
		if (!there && !out->named)
			rc = add_pattern(out, args[i], err);
		else if (!add_path(out, args[i]))
			rc = tide__nomem(err);
		if (rc == TIDE_OK && out->n == before && out->formats)
			rc = tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
					"%s: the folder has no file of these formats: %s", args[i],
					out->formats);
		else if (rc == TIDE_OK && out->n == before)
			rc = tide__fail(
				err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				"%s: the folder has no traces%s", args[i],
				out->skipped ? "; this command reads snapshots (.pickle) by name "
					       "only"
					     : "");
	}
	if (rc != TIDE_OK)
		tide__ranks_free(out);
	else
		sort_unique(out);
	return rc;
}

static tide_code of_one_run(tide_rank_files *out, tide_code rc, tide_error *err)
{
	if (rc != TIDE_OK || tide__find_families(out))
		return rc;
	tide__ranks_free(out);
	return tide__nomem(err);
}

tide_code tide__ranks_expand(char *const *args, size_t n, tide_rank_files *out, tide_error *err)
{
	*out = (tide_rank_files){ 0 };
	return of_one_run(out, expand(args, n, out, err), err);
}

tide_code tide__ranks_expand_formats(char *const *args, size_t n, const char *formats,
				     tide_rank_files *out, tide_error *err)
{
	*out = (tide_rank_files){ .formats = formats };
	return of_one_run(out, expand(args, n, out, err), err);
}

tide_code tide__ranks_expand_all(char *const *args, size_t n, tide_rank_files *out, tide_error *err)
{
	return of_one_run(out, tide__ranks_find_all(args, n, out, err), err);
}

tide_code tide__ranks_find_all(char *const *args, size_t n, tide_rank_files *out, tide_error *err)
{
	*out = (tide_rank_files){ .snapshots = true };
	return expand(args, n, out, err);
}

tide_code tide__ranks_find_in_folders(char *const *args, size_t n,
				      void (*folder)(void *to, const char *path), void *to,
				      tide_rank_files *out, tide_error *err)
{
	*out = (tide_rank_files){ .snapshots = true, .logs = true, .folder = folder, .to = to };
	return expand(args, n, out, err);
}

void tide__ranks_free(tide_rank_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		tide__free(f->v[i].path);
	tide__free(f->v);
	*f = (tide_rank_files){ 0 };
}

/* Reads the rank in the trace itself, from the first `most` bytes (0: anywhere). */
static int64_t rank_inside(const char *path, uint64_t most)
{
	tide_load_options few = { .max_events = 1, .max_bytes = most, .what = TIDE_WANT_ARGS };
	tide_model *m = NULL;
	if (tide__load(path, &few, &m, NULL) != TIDE_OK)
		return -1;
	int64_t rank = m->processes.n > 1 ? m->processes.rank[1] : -1;
	tide__model_free(m);
	return rank;
}

int64_t tide__rank_of(const char *path)
{
	int64_t rank = tide__rank_in_name(path);
	if (rank < 0)
		rank = rank_inside(path, UINT64_C(1) << 20);
	return rank < 0 ? rank_inside(path, 0) : rank;
}

/* ---- files to a job ---- */

static tide_code one(const char *path, const tide_ranks_work *w, tide_progress *p, tide_hta **out,
		     tide_error *err)
{
	tide_load_options load = {
		.threads = w->threads,
		.single = tide__distribute, /* the other core belongs to another process */
		.what = TIDE_WANT_SPANS | w->want,
		.progress = p ? tide__progress_read : NULL,
		.user = p
	};
	tide_model *m = NULL;
	tide_piped pipe = { .fd = -1 };
	*out = NULL;
	*err = (tide_error){ .offset = TIDE_NO_OFFSET };
	tide_code rc = tide__cli_is_pipe(path) ? tide__cli_load_pipe(path, &load, &pipe, &m, err)
					       : tide__load(path, &load, &m, err);
	if (rc == TIDE_OK)
		rc = tide__hta_analyze(m, &w->opt, out, err);
	if (rc == TIDE_OK && !(*out)->h.rows)
		(*out)->h.holds = tide__holds(m);
	tide__model_free(m);
	if (pipe.fd >= 0)
		close(pipe.fd);
	if (rc == TIDE_OK && (*out)->h.rank < 0 && tide__rank_in_name(path) >= 0) {
		(*out)->h.rank = tide__rank_in_name(path);
		(*out)->h.rank_from_name = 1;
	}
	return rc;
}

/* One file in a thread of its own, which may be left behind. */
struct attempt {
	char *path;
	const tide_ranks_work *w;
	tide_progress *progress;
	tide_hta *out;
	tide_error err;
	tide_code rc;
};

static void try_one(void *arg)
{
	struct attempt *t = arg;
	t->rc = one(t->path, t->w, t->progress, &t->out, &t->err);
}

/* One file of several: gives up on a file that does not answer. */
static tide_code one_of_many(const char *path, const tide_ranks_work *w, tide_progress *p,
			     tide_hta **out, tide_error *err)
{
	struct attempt *t = tide__calloc(1, sizeof *t);
	*out = NULL;
	*err = (tide_error){ .offset = TIDE_NO_OFFSET };
	if (!t || !(t->path = tide__strndup(path, strlen(path)))) {
		tide__free(t);
		return tide__nomem(err);
	}
	t->w = w;
	t->progress = p;
	if (!tide__patience_run(try_one, t, tide__distribute ? tide__distribute->tick : NULL, err))
		return err->code; /* t belongs to the thread that was left behind */
	tide_code rc = t->rc;
	*out = t->out;
	*err = t->err;
	tide__free(t->path);
	tide__free(t);
	return rc;
}

tide_code tide__ranks_find_one(const char *path, const tide_ranks_work *w, tide_hta **out,
			       tide_error *err)
{
	return one_of_many(path, w, NULL, out, err);
}

tide_code tide__ranks_take(tide_hta_job *job, const char *path, tide_code rc, tide_hta *h,
			   const tide_error *why, tide_error *err)
{
	if (rc == TIDE_OK)
		return tide__hta_job_add(job, path, h, err);
	tide__cli_fail(path, why);
	return tide__hta_job_fail(job, path, why, err);
}

static tide_code run_here(const tide_rank_files *f, const tide_ranks_work *w, tide_hta_job *job,
			  tide_error *err)
{
	tide_progress p;
	char what[64];
	tide__progress_begin(&p, what);
	tide_code rc = TIDE_OK;
	for (size_t i = 0; rc == TIDE_OK && i < f->n; i++) {
		tide_hta *h;
		tide_error why;
		snprintf(what, sizeof what, "trace %zu of %zu", i + 1, f->n);
		tide_code got = (f->n > 1 ? one_of_many : one)(f->v[i].path, w, &p, &h, &why);
		tide__progress_end(&p);
		rc = tide__ranks_take(job, f->v[i].path, got, h, &why, err);
	}
	return rc;
}

/* Returns true if every trace could be read and none has the requested steps. */
static bool none_has_it(const tide_hta_job *job)
{
	for (size_t i = 0; i < job->n_failed; i++)
		if (job->failed[i].err.code != TIDE_ENOTFOUND)
			return false;
	return job->n_failed > 0;
}

/* Prints a note if a pattern matches no kernel, which is probably a mistake; the figures are still
 * correct. */
static void tell_unused(const tide_ranks_work *w, const tide_hta *sum)
{
	for (size_t p = 0; p < w->opt.n_custom; p++) {
		bool used = false;
		for (size_t i = 0; i < sum->kernels.n && !used; i++)
			used = strstr(tide__hta_str(sum, sum->kernels.v[i].name, NULL),
				      w->opt.custom[p]);
		if (!used)
			tide__cli_note(
				"note: no kernel has '%.80s' in its name: --custom-collective "
				"has no effect",
				w->opt.custom[p]);
	}
}

int tide__ranks_run(const tide_args *a, const tide_ranks_work *w, tide_hta_job **out)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_rank_files f;
	*out = NULL;
	if (tide__ranks_expand(a->files, a->n_files, &f, &err) != TIDE_OK)
		return tide__cli_fail(NULL, &err);
	tide_hta_job *job = tide__hta_job_new();
	tide_code rc = job ? TIDE_OK : tide__nomem(&err);
	if (rc == TIDE_OK)
		rc = tide__distribute ? tide__distribute_run(&f, w, job, &err)
				      : run_here(&f, w, job, &err);
	if (rc == TIDE_OK)
		rc = tide__hta_job_finish(job, &err);
	tide__ranks_free(&f);
	if (rc == TIDE_OK && job->n_ranks) {
		tell_unused(w, job->sum);
		tide__cli_remember_ranks(job);
		*out = job;
		return 0;
	}
	if (rc != TIDE_OK)
		tide__cli_fail(NULL, &err);
	int status = rc == TIDE_OK && none_has_it(job) ? 2 : 1;
	tide__hta_job_free(job);
	return status;
}
