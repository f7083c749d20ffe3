// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Place of this process in a distributed job, from the environment variables that launchers set:
 * torchrun, Open MPI, MPICH and Intel MPI, PMIx, Slurm. Reads the environment, allocates nothing:
 * the recorder calls it. Any thread may call it while no thread changes the environment. */
#ifndef TIDE_FORMAT_LAUNCHER_H
#define TIDE_FORMAT_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

typedef enum tide_job_number {
	TIDE_JOB_RANK,
	TIDE_JOB_LOCAL_RANK, /* among the processes of its machine */
	TIDE_JOB_WORLD_SIZE,
} tide_job_number;

/* Gets one of these numbers. The innermost launcher counts: torchrun's variable before mpirun's
 * before Slurm's. Returns the variable's name, NULL if none holds a number from 0 to 999999999. */
const char *tide__job_number(tide_job_number what, long *value);

/* Writes which rank this process is and who says so, such as "RANK=3" or "SLURM_PROCID=0 of step 2":
 * equal for a process and for those that inherit its rank. Empty if it is no rank. */
void tide__job_place(char *out, size_t n);

#endif
