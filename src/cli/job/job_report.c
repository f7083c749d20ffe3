// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/job/job_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/job/diff_ranks.h"
#include "cli/output/page.h"
#include "cli/job/distribute.h"
#include "cli/job/each_rank.h"
#include "render/page/page.h"

enum { MOST_NOTES = 8, MOST_FAILED = 4 };

struct report {
	const tide_args *a;
	tide_hta_job *job;
	tide_page_list list;
	size_t cap;
	uint64_t rows, most;   /* of the traces in detail; allowed */
	size_t brief;	       /* traces without detail */
	tide_ledgers *ledgers; /* of each listed trace */
	size_t n_ledgers, cap_ledgers;
	char *notes[MOST_NOTES];
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* ---- the list ---- */

static bool list_add(struct report *r, const char *title, const char *file, bool detail)
{
	if (!TIDE_ROOM(r->list.v, r->cap, r->list.n + 1))
		return false;
	struct tide_page_entry e = { tide__strndup(title, strlen(title)),
				     tide__strndup(file, strlen(file)), detail };
	r->list.v[r->list.n++] = e;
	return e.title && e.file;
}

static void note(struct report *r, const char *fmt, uint64_t n)
{
	char *text = NULL;
	if (r->list.n_notes < MOST_NOTES && asprintf(&text, fmt, n) >= 0)
		r->notes[r->list.n_notes++] = text;
}

static void note_failed(struct report *r, const tide_hta_failed *f)
{
	char *text = NULL;
	const char *slash = strrchr(f->trace, '/');
	if (r->list.n_notes < MOST_NOTES &&
	    asprintf(&text, "%s could not be read: %s.", slash ? slash + 1 : f->trace,
		     f->err.text) >= 0)
		r->notes[r->list.n_notes++] = text;
}

static void report_free(struct report *r)
{
	for (size_t i = 0; i < r->list.n; i++) {
		tide__free(r->list.v[i].title);
		tide__free(r->list.v[i].file);
	}
	for (size_t i = 0; i < r->list.n_notes; i++)
		free(r->notes[i]);
	for (size_t i = 0; i < r->n_ledgers; i++)
		tide__ledgers_free(&r->ledgers[i]);
	tide__free(r->ledgers);
	tide__free(r->list.v);
	tide__hta_job_free(r->job);
}

/* ---- one trace ---- */

/* Copies a result: one goes into the job, the other stays with the trace. */
static tide_code copy_of(const tide_hta *h, tide_hta **out, tide_error *err)
{
	uint8_t *p;
	size_t n;
	tide_code rc = tide__hta_pack(h, &p, &n, err);
	if (rc != TIDE_OK)
		return rc;
	rc = tide__hta_unpack(p, n, out, err);
	tide__free(p);
	return rc;
}

static tide_code load(const char *path, tide_model **m, tide_hta **h, tide_error *err)
{
	*m = NULL;
	*h = NULL;
	*err = (tide_error){ .offset = TIDE_NO_OFFSET };
	const tide_load_options opt = { .what = tide__cli_page_wants(path) };
	tide_code rc = tide__load(path, &opt, m, err);
	if (rc == TIDE_OK)
		tide__cli_remember(*m);
	if (rc == TIDE_OK)
		rc = tide__hta_analyze(*m, NULL, h, err);
	if (rc == TIDE_OK && (*h)->h.rank < 0 && tide__rank_in_name(path) >= 0) {
		(*h)->h.rank = tide__rank_in_name(path);
		(*h)->h.rank_from_name = 1;
	}
	return rc;
}

/* The ledger is kept to be joined with those of the other traces. */
static tide_code add_ledger(struct report *r, const tide_model *m, tide_error *err)
{
	if (!TIDE_ROOM(r->ledgers, r->cap_ledgers, r->n_ledgers + 1))
		return tide__nomem(err);
	tide_ledgers *l = &r->ledgers[r->n_ledgers++];
	*l = (tide_ledgers){ 0 };
	return tide__has_ledger(m) ? tide__find_ledgers(m, l, err) : TIDE_OK;
}

/* Writes one ledger for all processes, if several are on one device. */
static tide_code put_ledgers(struct report *r, tide_error *err)
{
	tide_joined joined;
	size_t most = 0;
	const char **files = tide__calloc(r->list.n + 1, sizeof *files);
	tide_code rc = tide__join_ledgers(r->ledgers, r->n_ledgers, &joined, err);
	for (size_t i = 0; files && i < r->list.n; i++)
		files[i] = r->list.v[i].file;
	for (size_t i = 0; i < joined.n; i++)
		most = joined.v[i].n_parts > most ? joined.v[i].n_parts : most;
	const tide_page_ledgers all = { files, &joined };
	if (rc == TIDE_OK && !files)
		rc = tide__nomem(err);
	if (rc == TIDE_OK && most > 1)
		rc = tide__page_write_shared("ledgers", tide__page_write_ledgers, &all, r->a->out,
					     err);
	tide__joined_free(&joined);
	tide__free(files);
	return rc;
}

/* Writes the sections of a trace if the detail limit allows; its result goes into the job. */
static tide_code add_trace(struct report *r, const char *path, const char *title,
			   const tide_model *m, tide_hta *h, tide_error *err)
{
	uint64_t rows = m->spans.n + m->allocs.n;
	bool detail = !r->list.n || (rows <= r->most && r->rows <= r->most - rows);
	unsigned number = (unsigned)r->list.n;
	tide_hta *own = NULL;
	tide_code rc = detail ? copy_of(h, &own, err) : TIDE_OK;
	if (rc != TIDE_OK || !list_add(r, title, base_name(path), detail)) {
		tide__hta_free(own);
		tide__hta_free(h);
		return rc != TIDE_OK ? rc : tide__nomem(err);
	}
	r->brief += !detail;
	r->rows += detail ? rows : 0;
	rc = tide__hta_job_add(r->job, path, h, err);
	if (rc == TIDE_OK)
		rc = add_ledger(r, m, err);
	if (rc != TIDE_OK || !detail) {
		tide__hta_free(own);
		return rc;
	}
	return tide__cli_write_trace(r->a, path, m, own, number, NULL, err);
}

static tide_code begin(struct report *r, const tide_args *a, const char *kind, uint64_t detail,
		       tide_error *err)
{
	*r = (struct report){ .a = a, .list.kind = kind, .most = detail };
	r->list.notes = r->notes;
	r->job = tide__hta_job_new();
	return r->job ? tide__page_begin(a->out, err) : tide__nomem(err);
}

/* Writes the common sections and the end of the page. */
static tide_code finish(struct report *r, tide_error *err)
{
	FILE *out = r->a->out;
	tide_code rc = tide__hta_job_finish(r->job, err);
	bool ranks = !strcmp(r->list.kind, "ranks");
	if (r->brief)
		note(r,
		     "Traces shown by their device time only: %" PRIu64
		     ". The limit of spans and allocations in the page is reached (--detail raises it).",
		     r->brief);
	for (size_t i = 0; i < r->job->n_failed && i < MOST_FAILED; i++)
		note_failed(r, &r->job->failed[i]);
	if (r->job->n_failed > MOST_FAILED)
		note(r, "Files that could not be read, in all: %" PRIu64 ".", r->job->n_failed);
	if (rc == TIDE_OK && ranks && r->job->sum->h.rows)
		rc = tide__page_write_shared("job", tide__page_write_job, r->job, out, err);
	if (rc == TIDE_OK && ranks)
		rc = put_ledgers(r, err);
	if (rc == TIDE_OK)
		rc = tide__page_write_shared("page", tide__page_write_contents, &r->list, out, err);
	return rc == TIDE_OK ? tide__page_end(out, err) : rc;
}

/* ---- ranks ---- */

static const char *rank_title(const tide_hta *h, const char *path, char *buf, size_t n)
{
	if (h->h.rank >= 0)
		snprintf(buf, n, "rank %" PRId64, h->h.rank);
	else
		snprintf(buf, n, "%s", base_name(path));
	return buf;
}

static tide_code add_file(struct report *r, const char *path, tide_error *err)
{
	tide_model *m;
	tide_hta *h;
	tide_error why;
	char title[256];
	tide_code rc = load(path, &m, &h, &why);
	if (rc == TIDE_OK)
		rc = add_trace(r, path, rank_title(h, path, title, sizeof title), m, h, err);
	else
		rc = tide__ranks_take(r->job, path, rc, NULL, &why, err);
	tide__model_free(m);
	return rc;
}

int tide__cli_write_ranks_page(const tide_args *a, const tide_rank_files *f, uint64_t detail)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	struct report r;
	tide_code rc = begin(&r, a, "ranks", detail, &err);
	tide_rank_files shown = *f; /* its list is put in order: a page opens on its first trace */
	tide__ranks_sort(&shown);
	for (size_t i = 0; rc == TIDE_OK && i < f->n; i++)
		rc = add_file(&r, f->v[i].path, &err);
	bool none = rc == TIDE_OK && !r.list.n; /* every failure was reported */
	if (rc == TIDE_OK && !none)
		rc = finish(&r, &err);
	report_free(&r);
	if (none)
		return 1;
	return rc == TIDE_OK ? tide__cli_finish(a) : tide__cli_fail(NULL, &err);
}

