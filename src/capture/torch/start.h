// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* When and where a process that was started by `tidemark run` records.
 *
 *   TIDEMARK_RECORD      the file; unset = nothing is recorded by itself
 *   TIDEMARK_RECORD_PID  the process whose file it is; programs that it starts, or that it replaces
 *                        itself by (exec), record into NAME.PID.tide
 *   TIDEMARK_RUN         the run: when it began (ns of Unix time), a point, its process
 *
 * Recording starts with the first event, an op, an allocation, or an op or a moment of the
 * program's own (python/native/recorder.c), so that only processes that have one make files. */
#ifndef TIDE_CAPTURE_TORCH_START_H
#define TIDE_CAPTURE_TORCH_START_H

#include <stdatomic.h>
#include <stdbool.h>

#include <tidemark/error.h>

enum { TIDE_TORCH_DECIDED = 2 };
extern _Atomic int tide__torch_state __attribute__((visibility("hidden")));
bool tide__torch_decide(void);
/* The hooks are not to record from now on, or again: detached. Not so in a process that was told
 * where to record. */
void tide__torch_rest(bool rest);

/* Is there a recording, or can one be started now? Once that is decided events are stored: without
 * a recording they cost a few ns and are harmless. */
static inline bool tide__torch_recording(void)
{
	return __builtin_expect(atomic_load_explicit(&tide__torch_state, memory_order_acquire) ==
					TIDE_TORCH_DECIDED,
				1) ||
	       tide__torch_decide();
}

/* For ops and for the Python package: start it now, where it was not decided yet. */
TIDE_API void tide_torch_begin(void);

#endif
