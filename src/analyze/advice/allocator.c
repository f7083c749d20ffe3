// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/advice/allocator.h"

static tide_code find_position(size_t buckets, tide_allocator *x, uint64_t *position,
			       tide_error *err)
{
	tide_code rc = tide__find_usage(x->m, UINT64_MAX, buckets, &x->usage, err);

	if (rc == TIDE_OK)
		*position =
			x->at.at_peak ? x->usage.devices[x->device].peak_position : x->at.position;
	return rc;
}

static tide_code find_reserved(tide_allocator *x, uint64_t position, tide_error *err)
{
	tide_reserved r;
	tide_code rc = tide__find_reserved(x->m, &r, err);

	if (rc != TIDE_OK)
		return rc;
	int64_t t = !x->at.chosen   ? INT64_MAX
		    : x->at.at_peak ? x->usage.devices[x->device].peak_t
				    : x->at.t;
	x->reserved = tide__reserved_at(&r, x->device, position, t);
	tide__reserved_free(&r);
	return TIDE_OK;
}

tide_code tide__allocator_find(const tide_model *m, const tide_allocator_query *q,
			       tide_allocator *x, tide_error *err)
{
	uint64_t position;
	*x = (tide_allocator){ .m = m, .device = q->device, .at = q->at };
	tide_code rc = find_position(q->buckets, x, &position, err);

	if (rc == TIDE_OK)
		rc = find_reserved(x, position, err);
	if (rc == TIDE_OK)
		rc = tide__state_find_at(x->m, position, x->device, &x->state, err);
	if (rc == TIDE_OK)
		rc = tide__find_fragmentation(x->m, x->device, q->points, &x->over, err);
	if (rc == TIDE_OK && q->advice)
		rc = tide__find_full_device(x->m, x->device, &x->advice, err);
	return rc;
}

void tide__allocator_free(tide_allocator *x)
{
	tide__state_free(&x->state);
	tide__fragmentation_free(&x->over);
	tide__usage_free(&x->usage);
}

uint64_t tide__allocator_unused(const tide_allocator *x)
{
	uint64_t used = x->state.total.active;

	if (x->reserved == TIDE_RESERVED_NONE)
		return TIDE_RESERVED_NONE;
	return x->reserved > used ? x->reserved - used : 0;
}
