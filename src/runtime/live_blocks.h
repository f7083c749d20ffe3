// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Keeps the live blocks of a recording that is limited in size (writer.c), for its next file.
 *
 * Every slot that goes into the file passes here first. An allocation is kept until its free, with
 * its label; so are segments, device memory, the last state of each pool and the last text of each
 * annotation. A new file begins with these events. Memory: 32 bytes per live block and more for its
 * label, mapped; nothing else is allocated. Used by the writer thread only. */
#ifndef TIDE_RUNTIME_LIVE_BLOCKS_H
#define TIDE_RUNTIME_LIVE_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tidemark/detail/slot.h>

/* Forgets everything, at the start of a recording. */
void tide__carry_reset(void);
/* Takes note of slots [from, to) of a ring, which go into the file. `several`: other rings may hold
 * earlier events, but none from before `since`. */
void tide__carry_follow(const tide_ring_slot *slots, uint64_t mask, uint64_t from, uint64_t to,
			bool several, uint64_t since);
/* Returns everything that is kept, as *n slots in order of time. Includes frees whose allocation
 * another ring may still hold, unless they are older than `since`. Valid until the next call of any
 * function here. NULL with *n 0 if there is nothing, or no memory (then *lost counts it). */
const tide_ring_slot *tide__carry_all(uint64_t since, size_t *n, uint64_t *lost);

#endif
