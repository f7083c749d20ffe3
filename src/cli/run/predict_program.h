// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* `predict -- PROGRAM`: runs a training script without a GPU, once per size, and predicts its
 * memory. The program runs as a child with Python's hook; this process waits. */
#ifndef TIDE_CLI_RUN_PREDICT_PROGRAM_H
#define TIDE_CLI_RUN_PREDICT_PROGRAM_H

#include "cli/cli.h"

typedef struct tide_predict_program {
	const tide_value *like, *capacity, *at, *world, *steps, *limit, *keep, *conf, *plan;
	bool json;
} tide_predict_program;

/* Returns true if the arguments are a program, not N=FILE. */
bool tide__predict_is_program(const tide_args *a);
/* Runs it. If several sizes ran, `recorded` is called with N=FILE texts, to predict from
 * recordings. */
int tide__predict_program_run(const tide_args *a, const tide_predict_program *p,
			      int (*recorded)(const tide_args *a, char **files, size_t n,
					      uint64_t capacity));

#endif
