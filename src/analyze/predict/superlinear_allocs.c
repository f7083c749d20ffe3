// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One pass over the lines classifies allocations, one over the larger recording's memory events
 * sums the live ones. */
#include "analyze/predict/superlinear_allocs.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/wide.h"

/* Bytes by which an allocation of the larger recording exceeds linear growth. */
struct excess {
	uint64_t curve; /* for certain */
	uint64_t steep; /* at most */
};

struct work {
	tide_lines *l;
	const tide_model *m;
	const tide_moment_profile *b;
	uint64_t slack;
	struct excess *of_spot;	 /* per spot of the larger recording */
	struct excess *at_birth; /* per allocation: the sum of those alive when it was made */
};

enum { LIKE_SQUARE = 32 }; /* growth within 1/32 of the square is the square */

/* Returns the most that may grow with the square of two amounts: a constant and a square. */
static uint64_t most_squared(const struct work *w, uint64_t a, uint64_t b)
{
	tide_i128 x = w->l->size[0], y = w->l->size[1];
	return b > a ? (uint64_t)((tide_i128)(b - a) * y / (x + y)) : 0;
}

static struct excess classify(const struct work *w, uint64_t a, uint64_t b)
{
	tide_i128 x = w->l->size[0], y = w->l->size[1];
	tide_i128 square = (tide_i128)a * y * y, is = (tide_i128)b * x * x,
		  room = (tide_i128)w->slack * y * y;
	if (((tide_i128)b - (tide_i128)w->slack) * x <= (tide_i128)a * y ||
	    is > square + square / LIKE_SQUARE + room)
		return (struct excess){ 0 }; /* linear, or another algorithm */
	struct excess e = { .steep = most_squared(w, a, b) };
	if (is >= square - square / LIKE_SQUARE - room)
		e.curve = e.steep;
	return e;
}

/* Returns the bound on live bytes in a group of allocations, 0 if number × size grows linearly or
 * does not matter. */
static uint64_t group_steep(const struct work *w, const tide_line *v)
{
	tide_i128 x = w->l->size[0], y = w->l->size[1];
	tide_i128 a = (tide_i128)v->at[0].bytes * v->count[0],
		  b = (tide_i128)v->at[1].bytes * v->count[1];
	tide_i128 beyond = b * x - a * y;
	if (beyond <= b * x / LIKE_SQUARE || beyond <= (tide_i128)v->at[1].most * x / LIKE_SQUARE)
		return 0;
	return most_squared(w, v->at[0].least, v->at[1].most);
}

static bool classify_all(struct work *w)
{
	bool any = false;
	for (size_t i = 0; i < w->l->n; i++) {
		const tide_line *v = &w->l->v[i];
		any |= v->kind == TIDE_LINE_GROUP && group_steep(w, v);
		if (v->kind != TIDE_LINE_MOMENT)
			continue;
		w->of_spot[v->spot] = classify(w, v->at[0].bytes, v->at[1].bytes);
		any |= w->of_spot[v->spot].steep > 0;
	}
	return any;
}

/* Returns the excess of one allocation: in proportion, if it is not the largest of its spot. */
static struct excess excess_of(const struct work *w, uint32_t a)
{
	uint32_t k = w->b->spot_of[a];
	struct excess e = k ? w->of_spot[k - 1] : (struct excess){ 0 };
	if (!e.steep)
		return e;
	uint64_t asked = w->m->allocs.requested[a], bytes = w->b->spots[k - 1].bytes;
	asked = asked ? asked : w->m->allocs.size[a];
	return (struct excess){ (uint64_t)((tide_i128)e.curve * asked / bytes),
				(uint64_t)((tide_i128)e.steep * asked / bytes) };
}

static void sum_alive(struct work *w)
{
	struct excess now = { 0 };
	for (size_t i = 0; i < w->m->memory_events.n; i++) {
		bool born;
		uint32_t a = tide__memory_event_life(w->m, i, &born);
		if (!a || !w->b->spot_of[a])
			continue;
		struct excess e = excess_of(w, a);
		now.curve += born ? e.curve : -e.curve;
		now.steep += born ? e.steep : -e.steep;
		w->l->squares[a] = e.curve > 0;
		if (born)
			w->at_birth[a] = now;
	}
}

static void bend_all(struct work *w)
{
	tide_lines *l = w->l;
	for (size_t i = 0; i < l->n; i++) {
		tide_line *v = &l->v[i];
		if (v->kind == TIDE_LINE_AROUND && !v->n_spots) /* only the smaller recording has
								 * it: does not grow */
			continue;
		v->curve = w->at_birth[v->at[1].row].curve;
		v->steep = w->at_birth[v->at[1].row].steep;
		uint64_t group = v->kind == TIDE_LINE_GROUP ? group_steep(w, v) : 0;
		v->steep = group > v->steep ? group : v->steep;
		l->curved += v->curve > 0;
	}
}

tide_code tide__lines_find_superlinear(tide_lines *l, const tide_model *m,
				       const tide_moment_profile *b, uint64_t slack,
				       tide_error *err)
{
	struct work w = { l, m, b, slack, NULL, NULL };
	w.of_spot = tide__calloc(b->n_spots, sizeof *w.of_spot);
	w.at_birth = tide__calloc(m->allocs.n, sizeof *w.at_birth);
	l->squares = tide__calloc(m->allocs.n, sizeof *l->squares);
	bool ok = w.of_spot && w.at_birth && l->squares;
	if (ok && classify_all(&w)) {
		sum_alive(&w);
		bend_all(&w);
	}
	tide__free(w.of_spot);
	tide__free(w.at_birth);
	return ok ? TIDE_OK : tide__nomem(err);
}
