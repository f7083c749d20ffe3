// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Talking to a recording in another process, through its ring file (format/rings.h). */
#ifndef TIDE_CLI_CONTROL_H
#define TIDE_CLI_CONTROL_H

#include <stdint.h>
#include <sys/types.h>

#include <tidemark/error.h>

/* Ask the recording of process `pid` for `command` (TIDE_CONTROL_*; text: of a mark) and wait up to a
 * second for its answer. TIDE_ENOTFOUND: it records nothing; TIDE_EBUSY: it does not answer. */
tide_code tide__control_send(pid_t pid, uint64_t command, const char *text, tide_error *err);

#endif
