// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Totals of a snapshot, one line per device, and its facts: for torchsnap.py. */
#include <inttypes.h>
#include <stdio.h>

#include "snaptotals.h"
#include "import/import.h"

static void device(const tide_model *m, int64_t index)
{
	struct totals t = totals_of(m, index);
	printf("device %" PRId64 " allocated %" PRIu64 " allocated_peak %" PRIu64 " active %" PRIu64
	       " active_peak %" PRIu64 " requested %" PRIu64 " reserved %" PRIu64
	       " reserved_peak %" PRIu64 " allocs %" PRIu64 " frees %" PRIu64
	       " inactive_split %" PRIu64 "\n",
	       index, t.allocated, t.allocated_peak, t.active, t.active_peak, t.requested,
	       t.reserved, t.reserved_peak, t.allocs, t.frees, t.inactive_split);
}

static int report(const char *path)
{
	tide_error err = { 0 };
	tide_model *m;
	if (tide__load(path, NULL, &m, &err)) {
		printf("error %d at %" PRId64 ": %s\n", err.code, (int64_t)err.offset, err.text);
		return 1;
	}
	if (tide__model_check(m, &err))
		printf("check %s\n", err.text);
	for (uint32_t d = 1; d < m->devices.n; d++)
		if (m->devices.kind[d] == TIDE_DEVICE_CUDA)
			device(m, m->devices.index[d]);
	for (size_t i = 0; i < m->facts.n; i++)
		if (!m->facts.text[i].i)
			printf("fact %s %" PRId64 "\n", tide__text(m, m->facts.key[i], NULL),
			       m->facts.number[i]);
	printf("pools %zu stacks %zu frames %zu spans %zu\n", m->pools.n - 1, m->stacks.n - 1,
	       m->frames.n - 1, m->spans.n - 1);
	tide__model_free(m);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		printf("file %d\n", i - 1);
		report(argv[i]);
	}
	return 0;
}
