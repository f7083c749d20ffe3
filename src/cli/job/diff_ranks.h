// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Compares two jobs trace by trace, paired by the rank in their names. */
#ifndef TIDE_CLI_JOB_DIFF_RANKS_H
#define TIDE_CLI_JOB_DIFF_RANKS_H

#include "analyze/compare/rank_diff.h"
#include "cli/job/diff_checks.h"
#include "cli/job/ranks.h"

/* Returns true if all files of both sides have a rank in their names, unique on each side. */
bool tide__diff_pairs(const tide_rank_files f[2]);

typedef struct tide_diff_ranks {
	bool json, no_lines;
	size_t top;	    /* ranks to show in text, 0 = all */
	const char *device; /* NULL = the highest peak of each trace */
} tide_diff_ranks;

/* Compares every rank that both have: text with the worst first (largest growth of time, then of
 * peak), JSON in rank order. Checks `c` for each of them. Returns the exit status. */
int tide__diff_ranks_run(const tide_args *a, const tide_rank_files f[2], const tide_diff_ranks *o,
			 tide_diff_checks *c);

/* The same figures for a page. */
typedef struct tide_diff_rows {
	tide_rank_diff *v; /* owned: tide__free; worst first */
	size_t n, failed;  /* failed: pairs that could not be read, already reported */
	size_t alone[2];   /* ranks only in A, only in B */
} tide_diff_rows;
/* Returns the exit status; n = 0 and 0 if no rank is in both. */
int tide__diff_ranks_find(const tide_args *a, const tide_rank_files f[2], tide_diff_rows *out);

#endif
