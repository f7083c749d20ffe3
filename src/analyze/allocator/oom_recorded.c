// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/allocator/oom_recorded.h"

#include <stdlib.h>

#include "analyze/live/reserved.h"
#include "base/search.h"
#include "model/device_counter.h"

/* Returns the device's last sample of that counter up to time t. */
static uint64_t last(const tide_model *m, const char *what, uint32_t device, int64_t t)
{
	uint32_t c = tide__device_counter(m, what, device);
	size_t low = 0;
	TIDE_SEARCH(low, c ? m->samples.n : 0, half, m->samples.t[half] <= t);
	while (low && m->samples.counter[low - 1].i != c)
		low--;
	if (!low || !tide__is_bytes(m->samples.value[low - 1]))
		return TIDE_RECORDED_NOTHING;
	return (uint64_t)m->samples.value[low - 1];
}

uint64_t tide__recorded_allocated(const tide_model *m, uint32_t device, int64_t t)
{
	return last(m, "oom_allocated", device, t);
}

uint64_t tide__recorded_limit(const tide_model *m, uint32_t device, int64_t t)
{
	int64_t fact = tide__device_fact(m, "allocator.fraction", device);
	uint64_t total = last(m, "device", device, t);
	if (fact < 0 || total == TIDE_RECORDED_NOTHING)
		return TIDE_RECORDED_NOTHING;
	double f = strtod(tide__text(m, m->facts.text[fact], NULL), NULL);
	return f > 0 && f < 1 ? (uint64_t)(f * (double)total) : TIDE_RECORDED_NOTHING;
}
