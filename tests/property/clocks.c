// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Clocks of ranks against the truth: ranks with injected offset, drift and jitter. The oracle knows the
 * true time of every start and end. The bound must always hold; with 64 ranks the error must be at
 * most 20 us. */
#include <math.h>
#include <string.h>

#include "analyze/device/rank_clocks.h"
#include "base/mem.h"
#include "testing.h"

enum { MOST_RANKS = 64, MOST_EVENTS = 240 };

struct world {
	uint64_t seed;
	uint32_t n_ranks, n_groups, per_group; /* besides the group of all */
	size_t n_events;
	double offset[MOST_RANKS], drift[MOST_RANKS];
	int64_t resolution[MOST_RANKS];
	tide_clock_end e[MOST_EVENTS * MOST_RANKS];
	double truth[MOST_EVENTS * MOST_RANKS][2];
	size_t first[MOST_EVENTS + 1], n;
};

static double unit(struct world *w)
{
	w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(w->seed >> 11) / 9007199254740992.0;
}

static double exponential(struct world *w, double mean)
{
	return -mean * log(1 - unit(w));
}

/* What the clock of a rank shows at a true time. */
static int64_t shown(const struct world *w, uint32_t r, double t)
{
	int64_t v = (int64_t)floor(t + w->offset[r] + w->drift[r] * t);
	return v - v % w->resolution[r];
}

/* One collective: no rank ends before the last one began. */
static void happen(struct world *w, const uint32_t *ranks, uint32_t n, double *free_at,
		   double jitter)
{
	double start[MOST_RANKS], last = 0;
	w->first[w->n_events++] = w->n;
	for (uint32_t i = 0; i < n; i++) {
		start[i] = free_at[ranks[i]] + 5e6 + exponential(w, 3e5);
		last = fmax(last, start[i]);
	}
	double latency = 4e4 + unit(w) * 2e4;
	for (uint32_t i = 0; i < n; i++) {
		double end = last + latency + exponential(w, jitter);
		w->truth[w->n][0] = start[i];
		w->truth[w->n][1] = end;
		w->e[w->n++] = (tide_clock_end){ ranks[i], shown(w, ranks[i], start[i]),
						 shown(w, ranks[i], end) };
		free_at[ranks[i]] = end;
	}
	w->first[w->n_events] = w->n;
}

static void make_clocks(struct world *w, uint64_t seed, uint32_t n, int64_t resolution)
{
	memset(w, 0, sizeof *w);
	w->seed = seed * 7919 + 17;
	w->n_ranks = n;
	for (uint32_t r = 0; r < n; r++) {
		w->offset[r] = 2e10 + (unit(w) - 0.5) * 2e10;
		w->drift[r] = (unit(w) - 0.5) * 2e-4;
		w->resolution[r] = resolution;
	}
}

/* The group of all ranks, and groups of `per` neighbours; `all` = how often the former. */
static void make_events(struct world *w, size_t events, uint32_t per, unsigned all, double jitter)
{
	double free_at[MOST_RANKS] = { 0 };
	for (size_t k = 0; w->n_events + w->n_ranks / per < events; k++) {
		uint32_t ranks[MOST_RANKS], n = all && k % all == 0 ? w->n_ranks : per;
		for (uint32_t from = 0; from + n <= w->n_ranks; from += n) {
			for (uint32_t i = 0; i < n; i++)
				ranks[i] = from + i;
			happen(w, ranks, n, free_at, jitter);
		}
	}
}

static double widest; /* bound of the clocks that check() saw */

/* Compares every start and end with the truth. Returns the largest error. */
static double check(const struct world *w, const tide_clocks *c)
{
	double worst = 0;
	for (size_t i = 0; i < w->n; i++)
		for (int end = 0; end < 2; end++) {
			const tide_clock *k = &c->v[w->e[i].rank];
			int64_t own = end ? w->e[i].t1 : w->e[i].t0;
			uint32_t to = k->reference;
			/* what the reference's clock showed then */
			double t = w->truth[i][end], low, high,
			       want = t + w->offset[to] + w->drift[to] * t;
			if (!tide__clock_is_known(k))
				continue;
			double got = tide__clock_common(k, own, 0);
			tide__clock_bound(k, own, &low, &high);
			double slack = (double)w->resolution[0] + 2; /* of `own` and `want` */
			assert_true(want - got >= low - slack);
			assert_true(want - got <= high + slack);
			worst = fmax(worst, fabs(want - got));
			widest = fmax(widest, high - low);
		}
	return worst;
}

