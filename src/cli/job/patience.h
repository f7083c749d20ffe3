// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Limits the wait for a file system, another machine or another process that no longer answers:
 * one trace of many that cannot be read must not hold up the rest. */
#ifndef TIDE_CLI_JOB_PATIENCE_H
#define TIDE_CLI_JOB_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#include <tidemark/error.h>

/* Returns the seconds to wait: TIDEMARK_GIVE_UP, 60 if it is not set or not a number, at most
 * 1,000,000, 0 = for ever. */
int64_t tide__patience_s(void);

/* Calls work(arg) in a thread and waits for it, calling tick() about once a second (may be NULL).
 * Returns true when it has ended. Returns false if this process used no CPU time for that many
 * seconds: the thread waits for a file that does not answer. It is left behind, so `arg` must stay
 * valid until the process ends. Also returns false if no thread can be made. err has the reason:
 * TIDE_EIO or TIDE_ENOMEM. */
bool tide__patience_run(void (*work)(void *arg), void *arg, void (*tick)(void), tide_error *err);

#endif
