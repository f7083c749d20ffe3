// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* The inside of a grid, for grid.c and grid_names.c. */
#ifndef TIDE_RENDER_TEXT_GRID_IMPL_H
#define TIDE_RENDER_TEXT_GRID_IMPL_H

#include "render/text/grid.h"
#include "render/text/long_text.h"

enum kind { NONE, INT, UINT, REAL, TEXT };

struct cell {
	uint8_t kind;
	uint8_t axis; /* of a time: the unit that was set when it was added */
	uint32_t len; /* of a text */
	union {
		int64_t i;
		uint64_t u;
		double d;
		size_t at; /* of a text in the buffer */
	};
};

struct tide_grid {
	const tide_grid_col *cols; /* borrowed */
	size_t n_cols;
	struct cell *cells; /* row by row */
	size_t n, cap;
	char *text;
	size_t n_text, cap_text;
	bool failed;
	tide_long longs;
};

enum { TIDE_GRID_GONE = -1 }; /* width of a column that is not shown */

/* Returns a copy of the grid with short kernel names, owned by the caller; NULL if there is nothing
 * to shorten or memory runs out: names are then complete. */
tide_grid *tide__grid_short_kernels(const tide_grid *g);
/* Returns a copy whose texts fit the widths w (cut_name.h), owned by the caller; different texts stay
 * different. NULL if all fit or memory runs out. */
tide_grid *tide__grid_cut_names(const tide_grid *g, const int *w, const tide_style *style);

#endif
