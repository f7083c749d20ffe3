// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Leaks: which call stacks hold more memory after every step.
 *
 * y(s) is the live bytes of a group when step s has ended, s = 1 .. n. Its slope is that of the
 * line through the points (s, y(s)) with the least squared distance, as an exact fraction: slope =
 * (n Σ s·y - Σ s Σ y) / (n Σ s² - (Σ s)²)   bytes per step. A group is growing when its slope is
 * positive, y(1) < y(h) < y(n) with h = (n + 1) / 2, and y rose more often than it fell; steady
 * when besides it never fell. What step 1 left behind is in y(1) already, so that weights and
 * optimizer state made in the first step are no leak. Needs three steps. Where even distances stand
 * for steps (every_ns), y(s) is the least of interval s: a single moment of it may be anywhere in the
 * program's own rhythm. */
#ifndef TIDE_ANALYZE_MEMORY_LEAKS_H
#define TIDE_ANALYZE_MEMORY_LEAKS_H

#include "analyze/common/step_boundaries.h"
#include "analyze/memory/groups.h"

__extension__ typedef __int128 tide_i128;

typedef struct tide_leak {
	uint64_t key;			  /* of the grouping */
	uint64_t first, middle, last;	  /* y(1), y(h), y(n) */
	uint64_t first_count, last_count; /* allocations alive then */
	tide_i128 slope_num;		  /* over tide_leaks.slope_den */
	double slope;			  /* bytes per step */
	uint32_t up, down;		  /* steps after which y was higher, lower than before */
	uint32_t alloc; /* one that is alive after the last step, for its stack; 0 = none */
	bool growing, steady;
} tide_leak;

typedef struct tide_leaks {
	tide_step_boundaries beats;
	tide_leak *v; /* owned; growing groups only, steepest first */
	size_t n;
	tide_leak total; /* the whole device */
	tide_i128 slope_den;
	tide_groups groups; /* names the keys */
	bool known;	    /* at least three steps */
} tide_leaks;

/* `every_ns` as in step_boundaries.h. Release with tide__leaks_free in any case. */
tide_code tide__find_leaks(const tide_model *m, uint32_t device, tide_group_by by, int64_t every_ns,
			   tide_leaks *out, tide_error *err);
void tide__leaks_free(tide_leaks *l);

/* y(1) .. y(n) of one key into out[n]. O(moves). */
tide_code tide__leak_series(const tide_model *m, uint32_t device, tide_leaks *l, uint64_t key,
			    uint64_t *out, tide_error *err);

#endif
