// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Joins the groups of both recordings by name. */
#include "analyze/predict/predicted_breakdown.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/wide.h"

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

/* Returns the part of a group of the recording of `side`, SIZE_MAX if it has none. Parts are in the
 * order of join(). */
static size_t part_of(const tide_predicted_breakdown *p, const tide_model *const m[2],
		      const tide_groups *larger, size_t side, uint64_t key)
{
	uint64_t same = side ? key : same_key(m, larger->by, key);
	size_t row = same == UINT64_MAX ? SIZE_MAX : tide__groups_find(larger, same);
	for (size_t k = larger->n; row == SIZE_MAX && !side && k < p->n; k++)
		row = p->v[k].key == key ? k : row;
	return row;
}

/* Sets the bytes of each part that existed before the recording of `side`. */
static void join_before(tide_predicted_breakdown *p, const tide_model *const m[2],
			const tide_groups *larger, const tide_groups *before, size_t side)
{
	for (size_t i = 0; i < before->n; i++) {
		size_t row = part_of(p, m, larger, side, before->rows[i].key);
		if (row != SIZE_MAX)
			p->v[row].before[side] = before->rows[i].bytes;
	}
}

/* Each part is the increase of the rounded running sum, so parts add up exactly. `squares`: bytes
 * of all parts that grow with the square; each has its share of `curve`, the line's. */
static void tell(tide_predicted_breakdown *p, const tide_lines *l, uint64_t size, uint64_t curve,
		 uint64_t squares)
{
	uint64_t sum[2] = { 0 }, before[2] = { 0 }, square = 0;
	for (size_t i = 0; i < p->n; i++) {
		for (size_t k = 0; k < 2; k++) {
			sum[k] += p->v[i].at[k];
			before[k] += p->v[i].before[k];
		}
		square += p->v[i].squares;
		uint64_t part = squares ? (uint64_t)((tide_u128)curve * square / squares) : 0;
		int64_t all =
			tide__on_step(l, sum, before, size) + tide__beyond_line(l, part, size);
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

static void keep(tide_live_set *alive, const void *user,
		 bool (*in)(const void *user, uint32_t alloc))
{
	size_t n = 0;
	for (size_t i = 0; i < alive->n; i++)
		if (in(user, alive->rows[i]))
			alive->rows[n++] = alive->rows[i];
	alive->n = n;
}

static bool is_square(const void *user, uint32_t a)
{
	const tide_lines *l = user;
	return l->squares && l->squares[a];
}

static bool is_before(const void *user, uint32_t a)
{
	const tide_model *m = user;
	return m->allocs.flags[a] & TIDE_ALLOC_BEFORE;
}

struct parts {					/* groups at the moment of one line */
	tide_groups all[2], before[2], squares; /* the last: of the larger recording */
};

/* Finds the groups of one recording. Narrows the live set down to find some of them. */
static tide_code find_groups(const tide_model *m, uint32_t device, const tide_lines *l,
			     const tide_line *v, size_t side, tide_group_by by, struct parts *g,
			     tide_error *err)
{
	tide_live_set alive = { 0 };
	tide_code rc = tide__live_set_at(m, v->at[side].position, device, TIDE_ANY, &alive, err);
	if (rc == TIDE_OK)
		rc = tide__find_groups(m, &alive, by, &g->all[side], err);
	if (rc == TIDE_OK && side && v->curve) {
		keep(&alive, l, is_square);
		rc = tide__find_groups(m, &alive, by, &g->squares, err);
	}
	if (rc == TIDE_OK && v->at[side].before) {
		tide__live_set_free(&alive);
		rc = tide__live_set_at(m, v->at[side].position, device, TIDE_ANY, &alive, err);
		if (rc == TIDE_OK)
			keep(&alive, m, is_before);
		if (rc == TIDE_OK)
			rc = tide__find_groups(m, &alive, by, &g->before[side], err);
	}
	tide__live_set_free(&alive);
	return rc;
}

tide_code tide__find_predicted_breakdown(const tide_model *const m[2], const uint32_t device[2],
					 const tide_lines *l, size_t line, uint64_t size,
					 tide_group_by by, tide_predicted_breakdown *out,
					 tide_error *err)
{
	const tide_line *v = &l->v[line];
	struct parts g = { 0 };
	tide_code rc = TIDE_OK;
	*out = (tide_predicted_breakdown){ 0 };
	for (size_t i = 0; i < 2 && rc == TIDE_OK; i++)
		rc = find_groups(m[i], device[i], l, v, i, by, &g, err);
	out->v = rc == TIDE_OK ? tide__alloc(g.all[0].n + g.all[1].n, sizeof *out->v) : NULL;
	if (out->v) {
		join(out, m, g.all);
		for (size_t i = 0; i < 2; i++)
			join_before(out, m, &g.all[1], &g.before[i], i);
		tell(out, l, size, v->curve, join_squares(out, &g.all[1], &g.squares));
		qsort(out->v, out->n, sizeof *out->v, by_bytes);
	}
	for (size_t i = 0; i < 2; i++) {
		tide__groups_free(&g.all[i]);
		tide__groups_free(&g.before[i]);
	}
	tide__groups_free(&g.squares);
	return rc == TIDE_OK && !out->v ? tide__nomem(err) : rc;
}

void tide__predicted_breakdown_free(tide_predicted_breakdown *p)
{
	tide__free(p->v);
	*p = (tide_predicted_breakdown){ 0 };
}
