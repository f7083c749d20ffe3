// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Predicts with lines through two recordings. */
#include "analyze/predict/predict.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/wide.h"

const char *tide__line_text(tide_line_kind k)
{
	static const char *const texts[] = {
#define X(name, text) [TIDE_LINE_##name] = text,
		TIDE_LINE_KINDS(X)
#undef X
	};
	return texts[k];
}

/* ---- drawing ---- */

static uint32_t same_place(const tide_moment_profile *h, uint64_t hash)
{
	return tide__map_get(&h->by_hash, hash); /* + 1 */
}

/* Merges all spots of a place from `first` on into one. */
static tide_spot spots_from(const tide_moment_profile *h, const struct tide_sort *s, size_t first)
{
	tide_spot all = { 0 };
	for (size_t i = first; i < s->count; i++)
		all = tide__spot_merge(&all, &h->spots[s->first + i]);
	return all;
}

static void add(tide_lines *l, tide_spot a, tide_spot b, tide_line_kind kind, bool per_size)
{
	l->v[l->n++] = (tide_line){ .at = { a, b }, .kind = kind, .per_size = per_size };
}

/* Sets the spots of the larger recording that the last line covers. */
static void of_spots(tide_lines *l, size_t first, size_t n)
{
	l->v[l->n - 1].spot = (uint32_t)first;
	l->v[l->n - 1].n_spots = (uint32_t)n;
}

/* Adds lines for a place that both have, in intervals of one sort. In a recording without
 * intervals, numbers count from its beginning: one may simply be longer. */
static void draw_same(tide_lines *l, const tide_moment_profile *const h[2],
		      const struct tide_sort *const s[2])
{
	bool equal = s[0]->count == s[1]->count, whole = h[0]->stretches + h[1]->stretches == 2;
	/* In the exact ratio of the sizes; a place may also make some allocations once for all
	 * samples. */
	bool per_size = (tide_i128)s[1]->count * h[0]->size == (tide_i128)s[0]->count * h[1]->size;
	size_t least = s[0]->count < s[1]->count ? s[0]->count : s[1]->count;
	size_t pairs = equal || (whole && !per_size) ? least : 0;
	for (size_t i = 0; i < pairs; i++) {
		add(l, h[0]->spots[s[0]->first + i], h[1]->spots[s[1]->first + i], TIDE_LINE_MOMENT,
		    false);
		of_spots(l, s[1]->first + i, 1);
	}
	uint64_t all = s[0]->times + s[1]->times, paired = equal ? all : 2 * pairs;
	l->moments[TIDE_LINE_MOMENT] += paired;
	if (equal)
		return;
	add(l, spots_from(h[0], s[0], s[0]->count > pairs ? pairs : 0),
	    spots_from(h[1], s[1], s[1]->count > pairs ? pairs : 0), TIDE_LINE_GROUP, per_size);
	for (size_t i = 0; i < 2; i++)
		l->v[l->n - 1].count[i] = s[i]->count;
	l->moments[TIDE_LINE_GROUP] += all - paired;
	l->per_size += per_size ? all : 0;
}

/* Per place of `one`: the nearest enclosing place, itself included, where `other` also allocates
 * in intervals of the sort. The outermost place if none. */
static void find_near(const tide_moment_profile *one, const tide_moment_profile *other, size_t sort,
		      uint32_t *near)
{
	for (size_t p = 0; p < one->n_places; p++) { /* the enclosing place comes before it */
		uint32_t q = same_place(other, one->places[p].hash);
		bool has = q && other->places[q - 1].sort[sort].all.row;
		near[p] = has ? q - 1 : p ? near[one->places[p].parent] : 0;
	}
}

/* Adds lines for moments of the larger recording only, starting at the other's highest moment
 * around them. */
static void draw_larger(tide_lines *l, const tide_spot *around, const tide_moment_profile *b,
			const struct tide_sort *s)
{
	add(l, *around, spots_from(b, s, 0), TIDE_LINE_AROUND, false);
	of_spots(l, s->first, s->count);
}

/* Adds lines for moments of the smaller recording only: the larger one did not need them, so they
 * do not grow. */
