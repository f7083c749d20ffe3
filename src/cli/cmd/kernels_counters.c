// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
#include "cli/cmd/kernels_counters.h"

#include "analyze/device/hw_counters.h"
#include "render/report/device/hw_counters.h"

int tide__cli_run_hwcounters(const tide_args *a, size_t top, bool json)
{
	tide_hwcounters h;
	tide_error err;
	if (a->n_files != 1)
		return tide__cli_fail_usage(a, "--counters takes one trace");
	tide_model *m = tide__cli_load(a, a->files[0], TIDE_WANT_SPANS);
	if (!m)
		return 1;
	if (tide__find_counters(m, &h, &err) != TIDE_OK) {
		tide__model_free(m);
		return tide__cli_fail(a->files[0], &err);
	}
	if (json) {
		tide_json j;
		tide__json_begin(&j, a->out, true);
		tide__hwcounters_json(m, &h, a->files[0], top, &j);
		tide__json_end(&j);
	} else {
		tide__hwcounters_text(m, &h, top, &a->to);
	}
	tide__hwcounters_free(&h);
	tide__model_free(m);
	return tide__cli_finish(a);
}
