// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Python call stacks as ids of the recorder: read where an op starts, and converted only if they
 * differ from the thread's last one.
 *
 * Each thread keeps its last stack and a table (stack, code, instruction) -> longer stack; the
 * recorder, which takes a lock, is called once per thread and place. No lock of ours, no GIL. */
#ifndef TIDE_CAPTURE_TORCH_STACKS_H
#define TIDE_CAPTURE_TORCH_STACKS_H

#include <tidemark/record.h>

/** Returns the calling thread's stack for an op that starts now and is identified by `op` while
 * open. 0: none, the same as the enclosing op's, or skipped by sampling. */
TIDE_API tide_stack tide_torch_stack(const void *op);
/** Returns the calling thread's current stack; 0: none. For the heap hook, which finds this
 * function by name. */
TIDE_API tide_stack tide_torch_stack_now(void);
/** Call when the op has ended, on this thread. */
TIDE_API void tide_torch_stack_end(const void *op);
/** Record stacks only for every n-th outermost op; 1 = all. */
TIDE_API void tide_torch_stack_every(unsigned n);

#endif