static void draw_smaller(tide_lines *l, const tide_spot *around, const tide_moment_profile *a,
			 const struct tide_sort *s)
{
	tide_spot mine = spots_from(a, s, 0), other = *around;
	mine.least = mine.most;
	other.most = other.most < mine.most ? other.most : mine.most;
	other.least = other.most;
	other.before = mine.before;
	add(l, mine, other, TIDE_LINE_AROUND, false);
}

static void draw_alone(tide_lines *l, const tide_moment_profile *const h[2], size_t me, size_t sort,
		       const struct tide_sort *s, uint32_t near)
{
	const tide_place *p = &h[!me]->places[near];
	tide_spot around = p->sort[sort].all;
	if (!near) /* no place in common: the whole recording */
		around = tide__spot_merge(&p->sort[0].all, &p->sort[1].all);
	(me ? draw_larger : draw_smaller)(l, &around, h[me], s);
	l->moments[TIDE_LINE_AROUND] += s->times;
}

static void draw_all(tide_lines *l, const tide_moment_profile *const h[2], size_t me, size_t sort,
		     uint32_t *near)
{
	find_near(h[me], h[!me], sort, near);
	for (size_t p = 0; p < h[me]->n_places; p++) {
		const struct tide_sort *s[2];
		uint32_t q = same_place(h[!me], h[me]->places[p].hash);
		s[me] = &h[me]->places[p].sort[sort];
		s[!me] = q ? &h[!me]->places[q - 1].sort[sort] : NULL;
		if (!s[me]->count)
			continue;
		if (!q || !s[!me]->count)
			draw_alone(l, h, me, sort, s[me], near[p]);
		else if (!me)
			draw_same(l, h, s);
	}
}

tide_code tide__find_lines(const tide_moment_profile *a, const tide_moment_profile *b,
			   tide_lines *out, tide_error *err)
{
	const tide_moment_profile *h[2] = { a, b };
	size_t places = a->n_places > b->n_places ? a->n_places : b->n_places;
	uint32_t *near = tide__alloc(places, sizeof *near);
	*out = (tide_lines){ .size = { a->size, b->size } };
	out->v = tide__alloc(a->n_spots + b->n_spots, sizeof *out->v);
	for (size_t sort = 0; near && out->v && sort < TIDE_SORTS; sort++)
		for (size_t me = 0; me < 2; me++)
			draw_all(out, h, me, sort, near);
	bool ok = near && out->v;
	for (size_t i = 0; ok && i < out->n; i++)
		out->stepped += out->v[i].at[0].before != out->v[i].at[1].before;
	tide__free(near);
	return ok ? TIDE_OK : tide__nomem(err);
}

void tide__lines_free(tide_lines *l)
{
	tide__free(l->v);
	tide__free(l->squares);
	*l = (tide_lines){ 0 };
}

/* ---- reading ---- */

/* Returns a / b, rounded towards plus infinity; b > 0. */
static tide_i128 up(tide_i128 a, tide_i128 b)
{
	return a / b + (a % b > 0);
}

static tide_i128 down(tide_i128 a, tide_i128 b)
{
	return a / b - (a % b < 0);
}

static tide_i128 on_line(const uint64_t at[2], tide_i128 a, tide_i128 b, uint64_t size)
{
	return a + up((b - a) * ((tide_i128)size - (tide_i128)at[0]), (tide_i128)(at[1] - at[0]));
}

/* Returns the value at a size of bytes that existed before the recordings: they do not grow. */
static tide_i128 before_at(const tide_lines *l, uint64_t a, uint64_t b, uint64_t size)
{
	return size <= l->size[0]   ? (tide_i128)a
	       : size >= l->size[1] ? (tide_i128)b
				    : on_line(l->size, (tide_i128)a, (tide_i128)b, size);
}

static tide_i128 height(const tide_lines *l, const tide_line *v, size_t side)
{
	return (tide_i128)v->at[side].most + (tide_i128)l->more[side];
}

/* Returns the value at a size on the straight line, above what existed before. */
static tide_i128 straight(const tide_lines *l, const tide_line *v, uint64_t size)
{
	uint64_t a = v->at[0].before, b = v->at[1].before;
	tide_i128 before = before_at(l, a, b, size);
	return before + on_line(l->size, height(l, v, 0) - (tide_i128)a,
				height(l, v, 1) - (tide_i128)b, size);
}

