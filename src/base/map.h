// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A map from uint64_t to a non-zero uint32_t: open addressing, linear probing, at most half full.
 * Zero-initialise it; free with tide__map_free. Deletion moves followers back, so that a map with
 * much churn (live addresses) stays as fast as a fresh one. The hash is seeded per process
 * (seed.h), so no input can choose colliding keys. */
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

/* Returns the value of key, 0 if absent. */
static inline uint32_t tide__map_get(const tide_map *m, uint64_t key);
/* Sets key to val (not 0). Returns false if memory runs out; the map is then unchanged. */
bool tide__map_put(tide_map *m, uint64_t key, uint32_t val);
/* Removes key. Returns its value, 0 if it was absent. */
uint32_t tide__map_del(tide_map *m, uint64_t key);
/* Makes *to (overwritten) an independent copy. Returns false if memory runs out; *to is then
 * empty. */
bool tide__map_copy(tide_map *to, const tide_map *from);
/* Bytes of memory in use by the map. */
size_t tide__map_bytes(const tide_map *m);
void tide__map_free(tide_map *m);

/* A 64-bit finalizer: each bit of x affects every bit of the result. */
static inline uint64_t tide__mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	return x ^ (x >> 32);
}

/* The key's slot if there is no collision. */
static inline size_t tide__map_home(const tide_map *m, uint64_t key)
{
	return tide__mix(key ^ m->seed) & m->mask;
}

/* The slot of the key, or the free slot where it would go. The map must have slots. */
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
