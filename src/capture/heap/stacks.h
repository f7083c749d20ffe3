// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Native stacks as ids of the recorder.
 *
 * A stack is known by the hash of its return addresses (64 bits) in one table of the process; the
 * recorder, which takes a lock, is asked once per different stack. A native frame is recorded as
 * function "0xOFFSET" of file MODULE: names and lines come after the run (symbolisation), when
 * nobody waits.
 *
 * Under Python the native frames end at the interpreter's loop and go on with the Python frames of
 * the thread, if libtidemark-torch is loaded and has learnt where they are. */
#ifndef TIDE_CAPTURE_HEAP_STACKS_H
#define TIDE_CAPTURE_HEAP_STACKS_H

#include <tidemark/record.h>

#include "capture/heap/unwind.h"

/* The id of the stack that starts at `w`; 0 if it cannot be had. */
tide_stack tide__heap_stack(tide_walk w, const tide_stack_bounds *b, tide_walks *known);

/* Code was unmapped: addresses may mean something else from now on. */
void tide__heap_stacks_forget(void);

#endif
