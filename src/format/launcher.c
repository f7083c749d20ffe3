// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* See launcher.h. */
#include "format/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Innermost launcher first: a job of Slurm may start mpirun, and that torchrun. */
static const char *const variables[][6] = {
	[TIDE_JOB_RANK] = { "RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
			    "SLURM_PROCID" },
	[TIDE_JOB_LOCAL_RANK] = { "LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
				  "SLURM_LOCALID" },
	[TIDE_JOB_WORLD_SIZE] = { "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
				  "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS" },
};

const char *tide__job_number(tide_job_number what, long *value)
{
	for (const char *const *name = variables[what]; *name; name++) {
		const char *text = getenv(*name);
		size_t digits = text ? strspn(text, "0123456789") : 0;
		if (!digits || digits > 9 || text[digits])
			continue;
		*value = strtol(text, NULL, 10);
		return *name;
	}
	return NULL;
}

void tide__job_place(char *out, size_t n)
{
	long rank;
	const char *name = tide__job_number(TIDE_JOB_RANK, &rank), *step = getenv("SLURM_STEP_ID");
	bool slurm = name && !strcmp(name, "SLURM_PROCID") && step;
	if (name) /* a script of sbatch has a SLURM_PROCID too; ranks are in a step */
		snprintf(out, n, "%s=%ld%s%s", name, rank, slurm ? " of step " : "",
			 slurm ? step : "");
	else if (n)
		*out = 0;
}
