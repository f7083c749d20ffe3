// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Replays a server's requests without some captured sizes, in the allocator's simulator: what comes
 * back if they are not captured. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/allocator/sim/replay.h"
#include "analyze/serving/serving_impl.h"
#include "base/error.h"
#include "base/mem.h"

enum { MOST_REQUESTS = 400000000 }; /* in all replays: more sizes stay unknown */

struct work {
	const tide_requests *q;
	const uint32_t *of; /* per alloc row, 1 + its size */
	uint8_t *dropped;   /* per size */
	bool all;	    /* every size is dropped */
	tide_requests less;
};

static bool keeps(const struct work *w, const tide_request *r)
{
	bool is_alloc = r->kind == TIDE_REQ_ALLOC || r->kind == TIDE_REQ_FREE ||
			r->kind == TIDE_REQ_FREE_ASKED;
	uint32_t size = is_alloc ? w->of[r->id] : 0;
	if (size == TIDE_MADE_ONCE) /* the next capture would make it */
		return !w->all;
	return !size || !w->dropped[size - 1];
}

/* Copies the kept requests; what happened before request i happens before the first kept one from
 * there. */
static void leave_out(struct work *w)
{
	const tide_requests *q = w->q;
	size_t n = 0, e = 0, d = 0, t = 0;
	for (size_t i = 0; i <= q->n; i++) {
		for (; e < q->n_empty && q->empty[e] <= i; e++)
			w->less.empty[e] = (uint32_t)n;
		for (; d < q->n_done && q->done[d].req <= i; d++)
			w->less.done[d] = (tide_pool_done){ (uint32_t)n, q->done[d].pool };
		for (; t < q->n_taken && q->taken[t].req <= i; t++) {
			w->less.taken[t] = q->taken[t];
			w->less.taken[t].req = (uint32_t)n;
		}
		if (i < q->n && keeps(w, &q->r[i])) {
			w->less.r[n] = q->r[i];
			w->less.addr[n++] = q->addr[i];
		}
	}
	w->less.n = n;
}

static bool prepare(struct work *w, size_t n_sizes)
{
	const tide_requests *q = w->q;
	w->less = *q;
	w->less.r = tide__alloc(q->n, sizeof *q->r);
	w->less.addr = tide__alloc(q->n, sizeof *q->addr);
	w->less.empty = tide__alloc(q->n_empty, sizeof *q->empty);
	w->less.done = tide__alloc(q->n_done, sizeof *q->done);
	w->less.taken = tide__alloc(q->n_taken, sizeof *q->taken);
	w->dropped = tide__calloc(n_sizes, 1);
	return w->less.r && w->less.addr && w->less.empty && w->less.done && w->less.taken &&
	       w->dropped;
}

static void release(struct work *w)
{
	tide__free(w->less.r);
	tide__free(w->less.addr);
	tide__free(w->less.empty);
	tide__free(w->less.done);
	tide__free(w->less.taken);
	tide__free(w->dropped);
}

/* Sets *bytes to what the replay without the dropped sizes reserves less than `all`. */
static tide_code try_drop(struct work *w, uint64_t all, int64_t *bytes)
{
	tide_sim_result r;
	leave_out(w);
	tide_code rc = tide__sim_run(&w->less, &w->q->recorded, TIDE_BEFORE_KEEP, &r);
	if (rc == TIDE_OK && !r.out)
		*bytes = (int64_t)all - (int64_t)r.st.reserved;
	return rc;
}

/* Returns how large a size is: its batch size, else its requests. */
static double weight_of(const tide_serving_size *s)
{
	return s->batch >= 0 ? (double)s->batch : -1 / (1 + (double)s->requested);
}

static tide_code drop_each(struct work *w, uint64_t all, tide_serving_size *s, size_t n)
{
	tide_code rc = TIDE_OK;
	uint64_t left = MOST_REQUESTS;
	for (size_t i = 0; i < n && rc == TIDE_OK && left >= 2 * w->q->n; i++) {
		left -= 2 * w->q->n;
		memset(w->dropped, 0, n);
		w->dropped[i] = 1;
		w->all = n == 1;
		rc = try_drop(w, all, &s[i].returns);
		size_t dropped = 0;
		for (size_t k = 0; k < n; k++) {
			w->dropped[k] |= weight_of(&s[k]) > weight_of(&s[i]);
			dropped += w->dropped[k];
		}
		w->all = dropped == n;
		if (rc == TIDE_OK)
			rc = try_drop(w, all, &s[i].returns_with_larger);
	}
	return rc;
}

tide_code tide__serving_replay_drops(const tide_model *m, uint32_t device, const uint32_t *of,
				     tide_serving_size *sizes, size_t n, tide_serving_replay *out,
				     tide_error *err)
{
	struct work w = { .of = of };
	tide_requests *q = NULL;
	tide_sim_result checked, all;
	tide_error nothing = { .offset = TIDE_NO_OFFSET };
	tide_code rc = tide__requests_new(m, (tide_device_id){ device }, &q, &nothing);
	if (rc != TIDE_OK) /* nothing to replay is no failure */
		return rc == TIDE_ENOMEM ? tide__nomem(err) : TIDE_OK;
	w.q = q;
	rc = tide__sim_check(q, &checked);
	if (rc == TIDE_OK)
		rc = tide__sim_run(q, &q->recorded, TIDE_BEFORE_KEEP, &all);
	if (rc == TIDE_OK && !all.out) {
		*out = (tide_serving_replay){ .known = true,
					      .reproduced = !checked.diverged &&
							    all.st.reserved == out->recorded,
					      .reserved = all.st.reserved,
					      .recorded = out->recorded };
		rc = prepare(&w, n) ? drop_each(&w, all.st.reserved, sizes, n) : TIDE_ENOMEM;
	}
	release(&w);
	tide__requests_free(q);
	return rc == TIDE_OK ? TIDE_OK : tide__nomem(err);
}
