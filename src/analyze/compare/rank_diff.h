// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Two jobs compared rank by rank: the figures of each pair, the worst first.
 *
 * The models of a pair are freed before the next pair is read; a rank keeps its figures. */
#ifndef TIDE_ANALYZE_COMPARE_RANK_DIFF_H
#define TIDE_ANALYZE_COMPARE_RANK_DIFF_H

#include "analyze/compare/checks.h"
#include "analyze/compare/diff.h"

typedef struct tide_rank_diff {
	int64_t rank;
	const char *path[2]; /* borrowed: the traces in A and B */
	uint64_t metric[TIDE_N_METRICS][2];
	bool known[TIDE_N_METRICS][2];
	size_t crossed, undecided; /* of the checks */
} tide_rank_diff;

/* Keeps the figures of one pair, and the results of its checks `c`. */
void tide__rank_diff_set(tide_rank_diff *out, int64_t rank, const char *const path[2],
			 const tide_diff *d, const tide_diff_checks *c);
/* Returns true if both traces have the figure; *change is then B - A, else 0. */
bool tide__rank_diff_change(const tide_rank_diff *r, tide_metric k, int64_t *change);
/* Sorts by growth of time, then of the peak, the largest first; equal ones by rank. */
void tide__rank_diff_sort(tide_rank_diff *v, size_t n);

#endif
