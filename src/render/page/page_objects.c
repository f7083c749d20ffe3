// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Sections of a page about live objects: the first section says that there is no trace,
 * "objects" is the document of `tidemark objects --json`. */
#include <string.h>

#include "base/error.h"
#include "model/objects.h"
#include "render/page/page_parts.h"
#include "render/report/objects.h"

enum { MOST_ROWS = 1000 };

static bool fill_main(tide_box *b, const void *what, tide_error *err)
{
	static const char *const columns[] = { "live", "each", "cpu", "gpu" };
	static const char *const lists[] = { "processes", "devices", "findings", "marks" };
	const tide_objects *o = what;
	tide_json *j = tide__box_json(b);
	(void)err;
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		tide__box_add_column(b, columns[i], TIDE_COL_UINT);
	tide__json_object(j);
	tide__json_kstr(j, "file", o->program ? o->program : "objects");
	tide__json_kstr(j, "only", "objects");
	tide__json_kstr(j, "axis", "time");
	tide__json_kstr(j, "losses", "");
	tide__json_kint(j, "t_end", 1);
	tide__json_kint(j, "spans", 0);
	tide__json_kint(j, "allocs", 0);
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		tide__json_karray(j, lists[i]);
		tide__json_array_end(j);
	}
	tide__json_object_end(j);
	return true;
}

static bool fill_objects(tide_box *b, const void *what, tide_error *err)
{
	(void)err;
	tide__objects_write(what, MOST_ROWS, tide__box_json(b));
	return true;
}

tide_code tide__page_write_objects(const tide_objects *o, FILE *out, tide_error *err)
{
	tide_code rc = tide__page_begin(out, err);
	if (rc == TIDE_OK)
		rc = tide__page_write_shared("main", fill_main, o, out, err);
	if (rc == TIDE_OK)
		rc = tide__page_write_shared("objects", fill_objects, o, out, err);
	return rc == TIDE_OK ? tide__page_end(out, err) : rc;
}
