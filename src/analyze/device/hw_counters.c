// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/device/hw_counters.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static bool is_launch(const tide_model *m, uint32_t s)
{
	return m->spans.cat[s] == TIDE_CAT_RUNTIME &&
	       !strncmp(tide__text(m, m->spans.name[s], NULL), "cudaLaunchKernel", 16);
}

/* Spans are sorted by start: both lists come out in order of time. */
tide_code tide__find_counters(const tide_model *m, tide_hwcounters *out, tide_error *err)
{
	*out = (tide_hwcounters){ tide__calloc(m->spans.n, sizeof *out->v), 0, 0 };
	if (!out->v)
		return tide__nomem(err);
	for (uint32_t s = 1; s < m->spans.n; s++) {
		if (m->spans.cat[s] == TIDE_CAT_COUNTERS)
			out->v[out->n++].range.i = s;
		out->launches += is_launch(m, s);
	}
	if (out->launches != out->n)
		return TIDE_OK;
	size_t k = 0;
	for (uint32_t s = 1; s < m->spans.n; s++)
		if (is_launch(m, s))
			out->v[k++].launch.i = s;
	return TIDE_OK;
}

void tide__hwcounters_free(tide_hwcounters *h)
{
	tide__free(h->v);
	*h = (tide_hwcounters){ 0 };
}
