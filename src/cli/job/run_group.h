// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Which recordings beside each other are of one run.
 *
 * A process's children, and ranks that were all told one name, record into NAME.PID.tide beside NAME.tide;
 * the next run of that name replaces NAME.tide and leaves those there. So of a folder's recordings a
 * family is NAME.tide and the NAME.PID.tide (NAME.PID.2.tide) that the process PID made; of its members those
 * count that are of the run of the latest one, which facts of theirs tell: process.run (`tidemark run`),
 * else recording.first (forked, or started while the other was recorded), else, of recordings that
 * tell neither, that they began within ten seconds. */
#ifndef TIDE_CLI_JOB_RUN_GROUP_H
#define TIDE_CLI_JOB_RUN_GROUP_H

#include "cli/job/ranks.h"

/* Leave out of the (sorted) list what is of an earlier run; one line on stderr for each family says
 * what. What the user named itself stays, and the line says so. False: out of memory. */
bool tide__find_families(tide_rank_files *f);

#endif
