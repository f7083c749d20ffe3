// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What each span did to memory itself: bytes of the allocations whose innermost span it is, bytes
 * of the frees that were done in it. Of what is nested in it, its children tell
 * (docs/analyses/ops.md). */
#ifndef TIDE_ANALYZE_SPANMEM_H
#define TIDE_ANALYZE_SPANMEM_H

#include "model/model.h"

typedef struct tide_span_memory {
	uint64_t *allocated, *freed; /* owned; per span; row 0: what belongs to none */
} tide_span_memory;

/* O(moves) time, 16 bytes a span. False on exhaustion. */
bool tide__span_memory(const tide_model *m, tide_span_memory *out);
void tide__span_memory_free(tide_span_memory *s); /* accepts a zeroed one */

#endif
