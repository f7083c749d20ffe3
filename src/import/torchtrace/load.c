// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads TORCH_TRACE logs: a file, plain or compressed, or a folder with one file per process. A
 * file is read completely, at most 2 GiB. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "import/source.h"
#include "import/torchtrace/torchtrace_impl.h"
#include "model/span_parents.h"

#define BYTES_MOST ((size_t)1 << 31)
enum { FILES_MOST = 4096 };

/* ---- one file ---- */

/* "dedicated_log_torch_trace_rank_3_x8.log" -> 3; -1: the name has none. */
static int64_t rank_of_name(const char *name)
{
	const char *p = name ? strstr(name, "_rank_") : NULL;
	if (!p || p[6] < '0' || p[6] > '9')
		return -1;
	return strtol(p + 6, NULL, 10);
}

static bool new_process(tt *t, const char *name)
{
	tide_model *m = t->m;
	t->process = tide__push(&m->processes, &tide_processes_desc);
	t->lane = t->process ? tide__push(&m->lanes, &tide_lanes_desc) : 0;
	if (!t->lane)
		return tide__tt_nomem(t);
	m->processes.pid[t->process] = m->processes.parent_pid[t->process] = -1;
	m->processes.rank[t->process] = t->rank = rank_of_name(name);
	m->processes.world[t->process] = -1;
	m->lanes.process[t->lane].i = t->process;
	m->lanes.kind[t->lane] = TIDE_LANE_THREAD;
	m->lanes.name[t->lane] = tide__intern(m, "compiler");
	t->now = -1;
	return m->lanes.name[t->lane].i || tide__tt_nomem(t);
}

static void end_file(tt *t)
{
	tide_spans *s = &t->m->spans;
	for (size_t i = 0; i < t->n_open; i++)
		s->flags[t->open[i].span] |= TIDE_SPAN_OPEN;
	t->unended += t->n_open;
	t->n_open = 0;
	tide__map_free(&t->strs);
	tide__map_free(&t->lanes);
	t->strs = t->lanes = (tide_map){ 0 };
}

static bool read_text(tt *t, const char *text, size_t n, const char *name)
{
	bool ok = new_process(t, name) && tide__tt_read_lines(t, text, n);
	end_file(t);
	return ok;
}

/* ---- all files ---- */

/* Gives notes before the first timed stage (-1) its time, and makes the earliest time zero. */
static void shift(tt *t)
{
	tide_model *m = t->m;
	int64_t least = INT64_MAX, most = 0;
	for (size_t i = 1; i < m->spans.n; i++) {
		if (m->spans.t0[i] >= 0 && m->spans.t0[i] < least)
			least = m->spans.t0[i];
		if (m->spans.t1[i] != TIDE_T_NEVER && m->spans.t1[i] > most)
			most = m->spans.t1[i];
	}
	m->wall_known = least != INT64_MAX;
	least = m->wall_known ? least : 0;
	most = most > least ? most : least;
	for (size_t i = 1; i < m->spans.n; i++) {
		int64_t *t0 = &m->spans.t0[i], *t1 = &m->spans.t1[i];
		*t0 = *t0 < 0 ? 0 : *t0 - least;
		most = *t0 + least > most ? *t0 + least : most;
		*t1 = *t1 == TIDE_T_NEVER ? TIDE_T_NEVER : *t1 < 0 ? 0 : *t1 - least;
	}
	m->t_end = most - least;
	m->wall0_ns = least;
	for (size_t i = 1; i < m->spans.n; i++)
		if (m->spans.t1[i] == TIDE_T_NEVER)
			m->spans.t1[i] = m->t_end;
}

static bool loss(tt *t, const char *key, uint64_t n)
{
	return !n || tide__fact_set_number(t->m, key, (int64_t)n) || tide__tt_nomem(t);
}