/* ---- two runs ---- */

/* Notes the parts that a page of two jobs leaves out. */
static void note_jobs(struct report *r, const tide_diff_rows *rows)
{
	char *text = NULL;
	if (asprintf(&text,
		     "Compared in full: rank %" PRId64 ", the worst of %zu by time, then by peak.",
		     rows->v[0].rank, rows->n) >= 0)
		r->notes[r->list.n_notes++] = text;
	for (int s = 0; s < 2; s++)
		if (rows->alone[s])
			note(r,
			     s ? "Ranks that only B has: %" PRIu64 "."
			       : "Ranks that only A has: %" PRIu64 ".",
			     rows->alone[s]);
	if (rows->failed)
		note(r, "Ranks that could not be read: %" PRIu64 ".", rows->failed);
}

static tide_code write_two(const tide_args *a, tide_model *const *m, tide_hta **h, bool compare,
			   uint64_t detail, const tide_diff_rows *rows, tide_error *err)
{
	static const char *const letters[] = { "A", "B" };
	tide_page_two two = { { m[0], m[1] }, { a->files[0], a->files[1] }, NULL, 0 };
	struct report r;
	char title[256];
	two.ranks = rows ? rows->v : NULL;
	two.n_ranks = rows ? rows->n : 0;
	tide_code rc = begin(&r, a, compare ? "diff" : "ranks", detail, err);
	if (rc == TIDE_OK && rows)
		note_jobs(&r, rows);
	for (int i = 0; i < 2 && rc == TIDE_OK; i++) {
		rank_title(h[i], a->files[i], title, sizeof title);
		rc = add_trace(&r, a->files[i], compare ? letters[i] : title, m[i], h[i], err);
		h[i] = NULL;
	}
	if (rc == TIDE_OK && compare)
		rc = tide__page_write_shared("diff", tide__page_write_diff, &two, a->out, err);
	if (rc == TIDE_OK && compare)
		rc = tide__page_write_shared("diffflame", tide__page_write_diffflame, &two, a->out,
					     err);
	if (rc == TIDE_OK)
		rc = finish(&r, err);
	report_free(&r);
	return rc;
}

