// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A FILE that compresses with ISA-L. */
#include "render/export/gzip_isal.h"

#include <isa-l/igzip_lib.h>

#include "base/mem.h"
#include "render/export/gzip_stream.h"

enum { OUT = 64 << 10, LEVEL = 2 };

typedef struct gz {
	struct isal_zstream z;
	uint8_t *level_buf; /* owned: ISA-L's tables of this level */
	uint8_t out[OUT];
} gz;

/* Runs the compressor until it has consumed all input (and, at the end, written all output). */
static bool feed(void *state, uint8_t *in, uint32_t n, bool last, FILE *under)
{
	gz *g = state;
	g->z.next_in = in;
	g->z.avail_in = n;
	g->z.end_of_stream = last;
	do {
		g->z.next_out = g->out;
		g->z.avail_out = OUT;
		if (isal_deflate(&g->z) != COMP_OK)
			return false;
		size_t made = OUT - g->z.avail_out;
		if (fwrite(g->out, 1, made, under) != made)
			return false;
	} while (g->z.avail_in || (last && g->z.internal_state.state != ZSTATE_END));
	return true;
}

static void end(void *state)
{
	gz *g = state;
	tide__free(g->level_buf);
	tide__free(g);
}

static gz *begin(void)
{
	gz *g = tide__calloc(1, sizeof *g);
	if (!g)
		return NULL;
	isal_deflate_init(&g->z);
	g->z.gzip_flag = IGZIP_GZIP;
	g->z.level = LEVEL;
	g->z.level_buf_size = ISAL_DEF_LVL2_DEFAULT;
	g->level_buf = g->z.level_buf = tide__alloc(ISAL_DEF_LVL2_DEFAULT, 1);
	if (g->level_buf)
		return g;
	tide__free(g);
	return NULL;
}

FILE *tide__gz_open(FILE *under)
{
	static const tide_gz_codec codec = { feed, end };
	return tide__gz_open_cookie(begin(), &codec, under);
}
