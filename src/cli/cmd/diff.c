// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* diff: differences between two traces, and thresholds on them. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/diff.h"
#include "cli/job/diff_checks.h"
#include "cli/cmd/diff_compat.h"
#include "cli/job/diff_ranks.h"
#include "cli/job/ranks.h"
#include "cli/select.h"
#include "render/report/compare/diff.h"

enum { O_FAIL_IF, O_JSON, O_OUTPUT, O_TOP, O_NO_LINES, O_DEVICE, O_RANK, O_COMPAT, O_SIDE };
static const tide_option options[] = {
	[O_FAIL_IF] = { "fail-if", 'f', TIDE_OPT_TEXT, "EXPR",
			"exit with status 3 when EXPR holds, e.g. 'peak>+2%'", .many = true },
	[O_JSON] = TIDE_OPTION_JSON,
	[O_OUTPUT] = TIDE_OPTION_OUTPUT,
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "rows per table, 0 = all; JSON has all",
		    .def = "10" },
	[O_NO_LINES] = { "no-lines", 0, TIDE_OPT_FLAG, NULL,
			 "match call stacks by function and file, ignoring lines" },
	[O_DEVICE] = { "device", 'd', TIDE_OPT_TEXT, "DEVICE",
		       "memory of this device (default: the highest peak of each trace)" },
	[O_RANK] = { "rank", 'r', TIDE_OPT_INT, "N",
		     "for folders or patterns: only the traces of rank N (default: all ranks in "
		     "one table)" },
	[O_COMPAT] = { "hta-compat", 0, TIDE_OPT_FLAG, NULL,
		       "Holistic Trace Analysis's trace diff: rows of the first step, by name" },
	[O_SIDE] = { "side", 0, TIDE_OPT_ENUM, "all,cpu,gpu", "with --hta-compat: which rows",
		     .def = "all" },
};

static bool show(const tide_args *a, const tide_diff *d, tide_model *const *m,
		 const tide_diff_checks *c)
{
	const char *const file[] = { a->files[0], a->files[1] };
	const tide_model *const models[] = { m[0], m[1] };
	if (!a->opt[O_JSON].set)
		return tide__diff_report_text(d, models, c, file, (size_t)a->opt[O_TOP].num,
					      &a->to);
	tide_json j;
	tide__json_begin(&j, a->out, true);
	bool ok = tide__diff_report_json(d, models, c, file, &j);
	tide__json_end(&j);
	return ok;
}

static int find_devices(const tide_args *a, tide_model *const *m, tide_diff_options *o)
{
	for (int i = 0; i < 2 && a->opt[O_DEVICE].set; i++) {
		o->device[i] = tide__device_find(m[i], a->opt[O_DEVICE].text);
		if (!o->device[i])
			return tide__cli_fail_no_device(a, m[i], a->opt[O_DEVICE].text);
	}
	return 0;
}

/* Prints the notes about losses of A and of B; once if they are the same. */
static void print_losses(const tide_args *a, tide_model *const *m)
{
	char *text[2] = { NULL, NULL };
	for (int i = 0; i < 2; i++) {
		size_t n;
		FILE *f = open_memstream(&text[i], &n);
		if (f) {
			tide__put_losses(m[i], f, &a->style);
			fclose(f);
		}
	}
	bool same = text[0] && text[1] && !strcmp(text[0], text[1]);
	for (int i = 0; i < 2 - same; i++)
		if (text[i] && *text[i])
			fprintf(a->out, "\n%s:\n%s",
				same ? "A and B"
				: i  ? "B"
				     : "A",
				text[i] + (*text[i] == '\n'));
	free(text[0]);
	free(text[1]);
}

static int compare(const tide_args *a, tide_model *const *m, tide_diff_checks *c)
{
	tide_error err = { .code = TIDE_ENOMEM, .offset = TIDE_NO_OFFSET };
	tide_diff_options o = { .no_lines = a->opt[O_NO_LINES].set };
	tide_diff d = { 0 };
	int rc = find_devices(a, m, &o);
	if (rc)
		return rc;
	bool ok = tide__find_diff(m[0], m[1], &o, &d, &err) == TIDE_OK;
	if (ok) {
		tide__diff_checks_run(c, &d);
		ok = show(a, &d, m, c);
	}
	if (ok && !a->opt[O_JSON].set)
		print_losses(a, m);
	tide__diff_free(&d);
	if (!ok)
		return tide__cli_fail(NULL, &err);
	rc = tide__cli_finish(a);
	tide__cli_print_checks(c, "");
	return rc ? rc : tide__cli_checks_status(c);
}

static int run_two(const tide_args *a)
{
	tide_model *m[2] = { NULL, NULL };
	tide_diff_checks c = { 0 };
	if (a->opt[O_COMPAT].set)
		return tide__cli_run_diff_compat(a, (int)a->opt[O_SIDE].num, a->opt[O_JSON].set,
						 (size_t)a->opt[O_TOP].num);
	int rc = tide__cli_parse_checks(a, &a->opt[O_FAIL_IF], &c);
	for (int i = 0; i < 2 && !rc; i++) {
		m[i] = tide__cli_load(a, a->files[i], 0);
		rc = m[i] ? 0 : 1;
	}
	if (!rc)
		rc = compare(a, m, &c);
	tide__model_free(m[0]);
	tide__model_free(m[1]);
	tide__diff_checks_free(&c);
	return rc;
}

/* Returns the single trace of an argument; NULL after a message. */
static char *choose(const tide_args *a, size_t i, const tide_rank_files *f, int *rc)
{
	const tide_value *rank = &a->opt[O_RANK];
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
	const tide_diff_ranks o = { .json = a->opt[O_JSON].set,
				    .no_lines = a->opt[O_NO_LINES].set,
				    .top = (size_t)a->opt[O_TOP].num,
				    .device = a->opt[O_DEVICE].set ? a->opt[O_DEVICE].text : NULL };
	tide_diff_checks c = { 0 };
	int rc = tide__cli_parse_checks(a, &a->opt[O_FAIL_IF], &c);
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
	bool several = (f[0].n > 1 || f[1].n > 1) && !a->opt[O_RANK].set && !a->opt[O_COMPAT].set;
	if (!rc && several && tide__diff_pairs(f)) {
		rc = run_ranks(a, f);
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
	.name = "diff",
	.usage = "A B [--fail-if EXPR]... [--json] [-o FILE]",
	.summary = "compare two traces; fail if a figure grew too much",
	.help = "Compares time, host spans, device work and memory at the peak, as far as both "
		"traces have them; formats may differ. Rows are sorted by the size of the change. "
		"For two folders, every rank that both have is compared, the worst first.\nEXPR is "
		"FIGURE COMPARE LIMIT, e.g. 'peak>+2%', 'gpu_time>+5%', 'kernel_time>100ms', "
		"'count(aten::mm)>+10', 'peak(activation)>+64MiB'. Figures: time, step_time, "
		"cpu_time, gpu_time, overlap, kernel_time, ops, kernels, peak, peak_requested, "
		"reserved, live_end, allocated, allocs, and count, op_time, self_time, "
		"kernel_time, peak of (NAME), where '*' matches any text. A limit with a sign "
		"applies to the change, one without a sign to B itself. The exit status is 3 if an "
		"EXPR holds, 1 if a trace lacks its figure.",
	TIDE_COMMAND_OPTIONS(options),
	.min_files = 2,
	.max_files = 2,
	.run = run,
};
