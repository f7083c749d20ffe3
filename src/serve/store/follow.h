// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Watches a .tide file that is being written: finds new chunks, whether it was closed, and whether
 * its writer still exists. Reads chunk heads as they appear, never the whole file again. */
#ifndef TIDE_SERVE_STORE_FOLLOW_H
#define TIDE_SERVE_STORE_FOLLOW_H

#include <stdbool.h>

#include "format/read.h"

typedef struct tide_follow {
	tide_reader *reader; /* owned */
	char *rings;	     /* owned: path of the ring file */
	bool same_host;	     /* recorded on this machine, so its process can be checked */
	uint64_t chunks;     /* seen so far */
	int64_t last_ms;     /* when the last one came (CLOCK_MONOTONIC) */
} tide_follow;

typedef enum tide_followed {
	TIDE_FOLLOW_SAME,   /* nothing new */
	TIDE_FOLLOW_GREW,   /* new chunks */
	TIDE_FOLLOW_CLOSED, /* the recording is complete */
	TIDE_FOLLOW_GONE,   /* its writer has ended, and nothing was written for a while */
} tide_followed;

/* Begins at the file's start; its current content does not count as new. Returns false if it is
 * not a readable .tide file. tide__follow_end accepts a zeroed one. */
bool tide__follow_begin(tide_follow *f, const char *path, const char *host);
void tide__follow_end(tide_follow *f);
tide_followed tide__follow_poll(tide_follow *f, int64_t now_ms);

/* Returns true if a process of this machine is writing this .tide file now. Checks its head, its
 * ring file and that process's mappings: a few system calls, regardless of size. Returns false
 * if unknown. */
bool tide__follow_written(const char *path);

#endif
