// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The .tide file being written: complete chunks, one after the other, into preallocated space.
 *
 * Space is always allocated ahead of need, and TIDE_SINK_RESERVE bytes are reserved for the end, so
 * the file can be completed even if the disk fills up. A chunk that cannot be written leaves the file
 * unchanged: try again later. Belongs to the starting thread, then to the writer thread. */
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
	_Atomic uint64_t at; /* bytes written: offset of the next chunk */
	uint64_t allocated;  /* bytes allocated to the file */
	int error;	     /* errno of the last failure; 0 after a success */
	uint64_t step;	     /* at most this many bytes are allocated ahead; 0: unlimited */
	uint64_t failed_ns;  /* when space was last refused (CLOCK_MONOTONIC); 0: never */
} tide_sink;

/* Creates `path` (which must not exist) and writes the head. Returns 0 or an errno. */
int tide__sink_open(tide_sink *s, const char *path, const tide_file_head *head);

/* Writes `n` bytes: a sealed chunk. `last` allows using the reserve. Returns false if not written
 * (s->error). */
bool tide__sink_put(tide_sink *s, const void *chunk, size_t n, bool last);

/* Returns allocated space that is neither written nor reserved to the file system, and from now on
 * allocates only what is needed. Returns false if there is none. */
bool tide__sink_give_back(tide_sink *s);

/* Truncates the file to the written bytes and closes it. Returns 0 or an errno. */
int tide__sink_close(tide_sink *s);

#endif