/* Returns how far the middle recording is above the line; negative = below. */
static tide_i128 off_middle(const tide_lines *l, const tide_line *v)
{
	tide_i128 mid = (tide_i128)v->mid +
			on_line(l->size, (tide_i128)l->more[0], (tide_i128)l->more[1], l->mid);
	return mid - on_line(l->size, height(l, v, 0), height(l, v, 1), l->mid);
}

/* Returns the value at a size on the parabola through the three recordings. */
static tide_i128 parabola(const tide_lines *l, const tide_line *v, uint64_t size)
{
	long double x0 = (long double)l->size[0], x1 = (long double)l->mid,
		    x2 = (long double)l->size[1], x = (long double)size,
		    off = (long double)off_middle(l, v);
	return straight(l, v, size) +
	       (tide_i128)ceill(off * (x - x0) * (x - x2) / ((x1 - x0) * (x1 - x2)));
}

static tide_i128 beyond_line(const tide_lines *l, uint64_t excess, uint64_t size)
{
	long double x = (long double)l->size[0], y = (long double)l->size[1], s = (long double)size;
	return excess ? (tide_i128)ceill((long double)excess * (s - x) * (s - y) / (y * (y - x)))
		      : 0;
}

/* Returns the value at a size on the line, or on its curve if it is bent. */
static tide_i128 on_curve(const tide_lines *l, const tide_line *v, uint64_t size)
{
	tide_i128 a = height(l, v, 0), b = height(l, v, 1), line = straight(l, v, size);
	if (!l->mid)
		return line + beyond_line(l, v->curve, size);
	if (!v->bent || size == l->size[0] || size == l->size[1])
		return line;
	tide_i128 off = off_middle(l, v), mid = on_line(l->size, a, b, l->mid) + off;
	if (size == l->mid)
		return mid;
	if (off > 0) {
		uint64_t low[2] = { l->size[0], l->mid }, high[2] = { l->mid, l->size[1] };
		if (size < l->size[0] || size > l->size[1])
			return line;
		return size < l->mid ? on_line(low, a, mid, size) : on_line(high, mid, b, size);
	}
	return parabola(l, v, size);
}

