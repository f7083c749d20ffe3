// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* For tests that make recordings of allocators up: chance, and the order of what happened. */
#ifndef TIDE_TESTS_MOVES_H
#define TIDE_TESTS_MOVES_H

#include "model/model.h"
#include "testing.h"

static inline uint64_t one_of(uint64_t *rng, uint64_t n)
{
	*rng ^= *rng << 13, *rng ^= *rng >> 7, *rng ^= *rng << 17;
	return (*rng >> 11) % n;
}

static inline void push_move(tide_model *m, uint8_t kind, uint32_t row)
{
	size_t i;
	assert_true(tide__table_push(&m->moves, &tide_moves_desc, &i));
	m->moves.kind[i] = kind;
	m->moves.row[i] = row;
}

#endif
