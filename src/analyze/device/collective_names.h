// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Name tables: communication kernels, custom collectives, collectives and their bus factors. */
#ifndef TIDE_ANALYZE_DEVICE_COLLECTIVE_NAMES_H
#define TIDE_ANALYZE_DEVICE_COLLECTIVE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns true if a kernel's name is that of a communication library's collective. */
bool tide__comm_name(const char *name);

/* Returns true for kernels that exchange data between devices without a communication library;
 * `extra` adds name parts. They count as compute and are also listed separately. To add a new one,
 * add a line to the table. */
bool tide__is_custom_collective(const char *name, const char *const *extra, size_t n_extra);

/* How a collective moves data. bytes = elements (in or out) x element size; bus bytes = bytes x
 * num (n - 1) / n for num > 0, else bytes; n = group size. */
typedef struct tide_collective_kind {
	const char *name; /* contained in the collective's name, letters only, lower case */
	bool out;	  /* message size is the output's, else the input's */
	unsigned num;	  /* 2 all-reduce; 1 gather/scatter/all-to-all; 0 broadcast, reduce, send */
	bool pair;	  /* between two ranks */
} tide_collective_kind;
/* Returns NULL for an unknown name: its bytes stay unknown. */
const tide_collective_kind *tide__collective_kind(const char *name);
/* Returns bytes x factor, rounded down; n = 0 means unknown and returns bytes. */
uint64_t tide__bus_bytes(const tide_collective_kind *k, uint64_t bytes, uint64_t n);

/* Returns the bytes of one element of a dtype as spelled in collective arguments (Float,
 * BFloat16 ...); 0 = unknown. */
unsigned tide__collective_dtype_bytes(const char *dtype);

#endif
