// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The .tide file being written: whole chunks, one after the other, into space allocated before.
 *
 * Space is always taken ahead of need, and TIDE_SINK_RESERVE bytes of it are kept for the end, so a
 * disk that fills up leaves a file that can still be completed. A chunk that cannot be written
 * leaves the file as it was: try again later. Belongs to the starting thread, then to the writer
 * thread. */
#ifndef TIDE_RUNTIME_SINK_H
#define TIDE_RUNTIME_SINK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/tide.h"
#include "runtime/file.h"

enum { TIDE_SINK_RESERVE = 256 << 10 };

typedef struct tide_sink {
	tide_file file;	     /* fd -1: closed */
	_Atomic uint64_t at; /* bytes written: where the next chunk goes */
	uint64_t allocated;  /* bytes the file has */
	int error;	     /* errno of the last failure; 0 after a success */
	bool misled;	     /* a chunk may have gone into a file of the program's */
	uint64_t failed_ns;  /* when space was last refused (CLOCK_MONOTONIC); 0: it was not */
} tide_sink;

/* Create `path` (which must not exist) and write the head. 0 or an errno. */
int tide__sink_open(tide_sink *s, const char *path, const tide_file_head *head);

/* Write `n` bytes: a sealed chunk. `last`: use the reserve. False: not written (s->error). */
bool tide__sink_put(tide_sink *s, const void *chunk, size_t n, bool last);

/* Cut the file to what was written, and close. 0 or an errno. */
int tide__sink_close(tide_sink *s);

#endif
