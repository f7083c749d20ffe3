// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What there is to be taken of the process's own: its address space may be limited (ulimit -v), its
 * memory by the group it runs in. The program needs what is left: the recorder takes a small share
 * of it, never the last. Called in slow sections. */
#ifndef TIDE_RUNTIME_LIMITS_H
#define TIDE_RUNTIME_LIMITS_H

#include <stdint.h>

/* At most this much more address space may be taken at a time: a 64th of what is left, which is
 * less than the stack of the thread it is for takes as long as there is less than 512 MiB. So many
 * threads may be given such a share each, and they use up what is left in stacks, not in rings.
 * UINT64_MAX: it is not limited. */
uint64_t tide__limit_share(void);

/* Bytes of memory that the groups of the process allow; UINT64_MAX: any, or it is not known. */
uint64_t tide__limit_memory(void);

#endif
