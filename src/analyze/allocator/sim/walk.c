// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Lists the blocks of a simulator. */
#include "analyze/allocator/sim/impl.h"

size_t tide__sim_count_blocks(const tide_sim *s)
{
	return s->n_blocks;
}

/* Lists the mapped blocks of one segment, from its first one on. */
static size_t list_segment(const tide_sim *s, uint32_t i, tide_sim_piece *out)
{
	size_t n = 0;
	bool begins = true;

	for (; i; i = s->blocks[i].next) {
		const block *k = &s->blocks[i];

		if (k->state != BLOCK_UNMAPPED)
			out[n++] = (tide_sim_piece){ .addr = k->addr,
						     .size = k->size,
						     .id = k->id,
						     .used = k->state != BLOCK_FREE,
						     .begins = begins,
						     .expandable = k->range != 0 };
		begins = k->state == BLOCK_UNMAPPED;
	}
	return n;
}

size_t tide__sim_list_blocks(const tide_sim *s, tide_sim_piece *out)
{
	size_t n = 0;

	for (uint32_t i = 1; i < s->n_blocks; i++)
		if (s->blocks[i].state != BLOCK_SPARE && !s->blocks[i].prev)
			n += list_segment(s, i, out + n);
	return n;
}
