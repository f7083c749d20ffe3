// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The op in which something began.
 *
 * Rows of Python functions, ranges and calls lie between ops and need not nest with them; spans.parent
 * then leads past the op. This looks at ops alone: of the ops open on a span's lane when it begins, the
 * one that began last. ProfilerStep#N, an op in files of 2021, is a range and no op. */
#ifndef TIDE_ANALYZE_COMMON_INNERMOST_OP_H
#define TIDE_ANALYZE_COMMON_INNERMOST_OP_H

#include "model/model.h"

/* Per span the op in which it began, 0 = none; of an op the one around it. Owned by the caller:
 * tide__free. NULL on exhaustion. Linear; 4 bytes a span. */
uint32_t *tide__innermost_ops(const tide_model *m);

#endif
