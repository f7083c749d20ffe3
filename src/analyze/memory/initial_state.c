// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/memory/initial_state.h"

bool tide__is_initial(const tide_model *m, size_t i)
{
	uint32_t row = m->memory_events.row[i];
	switch (m->memory_events.kind[i]) {
	case TIDE_MEMORY_ALLOC:
		return m->allocs.flags[row] & TIDE_ALLOC_BEFORE;
	case TIDE_MEMORY_SEG_ALLOC:
		return m->segments.flags[row] & TIDE_SEGMENT_BEFORE;
	}
	return false;
}

uint64_t tide__after_initial(const tide_model *m, uint64_t position)
{
	while (position < m->memory_events.n && tide__is_initial(m, (size_t)position))
		position++;
	return position;
}
