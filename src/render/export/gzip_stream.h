// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The stream shared by the two compressors. */
#ifndef TIDE_RENDER_EXPORT_GZIP_STREAM_H
#define TIDE_RENDER_EXPORT_GZIP_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct tide_gz_codec {
	/* Compresses n bytes (at most 2^30), and everything left if `last`, into `under`. */
	bool (*feed)(void *state, uint8_t *in, uint32_t n, bool last, FILE *under);
	void (*end)(void *state); /* free it */
} tide_gz_codec;

/* Returns a stream over `state`, whose ownership is taken, also on failure; NULL on failure or
 * if `state` is NULL. */
FILE *tide__gz_open_cookie(void *state, const tide_gz_codec *codec, FILE *under);

#endif
