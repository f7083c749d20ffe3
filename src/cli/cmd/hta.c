// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* hta, kernels, collectives: reports on all ranks of a job, loaded one by one. */
#include "base/error.h"
#include "cli/job/hta_compat.h"
#include "cli/job/ranks.h"
#include "cli/output/next.h"
#include "cli/report_run.h"
#include "report/device/hta.h"

enum { O_THREADS, N_SHARED, O_COMPAT = N_SHARED, O_KEEP };
#define THREADS                                                                           \
	{                                                                                 \
		"threads", 0, TIDE_OPT_INT, "N",                                          \
			"threads to load one trace (default: one per core)", .least = 1,  \
									     .most = 1024 \
	}
static const tide_option hta_options[] = {
	[O_THREADS] = THREADS,
	[O_COMPAT] = { "hta-compat", 0, TIDE_OPT_FLAG, NULL,
		       "Holistic Trace Analysis's own numbers: its rounding, its GPU rule, its "
		       "dropped last step" },
	[O_KEEP] = { "keep-last-step", 0, TIDE_OPT_FLAG, NULL,
		     "with --hta-compat: do not drop the last step" },
};
static const tide_option kernels_options[] = { [O_THREADS] = THREADS };

static int64_t number_of(const tide_args *a, const char *option)
{
	const tide_value *v = tide__cli_option(a, option);
	return v ? v->num : 0;
}

static int run(const tide_args *a)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_ranks_work w = { 0 };
	tide_hta_job *job;
	char window[80];
	const tide_value *threads = &tide__cli_more(a)[O_THREADS];
	const tide_report_ask ask = { .opt = a->opt, .dashes = "--" };
	if (tide__report_asked(a->cmd->report, a->opt) != a->cmd->report)
		return tide__cli_run_report(a);
	const tide_value *captured = tide__cli_option(a, "captured");
	if (captured && captured->set)
		return tide__cli_run_report(a);
	if (tide__hta_read_options(&ask, &w.opt, window, sizeof window, &err) != TIDE_OK)
		return tide__cli_fail_usage(a, "%s", err.text);
	w.opt.short_ns = number_of(a, "short-cutoff");
	w.opt.delay_ns = number_of(a, "delay-cutoff");
	w.threads = w.opt.threads = threads->set ? (unsigned)threads->num : 0;
	w.want = tide__cli_is_document(a) ? TIDE_WANT_LAUNCH : 0; /* not in text */
	int rc = tide__ranks_run(a, &w, &job);
	if (rc)
		return rc;
	rc = tide__cli_answer(a, &(tide_report_traces){ .job = job }, NULL);
	if (!rc && !job->sum->h.rows && !job->sum->h.left_out && !tide__cli_is_document(a)) {
		fflush(a->out); /* the report comes first */
		tide__cli_tell_next(a->cmd->name, job->ranks[0].trace,
				    (unsigned)job->ranks[0].h->h.holds);
	}
	tide__hta_job_free(job);
	return rc;
}

static int run_collectives(const tide_args *a)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_ranks_work w = { .opt.calls = true };
	tide_hta_job *job;
	char window[80];
	const tide_value *threads = &tide__cli_more(a)[O_THREADS];
	const tide_report_ask ask = { .opt = a->opt, .dashes = "--" };
	if (tide__hta_read_window(&ask, &w.opt, window, sizeof window, &err) != TIDE_OK)
		return tide__cli_fail_usage(a, "%s", err.text);
	w.threads = w.opt.threads = threads->set ? (unsigned)threads->num : 0;
	int rc = tide__ranks_run(a, &w, &job);
	if (rc)
		return rc;
	rc = tide__cli_answer(a, &(tide_report_traces){ .job = job }, NULL);
	tide__hta_job_free(job);
	return rc;
}

static int run_hta(const tide_args *a)
{
	const tide_value *more = tide__cli_more(a);
	if (more[O_COMPAT].set)
		return tide__cli_run_hta_compat(a, more[O_KEEP].set);
	return run(a);
}

const tide_command tide__cmd_hta = {
	.name = "hta",
	TIDE_COMMAND_OPTIONS(hta_options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.run = run_hta,
	.page = "hta",
};
const tide_command tide__cmd_kernels = {
	.name = "kernels",
	TIDE_COMMAND_OPTIONS(kernels_options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.run = run,
	.page = "kernels",
};
const tide_command tide__cmd_collectives = {
	.name = "collectives",
	TIDE_COMMAND_OPTIONS(kernels_options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.run = run_collectives,
	.page = "",
};
