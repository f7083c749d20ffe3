// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Watching a .tide file that is still being written: has anything come, did its writer close it, is
 * its writer still there? Reads chunk heads as they appear, never the whole file again. */
#ifndef TIDE_SERVE_FOLLOW_H
#define TIDE_SERVE_FOLLOW_H

#include <stdbool.h>

#include "format/read.h"

typedef struct tide_follow {
	tide_reader *reader; /* owned */
	char *rings;	     /* owned: path of the ring file */
	bool same_host;	     /* recorded here, so that its process can be looked for */
	uint64_t chunks;     /* seen so far */
	int64_t last_ms;     /* when the last one came (CLOCK_MONOTONIC) */
} tide_follow;

typedef enum tide_followed {
	TIDE_FOLLOW_SAME,   /* nothing new */
	TIDE_FOLLOW_GREW,   /* chunks came */
	TIDE_FOLLOW_CLOSED, /* the recording is whole */
	TIDE_FOLLOW_GONE,   /* its writer is not there any more, and nothing came for a while */
} tide_followed;

/* Begin at the file's start; what is in it by now does not count as new. False when it is no .tide
 * file that can be read. tide__follow_end accepts a zeroed one. */
bool tide__follow_begin(tide_follow *f, const char *path, const char *host);
void tide__follow_end(tide_follow *f);
tide_followed tide__follow_poll(tide_follow *f, int64_t now_ms);

/* Is this a .tide file that a process of this machine is writing just now? Looks at its head, its
 * ring file and what that process has mapped: a few system calls, whatever its size. False also
 * when it cannot be told. */
bool tide__follow_written(const char *path);

#endif
