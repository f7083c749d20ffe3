// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Pages of several traces: ranks of one job, or two runs compared. */
#ifndef TIDE_CLI_JOB_JOB_REPORT_H
#define TIDE_CLI_JOB_JOB_REPORT_H

#include "cli/job/ranks.h"

/* Writes one page of all ranks; `detail` = total of spans and allocations of the traces shown in
 * detail (the first trace always is). Traces are loaded one by one; an unreadable file is
 * reported and skipped. Returns the exit status. */
int tide__cli_write_ranks_page(const tide_args *a, const tide_rank_files *f, uint64_t detail);

/* Writes a page that compares a->files[0] and [1]. Without `compare`, writes a page of ranks of
 * one job instead if their ranks differ, or one process started the other, and they ran at the
 * same time. */
int tide__cli_write_two_page(const tide_args *a, bool compare, uint64_t detail);

/* Writes a page that compares all ranks that two jobs share, with details of the one whose time
 * grew most. Sets *two to false, and writes nothing, if no rank is in both or a file has no rank
 * of its own. Returns the exit status. */
int tide__cli_write_jobs_page(const tide_args *a, const tide_rank_files f[2], uint64_t detail,
			      bool *two);

#endif