static int64_t number_of(const tide_model *m, const char *key)
{
	int64_t row = tide__fact_find(m, key);
	return row < 0 ? -1 : m->facts.number[row];
}

/* Returns whether one process started the other, such as a trainer and its data loader's worker. */
static bool kin(const tide_model *parent, const tide_model *child)
{
	int64_t pid = number_of(parent, "process.pid");
	return pid > 0 && pid == number_of(child, "process.parent");
}

/* Returns true for parts of one job: different ranks, or one process and a process it started; if
 * both have the time of day, they also ran at the same time. */
static bool same_job(tide_model *const *m, tide_hta *const *h)
{
	bool differ = h[0]->h.rank >= 0 && h[1]->h.rank >= 0 && h[0]->h.rank != h[1]->h.rank;
	bool family = kin(m[0], m[1]) || kin(m[1], m[0]);
	bool apart = m[0]->wall_known && m[1]->wall_known &&
		     (m[0]->wall0_ns + m[0]->t_end < m[1]->wall0_ns ||
		      m[1]->wall0_ns + m[1]->t_end < m[0]->wall0_ns);
	return (differ || family) && !apart;
}

static int report_pair(const tide_args *a, bool compare, uint64_t detail,
		       const tide_diff_rows *rows)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_model *m[2] = { NULL, NULL };
	tide_hta *h[2] = { NULL, NULL };
	const char *at = a->files[0];
	tide_code rc = load(at, &m[0], &h[0], &err);
	if (rc == TIDE_OK)
		rc = load(at = a->files[1], &m[1], &h[1], &err);
	if (rc == TIDE_OK) {
		at = NULL;
		rc = write_two(a, m, h, compare || !same_job(m, h), detail, rows, &err);
	}
	for (int i = 0; i < 2; i++) {
		tide__hta_free(h[i]);
		tide__model_free(m[i]);
	}
	return rc == TIDE_OK ? tide__cli_finish(a) : tide__cli_fail(at, &err);
}

int tide__cli_write_two_page(const tide_args *a, bool compare, uint64_t detail)
{
	return report_pair(a, compare, detail, NULL);
}

int tide__cli_write_jobs_page(const tide_args *a, const tide_rank_files f[2], uint64_t detail,
			      bool *two)
{
	tide_diff_rows rows = { 0 };
	int rc = 0;
	*two = tide__diff_pairs(f);
	if (*two)
		rc = tide__diff_ranks_find(a, f, &rows);
	*two &= rc || rows.n;
	if (*two && !rc) {
		char *files[2] = { (char *)(uintptr_t)rows.v[0].path[0],
				   (char *)(uintptr_t)rows.v[0].path[1] };
		tide_args pair = *a;
		pair.files = files;
		pair.n_files = 2;
		rc = report_pair(&pair, true, detail, &rows);
	}
	tide__free(rows.v);
	return rc;
}
