// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/compare/rank_diff.h"

#include <math.h>

/* A, B, change, percent of one figure. */
static void figure_cells(tide_grid *g, const tide_rank_diff *r, tide_metric k)
{
	int64_t change;
	bool both = tide__rank_diff_change(r, k, &change);
	for (int i = 0; i < 2; i++)
		r->known[k][i] ? tide__grid_uint(g, r->metric[k][i]) : tide__grid_none(g);
	both ? tide__grid_int(g, change) : tide__grid_none(g);
	tide__grid_real(g, both ? tide__change_pct(r->metric[k][0], r->metric[k][1]) : (double)NAN);
}

tide_grid *tide__rank_diff_grid(const tide_rank_diff *v, size_t n, bool checks)
{
	static const tide_grid_col cols[] = {
		{ "rank", "Rank", TIDE_CELL_PLAIN },
		{ "time_a_ns", "Time A", TIDE_CELL_NS, 4 },
		{ "time_b_ns", "Time B", TIDE_CELL_NS, 3 },
		{ "time_change_ns", "Change", TIDE_CELL_DELTA_NS },
		{ "time_pct", "%", TIDE_CELL_DELTA_PCT },
		{ "peak_a_bytes", "Peak A", TIDE_CELL_BYTES, 2 },
		{ "peak_b_bytes", "Peak B", TIDE_CELL_BYTES, 1 },
		{ "peak_change_bytes", "Change", TIDE_CELL_DELTA },
		{ "peak_pct", "%", TIDE_CELL_DELTA_PCT },
		{ "checks", "Checks", TIDE_CELL_TEXT },
	};
	tide_grid *g = tide__grid_new(cols, sizeof cols / sizeof *cols - !checks);
	for (size_t i = 0; i < n; i++) {
		tide__grid_int(g, v[i].rank);
		figure_cells(g, &v[i], TIDE_METRIC_TIME);
		figure_cells(g, &v[i], TIDE_METRIC_PEAK);
		if (checks)
			tide__grid_text(g, v[i].crossed	    ? "CROSSED"
					   : v[i].undecided ? "UNKNOWN"
							    : "fine");
	}
	return g;
}
