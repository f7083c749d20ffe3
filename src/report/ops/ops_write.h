// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The ops report: text and JSON. */
#ifndef TIDE_REPORT_OPS_OPS_WRITE_H
#define TIDE_REPORT_OPS_OPS_WRITE_H

#include "analyze/ops/op_order.h"
#include "analyze/ops/ops.h"
#include "render/text/out.h"
#include "report/report.h"

typedef struct tide_ops_view {
	tide_ops_sort sort;
	size_t top;   /* rows below each op, or of a flat table; SIZE_MAX = all */
	size_t depth; /* levels of the tree; SIZE_MAX = all */
	bool brief;   /* only the rows that matter most (text) */
} tide_ops_view;

/* Columns of the tables "ops" and "totals". */
extern const tide_member tide__ops_columns[], tide__ops_total_columns[];

/* Print the report. Returns TIDE_OK or TIDE_ENOMEM; nothing is printed then. */
tide_code tide__ops_text(const tide_ops *x, const tide_ops_view *v, const tide_out *to);
/* Write its members. TIDE_OK or TIDE_ENOMEM. */
tide_code tide__ops_json(const tide_ops *x, const tide_ops_view *v, tide_json *j);

/* The options of ops, which its tables by shape have, too. */
enum {
	TIDE_OPS_O_FLAT,
	TIDE_OPS_O_SORT,
	TIDE_OPS_O_TOP,
	TIDE_OPS_O_DEPTH,
	TIDE_OPS_O_ALL,
	TIDE_OPS_O_DEVICE,
	TIDE_OPS_O_STREAMS,
	TIDE_OPS_O_BY,
	TIDE_OPS_O_CAPTURED,
	TIDE_OPS_OPTIONS
};
extern const tide_option tide__ops_options[TIDE_OPS_OPTIONS];
extern const tide_report_type tide__report_op_shapes;

#endif
