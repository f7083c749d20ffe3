// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Replays several settings, one after another, and ranks them. */
#include "analyze/allocator/sim/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

const char *const tide__sim_standard[] = {
	"",
	"expandable_segments:True",
	"max_split_size_mb:64",
	"max_split_size_mb:128",
	"max_split_size_mb:256",
	"max_split_size_mb:512",
	"roundup_power2_divisions:4",
	"roundup_power2_divisions:8",
	"roundup_power2_divisions:16",
	"garbage_collection_threshold:0.8",
	"garbage_collection_threshold:0.6",
	"expandable_segments:True,roundup_power2_divisions:8",
	"max_split_size_mb:128,garbage_collection_threshold:0.8",
	NULL,
};

static int better(const void *a, const void *b)
{
	const tide_sim_result *x = a, *y = b;

	if (x->out != y->out)
		return x->out ? 1 : -1;
	if (x->out && x->out_req != y->out_req)
		return x->out_req > y->out_req ? -1 : 1;
	if (x->st.reserved_peak != y->st.reserved_peak)
		return x->st.reserved_peak < y->st.reserved_peak ? -1 : 1;
	if (x->st.retries != y->st.retries)
		return x->st.retries < y->st.retries ? -1 : 1;
	if (x->st.segments_peak != y->st.segments_peak)
		return x->st.segments_peak < y->st.segments_peak ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static tide_code run_one(const tide_requests *q, const tide_sim_config *c, uint64_t capacity,
			 tide_sim_before before, tide_sweep *out)
{
	tide_sim_config use = *c;
	tide_sim_result *r = &out->v[out->n];

	use.capacity = capacity;
	use.allowed = use.gc_threshold > 0 ? capacity : 0;
	tide_code rc = tide__sim_run(q, &use, before, r);

	r->order = out->n++;
	r->same_settings = tide__sim_config_equals(c, &q->recorded);
	return rc;
}

/* Runs the recorded settings as they were, and like the others with older blocks re-placed. */
static tide_code run_both(const tide_requests *q, const tide_sim_config *c, uint64_t capacity,
			  tide_sweep *out)
{
	tide_code rc = TIDE_OK;

	if (tide__sim_config_equals(c, &q->recorded))
		rc = run_one(q, c, capacity, TIDE_BEFORE_KEEP, out);
	if (rc == TIDE_OK && (q->n_before || !tide__sim_config_equals(c, &q->recorded)))
		rc = run_one(q, c, capacity, TIDE_BEFORE_AGAIN, out);
	return rc;
}

tide_code tide__sim_sweep(tide_requests *q, const tide_sim_config *c, size_t n, uint64_t capacity,
			  tide_sweep *out, tide_error *err)
{
	memset(out, 0, sizeof *out);
	out->recorded_known = q->reserved_max > 0;
	if (out->recorded_known && tide__sim_check(q, &out->recorded) != TIDE_OK)
		return tide__nomem(err);
	out->v = tide__calloc(2 * n, sizeof *out->v); /* at most two runs each */
	if (!out->v)
		return tide__nomem(err);
	if (!capacity)
		capacity = q->limit;
	for (size_t i = 0; i < n; i++)
		if (run_both(q, &c[i], capacity, out) != TIDE_OK)
			return tide__nomem(err);
	if (out->n)
		qsort(out->v, out->n, sizeof *out->v, better);
	return TIDE_OK;
}

tide_code tide__sim_sweep_standard(tide_requests *q, tide_sweep *out, tide_error *err)
{
	tide_sim_config tries[1 + sizeof tide__sim_standard / sizeof *tide__sim_standard];
	size_t n = 0;
	tries[n++] = q->recorded;
	for (size_t i = 0; tide__sim_standard[i]; i++) {
		tries[n] = tide__sim_defaults();
		tide__sim_parse(&tries[n], tide__sim_standard[i], NULL);
		if (!tide__sim_config_equals(&tries[n], &q->recorded) &&
		    (q->limit || !(tries[n].gc_threshold > 0)))
			n++;
	}
	return tide__sim_sweep(q, tries, n, 0, out, err);
}

void tide__sweep_free(tide_sweep *s)
{
	tide__free(s->v);
	memset(s, 0, sizeof *s);
}
