// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Times are first shifted by whole ns, so that ends of joined ranks nearly agree (a union-find with
 * distances); what is left fits a double exactly enough. Then two fits, see rank_clocks.h:
 *
 *   least squares   all ranks against the mean end of each event, a few sweeps; then the reference is
 *                   made the common clock
 *   bounds          rounds: each event has an earliest end (min over ranks of the highest common time
 *                   of its end) and a last start (max of the lowest of its start); these bound every
 *                   member's line. Each round is exact, later ones are tighter. */
#include "analyze/device/rank_clocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/wide.h"

const char *const tide__clock_text[TIDE_CLOCKS] = { "unknown", "known", "reference",
						    "contradicts" };

enum {
	SWEEPS = 24,
	ROUNDS = 6,
	MOST_LINES = 48, /* of a side of the polygon: fewer allow more, so the bound still holds */
};

typedef struct line { /* offset = at + slope x drift */
	double slope, at;
} line;

typedef struct entry { /* of a rank: its place in an event */
	size_t event;
	double x0, x1;
} entry;

typedef struct solver {
	const tide_clock_end *e;
	const size_t *first;
	size_t n_events, n_ends, n_ranks, most; /* most: entries of one rank */
	const int64_t *resolution;
	tide_clocks *out;
	uint32_t *up;	 /* union-find */
	tide_i128 *dist; /* own time + dist = time of `up` */
	size_t *of_rank; /* n_ranks + 1: entries of each rank */
	entry *entries;
	double *end, *start; /* per event: mean end, or earliest end and last start */
	uint32_t *count;
	line *lower, *upper;	 /* work space */
	double *a, *b, *a2, *b2; /* per rank: offset and drift of the fit; pending ones */
} solver;

/* ---- shifts ---- */

static uint32_t root_of(solver *s, uint32_t r, tide_i128 *dist)
{
	uint32_t root = r;
	tide_i128 sum = 0;
	while (s->up[root] != root) {
		sum += s->dist[root];
		root = s->up[root];
	}
	*dist = sum;
	while (s->up[r] != root && r != root) { /* compress */
		uint32_t next = s->up[r];
		tide_i128 own = s->dist[r];
		s->up[r] = root;
		s->dist[r] = sum;
		sum -= own;
		r = next;
	}
	return root;
}

/* The lower rank becomes the root, so that it is the reference. */
static void join(solver *s, const tide_clock_end *x, const tide_clock_end *y)
{
	tide_i128 dx, dy;
	uint32_t rx = root_of(s, x->rank, &dx), ry = root_of(s, y->rank, &dy);
	if (rx == ry)
		return;
	/* x->t1 + dx (on rx) is the same time as y->t1 + dy (on ry) */
	tide_i128 d = (tide_i128)x->t1 + dx - y->t1 - dy; /* ry's time + d = rx's time */
	if (rx < ry) {
		s->up[ry] = rx;
		s->dist[ry] = d;
	} else {
		s->up[rx] = ry;
		s->dist[rx] = -d;
	}
}

static bool find_shifts(solver *s)
{
	for (uint32_t r = 0; r < s->n_ranks; r++)
		s->up[r] = r;
	for (size_t k = 0; k < s->n_events; k++)
		for (size_t i = s->first[k] + 1; i < s->first[k + 1]; i++)
			join(s, &s->e[s->first[k]], &s->e[i]);
	for (uint32_t r = 0; r < s->n_ranks; r++) {
		tide_clock *c = &s->out->v[r];
		tide_i128 d;
		c->reference = root_of(s, r, &d);
		bool far = d > INT64_MAX / 4 || d < INT64_MIN / 4;
		c->shift = far ? 0 : (int64_t)d;
		c->state = far ? TIDE_CLOCK_CONTRADICTS : TIDE_CLOCK_KNOWN;
	}
	return true;
}

