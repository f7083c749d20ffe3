// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* predict: recordings as N=FILE, or a program that runs on virtual devices. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/predict/prediction.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/report_run.h"
#include "cli/run/predict_program.h"

enum { O_LIKE, O_WORLD, O_STEPS, O_LIMIT, O_CONF, O_KEEP, O_PLAN, N_OPTIONS };
static const tide_option options[] = {
	[O_LIKE] = { "like", 'l', TIDE_OPT_TEXT, "NAME",
		     "with a program: the device to predict for, e.g. h200, a100, rtx4090" },
	[O_WORLD] = { "world", 'w', TIDE_OPT_INT, "N", "with a program: run it as rank 0 of N",
		      .least = 1, .most = 100000 },
	[O_STEPS] = { "steps", 0, TIDE_OPT_INT, "N",
		      "with a program: end it after this many steps of each optimizer, 0 = never",
		      .def = "2", .most = 1000000 },
	[O_LIMIT] = { "timeout", 0, TIDE_OPT_INT, "SECONDS",
		      "with a program: end it after this time, 0 = never", .def = "0",
		      .most = 1000000 },
	[O_CONF] = { "alloc-conf", 0, TIDE_OPT_TEXT, "TEXT",
		     "with a program: PYTORCH_CUDA_ALLOC_CONF to simulate (default: the variable)" },
	[O_KEEP] = { "keep", 'k', TIDE_OPT_FILE, "FILE",
		     "with a program: keep the predicted recording; a folder with several sizes" },
	[O_PLAN] = { "plan", 0, TIDE_OPT_FILE, "FILE",
		     "with a program: apply the changes of this plan, as tidemark fit writes it" },
};

/* "8=run.tide" */
static int parse(const tide_args *a, char *text, uint64_t *size, char **file)
{
	char *end;
	*size = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	if (!*size || *size > TIDE_MOST_SIZE || *end != '=' || !end[1])
		return tide__cli_fail_usage(
			a,
			"'%.200s': write the size of the work, 1 to 1000000000, before "
			"its recording, e.g. 8=a.tide 16=b.tide",
			text);
	*file = end + 1;
	return 0;
}

static int run_recordings(const tide_args *a)
{
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	uint64_t *sizes = tide__calloc(a->n_files, sizeof *sizes);
	char **files = tide__calloc(a->n_files, sizeof *files);
	int rc = sizes && files ? 0 : tide__cli_fail(NULL, &err);
	for (size_t i = 0; i < a->n_files && !rc; i++)
		rc = parse(a, a->files[i], &sizes[i], &files[i]);
	if (!rc)
		rc = tide__cli_answer_all(a, files, sizes, a->n_files, NULL);
	tide__free(sizes);
	tide__free(files);
	return rc;
}

/* Uses the runs of a program at several sizes as recordings. */
static int of_runs(const tide_args *a, char **files, size_t n, uint64_t capacity)
{
	tide_args b = *a;
	tide_value *opt = tide__calloc(a->cmd->n_options, sizeof *opt);
	if (!opt)
		return 1;
	memcpy(opt, a->opt, a->cmd->n_options * sizeof *opt);
	opt[tide__cli_option(a, "at") - a->opt] = (tide_value){ 0 };
	opt[tide__cli_option(a, "capacity") - a->opt] =
		(tide_value){ .set = capacity != 0, .num = (int64_t)capacity };
	b.opt = opt;
	b.files = files;
	b.n_files = n;
	int rc = run_recordings(&b);
	tide__free(opt);
	return rc;
}

static int run_program(const tide_args *a)
{
	const tide_value *v = tide__cli_more(a);
	const tide_predict_program p = { .like = &v[O_LIKE],
					 .capacity = tide__cli_option(a, "capacity"),
					 .at = tide__cli_option(a, "at"),
					 .world = &v[O_WORLD],
					 .steps = &v[O_STEPS],
					 .limit = &v[O_LIMIT],
					 .keep = &v[O_KEEP],
					 .conf = &v[O_CONF],
					 .plan = &v[O_PLAN],
					 .json = tide__cli_option(a, "json")->set };
	if (tide__cli_option(a, "csv")->set)
		return tide__cli_fail_usage(a, "--csv works with recordings only");
	return tide__predict_program_run(a, &p, of_runs);
}

static int run(const tide_args *a)
{
	if (tide__predict_is_program(a))
		return run_program(a);
	if (a->n_files < 2 && strchr(a->files[0], '='))
		return tide__cli_fail_usage(
			a, "more files are needed: 2 recordings as N=FILE, or -- and a program");
	if (a->n_files < 2)
		return tide__cli_fail_usage(a,
					    "'%.200s' is %s; give a program, or 2 recordings "
					    "as N=FILE",
					    a->files[0],
					    tide__load_knows(a->files[0]) ? "a trace, not a program"
									  : "no program");
	for (size_t i = 0; i < N_OPTIONS; i++)
		if (tide__cli_more(a)[i].given)
			return tide__cli_fail_usage(
				a, "--%s is for a program, not for recordings%s", options[i].name,
				i == O_LIKE ? "; use --capacity" : "");
	return run_recordings(a);
}

const tide_command tide__cmd_predict = {
	.usage =
		"N=FILE N=FILE... [--capacity SIZE] [--at N]... | --like NAME [--at N]... -- PROGRAM [ARGUMENT]...",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.wants = "recording or program",
	.max_files = SIZE_MAX,
	.run = run,
};
