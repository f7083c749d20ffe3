// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A FILE that compresses with zlib: slower than ISA-L, and the sections of pages are 20 % smaller.
 * A build without zlib uses gzip_zlib_none.c instead. */
#include "render/export/gzip_isal.h"

#include <zlib.h>

#include "base/mem.h"
#include "render/export/gzip_stream.h"

enum { OUT = 64 << 10, LEVEL = 9, WINDOW = 15 + 16 /* + 16 = gzip */, MEMORY = 9 };

typedef struct gz {
	z_stream z;
	Bytef out[OUT];
} gz;

static voidpf take(voidpf user, uInt n, uInt size)
{
	return tide__calloc(n, size);
}

static void give(voidpf user, voidpf p)
{
	tide__free(p);
}

static bool feed(void *state, uint8_t *in, uint32_t n, bool last, FILE *under)
{
	gz *g = state;
	g->z.next_in = in;
	g->z.avail_in = n;
	do {
		g->z.next_out = g->out;
		g->z.avail_out = OUT;
		if (deflate(&g->z, last ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR)
			return false;
		size_t made = OUT - g->z.avail_out;
		if (fwrite(g->out, 1, made, under) != made)
			return false;
	} while (!g->z.avail_out);
	return true;
}

static void end(void *state)
{
	gz *g = state;
	deflateEnd(&g->z);
	tide__free(g);
}

static gz *begin(void)
{
	gz *g = tide__calloc(1, sizeof *g);
	if (!g)
		return NULL;
	g->z.zalloc = take;
	g->z.zfree = give;
	if (deflateInit2(&g->z, LEVEL, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY) == Z_OK)
		return g;
	tide__free(g);
	return NULL;
}

FILE *tide__gz_open_small(FILE *under)
{
	static const tide_gz_codec codec = { feed, end };
	return tide__gz_open_cookie(begin(), &codec, under);
}
