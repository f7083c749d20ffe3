// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The order of ops: greatest figure first. Equal ones are in order of first appearance. */
#ifndef TIDE_ANALYZE_OPS_OP_ORDER_H
#define TIDE_ANALYZE_OPS_OP_ORDER_H

#include "analyze/ops/op_tree.h"

typedef enum tide_ops_sort {
	TIDE_OPS_ORDER, /* of first appearance */
	TIDE_OPS_WALL,
	TIDE_OPS_SELF,
	TIDE_OPS_COUNT,
	TIDE_OPS_ALLOC,
	TIDE_OPS_FREE,
	TIDE_OPS_CHANGE,
	TIDE_OPS_PEAK,
	TIDE_OPS_NAME
} tide_ops_sort;

typedef struct tide_op_key { /* the sort key of a row */
	int64_t key;
	const char *name; /* NULL unless names decide; borrowed from the model */
	uint32_t at;	  /* node or row */
} tide_op_key;

/* Returns the key of a row at index `at` with that name. */
tide_op_key tide__op_key(const tide_model *m, tide_ops_sort by, const tide_op_row *row,
			 tide_str name, uint32_t at);
/* Sorts n keys. */
void tide__op_keys_sort(tide_op_key *v, size_t n);

#endif
