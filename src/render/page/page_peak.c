// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Writes the live set at a device's peak by role, module, op, code and tensor: the largest groups of
 * each (analyze/memory/peak_groups.h). */
#include <stdlib.h>

#include "analyze/memory/peak_groups.h"
#include "render/text/labels.h"
#include "render/page/page_parts.h"

enum { MOST = 6, MOST_ROLES = 12 };

static const struct {
	const char *key;
	size_t most;
} kinds[TIDE_PEAK_GROUPINGS] = {
	{ "role", MOST_ROLES }, { "module", MOST }, { "op", MOST },
	{ "stack", MOST },	{ "tensor", MOST },
};

static bool group_json(tide_json *j, const tide_model *m, const tide_groups *g, size_t row,
		       tide_long *longs)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	if (!f)
		return false;
	tide__groups_write_brief(g, m, row, longs, f);
	bool ok = fclose(f) == 0;
	tide__json_array(j);
	tide__json_strn(j, text, n);
	tide__json_uint(j, g->rows[row].bytes);
	tide__json_uint(j, g->rows[row].count);
	tide__json_array_end(j);
	free(text);
	return ok;
}

bool tide__page_write_peak_groups(tide_json *j, const tide_model *m, uint32_t device,
				  uint64_t position, tide_error *err)
{
	tide_peak_groups x;
	tide_long longs = { 0 };
	bool ok = tide__find_peak_groups(m, device, position, &x, err) == TIDE_OK;
	tide__json_kobject(j, "peak_groups");
	for (size_t k = 0; ok && k < TIDE_PEAK_GROUPINGS; k++) {
		tide__json_karray(j, kinds[k].key);
		for (size_t i = 0; ok && i < x.by[k].n && i < kinds[k].most; i++)
			ok = group_json(j, m, &x.by[k], i, &longs);
		tide__json_array_end(j);
	}
	tide__json_object_end(j);
	tide__long_free(&longs);
	tide__peak_groups_free(&x);
	return ok;
}
