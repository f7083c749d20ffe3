// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/memory/memory.h"

/* "--at peak" is the peak of the chosen device, else of the highest one. */
static void find_moment(tide_memory *x)
{
	if (!x->at.at_peak)
		return;
	uint32_t d = x->device == TIDE_ANY ? tide__usage_highest(&x->whole) : x->device;
	x->at.position = x->whole.devices[d].peak_position;
	x->at.t = x->whole.devices[d].peak_t;
}

tide_code tide__memory_find(const tide_model *m, const tide_memory_query *q, tide_memory *x,
			    tide_error *err)
{
	*x = (tide_memory){ .m = m, .device = q->device, .at = q->at };
	tide_live_set alive = { 0 };
	tide_code rc = tide__find_usage(x->m, UINT64_MAX, q->buckets, &x->whole, err);
	if (rc != TIDE_OK)
		return rc;
	find_moment(x);
	rc = tide__usage_find_at(x->m, x->at.position, x->at.chosen ? x->at.t : INT64_MAX, 0,
				 &x->usage, err);
	if (rc == TIDE_OK)
		rc = tide__find_sampled(x->m, x->at.chosen ? x->at.t : INT64_MAX, q->buckets,
					&x->sampled, err);
	if (rc == TIDE_OK)
		rc = tide__relative_find(x->m, x->at.chosen ? x->at.t : INT64_MAX, &x->relative,
					 err);
	if (rc == TIDE_OK && x->at.chosen)
		rc = tide__live_set_at(x->m, x->at.position, TIDE_ANY, TIDE_ANY, &alive, err);
	if (rc == TIDE_OK)
		rc = tide__live_set_find_largest(x->m, x->at.chosen ? &alive : NULL, x->device,
						 q->top, &x->largest, err);
	tide__live_set_free(&alive);
	return rc;
}

void tide__memory_free(tide_memory *x)
{
	tide__usage_free(&x->usage);
	tide__usage_free(&x->whole);
	tide__sampled_free(&x->sampled);
	tide__relative_free(&x->relative);
	tide__live_set_free(&x->largest);
}

/* L1 does not count in the figures of its device, but is shown with it. */
static bool has_l1(const tide_memory *x, uint32_t d)
{
	for (uint32_t p = 1; p < x->m->pools.n; p++)
		if (x->m->pools.device[p].i == d && tide__pool_is_l1(x->m, p) &&
		    x->whole.pools[p].allocs)
			return true;
	return false;
}

bool tide__memory_has(const tide_memory *x, uint32_t d)
{
	const tide_level *l = &x->whole.devices[d];
	return (x->device == TIDE_ANY || x->device == d) &&
	       (l->allocs || l->source || x->sampled.devices[d].n ||
		x->relative.devices[d].events || has_l1(x, d));
}

bool tide__memory_counted(const tide_memory *x, uint32_t d)
{
	return !x->sampled.devices[d].n &&
	       (x->whole.devices[d].allocs || !x->relative.devices[d].events);
}
