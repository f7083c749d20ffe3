// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The memory limit of this process: an input that does not fit is refused or read in part instead
 * of the kernel killing the program. */
#ifndef TIDE_BASE_MEMORY_LIMIT_H
#define TIDE_BASE_MEMORY_LIMIT_H

#include <stddef.h>
#include <stdint.h>

/* Returns the bytes this process may still allocate: the memory that the machine has free or can
 * reclaim, limited by its control groups (cgroup v2, else v1) and by RLIMIT_AS. UINT64_MAX if
 * unknown. */
uint64_t tide__memory_limit(void);
/* Returns a command's default share of that: 80 %. */
uint64_t tide__memory_limit_share(void);
/* Callback for tide__mem_ask: returns non-zero if the bytes fit with a reserve left over. */
int tide__memory_limit_for(size_t bytes, int grows);

#endif
