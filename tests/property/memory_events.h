// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* For tests that generate recordings of allocators: random numbers, and the order of events. */
#ifndef TIDE_TESTS_MEMORY_EVENTS_H
#define TIDE_TESTS_MEMORY_EVENTS_H

#include "model/model.h"
#include "testing.h"

static inline uint64_t one_of(uint64_t *rng, uint64_t n)
{
	*rng ^= *rng << 13, *rng ^= *rng >> 7, *rng ^= *rng << 17;
	return (*rng >> 11) % n;
}

static inline void push_event(tide_model *m, uint8_t kind, uint32_t row)
{
	size_t i;
	assert_true(tide__table_push(&m->memory_events, &tide_memory_events_desc, &i));
	m->memory_events.kind[i] = kind;
	m->memory_events.row[i] = row;
}

#endif
