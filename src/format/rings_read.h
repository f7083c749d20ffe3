// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads what a killed process left in its ring file, as the chunks it would have written next.
 *
 * The result (the tail) is a sequence of chunks exactly as they would be in the .tide file: DEFS with
 * the rest of the definitions log, EVENTS per ring, LOSS. It holds every slot that no chunk of the
 * file holds, once. The ring file is not trusted: reading it is safe and bounded by its size, and
 * malformed parts are left out and counted. */
#ifndef TIDE_FORMAT_RINGS_READ_H
#define TIDE_FORMAT_RINGS_READ_H

#include "format/read.h"
#include "format/schema.h"

typedef struct tide_ring_end { /* where the file's chunks end for a ring */
	uint32_t lane, depth;
	uint64_t next;	/* first slot that no chunk holds */
	uint64_t ticks; /* time of its last record */
} tide_ring_end;

typedef struct tide_tail {
	bool found;	    /* a ring file of this recording exists */
	tide_payload bytes; /* the chunks, one after the other; owned */
	uint64_t events;    /* in them */
	uint64_t missing;   /* slots that neither the file nor the ring file holds */
	uint64_t bad;	    /* malformed slots and blocks */
	uint64_t log_gap;   /* bytes of the definitions log that neither holds */
} tide_tail;

/* Reads the ring file beside `tide_path`. `ends` holds where the file ends for each ring (zeroes if
 * it has no chunk of it), `defs_end` how much of the definitions log it holds. A missing ring file,
 * or one of another recording, is not an error: tail->found is false. Returns TIDE_ENOMEM,
 * TIDE_EIO. */
tide_code tide__rings_read_tail(const char *tide_path, const uint8_t recording[16],
				const tide_schema *schema,
				tide_ring_end (*ends)(void *user, uint32_t ring), void *user,
				uint64_t defs_end, tide_tail *tail, tide_error *err);
void tide__tail_free(tide_tail *t);

/* Reads the chunk at byte `at` of the tail; c->head.type is 0 behind the last one. Returns the byte
 * after it. */
size_t tide__tail_read_chunk(const tide_tail *t, size_t at, tide_chunk *c);

#endif
