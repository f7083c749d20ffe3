// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Native stacks as ids of the recorder.
 *
 * A stack is identified by the 64-bit hash of its return addresses in one table per process; the
 * recorder, which takes a lock, is called once per distinct stack. A native frame is recorded as
 * function "0xOFFSET" of file MODULE: names and lines are added after the run (symbolisation).
 *
 * Under Python the native frames end at the interpreter's loop and continue with the Python frames
 * of the thread, if libtidemark-torch is loaded and has found where they are. */
#ifndef TIDE_CAPTURE_HEAP_STACKS_H
#define TIDE_CAPTURE_HEAP_STACKS_H

#include <tidemark/record.h>

#include "capture/heap/unwind.h"

/* Does what would be too late at the first stack: a seccomp filter may forbid its system calls then,
 * and dlsym cannot be called inside free. */
void tide__heap_stacks_start(void);

/* Returns the id of the stack that starts at `w`; 0 if it is not available. */
tide_stack tide__heap_stack_walk(tide_walk w, const tide_stack_bounds *b, tide_walks *known);

/* Call in a forked child, before its first stack. */
void tide__heap_stacks_forked(void);
/* Call after code was unmapped: addresses may have a different meaning from now on. */
void tide__heap_stacks_forget(void);

#endif
