// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes a recording of many small ops, all alike: it packs to nearly nothing. cli_bomb OPS FILE
 * With THREADS, each of that many threads ran 4 of them: cli_bomb OPS FILE THREADS */
#include <stdlib.h>

#include "tidefile.h"

/* Writes the content of ring 1 as a separate ring. */
static void flush_as(tidefile *f, uint32_t ring)
{
	f->rings[0].enc = (tide_encoder){ .ring = ring };
	tidefile_flush(f, 1);
	f->rings[0].n = 0;
	f->rings[0].enc = (tide_encoder){ .ring = 1 };
}

int main(int argc, char **argv)
{
	tidefile f;
	if (argc < 3)
		return 2;
	tidefile_start_full(&f);
	for (long i = 0, n = atol(argv[1]); i < n; i++) {
		ev_begin(&f, 1, (uint64_t)i * 2, 1);
		ev_end(&f, 1, (uint64_t)i * 2 + 1);
		if (argc > 3 && i % 4 == 3)
			flush_as(&f, (uint32_t)(17 + i / 4 % atol(argv[3])));
		else if (i % 4096 == 4095)
			tidefile_flush(&f, 1);
	}
	tidefile_end(&f);
	tidefile_save(&f, argv[2]);
	tidefile_free(&f);
	return 0;
}
