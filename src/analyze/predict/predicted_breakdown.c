// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Joins the groups of both recordings by name. */
#include "analyze/predict/predicted_breakdown.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"

__extension__ typedef unsigned __int128 wide;

/* Returns the larger recording's key of a group of the smaller one; UINT64_MAX if it has no such
 * name. */
static uint64_t same_key(const tide_model *const m[2], tide_group_by by, uint64_t key)
{
	if (by != TIDE_BY_MODULE || !key || key == TIDE_GROUP_BEFORE)
		return key;
	size_t n;
	const char *text = tide__text(m[0], (tide_str){ (uint32_t)key }, &n);
	uint32_t found = tide__strings_find(m[1]->strings, text, n);
	return found ? found : UINT64_MAX;
}

static void join(tide_predicted_breakdown *p, const tide_model *const m[2], const tide_groups g[2])
{
	for (size_t i = 0; i < g[1].n; i++)
		p->v[p->n++] = (tide_part){ .key = g[1].rows[i].key,
					    .side = 1,
					    .at = { 0, g[1].rows[i].bytes } };
	for (size_t i = 0; i < g[0].n; i++) {
		uint64_t key = same_key(m, g[1].by, g[0].rows[i].key);
		size_t row = key == UINT64_MAX ? SIZE_MAX : tide__groups_find(&g[1], key);
		if (row != SIZE_MAX)
			p->v[row].at[0] = g[0].rows[i].bytes;
		else
			p->v[p->n++] = (tide_part){ .key = g[0].rows[i].key,
						    .at = { g[0].rows[i].bytes, 0 } };
	}
}

/* Adds the bytes of each part that grow with the square. Returns their sum. */
static uint64_t join_squares(tide_predicted_breakdown *p, const tide_groups *larger,
			     const tide_groups *squares)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < squares->n; i++) {
		size_t row = tide__groups_find(larger, squares->rows[i].key);
		if (row == SIZE_MAX)
			continue;
		p->v[row].squares = squares->rows[i].bytes;
		sum += squares->rows[i].bytes;
	}
	return sum;
}

/* Each part is the increase of the rounded running sum, so parts add up exactly. `squares`: bytes
 * of all parts that grow with the square; each has its share of `curve`, the line's. */
static void tell(tide_predicted_breakdown *p, const tide_lines *l, uint64_t size, uint64_t curve,
		 uint64_t squares)
{
	uint64_t sum[3] = { 0 };
	for (size_t i = 0; i < p->n; i++) {
		sum[0] += p->v[i].at[0];
		sum[1] += p->v[i].at[1];
		sum[2] += p->v[i].squares;
		uint64_t part = squares ? (uint64_t)((wide)curve * sum[2] / squares) : 0;
		int64_t all =
			tide__on_line(l, sum[0], sum[1], size) + tide__beyond_line(l, part, size);
		p->v[i].bytes = all - p->bytes;
		p->bytes = all;
	}
}

static int by_bytes(const void *a, const void *b)
{
	const tide_part *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	if (x->side != y->side)
		return x->side < y->side ? 1 : -1;
	return (x->key > y->key) - (x->key < y->key);
}

/* Leaves the allocations in `alive` that grow with the square. */
static void keep_squares(const tide_lines *l, tide_live_set *alive)
{
	size_t n = 0;
	for (size_t i = 0; i < alive->n; i++)
		if (l->squares && l->squares[alive->rows[i]])
			alive->rows[n++] = alive->rows[i];
	alive->n = n;
}

tide_code tide__find_predicted_breakdown(const tide_model *const m[2], const uint32_t device[2],
					 const tide_lines *l, size_t line, uint64_t size,
					 tide_group_by by, tide_predicted_breakdown *out,
					 tide_error *err)
{
	enum { SMALLER, LARGER, SQUARES }; /* the last: those of LARGER */
	tide_groups g[3] = { 0 };
	tide_code rc = TIDE_OK;
	*out = (tide_predicted_breakdown){ 0 };
	for (size_t i = 0; i < 2 && rc == TIDE_OK; i++) {
		tide_live_set alive = { 0 };
		rc = tide__live_set_at(m[i], l->v[line].at[i].position, device[i], TIDE_ANY, &alive,
				       err);
		if (rc == TIDE_OK)
			rc = tide__find_groups(m[i], &alive, by, &g[i], err);
		if (rc == TIDE_OK && i == LARGER && l->v[line].curve) {
			keep_squares(l, &alive);
			rc = tide__find_groups(m[i], &alive, by, &g[SQUARES], err);
		}
		tide__live_set_free(&alive);
	}
	out->v = rc == TIDE_OK ? tide__alloc(g[0].n + g[1].n, sizeof *out->v) : NULL;
	if (out->v) {
		join(out, m, g);
		uint64_t squares = join_squares(out, &g[LARGER], &g[SQUARES]);
		tell(out, l, size, l->v[line].curve, squares);
		qsort(out->v, out->n, sizeof *out->v, by_bytes);
	}
	for (size_t i = 0; i < 3; i++)
		tide__groups_free(&g[i]);
	return rc == TIDE_OK && !out->v ? tide__nomem(err) : rc;
}

void tide__predicted_breakdown_free(tide_predicted_breakdown *p)
{
	tide__free(p->v);
	*p = (tide_predicted_breakdown){ 0 };
}