static uint64_t bytes(tide_i128 v)
{
	return v < 0 ? 0 : v > (tide_i128)UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

int64_t tide__on_line(const tide_lines *l, uint64_t a, uint64_t b, uint64_t size)
{
	tide_i128 v = on_line(l->size, (tide_i128)a, (tide_i128)b, size);
	return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

int64_t tide__beyond_line(const tide_lines *l, uint64_t excess, uint64_t size)
{
	tide_i128 v = beyond_line(l, excess, size);
	return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

int64_t tide__on_step(const tide_lines *l, const uint64_t at[2], const uint64_t before[2],
		      uint64_t size)
{
	tide_i128 a = (tide_i128)at[0] - (tide_i128)before[0],
		  b = (tide_i128)at[1] - (tide_i128)before[1];
	tide_i128 v = on_line(l->size, a, b, size) + before_at(l, before[0], before[1], size);
	return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

uint64_t tide__predict(const tide_lines *l, uint64_t size, size_t *at)
{
	tide_i128 most = 0; /* a line never counts below 0 */
	size_t where = 0;
	for (size_t k = 0; k < l->n; k++) {
		tide_i128 v = on_curve(l, &l->v[k], size);
		if (v > most) {
			most = v;
			where = k;
		}
	}
	if (at)
		*at = where;
	return bytes(most);
}

/* Returns the highest possible value of a moment of the line beyond both sizes; between them the
 * line is above all of its moments. */
static tide_i128 steepest(const tide_lines *l, const tide_line *v, uint64_t size)
{
	tide_i128 a = height(l, v, 0), b = height(l, v, 1);
	if (v->bent)
		return on_curve(l, v, size);
	if (v->kind != TIDE_LINE_MOMENT && size > l->size[1])
		a = (tide_i128)v->at[0].least + (tide_i128)l->more[0];
	if (v->kind != TIDE_LINE_MOMENT && size < l->size[0])
		b = (tide_i128)v->at[1].least + (tide_i128)l->more[1];
	bool beyond = size < l->size[0] || size > l->size[1];
	if (v->below && beyond)
		return parabola(l, v, size);
	tide_i128 least = straight(l, v, size), line = on_line(l->size, a, b, size);
	return (line > least ? line : least) +
	       (l->mid ? 0 : beyond_line(l, beyond ? v->steep : v->curve, size));
}

uint64_t tide__predict_most(const tide_lines *l, uint64_t size)
{
	tide_i128 most = 0;
	for (size_t k = 0; k < l->n; k++) {
		tide_i128 v = steepest(l, &l->v[k], size);
		most = v > most ? v : most;
	}
	return bytes(most);
}

/* Curves grow ever faster, so the sizes that fit are contiguous. */
static uint64_t fits_under_curves(const tide_lines *l, uint64_t capacity)
{
	const uint64_t tries[] = { l->size[1], l->mid ? l->mid : l->size[0], l->size[0], 1 };
	uint64_t fits = 0, not = (uint64_t)TIDE_MOST_SIZE + 1;
	for (size_t i = 0; i < 4 && !fits; i++)
		if (tide__predict(l, tries[i], NULL) <= capacity)
			fits = tries[i];
	while (fits && not -fits > 1) {
		uint64_t half = fits + (not -fits) / 2;
		if (tide__predict(l, half, NULL) <= capacity)
			fits = half;
		else
			not = half;
	}
	return fits;
}

uint64_t tide__predict_fits(const tide_lines *l, uint64_t capacity)
{
	if (l->bent || l->curved || l->stepped)
		return fits_under_curves(l, capacity);
	tide_i128 most = TIDE_MOST_SIZE;
	for (size_t k = 0; k < l->n; k++) {
		tide_i128 a = height(l, &l->v[k], 0), by = height(l, &l->v[k], 1) - a;
		if (by <= 0) /* falls or stays: decided below */
			continue;
		tide_i128 room = (tide_i128)capacity - a;
		tide_i128 size = (tide_i128)l->size[0] +
				 down(room * (tide_i128)(l->size[1] - l->size[0]), by);
		most = size < most ? size : most;
	}
	if (most < 1 || tide__predict(l, (uint64_t)most, NULL) > capacity)
		return 0; /* a falling line is lower at larger sizes: no smaller size fits */
	return (uint64_t)most;
}

/* ---- a recording in between ---- */

enum { BEND_LEAST = 1000 }; /* a thousandth */

/* Sets `bent`, or `below` if the allocator's rounding may explain that the middle is too low. */
static void bend(const tide_lines *l, tide_line *v, uint64_t slack)
{
	tide_i128 off = (tide_i128)v->mid - on_line(l->size, (tide_i128)v->at[0].most,
						    (tide_i128)v->at[1].most, l->mid);
	tide_i128 away = off < 0 ? -off : off;
	bool visible = away > (tide_i128)v->mid / BEND_LEAST;
	v->bent = visible && away > (tide_i128)slack;
	v->below = visible && !v->bent && off < 0;
}

tide_code tide__lines_add_middle(tide_lines *l, const tide_moment_profile *mid,
				 const tide_moment_profile *b, uint64_t slack, tide_error *err)
{
	tide_lines c = { 0 };
	tide_map at = { 0 }; /* spot of b + 1 -> line of c + 1 */
	bool ok = tide__find_lines(mid, b, &c, err) == TIDE_OK;
	for (size_t i = 0; ok && i < c.n; i++)
		if (c.v[i].kind == TIDE_LINE_MOMENT)
			ok = tide__map_put(&at, (uint64_t)c.v[i].spot + 1, (uint32_t)i + 1);
	l->mid = ok ? mid->size : 0;
	for (size_t i = 0; ok && i < l->n; i++) {
		tide_line *v = &l->v[i];
		uint32_t k =
			v->kind == TIDE_LINE_MOMENT ? tide__map_get(&at, (uint64_t)v->spot + 1) : 0;
		if (!k)
			continue;
		v->mid = c.v[k - 1].at[0].most - c.v[k - 1].at[0].before +
			 (uint64_t)before_at(l, v->at[0].before, v->at[1].before, l->mid);
		bend(l, v, slack);
		l->bent += v->bent;
	}
	tide__map_free(&at);
	tide__lines_free(&c);
	return ok ? TIDE_OK : tide__nomem(err);
}
