// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* One clock for the ranks of a job, from collectives that synchronise.
 *
 * The clock of a rank is assumed to be linear: common time = own time + offset + drift x own time,
 * and its drift against the reference at most TIDE_CLOCK_MOST_DRIFT. Two things are found:
 *
 *     estimate   least squares: a collective ends on all ranks at the same time
 *     bound      no rank ends before every rank began. Each such pair of a start and an end excludes
 *                lines; all lines that are left, a convex polygon in (drift, offset), give the
 *                lowest and highest common time of any own time. It assumes nothing else.
 *
 * Ranks that no chain of events joins have no common clock. Pure. docs/analyses/clocks.md. */
#ifndef TIDE_ANALYZE_DEVICE_RANK_CLOCKS_H
#define TIDE_ANALYZE_DEVICE_RANK_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define TIDE_CLOCK_MOST_DRIFT 1e-3

typedef struct tide_clock_end { /* one rank in one event; own times, ns */
	uint32_t rank;
	int64_t t0, t1;
} tide_clock_end;

typedef enum tide_clock_state {
	TIDE_CLOCK_UNKNOWN, /* no event joins it with another rank */
	TIDE_CLOCK_KNOWN,
	TIDE_CLOCK_REFERENCE,	/* the first rank of those that events join */
	TIDE_CLOCK_CONTRADICTS, /* no line agrees with its events */
	TIDE_CLOCKS,
} tide_clock_state;
extern const char *const tide__clock_text[TIDE_CLOCKS];

typedef struct tide_clock_corner {
	double drift, offset;
} tide_clock_corner;

typedef struct tide_clock {
	tide_clock_state state;
	uint32_t reference; /* rank whose clock is the common one */
	size_t events;
	int64_t shift, center;	   /* x = own time + shift - center: small numbers */
	double offset, drift;	   /* common time = own time + shift + offset + drift x */
	tide_clock_corner *corner; /* owned: of the polygon of (drift, offset) */
	size_t n_corners;
	double x0, x1; /* of its events */
} tide_clock;

typedef struct tide_clocks {
	tide_clock *v; /* owned; per rank */
	size_t n;
} tide_clocks;

/* Finds the clocks of n_ranks ranks. Event i is e[first[i]] to e[first[i + 1] - 1], n_events + 1 numbers
 * in `first`; ranks in an event differ. resolution[rank]: ns by which its times may be wrong. */
tide_code tide__clocks_find(const tide_clock_end *e, const size_t *first, size_t n_events,
			    const int64_t *resolution, size_t n_ranks, tide_clocks *out,
			    tide_error *err);
void tide__clocks_free(tide_clocks *c);

/* Returns true if the clock has a common time. */
static inline bool tide__clock_is_known(const tide_clock *c)
{
	return c->state == TIDE_CLOCK_KNOWN || c->state == TIDE_CLOCK_REFERENCE;
}
/* Returns common time - `base` at an own time, in ns; the second gets how far the truth may be below
 * and above it (low <= 0 <= high). Only of a known clock. */
double tide__clock_common(const tide_clock *c, int64_t t, int64_t base);
void tide__clock_bound(const tide_clock *c, int64_t t, double *low, double *high);
/* Lowest and highest drift that its events allow. */
void tide__clock_drifts(const tide_clock *c, double *low, double *high);

#endif