/* Sets the centers: the middle of the reference's events. */
static void find_centers(solver *s)
{
	int64_t *low = s->out->n ? tide__alloc(s->n_ranks * 2, sizeof *low) : NULL, *high;
	if (!low)
		return;
	high = low + s->n_ranks;
	for (size_t r = 0; r < s->n_ranks; r++) {
		low[r] = INT64_MAX;
		high[r] = INT64_MIN;
	}
	for (size_t i = 0; i < s->n_ends; i++) {
		const tide_clock *c = &s->out->v[s->e[i].rank];
		tide_i128 t = (tide_i128)s->e[i].t1 + c->shift;
		if (t > INT64_MAX / 2 || t < INT64_MIN / 2)
			continue;
		if (t < low[c->reference])
			low[c->reference] = (int64_t)t;
		if (t > high[c->reference])
			high[c->reference] = (int64_t)t;
	}
	for (size_t r = 0; r < s->n_ranks; r++) {
		uint32_t to = s->out->v[r].reference;
		s->out->v[r].center = low[to] > high[to] ? 0 : low[to] / 2 + high[to] / 2;
	}
	tide__free(low);
}

static double x_of(const tide_clock *c, int64_t t)
{
	return (double)((tide_i128)t + c->shift - c->center);
}

/* Lists the entries of each rank. */
static void list_entries(solver *s)
{
	for (size_t i = 0; i < s->n_ends; i++)
		s->of_rank[s->e[i].rank + 1]++;
	for (size_t r = 0; r < s->n_ranks; r++) {
		s->out->v[r].events = s->of_rank[r + 1];
		s->most = s->of_rank[r + 1] > s->most ? s->of_rank[r + 1] : s->most;
		s->of_rank[r + 1] += s->of_rank[r];
	}
	for (size_t k = 0; k < s->n_events; k++)
		for (size_t i = s->first[k]; i < s->first[k + 1]; i++) {
			const tide_clock_end *e = &s->e[i];
			tide_clock *c = &s->out->v[e->rank];
			entry *at = &s->entries[s->of_rank[e->rank]++];
			*at = (entry){ k, x_of(c, e->t0), x_of(c, e->t1) };
		}
	for (size_t r = s->n_ranks; r > 0; r--) /* the loop above moved each to the next */
		s->of_rank[r] = s->of_rank[r - 1];
	s->of_rank[0] = 0;
	for (size_t r = 0; r < s->n_ranks; r++)
		for (size_t i = s->of_rank[r]; i < s->of_rank[r + 1]; i++) {
			tide_clock *c = &s->out->v[r];
			bool one = i == s->of_rank[r];
			c->x0 = one || s->entries[i].x0 < c->x0 ? s->entries[i].x0 : c->x0;
			c->x1 = one || s->entries[i].x1 > c->x1 ? s->entries[i].x1 : c->x1;
		}
}

/* ---- least squares ---- */

static void mean_ends(solver *s)
{
	memset(s->end, 0, s->n_events * sizeof *s->end);
	memset(s->count, 0, s->n_events * sizeof *s->count);
	for (size_t r = 0; r < s->n_ranks; r++)
		for (size_t i = s->of_rank[r]; i < s->of_rank[r + 1]; i++) {
			const entry *e = &s->entries[i];
			s->end[e->event] += e->x1 + s->a[r] + s->b[r] * e->x1;
			s->count[e->event]++;
		}
	for (size_t k = 0; k < s->n_events; k++)
		s->end[k] /= s->count[k] ? s->count[k] : 1;
}

static double limit(double v)
{
	return fmin(fmax(v, -TIDE_CLOCK_MOST_DRIFT), TIDE_CLOCK_MOST_DRIFT);
}

/* Fits the line of one rank to the mean ends. */
static void fit(solver *s, size_t r)
{
	size_t from = s->of_rank[r], to = s->of_rank[r + 1], n = to - from;
	double mx = 0, my = 0, xx = 0, xy = 0;
	for (size_t i = from; i < to; i++) {
		mx += s->entries[i].x1 / (double)n;
		my += (s->end[s->entries[i].event] - s->entries[i].x1) / (double)n;
	}
	for (size_t i = from; i < to; i++) {
		double x = s->entries[i].x1 - mx,
		       y = s->end[s->entries[i].event] - s->entries[i].x1 - my;
		xx += x * x;
		xy += x * y;
	}
	s->b2[r] = xx > 1 ? limit(xy / xx) : 0;
	s->a2[r] = n ? my - s->b2[r] * mx : 0;
}

