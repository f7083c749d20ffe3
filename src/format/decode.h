// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Decodes the payload of an EVENTS chunk into plain events, many at a time.
 *
 * A cursor walks one payload. Delta fields are resolved and flags applied; numbers are
 * range-checked, ids are not (the caller checks whether a name exists). */
#ifndef TIDE_FORMAT_DECODE_H
#define TIDE_FORMAT_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/schema.h"

typedef struct tide_event {
	uint64_t ticks;
	uint64_t addr; /* OOM: bytes free, as int64_t (-1 = unknown) */
	uint64_t size; /* BEGIN: arg; SAMPLE: the double's bits; MARK: value; LANE: thread id;
			* DEPTH: ops open; ANNOTATE: length of the text; TENSOR, VIEW: number of
			* dimensions */
	union {
		uint64_t requested;   /* ALLOC: bytes requested, at most size; BEGIN of kind 2:
				       * stack | origin << 32 */
		const uint8_t *bytes; /* ANNOTATE: the text; TENSOR: its dimensions, as varints;
				       * VIEW: the same, then its offset, as a varint.
				       * Borrowed from the payload. */
	};
	uint32_t name;	 /* or: stack (ALLOC), counter (SAMPLE), key (ANNOTATE), lane (LANE) */
	uint16_t pool;	 /* file's pool id */
	uint16_t stream; /* TENSOR, VIEW: dtype | role << 8 */
	uint8_t tag; /* TIDE_REC_*; ALLOC_STACK and ALLOC_FULL are ALLOC, BEGIN_ARG and BEGIN_FULL
			  * are BEGIN */
	uint8_t kind; /* SEG_ALLOC, MARK; TENSOR, VIEW: requires_grad; BEGIN: 1 = it has an arg, 2 = and
			  * a stack and an origin */
} tide_event;

typedef struct tide_cursor {
	const tide_schema *schema;	 /* borrowed */
	const uint8_t *start, *at, *end; /* payload; borrowed; TIDE_PAD bytes behind end */
	uint64_t ticks, addr;		 /* previous values for the wire types t, x, p, q */
	uint16_t pool, stream;
	bool bad;	  /* the record at `at` is malformed: decoding stops */
	uint64_t records; /* records read so far, including skipped ones */
	uint64_t skipped; /* records of unknown types */
	uint64_t recent[256];
} tide_cursor;

void tide__cursor_start(tide_cursor *c, const tide_schema *s, const uint8_t *p, size_t n,
			uint64_t ticks);

/* Decodes up to `room` events. Returns 0 at the end of the payload or at a malformed record
 * (c->bad). */
size_t tide__events_decode(tide_cursor *c, tide_event *out, size_t room);

#endif
