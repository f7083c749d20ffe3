// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Shared by the sources of diff.h: rows of all tables (diff.c), device time and calls
 * (device_diff.c). */
#ifndef TIDE_ANALYZE_COMPARE_DIFF_IMPL_H
#define TIDE_ANALYZE_COMPARE_DIFF_IMPL_H

#include "analyze/compare/diff.h"

typedef struct tide_differ {
	const tide_model *m[2];
	const tide_diff_options *opt;
	tide_diff *out;
	tide_map rows[TIDE_N_DIFF_KINDS]; /* node -> row + 1 */
	size_t cap[TIDE_N_DIFF_KINDS];
	uint32_t branch[TIDE_N_DIFF_KINDS]; /* node of the kind */
	bool equate;			    /* hip* names are cuda* */
	tide_error *err;
} tide_differ;

/* Return the row of a node, of a name; NULL if memory runs out. */
tide_diff_row *tide__diff_row_of(tide_differ *d, tide_diff_kind kind, uint32_t node);
tide_diff_row *tide__diff_row_named(tide_differ *d, tide_diff_kind kind, const char *s, size_t n);

/* Adds the device time of one side by op, shape, module and category. */
tide_code tide__diff_add_device_time(tide_differ *d, int side);
/* Adds the paths that one side calls and the other does not, each where they part. */
tide_code tide__diff_add_calls(tide_differ *d);

#endif
