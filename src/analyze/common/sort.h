// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Sorts plain numbers in linear time. */
#ifndef TIDE_ANALYZE_COMMON_SORT_H
#define TIDE_ANALYZE_COMMON_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sorts n numbers in ascending order; `scratch` holds n more. Radix sort by byte; a byte
 * position with a constant value costs one counting pass. Short lists use insertion sort. */
void tide__sort_u64(uint64_t *v, size_t n, uint64_t *scratch);

/* The same for numbers with a payload; stable. */
typedef struct tide_keyed {
	uint64_t key, id;
} tide_keyed;
void tide__sort_keyed(tide_keyed *v, size_t n, tide_keyed *scratch);

#endif
