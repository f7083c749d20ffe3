// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* report: one offline page about a trace, about all ranks of a job, or comparing two runs. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/job/captured.h"
#include "cli/output/page.h"
#include "cli/job/job_report.h"

enum { O_DIFF, O_RANKS, O_DETAIL, O_OUTPUT, O_CAPTURED };
static const tide_option options[] = {
	[O_DIFF] = { "diff", 0, TIDE_OPT_FLAG, NULL,
		     "two files: compare them, even if their ranks differ" },
	[O_RANKS] = { "ranks", 0, TIDE_OPT_FLAG, NULL,
		      "the files are ranks of one job, even if there are two" },
	[O_DETAIL] = { "detail", 0, TIDE_OPT_INT, "N",
		       "several traces: show details up to a total of N spans and allocations",
		       .def = "3000000" },
	[O_OUTPUT] = { "output", 'o', TIDE_OPT_FILE, "FILE",
		       "write to FILE (needed on a terminal)" },
	[O_CAPTURED] = { "captured", 0, TIDE_OPT_FILE, "CAPTURE",
			 "one trace: the trace in which CUDA or HIP graphs were captured, or a "
			 "folder of them: replayed kernels count for the ops and modules that "
			 "captured them" },
};

static bool is_folder(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Returns true for two files, whose order is kept: A is the first, even if it sorts after B. */
static bool two_files(const tide_args *a)
{
	return a->n_files == 2 && !is_folder(a->files[0]) && !is_folder(a->files[1]) &&
	       !strpbrk(a->files[0], "*?[") && !strpbrk(a->files[1], "*?[");
}

/* Two folders or patterns with common ranks are two jobs; *two is set then. */
static int jobs(const tide_args *a, bool *two)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_rank_files f[2] = { 0 };
	int rc = 0;
	*two = a->n_files == 2 && !a->opt[O_RANKS].set;
	for (int i = 0; i < 2 && *two && !rc; i++)
		if (tide__ranks_expand_all(&a->files[i], 1, &f[i], &err) != TIDE_OK)
			rc = tide__cli_fail(NULL, &err);
	if (*two && !rc)
		rc = tide__cli_write_jobs_page(a, f, (uint64_t)a->opt[O_DETAIL].num, two);
	tide__ranks_free(&f[0]);
	tide__ranks_free(&f[1]);
	return rc;
}

static int several(const tide_args *a)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	tide_rank_files f;
	if (tide__ranks_expand_all(a->files, a->n_files, &f, &err) != TIDE_OK)
		return tide__cli_fail(NULL, &err);
	int rc;
	if (f.n == 1) {
		tide_args one = *a;
		one.files = &f.v[0].path;
		one.n_files = 1;
		rc = tide__cli_write_page(&one, NULL);
	} else {
		rc = tide__cli_write_ranks_page(a, &f, (uint64_t)a->opt[O_DETAIL].num);
	}
	tide__ranks_free(&f);
	return rc;
}

static int write_captured(const tide_args *a)
{
	tide_model *m = tide__cli_load(a, a->files[0], tide__cli_page_wants(a->files[0]));
	if (m)
		m = tide__cli_join_captured(a, m, a->opt[O_CAPTURED].text);
	int rc = m ? tide__cli_write_page_of(a, m, NULL) : 1;
	tide__model_free(m);
	return rc;
}

static int run(const tide_args *a)
{
	if (!a->opt[O_OUTPUT].set && isatty(STDOUT_FILENO))
		return tide__cli_fail_usage(a, "a page cannot be shown on a terminal: use -o "
					       "report.html");
	if (a->opt[O_DIFF].set && a->opt[O_RANKS].set)
		return tide__cli_fail_usage(a, "--diff and --ranks exclude each other");
	if (a->opt[O_DIFF].set && !two_files(a))
		return tide__cli_fail_usage(a, "--diff compares two files: name two");
	if (!tide__cli_page_built(a))
		return 1;
	bool one = a->n_files == 1 && !is_folder(a->files[0]) && !strpbrk(a->files[0], "*?[");
	if (a->opt[O_CAPTURED].set)
		return one ? write_captured(a)
			   : tide__cli_fail_usage(a, "--captured works with one trace");
	if (one)
		return tide__cli_write_page(a, NULL);
	if (two_files(a) && !a->opt[O_RANKS].set)
		return tide__cli_write_two_page(a, a->opt[O_DIFF].set,
						(uint64_t)a->opt[O_DETAIL].num);
	bool two;
	int rc = jobs(a, &two);
	return two ? rc : several(a);
}

const tide_command tide__cmd_report = {
	.name = "report",
	.usage = "TRACE... [--diff|--ranks] -o report.html",
	.summary = "write one page with everything, to open in a browser",
	.help = "The page holds the overview, timeline, memory, flame graphs, ops, kernels, "
		"phases and the breakdown of device time. It is one file, works offline, fetches "
		"nothing, and shows names from the trace only as text. Every figure in it is the "
		"one that the other commands print.\nSeveral traces, a folder or a pattern are "
		"the ranks of one job: device time and stragglers of all ranks, and the other "
		"views of each as far as --detail allows; omissions are noted. Two folders that "
		"have ranks in common are two jobs: every rank is compared, and the worst in "
		"full. Two files are two runs to compare, unless their ranks differ or one "
		"process started the other, and they ran at the same time; --diff and --ranks "
		"override this.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 1,
	.max_files = SIZE_MAX,
	.ranks = true,
	.raw = true,
	.only = ".html,.htm",
	.run = run,
	.page = "",
};
