// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes a recording whose allocator is consistent at first and contradicts itself later: a segment
 * begins inside another one. Usage: cli_odd FILE */
#include "tidefile.h"

#define MiB ((uint64_t)1 << 20)

int main(int argc, char **argv)
{
	tidefile f;
	uint64_t t = 1000, base = MiB << 20;
	if (argc != 2)
		return 2;
	tidefile_start_full(&f);
	ev_lane(&f, 1, 0, 1, 100);
	ev_seg(&f, 1, t, 1, base, 20 * MiB, 0);
	for (uint64_t i = 0; i < 8; i++)
		ev_alloc(&f, 1, t += 1000, 1, base + 2 * i * MiB, 2 * MiB);
	for (uint64_t i = 0; i < 8; i += 2)
		ev_free(&f, 1, t += 1000, 1, base + 2 * i * MiB);
	ev_seg(&f, 1, t += 3000, 1, base + 40 * MiB, 40 * MiB, 0);
	ev_seg(&f, 1, t += 3000, 1, base + 60 * MiB, 40 * MiB, 0);
	for (uint64_t i = 0; i < 6; i++)
		ev_alloc(&f, 1, t += 2000, 1, base + (42 + 2 * i) * MiB, 2 * MiB);
	tidefile_end(&f);
	tidefile_save(&f, argv[1]);
	tidefile_free(&f);
	return 0;
}
