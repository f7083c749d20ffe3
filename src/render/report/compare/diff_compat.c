// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "render/report/compare/diff_compat.h"

#include <inttypes.h>

/* Names are HTA's. */
static const tide_member cols[] = {
	TIDE_COLUMN("control_counts", "Before", COUNT, 0, "rows in the first trace"),
	TIDE_COLUMN("control_total_duration", "Before (us)", NUMBER, 0, "their time in us"),
	TIDE_COLUMN("test_counts", "After", COUNT, 0, "rows in the second trace"),
	TIDE_COLUMN("test_total_duration", "After (us)", NUMBER, 0, "their time in us"),
	TIDE_COLUMN("diff_counts", "Count", NUMBER, 0, "change of the number"),
	TIDE_COLUMN("diff_duration", "Change (us)", NUMBER, 0, "change of the time in us"),
	TIDE_COLUMN("counts_change_categories", "", TEXT, 0, "+ more, - fewer, = as many"),
	TIDE_COLUMN("name", "Name", TEXT, 0, "name of the rows"),
	{ 0 },
};
static const tide_member counts[] = {
	TIDE_MEMBER("added", COUNT, "names that are new"),
	TIDE_MEMBER("deleted", COUNT, "names that are gone"),
	TIDE_MEMBER("increased", COUNT, "names with more rows"),
	TIDE_MEMBER("decreased", COUNT, "names with fewer rows"),
	TIDE_MEMBER("unchanged", COUNT, "names with as many rows"),
	{ 0 },
};
const tide_member tide__opdiff_members[] = {
	TIDE_MEMBER("control_iteration", PLAIN, "step of the first trace"),
	TIDE_MEMBER("test_iteration", PLAIN, "step of the second trace"),
	TIDE_MEMBER_OF("ops_diff_counts", OBJECT, counts, "numbers of names"),
	TIDE_MEMBER_OF("compare", TABLE, cols, "rows by name"),
	{ 0 },
};

static tide_grid *rows(const tide_opdiff *d, size_t top)
{
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
	tide__json_kint(j, "control_iteration", d->step[0]);
	tide__json_kint(j, "test_iteration", d->step[1]);
	tide__json_kobject(j, "ops_diff_counts");
	tide__json_kuint(j, "added", d->added);
	tide__json_kuint(j, "deleted", d->deleted);
	tide__json_kuint(j, "increased", d->increased);
	tide__json_kuint(j, "decreased", d->decreased);
	tide__json_kuint(j, "unchanged", d->unchanged);
	tide__json_object_end(j);
	tide__grid_write_member(g, j, "compare");
}
