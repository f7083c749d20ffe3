// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* peak, memory, leaks and info of several traces: a row for each.
 *
 * Traces are loaded, measured and freed one after another, ranks in order, then processes without a
 * rank. One that cannot be read is told on stderr and kept in the list of failures. */
#ifndef TIDE_CLI_JOB_EACH_RANK_H
#define TIDE_CLI_JOB_EACH_RANK_H

#include "cli/cli.h"

/* Is there more than one trace: several arguments, a folder with traces in it, or a pattern that is
 * no file? */
bool tide__cli_many(const tide_args *a);

/* Rows of the command's own name. `device` may be NULL: the one with the highest peak. Exit status: 0,
 * 1 when no trace could be read, 2 for a wrong argument. */
int tide__cli_each_rank(const tide_args *a, const tide_value *device, bool json);

/* Files in the order in which a job is shown: by rank, those without one last. */
struct tide_rank_files;
void tide__ranks_in_order(struct tide_rank_files *f);

#endif
