// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* An out-of-memory event of a pool that consists of equal banks (Tenstorrent): a buffer needs the
 * same number of contiguous bytes in each bank. docs/analyses/oom.md defines the figures. */
#ifndef TIDE_ANALYZE_ALLOCATOR_OOM_BANKS_H
#define TIDE_ANALYZE_ALLOCATOR_OOM_BANKS_H

#include "model/model.h"

#define TIDE_BANK_UNKNOWN UINT64_MAX

typedef struct tide_oom_banks { /* bytes of one bank; TIDE_BANK_UNKNOWN */
	uint32_t n;		/* banks that the request is spread over; 0 = not such a pool */
	uint64_t need;		/* for the request */
	uint64_t size, allocated, free, largest;
	bool exact; /* the event's own figures; else those of the last state before it */
} tide_oom_banks;

/* Reads the figures in the event's text; those it lacks come from the pool's last state before it.
 * O(log states). */
void tide__oom_banks_find(const tide_model *m, uint32_t mark, tide_oom_banks *out);

#endif
