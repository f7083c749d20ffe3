// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* ISA-L behind fopencookie. */
#include "render/gzfile.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <isa-l/igzip_lib.h>

#include "base/mem.h"

enum { OUT = 64 << 10, LEVEL = 2 };

typedef struct gz {
	struct isal_zstream z;
	FILE *under;
	uint8_t *level_buf; /* owned: ISA-L's tables of this level */
	uint8_t out[OUT];
} gz;

/* Run the compressor until it has taken all input (and, at the end, given all output). */
static bool pump(gz *g)
{
	do {
		g->z.next_out = g->out;
		g->z.avail_out = OUT;
		if (isal_deflate(&g->z) != COMP_OK)
			return false;
		size_t n = OUT - g->z.avail_out;
		if (fwrite(g->out, 1, n, g->under) != n)
			return false;
	} while (g->z.avail_in || (g->z.end_of_stream && g->z.internal_state.state != ZSTATE_END));
	return true;
}

static ssize_t gz_write(void *cookie, const char *buf, size_t n)
{
	gz *g = cookie;
	uint32_t part = n > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)n;
	union {
		const char *in;
		uint8_t *out;
	} p = { buf }; /* ISA-L does not write there, its type only says so */
	g->z.next_in = p.out;
	g->z.avail_in = part;
	if (pump(g))
		return (ssize_t)part;
	errno = EIO;
	return 0;
}

static int gz_close(void *cookie)
{
	gz *g = cookie;
	g->z.end_of_stream = 1;
	bool ok = pump(g);
	tide__free(g->level_buf);
	tide__free(g);
	if (!ok)
		errno = EIO;
	return ok ? 0 : -1;
}

FILE *tide__gz_open(FILE *under)
{
	static const cookie_io_functions_t io = { .write = gz_write, .close = gz_close };
	gz *g = tide__calloc(1, sizeof *g);
	if (!g)
		return NULL;
	isal_deflate_init(&g->z);
	g->under = under;
	g->z.gzip_flag = IGZIP_GZIP;
	g->z.level = LEVEL;
	g->z.level_buf_size = ISAL_DEF_LVL2_DEFAULT;
	g->level_buf = g->z.level_buf = tide__alloc(ISAL_DEF_LVL2_DEFAULT, 1);
	FILE *f = g->level_buf ? fopencookie(g, "w", io) : NULL;
	if (!f) {
		tide__free(g->level_buf);
		tide__free(g);
		return NULL;
	}
	setvbuf(f, NULL, _IOFBF, 256 << 10);
	return f;
}