static void fit_all(solver *s)
{
	for (int sweep = 0; sweep < SWEEPS; sweep++) {
		double moved = 0;
		mean_ends(s);
		for (size_t r = 0; r < s->n_ranks; r++)
			fit(s, r);
		for (size_t r = 0; r < s->n_ranks; r++) {
			moved = fmax(moved, fabs(s->a2[r] - s->a[r]));
			s->a[r] = s->a2[r];
			s->b[r] = s->b2[r];
		}
		if (moved < 0.5)
			break;
	}
	for (size_t r = 0; r < s->n_ranks; r++) { /* the reference's clock is the common one */
		tide_clock *c = &s->out->v[r];
		uint32_t to = c->reference;
		c->drift = limit((1 + s->b[r]) / (1 + s->b[to]) - 1);
		c->offset = (s->a[r] - s->a[to]) / (1 + s->b[to]);
	}
}

/* ---- bounds ---- */

static void range_at(const tide_clock *c, double x, double *low, double *high)
{
	*low = INFINITY;
	*high = -INFINITY;
	for (size_t i = 0; i < c->n_corners; i++) {
		double y = c->corner[i].offset + c->corner[i].drift * x;
		*low = y < *low ? y : *low;
		*high = y > *high ? y : *high;
	}
}

/* Finds each event's last start and earliest end in common time. */
static void bound_events(solver *s)
{
	for (size_t k = 0; k < s->n_events; k++) {
		s->start[k] = -INFINITY;
		s->end[k] = INFINITY;
	}
	for (size_t r = 0; r < s->n_ranks; r++) {
		const tide_clock *c = &s->out->v[r];
		double low, high, unsure = (double)s->resolution[r] + 1;
		if (!c->n_corners)
			continue;
		for (size_t i = s->of_rank[r]; i < s->of_rank[r + 1]; i++) {
			const entry *e = &s->entries[i];
			range_at(c, e->x0, &low, &high);
			s->start[e->event] = fmax(s->start[e->event], e->x0 + low - unsure);
			range_at(c, e->x1, &low, &high);
			s->end[e->event] = fmin(s->end[e->event], e->x1 + high + unsure);
		}
	}
}

