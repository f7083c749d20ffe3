// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Limits of the process: its address space (ulimit -v) and the memory of its control groups. The
 * recorder takes a small share of the remaining memory, because the program needs the rest. Called
 * in slow sections. */
#ifndef TIDE_RUNTIME_LIMITS_H
#define TIDE_RUNTIME_LIMITS_H

#include <stdint.h>

/* Returns the address space that one request may take: 1/64 of the rest. Below 512 MiB
 * that is less than a thread's stack, so many threads with a share each exhaust the space with
 * stacks, not with rings. UINT64_MAX: unlimited. */
uint64_t tide__limit_share(void);

/* Returns the bytes that a file may have (ulimit -f); UINT64_MAX: unlimited. */
uint64_t tide__limit_file(void);

/* Returns the bytes of memory that the process's control groups allow; UINT64_MAX: unlimited or
 * unknown. */
uint64_t tide__limit_memory(void);

#endif
