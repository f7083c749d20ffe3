// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The op tree: nesting, counts, times and memory changes of ops.
 *
 * Spans with the same op path (analyze/common/paths.h) share a node. Every figure exists twice:
 * `self` covers the op itself, `all` includes everything nested in it. Node 0 is the root; its self
 * covers work outside any op, its `all` is the whole trace.
 *
 * Transient peak of a span: the maximum of its running balance (bytes allocated minus bytes freed,
 * inside it, on its thread); of a node: the highest of its spans.
 * Definitions: docs/analyses/ops.md. */
#ifndef TIDE_ANALYZE_OPS_OP_TREE_H
#define TIDE_ANALYZE_OPS_OP_TREE_H

#include "analyze/live/live_set.h"
#include "analyze/common/paths.h"

typedef struct tide_op_sums {
	uint64_t allocs, frees;
	uint64_t alloc_bytes, free_bytes; /* delta = alloc_bytes - free_bytes */
	int64_t ns;			  /* self time, or wall time */
} tide_op_sums;

/* Adds counts and bytes; times are not added, because spans nest. */
static inline void tide__op_sums_add(tide_op_sums *to, const tide_op_sums *s)
{
	to->allocs += s->allocs;
	to->frees += s->frees;
	to->alloc_bytes += s->alloc_bytes;
	to->free_bytes += s->free_bytes;
}

typedef struct tide_op_row {
	uint64_t count;	 /* spans */
	uint64_t open;	 /* of these, never ended */
	uint64_t no_end; /* of these, without an end in the source: their time is unknown */
	/* operators ("aten::mul") that are the only span directly inside one of the same name:
	 * PyTorch redispatched one call to another overload (mul.Scalar, mul.Tensor) */
	uint64_t redispatched;
	tide_op_sums self, all;
	uint64_t peak; /* highest transient peak of a span */
} tide_op_row;

typedef struct tide_optree {
	tide_paths paths;  /* nodes: name and parent; a parent is always a smaller node */
	tide_op_row *rows; /* by node */
	size_t n;	   /* nodes, including the root */
	/* children of a node, in order of first appearance: for (c = first[n]; c; c = next[c]) */
	uint32_t *first, *next;
} tide_optree;

typedef struct tide_optree_options {
	uint32_t device; /* count only memory of this device; TIDE_ANY = all */
	bool streams;	 /* also rows of devices (kernels, copies, waits), not only of threads */
} tide_optree_options;

/* O(spans + events) time; 4 bytes per span of scratch. Release with tide__optree_free. */
tide_code tide__find_op_tree(const tide_model *m, const tide_optree_options *opt, tide_optree *out,
			     tide_error *err);
void tide__optree_free(tide_optree *t);

/* The same by name alone: one row per name, in order of first appearance. A name nested in
 * itself counts once in `all` (the outermost), always in self; in count unless it is the same
 * call, redispatched. */
typedef struct tide_op_flat {
	tide_str *names;
	tide_op_row *rows;
	size_t n;
} tide_op_flat;
tide_code tide__find_op_table(const tide_optree *t, tide_op_flat *out, tide_error *err);
void tide__optree_flat_free(tide_op_flat *f);

#endif
