// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/device/stragglers.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"

struct seen {
	const tide_hta_comm *row;
	size_t rank; /* index in the job */
};

#define ORDER(x, y)                                \
	do {                                       \
		if ((x) != (y))                    \
			return (x) < (y) ? -1 : 1; \
	} while (0)

/* Ignores the step if there is a sequence number, because ranks may begin to record in different
 * steps. */
static int same_collective(const tide_hta_comm *x, const tide_hta_comm *y)
{
	ORDER(x->group.i, y->group.i);
	ORDER(x->ranks.i, y->ranks.i);
	ORDER(x->name.i, y->name.i);
	ORDER(x->seq, y->seq);
	if (x->seq < 0)
		ORDER(x->step, y->step);
	ORDER(x->ordinal, y->ordinal);
	return 0;
}

static int by_collective(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	int rc = same_collective(x->row, y->row);
	return rc ? rc : (x->rank > y->rank) - (x->rank < y->rank);
}

static bool same(const struct seen *a, const struct seen *b)
{
	return !same_collective(a->row, b->row);
}

static struct seen *collect(const tide_hta_job *job, size_t *n)
{
	size_t all = 0;
	for (size_t r = 0; r < job->n_ranks; r++)
		all += job->ranks[r].h->comms.n;
	struct seen *s = tide__alloc(all, sizeof *s);
	*n = 0;
	for (size_t r = 0; s && r < job->n_ranks; r++)
		for (size_t i = 0; i < job->ranks[r].h->comms.n; i++)
			s[(*n)++] = (struct seen){ &job->ranks[r].h->comms.v[i], r };
	if (s)
		qsort(s, *n, sizeof *s, by_collective);
	return s;
}

/* Returns true if there are more ranks than the group has: several groups that the trace does not
 * distinguish. */
static bool too_many(const struct seen *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (s[i].row->size > 0 && (uint64_t)s[i].row->size < n)
			return true;
	return false;
}

/* Adds one collective with the durations of n ranks. */
static void judge(tide_stragglers *out, const struct seen *s, size_t n)
{
	int64_t longest = s[0].row->dur, shortest = longest;
	for (size_t i = 1; i < n; i++) {
		longest = s[i].row->dur > longest ? s[i].row->dur : longest;
		shortest = s[i].row->dur < shortest ? s[i].row->dur : shortest;
	}
	for (size_t i = 0; i < n; i++) {
		tide_straggler *t = &out->v[s[i].rank];
		int64_t late = longest - s[i].row->dur;
		t->collectives++;
		t->last += s[i].row->dur == shortest && shortest < longest;
		t->late_ns = tide__add_sat(t->late_ns, late);
		if (late > t->worst_ns) {
			t->worst_ns = late;
			t->worst_step = s[i].row->step;
		}
	}
	out->matched++;
}

static int by_lateness(const void *a, const void *b)
{
	const tide_straggler *x = a, *y = b;
	if (x->late_ns != y->late_ns)
		return x->late_ns > y->late_ns ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

tide_code tide__find_stragglers(const tide_hta_job *job, tide_stragglers *out, tide_error *err)
{
	size_t n;
	struct seen *s = collect(job, &n);
	*out = (tide_stragglers){ tide__calloc(job->n_ranks, sizeof *out->v), job->n_ranks, 0, 0 };
	if (!s || !out->v) {
		tide__free(s);
		tide__stragglers_free(out);
		return tide__nomem(err);
	}
	for (size_t r = 0; r < out->n; r++)
		out->v[r] = (tide_straggler){ .rank = job->ranks[r].h->h.rank, .worst_step = -1 };
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && same(&s[i], &s[j]); j++)
			;
		if (j - i > 1 && !too_many(s + i, j - i))
			judge(out, s + i, j - i);
		else
			out->alone += j - i;
	}
	qsort(out->v, out->n, sizeof *out->v, by_lateness);
	tide__free(s);
	return TIDE_OK;
}

void tide__stragglers_free(tide_stragglers *s)
{
	tide__free(s->v);
	*s = (tide_stragglers){ 0 };
}
