// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A map from uint64_t to a non-zero uint32_t: open addressing, linear probing, at most half full.
 * Zero-initialise it; free with tide__map_free. Deletion moves followers back, so that a map with
 * much churn (live addresses) stays as fast as a fresh one. Where a key lies depends on a number
 * drawn for the process (seed.h), so no input can choose keys that meet. */
#ifndef TIDE_BASE_MAP_H
#define TIDE_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tide_map {
	uint64_t *keys;
	uint32_t *vals; /* 0 = free slot */
	size_t mask;	/* slots - 1; 0 before the first put */
	size_t n;
	uint64_t seed;
} tide_map;

/* Value of key, 0 if it is not there. */
static inline uint32_t tide__map_get(const tide_map *m, uint64_t key);
/* Set key to val (not 0). False on exhaustion; the map stays as it was. */
bool tide__map_put(tide_map *m, uint64_t key, uint32_t val);
/* Remove key; its value, 0 if it was not there. */
uint32_t tide__map_del(tide_map *m, uint64_t key);
/* A copy of its own into *to, which is overwritten; false on exhaustion, and *to is empty. */
bool tide__map_copy(tide_map *to, const tide_map *from);
/* Bytes it holds. */
size_t tide__map_bytes(const tide_map *m);
void tide__map_free(tide_map *m);

/* A 64-bit finalizer: every bit of x moves every bit of the result. */
static inline uint64_t tide__mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	return x ^ (x >> 32);
}

/* Where a key lies if nothing is in its way. */
static inline size_t tide__map_home(const tide_map *m, uint64_t key)
{
	return tide__mix(key ^ m->seed) & m->mask;
}

/* The slot that has the key, or the free one where it would go; only of a map that has slots. */
static inline size_t tide__map_slot(const tide_map *m, uint64_t key)
{
	size_t i = tide__map_home(m, key);
	while (m->vals[i] && m->keys[i] != key)
		i = (i + 1) & m->mask;
	return i;
}

static inline uint32_t tide__map_get(const tide_map *m, uint64_t key)
{
	return m->vals ? m->vals[tide__map_slot(m, key)] : 0;
}

#endif
