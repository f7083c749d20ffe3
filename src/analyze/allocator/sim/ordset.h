// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* An ordered set of (major, minor) keys with a value each: the free blocks of an allocator, by
 * (size, address) or by (address, size).
 *
 * Sorted chunks of at most 64 entries under one sorted array of their first keys: a search is two
 * binary searches over contiguous memory, an insertion moves at most one chunk. That is faster than
 * a tree of nodes at the sizes allocators have (tens to tens of thousands of free blocks).
 * Zero-initialise; one thread at a time. A position is valid until the set changes. */
#ifndef TIDE_ANALYZE_ALLOCATOR_SIM_ORDSET_H
#define TIDE_ANALYZE_ALLOCATOR_SIM_ORDSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIDE_ORD_CHUNK 64

typedef struct tide_ord {
	uint64_t major, minor;
	uint32_t value;
} tide_ord;

typedef struct tide_ord_key {
	uint64_t major, minor;
} tide_ord_key;

#define TIDE_ORD_UNKNOWN UINT64_MAX

typedef struct tide_ord_chunk {
	uint32_t n;
	uint64_t most; /* owner's bound: no entry exceeds it; UNKNOWN after an addition */
	tide_ord e[TIDE_ORD_CHUNK];
} tide_ord_chunk;

typedef struct tide_ordset {
	tide_ord_key *first;	/* first key of each chunk */
	tide_ord_chunk **chunk; /* none empty */
	size_t n_chunks, cap;
	size_t n; /* entries in all */
} tide_ordset;

typedef struct tide_ord_pos {
	size_t chunk; /* n_chunks = past the end */
	uint32_t at;
} tide_ord_pos;

/* Adds a key that is not in the set. Returns false if memory runs out; the set is then
 * unchanged. */
bool tide__ord_add(tide_ordset *s, uint64_t major, uint64_t minor, uint32_t value);
/* Removes a key; returns false if absent. */
bool tide__ord_del(tide_ordset *s, uint64_t major, uint64_t minor);
/* Position of the first entry >= key; past the end if there is none. */
tide_ord_pos tide__ord_lower(const tide_ordset *s, uint64_t major, uint64_t minor);
tide_ord_pos tide__ord_first(const tide_ordset *s);
/* Marks the chunk of this key, or of the key before it, as changed: its `most` becomes unknown. */
void tide__ord_touch(tide_ordset *s, uint64_t major, uint64_t minor);
/* The entry at a position, NULL past the end. Borrowed until the set changes. */
const tide_ord *tide__ord_at(const tide_ordset *s, tide_ord_pos p);
tide_ord_pos tide__ord_next(const tide_ordset *s, tide_ord_pos p);
/* The entry before a position (which may be past the end), NULL at the beginning. */
const tide_ord *tide__ord_before(const tide_ordset *s, tide_ord_pos p);
/* The largest entry, NULL when empty. */
const tide_ord *tide__ord_last(const tide_ordset *s);
void tide__ord_free(tide_ordset *s);

#endif
