// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* /data/ID/...: data that the page fetches. Sections are the gzip members that a page of one file
 * holds (docs/formats/page.md); `pieces` is a window of the timeline in the same form; `perfetto`
 * is the recording for another viewer. /pair/A/B/...: the sections of a page that compares two. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "render/export/export.h"
#include "render/page/page_parts.h"
#include "serve/answer/api.h"

#define BYTES "application/octet-stream"

enum { MOST_ALLOCS = 300000 }; /* in section "memory" at a zoom */

/* Writes the critical path, computed on first use; for a large recording only if `all` is given. */
static tide_code critical(tide_ask *a, tide_loaded *l, bool *given, tide_error *err)
{
	const char *bytes;
	size_t n;
	int64_t all = 0;
	if (!tide__request_get_int(a->req, "all", 0, 1, &all))
		return tide__ask_wrong(a, err);
	tide_code rc = tide__critical_path_job_run(tide__store_slow(a->store), l, all, a->waiter,
						   &bytes, &n);
	*given = rc == TIDE_OK && bytes;
	if (*given)
		fwrite(bytes, 1, n, a->out);
	return rc;
}

/* Section "memory" or "allocator" with the allocations needed for the highest moments of a
 * window's intervals, or of phases. Equal requests give equal rows. */
static tide_code thinned(tide_ask *a, tide_loaded *l, const char *name, tide_page_options *opt,
			 tide_error *err)
{
	tide_api_window w;
	tide_downsampled_allocs downsampled = { 0 };
	tide_phases phases = { 0 };
	int64_t at = -1, by_phase = 0;
	if (!tide__answer_get_window(a, l, &w) ||
	    !tide__request_get_int(a->req, "at", 0, INT64_MAX / 4, &at) ||
	    !tide__request_get_int(a->req, "phases", 0, 1, &by_phase))
		return tide__ask_wrong(a, err);
	tide_code rc = by_phase ? tide__find_phases(l->m, &phases, err)
				: tide__downsample_allocs(l->m, w.from, w.to, (uint32_t)w.px, at,
							  MOST_ALLOCS, &downsampled, err);
	if (rc == TIDE_OK && by_phase)
		rc = tide__downsample_phases(l->m, &phases, MOST_ALLOCS, &downsampled, err);
	opt->downsampled = &downsampled;
	opt->phases = by_phase ? &phases : NULL;
	if (rc == TIDE_OK)
		rc = tide__page_write_section(name, l->m, opt, a->out, err);
	tide__downsampled_allocs_free(&downsampled);
	tide__phases_free(&phases);
	return rc;
}

tide_code tide__answer_data_section(tide_ask *a, tide_error *err)
{
	tide_loaded *l;
	tide_page_options opt;
	const char *name = a->req->part[2];
	bool given = false;
	int64_t quick = 0;
	if (!tide__page_has(NULL, name))
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "no such section");
	tide_code rc = tide__ask_id(a, a->req->part[1], &l, err);
	if (rc != TIDE_OK)
		return rc;
	a->type = BYTES;
	if (!strcmp(name, "critical") && !tide__request_get(a->req, "early"))
		rc = critical(a, l, &given, err);
	if (rc != TIDE_OK || given)
		return rc;
	if (!tide__request_get_int(a->req, "quick", 0, 1, &quick))
		return tide__ask_wrong(a, err);
	rc = tide__loaded_get_page_options(
		l, !strcmp(name, "hta") || (!strcmp(name, "main") && !quick), &opt, err);
	if (rc == TIDE_OK && (!strcmp(name, "memory") || !strcmp(name, "allocator")) &&
	    tide__request_get(a->req, "px"))
		return thinned(a, l, name, &opt, err);
	return rc == TIDE_OK ? tide__page_write_section(name, l->m, &opt, a->out, err) : rc;
}

tide_code tide__answer_data_window(tide_ask *a, tide_error *err)
{
	tide_loaded *l;
	const tide_lod *x;
	tide_api_window w;
	tide_code rc = tide__ask_id(a, a->req->part[1], &l, err);
	if (rc != TIDE_OK || (rc = tide__loaded_get_lod(l, &x, err)) != TIDE_OK)
		return rc;
	if (!tide__answer_get_window(a, l, &w))
		return tide__ask_wrong(a, err);
	tide_box *b = tide__box_new("pieces");
	bool ok = b && tide__page_write_window(b, x, w.from, w.to, (uint32_t)w.px, err) &&
		  tide__box_write_gzip(b, a->out);
	tide__box_free(b);
	a->type = BYTES;
	return ok ? TIDE_OK : tide__nomem(err);
}

/* ---- two recordings ---- */

static tide_code put_shared(tide_ask *a, const char *name, tide_page_fill *fill, const void *what,
			    tide_error *err)
{
	tide_box *b = tide__box_new(name);
	bool ok = b && fill(b, what, err) && tide__box_write_gzip(b, a->out);
	tide__box_free(b);
	return ok ? TIDE_OK : tide__nomem(err);
}

/* Writes the section "page" of a page that compares two recordings. */
static tide_code put_contents(tide_ask *a, const tide_page_two *two, tide_error *err)
{
	static char titles[2][2] = { "A", "B" };
	struct tide_page_entry v[2];
	for (int i = 0; i < 2; i++)
		v[i] = (struct tide_page_entry){ titles[i], (char *)(uintptr_t)two->file[i], true };
	const tide_page_list list = { .kind = "diff", .v = v, .n = 2 };
	return put_shared(a, "page", tide__page_write_contents, &list, err);
}

tide_code tide__answer_data_pair(tide_ask *a, tide_error *err)
{
	tide_loaded *l[2];
	const char *name = a->req->part[3];
	bool page = !strcmp(name, "page"), diff = !strcmp(name, "diff");
	if (!page && !diff && strcmp(name, "diffflame"))
		return tide__fail(err, TIDE_ENOTFOUND, TIDE_NO_OFFSET, "no such section");
	for (int i = 0; i < 2; i++) {
		tide_code rc = tide__ask_id(a, a->req->part[1 + i], &l[i], err);
		if (rc != TIDE_OK)
			return rc;
	}
	const tide_page_two two = { { l[0]->m, l[1]->m },
				    { tide__loaded_name(l[0]), tide__loaded_name(l[1]) } };
	a->type = BYTES;
	if (page)
		return put_contents(a, &two, err);
	return put_shared(a, name, diff ? tide__page_write_diff : tide__page_write_diffflame, &two,
			  err);
}

/* ---- for another viewer ---- */

tide_code tide__answer_data_perfetto(tide_ask *a, tide_error *err)
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
