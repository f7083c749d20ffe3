// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The recorder's clock: the CPU's counter where it runs at one rate on all cores, else
 * CLOCK_MONOTONIC_RAW. Which one is decided once, before the first recording. */
#ifndef TIDE_RUNTIME_CLOCK_H
#define TIDE_RUNTIME_CLOCK_H

#include <stdint.h>
#include <time.h>

#include <tidemark/quick.h>

#include "format/tide.h"

extern uint32_t tide__clock_kind __attribute__((visibility("hidden"))); /* TIDE_CLOCK_* */

/* Decide. TIDEMARK_CLOCK=ns in the environment chooses the fallback; =tsc trusts a counter that
 * does not call itself invariant (some virtual machines hide that). */
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

typedef struct tide_triple { /* three clocks at one moment */
	uint64_t ticks;
	int64_t mono_raw, real; /* ns */
} tide_triple;

/* Read all three as close together as can be had: the tightest of several tries. */
tide_triple tide__clock_triple(void);

#endif
