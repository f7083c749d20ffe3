// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Leaks: the groups of allocations that hold more memory after every step.
 *
 * y(s) is the live bytes of a group when step s has ended, s = 1 .. n. Its slope is that of the
 * least-squares line through the points (s, y(s)), as an exact fraction:
 *
 *     slope = (n Σ s·y - Σ s Σ y) / (n Σ s² - (Σ s)²)   bytes per step
 *
 * A group is growing if its slope is positive, y(1) < y(h) < y(n) with h = (n + 1) / 2, and y rose
 * more often than it fell; steady if it also never fell. Memory kept by step 1 is in y(1) already,
 * so weights and optimizer state created in the first step are not leaks. Needs 3 steps. If equal
 * intervals replace steps (every_ns), y(s) is the minimum over interval s, because a single moment
 * may fall anywhere in the program's own cycle. */
#ifndef TIDE_ANALYZE_MEMORY_LEAKS_H
#define TIDE_ANALYZE_MEMORY_LEAKS_H

#include "base/wide.h"
#include "analyze/common/step_boundaries.h"
#include "analyze/memory/groups.h"

typedef struct tide_leak {
	uint64_t key;			  /* of the grouping */
	uint64_t first, middle, last;	  /* y(1), y(h), y(n) */
	uint64_t first_count, last_count; /* allocations alive then */
	tide_i128 slope_num;		  /* over tide_leaks.slope_den */
	double slope;			  /* bytes per step */
	uint32_t up, down;		  /* steps after which y was higher, lower than before */
	uint32_t alloc; /* one alive after the last step, for its stack; 0 = none */
	bool growing, steady;
} tide_leak;

typedef struct tide_leaks {
	tide_step_boundaries steps;
	tide_leak *v; /* owned; growing groups only, steepest first */
	size_t n;
	tide_leak total; /* the whole device */
	tide_i128 slope_den;
	tide_groups groups; /* resolves the keys to names */
	bool known;	    /* at least 3 steps */
} tide_leaks;

/* `every_ns` as in step_boundaries.h. Release with tide__leaks_free in any case. */
tide_code tide__find_leaks(const tide_model *m, uint32_t device, tide_group_by by, int64_t every_ns,
			   tide_leaks *out, tide_error *err);
void tide__leaks_free(tide_leaks *l);

/* Writes y(1) .. y(n) of one key into out[n]. O(events). */
tide_code tide__leaks_find_series(const tide_model *m, uint32_t device, tide_leaks *l, uint64_t key,
				  uint64_t *out, tide_error *err);

#endif
