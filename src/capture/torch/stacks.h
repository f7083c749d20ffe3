// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Python call stacks as ids of the recorder: read where an op starts, worked out only where they
 * differ from the thread's last one.
 *
 * Each thread keeps its last stack and a table (stack, code, instruction) -> longer stack; the
 * recorder, which takes a lock, is asked once per thread and place. No lock of ours, no GIL. */
#ifndef TIDE_CAPTURE_TORCH_STACKS_H
#define TIDE_CAPTURE_TORCH_STACKS_H

#include <tidemark/record.h>

/** The calling thread's stack for an op that starts now and is known by `op` while it is open. 0:
 * it has none, or the same as the op around it, or this one is left out by sampling. */
TIDE_API tide_stack tide_torch_stack(const void *op);
/** The calling thread's stack as it is now; 0: it has none. For the heap's hook, which finds it by name. */
TIDE_API tide_stack tide_torch_stack_now(void);
/** It has ended, on this thread. */
TIDE_API void tide_torch_stack_end(const void *op);
/** Only every n-th op that is not inside another gets its stack; 1 = all. */
TIDE_API void tide_torch_stack_every(unsigned n);

#endif
