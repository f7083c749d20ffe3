// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Difficult programs for `tidemark run --heap`: matrix_prog WAY. With -DPLUGIN it is the library
 * that `plugin` loads and unloads, with -DOWN a program with a malloc of its own. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void *keep_some(size_t n);
extern void *volatile last_kept;

#ifdef OWN
static char arena[1 << 20];
static size_t used;
void *malloc(size_t n)
{
	used = (used + 15) & ~(size_t)15;
	void *p = used + n <= sizeof arena ? arena + used : NULL;
	used += n;
	return p;
}
void free(void *p)
{
	(void)p;
}
void *calloc(size_t n, size_t size)
{
	return memset(malloc(n * size), 0, n * size);
}
void *realloc(void *p, size_t n)
{
	void *q = malloc(n);
	return p && q ? memcpy(q, p, n) : q;
}
#endif

void *volatile last_kept;

__attribute__((noinline)) void *keep_some(size_t n)
{
	void *p = malloc(n);
	last_kept = memset(p, 1, n);
	return p;
}

#ifdef EARLY /* of a library: it runs before those of preloaded ones */
__attribute__((constructor)) static void early(void)
{
	keep_some(7777);
}
#endif

#ifndef PLUGIN
static void *one_thread(void *unused)
{
	for (int i = 0; i < 50; i++)
		free(keep_some(100));
	keep_some(64);
	return unused;
}

static int threads(void)
{
	enum { N = 1000 };
	static pthread_t t[N];
	pthread_attr_t a;
	int made = 0;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 64 << 10);
	for (int i = 0; i < N; i++)
		made += pthread_create(&t[i], &a, one_thread, NULL) == 0;
	for (int i = 0; i < N; i++)
		pthread_join(t[i], NULL);
	return made == N ? 0 : 3;
}

/* Code whose frames are in stacks is unloaded, and other code is loaded. */
static int plugin(const char *path)
{
	void *kept[200];
	for (int i = 0; i < 200; i++) {
		void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		void *f = h ? dlsym(h, "keep_some") : NULL;
		void *(*keep)(size_t);
		memcpy(&keep, &f, sizeof keep);
		if (!keep)
			return 4;
		kept[i] = keep(1000);
		dlclose(h);
		free(keep_some(50));
	}
	return kept[199] == NULL;
}

static int drops(void)
{
	keep_some(1111);
	if (setgid(65534) || setuid(65534))
		return 5;
	keep_some(2222);
	return setuid(0) == 0; /* it must not work any more */
}

/* A child that has ended when its parent ends without having waited for it. */
static int orphan(void)
{
	siginfo_t ended;
	keep_some(5);
	pid_t pid = fork();
	if (pid == 0) {
		keep_some(4321);
		_exit(0);
	}
	return waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT) != 0; /* it stays a zombie */
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	if (!strcmp(way, "threads"))
		return threads();
	if (!strcmp(way, "plugin"))
		return plugin(argv[2]);
	if (!strcmp(way, "drops"))
		return drops();
	if (!strcmp(way, "orphan"))
		return orphan();
	keep_some(3000);
	if (!strcmp(way, "address")) {
		void *(*volatile taken)(size_t) =
			malloc; /* at a fixed address: an entry of its own */
		free(taken(16));
	}
	printf("%s %d %d\n", way, (int)getuid(), (int)geteuid());
	return 0;
}
#endif
