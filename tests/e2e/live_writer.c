// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A program that records, driven by lines on its standard input:
 *     step N    N ops, each with an allocation of 1 KiB that stays
 *     drop      frees everything
 *     stop      closes the recording
 * Answers each with "ok". The end of its input ends it as it is, without closing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tidemark/record.h>

static uint64_t made, dropped;

static void step(tide_pool pool, int n)
{
	for (int i = 0; i < n; i++) {
		tide_op op = tide_op_begin(i % 2 ? TIDE_NAME("odd") : TIDE_NAME("even"));
		tide_alloc(pool, ++made << 12, 1024, 0);
		tide_op_end(op);
	}
}

int main(int argc, char **argv)
{
	char line[64];
	if (argc != 2 || tide_start(argv[1], NULL, NULL) != TIDE_OK)
		return 2;
	tide_device device = tide_device_open(TIDE_DEVICE_CUDA, 0, "test device", 1 << 30);
	tide_pool pool = tide_pool_open(device, 1, "DRAM", 1 << 30);
	while (fgets(line, sizeof line, stdin)) {
		if (!strncmp(line, "step ", 5))
			step(pool, atoi(line + 5));
		else if (!strcmp(line, "drop\n"))
			while (dropped < made)
				tide_free(pool, ++dropped << 12);
		else if (!strcmp(line, "stop\n") && tide_stop(NULL) != TIDE_OK)
			return 1;
		puts("ok");
		fflush(stdout);
	}
	_exit(0);
}
