// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A program whose malloc records: the recorder must never need the heap it reports on. Every malloc
 * and free goes through tide_alloc and tide_free, with no guard of its own, from the first one
 * before main to the last one after it; threads, forks, start and stop included. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tidemark/record.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t m);
extern void *__libc_realloc(void *p, size_t n);
extern void __libc_free(void *p);

void *malloc(size_t n)
{
	void *p = __libc_malloc(n);
	tide_alloc(1, (uintptr_t)p, n, 0);
	return p;
}

void *calloc(size_t n, size_t m)
{
	void *p = __libc_calloc(n, m);
	tide_alloc(1, (uintptr_t)p, n * m, 0);
	return p;
}

void *realloc(void *p, size_t n)
{
	tide_free(1, (uintptr_t)p);
	p = __libc_realloc(p, n);
	tide_alloc(1, (uintptr_t)p, n, 0);
	return p;
}

void free(void *p)
{
	tide_free(1, (uintptr_t)p);
	__libc_free(p);
}

static void *thread(void *arg)
{
	for (int i = 0; i < 1000; i++)
		free(malloc(64));
	return NULL;
}

static void churn(void)
{
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	for (int round = 0; round < 5; round++) {
		if (tide_start(argv[1], NULL, NULL) != TIDE_OK)
			return 1;
		tide_pool_open(tide_device_open(TIDE_DEVICE_HOST, 0, "cpu", 0), TIDE_POOL_HEAP,
			       "heap", 0);
		churn();
		pid_t pid = fork();
		if (pid == 0) {
			churn();
			exit(0);
		}
		int status = 1;
		if (waitpid(pid, &status, 0) != pid || status != 0)
			return 1;
		if (round < 4 && tide_stop(NULL) != TIDE_OK)
			return 1;
	}
	return 0; /* exit stops the last one */
}
