// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Two jobs compared: trace by trace, paired by the rank in their names. */
#ifndef TIDE_CLI_JOB_DIFF_RANKS_H
#define TIDE_CLI_JOB_DIFF_RANKS_H

#include "analyze/compare/diff.h"
#include "cli/diff_checks.h"
#include "cli/job/ranks.h"

/* Have all files of both sides a rank in their names, none twice on a side? Then they can be paired. */
bool tide__diff_pairs(const tide_rank_files f[2]);

typedef struct tide_diff_ranks {
	bool json, no_lines;
	size_t top;	    /* ranks to show in text, 0 = all */
	const char *device; /* NULL = the highest peak of each trace */
} tide_diff_ranks;

/* The figures of every rank that both have: text with the worst first (whose time grew most, then whose
 * peak did), JSON in order of rank. `c` is checked for each of them. Exit status. */
int tide__diff_ranks_run(const tide_args *a, const tide_rank_files f[2], const tide_diff_ranks *o,
			 tide_diff_checks *c);

/* The same figures for a page. */
typedef struct tide_diff_rank {
	int64_t rank;
	const char *path[2]; /* borrowed from f */
	uint64_t metric[TIDE_N_METRICS][2];
	bool known[TIDE_N_METRICS][2];
	size_t crossed, undecided; /* of the checks */
} tide_diff_rank;
typedef struct tide_diff_rows {
	tide_diff_rank *v; /* owned: tide__free; the worst first */
	size_t n, failed;  /* pairs that could not be read, which was told */
	size_t alone[2];   /* ranks that only A, only B has */
} tide_diff_rows;
/* Exit status; n = 0 and 0 where no rank is in both. */
int tide__diff_ranks_rows(const tide_args *a, const tide_rank_files f[2], tide_diff_rows *out);

#endif
