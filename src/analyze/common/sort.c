// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/common/sort.h"

#include <string.h>

static void insertion(uint64_t *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		uint64_t x = v[i];
		size_t k = i;
		for (; k && v[k - 1] > x; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

/* Sorts by byte `shift / 8` from v to w. Returns false, without copying, if all values have the
 * same byte. */
static bool pass(const uint64_t *v, uint64_t *w, size_t n, unsigned shift)
{
	size_t at[257] = { 0 };
	for (size_t i = 0; i < n; i++)
		at[(v[i] >> shift & 255) + 1]++;
	if (at[(v[0] >> shift & 255) + 1] == n)
		return false;
	for (int b = 0; b < 256; b++)
		at[b + 1] += at[b];
	for (size_t i = 0; i < n; i++)
		w[at[v[i] >> shift & 255]++] = v[i];
	return true;
}

void tide__sort_u64(uint64_t *v, size_t n, uint64_t *scratch)
{
	if (n < 48) {
		insertion(v, n);
		return;
	}
	uint64_t all = 0, *from = v, *to = scratch;
	for (size_t i = 0; i < n; i++)
		all |= v[i];
	for (unsigned shift = 0; shift < 64 && all >> shift; shift += 8) {
		if (pass(from, to, n, shift)) {
			uint64_t *t = from;
			from = to;
			to = t;
		}
	}
	if (from != v)
		memcpy(v, from, n * sizeof *v);
}

/* ---- pairs ---- */

static bool pass_keyed(const tide_keyed *v, tide_keyed *w, size_t n, unsigned shift)
{
	size_t at[257] = { 0 };
	for (size_t i = 0; i < n; i++)
		at[(v[i].key >> shift & 255) + 1]++;
	if (at[(v[0].key >> shift & 255) + 1] == n)
		return false;
	for (int b = 0; b < 256; b++)
		at[b + 1] += at[b];
	for (size_t i = 0; i < n; i++)
		w[at[v[i].key >> shift & 255]++] = v[i];
	return true;
}

static void insertion_keyed(tide_keyed *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		tide_keyed x = v[i];
		size_t k = i;
		for (; k && v[k - 1].key > x.key; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

void tide__sort_keyed(tide_keyed *v, size_t n, tide_keyed *scratch)
{
	if (n < 48) {
		insertion_keyed(v, n);
		return;
	}
	uint64_t all = 0;
	tide_keyed *from = v, *to = scratch;
	for (size_t i = 0; i < n; i++)
		all |= v[i].key;
	for (unsigned shift = 0; shift < 64 && all >> shift; shift += 8) {
		if (pass_keyed(from, to, n, shift)) {
			tide_keyed *t = from;
			from = to;
			to = t;
		}
	}
	if (from != v)
		memcpy(v, from, n * sizeof *v);
}
