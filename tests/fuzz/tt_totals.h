// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#ifndef TIDE_TESTS_FUZZ_TT_TOTALS_H
#define TIDE_TESTS_FUZZ_TT_TOTALS_H

#include <stdlib.h>

#include "model/model.h"

/* Aborts unless the live bytes of every pool at the end are those of its last state. */
static inline void check_totals(const tide_model *m)
{
	for (uint32_t p = 1; p < m->pools.n; p++) {
		uint64_t live = 0, last = 0;
		for (size_t i = 1; i < m->allocs.n; i++)
			if (m->allocs.pool[i].i == p && m->allocs.died[i] == TIDE_T_NEVER)
				live += m->allocs.size[i];
		for (size_t i = 0; i < m->pool_states.n; i++)
			if (m->pool_states.pool[i].i == p)
				last = m->pool_states.allocated[i] * m->pools.banks[p];
		if (live != last)
			abort();
	}
}

#endif
