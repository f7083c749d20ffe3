// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* An ordered set of uint64_t: a B+ tree of 64-key nodes.
 *
 * Zero-initialise it; free with tide__ordered_free. Nodes are not merged when they empty out, only
 * dropped when they are empty; the owner clears and refills the set when it has shrunk a lot. */
#ifndef TIDE_BASE_ORDERED_H
#define TIDE_BASE_ORDERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tide_ordered {
	struct tide_ordered_node *nodes; /* node 0 is none */
	uint32_t n_nodes, cap_nodes, free_node, root;
	unsigned height; /* levels of inner nodes above the leaves */
	size_t n;
} tide_ordered;

/* Adds key. Returns false if memory runs out; adding a present key succeeds. */
bool tide__ordered_add(tide_ordered *o, uint64_t key);
/* Removes key, if present. */
void tide__ordered_del(tide_ordered *o, uint64_t key);
/* The largest key < k; the smallest key > k. Return false if there is none. */
bool tide__ordered_below(const tide_ordered *o, uint64_t k, uint64_t *key);
bool tide__ordered_above(const tide_ordered *o, uint64_t k, uint64_t *key);
/* Empties the set, keeping its memory. */
void tide__ordered_clear(tide_ordered *o);
void tide__ordered_free(tide_ordered *o);

#endif
