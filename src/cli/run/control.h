// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Controls a recording in another process, through its ring file (format/rings.h). */
#ifndef TIDE_CLI_RUN_CONTROL_H
#define TIDE_CLI_RUN_CONTROL_H

#include <stdint.h>
#include <sys/types.h>

#include <tidemark/error.h>

/* Sends `command` (TIDE_CONTROL_*; text: of a mark) to the recording of process `pid` and waits
 * for its answer while the process runs, up to 10 seconds. Returns TIDE_ENOTFOUND if it records
 * nothing, TIDE_EBUSY if it does not answer: it ended, is stopped, or its recording ended. */
tide_code tide__control_send(pid_t pid, uint64_t command, const char *text, tide_error *err);

#endif
