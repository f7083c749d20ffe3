// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A program that mostly calls malloc and free, 5 to 12 frames deep: pairs [N] [KEPT]. Every KEPT-th
 * block lives until 1,000 later ones were allocated. Prints seconds, and the
 * clock at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void *kept[1000];
static unsigned at, every;
static unsigned long long seed = 88172645463325252ull;

static unsigned rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 32);
}

__attribute__((noinline)) static void leaf(unsigned i)
{
	char *p = malloc(16 + rnd() % 480);
	p[0] = 1;
	if (every && i % every == 0) {
		free(kept[at]);
		kept[at] = p;
		at = (at + 1) % 1000;
	} else {
		free(p);
	}
}

__attribute__((noinline)) static void deep(unsigned n, unsigned i)
{
	if (n)
		deep(n - 1, i);
	else
		leaf(i);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 5000000;
	every = argc > 2 ? (unsigned)atoi(argv[2]) : 4;
	struct timespec start, end;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (unsigned i = 0; i < n; i++)
		deep(2 + i % 8, i);
	clock_gettime(CLOCK_MONOTONIC, &end);
	double now = (double)end.tv_sec + (double)end.tv_nsec / 1e9;
	printf("%.4f %.4f\n", now - (double)start.tv_sec - (double)start.tv_nsec / 1e9, now);
	return 0;
}
