// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Sorting plain numbers in linear time. */
#ifndef TIDE_ANALYZE_COMMON_SORT_H
#define TIDE_ANALYZE_COMMON_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sort n numbers upwards; `scratch` has room for n more. Radix, a byte at a time; bytes that are
 * the same everywhere cost one counting pass. Short lists are sorted by insertion. */
void tide__sort_u64(uint64_t *v, size_t n, uint64_t *scratch);

/* The same for numbers that carry another along; equal ones keep their order. */
typedef struct tide_keyed {
	uint64_t key, id;
} tide_keyed;
void tide__sort_keyed(tide_keyed *v, size_t n, tide_keyed *scratch);

#endif
