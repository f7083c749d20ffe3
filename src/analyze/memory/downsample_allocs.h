// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reduces the number of allocations while keeping the peaks, for memory charts of recordings that
 * are too large to be sent.
 *
 * [from, to) is divided into `px` intervals (as in curve.h; the time before and after are two
 * more). In each interval the first highest position of every device, and of all together, is kept;
 * so are the highest position of the whole recording and its end. An allocation that is made and
 * freed between two neighbouring kept positions, with no stream using it after that, is dropped: no
 * kept position sees it. The rest is itself a valid recording: at every kept position its live
 * bytes, and the allocations they consist of, equal those of the whole; elsewhere they are not
 * higher. So the maximum of every interval is exact under any grouping. */
#ifndef TIDE_ANALYZE_MEMORY_DOWNSAMPLE_ALLOCS_H
#define TIDE_ANALYZE_MEMORY_DOWNSAMPLE_ALLOCS_H

#include "analyze/memory/phases.h"

typedef struct tide_downsampled_allocs {
	uint8_t *drop;	     /* owned; per alloc: 1 = dropped */
	uint64_t *positions; /* owned; kept positions (numbers of memory events), ascending */
	size_t n_positions;
	uint64_t kept; /* allocations */
	uint32_t px;   /* intervals used: fewer than requested if more than `most` allocations
		        * were kept */
} tide_downsampled_allocs;

/* 0 <= from < to, px >= 1; `at` is one more exact position (all memory events up to it), -1 =
 * none. Halves the number of intervals until at most `most` allocations are kept, or one
 * interval is left. O(events × log px). Returns TIDE_OK or TIDE_ENOMEM. */
tide_code tide__downsample_allocs(const tide_model *m, int64_t from, int64_t to, uint32_t px,
				  int64_t at, uint64_t most, tide_downsampled_allocs *out,
				  tide_error *err);
/* The same with the highest positions of every scope in the first phases; out->px is the number
 * of phases. */
tide_code tide__downsample_phases(const tide_model *m, const tide_phases *p, uint64_t most,
				  tide_downsampled_allocs *out, tide_error *err);
void tide__downsampled_allocs_free(tide_downsampled_allocs *t); /* accepts a zeroed one */

#endif
