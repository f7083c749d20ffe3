// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* An ordered map from uint64_t to uint32_t, for address ranges and their neighbours.
 *
 * Keys lie sorted in leaves of at most TIDE__LEAF entries; an array of leaves lies over them.
 * Finding is two binary searches, inserting moves at most one leaf's worth of entries, so n
 * operations cost O(n log n) compares whatever the order of the keys: hostile input cannot make it
 * slow. For the few thousand blocks of an allocator everything stays in the cache, which is why it
 * is not a tree.
 *
 * Zero-initialise it; free with tide__sorted_free. A position is valid until the next put, or del
 * of it or of one before it.
 */
#ifndef TIDE_BASE_SORTED_H
#define TIDE_BASE_SORTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIDE__LEAF 256

typedef struct tide_sorted_leaf {
	uint32_t n; /* >= 1 */
	uint32_t vals[TIDE__LEAF];
	uint64_t keys[TIDE__LEAF];
} tide_sorted_leaf;

typedef struct tide_sorted {
	tide_sorted_leaf **leaves; /* in key order, none empty */
	uint64_t *first;	   /* first key of each leaf */
	size_t n_leaves, cap_leaves;
	size_t n;
} tide_sorted;

typedef struct tide_sorted_pos {
	size_t leaf; /* == n_leaves: no entry */
	size_t at;
} tide_sorted_pos;

/* The entry with the largest key <= key; the smallest key >= key. */
tide_sorted_pos tide__sorted_floor(const tide_sorted *s, uint64_t key);
tide_sorted_pos tide__sorted_ceil(const tide_sorted *s, uint64_t key);

static inline bool tide__sorted_ok(const tide_sorted *s, tide_sorted_pos p)
{
	return p.leaf < s->n_leaves;
}
static inline uint64_t tide__sorted_key(const tide_sorted *s, tide_sorted_pos p)
{
	return s->leaves[p.leaf]->keys[p.at];
}
static inline uint32_t tide__sorted_val(const tide_sorted *s, tide_sorted_pos p)
{
	return s->leaves[p.leaf]->vals[p.at];
}

/* Returns the position that means "no entry". */
static inline tide_sorted_pos tide__sorted_none(const tide_sorted *s)
{
	return (tide_sorted_pos){ s->n_leaves, 0 };
}
/* The next and the previous entry; no entry if there is none. */
static inline tide_sorted_pos tide__sorted_next(const tide_sorted *s, tide_sorted_pos p)
{
	if (!tide__sorted_ok(s, p))
		return p;
	bool here = p.at + 1 < s->leaves[p.leaf]->n;
	return (tide_sorted_pos){ p.leaf + !here, here ? p.at + 1 : 0 };
}
static inline tide_sorted_pos tide__sorted_prev(const tide_sorted *s, tide_sorted_pos p)
{
	if (p.at || !tide__sorted_ok(s, p))
		return (tide_sorted_pos){ p.leaf, p.at - (p.at > 0) };
	return p.leaf ? (tide_sorted_pos){ p.leaf - 1, s->leaves[p.leaf - 1]->n - 1 }
		      : tide__sorted_none(s);
}

/* Sets key to val. Returns false if memory runs out; the map is then unchanged. */
bool tide__sorted_put(tide_sorted *s, uint64_t key, uint32_t val);
/* Removes the entry at p, which must be one. */
void tide__sorted_del_at(tide_sorted *s, tide_sorted_pos p);
/* Removes key. Returns false if it was absent. */
bool tide__sorted_del(tide_sorted *s, uint64_t key);
void tide__sorted_free(tide_sorted *s);

#endif
