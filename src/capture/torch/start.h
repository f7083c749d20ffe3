// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* When and where a process that was started by `tidemark run` records.
 *
 *   TIDEMARK_RECORD      the file; unset = nothing is recorded by itself
 *   TIDEMARK_RECORD_PID  the process whose file it is; programs that it starts, or that it replaces
 *                        itself by (exec), record into NAME.PID.tide
 *   TIDEMARK_RUN         the run: when it began (ns of Unix time), a point, its process
 *
 * Recording starts with the first event, so that only processes that use PyTorch make files. */
#ifndef TIDE_CAPTURE_TORCH_START_H
#define TIDE_CAPTURE_TORCH_START_H

#include <stdbool.h>

#include <tidemark/error.h>

/* Is there a recording, or can one be started now? A load and a branch after the first call. */
bool tide__torch_recording(void);

/* For the Python package: start it now, where it was not decided yet. */
TIDE_API void tide_torch_begin(void);

#endif
