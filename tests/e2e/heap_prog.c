// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Uses the heap in every possible way, for heap_run.py: heap_prog WHAT. */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept[100000];

__attribute__((noinline)) static void leak_here(int n, size_t size)
{
	for (int i = 0; i < n; i++)
		kept[i] = malloc(size);
}

__attribute__((noinline)) static void temporaries(int n)
{
	for (int i = 0; i < n; i++)
		free(malloc(64 + (size_t)i % 7));
}

/* 1000 blocks of 100 bytes stay, 5000 temporary ones. */
static int leak(void)
{
	leak_here(1000, 100);
	temporaries(5000);
	return 0;
}

/* Every way to allocate and to free; nothing stays. */
static int family(void)
{
	void *p[9] = { 0 };
	p[0] = calloc(10, 100);
	p[1] = realloc(malloc(10), 20000);
	p[1] = realloc(p[1], 30);
	if (posix_memalign(&p[2], 64, 1000))
		return 1;
	p[3] = aligned_alloc(64, 640);
	p[4] = memalign(128, 300);
	p[5] = valloc(5000);
	p[6] = reallocarray(NULL, 7, 11);
	p[7] = strdup("text");
	if (reallocarray(NULL, (size_t)-1, 16) || realloc(malloc(8), (size_t)1 << 60))
		return 1;
	for (int i = 0; i < 9; i++)
		free(p[i]);
	return malloc_usable_size(NULL) != 0;
}

/* 1000 blocks grow from 256 to 300 KiB; every second one is freed. */
__attribute__((noinline)) static int grow_here(void)
{
	for (int i = 0; i < 1000; i++) {
		kept[i] = malloc(256 << 10);
		kept[i] = realloc(kept[i], 300 << 10);
	}
	for (int i = 0; i < 1000; i += 2)
		free(kept[i]);
	return 0;
}

__attribute__((noinline)) static int all_are(const char *p, size_t n, int c)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != c)
			return 0;
	return 1;
}

/* Blocks of every kind with what must be in them, enough for samples among each; all are freed. */
__attribute__((noinline)) static int mixed_here(void)
{
	enum { N = 20000 };
	void *p;
	int wrong = 0;
	for (int i = 0; i < N; i++)
		kept[i] = memset(malloc(40 + (size_t)i % 200), 7, 40);
	for (int i = 0; i < N; i++) {
		kept[i] = realloc(kept[i], 300);
		wrong += !all_are(kept[i], 40, 7);
		free(kept[i]);
	}
	for (int i = 0; i < N; i++) {
		kept[i] = calloc(2, 150);
		wrong += !all_are(kept[i], 300, 0);
		memset(kept[i], 1, 300);
	}
	for (int i = 0; i < N; i++)
		free(kept[i]);
	for (int i = 0; i < 300; i++) {
		wrong += posix_memalign(&p, 64, 500000) != 0 || (size_t)p % 64;
		memset(p, 2, 500000);
		free(p);
		p = calloc(1, 300000);
		wrong += !all_are(p, 300000, 0);
		p = realloc(memset(p, 3, 300000), 900000);
		wrong += !all_are(p, 300000, 3) || malloc_usable_size(p) < 900000;
		free(p);
	}
	wrong += posix_memalign(&p, 24, 5000000) == 0; /* no power of two */
	return wrong != 0;
}

static int grow(void)
{
	return grow_here() || mixed_here();
}

/* C++'s operators, if a library has them (own_new.c): 300 blocks, 100 of them deleted. */
extern void *_Znwm(size_t n) __attribute__((weak));
extern void *_Znam(size_t n) __attribute__((weak));
extern void *_ZnwmSt11align_val_t(size_t n, size_t align) __attribute__((weak));
extern void _ZdlPv(void *p) __attribute__((weak));
extern void _ZdlPvm(void *p, size_t n) __attribute__((weak));

__attribute__((noinline)) static int operators_here(void)
{
	if (!_Znwm || !_Znam || !_ZnwmSt11align_val_t || !_ZdlPv || !_ZdlPvm)
		return 2;
	for (int i = 0; i < 300; i++)
		kept[i] = i % 3 == 0   ? _Znwm(1000)
			  : i % 3 == 1 ? _Znam(1000)
				       : _ZnwmSt11align_val_t(1000, 64);
	for (int i = 0; i < 50; i++) {
		_ZdlPv(kept[i]);
		_ZdlPvm(kept[50 + i], 1000);
	}
	return 0;
}

static void *asker(void *arg)
{
	pthread_attr_t a;
	*(int *)arg = pthread_getattr_np(pthread_self(), &a);
	return *(int *)arg || pthread_attr_destroy(&a) ? NULL : arg;
}

/* The first heap calls of these threads are libc's own, under the thread's lock. */
static int attrs(void)
{
	pthread_t t;
	void *p = NULL;
	for (int i = 0, rc; i < 20; i++)
		if (pthread_create(&t, NULL, asker, &rc) || pthread_join(t, &p) || !p)
			return 1;
	return 0;
}

static void *worker(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++)
		free(malloc(1000));
	return malloc(10); /* freed by another thread */
}

/* 1000 threads, at most 100 at once. */
static int threads(void)
{
	pthread_t t[100];
	void *p;
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 100; i++)
			if (pthread_create(&t[i], NULL, worker, NULL))
				return 1;
		for (int i = 0; i < 100; i++) {
			pthread_join(t[i], &p);
			free(p);
		}
	}
	return 0;
}

static int forks(void)
{
	leak_here(10, 1000);
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			leak_here(20, 500);
			if (i == 2)
				_exit(0);
			exit(0);
		}
		waitpid(pid, NULL, 0);
	}
	return 0;
}

static int execs(char **argv)
{
	char word[] = "leak", *again[] = { argv[0], word, NULL };
	leak_here(5, 77);
	execv(argv[0], again);
	return 1;
}

static void in_handler(int sig)
{
	(void)sig;
	free(malloc(33)); /* not allowed by POSIX, and done everywhere */
}

static int signals(void)
{
	struct itimerval often = { { 0, 500 }, { 0, 500 } };
	struct sigaction on = { .sa_handler = in_handler, .sa_flags = SA_RESTART };
	sigaction(SIGUSR1, &on, NULL);
	(void)often;
	for (int i = 0; i < 2000; i++) {
		temporaries(10);
		raise(SIGUSR1); /* between calls: libc's own heap stays sound */
	}
	return 0;
}

static int closes(void)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	leak_here(100, 1000);
	temporaries(100000);
	return 0;
}

static int corrupts(void)
{
	leak_here(50, 200);
	char *p = malloc(24);
	free(p);
	free(p); /* libc aborts inside free */
	return 0;
}

static int ends_at_once(void)
{
	leak_here(30, 300);
	_exit(7);
}

static int many(void)
{
	leak_here(10, 100);
	temporaries(1700000);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	static const struct {
		const char *name;
		int (*run)(void);
	} all[] = { { "leak", leak },
		    { "family", family },
		    { "grow", grow },
		    { "attrs", attrs },
		    { "operators", operators_here },
		    { "threads", threads },
		    { "forks", forks },
		    { "signals", signals },
		    { "closes", closes },
		    { "many", many },
		    { "corrupts", corrupts },
		    { "_exit", ends_at_once } };
	if (!strcmp(what, "execs"))
		return execs(argv);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (!strcmp(what, all[i].name))
			return all[i].run();
	return 99;
}
