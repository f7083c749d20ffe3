// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Keeps 1,000 blocks, then allocates and frees the given number on two threads, for recordings that
 * are limited in size. The second thread frees the blocks of the first. window_prog PAIRS [kill],
 * or window_prog maps */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { KEPT = 1000, QUEUE = 64 };
static void *kept[KEPT];
static _Atomic(void *) queue[QUEUE];
static long pairs;

__attribute__((noinline)) static void *keep_block(size_t n)
{
	return memset(malloc(n), 1, n);
}

static void *free_all(void *unused)
{
	for (long i = 0; i < pairs; i++) {
		void *p;
		while (!(p = atomic_exchange(&queue[i % QUEUE], NULL)))
			usleep(10);
		free(p);
	}
	return unused;
}

static void *map(void *at, size_t mib, int prot, int flags)
{
	return mmap(at, mib << 20, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

/* 6 MiB stay mapped, at most 10 at once; malloc maps 8 MiB of its own. */
static int maps(void)
{
	char *big = memset(malloc(8 << 20), 1, 8 << 20);
	char *a = map(NULL, 4, PROT_READ | PROT_WRITE, 0);
	char *reserved = map(NULL, 1024, PROT_NONE, MAP_NORESERVE);
	munmap(a + (1 << 20), 1 << 20);
	char *b = mremap(map(NULL, 1, PROT_READ | PROT_WRITE, 0), 1 << 20, 2 << 20, MREMAP_MAYMOVE);
	munmap(map(NULL, 5, PROT_READ | PROT_WRITE, 0), 5 << 20);
	void *inside = map(reserved, 1, PROT_READ | PROT_WRITE, MAP_FIXED);
	free(big);
	return inside != reserved || b == MAP_FAILED;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "maps"))
		return maps();
	pthread_t t;
	pairs = argc > 1 ? atol(argv[1]) : 1000;
	for (int i = 0; i < KEPT; i++)
		kept[i] = keep_block((size_t)(1000 + i));
	pthread_create(&t, NULL, free_all, NULL);
	for (long i = 0; i < pairs; i++) {
		void *p = malloc((size_t)(16 + i % 500));
		while (atomic_load(&queue[i % QUEUE]))
			usleep(10);
		atomic_store(&queue[i % QUEUE], p);
	}
	pthread_join(t, NULL);
	if (argc > 2 && !strcmp(argv[2], "kill"))
		raise(SIGKILL);
	return kept[0] == NULL;
}