static tide_clocks solve(const struct world *w)
{
	tide_clocks c;
	tide_error err;
	assert_int_equal(
		tide__clocks_find(w->e, w->first, w->n_events, w->resolution, w->n_ranks, &c, &err),
		TIDE_OK);
	return c;
}

static void many_ranks(void **state)
{
	static struct world w;
	double worst = 0;
	widest = 0;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		make_clocks(&w, seed, 64, 1);
		make_events(&w, MOST_EVENTS, 8, 2, 3000);
		tide_clocks c = solve(&w);
		for (uint32_t r = 0; r < 64; r++) {
			assert_true(tide__clock_is_known(&c.v[r]));
			assert_int_equal(c.v[r].reference, 0);
		}
		double error = check(&w, &c);
		worst = fmax(worst, error);
		assert_true(error <= 20000);
		tide__clocks_free(&c);
	}
	print_message("largest error: %.1f us, widest bound: %.1f us\n", worst / 1000,
		      widest / 1000);
	assert_true(widest < 2e6); /* a bound that says something */
}

/* Few events, coarse times, large jitter, groups that are not joined: the bound holds. */
static void bound_holds(void **state)
{
	static struct world w;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		static const int64_t resolutions[] = { 1, 1000 };
		uint32_t per = 2 + (uint32_t)(seed % 5), n = per * (1 + (uint32_t)(seed % 4));
		make_clocks(&w, seed, n, resolutions[seed % 2]);
		make_events(&w, n / per + 1 + seed % 60, per, seed % 3, 100 * (double)(seed % 500));
		tide_clocks c = solve(&w);
		check(&w, &c);
		for (uint32_t r = 0; r < n; r++)
			if (tide__clock_is_known(&c.v[r]) && !(seed % 3))
				assert_int_equal(c.v[r].reference, r / per * per);
		tide__clocks_free(&c);
	}
}

static void too_little(void **state)
{
	static struct world w;
	make_clocks(&w, 5, 4, 1);
	double free_at[MOST_RANKS] = { 0 };
	happen(&w, (const uint32_t[]){ 1, 3 }, 2, free_at, 1000);
	tide_clocks c = solve(&w);
	assert_int_equal(c.v[0].state, TIDE_CLOCK_UNKNOWN);
	assert_int_equal(c.v[1].state, TIDE_CLOCK_REFERENCE);
	assert_int_equal(c.v[2].state, TIDE_CLOCK_UNKNOWN);
	assert_int_equal(c.v[3].state, TIDE_CLOCK_KNOWN);
	check(&w, &c);
	tide__clocks_free(&c);
}

/* Times that no two clocks can show: a rank that ends before the other begins, both ways. */
static void contradiction(void **state)
{
	static const tide_clock_end e[] = {
		{ 0, 1000000, 1001000 },     { 1, 1000000, 1001000 },
		{ 0, 2000000, 2001000 },     { 1, 900000000, 900001000 },
		{ 0, 900000000, 900001000 }, { 1, 902000000, 902001000 },
	};
	static const size_t first[] = { 0, 2, 4, 6 };
	static const int64_t resolution[] = { 1, 1 };
	tide_clocks c;
	tide_error err;
	assert_int_equal(tide__clocks_find(e, first, 3, resolution, 2, &c, &err), TIDE_OK);
	assert_int_equal(c.v[1].state, TIDE_CLOCK_CONTRADICTS);
	tide__clocks_free(&c);
}

/* Impossible times are no crash. */
static void hostile(void **state)
{
	static const int64_t t[] = { 0, 1, INT64_MAX / 2, INT64_MAX - 1, 5000, 1 << 30 };
	static struct world w;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		make_clocks(&w, seed, 5, 1);
		for (size_t k = 0; k < 12; k++) {
			w.first[k] = w.n;
			for (uint32_t r = 0; r < 5; r++)
				if (unit(&w) < 0.7) {
					int64_t a = t[(size_t)(unit(&w) * 6)],
						b = t[(size_t)(unit(&w) * 6)];
					w.e[w.n++] =
						(tide_clock_end){ r, a < b ? a : b, a < b ? b : a };
				}
		}
		w.first[12] = w.n;
		w.n_events = 12;
		tide_clocks c = solve(&w);
		for (uint32_t r = 0; r < 5; r++)
			assert_true(c.v[r].state < TIDE_CLOCKS);
		tide__clocks_free(&c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_ranks), cmocka_unit_test(bound_holds),
		cmocka_unit_test(too_little), cmocka_unit_test(contradiction),
		cmocka_unit_test(hostile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
