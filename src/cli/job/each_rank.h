// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* peak, memory and leaks of several traces: one row each.
 *
 * Traces are loaded, measured and freed one by one, ranks in order, then processes without a rank.
 * An unreadable one is reported on stderr and kept in the list of failures. */
#ifndef TIDE_CLI_JOB_EACH_RANK_H
#define TIDE_CLI_JOB_EACH_RANK_H

#include "cli/cli.h"

/* Returns true for more than one trace: several arguments, a folder with traces, or a pattern
 * that is not a file. */
bool tide__cli_many(const tide_args *a);

/* Prints the command's rows. `device` may be NULL: the one with the highest peak. Returns the
 * exit status: 0, 1 if no trace could be read, 2 for a wrong argument. */
int tide__cli_run_each_rank(const tide_args *a, const tide_value *device);

/* Sorts files in display order: by rank, those without one last. */
struct tide_rank_files;
void tide__ranks_sort(struct tide_rank_files *f);

#endif
