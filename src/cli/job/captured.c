// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/job/captured.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/device/captured.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/job/ranks.h"
#include "model/append.h"

struct join {
	tide_model *m;
	uint32_t *to; /* owned; per span of the trace: the call that captured it; 0 = none yet */
	size_t spans; /* of the trace itself */
	uint64_t graphs, replays, rows, matched;
	bool by_name, known; /* known: the recording itself has calls of some rows */
};

static int64_t rank_of(const tide_model *m)
{
	for (size_t i = 1; i < m->processes.n; i++)
		if (m->processes.rank[i] >= 0)
			return m->processes.rank[i];
	return -1;
}

/* Matches what is left with one capture and adds its spans if anything fits. */
static tide_code join_one(struct join *j, const tide_model *capture, tide_error *err)
{
	tide_captured c;
	tide_code rc =
		tide__find_captured(j->m, capture, j->matched || j->known ? j->to : NULL, &c, err);
	uint32_t *at = rc == TIDE_OK ? tide__calloc(capture->spans.n, sizeof *at) : NULL;
	if (rc == TIDE_OK && !at)
		rc = tide__nomem(err);
	if (rc == TIDE_OK && !j->rows) {
		j->rows = c.rows;
		j->replays = c.replays;
	}
	j->graphs += c.graphs;
	if (rc == TIDE_OK && c.matched) {
		rc = tide__append_host_spans(j->m, capture, at, err);
		for (size_t i = 1; rc == TIDE_OK && i < j->spans; i++)
			if (c.launch[i])
				j->to[i] = at[c.launch[i]];
		j->matched += c.matched;
		j->by_name |= c.by_name;
	}
	tide__free(at);
	tide__captured_free(&c);
	return rc;
}

static tide_code finish(struct join *j, tide_error *err)
{
	uint32_t *all = tide__calloc(j->m->spans.n, sizeof *all);
	if (!all)
		return tide__nomem(err);
	memcpy(all, j->to, j->spans * sizeof *all);
	tide__free(j->m->span_captured);
	j->m->span_captured = all;
	if (j->rows > j->matched &&
	    !tide__fact_add(j->m, "loss.graph_rows_unmatched", (int64_t)(j->rows - j->matched)))
		return tide__nomem(err);
	tide__cli_note("%" PRIu64 " of %" PRIu64 " device rows of %" PRIu64
		       " graph replays belong to calls of %" PRIu64 " captured graph%s%s",
		       j->matched, j->rows, j->replays, j->graphs, j->graphs == 1 ? "" : "s",
		       !j->matched  ? ""
		       : j->by_name ? ", matched by kernels' names"
				    : ", matched in order");
	return TIDE_OK;
}

/* Returns the folder of captures in a folder, or the path itself. */
static char *folder_of(const char *path, char buf[PATH_MAX])
{
	struct stat st;
	snprintf(buf, PATH_MAX, "%s/capture_traces", path);
	if (stat(buf, &st) || !S_ISDIR(st.st_mode))
		snprintf(buf, PATH_MAX, "%s", path);
	return buf;
}

static tide_code join_all(const tide_args *a, struct join *j, const tide_rank_files *f,
			  tide_error *err)
{
	tide_code rc = TIDE_OK;
	bool one = f->n == 1;
	for (size_t i = 0; i < f->n && rc == TIDE_OK; i++) {
		tide_load_options opt = { .what = TIDE_WANT_SPANS | TIDE_WANT_SHAPES |
						  TIDE_WANT_FLOWS };
		tide_model *capture = NULL;
		tide_error why = { .offset = TIDE_NO_OFFSET };
		tide_code read = tide__load(f->v[i].path, &opt, &capture, &why);
		if (read != TIDE_OK && one) {
			*err = why;
			return read;
		}
		if (read != TIDE_OK)
			continue; /* a folder also has files of other kinds */
		int64_t x = rank_of(j->m), y = rank_of(capture);
		if (one || x < 0 || y < 0 || x == y)
			rc = join_one(j, capture, err);
		tide__model_free(capture);
	}
	(void)a;
	return rc;
}

tide_model *tide__cli_join_captured(const tide_args *a, tide_model *m, const char *path)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_rank_files f = { 0 };
	char buf[PATH_MAX], *name = folder_of(path, buf);
	struct join j = { .m = m, .spans = m->spans.n };
	j.to = tide__calloc(j.spans, sizeof *j.to);
	j.known = m->span_captured;
	if (j.to && j.known)
		memcpy(j.to, m->span_captured, j.spans * sizeof *j.to);
	tide_code rc = j.to ? tide__ranks_expand(&name, 1, &f, &err) : tide__nomem(&err);
	if (rc == TIDE_OK)
		rc = join_all(a, &j, &f, &err);
	if (rc == TIDE_OK)
		rc = finish(&j, &err);
	tide__ranks_free(&f);
	tide__free(j.to);
	if (rc == TIDE_OK)
		return m;
	tide__cli_fail(path, &err);
	tide__model_free(m);
	return NULL;
}
