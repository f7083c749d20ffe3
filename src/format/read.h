// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads a .tide file chunk by chunk.
 *
 *     tide_reader *r;
 *     tide_chunk c;
 *     rc = tide__reader_open(path, &r, err);
 *     while ((rc = tide__reader_next(r, &c, err)) == TIDE_OK && c.head.type)
 *             ... tide__reader_read_payload(r, &c, &buf, err) ...
 *
 * Nothing is mapped: the file may grow, shrink or be damaged while it is read. A damaged place is
 * skipped if a valid chunk follows it; tide__reader_gaps counts such places. The walk ends in one
 * of three states (tide__reader_state):
 *
 *   TIDE_READER_CLOSED   the END chunk was read: the recording is complete
 *   TIDE_READER_EDGE     the file ends, or preallocated space begins, where a chunk could follow: the
 *                        recording is still running, or its process was killed. Calling
 *                        tide__reader_next later checks again; a live reader follows a recording
 *                        this way.
 *   TIDE_READER_DAMAGED  tide__reader_next failed: everything before that byte was delivered, and no
 *                        valid chunk follows it
 *
 * Packed chunks are unpacked on the way: the chunks inside are delivered as if they were in the
 * file.
 *
 * A reader belongs to one thread at a time. */
#ifndef TIDE_FORMAT_READ_H
#define TIDE_FORMAT_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tidemark/error.h>

#include "format/tide.h"

typedef struct tide_reader tide_reader;

typedef struct tide_chunk {
	tide_chunk_head head;  /* type 0 = no chunk: the walk ended */
	uint64_t at;	       /* byte of the head in the file; its payload follows it */
	uint32_t inner;	       /* not 0: inside the packed chunk at `at`, at byte inner - 1 of its
			 * content */
	const uint8_t *memory; /* if not NULL, the uncompressed payload; borrowed */
} tide_chunk;

typedef enum tide_reader_state {
	TIDE_READER_OPEN,
	TIDE_READER_EDGE,
	TIDE_READER_CLOSED,
	TIDE_READER_DAMAGED,
} tide_reader_state;

/* Damaged places that were skipped because valid chunks follow. */
typedef struct tide_file_gaps {
	uint64_t n;	/* places */
	uint64_t bytes; /* of the file, in all of these places */
	tide_error why; /* the first place: the error and its byte */
} tide_file_gaps;

typedef enum tide_head_state {
	TIDE_HEAD_SOUND,
	TIDE_HEAD_REPAIRED, /* one byte was wrong and was corrected with the checksum */
	TIDE_HEAD_LOST,	    /* unreadable: the clock's start comes from the first clock record, the
			     * recording id and the process are 0 */
} tide_head_state;

/* Payload bytes followed by TIDE_PAD zero bytes. Zero-initialise; free with tide__payload_free; may
 * be reused from chunk to chunk. */
typedef struct tide_payload {
	uint8_t *bytes;
	size_t n, cap;
} tide_payload;

/* Opens `path` and checks the file's head. A damaged head is repaired, or replaced if valid chunks
 * follow (tide__reader_head_state). Returns TIDE_EIO; TIDE_EFORMAT (not a .tide file, or another
 * major version); TIDE_ETRUNC (ends inside the head); TIDE_ECORRUPT (damaged head, no chunk
 * follows); TIDE_ENOMEM. */
tide_code tide__reader_open(const char *path, tide_reader **out, tide_error *err);
/* NULL is allowed. */
void tide__reader_close(tide_reader *r);

const tide_file_head *tide__reader_head(const tide_reader *r);
tide_reader_state tide__reader_state(const tide_reader *r);
tide_head_state tide__reader_head_state(const tide_reader *r);
/* The damaged places skipped so far; borrowed until the reader is closed. */
const tide_file_gaps *tide__reader_gaps(const tide_reader *r);
/* Returns true if the file's SCHEMA chunk is damaged and this version's own schema is used instead:
 * the head names this minor version, or is lost too. */
bool tide__reader_schema_lost(const tide_reader *r);
/* Writes the number of gaps and the error of the first one as text. */
void tide__file_gaps_text(const tide_file_gaps *g, char *out, size_t n);
/* Returns what happened to the head as text; NULL if it is intact. */
const char *tide__head_damage(tide_head_state s);
/* Counts `c`, a chunk with a valid checksum, among the gaps: its payload cannot be used, because of
 * `why`. */
void tide__reader_count_unusable(tide_reader *r, const tide_chunk *c, const tide_error *why);
/* Return the bytes of the file as last seen; where the next chunk would begin. */
uint64_t tide__reader_size(const tide_reader *r);
uint64_t tide__reader_at(const tide_reader *r);

/* Sets a limit: reading fails with TIDE_ELIMIT when the file expands to more than this, or when
 * repeated expansion of its packed chunks (which are dropped and expanded again on demand) adds up
 * to many times this. 0 = no limit. */
void tide__reader_set_limit(tide_reader *r, uint64_t max_expanded);

/* Reads the next chunk and verifies its checksum; c->head.type is 0 at the end of the walk. Fails
 * if no valid chunk follows the damage: TIDE_ETRUNC when the file ends inside a chunk (offset: the
 * file's end; c is that chunk, unverified, if its head is present), TIDE_ECORRUPT when a head or
 * checksum is invalid (offset: the chunk's start), TIDE_EIO, TIDE_ENOMEM. */
tide_code tide__reader_next(tide_reader *r, tide_chunk *c, tide_error *err);

/* Reads the chunk's payload, decompressed. Returns TIDE_ECORRUPT if it does not expand to head.raw
 * bytes. */
tide_code tide__reader_read_payload(tide_reader *r, const tide_chunk *c, tide_payload *out,
				    tide_error *err);
/* Reads the available part of a chunk that the file's end cuts off (never compressed). */
tide_code tide__reader_salvage(tide_reader *r, const tide_chunk *c, tide_payload *out,
			       tide_error *err);
void tide__payload_free(tide_payload *p);

/* The checksum of a chunk: its head, then its stored bytes. */
uint64_t tide__chunk_checksum(const tide_chunk_head *h, const void *stored);

#endif
