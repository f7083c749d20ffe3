// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* How much memory there is: so that what does not fit is refused, or read in part, instead of the kernel
 * ending the program. */
#ifndef TIDE_BASE_MEMORY_LIMIT_H
#define TIDE_BASE_MEMORY_LIMIT_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that this process may still take: what the machine has free or can free, and no more than what its
 * control group and those above it allow (cgroup v2; v1 where that is what there is). UINT64_MAX when that
 * cannot be told. */
uint64_t tide__memory_limit(void);
/* The share of it that a command takes unless it is told otherwise: 80 %. */
uint64_t tide__memory_limit_share(void);
/* For tide__mem_ask: does it fit, with some left over? */
int tide__memory_limit_for(size_t bytes, int grows);

#endif
