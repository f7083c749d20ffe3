// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Traces spread over processes. Process 0 runs the command as always; when it comes to the files it
 * sends the work (options and list of files) to all, every process does its share, and process 0
 * takes the results in the list's order: its output is byte for byte that of a single process.
 *
 * The transport is three functions, so that nothing here knows MPI (mpi_main.c does). */
#ifndef TIDE_CLI_JOB_DISTRIBUTE_H
#define TIDE_CLI_JOB_DISTRIBUTE_H

#include "cli/job/ranks.h"

typedef struct tide_distribute {
	int me, n;
	void (*share)(void *p, size_t n);	      /* from process 0 to all, same n everywhere */
	void (*send)(const void *p, size_t n);	      /* to process 0 */
	void (*receive)(int from, void *p, size_t n); /* in process 0, same n as sent */
} tide_distribute;

/* Set by tidemark-mpi before anything else; NULL in tidemark. */
extern const tide_distribute *tide__distribute;

/* Process 0: spread the files, collect the results into the job. */
tide_code tide__distribute_run(const tide_rank_files *f, const tide_ranks_work *w,
			       tide_hta_job *job, tide_error *err);
/* Process 0, at the end: let the others go if there was nothing for them. */
void tide__distribute_end(void);
/* Other processes: wait for work, do it, send it. */
void tide__distribute_worker(void);

/* Who does which file: owner[i] for each file, largest first to the one with least to do so far. */
bool tide__distribute_assign(const uint64_t *size, size_t n, int processes, int *owner);

/* Add one outcome to the job: a result (taken over) or a failure, told on stderr. */
tide_code tide__ranks_take(tide_hta_job *job, const char *path, tide_code rc, tide_hta *h,
			   const tide_error *why, tide_error *err);

#endif
