// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds functions of the loaded PyTorch by symbol: the originals of hooked functions, and functions
 * the hooks call.
 *
 * All are looked up at once, on first use, in the library that defines them (RTLD_NEXT does not
 * find them if Python loaded PyTorch's libraries privately). The lookup takes the loader's lock,
 * which another thread may hold while it waits for the allocator's lock; so none is looked up
 * inside an allocator's memory report. */
#ifndef TIDE_CAPTURE_TORCH_C10_H
#define TIDE_CAPTURE_TORCH_C10_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	TIDE_C10_ALLOC,
	TIDE_C10_FREE,
	TIDE_C10_REPORT,
	TIDE_C10_OOM,
	TIDE_C10_TYPE_NAME,
	TIDE_C10_TYPE_VALID,
	TIDE_C10_N
};

extern _Atomic(void *) tide__c10_found[TIDE_C10_N]
	__attribute__((visibility("hidden"), aligned(64)));

/* Looks it up; returns NULL if it does not exist (yet). */
void *tide__c10_find(int which);

/* Returns true if it is one of the functions found. */
bool tide__c10_is(uintptr_t f);

static inline void *tide__c10(int which)
{
	void *p = atomic_load_explicit(&tide__c10_found[which], memory_order_acquire);
	return __builtin_expect(p != NULL, 1) ? p : tide__c10_find(which);
}

/* POSIX allows dlsym to return a function pointer; ISO C has no cast for it. */
#define TIDE_AS_FUNCTION(type, pointer) \
	((union {                       \
		 void *p;               \
		 type *f;               \
	 }){ .p = (pointer) }           \
		 .f)
#define TIDE_C10(type, which) TIDE_AS_FUNCTION(type, tide__c10(which))
/* Returns it if it was found before, else NULL. */
#define TIDE_C10_KNOWN(type, which) \
	TIDE_AS_FUNCTION(type, atomic_load_explicit(&tide__c10_found[which], memory_order_acquire))

#endif
