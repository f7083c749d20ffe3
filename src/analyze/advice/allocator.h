// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Segments and blocks of a caching allocator at a moment, fragmentation over time, and advice.
 *
 * Definitions: docs/analyses/allocator.md. */
#ifndef TIDE_ANALYZE_ADVICE_ALLOCATOR_H
#define TIDE_ANALYZE_ADVICE_ALLOCATOR_H

#include "analyze/allocator/allocator_state.h"
#include "analyze/allocator/fragmentation.h"
#include "analyze/advice/memory_advice.h"
#include "analyze/memory/moment.h"
#include "analyze/live/usage.h"

typedef struct tide_allocator_query {
	uint32_t device;
	tide_moment at;
	size_t points;	/* points of fragmentation over time */
	size_t buckets; /* points of use over time (tide_allocator.usage) */
	bool advice;	/* replay the trace for advice */
} tide_allocator_query;

typedef struct tide_allocator {
	const tide_model *m; /* borrowed */
	uint32_t device;
	tide_moment at;
	tide_state state;
	uint64_t reserved; /* at the moment; TIDE_RESERVED_NONE = unknown */
	tide_fragmentation over;
	tide_usage usage; /* the chart's series */
	tide_memory_advices advice;
} tide_allocator;

/* `m` is borrowed until tide__allocator_free, which must be called even after a failure. */
tide_code tide__allocator_find(const tide_model *m, const tide_allocator_query *q,
			       tide_allocator *out, tide_error *err);
void tide__allocator_free(tide_allocator *x);
/* Returns reserved minus used bytes at the moment; TIDE_RESERVED_NONE = unknown. */
uint64_t tide__allocator_unused(const tide_allocator *x);

#endif
