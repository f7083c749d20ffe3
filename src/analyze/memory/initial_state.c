// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/memory/initial_state.h"

bool tide__is_initial(const tide_model *m, size_t i)
{
	uint32_t row = m->moves.row[i];
	switch (m->moves.kind[i]) {
	case TIDE_MOVE_ALLOC:
		return m->allocs.flags[row] & TIDE_ALLOC_BEFORE;
	case TIDE_MOVE_SEG_ALLOC:
		return m->segments.flags[row] & TIDE_SEGMENT_BEFORE;
	}
	return false;
}

uint64_t tide__after_initial(const tide_model *m, uint64_t cut)
{
	while (cut < m->moves.n && tide__is_initial(m, (size_t)cut))
		cut++;
	return cut;
}
