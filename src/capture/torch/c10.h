// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Functions of the PyTorch that is loaded, by symbol: the originals of what we take over, and what
 * we ask it.
 *
 * Found when one of them is first asked for, all at once, in the library that defines them
 * (RTLD_NEXT knows nothing of them where Python has loaded PyTorch's libraries privately): that
 * takes the loader's lock, which a report of memory, inside of an allocator's, better does not. */
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

/* Look for it; NULL: it is not there (yet). */
void *tide__c10_find(int which);

/* Is it one of them that was found? */
bool tide__c10_is(uintptr_t f);

static inline void *tide__c10(int which)
{
	void *p = atomic_load_explicit(&tide__c10_found[which], memory_order_acquire);
	return __builtin_expect(p != NULL, 1) ? p : tide__c10_find(which);
}

/* POSIX lets dlsym's pointer be a function's; ISO C has no cast for it. */
#define TIDE_AS_FUNCTION(type, pointer) \
	((union {                       \
		 void *p;               \
		 type *f;               \
	 }){ .p = (pointer) }           \
		 .f)
#define TIDE_C10(type, which) TIDE_AS_FUNCTION(type, tide__c10(which))
/* If it was found before, else NULL. */
#define TIDE_C10_KNOWN(type, which) \
	TIDE_AS_FUNCTION(type, atomic_load_explicit(&tide__c10_found[which], memory_order_acquire))

#endif
