// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The recorder's clock: the CPU's counter if it runs at one rate on all cores, else
 * CLOCK_MONOTONIC_RAW. Chosen once, before the first recording. */
#ifndef TIDE_RUNTIME_CLOCK_H
#define TIDE_RUNTIME_CLOCK_H

#include <stdint.h>
#include <time.h>

#include <tidemark/detail/quick.h>

#include "format/tide.h"

extern uint32_t tide__clock_kind __attribute__((visibility("hidden"))); /* TIDE_CLOCK_* */

/* Chooses the clock. TIDEMARK_CLOCK=ns in the environment selects CLOCK_MONOTONIC_RAW; =tsc trusts
 * a counter that is not marked invariant (some virtual machines hide the flag). */
void tide__clock_init(void);

static inline uint64_t tide__clock_ns(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t tide__ticks(void)
{
	if (__builtin_expect(tide__clock_kind != TIDE_CLOCK_NS, 1))
		return tide__counter();
	return tide__clock_ns(CLOCK_MONOTONIC_RAW);
}

typedef struct tide_triple { /* three clocks read at one moment */
	uint64_t ticks;
	int64_t mono_raw, real; /* ns */
} tide_triple;

/* Reads all three as close together as possible: the tightest of several tries. */
tide_triple tide__clock_read_triple(void);

#endif
