// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Pages of one document without a trace: the first section says that there is none. Of live objects:
 * "objects" is the document of `tidemark objects --json`. */
#include <string.h>

#include "base/error.h"
#include "model/objects.h"
#include "render/page/page_parts.h"
#include "render/report/objects.h"

enum { MOST_ROWS = 1000 };

struct plain {
	const char *file, *section;
};

static bool fill_main(tide_box *b, const void *what, tide_error *err)
{
	static const char *const columns[] = { "live", "each", "cpu", "gpu" };
	static const char *const lists[] = { "processes", "devices", "findings", "marks" };
	const struct plain *p = what;
	tide_json *j = tide__box_json(b);
	(void)err;
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		tide__box_add_column(b, columns[i], TIDE_COL_UINT);
	tide__json_object(j);
	tide__json_kstr(j, "file", p->file);
	tide__json_kstr(j, "only", p->section);
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

tide_code tide__page_write_document(const char *file, const char *section, tide_page_fill *fill,
				    const void *what, FILE *out, tide_error *err)
{
	const struct plain p = { file, section };
	tide_code rc = tide__page_begin(out, err);
	if (rc == TIDE_OK)
		rc = tide__page_write_shared("main", fill_main, &p, out, err);
	if (rc == TIDE_OK)
		rc = tide__page_write_shared(section, fill, what, out, err);
	return rc == TIDE_OK ? tide__page_end(out, err) : rc;
}

tide_code tide__page_write_objects(const tide_objects *o, FILE *out, tide_error *err)
{
	return tide__page_write_document(o->program ? o->program : "objects", "objects",
					 fill_objects, o, out, err);
}
