// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Section "document": the document as --json has it, and the headings, kinds and meanings of its
 * members, from which the view makes figures and tables. */
#include "report/page.h"

#include "base/error.h"
#include "render/page/page.h"
#include "render/page/page_box.h"

struct document {
	const tide_report_type *type;
	void *result;
};

static void put_members(tide_json *j, const tide_member *list)
{
	tide__json_karray(j, "members");
	for (const tide_member *m = list; m && m->key; m++) {
		tide__json_object(j);
		tide__json_kstr(j, "key", m->key);
		tide__json_kstr(j, "heading", m->heading);
		tide__json_kstr(j, "kind", tide__kind_name(m->kind));
		tide__json_kstr(j, "meaning", m->meaning);
		if (m->kind == TIDE_KIND_OBJECT || m->kind == TIDE_KIND_TABLE)
			put_members(j, m->members);
		tide__json_object_end(j);
	}
	tide__json_array_end(j);
}

static bool fill(tide_box *b, const void *what, tide_error *err)
{
	const struct document *d = what;
	tide_json *j = tide__box_json(b);
	tide__json_object(j);
	tide__json_kstr(j, "name", d->type->name);
	tide__json_kstr(j, "summary", d->type->summary);
	put_members(j, d->type->members);
	tide__json_key(j, "document");
	tide_code rc = tide__report_write(d->type, d->result, j);
	tide__json_object_end(j);
	if (rc != TIDE_OK)
		tide__nomem(err);
	return rc == TIDE_OK;
}

tide_code tide__report_page(const tide_report_type *type, void *result, const char *file, FILE *out,
			    tide_error *err)
{
	const struct document d = { type, result };
	return tide__page_write_document(file, "document", fill, &d, out, err);
}
