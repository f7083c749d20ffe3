// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A library that somebody else preloads: it counts calls of malloc and says so at the end. */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Atomic long calls;

__attribute__((visibility("default"))) void *malloc(size_t n)
{
	static void *(*real)(size_t);
	void *f = real ? NULL : dlsym(RTLD_NEXT, "malloc");
	if (f)
		memcpy(&real, &f, sizeof f);
	atomic_fetch_add(&calls, 1);
	return real(n);
}

__attribute__((destructor)) static void say(void)
{
	static const char text[] = "the other library counted\n";
	/* `tidemark run`, which has the variable too, is not the program. */
	if (strcmp(program_invocation_short_name, "tidemark") != 0 && atomic_load(&calls) > 0 &&
	    write(1, text, sizeof text - 1) < 0)
		_exit(1);
}
