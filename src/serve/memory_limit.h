// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* How much memory there is to be had: so that a recording that does not fit is refused, or read in
 * part, instead of the kernel ending the server. */
#ifndef TIDE_SERVE_MEMORY_LIMIT_H
#define TIDE_SERVE_MEMORY_LIMIT_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that this process may still take: what the machine has free or can free, and no more than
 * what its control group allows (cgroup v2). UINT64_MAX when that cannot be told. */
uint64_t tide__room(void);
/* For tide__mem_ask: does it fit, with some left over? */
int tide__room_for(size_t bytes, int grows);

#endif
