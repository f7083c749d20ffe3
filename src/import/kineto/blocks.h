// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Reads the input in blocks, cut between events, parses them in several threads and delivers them
 * in order.
 *
 * Every thread reads a block (and decompresses it) while no other one reads, then parses it. The
 * caller's thread does the same and takes the results. `ahead` adds a thread that only reads. There
 * are at most 3 blocks more than threads, so memory does not grow with the input. */
#ifndef TIDE_IMPORT_KINETO_BLOCKS_H
#define TIDE_IMPORT_KINETO_BLOCKS_H

#include "import/kineto/kineto_impl.h"
#include "import/source.h"

enum { KIN_THREADS_MAX = 64 };

typedef struct kin_block_in {
	char *text; /* owned; n bytes, then JSONR_PAD zeros */
	size_t n, cap;
	uint64_t base;	   /* offset of text[0] in the input */
	uint64_t consumed; /* compressed bytes of the input read so far, for progress */
	size_t parsed;	   /* bytes that became rows of out, parsed as events from its start */
	bool seeking;	   /* kin_doc.seeking after it */
	kin_out out;
	bool last;
	tide_code failed; /* reading or parsing it failed */
	tide_error why;
	int state; /* blocks.c, under the lock */
} kin_block_in;

typedef struct kin_reader {
	tide_source *src;
	size_t block;	  /* bytes to read at a time */
	tide_code damage; /* the source ended with this error; everything before it is valid */
	tide_error why;
	char *tail; /* owned: bytes after the last cut */
	size_t n_tail, cap_tail;
	uint64_t base;	     /* offset of the next block */
	kin_parser *parsers; /* owned: rows point into them until tide__kineto_reader_fini */
	unsigned n_parsers;
} kin_reader;

typedef tide_code kin_take(void *user, kin_block_in *k, tide_error *err);

/* Passes every block to `take`, in order; stops at the first that it refuses. `threads` parse,
 * including the caller's: 1 without `ahead` starts none. */
tide_code tide__kineto_read_blocks(kin_reader *r, unsigned threads, bool ahead, unsigned want,
				   kin_take *take, void *user, tide_error *err);
void tide__kineto_reader_fini(kin_reader *r);

#endif
