// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Joins the groups of both recordings by name. */
#include "analyze/predict/predicted_breakdown.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"

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
		p->v[p->n++] = (tide_part){ g[1].rows[i].key, 1, { 0, g[1].rows[i].bytes }, 0 };
	for (size_t i = 0; i < g[0].n; i++) {
		uint64_t key = same_key(m, g[1].by, g[0].rows[i].key);
		size_t row = key == UINT64_MAX ? SIZE_MAX : tide__groups_find(&g[1], key);
		if (row != SIZE_MAX)
			p->v[row].at[0] = g[0].rows[i].bytes;
		else
			p->v[p->n++] =
				(tide_part){ g[0].rows[i].key, 0, { g[0].rows[i].bytes, 0 }, 0 };
	}
}

/* A part is what the sum rises by with it: so they add up, though each is rounded. */
static void tell(tide_predicted_breakdown *p, const tide_lines *l, uint64_t size)
{
	uint64_t sum[2] = { 0 };
	for (size_t i = 0; i < p->n; i++) {
		sum[0] += p->v[i].at[0];
		sum[1] += p->v[i].at[1];
		int64_t all = tide__on_line(l, sum[0], sum[1], size);
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

tide_code tide__find_predicted_breakdown(const tide_model *const m[2], const uint32_t device[2],
					 const tide_lines *l, size_t line, uint64_t size,
					 tide_group_by by, tide_predicted_breakdown *out,
					 tide_error *err)
{
	tide_groups g[2] = { 0 };
	tide_code rc = TIDE_OK;
	*out = (tide_predicted_breakdown){ 0 };
	for (size_t i = 0; i < 2 && rc == TIDE_OK; i++) {
		tide_live_set alive = { 0 };
		rc = tide__live_set_at(m[i], l->v[line].at[i].position, device[i], TIDE_ANY, &alive,
				       err);
		if (rc == TIDE_OK)
			rc = tide__find_groups(m[i], &alive, by, &g[i], err);
		tide__live_set_free(&alive);
	}
	out->v = rc == TIDE_OK ? tide__alloc(g[0].n + g[1].n, sizeof *out->v) : NULL;
	if (out->v) {
		join(out, m, g);
		tell(out, l, size);
		qsort(out->v, out->n, sizeof *out->v, by_bytes);
	}
	tide__groups_free(&g[0]);
	tide__groups_free(&g[1]);
	return rc == TIDE_OK && !out->v ? tide__nomem(err) : rc;
}

void tide__predicted_breakdown_free(tide_predicted_breakdown *p)
{
	tide__free(p->v);
	*p = (tide_predicted_breakdown){ 0 };
}
