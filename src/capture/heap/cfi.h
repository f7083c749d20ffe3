// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds how to unwind a function: the unwind table's row for one instruction (x86-64, .eh_frame).
 *
 * Reads the tables that compilers emit for exceptions in every mapped object. Allocates nothing,
 * takes no lock if glibc has _dl_find_object (2.35), and never reads a table's program beyond its
 * bounds: an unsupported table gives TIDE_CFI_NONE. */
#ifndef TIDE_CAPTURE_HEAP_CFI_H
#define TIDE_CAPTURE_HEAP_CFI_H

#include <stdbool.h>
#include <stdint.h>

enum {			/* where the canonical frame address (the caller's stack pointer) is */
       TIDE_CFI_NONE,	/* no table, or an unsupported one */
       TIDE_CFI_SP,	/* stack pointer + cfa */
       TIDE_CFI_FP,	/* frame pointer + cfa */
       TIDE_CFI_DEREF,	/* the value stored at frame pointer + cfa */
       TIDE_CFI_SIGNAL, /* a signal frame: the registers are in the ucontext at the stack pointer */
       TIDE_CFI_END,	/* the outermost frame */
};

typedef struct tide_cfi {
	uint8_t kind;
	bool fp_saved; /* the caller's frame pointer is stored at CFA + fp; else it is unchanged */
	int32_t cfa;
	int32_t fp;
} tide_cfi;

/* A mapped object. */
typedef struct tide_module {
	uintptr_t start, end; /* of its mapping */
	uintptr_t base;	      /* base of its addresses */
	const char *path;     /* "" = the program itself; borrowed until it is unloaded */
	const uint8_t *table; /* .eh_frame_hdr, NULL = none */
} tide_module;

/* Finds the module that contains `pc`; returns false if none does (code generated at run time). */
bool tide__module_find(uintptr_t pc, tide_module *out);

/* Returns the row for the instruction at `pc` of module `m`. */
tide_cfi tide__cfi_find(const tide_module *m, uintptr_t pc);
/* Gets the first and last + 1 address of the function that contains `pc`, by its table; returns
 * false if unknown. */
bool tide__cfi_find_function(const tide_module *m, uintptr_t pc, uintptr_t *start, uintptr_t *end);

#endif
