// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Fewer allocations, the same peaks: for pictures of memory of recordings that are too large to be
 * sent.
 *
 * [from, to) is divided into `px` stretches (as in curve.h; what is before and after are two more).
 * Of each stretch the first highest moment of every device, and of all together, is a cut; so are
 * the highest moment of the whole recording and its end. An allocation that is made and freed
 * between two neighbouring cuts, and held by no stream after that, is left out: no cut sees it.
 * What is left is a true recording of its own: at every cut live bytes, and what they are, are
 * exactly those of the whole; at any other moment they are no more. So the highest moment of every
 * stretch is exact, by whatever allocations are grouped. */
#ifndef TIDE_ANALYZE_MEMORY_DOWNSAMPLE_ALLOCS_H
#define TIDE_ANALYZE_MEMORY_DOWNSAMPLE_ALLOCS_H

#include "analyze/memory/phases.h"

typedef struct tide_downsampled_allocs {
	uint8_t *drop;	/* owned; per alloc: left out */
	uint64_t *cuts; /* owned; numbers of moves, rising */
	size_t n_cuts;
	uint64_t kept; /* allocations */
	uint32_t px;   /* stretches that were made: fewer than asked for when more than `most` were
			  kept */
} tide_downsampled_allocs;

/* 0 <= from < to, px >= 1; `at` is one more moment to be exact at (all moves up to it), -1 = none.
 * With half as many stretches again and again until at most `most` allocations are kept, or there
 * is one stretch. O(moves × log px). TIDE_OK or TIDE_ENOMEM. */
tide_code tide__downsample_allocs(const tide_model *m, int64_t from, int64_t to, uint32_t px,
				  int64_t at, uint64_t most, tide_downsampled_allocs *out,
				  tide_error *err);
/* The same with the highest moments of every scope in the first phases as cuts: out->px is how many
 * phases. */
tide_code tide__downsample_phases(const tide_model *m, const tide_phases *p, uint64_t most,
				  tide_downsampled_allocs *out, tide_error *err);
void tide__downsampled_allocs_free(tide_downsampled_allocs *t); /* a zeroed one is fine */

#endif
