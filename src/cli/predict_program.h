// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* `predict -- PROGRAM`: run a training script without a GPU, once per size, and read what its memory
 * would be. The program runs as a child with Python's hook; this process waits. */
#ifndef TIDE_CLI_PREDICT_PROGRAM_H
#define TIDE_CLI_PREDICT_PROGRAM_H

#include "cli/cli.h"

typedef struct tide_predict_program {
	const tide_value *like, *capacity, *at, *world, *steps, *keep, *conf;
	bool json;
} tide_predict_program;

/* Are the arguments a program, not N=FILE? */
bool tide__predict_is_program(const tide_args *a);
/* Run it. `recorded` is called with N=FILE texts where several sizes ran: what `predict` does with
 * recordings. */
int tide__predict_program(const tide_args *a, const tide_predict_program *p,
			  int (*recorded)(const tide_args *a, char **files, size_t n,
					  uint64_t capacity));

#endif
