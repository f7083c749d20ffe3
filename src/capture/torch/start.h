// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* When and where a process started by `tidemark run` records.
 *
 *   TIDEMARK_RECORD      the file; unset = nothing is recorded automatically
 *   TIDEMARK_RECORD_PID  the process that owns the file; programs that it starts, or becomes by
 *                        exec, record into NAME.PID.tide
 *   TIDEMARK_RUN         the run: its start (ns of Unix time), a dot, its process
 *
 * Recording starts with the first event: an op, an allocation, or an op or mark of the program
 * itself (python/native/recorder.c), so that only processes with events create files. */
#ifndef TIDE_CAPTURE_TORCH_START_H
#define TIDE_CAPTURE_TORCH_START_H

#include <stdatomic.h>
#include <stdbool.h>

#include <tidemark/error.h>

enum { TIDE_TORCH_DECIDED = 2 };
extern _Atomic int tide__torch_state __attribute__((visibility("hidden")));
bool tide__torch_decide(void);
/* Stops the hooks from recording, or resumes: detached. Has no effect in a process with
 * TIDEMARK_RECORD. */
void tide__torch_pause(bool rest);

/* Returns true if there is a recording or one can be started now. Once that is decided, events
 * are always stored: without a recording they cost a few ns and are harmless. */
static inline bool tide__torch_recording(void)
{
	return __builtin_expect(atomic_load_explicit(&tide__torch_state, memory_order_acquire) ==
					TIDE_TORCH_DECIDED,
				1) ||
	       tide__torch_decide();
}

/* For ops and for the Python package: starts recording now, if that was not decided yet. */
TIDE_API void tide_torch_begin(void);

#endif
