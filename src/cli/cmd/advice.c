// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* advice: every recommendation on a recording, with its evidence and a score. */
#include "analyze/advice/findings.h"
#include "cli/cli.h"
#include "render/report/findings.h"

enum { O_JSON, O_OUTPUT };
static const tide_option options[] = {
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
};

static int print(const tide_args *a, const tide_model *m, const tide_findings *f)
{
	tide_json j;
	if (!a->opt[O_JSON].set) {
		tide__findings_text(f, a->out);
		tide__cli_print_losses(a, m);
		return tide__cli_finish(a);
	}
	tide__json_begin(&j, a->out, true);
	tide__json_object(&j);
	tide__findings_json(f, &j);
	tide__losses_json(&j, m);
	tide__json_object_end(&j);
	return tide__cli_json_end(a, &j);
}

static int run(const tide_args *a)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_hta_job *job = NULL;
	tide_findings f;
	tide_model *m = tide__cli_load(a, a->files[0], 0);
	if (!m)
		return 1;
	tide_code rc = tide__hta_job_find(m, a->files[0], &job, &err);
	if (rc == TIDE_OK)
		rc = tide__collect_findings(m, &(tide_findings_query){ .job = job }, &f, &err);
	int status = rc == TIDE_OK ? print(a, m, &f) : tide__cli_fail(a->files[0], &err);
	tide__hta_job_free(job);
	tide__model_free(m);
	return status;
}

const tide_command tide__cmd_advice = {
	.name = "advice",
	.usage = "FILE [--json]",
	.summary = "list every recommendation on a recording, with evidence and a score",
	.help = "Lists recommendations on device time, device memory, the allocator's settings and "
		"torch.compile, each with the figure it is based on and the points it costs. Areas "
		"without data in the recording are not judged.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.run = run,
};
