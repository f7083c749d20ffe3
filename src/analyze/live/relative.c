// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/live/relative.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/strings.h"

enum { SUM_BITS = 53 }; /* a counter is a double: larger sums are not exact */

static void add(tide_relative_device *x, int64_t t, int64_t sum)
{
	int64_t change = sum - x->now;
	*(change < 0 ? &x->freed : &x->allocated) += (uint64_t)(change < 0 ? -change : change);
	x->events++;
	x->now = sum;
	if (sum > x->high) {
		x->high = sum;
		x->high_t = t;
	}
	if (sum < x->low) {
		x->low = sum;
		x->low_t = t;
	}
}

tide_code tide__relative_find(const tide_model *m, int64_t t, tide_relative *out, tide_error *err)
{
	static const char name[] = TIDE_RELATIVE_COUNTER;
	const double most = (double)(INT64_C(1) << SUM_BITS);
	uint32_t key = tide__strings_find(m->strings, name, sizeof name - 1);
	*out = (tide_relative){ .n = m->devices.n };
	out->devices = tide__calloc(m->devices.n, sizeof *out->devices);
	if (!out->devices)
		return tide__nomem(err);
	for (size_t i = 0; key && i < m->samples.n && m->samples.t[i] <= t; i++) {
		uint32_t c = m->samples.counter[i].i, d = m->counters.device[c].i;
		double v = m->samples.value[i];
		if (m->counters.name[c].i == key && d && v > -most && v < most)
			add(&out->devices[d], m->samples.t[i], (int64_t)v);
	}
	for (size_t d = 0; d < out->n; d++)
		out->any += out->devices[d].events != 0;
	return TIDE_OK;
}

void tide__relative_free(tide_relative *r)
{
	tide__free(r->devices);
	*r = (tide_relative){ 0 };
}
