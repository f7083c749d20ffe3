// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Tracks where a file's chunks end for each ring and for the definitions log: the ring file
 * continues from there. Zero-initialise; free with tide__ring_ends_free. */
#ifndef TIDE_FORMAT_RING_ENDS_H
#define TIDE_FORMAT_RING_ENDS_H

#include "base/map.h"
#include "format/read.h"
#include "format/rings_read.h"
#include "format/schema.h"

typedef struct tide_ring_ends {
	tide_map rows;	  /* ring -> index + 1 in last */
	tide_chunk *last; /* the last chunk of each ring */
	size_t n, cap;
	uint64_t defs; /* bytes of the definitions log in the file */
} tide_ring_ends;

/* Adds a chunk of the file; call in order. Returns false if memory runs out. */
bool tide__ring_ends_add(tide_ring_ends *e, const tide_chunk *c);

/* Limit on repeated reads: a reader continues when a live writer moved events into the file. */
enum { TIDE_LIVE_TRIES = 16 };

/* Calls tide__rings_read_tail for a file whose chunks were all added. */
tide_code tide__ring_ends_read_tail(const tide_ring_ends *e, tide_reader *r,
				    const tide_schema *schema, const char *path, tide_tail *tail,
				    tide_error *err);
void tide__ring_ends_free(tide_ring_ends *e);

#endif
