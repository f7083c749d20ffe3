// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Two flame graphs as one tree: a node for every path of either, with the weights of both. Names
 * match by their text, ignoring addresses in them (diff.h). Definitions: docs/analyses/diff.md. */
#ifndef TIDE_ANALYZE_COMPARE_FLAME_PAIR_H
#define TIDE_ANALYZE_COMPARE_FLAME_PAIR_H

#include "analyze/ops/flame.h"

typedef struct tide_flame_pair {
	tide_flame *tree;	      /* owned; names and parents; its own weights are not used */
	uint64_t *self[2], *count[2]; /* owned; by node */
	uint64_t folded;
} tide_flame_pair;

/* Folds nodes that are below 1/`parts` of the larger total in both graphs into "[small]" (0 =
 * none) and nodes deeper than max_depth into their ancestor (0 = none). Returns false if memory
 * runs out; free in any case. */
bool tide__flame_pair_build(const tide_flame *a, const tide_flame *b, uint64_t parts,
			    uint32_t max_depth, tide_flame_pair *out);
void tide__flame_pair_free(tide_flame_pair *p);

#endif
