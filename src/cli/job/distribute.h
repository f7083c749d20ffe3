// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Distributes traces over processes. Process 0 runs the command as usual; when it needs the files,
 * it sends the work (options and list of files) to all processes, each does its share, and process
 * 0 takes the results in list order: its output equals that of a single process byte for byte. The
 * files of a process that is lost are named as unreadable (mpirun --enable-recovery; without it
 * mpirun ends the job).
 *
 * The transport is three functions, so that nothing here depends on MPI (mpi_main.c does). */
#ifndef TIDE_CLI_JOB_DISTRIBUTE_H
#define TIDE_CLI_JOB_DISTRIBUTE_H

#include "cli/job/ranks.h"

typedef struct tide_distribute {
	int me, n;
	void (*share)(void *p, size_t n); /* from process 0 to all, same n everywhere */
	/* To process 0. The bytes stay valid until sent() has returned, which waits for all. */
	void (*send)(const void *p, size_t n);
	void (*sent)(void);
	/* In process 0, same n as sent. Returns false if that process gave no sign of life for the
	 * time of tide__patience_s (patience.h). */
	bool (*receive)(int from, void *p, size_t n);
	void (*tick)(void); /* in other processes, about once a second: a sign of life */
} tide_distribute;

/* Set by tidemark-mpi at its start; NULL in tidemark. */
extern const tide_distribute *tide__distribute;

/* Process 0: distributes the files and collects the results into the job. */
tide_code tide__distribute_run(const tide_rank_files *f, const tide_ranks_work *w,
			       tide_hta_job *job, tide_error *err);
/* Process 0, at the end: releases the others if there was no work. */
void tide__distribute_end(void);
/* Other processes: wait for work, do it, send the result. */
void tide__distribute_worker(void);

/* Assigns files to processes: owner[i] for each file, largest first, to the process with the
 * least work so far. */
bool tide__distribute_assign(const uint64_t *size, size_t n, int processes, int *owner);

/* Adds one outcome to the job: a result (ownership is taken) or a failure, reported on stderr. */
tide_code tide__ranks_take(tide_hta_job *job, const char *path, tide_code rc, tide_hta *h,
			   const tide_error *why, tide_error *err);

#endif