static int by_slope(const void *a, const void *b)
{
	const line *x = a, *y = b;
	if (x->slope != y->slope)
		return x->slope < y->slope ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Keeps the lines of the upper envelope (max over lines), by slope; for the lower one both are
 * negated by the caller. */
static size_t envelope(line *v, size_t n)
{
	size_t k = 0;
	if (n)
		qsort(v, n, sizeof *v, by_slope);
	for (size_t i = 0; i < n; i++) {
		if (k && v[k - 1].slope == v[i].slope)
			k--; /* the later one is higher */
		line x = v[i];
		while (k > 1 && (x.at - v[k - 2].at) * (v[k - 1].slope - v[k - 2].slope) >=
					(v[k - 1].at - v[k - 2].at) * (x.slope - v[k - 2].slope))
			k--;
		v[k++] = x;
	}
	return k;
}

/* Drops lines that never count within the drift allowed, and then every second one until few are
 * left. */
static size_t thin(line *v, size_t n)
{
	size_t k = 0;
	for (size_t i = 0; i < n; i++) {
		double from = i ? (v[i - 1].at - v[i].at) / (v[i].slope - v[i - 1].slope)
				: -INFINITY,
		       to = i + 1 < n ? (v[i].at - v[i + 1].at) / (v[i + 1].slope - v[i].slope)
				      : INFINITY;
		if (to >= -TIDE_CLOCK_MOST_DRIFT && from <= TIDE_CLOCK_MOST_DRIFT)
			v[k++] = v[i];
	}
	size_t every = (k + MOST_LINES - 1) / MOST_LINES, m = 0;
	for (size_t i = 0; i < k; i++)
		if (every <= 1 || i % every == 0)
			v[m++] = v[i];
	return m;
}

static double highest(const line *v, size_t n, double d)
{
	double y = -INFINITY;
	for (size_t i = 0; i < n; i++)
		y = fmax(y, v[i].at + v[i].slope * d);
	return y;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* Makes the polygon between the envelope of the lower lines and the negated one of the upper lines.
 * Returns false if it is empty. */
static bool make_polygon(tide_clock *c, const line *lo, size_t n_lo, const line *up, size_t n_up)
{
	double d[2 * MOST_LINES + 4], gap[2 * MOST_LINES + 4];
	size_t n = 0, k = 0;
	d[n++] = -TIDE_CLOCK_MOST_DRIFT;
	d[n++] = TIDE_CLOCK_MOST_DRIFT;
	for (size_t i = 1; i < n_lo; i++)
		d[n++] = (lo[i - 1].at - lo[i].at) / (lo[i].slope - lo[i - 1].slope);
	for (size_t i = 1; i < n_up; i++)
		d[n++] = (up[i - 1].at - up[i].at) / (up[i].slope - up[i - 1].slope);
	for (size_t i = 0; i < n; i++)
		if (fabs(d[i]) <= TIDE_CLOCK_MOST_DRIFT)
			d[k++] = d[i];
	qsort(d, k, sizeof *d, by_value);
	for (size_t i = 0; i < k; i++)
		gap[i] = -highest(up, n_up, d[i]) - highest(lo, n_lo, d[i]);
	c->n_corners = 0;
	for (size_t i = 0; i < k; i++) {
		if (i && (gap[i] >= 0) != (gap[i - 1] >= 0)) { /* the sides cross in between */
			double x =
				d[i - 1] + (d[i] - d[i - 1]) * gap[i - 1] / (gap[i - 1] - gap[i]);
			c->corner[c->n_corners++] = (tide_clock_corner){ x, highest(lo, n_lo, x) };
		}
		if (gap[i] < 0)
			continue;
		c->corner[c->n_corners++] = (tide_clock_corner){ d[i], highest(lo, n_lo, d[i]) };
		c->corner[c->n_corners++] = (tide_clock_corner){ d[i], -highest(up, n_up, d[i]) };
	}
	return c->n_corners > 0;
}

/* Bounds the line of one rank by the events. Returns false if memory ran out. */
static bool bound_rank(solver *s, size_t r)
{
	tide_clock *c = &s->out->v[r];
	size_t n_lo = 0, n_up = 0;
	double unsure = (double)s->resolution[r] + 1;
	for (size_t i = s->of_rank[r]; i < s->of_rank[r + 1]; i++) {
		const entry *e = &s->entries[i];
		if (isfinite(s->start[e->event])) /* own end >= last start */
			s->lower[n_lo++] = (line){ -e->x1, s->start[e->event] - e->x1 - unsure };
		if (isfinite(s->end[e->event])) /* own start <= earliest end; negated */
			s->upper[n_up++] = (line){ e->x0, e->x0 - s->end[e->event] - unsure };
	}
	if (!n_lo || !n_up)
		return true;
	n_lo = thin(s->lower, envelope(s->lower, n_lo));
	n_up = thin(s->upper, envelope(s->upper, n_up));
	if (!c->corner)
		c->corner = tide__alloc(6 * MOST_LINES + 12, sizeof *c->corner);
	if (!c->corner)
		return false;
	if (!make_polygon(c, s->lower, n_lo, s->upper, n_up))
		c->state = TIDE_CLOCK_CONTRADICTS;
	return true;
}

static bool bound_all(solver *s)
{
	for (size_t r = 0; r < s->n_ranks; r++) {
		tide_clock *c = &s->out->v[r];
		if (c->reference != r || c->state != TIDE_CLOCK_KNOWN || !c->events)
			continue;
		c->state = TIDE_CLOCK_REFERENCE;
		c->corner = tide__calloc(1, sizeof *c->corner);
		if (!c->corner)
			return false;
		c->n_corners = 1; /* exactly itself */
	}
	for (int round = 0; round < ROUNDS; round++) {
		bound_events(s);
		for (size_t r = 0; r < s->n_ranks; r++)
			if (s->out->v[r].state == TIDE_CLOCK_KNOWN && !bound_rank(s, r))
				return false;
	}
	return true;
}

/* Moves an estimate outside the polygon to its edge, on the way to the polygon's middle. */
static void clip(tide_clock *c)
{
	double d = 0, o = 0, low, high, dlow, dhigh;
	for (size_t i = 0; i < c->n_corners; i++) {
		d += c->corner[i].drift / (double)c->n_corners;
		o += c->corner[i].offset / (double)c->n_corners;
	}
	tide__clock_drifts(c, &dlow, &dhigh);
	double inside = 0, outside = 1;
	for (int i = 0; i < 40; i++) {
		double part = i ? (inside + outside) / 2 : 1, x = 0;
		double drift = d + part * (c->drift - d), offset = o + part * (c->offset - o);
		bool in = drift >= dlow && drift <= dhigh;
		for (int side = -1; in && side <= 1; side++) { /* at both ends and in the middle */
			x = side < 0 ? c->x0 : side > 0 ? c->x1 : (c->x0 + c->x1) / 2;
			range_at(c, x, &low, &high);
			in = offset + drift * x >= low && offset + drift * x <= high;
		}
		if (in)
			inside = part;
		else
			outside = part;
		if (in && !i)
			return;
	}
	c->offset = o + inside * (c->offset - o);
	c->drift = d + inside * (c->drift - d);
}

static void settle(solver *s)
{
	for (size_t r = 0; r < s->n_ranks; r++) {
		tide_clock *c = &s->out->v[r];
		if (c->state == TIDE_CLOCK_KNOWN && (!c->n_corners || !c->events))
			c->state = TIDE_CLOCK_UNKNOWN;
		if (c->state == TIDE_CLOCK_KNOWN)
			clip(c);
		if (c->state == TIDE_CLOCK_REFERENCE)
			c->offset = c->drift = 0;
	}
}

/* ---- the whole ---- */

static bool allocate(solver *s)
{
	size_t r = s->n_ranks, n = s->n_ends;
	s->out->v = tide__calloc(r, sizeof *s->out->v);
	s->out->n = s->out->v ? r : 0;
	s->up = tide__alloc(r, sizeof *s->up);
	s->dist = tide__calloc(r, sizeof *s->dist);
	s->of_rank = tide__calloc(r + 2, sizeof *s->of_rank);
	s->entries = tide__alloc(n, sizeof *s->entries);
	s->end = tide__alloc(s->n_events, sizeof *s->end);
	s->start = tide__alloc(s->n_events, sizeof *s->start);
	s->count = tide__alloc(s->n_events, sizeof *s->count);
	s->a = tide__calloc(4 * r, sizeof *s->a);
	s->b = s->a + r;
	s->a2 = s->b + r;
	s->b2 = s->a2 + r;
	return s->out->v && s->up && s->dist && s->of_rank && s->entries && s->end && s->start &&
	       s->count && s->a;
}

tide_code tide__clocks_find(const tide_clock_end *e, const size_t *first, size_t n_events,
			    const int64_t *resolution, size_t n_ranks, tide_clocks *out,
			    tide_error *err)
{
	solver s = { .e = e,
		     .first = first,
		     .n_events = n_events,
		     .n_ends = first[n_events],
		     .n_ranks = n_ranks,
		     .resolution = resolution,
		     .out = out };
	*out = (tide_clocks){ 0 };
	bool ok = allocate(&s);
	if (ok) {
		find_shifts(&s);
		find_centers(&s);
		list_entries(&s);
		s.lower = tide__alloc(s.most, sizeof *s.lower);
		s.upper = tide__alloc(s.most, sizeof *s.upper);
		ok = s.lower && s.upper;
	}
	if (ok) {
		fit_all(&s);
		ok = bound_all(&s);
		settle(&s);
	}
	void *const work[] = { s.up,	s.dist,	 s.of_rank, s.entries, s.end,
			       s.start, s.count, s.a,	    s.lower,   s.upper };
	for (size_t i = 0; i < sizeof work / sizeof *work; i++)
		tide__free(work[i]);
	if (ok)
		return TIDE_OK;
	tide__clocks_free(out);
	return tide__nomem(err);
}

void tide__clocks_free(tide_clocks *c)
{
	for (size_t i = 0; i < c->n; i++)
		tide__free(c->v[i].corner);
	tide__free(c->v);
	*c = (tide_clocks){ 0 };
}

double tide__clock_common(const tide_clock *c, int64_t t, int64_t base)
{
	return (double)((tide_i128)t + c->shift - base) + c->offset + c->drift * x_of(c, t);
}

void tide__clock_bound(const tide_clock *c, int64_t t, double *low, double *high)
{
	double x = x_of(c, t), y = c->offset + c->drift * x;
	range_at(c, x, low, high);
	*low = fmin(*low - y, 0);
	*high = fmax(*high - y, 0);
}

void tide__clock_drifts(const tide_clock *c, double *low, double *high)
{
	*low = INFINITY;
	*high = -INFINITY;
	for (size_t i = 0; i < c->n_corners; i++) {
		*low = fmin(*low, c->corner[i].drift);
		*high = fmax(*high, c->corner[i].drift);
	}
}
