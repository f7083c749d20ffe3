// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The binary search, for tables of columns and for computed keys, which bsearch() cannot read. */
#ifndef TIDE_BASE_SEARCH_H
#define TIDE_BASE_SEARCH_H

/* Moves `at` to the first index up to `end` for which `before`, an expression of `mid`, is false. It
 * is true for a first part of [at, end) and false for the rest. Example, the first time after t:
 *
 *     size_t at = 0;
 *     TIDE_SEARCH(at, n, mid, time[mid] <= t);
 */
#define TIDE_SEARCH(at, end, mid, before)                                \
	for (__typeof__(at) tide_end_ = (end), mid; (at) < tide_end_;) { \
		(mid) = (__typeof__(at))((at) + (tide_end_ - (at)) / 2); \
		if (before)                                              \
			(at) = (mid) + 1;                                \
		else                                                     \
			tide_end_ = (mid);                               \
	}

#endif
