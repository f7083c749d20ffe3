// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/cmd/diff_compat.h"

#include "analyze/compat/opdiff.h"
#include "cli/documents.h"
#include "render/report/compare/diff_compat.h"

struct shown {
	const tide_opdiff *d;
	size_t top;
};

static tide_code put_text(void *result, const tide_out *to)
{
	const struct shown *s = result;
	tide__opdiff_text(s->d, s->top, to);
	return TIDE_OK;
}

static tide_code put_json(void *result, tide_json *j)
{
	tide__opdiff_json(((const struct shown *)result)->d, j);
	return TIDE_OK;
}

const tide_report_type tide__document_diff_compat = {
	.name = "diff-hta-compat",
	.version = 1,
	.summary = "two traces by the rules of Holistic Trace Analysis",
	.members = tide__opdiff_members,
	.text = put_text,
	.json = put_json,
};

int tide__cli_run_diff_compat(const tide_args *a, int device, size_t top)
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
			rc = tide__document_put(a, &tide__document_diff_compat,
						&(struct shown){ &d, top });
			tide__opdiff_free(&d);
		}
	}
	for (int i = 0; i < 2; i++) {
		tide__compat_frame_free(&f[i]);
		tide__model_free(m[i]);
	}
	return rc;
}
