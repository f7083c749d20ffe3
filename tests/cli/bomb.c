// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes a recording of many small ops, all alike: it packs to nearly nothing. cli_bomb OPS FILE */
#include <stdlib.h>

#include "tidefile.h"

int main(int argc, char **argv)
{
	tidefile f;
	if (argc != 3)
		return 2;
	tidefile_start_full(&f);
	for (long i = 0, n = atol(argv[1]); i < n; i++) {
		ev_begin(&f, 1, (uint64_t)i * 2, 1);
		ev_end(&f, 1, (uint64_t)i * 2 + 1);
		if (i % 4096 == 4095)
			tidefile_flush(&f, 1);
	}
	tidefile_end(&f);
	tidefile_save(&f, argv[2]);
	tidefile_free(&f);
	return 0;
}
