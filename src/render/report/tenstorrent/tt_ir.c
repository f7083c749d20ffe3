// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* NAME_ir.json: the first ttir and ttnn module and, by location, the line of the operation in
 * it. */
#include <string.h>

#include "analyze/tenstorrent/tt_ir.h"
#include "base/error.h"
#include "render/report/tenstorrent/tt_files.h"
#include "render/text/json.h"

static tide_code member(tide_json *j, const tide_model *m, const char *key, const char *kind,
			tide_error *err)
{
	tide_tt_ir ir;
	bool ok = tide__tt_ir_find(m, kind, &ir);
	char name[256];
	if (ok) {
		tide__json_kobject(j, key);
		tide__json_kstrn(j, "text", ir.text.s, ir.text.n);
		tide__json_kobject(j, "loc_index");
		for (size_t i = 0; i < ir.n; i++) {
			if (ir.lines[i].loc.n >= sizeof name)
				continue;
			memcpy(name, ir.lines[i].loc.s, ir.lines[i].loc.n);
			name[ir.lines[i].loc.n] = 0;
			tide__json_kuint(j, name, ir.lines[i].line);
		}
		tide__json_object_end(j);
		tide__json_object_end(j);
	}
	tide__tt_ir_free(&ir);
	return ok ? TIDE_OK : tide__nomem(err);
}

tide_code tide__tt_ir_json(tide_tt *t, FILE *out, tide_error *err)
{
	tide_json j;
	tide__json_begin(&j, out, true);
	tide__json_object(&j);
	tide_code rc = member(&j, t->m, "ttir", "mlir.ttir", err);
	rc = rc ? rc : member(&j, t->m, "ttnn", "mlir.ttnn", err);
	tide__json_object_end(&j);
	bool ok = tide__json_end(&j);
	return rc ? rc : ok && !ferror(out) ? TIDE_OK : tide__fail_errno(err, "cannot write");
}
