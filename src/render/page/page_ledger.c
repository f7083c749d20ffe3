// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* Section "ledger": the document of `tidemark device --json`; for a long run, with the highest moment of
 * each time interval. "ledgers": several processes on their devices. */
#include "render/page/page_parts.h"
#include "render/report/memory/device.h"

enum { MOST_MOMENTS = 2000 };

bool tide__page_write_ledger(tide_box *b, const tide_model *m, const tide_page_options *opt,
			     tide_error *err)
{
	tide_ledgers l;
	(void)opt;
	if (!tide__has_ledger(m))
		return true;
	bool ok = tide__find_ledgers(m, &l, err) == TIDE_OK;
	for (size_t i = 0; ok && i < l.n; i++)
		tide__ledger_downsample(&l.v[i], MOST_MOMENTS);
	if (ok) {
		tide__json_object(tide__box_json(b));
		tide__device_json(m, &l, NULL, tide__box_json(b));
		tide__json_object_end(tide__box_json(b));
	}
	tide__ledgers_free(&l);
	return ok;
}

bool tide__page_write_ledgers(tide_box *b, const void *what, tide_error *err)
{
	const tide_page_ledgers *x = what;
	tide_json *j = tide__box_json(b);
	(void)err;
	tide__json_object(j);
	tide__devices_json(x->files, x->joined, j);
	tide__json_object_end(j);
	return true;
}
