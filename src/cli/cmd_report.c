// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* report: everything about a trace as one page that needs nothing but a browser. */
#include <stdlib.h>
#include <string.h>

#include "analyze/hta_job.h"
#include "cli/cli.h"
#include "render/page.h"

enum { O_OUTPUT };
static const tide_option options[] = {
	[O_OUTPUT] = { "output", 'o', TIDE_OPT_FILE, "FILE",
		       "write to FILE (needed on a terminal)" },
};

/* The holistic analysis of this one trace; NULL (with TIDE_OK) when it has no device rows. */
static tide_code analyse(const tide_model *m, const char *file, tide_hta_job **out, tide_error *err)
{
	tide_hta *h = NULL;
	*out = NULL;
	tide_code rc = tide__hta_analyze(m, NULL, &h, err);
	if (rc != TIDE_OK)
		return rc;
	if (!h->h.rows) {
		tide__hta_free(h);
		return TIDE_OK;
	}
	tide_hta_job *job = tide__hta_job_new();
	if (!job) {
		tide__hta_free(h);
		return TIDE_ENOMEM;
	}
	rc = tide__hta_job_add(job, file, h, err);
	if (rc == TIDE_OK)
		rc = tide__hta_job_finish(job, err);
	*out = job;
	return rc;
}

/* The lines that every report ends with, for the page to show. malloc's; NULL on exhaustion. */
static char *losses_of(const tide_args *a, const tide_model *m)
{
	char *text = NULL;
	size_t n = 0;
	tide_args plain = *a;
	plain.style = (tide_style){ 0 };
	plain.out = open_memstream(&text, &n);
	if (!plain.out)
		return NULL;
	tide__cli_losses(&plain, m);
	return fclose(plain.out) ? NULL : text;
}

static int write_page(const tide_args *a, const tide_model *m)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_page_options opt = { 0 };
	tide_hta_job *job = NULL;
	char *losses = losses_of(a, m);
	tide_code rc = analyse(m, a->files[0], &job, &err);
	opt.losses = losses ? losses : "";
	opt.job = job;
	if (rc == TIDE_OK)
		rc = tide__page(m, &opt, a->out, &err);
	free(losses);
	tide__hta_job_free(job);
	return rc == TIDE_OK ? tide__cli_done(a) : tide__cli_fail(a->files[0], &err);
}

static int run(const tide_args *a)
{
	if (!tide__page_built()) {
		fputs("tidemark report: this build has no pages (node and npm were not there when "
		      "it "
		      "was built)\n",
		      stderr);
		return 1;
	}
	if (!a->opt[O_OUTPUT].set && a->style.width)
		return tide__cli_usage(a, "a page is nothing for a terminal: use -o report.html");
	tide_model *m = tide__cli_load(a, a->files[0], 0);
	if (!m)
		return 1;
	int rc = write_page(a, m);
	tide__model_free(m);
	return rc;
}

const tide_command tide__cmd_report = {
	.name = "report",
	.usage = "FILE -o report.html",
	.summary = "write one page with everything, to open in a browser",
	.help = "The page holds the overview, timeline, memory, flame graphs, ops, kernels, phases "
		"and the breakdown of device time. It is one file, works offline, fetches nothing, "
		"and shows names from the trace as text alone. Every figure in it is the one that "
		"the other commands print.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = 1,
	.run = run,
};
