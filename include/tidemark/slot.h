// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A slot of a ring: an event as its thread stores it. What the fields hold for which type of event,
 * and how rings lie in their file, is in docs/formats/tide.md. */
#ifndef TIDEMARK_SLOT_H
#define TIDEMARK_SLOT_H

#include <stdint.h>

typedef struct tide_ring_slot { /* 32 bytes */
	uint64_t ticks;
	uint64_t addr;	/* a */
	uint64_t size;	/* b: bits 0..47 size, 48..63 stream, unless said otherwise */
	uint32_t stack; /* c */
	uint32_t head;	/* bits 0..7 type, 8..19 pool, 20..31 depth: ops open when it happened */
} tide_ring_slot;

#endif
