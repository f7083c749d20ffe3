// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/export/gzip_stream.h"

#include <errno.h>

#include "base/mem.h"

typedef struct gz {
	void *state; /* owned, by codec->end */
	const tide_gz_codec *codec;
	FILE *under;
} gz;

static ssize_t gz_write(void *cookie, const char *buf, size_t n)
{
	gz *g = cookie;
	uint32_t part = n > 1u << 30 ? 1u << 30 : (uint32_t)n;
	union {
		const char *in;
		uint8_t *out;
	} p = { buf }; /* compressors do not write there, their types only say so */
	if (g->codec->feed(g->state, p.out, part, false, g->under))
		return (ssize_t)part;
	errno = EIO;
	return 0;
}

static int gz_close(void *cookie)
{
	gz *g = cookie;
	bool ok = g->codec->feed(g->state, NULL, 0, true, g->under);
	g->codec->end(g->state);
	tide__free(g);
	if (!ok)
		errno = EIO;
	return ok ? 0 : -1;
}

FILE *tide__gz_open_cookie(void *state, const tide_gz_codec *codec, FILE *under)
{
	static const cookie_io_functions_t io = { .write = gz_write, .close = gz_close };
	if (!state)
		return NULL;
	gz *g = tide__alloc(1, sizeof *g);
	if (g)
		*g = (gz){ state, codec, under };
	FILE *f = g ? fopencookie(g, "w", io) : NULL;
	if (!f) {
		codec->end(state);
		tide__free(g);
		return NULL;
	}
	setvbuf(f, NULL, _IOFBF, 256 << 10);
	return f;
}
