// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tidemark authors
/* diff: differences between two traces, and thresholds on them. */
#include "report/compare/diff.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "render/report/compare/diff.h"

enum { O_FAIL_IF, O_TOP, O_NO_LINES, O_DEVICE, O_CAPTURED };
static const tide_option options[] = {
	[O_FAIL_IF] = { "fail-if", 'f', TIDE_OPT_TEXT, "EXPR",
			"exit with status 3 when EXPR holds, e.g. 'peak>+2%'", .many = true,
			TIDE_FIELD(tide_diff_report_options, fail_if) },
	[O_TOP] = { "top", 'n', TIDE_OPT_INT, "N", "rows per table, 0 = all; JSON has all",
		    .def = "10", .text_only = true, TIDE_FIELD(tide_diff_report_options, top) },
	[O_NO_LINES] = { "no-lines", 0, TIDE_OPT_FLAG, NULL,
			 "match call stacks by function and file, ignoring lines",
			 TIDE_FIELD(tide_diff_report_options, no_lines) },
	[O_DEVICE] = { "device", 'd', TIDE_OPT_TEXT, "DEVICE",
		       "memory of this device (default: the highest peak of each trace)",
		       TIDE_FIELD(tide_diff_report_options, device) },
	[O_CAPTURED] = { "captured", 0, TIDE_OPT_FILE, "CAPTURE",
			 "the trace in which CUDA or HIP graphs were captured, or a folder of them: "
			 "replayed kernels count for the ops and modules that captured them; given "
			 "twice: of A, then of B",
			 .many = true, .text_only = true },
};

struct diff {
	const tide_model *m[2];
	char *file[2]; /* owned */
	tide_diff d;
	tide_diff_checks c;
	char **limits; /* owned: the texts of c */
	size_t n_limits;
	size_t top;
};

const tide_diff_checks *tide__diff_report_checks(const tide_report *r)
{
	return &((const struct diff *)(const void *)r->result)->c;
}

static char *copy(const char *text)
{
	return tide__strndup(text, strlen(text));
}

static tide_code take_limits(const tide_report_ask *ask, struct diff *x, tide_error *err)
{
	const tide_value *v = &ask->opt[O_FAIL_IF];
	tide_error own = { .offset = TIDE_NO_OFFSET };
	size_t bad;
	if (v->n_list && !(x->limits = tide__calloc(v->n_list, sizeof *x->limits)))
		return tide__nomem(err);
	for (; x->n_limits < v->n_list; x->n_limits++)
		if (!(x->limits[x->n_limits] = copy(v->list[x->n_limits])))
			return tide__nomem(err);
	tide_code rc = tide__diff_checks_parse((const char *const *)x->limits, x->n_limits, &x->c,
					       &bad, &own);
	if (rc == TIDE_OK)
		return TIDE_OK;
	if (rc == TIDE_ENOMEM)
		return tide__nomem(err);
	return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET,
			  "%sfail_if '%.60s', character %" PRIu64 ": %s", ask->dashes,
			  x->limits[bad], own.offset + 1, own.text);
}

static tide_code find(const tide_report_ask *ask, void *result, tide_error *err)
{
	struct diff *x = result;
	tide_diff_options d = { .no_lines = ask->opt[O_NO_LINES].set };
	char name[32];
	x->top = (size_t)ask->opt[O_TOP].num;
	if (ask->n != 2)
		return tide__fail(err, TIDE_EUSAGE, TIDE_NO_OFFSET, "diff needs two traces");
	for (size_t i = 0; i < 2; i++) {
		x->m[i] = ask->models[i];
		if (!(x->file[i] = copy(tide__ask_file(ask, i))))
			return tide__nomem(err);
	}
	snprintf(name, sizeof name, "%sdevice", ask->dashes);
	tide_code rc = take_limits(ask, x, err);
	for (int i = 0; i < 2 && rc == TIDE_OK && ask->opt[O_DEVICE].set; i++)
		rc = tide__take_device(name, ask->opt[O_DEVICE].text, x->m[i], &d.device[i], err);
	if (rc == TIDE_OK)
		rc = tide__find_diff(x->m[0], x->m[1], &d, &x->d, err);
	if (rc == TIDE_OK)
		tide__diff_checks_run(&x->c, &x->d);
	return rc;
}

static tide_code write_text(void *result, const tide_out *to)
{
	struct diff *x = result;
	const char *const file[] = { x->file[0], x->file[1] };
	if (!tide__diff_report_text(&x->d, x->m, &x->c, file, x->top, to))
		return TIDE_ENOMEM;
	tide__diff_losses_text(x->m, to);
	return TIDE_OK;
}

