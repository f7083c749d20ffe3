// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/cmd/kernels_sequences.h"

#include "analyze/device/sequences.h"
#include "render/report/device/sequences.h"

int tide__cli_run_sequences(const tide_args *a, const char *op, const tide_window *window,
			    size_t min_kernels, size_t top, bool json)
{
	tide_sequences s;
	tide_error err;
	if (a->n_files != 1)
		return tide__cli_fail_usage(a, "--sequences takes one trace");
	tide_model *m = tide__cli_load(a, a->files[0], TIDE_WANT_SPANS);
	if (!m)
		return 1;
	tide_steps steps = { 0 };
	tide_span_window w = { .all = true };
	tide_code rc = tide__steps_find_named(m, &steps, &err);
	if (rc == TIDE_OK)
		rc = tide__window_resolve(&steps, window, &w, &err);
	tide__steps_free(&steps);
	if (rc == TIDE_OK)
		rc = tide__find_sequences(m, op, min_kernels, w.all ? INT64_MIN : w.from,
					  w.all ? INT64_MAX : w.to, &s, &err);
	if (rc != TIDE_OK) {
		tide__model_free(m);
		return tide__cli_fail(a->files[0], &err);
	}
	if (json) {
		tide_json j;
		tide__json_begin(&j, a->out, true);
		tide__sequences_json(m, &s, a->files[0], op, top, &j);
		tide__json_end(&j);
	} else {
		tide__sequences_text(m, &s, op, top, &a->to);
	}
	tide__sequences_free(&s);
	tide__model_free(m);
	return tide__cli_finish(a);
}
