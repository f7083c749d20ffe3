// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* zlib behind fopencookie: slower than ISA-L and a fifth smaller on the sections of pages. A build
 * without zlib has gzsmall_none.c in its place. */
#include "render/gzfile.h"

#include <errno.h>
#include <stdbool.h>
#include <zlib.h>

#include "base/mem.h"

enum { OUT = 64 << 10, LEVEL = 9, WINDOW = 15 + 16 /* + 16 = gzip */, MEMORY = 9 };

typedef struct gz {
	z_stream z;
	FILE *under;
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

static bool pump(gz *g, int flush)
{
	do {
		g->z.next_out = g->out;
		g->z.avail_out = OUT;
		if (deflate(&g->z, flush) == Z_STREAM_ERROR)
			return false;
		size_t n = OUT - g->z.avail_out;
		if (fwrite(g->out, 1, n, g->under) != n)
			return false;
	} while (!g->z.avail_out);
	return true;
}

static ssize_t gz_write(void *cookie, const char *buf, size_t n)
{
	gz *g = cookie;
	uInt part = n > (1u << 30) ? 1u << 30 : (uInt)n;
	union {
		const char *in;
		Bytef *out;
	} p = { buf }; /* zlib does not write there, its type only says so */
	g->z.next_in = p.out;
	g->z.avail_in = part;
	if (pump(g, Z_NO_FLUSH))
		return (ssize_t)part;
	errno = EIO;
	return 0;
}

static int gz_close(void *cookie)
{
	gz *g = cookie;
	bool ok = pump(g, Z_FINISH);
	deflateEnd(&g->z);
	tide__free(g);
	if (!ok)
		errno = EIO;
	return ok ? 0 : -1;
}

FILE *tide__gz_open_small(FILE *under)
{
	static const cookie_io_functions_t io = { .write = gz_write, .close = gz_close };
	gz *g = tide__calloc(1, sizeof *g);
	if (!g)
		return NULL;
	g->under = under;
	g->z.zalloc = take;
	g->z.zfree = give;
	if (deflateInit2(&g->z, LEVEL, Z_DEFLATED, WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
		tide__free(g);
		return NULL;
	}
	FILE *f = fopencookie(g, "w", io);
	if (!f) {
		deflateEnd(&g->z);
		tide__free(g);
		return NULL;
	}
	setvbuf(f, NULL, _IOFBF, 256 << 10);
	return f;
}
