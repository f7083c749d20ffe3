// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "base/seed.h"

#include <stdatomic.h>
#include <sys/random.h>
#include <time.h>

static uint64_t draw(void)
{
	uint64_t x = 0;
	if (getrandom(&x, sizeof x, GRND_NONBLOCK) == sizeof x && x)
		return x;
	struct timespec t; /* early in boot: the stack's address and the time are the only
			    * entropy */
	clock_gettime(CLOCK_MONOTONIC, &t);
	return ((uint64_t)(uintptr_t)&t ^ (uint64_t)t.tv_nsec << 32) | 1;
}

uint64_t tide__seed(void)
{
	static _Atomic uint64_t seed;
	uint64_t x = atomic_load_explicit(&seed, memory_order_relaxed);
	if (!x) {
		uint64_t mine = draw();
		x = atomic_compare_exchange_strong(&seed, &x, mine) ? mine : x;
	}
	return x;
}
