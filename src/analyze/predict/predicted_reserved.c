// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Simulates the requests of another work size. */
#include "analyze/predict/predicted_reserved.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/wide.h"

/* Per spot of the larger recording: its counterpart in the smaller one, or: */
#define ALONE	(UINT64_MAX - 1) /* it has none: assumed to grow in proportion to the size */
#define UNKNOWN UINT64_MAX	 /* the numbers differ: unknown */

/* Returns a request's bytes in the smaller recording, scaled in proportion if it is not the largest
 * of its spot. */
static uint64_t in_smaller(const tide_moment_profile *b, const uint64_t *spots,
			   const tide_request *r, const uint64_t size[2])
{
	size_t k = b->spot_of[r->id] - 1;
	uint64_t largest = b->spots[k].bytes;
	if (spots[k] == UNKNOWN || !largest)
		return UNKNOWN;
	if (spots[k] == ALONE)
		return (uint64_t)((tide_u128)r->size * size[0] / size[1]);
	return (uint64_t)((tide_u128)spots[k] * r->size / largest);
}

static tide_code measure(const tide_model *m, const tide_moment_profile *b, const uint64_t *spots,
			 tide_predicted_reserved *out, tide_error *err)
{
	for (size_t i = 0; i < out->q->n; i++) {
		const tide_request *r = &out->q->r[i];
		out->was[i] = out->from[i] = r->size;
		if (r->kind != TIDE_REQ_ALLOC || !b->spot_of[r->id] ||
		    m->allocs.flags[r->id] & TIDE_ALLOC_BEFORE) /* does not grow */
			continue;
		out->from[i] = in_smaller(b, spots, r, out->size);
		if (out->from[i] == UNKNOWN)
			return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
					  "one recording makes more of some allocations");
	}
	return TIDE_OK;
}

tide_code tide__find_predicted_reserved(const tide_model *m, uint32_t device,
					const tide_moment_profile *b, const tide_lines *l,
					tide_predicted_reserved *out, tide_error *err)
{
	uint8_t kind = m->devices.kind[device];
	*out = (tide_predicted_reserved){ .size = { l->size[0], l->size[1] },
					  .squares = l->squares };
	if (kind != TIDE_DEVICE_CUDA && kind != TIDE_DEVICE_HIP)
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET,
				  "its allocator is not simulated");
	tide_code rc = tide__requests_new(m, (tide_device_id){ device }, &out->q, err);
	if (rc != TIDE_OK)
		return rc;
	for (size_t i = 1; i < m->allocs.n && !out->exact; i++)
		out->exact = m->allocs.requested[i] && m->allocs.requested[i] != m->allocs.size[i];
	uint64_t *spots = tide__alloc(b->n_spots, sizeof *spots);
	out->was = tide__alloc(out->q->n, sizeof *out->was);
	out->from = tide__alloc(out->q->n, sizeof *out->from);
	bool ok = spots && out->was && out->from;
	for (size_t k = 0; ok && k < b->n_spots; k++)
		spots[k] = UNKNOWN;
	for (size_t k = 0; ok && k < l->n; k++)
		for (uint32_t i = 0; i < l->v[k].n_spots; i++)
			spots[l->v[k].spot + i] = l->v[k].kind == TIDE_LINE_MOMENT
							  ? l->v[k].at[0].bytes
						  : l->v[k].kind == TIDE_LINE_AROUND ? ALONE
										     : UNKNOWN;
	rc = ok ? measure(m, b, spots, out, err) : tide__nomem(err);
	tide__free(spots);
	return rc;
}

void tide__predicted_reserved_free(tide_predicted_reserved *r)
{
	tide__requests_free(r->q);
	tide__free(r->was);
	tide__free(r->from);
	*r = (tide_predicted_reserved){ 0 };
}

/* Returns how much larger than the request a block may be: rounding, and a small remainder of a
 * large block. */
static uint64_t slack(uint64_t given)
{
	return given > TIDE_SIM_SMALL_MAX ? TIDE_SIM_SMALL_MAX + TIDE_SIM_MIN_BLOCK
					  : TIDE_SIM_MIN_BLOCK;
}

static bool within(tide_u128 x, tide_u128 y, tide_u128 by)
{
	return x > y ? x - y <= by : y - x <= by;
}

/* Returns the value at a size of an allocation that grows with its square, from the larger
 * recording. */
static uint64_t squared(const tide_predicted_reserved *r, size_t i, uint64_t size)
{
	tide_u128 y = r->size[1], v = (tide_u128)r->was[i] * size / y * size / y;
	return v > INT64_MAX ? INT64_MAX : v ? (uint64_t)v : 1;
}

/* If only block sizes are known, requests were smaller. An allocation that stays constant, or
 * grows in proportion, within that slack is assumed to do so exactly, by the smaller value. */
static uint64_t resized(const tide_predicted_reserved *r, size_t i, uint64_t size)
{
	uint64_t a = r->from[i], b = r->was[i], least = a < b ? a : b;
	tide_u128 v = (tide_u128)a * size / r->size[0], w = (tide_u128)b * size / r->size[1];
	if (a == b)
		return b;
	if (r->squares && r->q->r[i].kind == TIDE_REQ_ALLOC && r->squares[r->q->r[i].id])
		return size == r->size[0] ? a : squared(r, i, size);
	if (!r->exact && within(v * r->size[0], w * r->size[0], (tide_u128)slack(least) * size)) {
		v = v < w ? v : w;
		return v > INT64_MAX ? INT64_MAX : v ? (uint64_t)v : 1;
	}
	if (!r->exact && within(a, b, slack(least)))
		return least;
	tide_lines l = { .size = { r->size[0], r->size[1] } };
	int64_t on = tide__on_line(&l, a, b, size);
	return on < 1 ? 1 : (uint64_t)on;
}

tide_code tide__predicted_reserved_run(tide_predicted_reserved *r, uint64_t size, uint64_t capacity,
				       tide_sim_result *out)
{
	tide_sim_config c = r->q->recorded;
	c.capacity = capacity;
	c.allowed = c.gc_threshold > 0 ? capacity : 0;
	for (size_t i = 0; i < r->q->n; i++)
		r->q->r[i].size = resized(r, i, size);
	return tide__sim_run(r->q, &c, TIDE_BEFORE_AGAIN, out);
}

tide_code tide__predicted_reserved_fits(tide_predicted_reserved *r, uint64_t most,
					uint64_t capacity, uint64_t *out)
{
	uint64_t fits = 0;
	while (fits < most) {
		uint64_t size = most - (most - fits) / 2; /* above `fits` */
		tide_sim_result got;
		tide_code rc = tide__predicted_reserved_run(r, size, capacity, &got);
		if (rc != TIDE_OK)
			return rc;
		if (got.out)
			most = size - 1;
		else
			fits = size;
	}
	*out = fits;
	return TIDE_OK;
}
