// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Rewrites a .tide file: recovers it or packs it.
 *
 * Both take a file in any state: closed, packed, damaged, or left by a killed process together with
 * its ring file. The output is closed and valid, holds every readable event once, and
 * has facts about the rest ("loss.truncated_at", "loss.gap_at" ...). A closed input without
 * damage keeps every chunk, byte for byte. */
#ifndef TIDE_FORMAT_REWRITE_H
#define TIDE_FORMAT_REWRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tidemark/error.h>

#include "format/read.h"
#include "format/schema.h"

/* The input if it is not a plain path: a recording that was compressed as a whole and expanded into
 * another file. */
typedef struct tide_rewrite_from {
	const char *path;  /* a readable copy of the recording */
	const char *rings; /* path whose sibling is the ring file; NULL = `path` */
	uint64_t stored;   /* bytes of the compressed file; 0 = it was not compressed */
	tide_error ends;   /* why it could not be expanded further; code TIDE_OK = it is complete */
	const uint8_t
		*more; /* records to add before the end of the new file (any but events); may be
		        * NULL */
	size_t n_more;
	uint32_t count_more;
	/* Changes a chunk before it is written, and seals it again; type 0 leaves it out. The input's
	 * reserved bytes are then left out, too. NULL = chunks stay as they are. */
	tide_code (*edit)(void *user, const tide_schema *schema, tide_chunk_head *h,
			  uint8_t *payload, tide_error *err);
	void *user;
} tide_rewrite_from;

typedef struct tide_rewrite {
	uint64_t bytes_in, bytes_out;
	uint64_t events;    /* in the file written */
	uint64_t recovered; /* how many of these came from the ring file */
	bool closed;	    /* the input was closed and intact: nothing had to be recovered */
	bool cut_short;	    /* the input was not closed */
	bool rings;	    /* the input was not closed and its ring file was present */
	/* the error that ended the input early; code TIDE_OK if none. A closed input never ends
	 * early. */
	tide_error damage;
	tide_file_gaps gaps; /* damaged places between valid chunks, left out */
	tide_head_state head;
} tide_rewrite;

/* Writes a complete, unpacked file. Returns TIDE_OK even when the input is damaged, as long as
 * something can be read. `out` is written under a temporary name and moved into place at the end;
 * it may be `in`, unless a process is recording into it now: TIDE_EBUSY. */
tide_code tide__recover(const char *in, const char *out, tide_rewrite *w, tide_error *err);

/* The same, compressed with zstd (level 1 .. 19; 0 = 3). */
tide_code tide__pack(const char *in, const char *out, int level, tide_rewrite *w, tide_error *err);

/* The same from a tide_rewrite_from: packed, or (level < 0) complete and unpacked. If too little
 * was expanded to write anything, the error is from->ends. */
tide_code tide__rewrite(const tide_rewrite_from *from, const char *out, int level, tide_rewrite *w,
			tide_error *err);

#endif
