// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/cmd/diff_compat.h"

#include "analyze/compat/opdiff.h"
#include "render/report/compare/diff_compat.h"

static void show(const tide_args *a, const tide_opdiff *d, bool json, size_t top)
{
	if (!json) {
		tide__opdiff_text(d, top, &a->to);
		return;
	}
	tide_json j;
	tide__json_begin(&j, a->out, true);
	tide__opdiff_json(d, &j);
	tide__json_end(&j);
}

int tide__cli_run_diff_compat(const tide_args *a, int device, bool json, size_t top)
{
	tide_model *m[2] = { NULL, NULL };
	tide_compat_frame f[2] = { { 0 }, { 0 } };
	tide_error err;
	int rc = 0;
	for (int i = 0; i < 2 && !rc; i++) {
		m[i] = tide__cli_load(a, a->files[i], TIDE_WANT_SPANS | TIDE_WANT_RAW);
		if (!m[i])
			rc = 1;
		else if (tide__compat_frame_build(m[i], false, &f[i], &err) != TIDE_OK)
			rc = tide__cli_fail(a->files[i], &err);
	}
	tide_opdiff d;
	if (!rc) {
		const tide_model *const models[] = { m[0], m[1] };
		const tide_compat_frame *const frames[] = { &f[0], &f[1] };
		if (tide__find_op_diff(models, frames, device, &d, &err) != TIDE_OK) {
			rc = tide__cli_fail(NULL, &err);
		} else {
			show(a, &d, json, top);
			tide__opdiff_free(&d);
			rc = tide__cli_finish(a);
		}
	}
	for (int i = 0; i < 2; i++) {
		tide__compat_frame_free(&f[i]);
		tide__model_free(m[i]);
	}
	return rc;
}