static tide_code finish(tt *t)
{
	tide_model *m = t->m;
	if (t->rc == TIDE_OK && !t->records)
		return tide__fail(t->err, TIDE_EFORMAT, 0, "a compile log without records");
	if (t->rc != TIDE_OK)
		return t->rc;
	shift(t);
	if (m->spans.n > 1 && !tide__find_span_parents(m, NULL, 0, NULL, 0))
		tide__tt_nomem(t);
	(void)(t->rc == TIDE_OK && loss(t, "loss.bad_lines", t->bad_lines) &&
	       loss(t, "loss.bad_payloads", t->bad_payloads) &&
	       loss(t, "loss.unended_stages", t->unended) &&
	       loss(t, "loss.lone_ends", t->lone_ends) &&
	       (tide__fact_set_number(m, "torchtrace.records", (int64_t)t->records) ||
		tide__tt_nomem(t)));
	return t->rc;
}

static void fini(tt *t)
{
	end_file(t);
	tide__free(t->open);
	tide__jsonr_fini(&t->envelope);
	tide__jsonr_fini(&t->payload);
	tide__free(t->scratch);
}

tide_code tide__torchtrace_import(const char *text, size_t n, const char *name, tide_model *m,
				  tide_error *err)
{
	tt t = { .m = m, .err = err };
	tide_code rc = read_text(&t, text, n, name) ? finish(&t) : t.rc;
	fini(&t);
	return rc;
}

static tide_code add_file(tt *t, const char *path, const tide_load_options *opt)
{
	tide_whole_file in;
	const char *name = strrchr(path, '/');
	t->rc = tide__source_read_all(path, opt->max_expanded, BYTES_MOST, 0, &in, t->err);
	if (t->rc == TIDE_OK)
		read_text(t, (const char *)in.data, in.n, name ? name + 1 : path);
	tide__free(in.data);
	return t->rc;
}

/* ---- folders ---- */

static int sniff(const uint8_t *head, size_t n)
{
	const uint8_t *p = head, *eol = memchr(head, '\n', n);
	size_t line = eol ? (size_t)(eol - head) : n;
	return tide__tt_is_line((const char *)p, line) && memmem(p, line, "] {\"", 4) ? 95 : 0;
}

static bool file_is_log(const char *path)
{
	uint8_t head[4096];
	size_t n = 0;
	tide_source *src;
	tide_error err;
	if (tide__source_open(path, 0, &src, &err) != TIDE_OK)
		return false;
	bool read = tide__source_read(src, head, sizeof head, &n, &err) == TIDE_OK || n;
	tide__source_close(src);
	return read && sniff(head, n) > 0;
}

static int is_file(const struct dirent *d)
{
	return d->d_name[0] != '.' &&
	       (d->d_type == DT_REG || d->d_type == DT_LNK || d->d_type == DT_UNKNOWN);
}

/* Calls `each` with every log of a folder, by name, until it returns false. */
static int each_log(const char *folder, bool (*each)(void *user, const char *path), void *user)
{
	struct dirent **names;
	int n = scandir(folder, &names, is_file, alphasort), found = 0;
	bool go = true;
	for (int i = 0; i < n; i++) {
		char path[4096];
		struct stat st;
		int len = snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name);
		if (go && found < FILES_MOST && len > 0 && (size_t)len < sizeof path &&
		    !stat(path, &st) && S_ISREG(st.st_mode) && st.st_size && file_is_log(path)) {
			found++;
			go = each(user, path);
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return found;
}

static bool first_only(void *user, const char *path)
{
	(void)user;
	(void)path;
	return false;
}

static bool is_folder_of_logs(const char *path)
{
	return each_log(path, first_only, NULL) > 0;
}

struct adding {
	tt *t;
	const tide_load_options *opt;
};

static bool add(void *user, const char *path)
{
	struct adding *a = user;
	return add_file(a->t, path, a->opt) == TIDE_OK;
}

static tide_code load(const char *path, const tide_load_options *opt, tide_model *m,
		      tide_error *err)
{
	struct stat st;
	tt t = { .m = m, .err = err };
	struct adding a = { &t, opt };
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		each_log(path, add, &a);
	else
		add_file(&t, path, opt);
	tide_code rc = finish(&t);
	fini(&t);
	return rc;
}

const tide_importer tide__import_torchtrace = {
	.name = "torchtrace",
	.what = "compile log of TORCH_TRACE, a file or a folder of them, plain, gzip or zstd",
	.sniff = sniff,
	.folder = is_folder_of_logs,
	.load = load,
};
