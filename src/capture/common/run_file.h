// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The file that a process started by `tidemark run` records into (torch/start.h lists the
 * variables). Allocates nothing. */
#ifndef TIDE_CAPTURE_COMMON_RUN_FILE_H
#define TIDE_CAPTURE_COMMON_RUN_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes NAME.tide for the process that was run, NAME.PID.tide for programs that it starts or
 * becomes by exec. Returns false if nothing is to be recorded. */
bool tide__run_file(char *out, size_t n);

#endif
