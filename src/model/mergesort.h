// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Sorts an array of row numbers, stable, fast if the rows are already in runs (as in traces: each
 * thread's events are in order). Merge sort over natural runs, O(n log runs); `tmp` has room for n.
 * `less` is a constant at every call, so it is inlined. */
#ifndef TIDE_MODEL_MERGESORT_H
#define TIDE_MODEL_MERGESORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef bool tide_less(const void *ctx, uint32_t a, uint32_t b);

/* Returns the end of the run that begins at i: at least 12 rows, extended by insertion sort if the
 * natural run is shorter. */
static inline __attribute__((always_inline)) size_t tide__run(uint32_t *v, size_t i, size_t n,
							      tide_less *less, const void *ctx)
{
	size_t e = i + 1;
	while (e < n && !less(ctx, v[e], v[e - 1]))
		e++;
	for (; e < n && e - i < 12; e++) {
		uint32_t x = v[e];
		size_t j = e;
		for (; j > i && less(ctx, x, v[j - 1]); j--)
			v[j] = v[j - 1];
		v[j] = x;
	}
	return e;
}

/* Merges v[a..m) and v[m..e). */
static inline __attribute__((always_inline)) void tide__merge(uint32_t *v, uint32_t *tmp, size_t a,
							      size_t m, size_t e, tide_less *less,
							      const void *ctx)
{
	if (!less(ctx, v[m], v[m - 1]))
		return;
	size_t n = m - a, i = 0, j = m, o = a;
	memcpy(tmp, v + a, n * sizeof *tmp);
	while (i < n && j < e)
		v[o++] = less(ctx, v[j], tmp[i]) ? v[j++] : tmp[i++];
	memcpy(v + o, tmp + i, (n - i) * sizeof *tmp);
}

static inline __attribute__((always_inline)) void
tide__mergesort(uint32_t *v, uint32_t *tmp, size_t n, tide_less *less, const void *ctx)
{
	size_t at[96], end[96],
		depth = 0; /* runs not yet merged; each at least as long as the next */
	for (size_t i = 0; i < n || depth > 1;) {
		bool more = i < n;
		if (more) {
			at[depth] = i;
			i = end[depth] = tide__run(v, i, n, less, ctx);
			depth++;
		}
		while (depth > 1 && (!more || end[depth - 2] - at[depth - 2] <=
						      2 * (end[depth - 1] - at[depth - 1]))) {
			tide__merge(v, tmp, at[depth - 2], at[depth - 1], end[depth - 1], less,
				    ctx);
			end[depth - 2] = end[depth - 1];
			depth--;
		}
	}
}

#endif
