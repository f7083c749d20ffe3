// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Finds the op in which a span began.
 *
 * Python functions, user ranges and runtime calls lie between ops and need not nest with them, so
 * spans.parent may miss the op. This considers ops alone: among the ops open on a span's lane when
 * it begins, the one that began last. ProfilerStep#N is an op in files of 2021; it counts as a
 * range. */
#ifndef TIDE_ANALYZE_COMMON_INNERMOST_OP_H
#define TIDE_ANALYZE_COMMON_INNERMOST_OP_H

#include "model/model.h"

/* Returns per span the op in which it began, 0 = none; for an op, the enclosing op. Owned by the
 * caller: tide__free. NULL if memory runs out. Linear; 4 bytes per span. */
uint32_t *tide__innermost_ops_find(const tide_model *m);

#endif
