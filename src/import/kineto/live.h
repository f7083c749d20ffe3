// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Live address ranges without overlaps: a treap in arrays. Adding an overlapping range reports
 * the overlap and leaves it out. O(log n) each on any input. */
#ifndef TIDE_IMPORT_KINETO_LIVE_H
#define TIDE_IMPORT_KINETO_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kin_live_node {
	uint64_t addr, size;
	uint32_t left, right, rank; /* rank: heap order, from a mixed address */
} kin_live_node;

typedef struct kin_live {
	kin_live_node *nodes; /* owned; nodes[0] is none */
	size_t n, cap;
	uint32_t root, free; /* free: list through left */
} kin_live;

/* Returns false if memory runs out. *overlaps: not added, because it overlaps a live one or
 * wraps around. */
bool tide__kineto_live_add(kin_live *l, uint64_t addr, uint64_t size, bool *overlaps);
/* Removes the range that starts at addr, if there is one. */
void tide__kineto_live_del(kin_live *l, uint64_t addr);
void tide__kineto_live_fini(kin_live *l);

#endif
