// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A ring slot: one event as its thread stores it. docs/formats/tide.md defines the fields of each
 * event type and the layout of rings in their file. */
#ifndef TIDEMARK_DETAIL_SLOT_H
#define TIDEMARK_DETAIL_SLOT_H

#include <stdint.h>

typedef struct tide_ring_slot { /* 32 bytes */
	uint64_t ticks;
	uint64_t addr;	/* a */
	uint64_t size;	/* b: bits 0..47 size, 48..63 stream, unless noted otherwise */
	uint32_t stack; /* c */
	uint32_t head;	/* bits 0..7 type, 8..19 pool, 20..31 depth: open ops at the event */
} tide_ring_slot;

/* The only frame of the stack of an allocation that existed before it was recorded. */
#define TIDE_BEFORE_RECORDING "(before the recording)"

#endif
