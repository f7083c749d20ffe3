// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* diff: folders of ranks, and Holistic Trace Analysis's rules; two traces are its report. */
#include "cli/cli.h"

#include <inttypes.h>
#include <string.h>

#include "cli/cmd/diff_compat.h"
#include "cli/job/diff_checks.h"
#include "cli/job/diff_ranks.h"
#include "cli/job/ranks.h"
#include "cli/report_run.h"
#include "report/compare/diff.h"

enum { O_RANK, O_COMPAT, O_SIDE };
static const tide_option options[] = {
	[O_RANK] = { "rank", 'r', TIDE_OPT_INT, "N",
		     "for folders or patterns: only the traces of rank N (default: all ranks in "
		     "one table)" },
	[O_COMPAT] = { "hta-compat", 0, TIDE_OPT_FLAG, NULL,
		       "Holistic Trace Analysis's trace diff: rows of the first step, by name" },
	[O_SIDE] = { "side", 0, TIDE_OPT_ENUM, "all,cpu,gpu", "with --hta-compat: which rows",
		     .def = "all" },
};

/* Compares two traces. Conditions that cannot be read are reported before a trace is. */
static int run_two(const tide_args *a)
{
	tide_diff_checks c = { 0 };
	tide_report *r = NULL;
	if (tide__cli_more(a)[O_COMPAT].set)
		return tide__cli_run_diff_compat(a, (int)tide__cli_more(a)[O_SIDE].num,
						 (size_t)tide__cli_option(a, "top")->num);
	int rc = tide__cli_parse_checks(a, tide__cli_option(a, "fail-if"), &c);
	tide__diff_checks_free(&c);
	if (!rc)
		rc = tide__cli_answer_all(a, a->files, NULL, 2, &r);
	if (r) {
		const tide_diff_checks *of = tide__diff_report_checks(r);
		tide__cli_print_checks(of, "");
		rc = rc ? rc : tide__cli_checks_status(of);
	}
	tide_report_free(r);
	return rc;
}

/* Returns the single trace of an argument; NULL after a message. */
static char *choose(const tide_args *a, size_t i, const tide_rank_files *f, int *rc)
{
	const tide_value *rank = &tide__cli_more(a)[O_RANK];
	if (!f->n)
		return a->files[i]; /* standard input */
	for (size_t k = 0; k < f->n; k++)
		if (f->n == 1 || (rank->set && tide__rank_of(f->v[k].path) == rank->num))
			return f->v[k].path;
	*rc = rank->set
		      ? tide__cli_fail_usage(a, "%.200s has no trace with rank %" PRId64,
					     a->files[i], rank->num)
		      : tide__cli_fail_usage(
				a,
				"%.200s has %zu traces: choose one with --rank N (two folders are "
				"compared "
				"rank by rank when all their files have a rank of their own)",
				a->files[i], f->n);
	return NULL;
}

static int expand(const tide_args *a, size_t i, tide_rank_files *f)
{
	tide_error err = { .offset = TIDE_NO_OFFSET };
	if (!strcmp(a->files[i], "-") || tide__ranks_expand(&a->files[i], 1, f, &err) == TIDE_OK)
		return 0;
	return tide__cli_fail(NULL, &err);
}

static int run_ranks(const tide_args *a, const tide_rank_files f[2])
{
	const tide_diff_ranks o = { .json = tide__cli_option(a, "json")->set,
				    .no_lines = tide__cli_option(a, "no-lines")->set,
				    .top = (size_t)tide__cli_option(a, "top")->num,
				    .device = tide__cli_option(a, "device")->text };
	tide_diff_checks c = { 0 };
	int rc = tide__cli_parse_checks(a, tide__cli_option(a, "fail-if"), &c);
	if (!rc)
		rc = tide__diff_ranks_run(a, f, &o, &c);
	tide__diff_checks_free(&c);
	return rc;
}

static int run(const tide_args *a)
{
	tide_rank_files f[2] = { { 0 }, { 0 } };
	char *files[2] = { NULL, NULL };
	tide_args two = *a;
	int rc = 0;
	for (size_t i = 0; i < 2 && !rc; i++)
		rc = expand(a, i, &f[i]);
	bool several = (f[0].n > 1 || f[1].n > 1) && !tide__cli_more(a)[O_RANK].set &&
		       !tide__cli_more(a)[O_COMPAT].set;
	if (!rc && several && tide__diff_pairs(f)) {
		rc = tide__cli_option(a, "csv")->set
			     ? tide__cli_fail_usage(a, "--csv works with two traces only")
			     : run_ranks(a, f);
	} else {
		for (size_t i = 0; i < 2 && !rc; i++)
			files[i] = choose(a, i, &f[i], &rc);
		two.files = files;
		if (!rc)
			rc = run_two(&two);
	}
	tide__ranks_free(&f[0]);
	tide__ranks_free(&f[1]);
	return rc;
}

const tide_command tide__cmd_diff = {
	.usage = "A B [--fail-if EXPR]... [--json] [-o FILE]",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 2,
	.max_files = 2,
	.run = run,
};
