// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Pages of several traces: ranks of one job, or two runs compared. */
#ifndef TIDE_CLI_JOB_JOB_REPORT_H
#define TIDE_CLI_JOB_JOB_REPORT_H

#include "cli/job/ranks.h"

/* One page of all ranks; `detail` = spans and allocations of the traces shown in detail, in all
 * (the first trace always is). Traces are loaded one after another; a file that cannot be read is
 * told and does not stop the rest. Exit status. */
int tide__report_ranks(const tide_args *a, const tide_rank_files *f, uint64_t detail);

/* a->files[0] and [1]: a page that compares them; but ranks of one job, unless `compare`, when
 * their ranks differ, or one is a process that the other started, and they ran at the same time. */
int tide__report_two(const tide_args *a, bool compare, uint64_t detail);

/* Two jobs: a page that compares all ranks that both have, and in full the one whose time grew most.
 * False in *two when no rank is in both, or not every file has one of its own: nothing was
 * written. Exit status. */
int tide__report_jobs(const tide_args *a, const tide_rank_files f[2], uint64_t detail, bool *two);

#endif
