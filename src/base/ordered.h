// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* An ordered map from keys to uint32_t, also used as a set: a B+ tree of 64-key nodes. For address
 * ranges and free blocks, where neighbours matter.
 *
 * A key has one part (a uint64_t), or two: (major, minor), ordered by major, then by minor. A map
 * has keys of one sort; put, del, floor and ceil have a variant for two parts, whose name ends in
 * 2.
 *
 * Every operation is a few binary searches over contiguous keys, for any order of the keys: hostile
 * input cannot make it slow. Zero-initialise it; free with tide__ordered_free; one thread at a
 * time. Nodes are not merged when they empty out, only dropped when they are empty; the owner
 * clears and refills the map when it has shrunk a lot.
 *
 * A position is valid until the next put, or del of it or of one before it. */
#ifndef TIDE_BASE_ORDERED_H
#define TIDE_BASE_ORDERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TIDE_ORDERED_WIDTH = 64 };

typedef struct tide_ordered_node {
	uint32_t n;
	uint32_t prev, next; /* leaves: neighbours; free nodes: next = the next free one */
	uint64_t bound;	     /* leaves: the owner's (tide__ordered_leaf_bound) */
	uint64_t key[TIDE_ORDERED_WIDTH];
	uint32_t to[TIDE_ORDERED_WIDTH]; /* inner nodes: children; leaves: values */
} tide_ordered_node;

typedef struct tide_ordered {
	tide_ordered_node *nodes;	       /* node 0 is none */
	uint64_t (*minor)[TIDE_ORDERED_WIDTH]; /* per node; NULL = keys have one part */
	size_t n_nodes, cap_nodes;
	uint32_t free_node, root;
	unsigned height; /* levels of inner nodes above the leaves */
	size_t n;
} tide_ordered;

typedef struct tide_ordered_pos {
	uint32_t leaf; /* 0: no entry */
	uint32_t at;
} tide_ordered_pos;

/* Sets key to val. Returns false if memory runs out; the map is unchanged then. */
bool tide__ordered_put(tide_ordered *o, uint64_t key, uint32_t val);
/* The same for a set; adding a present key succeeds. */
static inline bool tide__ordered_add(tide_ordered *o, uint64_t key)
{
	return tide__ordered_put(o, key, 0);
}
bool tide__ordered_put2(tide_ordered *o, uint64_t major, uint64_t minor, uint32_t val);
/* Removes key. Returns false if it was not present. */
bool tide__ordered_del(tide_ordered *o, uint64_t key);
bool tide__ordered_del2(tide_ordered *o, uint64_t major, uint64_t minor);
/* Removes the entry at p, which must be one. */
void tide__ordered_del_at(tide_ordered *o, tide_ordered_pos p);

/* Return the entry with the largest key <= key; with the smallest key >= key. */
tide_ordered_pos tide__ordered_floor(const tide_ordered *o, uint64_t key);
tide_ordered_pos tide__ordered_ceil(const tide_ordered *o, uint64_t key);
tide_ordered_pos tide__ordered_floor2(const tide_ordered *o, uint64_t major, uint64_t minor);
tide_ordered_pos tide__ordered_ceil2(const tide_ordered *o, uint64_t major, uint64_t minor);
/* The entry with the smallest key, with the largest. */
tide_ordered_pos tide__ordered_first(const tide_ordered *o);
tide_ordered_pos tide__ordered_last(const tide_ordered *o);

static inline bool tide__ordered_ok(tide_ordered_pos p)
{
	return p.leaf;
}
static inline uint64_t tide__ordered_key(const tide_ordered *o, tide_ordered_pos p)
{
	return o->nodes[p.leaf].key[p.at];
}
static inline uint64_t tide__ordered_minor(const tide_ordered *o, tide_ordered_pos p)
{
	return o->minor[p.leaf][p.at];
}
static inline uint32_t tide__ordered_val(const tide_ordered *o, tide_ordered_pos p)
{
	return o->nodes[p.leaf].to[p.at];
}
/* Return the neighbours of an entry; no entry has none. */
static inline tide_ordered_pos tide__ordered_next(const tide_ordered *o, tide_ordered_pos p)
{
	if (!p.leaf || p.at + 1 < o->nodes[p.leaf].n)
		return (tide_ordered_pos){ p.leaf, p.at + 1 };
	return (tide_ordered_pos){ o->nodes[p.leaf].next, 0 };
}
static inline tide_ordered_pos tide__ordered_prev(const tide_ordered *o, tide_ordered_pos p)
{
	if (!p.leaf || p.at)
		return (tide_ordered_pos){ p.leaf, p.at - (p.at > 0) };
	uint32_t prev = o->nodes[p.leaf].prev;
	return (tide_ordered_pos){ prev, prev ? o->nodes[prev].n - 1 : 0 };
}

/* Get the largest key < k; the smallest key > k. Return false if there is none. */
bool tide__ordered_below(const tide_ordered *o, uint64_t k, uint64_t *key);
bool tide__ordered_above(const tide_ordered *o, uint64_t k, uint64_t *key);

/* For keys (address, size) of ranges that do not overlap each other: returns true if one of them
 * overlaps [addr, addr + size), which must end within 64 bits. */
bool tide__ordered_overlaps(const tide_ordered *o, uint64_t addr, uint64_t size);

/* A number that the owner keeps per leaf: an upper bound of something over its entries, so that a
 * search can skip the leaf. TIDE_ORDERED_UNBOUNDED for a new leaf and after an addition to it. */
#define TIDE_ORDERED_UNBOUNDED UINT64_MAX
static inline uint64_t *tide__ordered_leaf_bound(tide_ordered *o, tide_ordered_pos p)
{
	return &o->nodes[p.leaf].bound;
}
/* The first entry of the leaf after p's. */
static inline tide_ordered_pos tide__ordered_next_leaf(const tide_ordered *o, tide_ordered_pos p)
{
	return (tide_ordered_pos){ o->nodes[p.leaf].next, 0 };
}

/* Makes `to` a copy of `from`. Returns false if memory runs out; `to` is then empty. */
bool tide__ordered_copy(tide_ordered *to, const tide_ordered *from);
/* Empties the map, keeping its memory. */
void tide__ordered_clear(tide_ordered *o);
void tide__ordered_free(tide_ordered *o);

#endif
