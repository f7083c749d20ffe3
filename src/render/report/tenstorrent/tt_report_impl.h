// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Functions shared by text, JSON and Markdown of a Tenstorrent run. */
#ifndef TIDE_RENDER_REPORT_TENSTORRENT_TT_REPORT_IMPL_H
#define TIDE_RENDER_REPORT_TENSTORRENT_TT_REPORT_IMPL_H

#include "render/report/tenstorrent/tt_report.h"

enum { TT_TOP = 10 }; /* rows of a list of the highest */

extern const char *const tide__tt_pools[TIDE_TT_POOLS]; /* "DRAM" ... */

typedef struct tt_shapes { /* "1x64x512, 256"; empty = unknown */
	char in[160], out[96];
} tt_shapes;
void tide__tt_find_shapes(const tide_mlir_op *p, tt_shapes *s);

/* Returns the next row of pools of a kind that has a peak, 0 = none: of every device that used it; of
 * a pool that no device used, that of the first device. Begin with row 0. */
uint32_t tide__tt_next_peak(const tide_tt *t, unsigned p, uint32_t row);

/* Returns all weights, the largest first, the first of equals first; *n = their number. Owned by the
 * caller; NULL if memory runs out. */
const tide_tt_weight **tide__tt_largest_weights(const tide_tt *t, size_t *n);

typedef struct tt_padding { /* of live tensors in DRAM, after an operation of a rank */
	double pct;	    /* highest (padded - bytes) / bytes; NaN = no type has a layout */
	tide_tt_live most;  /* where padded bytes are highest */
	int64_t op;	    /* the operation there, -1 = none */
} tt_padding;
tide_code tide__tt_find_live_padding(const tide_tt *t, tt_padding *out, tide_error *err);

#endif
