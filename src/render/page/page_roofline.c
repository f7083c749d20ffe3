// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Section "roofline": the document of `tidemark roofline --json`, with the ops that took longest. */
#include "render/page/page_parts.h"
#include "render/report/device/roofline.h"

enum { MOST_OPS = 200 }; /* 200 bytes each in a page, packed */

bool tide__page_write_roofline(tide_box *b, const tide_model *m, const tide_page_options *opt,
			       tide_error *err)
{
	tide_roofline x;
	(void)opt;
	bool ok = tide__find_roofline(m, &(tide_roof_options){ 0 }, &x, err) == TIDE_OK;
	if (ok && x.n) {
		tide__json_object(tide__box_json(b));
		ok = tide__roofline_json(&x, m, "all", MOST_OPS, tide__box_json(b)) == TIDE_OK;
		tide__json_object_end(tide__box_json(b));
	}
	tide__roofline_free(&x);
	return ok;
}
