// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* What the two compressors behind a FILE share: the stream itself. */
#ifndef TIDE_RENDER_EXPORT_GZIP_STREAM_H
#define TIDE_RENDER_EXPORT_GZIP_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct tide_gz_codec {
	/* Compress n bytes (at most 2^30), all that is left when `last`, into `under`. */
	bool (*feed)(void *state, uint8_t *in, uint32_t n, bool last, FILE *under);
	void (*end)(void *state); /* free it */
} tide_gz_codec;

/* A stream over `state`, which is taken over, also on failure; NULL then, and when `state` is. */
FILE *tide__gz_cookie(void *state, const tide_gz_codec *codec, FILE *under);

#endif
