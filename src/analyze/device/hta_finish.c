// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finishes a job: computes percentiles from the kept durations, sorts every table, and adds notes
 * on missing data. All orders are total (figures first, then texts), so equal input gives equal
 * bytes. */
#include <stdlib.h>
#include <string.h>

#include "analyze/device/hta_job.h"
#include "analyze/common/sort.h"
#include "base/error.h"
#include "base/mem.h"

/* ---- percentiles ---- */

/* Decodes the durations of a chunk; returns their number (at most `room`). */
static size_t decode(const tide_hta *sum, const tide_hta_chunk *c, uint64_t *out, size_t room)
{
	const uint8_t *p = sum->bytes.v + c->at, *end = p + c->bytes;
	uint64_t last = 0;
	size_t n = 0;
	while (p < end && n < room) {
		uint64_t v = 0;
		unsigned shift = 0;
		do {
			v |= (uint64_t)(*p & 127) << shift;
			shift += 7;
		} while (*p++ & 128 && p < end && shift < 64);
		last += v;
		out[n++] = last;
	}
	return n;
}

static void kernel_percentiles(const tide_hta *sum, tide_hta_kernel *k, uint64_t *v,
			       uint64_t *scratch)
{
	size_t n = 0, chunks = 0;
	if (!k->chunk || k->chunk == UINT64_MAX)
		return;
	for (uint64_t at = k->chunk; at; at = sum->chunks.v[at - 1].next, chunks++)
		n += decode(sum, &sum->chunks.v[at - 1], v + n, (size_t)k->dur.n - n);
	if (n != k->dur.n)
		return;
	if (chunks > 1)
		tide__sort_u64(v, n, scratch);
	for (int p = 0; p < TIDE_PCTS; p++)
		k->pct[p] = (int64_t)v[tide__nearest_rank(n, tide__pcts[p])];
	k->pct_known = 1;
}

static bool percentiles(tide_hta *sum)
{
	size_t most = 0;
	for (size_t i = 0; i < sum->kernels.n; i++)
		if (sum->kernels.v[i].dur.n > most && sum->kernels.v[i].chunk != UINT64_MAX)
			most = (size_t)sum->kernels.v[i].dur.n;
	uint64_t *v = tide__alloc(most, sizeof *v), *scratch = tide__alloc(most, sizeof *v);
	if (v && scratch)
		for (size_t i = 0; i < sum->kernels.n; i++)
			kernel_percentiles(sum, &sum->kernels.v[i], v, scratch);
	bool ok = v && scratch;
	tide__free(v);
	tide__free(scratch);
	tide__free(sum->bytes.v);
	tide__free(sum->chunks.v);
	sum->bytes.v = NULL;
	sum->chunks.v = NULL;
	sum->bytes.n = sum->bytes.cap = sum->chunks.n = sum->chunks.cap = 0;
	return ok;
}

/* ---- orders ---- */

static int more_first(const tide_stat *a, const tide_stat *b)
{
	for (int i = 1; i >= 0; i--)
		if (a->sum[i] != b->sum[i])
			return a->sum[i] > b->sum[i] ? -1 : 1;
	return a->n > b->n ? -1 : a->n < b->n;
}

static int by_text(const tide_hta *h, tide_str a, tide_str b)
{
	size_t n, m;
	const char *x = tide__hta_str(h, a, &n), *y = tide__hta_str(h, b, &m);
	int c = memcmp(x, y, n < m ? n : m);
	return c ? c : n < m ? -1 : n > m;
}

#define ORDER(name, type, ...)                                            \
	static int name(const void *a, const void *b, void *user)         \
	{                                                                 \
		const type *x = a, *y = b;                                \
		const tide_hta *h = user;                                 \
		int c = 0;                                                \
		const int by[] = { __VA_ARGS__ };                         \
		for (size_t i = 0; !c && i < sizeof by / sizeof *by; i++) \
			c = by[i];                                        \
		return c;                                                 \
	}
#define BY(field) (x->field > y->field) - (x->field < y->field)
ORDER(kernel_order, tide_hta_kernel, more_first(&x->dur, &y->dur), by_text(h, x->name, y->name),
      BY(type))
ORDER(api_order, tide_hta_api, more_first(&x->cpu, &y->cpu), by_text(h, x->name, y->name))
ORDER(op_order, tide_hta_op, more_first(&x->dur, &y->dur), BY(why), by_text(h, x->name, y->name))
ORDER(pair_order, tide_hta_op_kernel, BY(why), by_text(h, x->op, y->op),
      more_first(&x->dur, &y->dur), by_text(h, x->kernel, y->kernel), BY(type))
ORDER(note_order, tide_hta_annotation, BY(gpu), more_first(&x->dur, &y->dur),
      by_text(h, x->name, y->name))
