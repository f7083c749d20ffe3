// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A byte stream from a file or from memory, decompressed if it is gzip or zstd.
 *
 * The first bytes decide (1f 8b; 28 b5 2f fd), never the name. Consecutive gzip members, or zstd
 * frames, are one stream; zero padding after gzip is ignored. Nothing is mapped: bytes go into the
 * caller's buffer through a small internal one. A source belongs to one thread at a time. */
#ifndef TIDE_IMPORT_SOURCE_H
#define TIDE_IMPORT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <tidemark/error.h>

typedef struct tide_source tide_source;

/* Default limit on decompressed data: this many times the compressed size, but never less than
 * this many bytes. Real traces and snapshots stay below 60 times. */
#define TIDE_EXPAND_RATIO 256u
#define TIDE_EXPAND_LEAST (UINT64_C(1) << 30)

/* Opens a file. `max_expanded` limits the decompressed bytes; 0 = the default above. *out is
 * NULL on failure: TIDE_EIO, TIDE_ENOMEM. */
tide_code tide__source_open(const char *path, uint64_t max_expanded, tide_source **out,
			    tide_error *err);
/* The same for n bytes of memory, borrowed until the source is closed. */
tide_code tide__source_open_memory(const void *data, size_t n, uint64_t max_expanded,
				   tide_source **out, tide_error *err);
/* The same for bytes that a function makes: it fills buf and returns their number, 0 at the end. It is
 * called by one thread at a time, also before this returns; `user` is borrowed until the source is
 * closed. */
typedef size_t tide_source_fill(void *user, void *buf, size_t n);
tide_code tide__source_open_made(tide_source_fill *fill, void *user, tide_source **out,
				 tide_error *err);
/* The same for an open descriptor, which the source owns from now on, also on failure. */
tide_code tide__source_open_fd(int fd, uint64_t max_expanded, tide_source **out, tide_error *err);
/* Returns the first stored bytes, before anything was read; *n receives their number. Borrowed. */
const uint8_t *tide__source_head(const tide_source *s, size_t *n);
/* NULL is allowed. */
void tide__source_close(tide_source *s);

/* Reads until `n` bytes are available or no more come; *got < n means the end or a failure, and the
 * *got bytes are valid in either case.
 *   TIDE_ETRUNC    compressed data end in the middle (offset: the input's end)
 *   TIDE_ECORRUPT  compressed data are damaged or their checksum is wrong (offset: in the
 *                  compressed file)
 *   TIDE_ELIMIT    the expansion limit was reached
 *   TIDE_EIO       read(2) failed
 * After a failure every further call returns the same code with *got = 0. */
tide_code tide__source_read(tide_source *s, void *buf, size_t n, size_t *got, tide_error *err);

/* Reads a whole file, expanded, into one buffer (owned by the caller, also on failure), followed
 * by `pad` zero bytes. `max_expanded` as for tide__source_open. Returns TIDE_ELIMIT for more than
 * `most` bytes. */
typedef struct tide_whole_file {
	uint8_t *data; /* owned: tide__free */
	size_t n;
} tide_whole_file;
tide_code tide__source_read_all(const char *path, uint64_t max_expanded, size_t most, size_t pad,
				tide_whole_file *out, tide_error *err);

/* Skips n bytes without reading them if possible (a plain file). Returns n, else 0. Skipping
 * past the end is not a failure; the next read returns nothing. */
uint64_t tide__source_skip(tide_source *s, uint64_t n);

/* Makes the input end after n more stored bytes. */
void tide__source_set_limit(tide_source *s, uint64_t n);

/* Returns true if the input is gzip or zstd; the second checks given bytes. */
bool tide__source_is_packed(const tide_source *s);
bool tide__is_packed(const void *head, size_t n);
/* Returns the stored (compressed) bytes of the input, 0 = unknown (a pipe); and how many of them
 * were read. */
uint64_t tide__source_size(const tide_source *s);
uint64_t tide__source_consumed(const tide_source *s);

/* Returns true if the first n bytes of a file contain a word: for recognising formats. */
static inline bool tide__head_contains(const uint8_t *head, size_t n, const char *word)
{
	return memmem(head, n, word, strlen(word)) != NULL;
}

#endif