static tide_code write_json(void *result, tide_json *j)
{
	struct diff *x = result;
	const char *const file[] = { x->file[0], x->file[1] };
	return tide__diff_report_json(&x->d, x->m, &x->c, file, j) ? TIDE_OK : TIDE_ENOMEM;
}

static void free_diff(void *result)
{
	struct diff *x = result;
	tide__diff_free(&x->d);
	tide__diff_checks_free(&x->c);
	for (size_t i = 0; i < x->n_limits; i++)
		tide__free(x->limits[i]);
	tide__free(x->limits);
	tide__free(x->file[0]);
	tide__free(x->file[1]);
}

#define UNKNOWN .may = TIDE_MAY_BE_NULL
static const tide_member side[] = {
	{ "trace", NULL, TIDE_KIND_TEXT, .meaning = "name of the trace" },
	{ "device", NULL, TIDE_KIND_TEXT, UNKNOWN, .meaning = "device of the memory figures" },
	TIDE_MEMBERS_LOSSES,
	{ 0 },
};

static const tide_member figure[] = {
	{ "unit", NULL, TIDE_KIND_WORD, .words = "count,ns,bytes", .meaning = "unit" },
	{ "a", NULL, TIDE_KIND_COUNT, UNKNOWN, .meaning = "value of A" },
	{ "b", NULL, TIDE_KIND_COUNT, UNKNOWN, .meaning = "value of B" },
	{ "delta", NULL, TIDE_KIND_PLAIN, UNKNOWN, .meaning = "b - a" },
	{ "pct", NULL, TIDE_KIND_DELTA_PCT, UNKNOWN, .meaning = "delta as part of a" },
	{ 0 },
};

static const tide_member metrics[] = {
#define X(name, key, unit, what) \
	{ key, NULL, TIDE_KIND_OBJECT, .members = figure, .meaning = what },
	TIDE_METRICS(X)
#undef X
		{ 0 },
};

static const tide_member check[] = {
	{ "expression", NULL, TIDE_KIND_TEXT, .meaning = "the condition" },
	{ "a", NULL, TIDE_KIND_COUNT, UNKNOWN, .meaning = "its figure in A" },
	{ "b", NULL, TIDE_KIND_COUNT, UNKNOWN, .meaning = "its figure in B" },
	{ "crossed", NULL, TIDE_KIND_BOOL, UNKNOWN, .meaning = "it holds; null: unknown" },
	{ 0 },
};

const tide_member tide__diff_rank_members[] = {
	TIDE_MEMBER("rank", PLAIN, "the rank"),
	TIDE_MEMBER_OF("a", OBJECT, side, "its trace in A"),
	TIDE_MEMBER_OF("b", OBJECT, side, "its trace in B"),
	TIDE_MEMBER_OF("metrics", OBJECT, metrics, "figures of both"),
	TIDE_MEMBER_OF("fail_if", TABLE, check, "conditions and their figures"),
	{ 0 },
};

static const tide_member members[] = {
	{ "a", NULL, TIDE_KIND_OBJECT, .members = side, .meaning = "the first trace, A" },
	{ "b", NULL, TIDE_KIND_OBJECT, .members = side, .meaning = "the second trace, B" },
	{ "metrics", NULL, TIDE_KIND_OBJECT, .members = metrics, .meaning = "figures of both" },
	{ "speedup", NULL, TIDE_KIND_REAL, UNKNOWN, .meaning = "time of A / time of B" },
#define X(name, key)                                                                       \
	{ key, NULL, TIDE_KIND_TABLE, .members = tide__diff_row_members[TIDE_DIFF_##name], \
	  .meaning = "rows that differ, largest change first" },
	TIDE_DIFF_KINDS(X)
#undef X
		{ "fail_if", NULL, TIDE_KIND_TABLE, .members = check,
		  .meaning = "the conditions, and whether they hold" },
	{ 0 },
};

const tide_report_type tide__report_diff = {
	.name = "diff",
	.group = TIDE_GROUP_COMPARE,
	.input = TIDE_INPUT_PAIR,
	.want = TIDE_WANT_SPANS | TIDE_WANT_MEMORY | TIDE_WANT_FLOWS | TIDE_WANT_SHAPES,
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
	TIDE_REPORT_OPTIONS(options),
	.members = members,
	.version = 1,
	.struct_size = sizeof(tide_diff_report_options),
	.size = sizeof(struct diff),
	.find = find,
	.json = write_json,
	.text = write_text,
	.free = free_diff,
};
