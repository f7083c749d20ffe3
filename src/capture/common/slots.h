// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The slots of global offset tables through which loaded libraries call functions of others.
 *
 * Slots are words written atomically: threads that call at that moment use the old or the new
 * address, and both are valid. Allocates nothing. */
#ifndef TIDE_CAPTURE_COMMON_SLOTS_H
#define TIDE_CAPTURE_COMMON_SLOTS_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tide_object {
	const char *path; /* borrowed for the visit */
	uintptr_t base;
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Rela) * tables[2]; /* calls, data */
	size_t n[2];
	uintptr_t relro, relro_end; /* read-only after relocation */
	uintptr_t begin, end;
} tide_object;

/* Returns the function that takes the place of the one with this name; 0 = none does. */
typedef uintptr_t tide_slot_hook(const char *name);
/* Called for a slot of such a name. Returns the number to add to the walk's result. */
typedef int tide_slot_visit(const tide_object *o, uintptr_t *slot, uintptr_t hook);

/* Visits the slots of all loaded libraries. Returns the sum of their results. */
__attribute__((visibility("hidden"))) int tide__slots_walk(tide_slot_hook *hook,
							   tide_slot_visit *visit);
/* Writes a slot, also one that is read-only. Returns false if that is not possible. */
__attribute__((visibility("hidden"))) bool tide__slot_put(const tide_object *o, uintptr_t *slot,
							  uintptr_t value);

#endif
