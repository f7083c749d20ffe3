// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Two traces are in memory at a time: a rank's figures are kept, its models freed. An unreadable
 * pair is reported and does not stop the rest. */
#include "cli/job/diff_ranks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/documents.h"
#include "cli/select.h"
#include "render/text/out.h"
#include "render/report/compare/diff.h"
#include "render/report/compare/rank_diff.h"
#include "render/text/losses.h"
#include "report/compare/diff.h"

struct ranked {
	int64_t rank;
	const char *path; /* borrowed */
};

struct job {
	const tide_args *a;
	struct ranked *of[2]; /* owned; the files of A and B by rank */
	size_t n_of[2];
	const tide_diff_ranks *o;
	tide_diff_checks *c;
	tide_document *doc;	   /* NULL = text */
	tide_json *json;	   /* of the document */
	tide_rank_diff *rows;	   /* owned */
	size_t n, failed, without; /* pairs compared; that could not be read; without the device */
	size_t lossy;		   /* traces that lost something */
};

/* ---- pairs ---- */

static int by_rank(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Returns the files in order of rank; NULL when one has none, or if memory ran out. */
static struct ranked *order(const tide_rank_files *f)
{
	struct ranked *v = tide__alloc(f->n + 1, sizeof *v);
	bool ok = v && f->n;
	for (size_t i = 0; ok && i < f->n; i++) {
		v[i] = (struct ranked){ tide__rank_of(f->v[i].path), f->v[i].path };
		ok = v[i].rank >= 0;
	}
	if (ok)
		qsort(v, f->n, sizeof *v, by_rank);
	for (size_t i = 1; ok && i < f->n; i++)
		ok = v[i].rank != v[i - 1].rank;
	if (ok)
		return v;
	tide__free(v);
	return NULL;
}

bool tide__diff_pairs(const tide_rank_files f[2])
{
	struct ranked *a = order(&f[0]), *b = a ? order(&f[1]) : NULL;
	bool ok = b != NULL;
	tide__free(a);
	tide__free(b);
	return ok;
}

static bool has(const struct job *j, int side, int64_t rank)
{
	return bsearch(&(struct ranked){ rank, NULL }, j->of[side], j->n_of[side], sizeof **j->of,
		       by_rank) != NULL;
}

/* "note: only in A: rank 3, 5" */
static void tell_alone(const struct job *j, int side)
{
	bool first = true;
	for (size_t i = 0; i < j->n_of[side]; i++) {
		if (has(j, !side, j->of[side][i].rank))
			continue;
		if (first)
			fprintf(j->a->out, "note: only in %c: rank", "AB"[side]);
		fprintf(j->a->out, "%s %" PRId64, first ? "" : ",", j->of[side][i].rank);
		first = false;
	}
	fputs(first ? "" : "\n", j->a->out);
}

static void alone_json(const struct job *j, int side, const char *key)
{
	tide__json_karray(j->json, key);
	for (size_t i = 0; i < j->n_of[side]; i++)
		if (!has(j, !side, j->of[side][i].rank))
			tide__json_int(j->json, j->of[side][i].rank);
	tide__json_array_end(j->json);
}

/* ---- one pair ---- */

static bool has_losses(const tide_model *m)
{
	char *text = tide__losses_text(m);
	bool some = text && *text;
	free(text);
	return some;
}

static void pair_json(const struct job *j, int64_t rank, const char *const file[2],
		      tide_model *const m[2], const tide_diff *d)
{
	tide__json_object(j->json);
	tide__json_kint(j->json, "rank", rank);
	tide__diff_side_json(j->json, "a", file[0], m[0], d->device[0]);
	tide__diff_side_json(j->json, "b", file[1], m[1], d->device[1]);
	tide__diff_metrics_json(d, j->json);
	tide__diff_checks_json(j->json, j->c);
	tide__json_object_end(j->json);
}

static int compare(struct job *j, int64_t rank, const char *const file[2], tide_model *const m[2])
{
	tide_diff_options o = { .no_lines = j->o->no_lines };
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_diff d = { 0 };
	char where[32];
	for (int i = 0; i < 2 && j->o->device; i++) {
		o.device[i] = tide__device_find(m[i], j->o->device);
		if (!o.device[i])
			return tide__cli_fail_no_device(j->a, m[i], j->o->device);
	}
	if (tide__find_diff(m[0], m[1], &o, &d, &err) != TIDE_OK)
		return tide__cli_fail(NULL, &err);
	tide__diff_checks_run(j->c, &d);
	snprintf(where, sizeof where, "rank %" PRId64 ": ", rank);
	tide__cli_print_checks(j->c, where);
	if (j->json)
		pair_json(j, rank, file, m, &d);
	tide__rank_diff_set(&j->rows[j->n++], rank, file, &d, j->c);
	j->lossy += has_losses(m[0]) + has_losses(m[1]);
	tide__diff_free(&d);
	return 0;
}

static void pair(struct job *j, int64_t rank, const char *const file[2])
{
	tide_model *m[2] = { tide__cli_load(j->a, file[0], 0), NULL };
	m[1] = m[0] ? tide__cli_load(j->a, file[1], 0) : NULL;
	int rc = m[1] ? compare(j, rank, file, m) : 1;
	j->failed += rc == 1;
	j->without += rc == 2;
	tide__model_free(m[0]);
	tide__model_free(m[1]);
}

/* ---- text ---- */

static void print_text(struct job *j)
{
	FILE *out = j->a->out;
	size_t top = j->o->top && j->o->top < j->n ? j->o->top : j->n;
	tide__rank_diff_sort(j->rows, j->n);
	for (int i = 0; i < 2; i++) {
		fprintf(out, "%c: ", "AB"[i]);
		tide__put_text(&j->a->to, j->a->files[i]);
		fputc('\n', out);
	}
	fputc('\n', out);
	tide__write_heading(&j->a->to, "%zu rank%s, worst first", j->n, j->n == 1 ? "" : "s");
	tide_grid *g = tide__rank_diff_grid(j->rows, top, j->c->n != 0);
	tide__grid_print(g, out, &j->a->style, 0);
	tide__grid_free(g);
	if (j->n > top)
		fprintf(out, "%zu more ranks are not shown (--top 0 shows all)\n", j->n - top);
	fprintf(out, "\n--rank %" PRId64 " shows what changed in one of them\n", j->rows[0].rank);
	tell_alone(j, 0);
	tell_alone(j, 1);
	if (j->failed)
		fprintf(out, "note: ranks that could not be read and are not in this table: %zu\n",
			j->failed);
	if (j->lossy)
		fprintf(out, "note: traces with losses: %zu (--json and --rank list them)\n",
			j->lossy);
}

/* ---- all ---- */

/* Finds the next pair at or after (*i, *k); both lists are in order of rank. */
static bool next_pair(const struct job *j, size_t *i, size_t *k)
{
	while (*i < j->n_of[0] && *k < j->n_of[1]) {
		int64_t a = j->of[0][*i].rank, b = j->of[1][*k].rank;
		if (a == b)
			return true;
		++*(a < b ? i : k);
	}
	return false;
}

static const tide_member alone = TIDE_MEMBER("", PLAIN, "a rank");
static const tide_member members[] = {
	TIDE_MEMBER_OF("ranks", TABLE, tide__diff_rank_members, "ranks in both"),
	TIDE_MEMBER_OF("only_a", LIST, &alone, "ranks in A only"),
	TIDE_MEMBER_OF("only_b", LIST, &alone, "ranks in B only"),
	{ 0 },
};
const tide_report_type tide__document_diff_ranks = {
	.name = "diff-ranks",
	.version = 1,
	.summary = "two jobs, rank by rank",
	.members = members,
};

static void pairs(struct job *j)
{
	if (j->json) {
		tide__document_begin(j->doc, j->a, &tide__document_diff_ranks);
		tide__json_karray(j->json, "ranks");
	}
	for (size_t i = 0, k = 0; next_pair(j, &i, &k); i++, k++)
		pair(j, j->of[0][i].rank,
		     (const char *const[2]){ j->of[0][i].path, j->of[1][k].path });
	if (j->json) {
		tide__json_array_end(j->json);
		alone_json(j, 0, "only_a");
		alone_json(j, 1, "only_b");
	}
}

static int show(struct job *j)
{
	if (!j->n && j->doc)
		tide__document_drop(j->doc);
	if (!j->n)
		return j->failed ? 1 : 2;
	if (j->doc)
		return tide__document_end(j->doc, j->a);
	print_text(j);
	return tide__cli_finish(j->a);
}

static bool start(struct job *j, const tide_rank_files f[2])
{
	for (int i = 0; i < 2; i++) {
		j->of[i] = order(&f[i]);
		j->n_of[i] = f[i].n;
	}
	j->rows = tide__calloc(f[0].n + 1, sizeof *j->rows);
	return j->of[0] && j->of[1] && j->rows;
}

int tide__diff_ranks_find(const tide_args *a, const tide_rank_files f[2], tide_diff_rows *out)
{
	const tide_diff_ranks plain = { 0 };
	tide_diff_checks none = { 0 };
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	struct job j = { .a = a, .o = &plain, .c = &none };
	*out = (tide_diff_rows){ 0 };
	int rc = start(&j, f) ? 0 : tide__cli_fail(NULL, &err);
	if (!rc) {
		pairs(&j);
		tide__rank_diff_sort(j.rows, j.n);
		for (int s = 0; s < 2; s++)
			for (size_t i = 0; i < j.n_of[s]; i++)
				out->alone[s] += !has(&j, !s, j.of[s][i].rank);
		out->v = j.rows;
		out->n = j.n;
		out->failed = j.failed;
	} else {
		tide__free(j.rows);
	}
	tide__free(j.of[0]);
	tide__free(j.of[1]);
	return rc || j.n || !j.failed ? rc : 1;
}

int tide__diff_ranks_run(const tide_args *a, const tide_rank_files f[2], const tide_diff_ranks *o,
			 tide_diff_checks *c)
{
	tide_document doc;
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	struct job j = { .a = a, .o = o, .c = c };
	int rc;
	if (o->json) {
		j.doc = &doc;
		j.json = &doc.json;
	}
	if (!start(&j, f)) {
		rc = tide__cli_fail(NULL, &err);
	} else if (!next_pair(&j, &(size_t){ 0 }, &(size_t){ 0 })) {
		rc = tide__cli_fail_usage(a, "no rank is in both %.200s and %.200s", a->files[0],
					  a->files[1]);
	} else {
		pairs(&j);
		c->undecided |=
			c->n && (j.failed || j.without); /* an unchecked condition does not pass */
		rc = show(&j);
	}
	tide__free(j.of[0]);
	tide__free(j.of[1]);
	tide__free(j.rows);
	return rc ? rc : tide__cli_checks_status(c);
}
