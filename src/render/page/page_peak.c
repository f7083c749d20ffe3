// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Why memory is as high as it is at a device's peak: what is alive then by role, module, op and
 * code, the largest groups of each. The definitions and the order are those of `tidemark peak`. */
#include <stdlib.h>

#include "analyze/memory/live_set.h"
#include "analyze/memory/groups.h"
#include "analyze/memory/roles.h"
#include "render/text/labels.h"
#include "render/page/page_parts.h"

enum { MOST = 6, MOST_ROLES = 12 };

static const struct {
	const char *key;
	tide_group_by by;
	size_t most;
} kinds[] = {
	{ "role", TIDE_BY_ROLE, MOST_ROLES }, { "module", TIDE_BY_MODULE, MOST },
	{ "op", TIDE_BY_OP, MOST },	      { "stack", TIDE_BY_FRAME, MOST },
	{ "tensor", TIDE_BY_TENSOR, MOST },
};

static bool group_json(tide_json *j, const tide_model *m, const tide_groups *g, size_t row,
		       tide_long *longs)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	if (!f)
		return false;
	tide__groups_label(g, m, row, longs, f);
	bool ok = fclose(f) == 0;
	tide__json_array(j);
	tide__json_strn(j, text, n);
	tide__json_uint(j, g->rows[row].bytes);
	tide__json_uint(j, g->rows[row].count);
	tide__json_array_end(j);
	free(text);
	return ok;
}

bool tide__page_why(tide_json *j, const tide_model *m, uint32_t device, uint64_t position,
		    tide_error *err)
{
	tide_live_set set = { 0 };
	tide_roles roles = { 0 };
	tide_long longs = { 0 };
	bool ok = tide__live_set_at(m, position, device, TIDE_ANY, &set, err) == TIDE_OK &&
		  tide__find_roles(m, &roles) == TIDE_OK;
	tide__json_kobject(j, "why");
	for (size_t k = 0; ok && k < sizeof kinds / sizeof *kinds; k++) {
		tide_groups g = { 0 };
		ok = tide__groups_in_roles(m, &set, kinds[k].by, roles.role, &g, err) == TIDE_OK;
		tide__json_karray(j, kinds[k].key);
		for (size_t i = 0; ok && i < g.n && i < kinds[k].most; i++)
			ok = group_json(j, m, &g, i, &longs);
		tide__json_array_end(j);
		tide__groups_free(&g);
	}
	tide__json_object_end(j);
	tide__long_free(&longs);
	tide__live_set_free(&set);
	tide__roles_free(&roles);
	return ok;
}
