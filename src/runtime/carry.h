// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The live blocks, kept by the writer thread of a recording that is limited in size (rotate.c).
 *
 * Every slot that goes into the file passes here first. An allocation is kept until its free, with its
 * label; so are segments, device memory, the last state of each pool and the last text of each
 * annotation. When a new file begins, it begins with these. Memory: 32 bytes a live block and more for
 * its label, mapped; nothing is allocated otherwise. Used by the writer thread only. */
#ifndef TIDE_RUNTIME_CARRY_H
#define TIDE_RUNTIME_CARRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tidemark/detail/slot.h>

/* Forget everything: a recording starts. */
void tide__carry_reset(void);
/* Slots [from, to) of a ring go into the file. `several`: other rings may hold earlier events, but none
 * from before `since`. */
void tide__carry_follow(const tide_ring_slot *slots, uint64_t mask, uint64_t from, uint64_t to,
			bool several, uint64_t since);
/* Everything that is kept as slots in order of time; *n of them. Frees whose allocation another ring
 * may still hold come with it, unless they are older than `since`. Valid until the next call of any
 * function here. NULL with *n 0 if there is nothing, or no memory (then *lost counts it). */
const tide_ring_slot *tide__carry_all(uint64_t since, size_t *n, uint64_t *lost);

#endif
