// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Infers waits between streams that no synchronisation row records.
 *
 * CUDA writes "Stream Wait Event" rows on request and HIP never does. Without them a kernel that
 * waited for a collective on another stream looks as if its launch had taken all that time. It is
 * assumed to have waited for the row of another stream of its device that ended last before it
 * began, if that end is near: within NEAR_WAIT of its begin if the launching thread called
 * StreamWaitEvent since its previous launch on that stream, within NEAR_ALONE if a late begin is
 * the only evidence. The row must have begun before the kernel, have been launched before it and
 * have ended after its launch call. */
#include <stdlib.h>
#include <string.h>

#include "analyze/critical/critical_impl.h"
#include "base/mem.h"
#include "base/search.h"

enum { NEAR_WAIT_US = 10, NEAR_ALONE_US = 5 };
enum { BACK = 64 }; /* ends examined */

struct call {
	int64_t stream, t;
	uint32_t lane;
};

struct crit_infer {
	crit_ended *ends; /* by time */
	size_t n_ends;
	struct call *launches; /* by thread, stream, time */
	struct call *waits;    /* by thread, time; stream 0 */
	size_t n_launches, n_waits;
};

static int by_place(const void *a, const void *b)
{
	const struct call *x = a, *y = b;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->t > y->t) - (x->t < y->t);
}

static bool waits_for_event(const char *n)
{
	size_t head = !strncmp(n, "cuda", 4)  ? 4
		      : !strncmp(n, "hip", 3) ? 3
		      : !strncmp(n, "cu", 2)  ? 2
					      : 0;
	return head && !strcmp(n + head, "StreamWaitEvent");
}

static struct call place(const crit *c, size_t row, int64_t stream)
{
	return (struct call){ stream, c->f->ts[row], c->m->spans.lane[c->f->span[row].i].i };
}

static int64_t launched_by(const crit *c, size_t row)
{
	return c->f->link[row] > 0 ? tide__compat_frame_row(c->f, c->f->link[row]) : -1;
}

static bool any_wait_row(const crit *c)
{
	for (size_t i = 0; i < c->f->n; i++)
		if (crit_cat(c, i) == TIDE_CAT_SYNC &&
		    !strcmp(crit_name(c, i), "Stream Wait Event"))
			return true;
	return false;
}

static void find_calls(const crit *c, crit_infer *x)
{
	for (size_t i = 0; i < c->f->n; i++) {
		unsigned cat = crit_cat(c, i);
		if ((cat == TIDE_CAT_RUNTIME || cat == TIDE_CAT_DRIVER) &&
		    waits_for_event(crit_name(c, i)))
			x->waits[x->n_waits++] = place(c, i, 0);
		int64_t call = tide__cat_is_gpu(cat) ? launched_by(c, i) : -1;
		if (call >= 0)
			x->launches[x->n_launches++] = place(c, (size_t)call, c->f->stream[i]);
	}
	if (x->n_waits)
		qsort(x->waits, x->n_waits, sizeof *x->waits, by_place);
	if (x->n_launches)
		qsort(x->launches, x->n_launches, sizeof *x->launches, by_place);
}

bool tide__critical_infer_new(const crit *c, crit_infer **out)
{
	*out = NULL;
	if (!crit_exact(c) || any_wait_row(c))
		return true;
	crit_infer *x = tide__calloc(1, sizeof *x);
	if (!x)
		return false;
	x->ends = tide__critical_find_ends(c, &x->n_ends);
	x->launches = tide__alloc(c->f->n, sizeof *x->launches);
	x->waits = tide__alloc(c->f->n, sizeof *x->waits);
	if (!x->ends || !x->launches || !x->waits) {
		tide__critical_infer_free(x);
		return false;
	}
	find_calls(c, x);
	*out = x;
	return true;
}

void tide__critical_infer_free(crit_infer *x)
{
	if (!x)
		return;
	tide__free(x->ends);
	tide__free(x->launches);
	tide__free(x->waits);
	tide__free(x);
}

/* Returns the last of them at its place before its time; NULL if there is none. */
static const struct call *last_before(const struct call *v, size_t n, struct call at)
{
	size_t lo = 0;
	TIDE_SEARCH(lo, n, mid, by_place(&v[mid], &at) < 0);
	const struct call *l = lo ? &v[lo - 1] : NULL;
	return l && l->lane == at.lane && l->stream == at.stream ? l : NULL;
}

/* Returns true if the thread called StreamWaitEvent since its last launch on the kernel's
 * stream. */
static bool made_wait(const crit *c, const crit_infer *x, size_t row, size_t call)
{
	const struct call *wait = last_before(x->waits, x->n_waits, place(c, call, 0));
	const struct call *launch =
		last_before(x->launches, x->n_launches, place(c, call, c->f->stream[row]));
	return wait && (!launch || wait->t > launch->t);
}

static bool same_gpu(const crit *c, size_t a, size_t b)
{
	const tide_model *m = c->m;
	return m->lanes.device[m->spans.lane[c->f->span[a].i].i].i ==
	       m->lanes.device[m->spans.lane[c->f->span[b].i].i].i;
}

int64_t tide__critical_inferred(const crit *c, const crit_infer *x, size_t row)
{
	const tide_compat_frame *f = c->f;
	int64_t call = launched_by(c, row), t = f->ts[row];
	if (!x || call < 0)
		return -1;
	int64_t ready = f->ts[call] + f->dur[call];
	int64_t near = made_wait(c, x, row, (size_t)call)    ? NEAR_WAIT_US
		       : t - ready >= CRIT_LATE_US * f->unit ? NEAR_ALONE_US
							     : -1;
	size_t k = tide__critical_until(x->ends, x->n_ends, t);
	for (size_t i = 0; i < BACK && k > i && near >= 0; i++) {
		const crit_ended *e = &x->ends[k - 1 - i];
		if (t - e->t > near * f->unit || e->t <= ready)
			return -1;
		if (f->stream[e->row] != f->stream[row] && f->ts[e->row] < t &&
		    same_gpu(c, e->row, row) && (e->call < 0 || f->ts[e->call] < f->ts[call]))
			return e->row;
	}
	return -1;
}
