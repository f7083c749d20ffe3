// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* A smaller copy of an op tree, for pages: small nodes become one node per parent.
 *
 * A node is small if its time, its allocated and its freed bytes are each below 1 / `parts` of the
 * root's, and so are those of all nodes below it. Sums stay exact: the node of small ones has
 * their counts and self times, and the totals of the outermost of them. */
#ifndef TIDE_ANALYZE_OPS_OP_TREE_FOLD_H
#define TIDE_ANALYZE_OPS_OP_TREE_FOLD_H

#include "analyze/ops/op_tree.h"

typedef struct tide_op_folded {
	tide_op_row *rows; /* owned, like the columns below; a parent is always a smaller row */
	tide_str *name;	   /* none = several small ones; row 0 is the root */
	uint32_t *parent;
	uint32_t n;
	uint64_t folded; /* nodes of the tree that are in a row of small ones */
} tide_op_folded;

/* A tree of at most `few` nodes is copied whole. Returns false if memory runs out. O(nodes).
 * Release with tide__op_folded_free in any case. */
bool tide__op_tree_fold(const tide_optree *t, int64_t parts, size_t few, tide_op_folded *out);
void tide__op_folded_free(tide_op_folded *x);

#endif
