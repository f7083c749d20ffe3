// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* /data/ID/...: what the page fetches. Sections are the gzip members that a page of one file holds
 * (docs/page-format.md); `pieces` is a window of the timeline in the same form; `perfetto` is the
 * recording for another viewer. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "render/export.h"
#include "render/page_parts.h"
#include "serve/api.h"

#define BYTES "application/octet-stream"

tide_code tide__data_section(tide_ask *a, tide_error *err)
{
	tide_loaded *l;
	tide_page_options opt;
	const char *name = a->req->part[2];
	if (!tide__page_has(NULL, name))
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "no such section");
	tide_code rc = tide__ask_id(a, a->req->part[1], &l, err);
	if (rc != TIDE_OK)
		return rc;
	bool job = !strcmp(name, "main") || !strcmp(name, "hta");
	rc = tide__loaded_page(l, job, &opt, err);
	a->type = BYTES;
	return rc == TIDE_OK ? tide__page_section(name, l->m, &opt, a->out, err) : rc;
}

tide_code tide__data_pieces(tide_ask *a, tide_error *err)
{
	tide_loaded *l;
	const tide_lod *x;
	tide_api_window w;
	tide_code rc = tide__ask_id(a, a->req->part[1], &l, err);
	if (rc != TIDE_OK || (rc = tide__loaded_lod(l, &x, err)) != TIDE_OK)
		return rc;
	if (!tide__api_window(a, l, &w))
		return tide__ask_wrong(a, err);
	tide_box *b = tide__box_new("pieces");
	bool ok = b && tide__page_pieces(b, x, w.from, w.to, (uint32_t)w.px, err) &&
		  tide__box_write_gzip(b, a->out);
	tide__box_free(b);
	a->type = BYTES;
	return ok ? TIDE_OK : tide__nomem(err);
}

tide_code tide__data_perfetto(tide_ask *a, tide_error *err)
{
	static const char suffix[] = ".pftrace";
	tide_loaded *l;
	tide_export_options opt = { 0 };
	tide_export_stats st;
	tide_code rc = tide__ask_id(a, a->req->part[1], &l, err);
	if (rc != TIDE_OK)
		return rc;
	const char *name = tide__loaded_name(l);
	size_t n = strlen(name);
	a->name = tide__alloc(n + sizeof suffix, 1);
	if (!a->name)
		return tide__nomem(err);
	for (size_t i = 0; i < n; i++) /* it goes into a header */
		a->name[i] = name[i] > ' ' && name[i] < 127 && name[i] != '"' && name[i] != '\\'
				     ? name[i]
				     : '_';
	memcpy(a->name + n, suffix, sizeof suffix);
	a->type = BYTES;
	return tide__export(tide__exporter_find("perfetto"), l->m, &opt, false, a->out, &st, err);
}
