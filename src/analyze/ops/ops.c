// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "analyze/ops/ops.h"

#include "analyze/live/live_set.h"

tide_code tide__ops_find(const tide_model *m, const tide_ops_query *q, tide_ops *x, tide_error *err)
{
	tide_optree_options opt = { .device = q->device, .streams = q->streams };
	*x = (tide_ops){ .m = m,
			 .device = q->device,
			 .has_flat = q->flat,
			 .memory = tide__memory_known(m, q->device) };
	tide_code rc = tide__find_op_tree(m, &opt, &x->tree, err);
	if (rc == TIDE_OK && q->flat)
		rc = tide__find_op_table(&x->tree, &x->flat, err);
	return rc;
}

void tide__ops_free(tide_ops *x)
{
	tide__optree_flat_free(&x->flat);
	tide__optree_free(&x->tree);
}