ORDER(coll_order, tide_hta_collective, more_first(&x->dur, &y->dur), by_text(h, x->name, y->name),
      by_text(h, x->group, y->group), by_text(h, x->desc, y->desc))
ORDER(copy_order, tide_hta_copy, more_first(&x->dur, &y->dur), by_text(h, x->kind, y->kind),
      BY(set))
ORDER(loss_order, tide_hta_loss, by_text(h, x->key, y->key), by_text(h, x->text, y->text))

#define SORT(h, member, order, texts)                                                       \
	do {                                                                                \
		if ((h)->member.n)                                                          \
			qsort_r((h)->member.v, (h)->member.n, sizeof *(h)->member.v, order, \
				texts);                                                     \
	} while (0)

static int rank_order(const void *a, const void *b)
{
	const tide_hta_rank *x = a, *y = b;
	int64_t r = x->h->h.rank, s = y->h->h.rank;
	if (r != s)
		return r < 0 ? 1 : s < 0 ? -1 : r < s ? -1 : 1;
	return strverscmp(x->trace, y->trace);
}

static int failed_order(const void *a, const void *b)
{
	return strverscmp(((const tide_hta_failed *)a)->trace, ((const tide_hta_failed *)b)->trace);
}

static void sort_all(tide_hta_job *job)
{
	tide_hta *s = job->sum;
	SORT(s, kernels, kernel_order, s);
	SORT(s, apis, api_order, s);
	SORT(s, ops, op_order, s);
	SORT(s, op_kernels, pair_order, s);
	SORT(s, annotations, note_order, s);
	SORT(s, collectives, coll_order, s);
	SORT(s, copies, copy_order, s);
	SORT(s, losses, loss_order, s);
	for (size_t i = 0; i < job->n_ranks; i++) {
		tide_hta *h = job->ranks[i].h;
		SORT(h, collectives, coll_order, s);
		SORT(h, copies, copy_order, s);
		SORT(h, losses, loss_order, s);
	}
	if (job->n_ranks)
		qsort(job->ranks, job->n_ranks, sizeof *job->ranks, rank_order);
	if (job->n_failed)
		qsort(job->failed, job->n_failed, sizeof *job->failed, failed_order);
}

/* ---- notes ---- */

static bool add_note(tide_hta_job *job, tide_hta_note_kind kind, size_t first, int64_t n)
{
	if (!TIDE_ROOM(job->notes, job->cap_notes, job->n_notes + 1))
		return false;
	job->notes[job->n_notes++] = (tide_hta_note){ kind, first, n };
	return true;
}

static bool note_duplicates(tide_hta_job *job)
{
	for (size_t i = 1; i < job->n_ranks; i++) {
		int64_t a = job->ranks[i - 1].h->h.rank, b = job->ranks[i].h->h.rank;
		if (a >= 0 && a == b && !add_note(job, TIDE_HTA_TWO_TRACES, i - 1, 2))
			return false;
	}
	return true;
}

/* Missing ranks are noted only if several of a known world are present: one file of a big job is
 * not an incomplete job. */
static bool note_missing(tide_hta_job *job)
{
	int64_t next = 0, missing = 0, world = job->sum->h.world;
	if (job->n_ranks + job->n_failed < 2 || world <= 0)
		return true;
	for (size_t i = 0; i <= job->n_ranks; i++) {
		int64_t rank = i < job->n_ranks ? job->ranks[i].h->h.rank : world;
		if (rank < 0 || rank > world)
			rank = world;
		for (; next < rank; next++, missing++) {
			if (job->n_missing < TIDE_HTA_MISSING_LISTED) {
				job->missing[job->n_missing++] = next;
			} else if (missing > 1000) {
				missing += rank - next - 1;
				next = rank - 1;
			}
		}
		if (next == rank)
			next++;
	}
	return !missing || add_note(job, TIDE_HTA_MISSING, 0, missing);
}

static bool note_empty(tide_hta_job *job)
{
	size_t empty = 0, first = 0;
	for (size_t i = job->n_ranks; i--;)
		if (!job->ranks[i].h->h.rows) {
			empty++;
			first = i;
		}
	return !empty || add_note(job, TIDE_HTA_NO_ROWS, first, (int64_t)empty);
}

static bool find_notes(tide_hta_job *job)
{
	if (job->kept_too_many && !add_note(job, TIDE_HTA_NO_PERCENTILES, 0, 0))
		return false;
	return note_duplicates(job) && note_missing(job) && note_empty(job);
}

tide_code tide__hta_job_finish(tide_hta_job *job, tide_error *err)
{
	if (!percentiles(job->sum))
		return tide__nomem(err);
	sort_all(job);
	return find_notes(job) ? TIDE_OK : tide__nomem(err);
}
