// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/compare/diff_compat.h"

#include <inttypes.h>

static tide_grid *rows(const tide_opdiff *d, size_t top)
{
	static const tide_grid_col cols[] = {
		{ "control_counts", "Before", TIDE_CELL_COUNT },
		{ "control_total_duration", "Before (us)", TIDE_CELL_COUNT },
		{ "test_counts", "After", TIDE_CELL_COUNT },
		{ "test_total_duration", "After (us)", TIDE_CELL_COUNT },
		{ "diff_counts", "Count", TIDE_CELL_COUNT },
		{ "diff_duration", "Change (us)", TIDE_CELL_COUNT },
		{ "counts_change_categories", "", TIDE_CELL_TEXT },
		{ "name", "Name", TIDE_CELL_TEXT },
	};
	tide_grid *g = tide__grid_new(cols, 8);
	for (size_t i = 0; i < d->n && (!top || i < top); i++) {
		const tide_opdiff_row *r = &d->v[i];
		int64_t change = (int64_t)r->count[1] - (int64_t)r->count[0];
		for (int s = 0; s < 2; s++) {
			tide__grid_uint(g, r->count[s]);
			tide__grid_int(g, r->sum[s]);
		}
		tide__grid_int(g, change);
		tide__grid_int(g, r->sum[1] - r->sum[0]);
		tide__grid_text(g, change > 0 ? "+" : change < 0 ? "-" : "=");
		tide__grid_text(g, r->name);
	}
	return g;
}

void tide__opdiff_text(const tide_opdiff *d, size_t top, const tide_out *to)
{
	tide_grid *g = rows(d, top);
	fprintf(to->out, "By HTA's rules: step %" PRId64 " against step %" PRId64 "\n", d->step[0],
		d->step[1]);
	fprintf(to->out,
		"%" PRIu64 " added, %" PRIu64 " deleted, %" PRIu64 " more often, %" PRIu64
		" less often, %" PRIu64 " as often\n\n",
		d->added, d->deleted, d->increased, d->decreased, d->unchanged);
	tide__grid_print(g, to->out, &to->style, 2);
	tide__grid_free(g);
}

void tide__opdiff_json(const tide_opdiff *d, tide_json *j)
{
	tide_grid *g = rows(d, 0);
	tide__json_object(j);
	tide__json_kint(j, "control_iteration", d->step[0]);
	tide__json_kint(j, "test_iteration", d->step[1]);
	tide__json_kobject(j, "ops_diff_counts");
	tide__json_kuint(j, "added", d->added);
	tide__json_kuint(j, "deleted", d->deleted);
	tide__json_kuint(j, "increased", d->increased);
	tide__json_kuint(j, "decreased", d->decreased);
	tide__json_kuint(j, "unchanged", d->unchanged);
	tide__json_object_end(j);
	tide__json_key(j, "compare");
	tide__grid_json(g, j);
	tide__json_object_end(j);
	tide__grid_free(g);
}
