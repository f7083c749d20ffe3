// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds which recordings in a folder belong to one run.
 *
 * A process's children, and ranks that share one name, record into NAME.PID.tide beside NAME.tide;
 * the next run of that name replaces NAME.tide and leaves the others. So a family is NAME.tide and
 * the NAME.PID.tide (NAME.PID.2.tide) that process PID made. Only members of the latest run count:
 * those with equal facts process.run (`tidemark run`), else recording.first (forked, or started
 * while the other was recorded), else, for recordings without either fact, those that began within
 * 10 seconds. */
#ifndef TIDE_CLI_JOB_RUN_GROUP_H
#define TIDE_CLI_JOB_RUN_GROUP_H

#include "cli/job/ranks.h"

/* Removes recordings of earlier runs from the (sorted) list, with one line per family on stderr.
 * Files given by the user stay, and the line mentions it. Returns false if memory runs out. */
bool tide__find_families(tide_rank_files *f);

#endif
