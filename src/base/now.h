// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Returns milliseconds of the monotonic clock, for progress displays and timeouts, never for
 * figures. */
#ifndef TIDE_BASE_NOW_H
#define TIDE_BASE_NOW_H

#include <stdint.h>
#include <time.h>

/* Returns the ns of a clock: CLOCK_MONOTONIC, or CLOCK_REALTIME for Unix time. */
static inline int64_t tide__now_ns(clockid_t clock)
{
	struct timespec ts;
	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static inline int64_t tide__now_ms(void)
{
	return tide__now_ns(CLOCK_MONOTONIC) / 1000000;
}

/* Returns the wall clock this many milliseconds from now, for pthread functions with a deadline. */
static inline struct timespec tide__in_ms(int64_t ms)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += (long)(ms % 1000) * 1000000;
	ts.tv_sec += (time_t)(ms / 1000 + ts.tv_nsec / 1000000000);
	ts.tv_nsec %= 1000000000;
	return ts;
}

#endif
