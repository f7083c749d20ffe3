// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* operator new and delete of jemalloc, tcmalloc, mimalloc and others.
 *
 * libstdc++'s operators call malloc and free, where they are recorded. A library that replaces
 * malloc often has operators of its own, which do not call its malloc. They cannot be replaced by
 * functions of the same name, as malloc is, because we would hide the operators of a library that
 * is loaded later. Instead, if malloc's library has them, the slots through which the loaded
 * libraries call them are pointed at the functions here. Libraries loaded later are not seen.
 *
 * The operators take up to 3 words; each is called with all 3, whether it uses them or not.
 * Compiled with frame pointers, as record.c is. */
#include "capture/heap/heap.h"

#include <dlfcn.h>
#include <string.h>

#include "capture/common/slots.h"

typedef void *op(uintptr_t first, uintptr_t second, uintptr_t third);

#define NEWS(X)                                    \
	X(0, "_Znwm")                              \
	X(1, "_Znam")                              \
	X(2, "_ZnwmRKSt9nothrow_t")                \
	X(3, "_ZnamRKSt9nothrow_t")                \
	X(4, "_ZnwmSt11align_val_t")               \
	X(5, "_ZnamSt11align_val_t")               \
	X(6, "_ZnwmSt11align_val_tRKSt9nothrow_t") \
	X(7, "_ZnamSt11align_val_tRKSt9nothrow_t")

#define DELETES(X)                                   \
	X(8, "_ZdlPv")                               \
	X(9, "_ZdaPv")                               \
	X(10, "_ZdlPvm")                             \
	X(11, "_ZdaPvm")                             \
	X(12, "_ZdlPvRKSt9nothrow_t")                \
	X(13, "_ZdaPvRKSt9nothrow_t")                \
	X(14, "_ZdlPvSt11align_val_t")               \
	X(15, "_ZdaPvSt11align_val_t")               \
	X(16, "_ZdlPvmSt11align_val_t")              \
	X(17, "_ZdaPvmSt11align_val_t")              \
	X(18, "_ZdlPvSt11align_val_tRKSt9nothrow_t") \
	X(19, "_ZdaPvSt11align_val_tRKSt9nothrow_t")

enum { FIRST_NEW = 0, FIRST_DELETE = 8, OPERATORS = 20 };
static op *real[OPERATORS]; /* NULL: not the allocator's */
static uintptr_t allocator; /* where malloc's library begins */

/* Some operators call a function of the malloc family after all, as jemalloc's aligned ones do: then
 * the bytes were counted there. */
#define X(i, name)                                                                          \
	static void *new_##i(uintptr_t n, uintptr_t a, uintptr_t b)                         \
	{                                                                                   \
		int64_t before = tide__heap_self.left;                                      \
		tide__heap_self.last = NULL;                                                \
		void *p = real[i](n, a, b);                                                 \
		bool counted = tide__heap_self.left != before || tide__heap_self.last == p; \
		if (!counted && (tide__heap_self.left -= (int64_t)n) < 0)                   \
			tide__heap_made(p, (size_t)n, TIDE_WALK_HERE());                    \
		return p;                                                                   \
	}
NEWS(X)
#undef X

#define X(i, name)                                                     \
	static void *delete_##i(uintptr_t p, uintptr_t a, uintptr_t b) \
	{                                                              \
		if (!tide__heap_passes((void *)p))                     \
			tide__heap_gone((void *)p);                    \
		return real[i](p, a, b);                               \
	}
DELETES(X)
#undef X

static const struct {
	const char *name;
	op *hook;
} operators[OPERATORS] = {
#define X(i, name) [i] = { name, new_##i },
	NEWS(X)
#undef X
#define X(i, name) [i] = { name, delete_##i },
		DELETES(X)
#undef X
};

static uintptr_t hook_for(const char *name)
{
	if (strncmp(name, "_Zn", 3) != 0 && strncmp(name, "_Zd", 3) != 0)
		return 0;
	for (int i = 0; i < OPERATORS; i++)
		if (real[i] && !strcmp(name, operators[i].name))
			return (uintptr_t)operators[i].hook;
	return 0;
}

/* Replaces a slot, except in the allocator's own library: its calls belong to calls that are
 * recorded. */
static int take(const tide_object *o, uintptr_t *slot, uintptr_t hook)
{
	return !(allocator >= o->begin && allocator < o->end) && tide__slot_put(o, slot, hook);
}

/* Returns where the library of a function begins; 0: unknown. */
static uintptr_t home(void *f)
{
	Dl_info i;
	return f && dladdr(f, &i) ? (uintptr_t)i.dli_fbase : 0;
}

/* Finds an operator of the allocator. Returns false if another library, or none, has it. */
static bool find(int i)
{
	void *f = dlsym(RTLD_DEFAULT, operators[i].name);
	if (!f || home(f) != allocator)
		return false;
	memcpy(&real[i], &f, sizeof f);
	return true;
}

void tide__operators_start(void)
{
	void *f;
	memcpy(&f, &tide__real.malloc, sizeof f);
	allocator = home(f);
	if (!allocator || !find(FIRST_NEW) || !find(FIRST_DELETE))
		return;
	for (int i = 0; i < OPERATORS; i++)
		find(i);
	tide__slots_walk(hook_for, take);
}
